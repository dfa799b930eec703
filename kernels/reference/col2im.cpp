// SPDX-License-Identifier: Apache-2.0
// Col2Im: puts the columns of an unfolded image back, adding where blocks overlap. Column l of
// (columns [N, C * taps, L], image_shape, block_shape) is the block at the l-th window position.
//
// ONNX Col2Im, opset 18: any number of spatial dimensions. Sums in double, integers wrap.
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/deform_conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"

namespace quern {
namespace {

// ---- reference

template <class T>
void fold(const ReferenceCall& call) {
  const auto& op = call.as<Col2Im>();
  const Shape& ys = call.outputs[0].type.shape;
  const Shape image = spatial_of(ys);
  Shape block;
  for (std::size_t d = 0; d < image.rank(); ++d)
    block.push_back(int_element(call.inputs[2], static_cast<std::int64_t>(d)));
  const ResolvedWindow window = explicit_window(block, op.strides, op.dilations, op.pads);
  Shape counts;
  for (std::size_t d = 0; d < image.rank(); ++d)
    counts.push_back(window_count(image[d], block[d], window.strides[d], window.dilations[d],
                                  window.pads_begin[d], window.pads_end[d],
                                  PartialWindow::dropped));
  auto* sums = call.scratch.take<Sum<T>>(static_cast<std::size_t>(image.elements()));
  const T* columns = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  for (std::int64_t channel = 0; channel < ys[0] * ys[1] && !check.is_over(); ++channel) {
    for_each_until(image.elements(), 1, check, [&](std::int64_t i) { sums[i] = 0; });
    std::int64_t l = 0;
    for_each_index(counts, 8, check, [&](const Shape& at) {
      for_each_tap(window, image, at, check, [&](std::int64_t e, std::int64_t t) {
        sums[e] += static_cast<Sum<T>>(columns[t * counts.elements() + l]);
      });
      ++l;
    });
    columns += block.elements() * counts.elements();
    for_each_until(image.elements(), 1, check,
                   [&](std::int64_t i) { *y++ = static_cast<T>(sums[i]); });
  }
}

Status col2im_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { fold<T>(call); });
  return {};
}

std::size_t col2im_scratch(const Op&, std::span<const TensorType>,
                           std::span<const TensorType> outputs) {
  return Scratch::bytes_for<Sum<float>>(static_cast<std::size_t>(outputs[0].shape.elements(2)));
}

}  // namespace

const OpKernels& Col2Im::kernels() {
  static constexpr OpKernels table{.reference = {col2im_reference, col2im_scratch}};
  return table;
}

}  // namespace quern
