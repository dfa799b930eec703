// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose by oneDNN: the source in the layout that the primitive likes, weights packed
// once, bias and post-ops fused.
#include "kernels/conv_onednn.h"

#include "graph/text_util.h"
#include "kernels/conv_transpose.h"
#include "kernels/infer.h"
#include "kernels/onednn.h"

namespace quern {
namespace {

using onednn::Dims;
using onednn::Md;

// Positions, steps and pads in oneDNN's terms, where a dilation of 0 is dense and the end padding is
// whatever makes the output come out.
onednn::ConvGeometry geometry(const Window& window, const Shape& src, const Shape& dst,
                              std::span<const std::int64_t> kernel) {
  const ResolvedWindow w = resolve_window(window, src.dims().subspan(2), kernel);
  onednn::ConvGeometry g;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    g.strides.push_back(w.strides[i]);
    g.dilations.push_back(w.dilations[i] - 1);
    g.pads_begin.push_back(w.pads_begin[i]);
    g.pads_end.push_back((dst[2 + i] - 1) * w.strides[i] + w.extent(i) - src[2 + i] -
                         w.pads_begin[i]);
  }
  return g;
}

double conv_flops(const Shape& dst, const Shape& weights) {
  return 2.0 * static_cast<double>(dst.elements()) * static_cast<double>(weights.elements(1));
}

// [M, C/g, k...] as oneDNN has it for groups: [g, M/g, C/g, k...].
Dims grouped(const Shape& w, std::int64_t group) {
  Dims d = onednn::dims_of(w);
  if (group == 1) return d;
  d[0] /= group;
  d.insert(d.begin(), group);
  return d;
}

// [C, M/g, k...] of a transposed convolution as [g, M/g, C/g, k...], by strides.
Md transposed_weights(const Shape& w, std::int64_t group) {
  const std::int64_t inner = w.elements(2);
  Dims dims;
  Dims strides;
  if (group > 1) {
    dims.push_back(group);
    strides.push_back(w[0] / group * w[1] * inner);
  }
  dims.insert(dims.end(), {w[1], w[0] / group});
  strides.insert(strides.end(), {inner, w[1] * inner});
  std::int64_t stride = inner;
  for (std::size_t i = 2; i < w.rank(); ++i) {
    stride /= w[i];
    dims.push_back(w[i]);
    strides.push_back(stride);
  }
  return onednn::strided(onednn::DataType::f32, dims, strides);
}

Md row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return onednn::strided(onednn::DataType::f32, dims, strides);
}

bool suits(const KernelRequest& r) {
  const std::size_t rank = r.shape(0).rank();
  if (!r.target.use_onednn || !onednn::available() || rank < 3 || rank > 5) return false;
  if (r.dtype(0) != DType::f32 || r.dtype(1) != DType::f32) return false;
  if (r.shape(0).elements() == 0 || r.shape(1).elements() == 0 || r.outputs[0].shape.elements() == 0)
    return false;
  return !r.has(2) || r.dtype(2) == DType::f32;
}

// The parts that Conv and ConvTranspose share: from a primitive descriptor to a kernel.
template <class Primitive, class PrimitiveDesc>
Selection build(const KernelRequest& r, const PrimitiveDesc& pd, const Md& plain_weights,
                const onednn::FusedPostOps& fused) {
  const auto src_layout = onednn::layout_of(pd.src_desc(), r.shape(0));
  const auto dst_layout = onednn::layout_of(pd.dst_desc(), r.outputs[0].shape);
  if (!src_layout || !dst_layout) return not_for_me();
  onednn::KernelBuilder b(r);
  b.threads(onednn::threads_for(r, conv_flops(r.outputs[0].shape, r.shape(1))));
  b.input(DNNL_ARG_SRC, 0, pd.src_desc(), *src_layout);
  b.output(DNNL_ARG_DST, 0, pd.dst_desc(), *dst_layout);
  if (r.inputs[1].constant) {
    QUERN_ASSIGN(auto packed,
                 onednn::pack_constant(r, *r.inputs[1].constant, plain_weights, pd.weights_desc()));
    b.packed(DNNL_ARG_WEIGHTS, pd.weights_desc(), std::move(packed));
    b.mark_packed(1);
  } else {
    b.input(DNNL_ARG_WEIGHTS, 1, plain_weights, Layout::row_major(r.shape(1)));
  }
  if (r.has(2)) {
    const Md bias = row_major({r.shape(2)[0]});
    b.input(DNNL_ARG_BIAS, 2, bias, Layout::row_major(r.shape(2)));
  }
  b.post_ops(fused);
  return b.finish(pd, Primitive(pd));
}

std::optional<Md> bias_of(const KernelRequest& r) {
  if (!r.has(2)) return std::nullopt;
  return row_major({r.shape(2)[0]});
}

// Weights in any format if they can be packed now, else as they come.
Md weights_for(const KernelRequest& r, const Md& plain) {
  if (!r.inputs[1].constant) return plain;
  return onednn::any(onednn::DataType::f32, onednn::md_dims(plain));
}

}  // namespace

Selection select_conv_onednn(const KernelRequest& r) {
  if (!suits(r)) return not_for_me();
  const auto& op = r.as<Conv>();
  return onednn::guard(r, [&]() -> Selection {
    const Shape& dst_shape = r.outputs[0].shape;
    const auto g = geometry(op.window, r.shape(0), dst_shape, r.shape(1).dims().subspan(2));
    const Md plain = row_major(grouped(r.shape(1), op.group));
    const Md weights = weights_for(r, plain);
    // Operands of full shape must lie as the destination will, which oneDNN has yet to choose: ask
    // once without them, then with them.
    const auto make = [&](const Md& src, const Md& dst, const onednn::FusedPostOps& fused) {
      return onednn::conv_pd(dnnl::algorithm::convolution_direct, src, weights, bias_of(r), dst, g,
                             onednn::make_attr(fused.ops));
    };
    constexpr auto f32 = onednn::DataType::f32;
    const Md any_src = onednn::any(f32, onednn::dims_of(r.shape(0)));
    const Md any_dst = onednn::any(f32, onednn::dims_of(dst_shape));
    const auto first = make(any_src, any_dst, {});
    if (!first || onednn::is_reference_implementation(first.impl_info_str())) return not_for_me();
    const auto dst_layout = onednn::layout_of(first.dst_desc(), dst_shape);
    if (!dst_layout) return not_for_me();
    if (r.post_ops.empty()) return build<dnnl::convolution_forward>(r, first, plain, {});
    const auto fused = onednn::fuse_post_ops(r, dst_shape, {.dst_layout = dst_layout});
    const auto pd = make(first.src_desc(), first.dst_desc(), fused);
    if (pd && !onednn::is_reference_implementation(pd.impl_info_str()))
      return build<dnnl::convolution_forward>(r, pd, plain, fused);
    return build<dnnl::convolution_forward>(r, first, plain, {});
  });
}

Selection select_conv_transpose_onednn(const KernelRequest& r) {
  if (!suits(r)) return not_for_me();
  const auto& op = r.as<ConvTranspose>();
  return onednn::guard(r, [&]() -> Selection {
    const Shape& dst_shape = r.outputs[0].shape;
    const auto kernel = r.shape(1).dims().subspan(2);
    const ResolvedWindow w = resolve_transposed_window(op, r.shape(0).dims().subspan(2), kernel);
    // The window slides over the destination, at a position for each element of the source.
    onednn::ConvGeometry g;
    for (std::size_t i = 0; i < w.rank(); ++i) {
      g.strides.push_back(w.strides[i]);
      g.dilations.push_back(w.dilations[i] - 1);
      g.pads_begin.push_back(w.pads_begin[i]);
      g.pads_end.push_back((r.shape(0)[2 + i] - 1) * w.strides[i] + w.extent(i) - dst_shape[2 + i] -
                           w.pads_begin[i]);
    }
    const Md plain = transposed_weights(r.shape(1), op.group);
    // Post-ops are left to steps of their own: oneDNN does them element by element, which took 200
    // times as long as the convolution.
    const auto pd = onednn::deconv_pd(onednn::any(onednn::DataType::f32, onednn::dims_of(r.shape(0))),
                                      weights_for(r, plain), bias_of(r),
                                      onednn::any(onednn::DataType::f32, onednn::dims_of(dst_shape)),
                                      g, onednn::make_attr());
    if (!pd || onednn::is_reference_implementation(pd.impl_info_str())) return not_for_me();
    return build<dnnl::deconvolution_forward>(r, pd, plain, {});
  });
}

}  // namespace quern
