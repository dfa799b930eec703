// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <quern/device.h>

namespace quern {
namespace {

DeviceInfo gpu(const char* name, DeviceInfo::Build build) {
  DeviceInfo d;
  d.kind = DeviceInfo::Kind::gpu;
  d.build = build;
  d.name = name;
  return d;
}

TEST(DeviceChoice, EachPreferenceTakesItsKindOfGpuAndElseTheCpu) {
  const std::vector<DeviceInfo> all = {
      DeviceInfo{.name = "cpu"}, gpu("big", DeviceInfo::Build::discrete),
      gpu("small", DeviceInfo::Build::integrated), gpu("soft", DeviceInfo::Build::software)};
  EXPECT_EQ(choose_device(all, "automatic")->name, "big");
  EXPECT_EQ(choose_device(all, "high-performance")->name, "big");
  EXPECT_EQ(choose_device(all, "low-power")->name, "small");

  const std::vector<DeviceInfo> laptop = {all[0], all[2], all[3]};
  EXPECT_EQ(choose_device(laptop, "automatic")->name, "cpu");
  EXPECT_EQ(choose_device(laptop, "high-performance")->name, "small");

  const std::vector<DeviceInfo> server = {all[0], all[3]};
  for (const std::string_view p : device_preferences())
    EXPECT_EQ(choose_device(server, p)->name, "cpu") << p << " must not take a GPU in software";
  EXPECT_EQ(choose_device(server, "automatic")->reason, "there is no discrete or virtual GPU");
}

TEST(DeviceChoice, WhatIsNoPreferenceIsNotChosen) {
  EXPECT_FALSE(choose_device({}, "fastest"));
  const auto device = open_device("fastest");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), Code::not_found);
  EXPECT_TRUE(device.error().message().find("low-power") != std::string::npos)
      << device.error().message();
}

TEST(DeviceChoice, AnyMachineHasADeviceForEachPreference) {
  for (const std::string_view p : device_preferences()) EXPECT_TRUE(open_device(p)) << p;
}

}  // namespace
}  // namespace quern
