// SPDX-License-Identifier: Apache-2.0
// Concat: one copy per operand, each to its part of the result.
#include "graph/ops/concat.h"

#include "kernels/gpu/copy.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {

namespace {

// Binds a part of the result that lies in one range, from the last offset before it where any
// device lets a binding begin; `first`, the number of the part's first element, is then counted
// from there.
BufferUse part_of_output(DType type, std::int64_t elements, std::int64_t& first) {
  constexpr std::uint64_t alignment = 256;
  const std::uint64_t begin = static_cast<std::uint64_t>(first) * size_of(type);
  const std::uint64_t end = begin + static_cast<std::uint64_t>(elements) * size_of(type);
  BufferUse use = BufferUse::output(0);
  use.offset = begin / alignment * alignment;
  use.bytes = end - use.offset;
  first = static_cast<std::int64_t>((begin - use.offset) / size_of(type));
  return use;
}

}  // namespace

Selection select_concat(const KernelRequest& request) {
  const TensorType& out = request.outputs[0];
  const std::size_t rank = out.shape.rank();
  const std::size_t d = positive_axis(request.as<Concat>().axis, rank);
  const TensorDesc& first = request.inputs[0].desc;
  const Layout layout = is_channels_last(first) && !is_row_major(first)
                            ? Layout::channels_last(out.shape)
                            : Layout::row_major(out.shape);
  KernelChoice choice;
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < request.inputs.size(); ++i) {
    const Shape& shape = request.shape(i);
    choice.input_layouts.push_back(layout == Layout::row_major(out.shape)
                                       ? Layout::row_major(shape)
                                       : Layout::channels_last(shape));
    if (shape.elements() == 0) continue;
    const bool is_one_range = same_placement(shape, choice.input_layouts.back(), layout);
    std::int64_t first_element = at * layout.strides[d];
    BufferUse to = BufferUse::output(0);
    if (is_one_range && out.bytes() > request.gpu->max_range)
      to = part_of_output(out.dtype, shape.elements(), first_element);
    auto copy = copy_dispatch(out.dtype, shape, {choice.input_layouts.back().strides},
                              {layout.strides, first_element}, *request.gpu);
    if (!copy) return unsupported();
    copy->buffers = {BufferUse::input(i), to};
    choice.on_gpu().dispatches.push_back(std::move(*copy));
    if (is_one_range)
      choice.copies.push_back(
          {i, static_cast<std::size_t>(at * layout.strides[d]) * size_of(out.dtype)});
    at += shape[d];
  }
  if (choice.on_gpu().dispatches.empty()) return unsupported();
  choice.implementation = "copy";
  choice.output_layouts = {layout};
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
