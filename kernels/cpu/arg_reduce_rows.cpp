// SPDX-License-Identifier: Apache-2.0
// ArgReduce in f32. Along the last axis a row is gone through twice: vectors find the extreme, and
// a search finds where it is. Along another axis the elements behind it are lanes, each with the
// best value so far and its index, so that memory is read in order.
#include "kernels/cpu/arg_reduce_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/reduce.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::int64_t arg_lanes = 512;

class ArgReduceRows final : public CpuKernel {
 public:
  ArgReduceRows(const ArgReduce& op, const AxisSplit& split) : op_(op), s_(split) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<std::int64_t*>(args.outputs[0]);
    if (s_.inner == 1)
      rows(x, y, args.stop, parallel);
    else
      lanes(x, y, args.stop, parallel);
    return {};
  }

 private:
  // ---- along the last axis

  void rows(const float* x, std::int64_t* y, const Stop* stop, const Parallel& parallel) const {
    parallel(s_.outer, row_grain(s_.axis), [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(stop);
      for (std::int64_t r = begin; r < end && !check.is_over(); ++r)
        y[r] = position(x + r * s_.axis, check);
    });
  }
  std::int64_t position(const float* row, StopCheck& check) const {
    float best = row[0];
    for_row_pieces(s_.axis, check, [&](std::int64_t at, std::int64_t n) {
      const float here = op_.is_max ? simd().max(row + at, n) : simd().min(row + at, n);
      const bool is_better = op_.is_max ? here > best : here < best;
      // A NaN stays.
      if (best == best && (is_better || here != here)) best = here;
    });
    const auto is_best = [&](float v) { return best == best ? v == best : v != v; };
    const float* end = row + s_.axis;
    if (!op_.select_last_index) return std::find_if(row, end, is_best) - row;
    return std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(row), is_best)
               .base() -
           row - 1;
  }

  // ---- along another axis

  void lanes(const float* x, std::int64_t* y, const Stop* stop, const Parallel& parallel) const {
    const std::int64_t parts = ceil_div(s_.inner, arg_lanes);
    const std::int64_t width = std::min(arg_lanes, s_.inner);
    parallel(
        s_.outer * parts, row_grain(s_.axis * width), [&](std::int64_t begin, std::int64_t end) {
          StopCheck check(stop);
          for (std::int64_t p = begin; p < end && !check.is_over(); ++p) {
            const std::int64_t first = p % parts * arg_lanes;
            const std::int64_t outer = p / parts;
            lanes_of(x + outer * s_.axis * s_.inner + first, std::min(arg_lanes, s_.inner - first),
                     y + outer * s_.inner + first, check);
          }
        });
  }
  void lanes_of(const float* x, std::int64_t n, std::int64_t* y, StopCheck& check) const {
    // The first of equals stays unless the last is wanted; a NaN gives way to another NaN alone.
    if (op_.select_last_index)
      op_.is_max ? fold(x, n, y, check, [](float v, float b) { return v >= b || v != v; })
                 : fold(x, n, y, check, [](float v, float b) { return v <= b || v != v; });
    else
      op_.is_max ? fold(x, n, y, check, [](float v, float b) { return !(v <= b) && b == b; })
                 : fold(x, n, y, check, [](float v, float b) { return !(v >= b) && b == b; });
  }
  template <class Better>
  void fold(const float* x, std::int64_t n, std::int64_t* y, StopCheck& check,
            Better is_better) const {
    float best[arg_lanes];
    std::int32_t at[arg_lanes] = {};
    std::copy_n(x, n, best);
    for (std::int32_t k = 1; k < s_.axis && !check.spend(n); ++k) {
      const float* line = x + k * s_.inner;
      for (std::int64_t i = 0; i < n; ++i) {
        const bool better = is_better(line[i], best[i]);
        best[i] = better ? line[i] : best[i];
        at[i] = better ? k : at[i];
      }
    }
    std::copy_n(at, n, y);
  }

  ArgReduce op_;
  AxisSplit s_;
};

}  // namespace

Selection select_arg_reduce_rows(const KernelRequest& r) {
  const auto& op = r.as<ArgReduce>();
  const Shape& shape = r.shape(0);
  if (r.dtype(0) != DType::f32 || shape.empty() || shape.elements() == 0) return unsupported();
  const AxisSplit split = split_at(shape, positive_axis(op.axis, shape.rank()));
  if (split.axis > std::numeric_limits<std::int32_t>::max()) return unsupported();
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.work = std::make_unique<ArgReduceRows>(op, split);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
