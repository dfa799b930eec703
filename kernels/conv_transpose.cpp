// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: the adjoint of Conv. Each x[n, c, i] adds x * w[c, m, k] to
// y[n, m, i * stride - pad + k * dilation], for the output channels m of c's group; y begins with
// bias.
//
// ONNX ConvTranspose, opsets 1 to 22. A given output_shape, or SAME (output = input * stride),
// decides the pads: their sum is what the full output has too much, and with SAME_UPPER the odd one
// lies at the end, else at the beginning. What it has too little is bias alone, at the end.
// Sums in double, rounded once.
#include "kernels/conv_transpose.h"

#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/conv_onednn.h"
#include "kernels/conv_transpose_rows.h"
#include "kernels/gpu/kernels.h"
#include "kernels/kernel.h"
#include "kernels/window.h"

namespace quern {
namespace {

// The output of one dimension with nothing cut off, less `pads`.
Dim full_size(const ConvTranspose& op, const ResolvedWindow& w, std::size_t d, Dim in,
              std::int64_t pads) {
  const std::int64_t padding = op.output_padding.empty() ? 0 : op.output_padding[d];
  const std::int64_t more = w.extent(d) + padding - w.strides[d] - pads;
  return more < 0 ? sub_clamped(in * w.strides[d], -more) : in * w.strides[d] + more;
}

Dim output_size(const ConvTranspose& op, const ResolvedWindow& w, std::size_t d, Dim in) {
  if (!op.output_shape.empty()) return op.output_shape[d];
  if (is_same(op.window.auto_pad)) return in * w.strides[d];
  return full_size(op, w, d, in, w.pads_begin[d] + w.pads_end[d]);
}

}  // namespace

ResolvedWindow resolve_transposed_window(const ConvTranspose& op, std::span<const std::int64_t> in,
                                         std::span<const std::int64_t> kernel) {
  ResolvedWindow w = resolve_window(op.window, in, kernel);
  if (op.output_shape.empty() && !is_same(op.window.auto_pad)) return w;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t full = full_size(op, w, d, in[d], 0).value();
    const std::int64_t total =
        std::max<std::int64_t>(full - output_size(op, w, d, in[d]).value(), 0);
    w.pads_begin[d] = op.window.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    w.pads_end[d] = total - w.pads_begin[d];
  }
  return w;
}

namespace {

Status check_channels(const InferContext& c, const Dims& x, const Dims& w, std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  if (x[1].known() && w[0].known() && !x[1].same(w[0]))
    return c.error(cat("weight has ", w[0].value(), " input channels, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " input channels do not fall into ", group, " groups"));
  const Dims* bias = c.dims(2);
  if (bias && (bias->size() != 1 || !meet(*bias, {w[1] * group})))
    return c.error(cat(c.describe(2), " must have one element for each output channel"));
  return {};
}

// The spatial output; what the kernel decides is unknown while the weights' shape is.
Result<Dims> infer_spatial(const InferContext& c, const ConvTranspose& op, std::span<const Dim> in,
                           std::span<const Dim> kernel) {
  QUERN_TRY(infer_window(c, op.window, in, kernel).status());
  QUERN_TRY(check_list(c, "output_padding", op.output_padding, in.size(), 0));
  QUERN_TRY(check_list(c, "output_shape", op.output_shape, in.size(), 0));
  Shape sizes;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const std::int64_t attribute = op.window.kernel.empty() ? 0 : op.window.kernel[d];
    sizes.push_back(kernel[d].known() ? kernel[d].value() : attribute);
  }
  const ResolvedWindow w = resolve_window(op.window, Shape::filled(in.size(), 0), sizes);
  Dims out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool by_kernel = op.output_shape.empty() && !is_same(op.window.auto_pad);
    out.push_back(by_kernel && sizes[d] == 0 ? Dim() : output_size(op, w, d, in[d]));
  }
  return out;
}

Status infer(InferContext& c) {
  const auto& op = c.op<ConvTranspose>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0) && !c.dims(1)) return {};
  const std::size_t rank = c.dims(0) ? c.dims(0)->size() : c.dims(1)->size();
  const Dims x = c.dims(0) ? *c.dims(0) : Dims(rank);
  const Dims w = c.dims(1) ? *c.dims(1) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  QUERN_TRY(check_channels(c, x, w, op.group));
  QUERN_ASSIGN(const Dims spatial,
               infer_spatial(c, op, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[1] * op.group};
  y.insert(y.end(), spatial.begin(), spatial.end());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- reference

// One channel of the output, gathered in `sums`.
template <class T>
void transposed_channel(const ReferenceCall& call, const ResolvedWindow& window, std::int64_t n,
                        std::int64_t m, double* sums) {
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& ws = call.inputs[1].type.shape;
  const Shape in = spatial_of(xs);
  const Shape out = spatial_of(call.outputs[0].type.shape);
  const std::int64_t channels = xs[1] / call.as<ConvTranspose>().group;
  const std::int64_t first = m / ws[1] * channels;
  for (std::int64_t c = first; c < first + channels; ++c) {
    const T* x = call.inputs[0].as<T>() + (n * xs[1] + c) * in.elements();
    const T* w = call.inputs[1].as<T>() + (c * ws[1] + m % ws[1]) * ws.elements(2);
    for_each_index(in, [&](const Shape& at) {
      const auto v = static_cast<double>(*x++);
      for_each_tap(window, out, at, [&](std::int64_t e, std::int64_t t) {
        sums[e] += v * static_cast<double>(w[t]);
      });
    });
  }
}

template <class T>
void convolve_transposed(const ReferenceCall& call) {
  const Shape& ys = call.outputs[0].type.shape;
  const ResolvedWindow window =
      resolve_transposed_window(call.as<ConvTranspose>(), spatial_of(call.inputs[0].type.shape),
                                spatial_of(call.inputs[1].type.shape));
  const std::int64_t size = ys.elements(2);
  auto* sums = call.scratch.take<double>(static_cast<std::size_t>(size));
  const T* bias = call.has(2) ? call.inputs[2].as<T>() : nullptr;
  T* y = call.outputs[0].as<T>();
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for (std::int64_t m = 0; m < ys[1]; ++m) {
      std::fill_n(sums, size, bias ? static_cast<double>(bias[m]) : 0);
      transposed_channel<T>(call, window, n, m, sums);
      for (std::int64_t i = 0; i < size; ++i) *y++ = T(sums[i]);
    }
}

std::size_t scratch(const Op&, std::span<const TensorType>, std::span<const TensorType> outputs) {
  return Scratch::bytes_for<double>(static_cast<std::size_t>(outputs[0].shape.elements(2)));
}

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { convolve_transposed<T>(call); });
  return {};
}

Cost flops(const Op&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  cost.flops = 2.0 * static_cast<double>(inputs[0].shape.elements()) *
               static_cast<double>(inputs[1].shape.elements(1));
  return cost;
}

constexpr CpuImplementation cpu[] = {
    {"rows", select_conv_transpose_rows},
    {"direct", select_conv_transpose_direct},
#ifdef QUERN_ONEDNN
    {"onednn", select_conv_transpose_onednn},
#endif
};
constexpr OpKernels kernels{.cpu = cpu, .flops = flops, .gpu = gpu::select_conv_transpose};

}  // namespace

const OpDef& ConvTranspose::def() {
  static constexpr OpDef def{.name = "ConvTranspose",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops,
                             .infer = infer,
                             .reference = reference,
                             .scratch = scratch,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
