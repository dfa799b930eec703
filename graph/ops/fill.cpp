// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/fill.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status infer_constant(InferContext& c) {
  const DType dtype = c.op<ConstantOfShape>().dtype;
  if (dtype == DType::string) return c.error("cannot fill a tensor with strings");
  QUERN_ASSIGN(const ListOperand shape, shape_operand(c, 0));
  std::optional<Dims> dims;
  if (shape.values) {
    dims.emplace();
    for (std::int64_t d : *shape.values) {
      if (d < 0) return c.error(cat("shape ", list_text(*shape.values), " has a negative entry"));
      dims->push_back(d);
    }
  } else if (shape.length) {
    dims = Dims(static_cast<std::size_t>(*shape.length));
  }
  c.set(0, dtype, std::move(dims));
  return {};
}

constexpr std::int64_t saturated = std::numeric_limits<std::int64_t>::max();

// Elements between start and limit; nullopt if there is no answer.
template <class T>
std::optional<std::int64_t> range_count(T start, T limit, T delta) {
  if constexpr (is_integer_type<T>) {
    if (delta == 0) return std::nullopt;
    const bool up = delta > 0;
    if (up ? start >= limit : start <= limit) return 0;
    // Differences as unsigned numbers of 64 bits hold every case.
    const auto from = static_cast<std::uint64_t>(up ? start : limit);
    const auto to = static_cast<std::uint64_t>(up ? limit : start);
    const auto step = up ? static_cast<std::uint64_t>(delta)
                         : std::uint64_t{0} - static_cast<std::uint64_t>(delta);
    const std::uint64_t n = (to - from - 1) / step + 1;
    return n > std::uint64_t{saturated} ? saturated : static_cast<std::int64_t>(n);
  } else {
    const double from = static_cast<double>(start);
    const double to = static_cast<double>(limit);
    const double step = static_cast<double>(delta);
    if (step == 0 || !std::isfinite(from) || !std::isfinite(to) || !std::isfinite(step))
      return std::nullopt;
    const double n = std::ceil((to - from) / step);
    return n > 0 ? convert<std::int64_t>(n) : 0;
  }
}

Result<Dim> range_dim(const InferContext& c) {
  if (!c.value(0) || !c.value(1) || !c.value(2)) return Dim();
  return visit_dtype(c.dtype(0), [&]<class T>(TypeTag<T>) -> Result<Dim> {
    if constexpr (is_number_type<T>) {
      const auto n = range_count(element_of<T>(*c.value(0)), element_of<T>(*c.value(1)),
                                 element_of<T>(*c.value(2)));
      if (n) return Dim(*n);
    }
    return c.error("delta must not be 0, and all three must be finite");
  });
}

Status infer_range(InferContext& c) {
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be a number"));
  for (std::size_t i = 0; i < 3; ++i) {
    QUERN_TRY(c.want_same_dtype(0, i));
    QUERN_TRY(want_single(c, i));
  }
  QUERN_ASSIGN(const Dim n, range_dim(c));
  c.set(0, c.dtype(0), Dims{n});
  return {};
}

Status infer_eye(InferContext& c) {
  const DType dtype = c.op<EyeLike>().dtype.value_or(c.dtype(0));
  if (dtype == DType::string) return c.error("cannot make a diagonal of strings");
  QUERN_TRY(want_rank(c, 0, 2));
  c.set(0, dtype, c.dims(0) ? *c.dims(0) : Dims(2));
  return {};
}

}  // namespace

const OpDef& ConstantOfShape::def() {
  static constexpr OpDef def{.name = "ConstantOfShape",
                             .plan_operands = 1u << 0,
                             .infer = infer_constant,
                             .attributes = &op_struct<ConstantOfShape>};
  return def;
}

const OpDef& Range::def() {
  static constexpr OpDef def{.name = "Range",
                             .inputs = {3, 3},
                             .plan_operands = 0b111,
                             .infer = infer_range,
                             .attributes = &op_struct<Range>};
  return def;
}

const OpDef& EyeLike::def() {
  static constexpr OpDef def{
      .name = "EyeLike", .infer = infer_eye, .attributes = &op_struct<EyeLike>};
  return def;
}

}  // namespace quern
