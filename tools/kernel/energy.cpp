// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/energy.h"

namespace quern::tools::lab {

EnergyMeter::EnergyMeter(const std::string& folder)
    : counters_(platform::energy_counters(folder.empty() ? platform::energy_folder() : folder)) {}

std::vector<double> EnergyMeter::read() const {
  std::vector<double> shown;
  for (const platform::EnergyCounter& counter : counters_) {
    const auto uj = platform::read_uj(counter);
    if (!uj) return {};
    shown.push_back(*uj);
  }
  return shown;
}

std::optional<double> EnergyMeter::between(std::span<const double> before,
                                           std::span<const double> after) const {
  if (before.size() != counters_.size() || after.size() != counters_.size()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < counters_.size(); ++i)
    sum += after[i] - before[i] + (after[i] < before[i] ? counters_[i].range_uj : 0);
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace quern::tools::lab
