// SPDX-License-Identifier: Apache-2.0
// The energy that CPUs take, where the operating system tells it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace quern::platform {

// A counter of a package of CPUs, in microjoules.
struct EnergyCounter {
  std::string file;
  double range_uj = 0;  // where the counter begins at 0 again
};

// The folder in which the system shows such counters; "" where it has none.
std::string energy_folder();
// The counters of all packages in `folder`, laid out as Linux's powercap has it
// (Documentation/power/powercap/powercap.rst). Empty where one of them cannot be read: a part of
// the energy would look like all of it.
std::vector<EnergyCounter> energy_counters(const std::string& folder);
// nullopt where the file does not hold a number within the range.
std::optional<double> read_uj(const EnergyCounter& counter);

}  // namespace quern::platform
