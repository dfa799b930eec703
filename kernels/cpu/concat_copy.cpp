// SPDX-License-Identifier: Apache-2.0
// Concat as a copy of each input into its part of the output. The output has the layout of the
// largest input; inputs with another layout are reordered while copying.
#include "kernels/cpu/concat_copy.h"

#include <algorithm>

#include "graph/ops/concat.h"
#include "kernels/contract/copy.h"

namespace quern {
namespace {

class ConcatCopy final : public CpuKernel {
 public:
  struct Part {
    std::size_t input;
    ElementCopy copy;
    std::size_t offset;  // bytes
  };
  explicit ConcatCopy(std::vector<Part> parts) : parts_(std::move(parts)) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    for (const Part& p : parts_)
      if (args.inputs[p.input] != args.outputs[0] + p.offset)
        p.copy(args.inputs[p.input], args.outputs[0] + p.offset, parallel);
    return {};
  }

 private:
  std::vector<Part> parts_;
};

const TensorDesc& largest_input(const KernelRequest& r) {
  return std::ranges::max_element(
             r.inputs, {},
             [](const KernelInput& i) { return i.constant ? -1 : i.desc.shape.elements(); })
      ->desc;
}

// Every part begins and ends with a block of channels.
bool keeps_blocks(const KernelRequest& r, int block) {
  return std::ranges::all_of(r.inputs, [&](const KernelInput& i) {
    const int other = i.desc.layout.block;
    return i.desc.shape[1] % block == 0 && (other == 0 || other == block);
  });
}

Layout result_layout(const KernelRequest& r) {
  const Shape& y = r.outputs[0].shape;
  const TensorDesc& like = largest_input(r);
  if (like.layout.block)
    return keeps_blocks(r, like.layout.block) ? Layout::channel_blocked(y, like.layout.block)
                                              : Layout::channels_last(y);
  return is_channels_last(like) ? Layout::channels_last(y) : Layout::row_major(y);
}

}  // namespace

Selection select_concat_copy(const KernelRequest& r) {
  const TensorType& y = r.outputs[0];
  if (y.shape.elements() == 0) return unsupported();
  const std::size_t axis = positive_axis(r.as<Concat>().axis, y.shape.rank());
  const Layout layout = result_layout(r);
  KernelChoice choice;
  std::vector<ConcatCopy::Part> parts;
  std::int64_t before = 0;  // along the axis
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    const Shape& shape = r.shape(i);
    const bool turns = r.inputs[i].desc.layout.block && !layout.block;
    choice.input_layouts.push_back(turns ? Layout::channels_last(shape) : r.inputs[i].desc.layout);
    const std::int64_t skipped = layout.block && axis == 1 ? before / layout.block : before;
    const std::size_t offset =
        static_cast<std::size_t>(skipped * layout.strides[axis]) * size_of(y.dtype);
    const TensorDesc from{y.dtype, shape, choice.input_layouts[i]};
    if (shape.elements() > 0)
      parts.push_back({i, ElementCopy(from, {y.dtype, shape, layout}), offset});
    if (shape.elements() > 0 && is_dense(from) && same_placement(shape, from.layout, layout))
      choice.copies.push_back({static_cast<std::uint32_t>(i), offset});
    before += shape[axis];
  }
  choice.implementation = "copy";
  choice.output_layouts = {layout};
  choice.work = std::make_unique<ConcatCopy>(std::move(parts));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
