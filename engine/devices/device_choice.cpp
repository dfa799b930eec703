// SPDX-License-Identifier: Apache-2.0
// Preferences: selection of a device by purpose.
#include <algorithm>
#include <array>

#include <quern/device.h>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

using Build = DeviceInfo::Build;

// The kinds of GPU that a preference takes, best first; the CPU comes last.
struct Preference {
  std::string_view name;
  std::array<Build, 3> takes;
  std::size_t count;
};
constexpr Preference preferences[] = {
    {"automatic", {Build::discrete, Build::virtualized}, 2},
    {"high-performance", {Build::discrete, Build::virtualized, Build::integrated}, 3},
    {"low-power", {Build::integrated}, 1},
};

std::string_view text(Build b) {
  switch (b) {
    case Build::discrete: return "discrete";
    case Build::integrated: return "integrated";
    case Build::virtualized: return "virtual";
    case Build::software: return "software";
    case Build::host: break;
  }
  return "host";
}

}  // namespace

std::vector<std::string_view> device_preferences() {
  std::vector<std::string_view> names;
  for (const Preference& p : preferences) names.push_back(p.name);
  return names;
}

std::optional<DeviceChoice> choose_device(std::span<const DeviceInfo> devices,
                                          std::string_view preference) {
  const auto row = std::ranges::find(preferences, preference, &Preference::name);
  if (row == std::end(preferences)) return std::nullopt;
  const std::span<const Build> takes(row->takes.data(), row->count);
  for (const Build build : takes) {
    const auto found = std::ranges::find(devices, build, &DeviceInfo::build);
    if (found != devices.end())
      return DeviceChoice{found->name, cat("the best ", text(build), " GPU, ", found->title)};
  }
  std::string kinds;
  for (const Build build : takes) kinds += cat(kinds.empty() ? "" : " or ", text(build));
  return DeviceChoice{"cpu", cat("there is no ", kinds, " GPU")};
}

}  // namespace quern
