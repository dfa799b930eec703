// SPDX-License-Identifier: Apache-2.0
// Trilu: of each row, one piece is copied and the rest is zeroed.
#include "kernels/cpu/trilu_copy.h"

#include <algorithm>
#include <cstring>

#include "graph/ops/rearrange.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/rows.h"

namespace quern {
namespace {

class TriluCopy final : public CpuKernel {
 public:
  explicit TriluCopy(const KernelRequest& r)
      : upper_(r.as<Trilu>().upper), x_{r.dtype(0), r.shape(0)} {
    const std::size_t rank = x_.shape.rank();
    rows_ = x_.shape[rank - 2];
    columns_ = x_.shape[rank - 1];
    if (r.has(1)) diagonal_ = {r.dtype(1), r.shape(1)};
    has_diagonal_ = r.has(1);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::int64_t k =
        has_diagonal_ ? index_at({diagonal_, const_cast<std::byte*>(args.inputs[1])}, 0) : 0;
    const auto row_bytes = static_cast<std::size_t>(columns_) * size_of(x_.dtype);
    parallel(x_.shape.elements() / columns_, row_grain(columns_),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t r = begin; r < end && !check.is_over(); ++r) {
                 const std::size_t at = static_cast<std::size_t>(r) * row_bytes;
                 row(args.inputs[0] + at, r % rows_, k, args.outputs[0] + at, check);
               }
             });
    return {};
  }

 private:
  void row(const std::byte* x, std::int64_t i, std::int64_t k, std::byte* y,
           StopCheck& check) const {
    // The first column that lies behind the diagonal (above it for the upper triangle); k may be
    // any number.
    const std::int64_t edge = upper_ ? 0 : 1;
    const std::int64_t first = k < -i - edge             ? 0
                               : k > columns_ - i - edge ? columns_
                                                         : i + k + edge;
    const std::size_t size = size_of(x_.dtype);
    const std::size_t before = static_cast<std::size_t>(first) * size;
    const std::size_t behind = static_cast<std::size_t>(columns_ - first) * size;
    if (upper_) {
      zero_bytes(before, y, check);
      copy_bytes(x + before, behind, y + before, check);
    } else {
      copy_bytes(x, before, y, check);
      zero_bytes(behind, y + before, check);
    }
  }

  bool upper_;
  TensorType x_;
  std::int64_t rows_, columns_;
  TensorType diagonal_;
  bool has_diagonal_;
};

}  // namespace

Selection select_trilu_copy(const KernelRequest& r) {
  if (r.shape(0).elements() == 0) return unsupported();
  KernelChoice choice;
  choice.implementation = "copy";
  choice.work = std::make_unique<TriluCopy>(r);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
