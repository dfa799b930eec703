// SPDX-License-Identifier: Apache-2.0
// Where barriers stand, from byte ranges alone: no GPU is asked.
#include "engine/devices/vulkan/hazards.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace quern::vulkan {
namespace {

constexpr auto transfer = static_cast<std::uint8_t>(Stage::transfer);
constexpr auto compute = static_cast<std::uint8_t>(Stage::compute);

Access read(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) {
  return {buffer, offset, bytes, false};
}
Access write(std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) {
  return {buffer, offset, bytes, true};
}

std::optional<Barrier> add(HazardTracker& t, Stage stage, std::initializer_list<Access> accesses) {
  return t.add(stage, {accesses.begin(), accesses.size()});
}

TEST(Hazards, ReadAfterWriteWaits) {
  HazardTracker t;
  EXPECT_FALSE(add(t, Stage::transfer, {write(0, 0, 256)}));
  EXPECT_EQ(add(t, Stage::compute, {read(0, 128, 4), write(0, 512, 64)}),
            (Barrier{transfer, transfer}));
}

TEST(Hazards, WriteAfterReadWaitsForTheReaderOnly) {
  HazardTracker t;
  EXPECT_FALSE(add(t, Stage::compute, {read(0, 0, 64)}));
  EXPECT_EQ(add(t, Stage::compute, {write(0, 0, 64)}), (Barrier{compute, 0}));
}

TEST(Hazards, WritesToOnePlaceKeepTheirOrder) {
  HazardTracker t;
  EXPECT_FALSE(add(t, Stage::compute, {write(0, 0, 64)}));
  EXPECT_TRUE(add(t, Stage::compute, {write(0, 60, 64)}));
}

TEST(Hazards, NeighboursReadersAndOtherBuffersNeedNone) {
  HazardTracker t;
  EXPECT_FALSE(add(t, Stage::compute, {write(0, 0, 64)}));
  EXPECT_FALSE(add(t, Stage::compute, {read(0, 64, 64), write(0, 128, 64)}));
  EXPECT_FALSE(add(t, Stage::compute, {read(1, 0, 64), write(0, 256, 1)}));
  EXPECT_FALSE(add(t, Stage::compute, {read(1, 0, 64), write(0, 512, 1)}));
}

TEST(Hazards, OneBarrierCoversAllBeforeIt) {
  HazardTracker t;
  EXPECT_FALSE(add(t, Stage::transfer, {write(0, 0, 64)}));
  EXPECT_FALSE(add(t, Stage::compute, {write(0, 64, 64)}));
  EXPECT_EQ(add(t, Stage::compute, {read(0, 0, 64)}),
            (Barrier{static_cast<std::uint8_t>(transfer | compute),
                     static_cast<std::uint8_t>(transfer | compute)}));
  EXPECT_FALSE(add(t, Stage::compute, {read(0, 64, 64)}));
}

TEST(Hazards, InPlaceAndEmptyAreNoHazards) {
  HazardTracker t;
  EXPECT_FALSE(add(t, Stage::compute, {read(0, 0, 64), write(0, 0, 64)}));
  EXPECT_FALSE(add(t, Stage::compute, {read(0, 0, 0), write(0, 32, 0)}));
}

TEST(Hazards, TheEndWaitsForWhatWasWritten) {
  HazardTracker t;
  EXPECT_FALSE(t.finish());
  EXPECT_FALSE(add(t, Stage::compute, {read(0, 0, 64)}));
  EXPECT_FALSE(t.finish());
  EXPECT_FALSE(add(t, Stage::transfer, {write(1, 0, 64)}));
  ASSERT_TRUE(t.finish());
  EXPECT_EQ(t.finish()->writers, transfer);
}

// Every pair of commands that touch a byte, one of them writing, has a barrier between them; and no
// barrier stands where the commands since the last one have no such pair with the next.
TEST(Hazards, RandomCommandsHaveTheBarriersThatTheyNeedAndNoMore) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    HazardTracker t;
    std::vector<std::vector<Access>> since;
    for (int command = 0; command < 40; ++command) {
      std::vector<Access> accesses;
      for (std::uint32_t k = 0; k < 1 + below(3); ++k)
        accesses.push_back({below(2), 16 * below(24), 16 * below(6), below(3) == 0});
      bool conflict = false;
      for (const auto& earlier : since)
        for (const Access& a : earlier)
          for (const Access& b : accesses)
            for (std::uint64_t byte = a.offset; byte < a.offset + a.bytes; ++byte)
              conflict = conflict || ((a.written || b.written) && a.buffer == b.buffer &&
                                      byte >= b.offset && byte < b.offset + b.bytes);
      ASSERT_EQ(t.add(Stage::compute, accesses).has_value(), conflict);
      if (conflict) since.clear();
      since.push_back(std::move(accesses));
    }
  }
}

}  // namespace
}  // namespace quern::vulkan
