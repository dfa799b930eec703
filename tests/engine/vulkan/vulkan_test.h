// SPDX-License-Identifier: Apache-2.0
// The tests of the Vulkan device share these helpers.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/every_device.h"

namespace quern::testing {

// The device's name with validation where the layer is installed; "" where there is no Vulkan.
inline const std::string& device_name() {
  static const std::string name = [] {
    if (open_device("vulkan,validate")) return "vulkan,validate";
    return open_device("vulkan") ? "vulkan" : "";
  }();
  return name;
}

class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_name().empty())
      GTEST_SKIP() << "no Vulkan device: install mesa-vulkan-drivers for one in software";
  }
};

// While this object lives, devices keep their files on disk in a temporary folder.
class CacheFolder {
 public:
  CacheFolder() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~CacheFolder() {
    if (before_)
      setenv("XDG_CACHE_HOME", before_->c_str(), 1);
    else
      unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  std::filesystem::path path() const { return folder_ + "/quern"; }
  // The bytes of the files whose name begins like that.
  std::string files(std::string_view prefix) const {
    std::string text;
    for (const auto& f : std::filesystem::directory_iterator(path()))
      if (f.path().filename().string().starts_with(prefix))
        text.append(std::istreambuf_iterator<char>(std::ifstream(f.path()).rdbuf()), {});
    return text;
  }

 private:
  std::string folder_ = ::testing::TempDir() + "quern-cache-XXXXXX";
  std::optional<std::string> before_;
};

}  // namespace quern::testing
