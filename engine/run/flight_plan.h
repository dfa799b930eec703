// SPDX-License-Identifier: Apache-2.0
// What runs of one program need to overlap in one arena: a place for each operand of each run, and
// the steps that a step waits for.
#pragma once

#include <cstdint>
#include <vector>

#include <quern/status.h>

#include "engine/compile/program.h"
#include "engine/run/arena_places.h"

namespace quern {

// Time is in turns of the plan, which go round: turn t + circle is turn t of the next round.
struct FlightRun {
  ArenaPlaces places;
  // Turns from the start of the run to each of its steps, ascending; the first is 0.
  std::vector<std::int64_t> turns;
  std::int64_t start = 0;  // turn of the run's first step, in the first round
};

struct FlightPlan {
  std::vector<FlightRun> runs;
  std::int64_t circle = 1;  // turns of a round
  std::uint64_t arena_bytes = 0;
  // By (run, step, other run): how many turns earlier the last step of the other run lies that must
  // have ended before this step begins; 0: none.
  std::vector<std::uint32_t> waits;

  std::uint32_t wait(std::size_t run, std::size_t step, std::size_t other) const {
    const std::size_t steps = runs.front().turns.size();
    return waits[(run * steps + step) * runs.size() + other];
  }
};

// The offsets are those of in_flight() with this strategy. Takes time in
// proportion to the buffers of all runs: where more of them share bytes than can be looked at,
// steps wait for all earlier ones. Errors: unsupported, for programs whose memory is not that of a
// static plan on the host; those of Stop.
Result<FlightPlan> plan_flight(const Program& program, std::size_t runs, const Strategy& strategy,
                               const Stop* stop);

}  // namespace quern
