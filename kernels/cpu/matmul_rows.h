// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

Selection select_matmul_rows(const KernelRequest& request);
// A few rows by constant weights: one, for which it takes 0.2 to 1.0 of oneDNN's time (AVX-512; 1
// to 32,000 columns, depths of 64 to 4,096), and with AVX-512 up to 32 by weights of half a MiB or
// more. Where these come from memory, 8 rows take 0.73 to 0.80 of its time, 16 take 0.79 to 0.88
// and 32 take 0.92 to 0.95, and where they come from a cache 0.90 to 1.09 (AMD EPYC, oneDNN 2.6;
// bench/results/2026-11-29-few-rows.md). A model's prompts and its tokens share the packed weights.
// And any rows by up to 8 columns that fill no vector: 0.16 to 0.72 of oneDNN's time (AVX-512,
// bench/results/2026-11-29-own-convolutions.md).
Selection select_matmul_of_few_rows(const KernelRequest& request);

}  // namespace quern
