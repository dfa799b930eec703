// SPDX-License-Identifier: Apache-2.0
// Any bytes as a memory problem in CSV, planned by every strategy: an error, or plans that hold.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "graph/memory/problem/csv.h"
#include "graph/memory/problem/in_flight.h"

namespace {

using namespace quern;  // NOLINT

constexpr std::size_t most_buffers = 64;

void want(bool holds, std::string_view strategy, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(strategy.size()), strategy.data(),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

void plan_by_all(const MemoryProblem& problem) {
  const std::uint64_t bound = lower_bound(problem);
  for (const Strategy& s : strategies()) {
    for (const std::uint64_t capacity : {any_capacity, bound}) {
      const PlanAnswer answer =
          s.plan(problem, {.capacity = capacity, .seconds = 0.05, .steps = 300});
      if (answer.found != Found::plan) {
        want(!problem.banks.empty() && answer.plan.offsets.empty(), s.name, "a plan is missing");
        continue;
      }
      const Status status = validate(problem, answer.plan);
      want(status.ok(), s.name, status.message());
      want(answer.plan.size >= bound && answer.bound >= bound, s.name, "below the bound");
      want(answer.bound <= answer.plan.size, s.name, "a bound above a plan");
      want(answer.cost == cost_of(problem, answer.plan) && answer.cost_bound <= answer.cost, s.name,
           "a wrong cost");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto problem = read_memory_csv(text);
  if (!problem) {
    want(problem.error().message().find("csv") != std::string_view::npos, "read", "names no line");
    return 0;
  }
  if (problem->intervals.size() > most_buffers) return 0;
  plan_by_all(*problem);
  const MemoryProblem two = in_flight(*problem, 2).problem;
  if (check(two).ok()) plan_by_all(two);
  return 0;
}
