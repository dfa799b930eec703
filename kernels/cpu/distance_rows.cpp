// SPDX-License-Identifier: Apache-2.0
// SquaredDistance: four rows of b at one time against a row of a, on all threads. Sums are held in
// f64 in the order of the reference, four chains of them side by side.
#include "kernels/cpu/distance_rows.h"

#include <algorithm>
#include <array>

#include "engine/vocabulary/multiples.h"
#include "kernels/contract/rows.h"

namespace quern {
namespace {

constexpr std::int64_t distance_tile = 4;  // rows of b
constexpr std::int64_t distance_piece =
    1 << 16;  // columns between two questions whether the run must end

template <class T>
class DistanceRows final : public CpuKernel {
 public:
  DistanceRows(const Shape& a, std::int64_t columns)
      : rows_(a[0]), depth_(a[1]), columns_(columns) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* a = reinterpret_cast<const T*>(args.inputs[0]);
    const auto* b = reinterpret_cast<const T*>(args.inputs[1]);
    auto* y = reinterpret_cast<T*>(args.outputs[0]);
    const std::int64_t tiles = ceil_div(columns_, distance_tile);
    parallel(rows_ * tiles, row_grain(depth_ * distance_tile),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end && !args.is_over(); ++i) {
                 const std::int64_t row = i / tiles;
                 const std::int64_t first = i % tiles * distance_tile;
                 distances(a + row * depth_, b + first * depth_,
                           std::min(distance_tile, columns_ - first), y + row * columns_ + first,
                           args);
               }
             });
    return {};
  }

 private:
  void distances(const T* a, const T* b, std::int64_t n, T* y, const KernelArgs& args) const {
    std::array<double, distance_tile> sums{};
    for (std::int64_t begin = 0; begin < depth_ && !(begin > 0 && args.is_over());
         begin += distance_piece) {
      const std::int64_t end = std::min(begin + distance_piece, depth_);
      if (n == distance_tile) {
        for (std::int64_t k = begin; k < end; ++k)
          for (std::size_t j = 0; j < distance_tile; ++j)
            sums[j] += square(a[k], b[static_cast<std::int64_t>(j) * depth_ + k]);
      } else {
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t k = begin; k < end; ++k)
            sums[static_cast<std::size_t>(j)] += square(a[k], b[j * depth_ + k]);
      }
    }
    for (std::int64_t j = 0; j < n; ++j) y[j] = static_cast<T>(sums[static_cast<std::size_t>(j)]);
  }

  static double square(T a, T b) {
    const double d = static_cast<double>(a) - static_cast<double>(b);
    return d * d;
  }

  std::int64_t rows_;
  std::int64_t depth_;
  std::int64_t columns_;
};

}  // namespace

Selection select_distance_rows(const KernelRequest& r) {
  if (r.outputs[0].shape.elements() == 0) return unsupported();
  KernelChoice choice;
  choice.implementation = "rows";
  if (r.dtype(0) == DType::f64)
    choice.work = std::make_unique<DistanceRows<double>>(r.shape(0), r.shape(1)[0]);
  else
    choice.work = std::make_unique<DistanceRows<float>>(r.shape(0), r.shape(1)[0]);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
