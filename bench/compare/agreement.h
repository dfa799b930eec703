// SPDX-License-Identifier: Apache-2.0
// Tells whether two engines gave the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/compare/engine.h"

namespace quern::bench {

// What the less precise engine rounds to between operators.
enum class Rounding : std::uint8_t { f32, bf16 };

// Why the outputs differ: number, names, types, shapes, or by more than 1e-3 (f16: 1e-2, rounded to
// bf16: 1e-1) of their mean magnitude on average or in more than 1 % of the elements. Empty: they
// agree.
std::string disagreement(const std::vector<NamedTensor>& got,
                         const std::vector<NamedTensor>& wanted, Rounding rounding = Rounding::f32);

// The greatest 1 - cos of the angle between two outputs of f32 of the same name and shape; -1:
// there are none, or all are zeros.
double one_minus_cosine(const std::vector<NamedTensor>& got,
                        const std::vector<NamedTensor>& wanted);

}  // namespace quern::bench
