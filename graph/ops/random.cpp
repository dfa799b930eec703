// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<2> random_names = {"uniform", "normal"};
constexpr EnumNames<2> generator_names = {"counter", "mersenne"};

// ---- dft

std::int64_t bins_dft(const Dft& op, std::int64_t length) {
  return op.onesided && !op.inverse ? length / 2 + 1 : length;
}

Result<std::size_t> transformed_axis(const InferContext& c, std::int64_t axis, std::size_t rank) {
  QUERN_ASSIGN(const std::size_t positive, c.axis(axis, rank));
  if (positive == rank - 1)
    return c.error(cat("axis ", axis, " is the one of real and imaginary parts"));
  return positive;
}

Status check_input(const InferContext& c, const Dims& x) {
  if (x.size() < 2 || x.size() > Shape::max_rank)
    return c.error(cat(c.describe(0), " must have a rank of 2 to ", Shape::max_rank));
  if (x.back().known() && !x.back().is(1) && !x.back().is(2))
    return c.error(cat(c.describe(0), " must end in a dimension of 1 or 2"));
  return {};
}

Status infer_dft(InferContext& c) {
  const auto& op = c.op<Dft>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_ASSIGN(const std::optional<std::int64_t> given, int_operand(c, 1));
  QUERN_ASSIGN(std::optional<std::int64_t> axis, int_operand(c, 2));
  if (!c.has(2)) axis = -2;
  if (given && (*given < 1 || *given > max_extent))
    return c.error(cat("dft_length is ", *given, ", wants 1 to ", max_extent));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0)) return {};
  Dims y = *c.dims(0);
  QUERN_TRY(check_input(c, y));
  y.back() = gives_real(op) ? 1 : 2;
  if (!axis) {
    std::fill(y.begin(), y.end() - 1, Dim());
  } else {
    QUERN_ASSIGN(const std::size_t at, transformed_axis(c, *axis, y.size()));
    std::optional<std::int64_t> length = given;
    if (!c.has(1) && y[at].known()) length = default_length(op, y[at].value());
    if (length && (*length < 1 || *length > max_extent))
      return c.error(cat(c.describe(0), " has ", y[at].or_minus_one(), " elements along axis ", at,
                         ": none to transform, or too many"));
    y[at] = length ? Dim(bins_dft(op, *length)) : c.has(1) || op.onesided ? Dim() : y[at];
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- mel_weight_matrix

Status infer_mel_weight_matrix(InferContext& c) {
  const DType dtype = c.op<MelWeightMatrix>().dtype;
  if (!is_number(dtype)) return c.error(cat("cannot make a matrix of ", name_of(dtype)));
  QUERN_ASSIGN(const std::optional<std::int64_t> mel_bins, int_operand(c, 0));
  QUERN_ASSIGN(const std::optional<std::int64_t> length, int_operand(c, 1));
  QUERN_TRY(int_operand(c, 2).status());
  for (std::size_t i : {3, 4}) {
    const Dim elements = c.dims(i) ? product(*c.dims(i)) : Dim();
    if (!is_number_float(c.dtype(i)) || (elements.known() && !elements.is(1)))
      return c.error(cat(c.describe(i), " must be one float"));
  }
  if ((mel_bins && (*mel_bins < 0 || *mel_bins > max_extent)) ||
      (length && (*length < 0 || *length > max_extent)))
    return c.error(cat("the sizes must be from 0 to ", max_extent));
  c.set(0, dtype, Dims{length ? Dim(*length / 2 + 1) : Dim(), mel_bins ? Dim(*mel_bins) : Dim()});
  return {};
}

// ---- multinomial

Status infer_multinomial(InferContext& c) {
  const auto& op = c.op<Multinomial>();
  QUERN_TRY(want_floats(c, 0));
  if (op.dtype != DType::i32 && op.dtype != DType::i64)
    return c.error(cat("draws i32 or i64, not ", name_of(op.dtype)));
  if (op.sample_size < 1 || op.sample_size > max_extent)
    return c.error(cat("sample_size is ", op.sample_size, ", wants at least 1"));
  const Dims* dims = c.dims(0);
  if (dims && dims->size() != 2) return c.error(cat(c.describe(0), " must have rank 2"));
  if (dims && dims->back().is(0)) return c.error(cat(c.describe(0), " has no classes"));
  c.set(0, op.dtype, Dims{dims ? dims->front() : Dim(), op.sample_size});
  return {};
}

// ---- random

Status infer_random(InferContext& c) {
  const auto& op = c.op<Random>();
  if (!is_number_float(op.dtype)) return c.error(cat("makes no elements of ", name_of(op.dtype)));
  if (op.generator == RandomGenerator::mersenne && op.seed >> 32 != 0)
    return c.error(cat("the seed is ", op.seed, ", the generator wants less than 2^32"));
  const Dims* dims = c.dims(0);
  if ((c.dtype(0) != DType::i64 && c.dtype(0) != DType::i32) || (dims && dims->size() != 1))
    return c.error(cat(c.describe(0), " must be a list of i64 or i32"));
  c.set(0, op.dtype, std::nullopt);
  if (const auto shape = c.ints(0)) {
    for (std::int64_t d : *shape)
      if (d < 0) return c.error(cat("shape holds ", d));
    c.set(0, op.dtype, Dims(shape->begin(), shape->end()));
  } else if (dims && dims->front().known() &&
             dims->front().value() <= static_cast<std::int64_t>(Shape::max_rank)) {
    c.set(0, op.dtype, Dims(static_cast<std::size_t>(dims->front().value())));
  }
  return {};
}

// ---- stft

std::int64_t bins_stft(const Stft& op, std::int64_t frame) {
  return op.onesided ? frame / 2 + 1 : frame;
}

std::int64_t frames(std::int64_t signal, std::int64_t frame, std::int64_t step) {
  return signal < frame ? 0 : (signal - frame) / step + 1;
}

Status check_shapes(const InferContext& c) {
  if (const Dims* x = c.dims(0)) {
    if (x->size() != 2 && x->size() != 3)
      return c.error(cat(c.describe(0), " must have rank 2 or 3"));
    if (x->size() == 3 && x->back().known() && !x->back().is(1) && !x->back().is(2))
      return c.error(cat(c.describe(0), " must end in a dimension of 1 or 2"));
  }
  if (c.dims(2) && c.dims(2)->size() != 1) return c.error(cat(c.describe(2), " must have rank 1"));
  return {};
}

// The length of a frame, as far as it is known.
Result<Dim> frame_size(const InferContext& c) {
  QUERN_ASSIGN(const std::optional<std::int64_t> given, int_operand(c, 3));
  Dim size;
  if (c.has(3)) {
    if (given) size = *given < 0 ? Dim(0) : Dim(*given);
  } else if (c.has(2)) {
    if (c.dims(2)) size = c.dims(2)->front();
  } else if (c.dims(0)) {
    size = (*c.dims(0))[1];
  }
  if (size.known() && (size.value() < 1 || size.value() > max_extent))
    return c.error(cat("a frame has ", size.value(), " elements, wants 1 to ", max_extent));
  return size;
}

Status infer_stft(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 2));
  QUERN_TRY(check_shapes(c));
  QUERN_ASSIGN(const std::optional<std::int64_t> step, int_operand(c, 1));
  QUERN_ASSIGN(const Dim frame, frame_size(c));
  if (step && (*step < 1 || *step > max_extent))
    return c.error(cat("frame_step is ", *step, ", wants 1 to ", max_extent));
  Dims y(4);
  y[3] = 2;
  if (c.dims(0)) y[0] = c.dims(0)->front();
  if (c.dims(0) && (*c.dims(0))[1].known() && frame.known() && step)
    y[1] = frames((*c.dims(0))[1].value(), frame.value(), *step);
  if (frame.known()) y[2] = bins_stft(c.op<Stft>(), frame.value());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(RandomKind) {
  return random_names;
}
std::span<const std::string_view> enum_names(RandomGenerator) {
  return generator_names;
}

const OpDef& Dft::def() {
  static constexpr OpDef def{.name = "Dft",
                             .inputs = {1, 3},
                             .outputs = {1, 1},
                             .plan_operands = 0b110,
                             .infer = infer_dft,
                             .attributes = &op_struct<Dft>};
  return def;
}

const OpDef& MelWeightMatrix::def() {
  static constexpr OpDef def{.name = "MelWeightMatrix",
                             .inputs = {5, 5},
                             .outputs = {1, 1},
                             .plan_operands = 0b11,
                             .infer = infer_mel_weight_matrix,
                             .attributes = &op_struct<MelWeightMatrix>};
  return def;
}

const OpDef& Multinomial::def() {
  static constexpr OpDef def{.name = "Multinomial",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::random,
                             .infer = infer_multinomial,
                             .attributes = &op_struct<Multinomial>};
  return def;
}

const OpDef& Random::def() {
  static constexpr OpDef def{.name = "Random",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::random,
                             .plan_operands = 0b1,
                             .infer = infer_random,
                             .attributes = &op_struct<Random>};
  return def;
}

const OpDef& Stft::def() {
  static constexpr OpDef def{.name = "Stft",
                             .inputs = {2, 4},
                             .outputs = {1, 1},
                             .plan_operands = 0b1010,
                             .infer = infer_stft,
                             .attributes = &op_struct<Stft>};
  return def;
}

}  // namespace quern
