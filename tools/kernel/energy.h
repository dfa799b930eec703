// SPDX-License-Identifier: Apache-2.0
// The energy of a while, as counters of the CPUs have it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/vocabulary/platform/energy.h"

namespace quern::tools::lab {

class EnergyMeter {
 public:
  // The counters in `folder`, those of the system where it is "".
  explicit EnergyMeter(const std::string& folder);

  bool can_read() const { return !counters_.empty(); }
  // What all counters show, in their order; empty where one cannot be read.
  std::vector<double> read() const;
  // The microjoules from one reading to the next, which is less than a range of any counter later;
  // nullopt where a reading is empty or no counter has moved: then it tells nothing.
  std::optional<double> between(std::span<const double> before,
                                std::span<const double> after) const;

 private:
  std::vector<platform::EnergyCounter> counters_;
};

}  // namespace quern::tools::lab
