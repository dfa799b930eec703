// SPDX-License-Identifier: Apache-2.0
// The clocks of a measurement. Two clocks of the wall are read, by different ways, so that neither
// can be bent unseen.
#pragma once

#include <string>

#include "tools/json.h"

namespace quern::tools::lab {

// In microseconds since some time. Tests give others.
struct Clocks {
  double (*wall)();        // std::chrono::steady_clock: what the engine's own times go by
  double (*other_wall)();  // the raw monotonic clock, asked of the system itself
  double (*process)();     // processor time of all threads of this process
  double (*thread)();      // of the calling one
};
const Clocks& system_clocks();

// Both clocks of the wall at one moment: read again where something came between.
struct Moment {
  double wall = 0;
  double other_wall = 0;
  double slack_us = 0;  // they are so far apart, at most
};
Moment moment(const Clocks& clocks);

// What else the machine did.
struct MachineLoad {
  double load = 0;  // of a minute, as /proc/loadavg has it; -1: not known
  double mhz = 0;   // of the CPU that is asked about first, as the system says; 0: not known
};
MachineLoad machine_load();

// The words that this process was called with, a space between them; cut at 4,000 bytes.
std::string command_line();

// The machine as results name it: CPU, number of CPUs, system, quern's version.
Json machine_json();

}  // namespace quern::tools::lab
