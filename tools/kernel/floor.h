// SPDX-License-Identifier: Apache-2.0
// The time that no kernel can beat on this machine, by what was measured on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <quern/device.h>
#include <quern/executable.h>

#include "tools/kernel/measure.h"
#include "tools/kernel/problem.h"
#include "tools/roof.h"

namespace quern::tools::lab {

// What a problem must do, whoever computes it.
struct LeastWork {
  // Multiplications and additions of f32 that no factor of 0 from padding makes needless, of
  // convolutions and products; 0: not known.
  double flops = 0;
  std::size_t written_bytes = 0;  // of results
};
LeastWork least_work(const Problem& problem, const Model& model, Math math);

// The roofs of the devices of one invocation, measured where they are asked for first.
class Roofs {
 public:
  // Errors: those of the device.
  Result<Roof> of(const Device& device, int threads);
  double write_gbytes(int threads, std::size_t bytes);
  // Measures all of it again, and keeps what is better: others may have disturbed the first.
  Status improve(const Device& device, int threads);

 private:
  std::map<std::pair<std::string, int>, Roof> roofs_;
  std::map<std::pair<int, std::size_t>, double> writes_;
};

// The least time in microseconds that the measured roof leaves for this work; 0: nothing is known.
// Fast algorithms multiply less: `implementation` names them.
double floor_us(const LeastWork& work, std::string_view implementation, const Roof& roof,
                double write_gbytes);

// Refuses a result that beats its floor by more than 3 %, where it still does after the roof was
// measured three times more.
Status refuse_impossible(Measured& m, const LeastWork& work, const Device& device, Roofs& roofs);

// The share of the roof that a result reaches, by its arithmetic or its bytes, whichever is more.
// Bytes that fit into the second-level cache come from there, unless they are cold.
enum class Caches : std::uint8_t { warm, cold };
double roof_share(const Measured& m, const Roof& roof, Caches caches);

}  // namespace quern::tools::lab
