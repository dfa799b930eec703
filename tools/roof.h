// SPDX-License-Identifier: Apache-2.0
// The peak performance of this machine, measured in the process that uses the numbers, so that a
// share "of the roof" compares like with like; of CPUs by their processor time.
#pragma once

#include <cstddef>
#include <string>

#include <quern/device.h>

namespace quern::tools {

struct Roof {
  double gflops = 0;        // fused multiply-adds in registers, two operations each, all threads
  double copy_gbytes = 0;   // memory copied between buffers larger than the caches: read + written
  double cache_gbytes = 0;  // the same within the second-level cache; 0: not measured
  int threads = 1;
  std::string instructions;  // "AVX-512", "AVX2 + FMA", "portable"; of a device its title
};

// The roof of this machine's CPUs. Takes about a quarter of a second.
Roof measure_roof(int threads);
// The bytes a second, in units of 1e9, that so many threads write together, each over and over to
// its part of `bytes`. Takes a tenth of a second.
double measure_write_gbytes(int threads, std::size_t bytes);
// The roof of `device`: its own, or that of the CPUs if it has none. Errors: those of the device.
Result<Roof> measure_roof(const Device& device, int threads);

}  // namespace quern::tools
