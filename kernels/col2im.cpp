// SPDX-License-Identifier: Apache-2.0
// Col2Im: puts the columns of an unfolded image back, adding where blocks overlap. Column l of
// (columns [N, C * taps, L], image_shape, block_shape) is the block at the l-th window position.
//
// ONNX Col2Im, opset 18: any number of spatial dimensions. Sums in double, integers wrap.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/operands.h"
#include "kernels/window.h"

namespace quern {
namespace {

Window window_of(const Col2Im& op) {
  return {{}, op.strides, op.pads, op.dilations};
}

// The sizes in input i, where they are known.
Result<std::optional<Ints>> sizes_operand(const InferContext& c, std::size_t i) {
  const Dims* dims = c.dims(i);
  if ((c.dtype(i) != DType::i64 && c.dtype(i) != DType::i32) || (dims && dims->size() != 1))
    return c.error(cat(c.describe(i), " must be a list of i64 or i32"));
  std::optional<Ints> sizes = c.ints(i);
  if (sizes) QUERN_TRY(check_list(c, cat("input ", i), *sizes, sizes->size(), 0));
  return sizes;
}

Status check_columns(const InferContext& c, const Dims& columns, const Ints& image,
                     const Ints& block) {
  QUERN_ASSIGN(const Dims counts, infer_window(c, window_of(c.op<Col2Im>()), to_dims(Shape(image)),
                                               to_dims(Shape(block))));
  if (!meet({columns[2]}, {product(counts)}))
    return c.error(cat(c.describe(0), " does not have one column for each of ",
                       product(counts).value(), " blocks"));
  const std::int64_t taps = product(to_dims(Shape(block))).value();
  if (columns[1].known() && columns[1].value() % taps != 0)
    return c.error(cat(c.describe(0), " does not have a multiple of ", taps, " rows"));
  return {};
}

Status infer(InferContext& c) {
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  QUERN_ASSIGN(const std::optional<Ints> image, sizes_operand(c, 1));
  QUERN_ASSIGN(const std::optional<Ints> block, sizes_operand(c, 2));
  const Dims columns = c.dims(0) ? *c.dims(0) : Dims(3);
  if (columns.size() != 3) return c.error(cat(c.describe(0), " must have rank 3"));
  c.set(0, c.dtype(0), std::nullopt);
  if (!image && (!c.dims(1) || !(*c.dims(1))[0].known())) return {};
  const auto rank = static_cast<std::size_t>(image ? static_cast<std::int64_t>(image->size())
                                                   : (*c.dims(1))[0].value());
  if (rank < 1 || rank > max_spatial_rank)
    return c.error(cat(rank, " spatial dimensions, wants 1 to ", max_spatial_rank));
  Dims y(rank + 2);
  y[0] = columns[0];
  if (image) std::copy(image->begin(), image->end(), y.begin() + 2);
  if (image && block) QUERN_TRY(check_columns(c, columns, *image, *block));
  if (block) y[1] = div_exact(columns[1], product(to_dims(Shape(*block))).value());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

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
  for (std::int64_t channel = 0; channel < ys[0] * ys[1]; ++channel) {
    std::fill_n(sums, image.elements(), Sum<T>(0));
    std::int64_t l = 0;
    for_each_index(counts, [&](const Shape& at) {
      for_each_tap(window, image, at, [&](std::int64_t e, std::int64_t t) {
        sums[e] += static_cast<Sum<T>>(columns[t * counts.elements() + l]);
      });
      ++l;
    });
    columns += block.elements() * counts.elements();
    for (std::int64_t i = 0; i < image.elements(); ++i) *y++ = static_cast<T>(sums[i]);
  }
}

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { fold<T>(call); });
  return {};
}

std::size_t scratch(const Op&, std::span<const TensorType>, std::span<const TensorType> outputs) {
  return Scratch::bytes_for<Sum<float>>(static_cast<std::size_t>(outputs[0].shape.elements(2)));
}

}  // namespace

const OpDef& Col2Im::def() {
  static constexpr OpDef def{.name = "Col2Im",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .plan_operands = 0b110,
                             .infer = infer,
                             .reference = reference,
                             .scratch = scratch};
  return def;
}

}  // namespace quern
