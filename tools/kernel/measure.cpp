// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/measure.h"

#include <algorithm>
#include <numeric>

#include "engine/vocabulary/text_util.h"

namespace quern::tools::lab {
namespace {

constexpr double burst_us = 3000;  // of calls in a row
constexpr std::size_t fewest_of_slow = 3;
constexpr std::size_t between_looks = 10;  // samples: sorting them takes time

// A contender on its way through the rounds.
struct Entrant {
  Contender* contender;
  Measured result;
  double spent_us = 0;
  bool is_done = false;
  std::size_t looked_at = 0;
};

std::vector<double> column(const std::vector<Sample>& samples, double Sample::*clock) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& s : samples) values.push_back(s.*clock);
  return values;
}

void summarise(Measured& m) {
  m.wall = median_interval(column(m.samples, &Sample::wall_us));
  m.processor = median_interval(column(m.samples, &Sample::processor_us));
}

// By the clock that others disturb less; a device has none but the wall's.
bool is_narrow(Measured& m, double precision) {
  summarise(m);
  const MedianInterval& by = m.processor.median > 0 ? m.processor : m.wall;
  return by.half_width() <= precision;
}

void call_once(Entrant& e) {
  const double begin = system_clocks().wall();
  auto sample = e.contender->call();
  e.spent_us += system_clocks().wall() - begin;
  if (sample) {
    e.result.samples.push_back(*sample);
  } else {
    e.result.refused = sample.error().message();
    e.is_done = true;
  }
}

void decide(Entrant& e, const MeasureOptions& o) {
  const std::size_t n = e.result.samples.size();
  if (e.is_done || n < fewest_of_slow) return;
  e.is_done = n >= o.most_samples || e.spent_us >= 1e6 * o.time_s;
  if (e.is_done || n < o.least_samples || n < e.looked_at + between_looks) return;
  e.looked_at = n;
  e.is_done = is_narrow(e.result, o.precision);
}

void take_turn(Entrant& e, const MeasureOptions& o) {
  const bool is_first = e.result.samples.empty();
  const double begin = e.spent_us;
  do {
    call_once(e);
    decide(e, o);
  } while (!e.is_done && e.spent_us - begin < burst_us);
  if (!is_first || !e.result.refused.empty()) return;
  if (const Status idle = e.contender->check_idle(); !idle.ok()) {
    e.result.refused = idle.message();
    e.is_done = true;
  }
}

// Counters move once in a millisecond, so the energy is that of many calls.
void take_energy(Entrant& e, const EnergyMeter& meter) {
  constexpr double seconds = 0.2;
  if (!e.result.is_believed() || !e.contender->info().is_on_host) return;
  const std::vector<double> before = meter.read();
  const auto calls = e.contender->repeat(seconds);
  const std::vector<double> after = meter.read();
  if (!calls) {
    e.result.refused = calls.error().message();
    return;
  }
  const auto total = meter.between(before, after);
  if (total && *calls > 0) e.result.energy_uj = *total / static_cast<double>(*calls);
}

}  // namespace

std::vector<double> wall_of(const Measured& m) {
  return column(m.samples, &Sample::wall_us);
}
std::vector<double> processor_of(const Measured& m) {
  return column(m.samples, &Sample::processor_us);
}

std::vector<Measured> measure(std::span<const std::unique_ptr<Contender>> contenders,
                              const MeasureOptions& options) {
  std::vector<Entrant> entrants;
  for (const auto& c : contenders) entrants.push_back({c.get(), {.info = c->info()}});
  std::vector<std::size_t> order(entrants.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(options.seed);
  const auto is_over = [&] { return std::ranges::all_of(entrants, &Entrant::is_done); };
  for (std::size_t round = 0; !is_over(); ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order)
      if (!entrants[i].is_done) take_turn(entrants[i], options);
    if (options.progress) options.progress(cat("round ", round + 1));
  }
  if (options.energy)
    for (Entrant& e : entrants) take_energy(e, *options.energy);
  std::vector<Measured> results;
  for (Entrant& e : entrants) {
    summarise(e.result);
    results.push_back(std::move(e.result));
  }
  return results;
}

}  // namespace quern::tools::lab
