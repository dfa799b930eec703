// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/clocks.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include <quern/device.h>

#include "engine/vocabulary/platform/process.h"
#include "tools/opened.h"

namespace quern::tools::lab {
namespace {

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

double steady_time() {
  return microseconds(std::chrono::steady_clock::now().time_since_epoch());
}

// What follows "NAME :" in /proc/cpuinfo; "" if there is no such line.
std::string cpu_property(std::string_view name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!std::string_view(line).starts_with(name) || colon == std::string::npos) continue;
    return line.substr(std::min(colon + 2, line.size()));
  }
  return "";
}

}  // namespace

const Clocks& system_clocks() {
  static constexpr Clocks clocks{steady_time, [] { return microseconds(platform::raw_time()); },
                                 [] { return microseconds(platform::process_time()); },
                                 [] { return microseconds(platform::thread_time()); }};
  return clocks;
}

Moment moment(const Clocks& clocks) {
  constexpr int most_tries = 100;
  constexpr double close_us = 3;
  Moment best;
  best.slack_us = 1e18;
  for (int i = 0; i < most_tries && best.slack_us > close_us; ++i) {
    const double before = clocks.other_wall();
    const double wall = clocks.wall();
    const double after = clocks.other_wall();
    if (after - before < best.slack_us) best = {wall, (before + after) / 2, after - before};
  }
  return best;
}

MachineLoad machine_load() {
  MachineLoad m{.load = -1};
  std::ifstream("/proc/loadavg") >> m.load;
  const std::string mhz = cpu_property("cpu MHz");
  if (!mhz.empty()) m.mhz = std::strtod(mhz.c_str(), nullptr);
  return m;
}

std::string command_line() {
  constexpr std::size_t longest = 4000;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(longest, '\0');
  file.read(text.data(), static_cast<std::streamsize>(longest));
  text.resize(static_cast<std::size_t>(file.gcount()));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

Json machine_json() {
  Json j;
  j["system"] = platform::system_name();
  if (const auto cpu = open_device("cpu")) {
    j["cpu"] = (*cpu)->info().title;
    j["onednn"] = property_of(described(**cpu), "onednn");
  }
  j["cpus"] = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  j["quern"] = QUERN_VERSION;
  j["build"] = QUERN_BUILD_TYPE;
  return j;
}

}  // namespace quern::tools::lab
