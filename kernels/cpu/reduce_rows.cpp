// SPDX-License-Identifier: Apache-2.0
// Reduce in f32 over a dense tensor in its own layout. If the innermost dimension is reduced, each
// run of it goes through a vector reduction, short ones side by side; if it is kept, whole runs are
// accumulated onto each other.
#include "kernels/cpu/reduce_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/reduce.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

// Dimensions in memory order, outermost first, adjacent ones of the same kind merged.
struct Folding {
  Shape kept, kept_in, kept_out;  // sizes, strides in x and in y
  Shape folded, folded_in;
  std::int64_t run = 1;  // length of the contiguous innermost dimension
  bool run_folds = true;
  std::int64_t run_out = 1;  // stride of a kept run in y
};

struct Dimension {
  std::int64_t size, in, out;
  bool folds;
};

Folding fold_of(const TensorDesc& x, std::uint32_t mask) {
  std::vector<Dimension> dims;
  Shape out_strides = Shape::filled(x.shape.rank(), 0);
  std::int64_t stride = 1;
  for (std::size_t d = x.shape.rank(); d-- > 0;) {
    if (mask >> d & 1) continue;
    out_strides[d] = stride;
    stride *= x.shape[d];
  }
  for (std::size_t d = 0; d < x.shape.rank(); ++d)
    if (x.shape[d] != 1)
      dims.push_back({x.shape[d], x.layout.strides[d], out_strides[d], (mask >> d & 1) != 0});
  std::ranges::stable_sort(dims, std::greater<>(), &Dimension::in);
  for (std::size_t i = dims.size(); i-- > 1;) {
    Dimension& outer = dims[i - 1];
    const Dimension& inner = dims[i];
    const bool joins = outer.folds == inner.folds && outer.in == inner.in * inner.size &&
                       (inner.folds || outer.out == inner.out * inner.size);
    if (!joins) continue;
    outer = {outer.size * inner.size, inner.in, inner.out, inner.folds};
    dims.erase(dims.begin() + static_cast<long>(i));
  }
  Folding f;
  if (!dims.empty()) {
    f.run = dims.back().size;
    f.run_folds = dims.back().folds;
    f.run_out = dims.back().out;
    dims.pop_back();
  }
  for (const Dimension& d : dims) {
    (d.folds ? f.folded : f.kept).push_back(d.size);
    (d.folds ? f.folded_in : f.kept_in).push_back(d.in);
    if (!d.folds) f.kept_out.push_back(d.out);
  }
  return f;
}

enum class Fold : std::uint8_t { sum, sum_abs, sum_square, max, min };

struct ReduceSteps {
  Fold fold = Fold::sum;
  float scale = 1;  // applied to the result
  bool root = false;
  bool log = false;
};

std::optional<ReduceSteps> steps_of(ReduceKind kind, std::int64_t folded) {
  switch (kind) {
    case ReduceKind::sum: return ReduceSteps{};
    case ReduceKind::mean: return ReduceSteps{.scale = 1.0f / static_cast<float>(folded)};
    case ReduceKind::max: return ReduceSteps{.fold = Fold::max};
    case ReduceKind::min: return ReduceSteps{.fold = Fold::min};
    case ReduceKind::l1: return ReduceSteps{.fold = Fold::sum_abs};
    case ReduceKind::l2: return ReduceSteps{.fold = Fold::sum_square, .root = true};
    case ReduceKind::sum_square: return ReduceSteps{.fold = Fold::sum_square};
    case ReduceKind::log_sum: return ReduceSteps{.log = true};
    default: return std::nullopt;
  }
}

class ReduceRows final : public CpuKernel {
 public:
  ReduceRows(const Folding& f, const ReduceSteps& s, const CpuTarget& target)
      : f_(f),
        steps_(s),
        in_chunks_(!f.run_folds),
        is_windowed_(in_chunks_ && !f.folded.empty() &&
                     (s.fold == Fold::sum || s.fold == Fold::max)),
        side_by_side_(f.run_folds && f.run <= short_run && f.folded.empty() && f.kept.rank() == 1 &&
                      f.kept_in[0] == f.run && f.kept_out[0] == 1),
        blocks_(target.scratch ? blocks_of(f) : 1) {}

  std::size_t scratch_bytes() const {
    if (blocks_ == 1) return 0;
    return static_cast<std::size_t>(f_.kept.elements() * pieces() * blocks_ * chunk) *
           sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    if (blocks_ > 1) return run_in_blocks(args, parallel);
    if (side_by_side_) return run_side_by_side(args, parallel);
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t pieces = this->pieces();
    const std::int64_t work = f_.folded.elements() * std::min(f_.run, in_chunks_ ? chunk : f_.run);
    parallel(f_.kept.elements() * pieces, row_grain(work),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t u = begin; u < end && !check.is_over(); ++u)
                 unit(x, y, u / pieces, u % pieces, check);
             });
    return {};
  }

 private:
  static constexpr std::int64_t chunk = 512;
  static constexpr std::int64_t long_run = 4096;
  static constexpr std::int64_t short_run = 32, side = 64;
  static constexpr std::int64_t group = 32;  // rows whose sum is added up before that of all

  std::int64_t pieces() const { return in_chunks_ ? ceil_div(f_.run, chunk) : 1; }

  // Few elements of y, each of many rows: the rows are cut into blocks, whose number does not
  // depend on the threads, so that the result does not.
  std::int64_t blocks_of(const Folding& f) const {
    constexpr std::int64_t most_blocks = 8;
    if (!is_windowed_ || f.folded.rank() != 1 || f.kept.elements() * pieces() >= most_blocks)
      return 1;
    const std::int64_t elements = f.folded.elements() * f.run;
    return std::clamp<std::int64_t>(elements / cut_size(32768), 1,
                                    std::min(most_blocks, f.folded.elements()));
  }

  Status run_in_blocks(const KernelArgs& args, const Parallel& parallel) const {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    auto* partial = reinterpret_cast<float*>(args.scratch);
    const std::int64_t units = f_.kept.elements() * pieces();
    parallel(units * blocks_, 1, [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t u = begin; u < end && !check.is_over(); ++u)
        block(x, u / blocks_, u % blocks_, partial + u * chunk, check);
    });
    for (std::int64_t u = 0; u < units; ++u) join_blocks(partial + u * blocks_ * chunk, u, y);
    return {};
  }

  void block(const float* x, std::int64_t unit, std::int64_t index, float* to,
             StopCheck& check) const {
    const std::int64_t piece = unit % pieces();
    const std::int64_t n = std::min(chunk, f_.run - piece * chunk);
    const std::int64_t rows = f_.folded.elements();
    const std::int64_t first = rows * index / blocks_;
    std::fill_n(to, n, start());
    for_each_offset(f_.kept, std::array{f_.kept_in}, unit / pieces(), unit / pieces() + 1,
                    [&](const auto& at) {
                      fold_rows(x + at[0] + piece * chunk + first * f_.folded_in[0],
                                rows * (index + 1) / blocks_ - first, to, n, check);
                    });
  }

  void join_blocks(float* partial, std::int64_t unit, float* y) const {
    const std::int64_t piece = unit % pieces();
    const std::int64_t n = std::min(chunk, f_.run - piece * chunk);
    for (std::int64_t b = 1; b < blocks_; ++b) join(partial + b * chunk, partial, n);
    for_each_offset(f_.kept, std::array{f_.kept_out}, unit / pieces(), unit / pieces() + 1,
                    [&](const auto& at) {
                      for (std::int64_t i = 0; i < n; ++i)
                        y[at[0] + (piece * chunk + i) * f_.run_out] = finish(partial[i]);
                    });
  }

  // Short runs one behind the other: some are transposed, so that lanes are runs. A run by itself
  // takes 29 ns, however short it is.
  Status run_side_by_side(const KernelArgs& args, const Parallel& parallel) const {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t runs = f_.kept.elements();
    parallel(
        ceil_div(runs, side), row_grain(side * f_.run), [&](std::int64_t begin, std::int64_t end) {
          StopCheck check(args.stop);
          for (std::int64_t u = begin; u < end && !check.spend(side * f_.run / 4); ++u)
            fold_transposed(x + u * side * f_.run, y + u * side, std::min(side, runs - u * side));
        });
    return {};
  }

  void fold_transposed(const float* x, float* y, std::int64_t runs) const {
    float elements[short_run * side], folded[side];
    for (std::int64_t r = 0; r < runs; ++r)
      for (std::int64_t i = 0; i < f_.run; ++i) elements[i * side + r] = x[r * f_.run + i];
    std::fill_n(folded, runs, start());
    for (std::int64_t i = 0; i < f_.run; ++i) fold_row(elements + i * side, folded, runs);
    for (std::int64_t r = 0; r < runs; ++r) y[r] = finish(folded[r]);
  }

  // Folds rows, as far apart as the innermost folded dimension has them, onto `to`.
  void fold_rows(const float* x, std::int64_t rows, float* to, std::int64_t n,
                 StopCheck& check) const {
    float partial[chunk];
    const std::int64_t stride = f_.folded_in.back();
    for (std::int64_t r = 0; r < rows && !check.spend(4 + group * n / 4); r += group) {
      const float* first = x + r * stride;
      const SimdWindow window{.x = &first,
                              .rows = 1,
                              .taps = std::min(group, rows - r),
                              .dilation = stride,
                              .y = partial,
                              .lanes = n};
      sums() ? simd().sum_windows(window) : simd().max_windows(window);
      join(partial, to, n);
    }
  }

  // Folds partial results onto others.
  void join(const float* partial, float* onto, std::int64_t n) const {
    (sums() ? lines::add : lines::larger)({onto, false}, {partial, false}, onto, n);
  }

  void unit(const float* x, float* y, std::int64_t row, std::int64_t piece,
            StopCheck& check) const {
    for_each_offset(f_.kept, std::array{f_.kept_in, f_.kept_out}, row, row + 1,
                    [&](const auto& at) {
                      if (f_.run_folds) {
                        y[at[1]] = finish(fold_runs(x + at[0], check));
                      } else {
                        fold_onto(x + at[0] + piece * chunk, y + at[1] + piece * chunk * f_.run_out,
                                  std::min(chunk, f_.run - piece * chunk), check);
                      }
                    });
  }

  bool sums() const { return steps_.fold != Fold::max && steps_.fold != Fold::min; }

  // Reduces all runs of one element of y. The sums of the pieces are added in double: variances
  // computed as a difference of two sums need the precision that a long float sum loses.
  float fold_runs(const float* x, StopCheck& check) const {
    double total = 0;
    float extremum = start();
    for_each_offset(
        f_.folded, std::array{f_.folded_in}, 1 + f_.run / 4, check, [&](const auto& at) {
          if (!sums()) {
            for_row_pieces(f_.run, check, [&](std::int64_t i, std::int64_t n) {
              extremum = join(extremum, fold_run(x + at[0] + i, n));
            });
            return;
          }
          for (std::int64_t i = 0; i < f_.run && !check.spend(long_run / 4); i += long_run)
            total += fold_run(x + at[0] + i, std::min(long_run, f_.run - i));
        });
    return sums() ? static_cast<float>(total) : extremum;
  }
  float start() const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    return steps_.fold == Fold::max ? -infinity : steps_.fold == Fold::min ? infinity : 0;
  }
  float join(float a, float b) const {
    if (steps_.fold == Fold::max) return b != b || a < b ? b : a;
    return b != b || b < a ? b : a;
  }
  float fold_run(const float* x, std::int64_t n) const {
    const SimdSet& s = simd();
    switch (steps_.fold) {
      case Fold::sum: return s.sum(x, n);
      case Fold::sum_abs: return s.sum_abs(x, n);
      case Fold::sum_square: return s.sum_square(x, 0, n);
      case Fold::max: return s.max(x, n);
      case Fold::min: return s.min(x, n);
    }
    return 0;
  }

  // Reduces n neighbouring elements of y at once. Rows are summed in groups and then the groups are
  // summed, so that the error grows with the root of their number.
  void fold_onto(const float* x, float* y, std::int64_t n, StopCheck& check) const {
    float a[chunk];
    std::fill_n(a, n, start());
    if (is_windowed_)
      fold_windows(x, a, n, check);
    else
      fold_one_by_one(x, a, n, check);
    for (std::int64_t i = 0; i < n; ++i) y[i * f_.run_out] = finish(a[i]);
  }

  void fold_windows(const float* x, float* a, std::int64_t n, StopCheck& check) const {
    Shape outer, outer_in;
    for (std::size_t d = 0; d + 1 < f_.folded.rank(); ++d) {
      outer.push_back(f_.folded[d]);
      outer_in.push_back(f_.folded_in[d]);
    }
    const std::int64_t rows = f_.folded.back();
    for_each_offset(outer, std::array{outer_in}, 1, check,
                    [&](const auto& at) { fold_rows(x + at[0], rows, a, n, check); });
  }

  void fold_one_by_one(const float* x, float* a, std::int64_t n, StopCheck& check) const {
    float partial[chunk];
    std::fill_n(partial, n, start());
    std::int64_t rows = 0;
    for_each_offset(f_.folded, std::array{f_.folded_in}, 4 + n / 4, check, [&](const auto& at) {
      fold_row(x + at[0], sums() ? partial : a, n);
      if (!sums() || ++rows < group) return;
      lines::add({a, false}, {partial, false}, a, n);
      std::fill_n(partial, n, 0.0f);
      rows = 0;
    });
    if (rows > 0) lines::add({a, false}, {partial, false}, a, n);
  }

  void fold_row(const float* x, float* onto, std::int64_t n) const {
    const SimdOperand v{x, false};
    const SimdOperand old{onto, false};
    float t[chunk];
    switch (steps_.fold) {
      case Fold::sum: return lines::add(old, v, onto, n);
      case Fold::max: return lines::larger(old, v, onto, n);
      case Fold::min: return lines::smaller(old, v, onto, n);
      case Fold::sum_abs: lines::absolute(x, t, n); break;
      case Fold::sum_square: lines::multiply(v, v, t, n); break;
    }
    lines::add(old, {t, false}, onto, n);
  }

  float finish(float v) const {
    v *= steps_.scale;
    if (steps_.root) v = std::sqrt(v);
    return steps_.log ? std::log(v) : v;
  }

  Folding f_;
  ReduceSteps steps_;
  bool in_chunks_;
  bool is_windowed_;  // rows are folded in registers, as pools do it
  bool side_by_side_;
  std::int64_t blocks_;
};

}  // namespace

Selection select_reduce_rows(const KernelRequest& r) {
  const TensorDesc& x = r.inputs[0].desc;
  if (x.dtype != DType::f32 || x.shape.elements() == 0 || x.shape.empty()) return unsupported();
  const auto mask = folded_axes(r);
  if (!mask || *mask == 0) return unsupported();
  std::int64_t folded = 1;
  for (std::size_t d = 0; d < x.shape.rank(); ++d)
    if (*mask >> d & 1) folded *= x.shape[d];
  const auto steps = steps_of(r.as<Reduce>().kind, folded);
  if (!steps) return unsupported();
  const bool in_storage_order = !x.layout.block && is_dense(x);
  const TensorDesc source = in_storage_order ? x : TensorDesc::row_major(x.dtype, x.shape);
  const Folding f = fold_of(source, *mask);
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = source.layout;
  choice.packed_inputs = {false, true};
  choice.packed_inputs.resize(r.inputs.size());
  auto kernel = std::make_unique<ReduceRows>(f, *steps, r.target);
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
