// SPDX-License-Identifier: Apache-2.0
// The building blocks of random models: each function adds one node or a few related ones, and
// returns whether it found operands. A new operator gets a row in one of the tables.
#pragma once

#include <span>

#include "tools/random/builder.h"

namespace quern::tools {

struct Family {
  std::string_view name;
  double weight;
  bool (*grow)(Builder&);
};

std::span<const Family> elementwise_families();
std::span<const Family> matrix_families();
std::span<const Family> window_families();
std::span<const Family> norm_families();
std::span<const Family> movement_families();
std::span<const Family> index_families();
std::span<const Family> shape_families();
std::span<const Family> quantised_families();
std::span<const Family> control_families();
std::span<const Family> pattern_families();
std::span<const Family> text_families();
std::span<const Family> data_dependent_families();
std::span<const Family> sampling_families();
std::span<const Family> spectral_families();
std::span<const Family> narrow_families();
std::span<const Family> layer_families();
std::span<const Family> contrib_families();
std::span<const Family> contrib_attention_families();
std::span<const Family> contrib_decoder_families();
std::span<const Family> contrib_diffusion_families();
std::span<const Family> contrib_math_families();
std::span<const Family> contrib_quantised_families();
std::span<const Family> contrib_sequence_families();
std::span<const Family> classical_families();
std::span<const Family> optional_families();
std::span<const Family> same_families();

std::span<const Family> custom_families();  // for models with operators of the host alone

// All tables but the last in one.
std::vector<Family> all_families();

// Floats that most operators are defined for, and all of them.
const std::vector<DType>& ordinary_floats();  // f16 f32 f64
const std::vector<DType>& all_floats();       // and bf16
const std::vector<DType>& all_integers();
const std::vector<DType>& all_numbers();
const std::vector<DType>& all_types();      // and bool
const std::vector<DType>& movable_types();  // and strings
// A float type for the next node: the model's own most of the time.
DType some_float(Builder& b);
// An activation or another elementwise function that keeps numbers small.
DrawnValue activated(Builder& b, const DrawnValue& x);

}  // namespace quern::tools
