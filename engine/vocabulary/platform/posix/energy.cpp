// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/energy.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace quern::platform {
namespace {

constexpr std::size_t most_packages = 256;

// The number that a file holds, from 0 to `most`.
std::optional<double> number_in_file(const std::filesystem::path& path, double most) {
  double number = -1;
  if (!(std::ifstream(path) >> number) || !(number >= 0 && number <= most)) return std::nullopt;
  return number;
}

// A zone of the control type intel-rapl, which AMD's CPUs have under this name, too. Parts of a
// package are zones below it.
bool is_package(const std::filesystem::path& zone) {
  if (!zone.filename().string().starts_with("intel-rapl:")) return false;
  std::string name;
  std::ifstream(zone / "name") >> name;
  return name.starts_with("package");
}

}  // namespace

std::string energy_folder() {
  return "/sys/class/powercap";
}

std::vector<EnergyCounter> energy_counters(const std::string& folder) {
  constexpr double most_uj = 1e18;
  std::vector<EnergyCounter> counters;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (!is_package(at->path())) continue;
    const auto range = number_in_file(at->path() / "max_energy_range_uj", most_uj);
    if (!range || *range <= 0 || counters.size() == most_packages) return {};
    counters.push_back({(at->path() / "energy_uj").string(), *range});
    if (!read_uj(counters.back())) return {};
  }
  return counters;
}

std::optional<double> read_uj(const EnergyCounter& counter) {
  return number_in_file(counter.file, counter.range_uj);
}

}  // namespace quern::platform
#endif
