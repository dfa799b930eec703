// SPDX-License-Identifier: Apache-2.0
// No counters of energy that a program without rights could read.
#include "engine/vocabulary/platform/energy.h"

#if defined(__wasi__)
namespace quern::platform {

std::string energy_folder() {
  return "";
}

std::vector<EnergyCounter> energy_counters(const std::string&) {
  return {};
}

std::optional<double> read_uj(const EnergyCounter&) {
  return std::nullopt;
}

}  // namespace quern::platform
#endif
