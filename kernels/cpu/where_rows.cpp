// SPDX-License-Identifier: Apache-2.0
// Where: dimensions are merged as far as all three operands allow it, and along the last one that
// remains each operand is a line of elements or a single one, so that the loop over it is one that
// the compiler turns into vectors.
#include "kernels/cpu/where_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "engine/vocabulary/multiples.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/rows.h"

namespace quern {
namespace {

constexpr std::int64_t line_piece = 16384;  // elements at a time

struct WhereLoops {
  Shape outer;
  std::array<Shape, 3> strides;  // of condition, a and b over `outer`, in elements
  std::int64_t inner = 1;
  std::array<std::int64_t, 3> step{};  // along `inner`: 0 or 1
};

// The dimensions of the result, the last of which are one where every operand goes through them as
// through one.
WhereLoops where_loops(const Shape& shape, const std::array<Shape, 3>& strides) {
  WhereLoops loops;
  std::size_t d = shape.rank();
  const auto continues = [&](std::size_t k) {
    return strides[k][d - 1] == loops.step[k] * loops.inner;
  };
  for (; d > 0; --d) {
    if (shape[d - 1] == 1) continue;
    if (loops.inner == 1)
      for (std::size_t k = 0; k < 3; ++k) loops.step[k] = strides[k][d - 1];
    else if (!continues(0) || !continues(1) || !continues(2))
      break;
    loops.inner *= shape[d - 1];
  }
  for (std::size_t i = 0; i < d; ++i) {
    loops.outer.push_back(shape[i]);
    for (std::size_t k = 0; k < 3; ++k) loops.strides[k].push_back(strides[k][i]);
  }
  return loops;
}

template <class T, bool A, bool B>
void choose(const std::uint8_t* condition, const T* a, const T* b, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T yes = a[A ? i : 0];
    const T no = b[B ? i : 0];
    y[i] = condition[i] ? yes : no;
  }
}

template <class T>
class WhereRows final : public CpuKernel {
 public:
  explicit WhereRows(const WhereLoops& loops) : l_(loops) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* condition = reinterpret_cast<const std::uint8_t*>(args.inputs[0]);
    const auto* a = reinterpret_cast<const T*>(args.inputs[1]);
    const auto* b = reinterpret_cast<const T*>(args.inputs[2]);
    auto* y = reinterpret_cast<T*>(args.outputs[0]);
    const std::int64_t pieces = ceil_div(l_.inner, line_piece);
    const std::int64_t width = std::min(l_.inner, line_piece);
    parallel(
        l_.outer.elements() * pieces, row_grain(width), [&](std::int64_t begin, std::int64_t end) {
          std::int64_t piece = begin % pieces;
          std::int64_t left = end - begin;
          std::int64_t row = begin / pieces;
          for_each_offset(l_.outer, l_.strides, row, ceil_div(end, pieces), [&](const auto& at) {
            for (; piece < pieces && left > 0; ++piece, --left) {
              const std::int64_t first = piece * line_piece;
              line(condition + at[0] + first * l_.step[0], a + at[1] + first * l_.step[1],
                   b + at[2] + first * l_.step[2], y + row * l_.inner + first,
                   std::min(line_piece, l_.inner - first));
            }
            piece = 0;
            ++row;
          });
        });
    return {};
  }

 private:
  void line(const std::uint8_t* condition, const T* a, const T* b, T* y, std::int64_t n) const {
    if (l_.step[0] == 0) {
      const bool yes = *condition;
      const T* from = yes ? a : b;
      if (l_.step[yes ? 1 : 2])
        std::copy_n(from, n, y);
      else
        std::fill_n(y, n, *from);
      return;
    }
    if (l_.step[1])
      l_.step[2] ? choose<T, true, true>(condition, a, b, y, n)
                 : choose<T, true, false>(condition, a, b, y, n);
    else
      l_.step[2] ? choose<T, false, true>(condition, a, b, y, n)
                 : choose<T, false, false>(condition, a, b, y, n);
  }

  WhereLoops l_;
};

std::unique_ptr<CpuKernel> where_rows(std::size_t size, const WhereLoops& loops) {
  switch (size) {
    case 1: return std::make_unique<WhereRows<std::uint8_t>>(loops);
    case 2: return std::make_unique<WhereRows<std::uint16_t>>(loops);
    case 4: return std::make_unique<WhereRows<std::uint32_t>>(loops);
    default: return std::make_unique<WhereRows<std::uint64_t>>(loops);
  }
}

}  // namespace

Selection select_where_rows(const KernelRequest& r) {
  const Shape& shape = r.outputs[0].shape;
  const std::size_t size = size_of(r.outputs[0].dtype);
  if (shape.elements() == 0 || size > 8) return unsupported();
  const WhereLoops loops = where_loops(
      shape, {broadcast_strides(r.shape(0), shape), broadcast_strides(r.shape(1), shape),
              broadcast_strides(r.shape(2), shape)});
  KernelChoice choice;
  choice.implementation = "rows";
  choice.work = where_rows(size, loops);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
