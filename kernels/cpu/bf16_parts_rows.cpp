// SPDX-License-Identifier: Apache-2.0
// Bf16Parts by rows: what lies together along the axis and below it becomes three rows.
#include "kernels/cpu/bf16_parts_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "graph/ops/cast.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::int64_t block =
    1024;  // elements whose high parts are copied from the first-level cache

class Bf16PartsRows final : public CpuKernel {
 public:
  Bf16PartsRows(Bf16Factor factor, std::int64_t rows, std::int64_t row)
      : rows_(rows), row_(row), low_at_(factor == Bf16Factor::left ? 2 : 1) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<std::uint16_t*>(args.outputs[0]);
    const std::int64_t blocks = (row_ + block - 1) / block;
    const std::int64_t grain =
        std::max<std::int64_t>(elements_per_thread() / std::min(row_, block), 1);
    parallel(rows_ * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i % blocks * block;
        const std::int64_t n = std::min(block, row_ - at);
        std::uint16_t* const high = y + i / blocks * 3 * row_ + at;
        simd().bfloat_parts(x + i / blocks * row_ + at, high, high + low_at_ * row_, n);
        std::memcpy(high + (3 - low_at_) * row_, high, static_cast<std::size_t>(2 * n));
      }
    });
    return {};
  }

 private:
  std::int64_t rows_, row_, low_at_;
};

}  // namespace

Selection select_bf16_parts_rows(const KernelRequest& r) {
  const TensorDesc& x = r.inputs[0].desc;
  const auto& op = r.as<Bf16Parts>();
  const auto rank = static_cast<std::int64_t>(x.shape.rank());
  const auto axis = static_cast<std::size_t>(op.axis < 0 ? op.axis + rank : op.axis);
  const std::int64_t n = x.shape.elements();
  if (n == 0) return unsupported();
  const bool by_pixel = axis == 1 && is_channels_last(x);
  const std::int64_t row = by_pixel ? x.shape[1] : x.shape.elements(axis);
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  if (by_pixel) {
    choice.input_layouts = {Layout::channels_last(x.shape)};
    choice.output_layouts = {Layout::channels_last(r.outputs[0].shape)};
  }
  choice.work = std::make_unique<Bf16PartsRows>(op.factor, n / row, row);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
