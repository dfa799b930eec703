// SPDX-License-Identifier: Apache-2.0
// Contenders in turns, until what they take is known well enough.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/kernel/contender.h"
#include "tools/kernel/energy.h"
#include "tools/kernel/statistics.h"

namespace quern::tools::lab {

struct MeasureOptions {
  double time_s = 1;         // for the calls of one contender, its checks included
  double precision = 0.005;  // calls end where the interval of the median is +- this share of it
  std::size_t least_samples = 20;
  std::size_t most_samples = 20'000;
  std::uint64_t seed = 1;
  // Of what contenders on the host take, when all are timed; null: it is not asked for.
  const EnergyMeter* energy = nullptr;
  std::function<void(std::string_view)> progress = {};
};

struct Measured {
  ContenderInfo info;
  std::vector<Sample> samples;
  MedianInterval wall;  // microseconds
  MedianInterval processor;
  // Of a call, of all that the CPUs did meanwhile, in microjoules; nullopt: not known.
  std::optional<double> energy_uj = std::nullopt;
  std::string refused;  // why no time of it is believed; empty: it is

  bool is_believed() const { return refused.empty() && !samples.empty(); }
};

// The samples of a clock.
std::vector<double> wall_of(const Measured& m);
std::vector<double> processor_of(const Measured& m);

// In each round every contender that is not done has some calls in a row, in an order that is drawn
// anew. A contender is done where its interval is narrow, its time is up, or a call was not
// believed: the others go on then.
std::vector<Measured> measure(std::span<const std::unique_ptr<Contender>> contenders,
                              const MeasureOptions& options);

}  // namespace quern::tools::lab
