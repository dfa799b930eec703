// SPDX-License-Identifier: Apache-2.0
// Gather along an axis: the indices are read once, and then each outer slice is a copy of rows
// whose size is known to the compiler where they are short.
#include "kernels/cpu/gather_copy.h"

#include <algorithm>
#include <limits>

#include "graph/ops/gather.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {

class GatherCopy final : public CpuKernel {
 public:
  GatherCopy(const KernelRequest& r, const AxisSplit& split)
      : name_(r.description()),
        split_(split),
        row_(static_cast<std::size_t>(split.inner) * size_of(r.dtype(0))),
        indices_{r.dtype(1), r.shape(1)},
        count_(indices_.shape.elements()) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto bytes_a_thread = static_cast<std::size_t>(cut_size(64 << 10));
    auto* at = reinterpret_cast<std::int32_t*>(args.scratch);
    if (Status s = read_indices(args, at); !s.ok()) return std::move(s).in(name_);
    const auto rows_a_thread = static_cast<std::int64_t>(bytes_a_thread / row_);
    parallel(split_.outer * count_, std::max<std::int64_t>(1, rows_a_thread),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t next; begin < end && !check.is_over(); begin = next) {
                 const std::int64_t outer = begin / count_;
                 next = std::min(end, (outer + 1) * count_);
                 copy_rows(args.inputs[0] + at_row(outer * split_.axis), at + begin % count_,
                           next - begin, args.outputs[0] + at_row(begin), check);
               }
             });
    return {};
  }

 private:
  std::size_t at_row(std::int64_t row) const { return static_cast<std::size_t>(row) * row_; }

  // Writes where along the axis each index points; an error if it does not write all.
  Status read_indices(const KernelArgs& args, std::int32_t* at) const {
    const TensorView indices{indices_, const_cast<std::byte*>(args.inputs[1])};
    StopCheck check(args.stop);
    for (std::int64_t i = 0; i < count_; ++i) {
      if (check.spend(1)) return args.stop->check();
      const std::int64_t index = wrapped_index(index_at(indices, i), split_.axis);
      if (index < 0) return index_error(index_at(indices, i), split_.axis);
      at[i] = static_cast<std::int32_t>(index);
    }
    return {};
  }

  void copy_rows(const std::byte* x, const std::int32_t* at, std::int64_t n, std::byte* y,
                 StopCheck& check) const {
    if (row_ != 1 && row_ != 2 && row_ != 4 && row_ != 8) {
      for (std::int64_t i = 0; i < n && !check.spend(4); ++i)
        copy_bytes(x + at_row(at[i]), row_, y + at_row(i), check);
      return;
    }
    visit_element_size(row_, [&](auto size) {
      for (std::int64_t i = 0; i < n; ++i)
        std::memcpy(y + static_cast<std::size_t>(i) * size,
                    x + static_cast<std::size_t>(at[i]) * size, size);
    });
    check.spend(n);
  }

  std::string name_;
  AxisSplit split_;
  std::size_t row_;  // bytes of data behind one index
  TensorType indices_;
  std::int64_t count_;
};

}  // namespace

Selection select_gather_copy(const KernelRequest& r) {
  const auto& op = r.as<Gather>();
  if (op.kind != GatherKind::axis) return unsupported();
  const AxisSplit split = split_at(r.shape(0), positive_axis(op.axis, r.shape(0).rank()));
  const std::int64_t count = r.shape(1).elements();
  // Where there is nothing to copy, the reference judges the indices.
  if (split.outer * split.inner * count == 0 ||
      split.axis > std::numeric_limits<std::int32_t>::max())
    return unsupported();
  KernelChoice choice;
  choice.implementation = "copy";
  choice.scratch_bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
  choice.work = std::make_unique<GatherCopy>(r, split);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
