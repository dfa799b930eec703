// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most: measured in the process that uses the numbers, so that a share
// "of the roof" compares like with like.
#pragma once

#include <string>

namespace quern::tools {

struct Roof {
  double gflops = 0;        // fused multiply-adds in registers, two operations each, all threads
  double copy_gbytes = 0;   // memory copied between buffers larger than the caches: read + written
  double cache_gbytes = 0;  // the same within the second-level cache
  int threads = 1;
  std::string instructions;  // "AVX-512", "AVX2 + FMA", "portable"
};

// Takes about a quarter of a second.
Roof measure_roof(int threads);

}  // namespace quern::tools
