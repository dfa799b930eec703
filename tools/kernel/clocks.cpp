// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/clocks.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

#include <quern/device.h>

#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"

namespace quern::tools::lab {
namespace {

double microseconds(const timespec& t) {
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

double clock_time(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return microseconds(t);
}

double steady_time() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

// Past libc, and past the page that the kernel maps for it.
double raw_time() {
  timespec t{};
  if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &t) != 0) return steady_time();
  return microseconds(t);
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
  static constexpr Clocks clocks{steady_time, raw_time,
                                 [] { return clock_time(CLOCK_PROCESS_CPUTIME_ID); },
                                 [] { return clock_time(CLOCK_THREAD_CPUTIME_ID); }};
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
  utsname system{};
  uname(&system);
  Json j;
  j["system"] = cat(system.sysname, " ", system.release, " ", system.machine);
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
