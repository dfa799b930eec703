// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose by oneDNN: the source in the layout that the primitive prefers, weights
// packed once, bias and post-ops fused.
#include "graph/ops/conv.h"

#include "engine/vocabulary/text_util.h"
#include "graph/ops/windows.h"
#include "kernels/contract/conv_parts.h"
#include "kernels/contract/openmp.h"
#include "kernels/contract/winograd.h"
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_rows.h"
#include "kernels/onednn/onednn.h"
#include "kernels/onednn/select.h"

namespace quern {
namespace {

using onednn::Md;
using onednn::MdDims;

double conv_flops(const Shape& dst, const Shape& weights) {
  return 2.0 * static_cast<double>(dst.elements()) * static_cast<double>(weights.elements(1));
}

// [M, C/g, k...] in oneDNN's form for groups: [g, M/g, C/g, k...].
MdDims grouped(const Shape& w, std::int64_t group) {
  MdDims d = onednn::dims_of(w);
  if (group == 1) return d;
  d[0] /= group;
  d.insert(d.begin(), group);
  return d;
}

// [C, M/g, k...] of a transposed convolution as [g, M/g, C/g, k...], by strides.
Md transposed_weights(const Shape& w, std::int64_t group) {
  const std::int64_t inner = w.elements(2);
  MdDims dims;
  MdDims strides;
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

Md row_major(onednn::DataType type, const MdDims& dims) {
  MdDims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return onednn::strided(type, dims, strides);
}

Md channels_last(onednn::DataType type, const Shape& shape) {
  const Shape strides = Layout::channels_last(shape).strides;
  return onednn::strided(type, onednn::dims_of(shape), MdDims(strides.begin(), strides.end()));
}

// Of x and the weights, and of the result and the bias.
onednn::DataType type_of(const KernelRequest& r) {
  return *onednn::data_type(r.dtype(0));
}
onednn::DataType result_type(const KernelRequest& r) {
  return *onednn::data_type(r.outputs[0].dtype);
}

// Over three dimensions its kernels for AMX write beside results or apply post-ops to those of
// others: four of 70,000 convolutions of any shape, all of them of that kind (2.6).
bool suits_bf16(const KernelRequest& r) {
  return onednn::has_bf16_units() && r.inputs[1].constant && r.shape(0).rank() <= 4;
}

// Looking for an implementation, and the list of the parts into which work is cut, take time for
// each position: some 50 ms for so many.
bool has_many_positions(const Shape& shape) {
  return shape.elements() / shape[1] > std::int64_t{1} << 27;
}

bool suits_conv(const KernelRequest& r) {
  const std::size_t rank = r.shape(0).rank();
  if (!r.target.use_onednn || !onednn::available() || rank < 3 || rank > 5) return false;
  const DType type = r.dtype(0);
  if ((type != DType::f32 && type != DType::bf16) || r.dtype(1) != type) return false;
  if (r.shape(0).elements() == 0 || r.shape(1).elements() == 0 ||
      r.outputs[0].shape.elements() == 0)
    return false;
  if (has_many_positions(r.shape(0)) || has_many_positions(r.outputs[0].shape)) return false;
  return !r.has(2) || r.dtype(2) == r.outputs[0].dtype;
}

// The shapes of the tensors as passed to oneDNN.
struct ConvShapes {
  Shape src, weights, dst;
  std::vector<std::size_t> dropped;  // dimensions, in the order of the tensors

  // The layout of a tensor with the dropped dimensions added back; their size is 1, so that any
  // stride is right.
  Layout with_dropped(Layout l) const {
    for (std::size_t d : dropped) l.strides.insert(d, 1);
    return l;
  }
};

ConvShapes all_dimensions(const KernelRequest& r) {
  return {r.shape(0), r.shape(1), r.outputs[0].shape, {}};
}

ResolvedWindow resolved(const Window& window, const ConvShapes& s) {
  return resolve_window(window, s.src.dims().subspan(2), s.weights.dims().subspan(2));
}

// Drops spatial dimensions that are 1 everywhere: the primitive would process a row of 512 pixels,
// written as a column, pixel by pixel. A dimension with padding in front is kept, because its only
// tap misses the only element.
ConvShapes without_ones(const KernelRequest& r, Window& window) {
  const ConvShapes all = all_dimensions(r);
  const ResolvedWindow w = resolved(window, all);
  ConvShapes s = all;
  s.src = s.weights = s.dst = {};
  window = {};
  const std::size_t rank = all.src.rank();
  for (std::size_t d = 0; d < rank; ++d) {
    const bool one = d >= 2 && all.src[d] == 1 && all.weights[d] == 1 && all.dst[d] == 1 &&
                     w.pads_begin[d - 2] == 0;
    if (one && d - s.dropped.size() + (rank - 1 - d) > 2) {
      s.dropped.push_back(d);
      continue;
    }
    s.src.push_back(all.src[d]);
    s.weights.push_back(all.weights[d]);
    s.dst.push_back(all.dst[d]);
    if (d < 2) continue;
    window.kernel.push_back(w.kernel[d - 2]);
    window.strides.push_back(w.strides[d - 2]);
    window.dilations.push_back(w.dilations[d - 2]);
    window.pads.insert(window.pads.begin() + static_cast<long>(window.pads.size() / 2),
                       w.pads_begin[d - 2]);
    window.pads.push_back(w.pads_end[d - 2]);
  }
  return s;
}

struct ConvWork {
  onednn::ConvGeometry geometry;
  onednn::Traits traits;
  bool has_short_code;
};

ConvWork conv_work(const Window& window, const ConvShapes& s) {
  const ResolvedWindow w = resolved(window, s);
  const onednn::ConvGeometry g = onednn::geometry_of(w, s.src, s.dst);
  return {g, onednn::window_traits(w, s.src, s.dst, s.weights[1]),
          onednn::has_short_code(w, g, s.src, s.dst)};
}

// Short convolutions reach a third of the GFLOP/s that threads_for() counts with, depthwise ones an
// eighth.
int threads_of(const KernelRequest& r) {
  const double worth = r.shape(1)[1] == 1 ? 8 : 3;
  return onednn::threads_for(r, worth * conv_flops(r.outputs[0].shape, r.shape(1)));
}

// The key of the weights in PackedFormats.
std::string weights_key(const KernelRequest& r) {
  const auto* conv = r.op.as<Conv>();
  return cat(conv ? conv->group : -1, "|", r.inputs[1].constant->key());
}
const Md* known_format(const KernelRequest& r) {
  if (!r.target.formats || !r.inputs[1].constant) return nullptr;
  return static_cast<const Md*>(r.target.formats->find(weights_key(r)).get());
}
void keep_format(const KernelRequest& r, const Md& format) {
  if (r.target.formats && r.inputs[1].constant)
    r.target.formats->keep(weights_key(r), std::make_shared<const Md>(format));
}

// The part that Conv and ConvTranspose share: from a primitive descriptor to a kernel.
template <class Primitive, class PrimitiveDesc>
Selection build(const KernelRequest& r, const ConvShapes& shapes, const PrimitiveDesc& pd,
                const Md& plain_weights, const onednn::FusedPostOps& fused) {
  auto src_layout = onednn::layout_of(pd.src_desc(), shapes.src);
  auto dst_layout = onednn::layout_of(pd.dst_desc(), shapes.dst);
  if (!src_layout || !dst_layout) return unsupported();
  *src_layout = shapes.with_dropped(*src_layout);
  *dst_layout = shapes.with_dropped(*dst_layout);
  onednn::KernelBuilder b(r);
  b.threads(threads_of(r));
  b.input(DNNL_ARG_SRC, 0, pd.src_desc(), *src_layout);
  b.output(DNNL_ARG_DST, 0, pd.dst_desc(), *dst_layout);
  if (r.inputs[1].constant) {
    QUERN_ASSIGN(auto packed,
                 onednn::pack_constant(r, *r.inputs[1].constant, plain_weights, pd.weights_desc()));
    keep_format(r, pd.weights_desc());
    b.packed(DNNL_ARG_WEIGHTS, pd.weights_desc(), std::move(packed));
    b.mark_packed(1);
  } else {
    b.input(DNNL_ARG_WEIGHTS, 1, plain_weights, Layout::row_major(r.shape(1)));
  }
  if (r.has(2)) {
    const Md bias = row_major(result_type(r), {r.shape(2)[0]});
    b.input(DNNL_ARG_BIAS, 2, bias, Layout::row_major(r.shape(2)));
  }
  b.post_ops(fused);
  return b.finish<Primitive>(pd);
}

std::optional<Md> bias_of(const KernelRequest& r) {
  if (!r.has(2)) return std::nullopt;
  return row_major(result_type(r), {r.shape(2)[0]});
}

// Weights in any format if they can be packed now, else in their own.
Md weights_for(const KernelRequest& r, const Md& plain) {
  if (!r.inputs[1].constant) return plain;
  return onednn::any(type_of(r), onednn::md_dims(plain));
}

// How a convolution is made: by rule, or as a measurement wants it.
enum class Form : std::uint8_t { by_rule, direct, winograd, post_ops_apart };

Selection build_conv(const KernelRequest& r, const ConvShapes& shapes, const ConvWork& work,
                     const Md& plain, dnnl::algorithm algorithm, Form form) {
  Md weights = weights_for(r, plain);
  const auto make = [&](const Md& src, const Md& dst, const onednn::Attributes& attr) {
    auto pd = onednn::conv_pd(algorithm, src, weights, bias_of(r), dst, work.geometry, attr);
    // Without a Winograd kernel oneDNN may offer another one, which is not taken.
    const bool other = pd && algorithm == dnnl::algorithm::convolution_winograd &&
                       std::string_view(pd.impl_info_str()).find("wino") == std::string_view::npos;
    return other ? dnnl::convolution_forward::primitive_desc() : pd;
  };
  // Operands of full shape must have the layout of the destination, which oneDNN has yet to choose:
  // ask once without them, then with them.
  auto first = r.target.channels_last ? make(channels_last(type_of(r), shapes.src),
                                             channels_last(result_type(r), shapes.dst),
                                             onednn::fastest_attr(work.traits))
                                      : dnnl::convolution_forward::primitive_desc();
  if (!first)
    first = make(onednn::any(type_of(r), onednn::dims_of(shapes.src)),
                 onednn::any(result_type(r), onednn::dims_of(shapes.dst)),
                 onednn::fastest_attr(work.traits));
  // An implementation with less scratch must use the same layouts, which suit the neighbours, too.
  if (first && !r.target.scratch)
    first = make(first.src_desc(), first.dst_desc(), onednn::make_attr(r, work.traits));
  if (!first) return unsupported();
  if (const Md* known = known_format(r); known && *known != first.weights_desc()) {
    weights = *known;
    auto other = make(first.src_desc(), first.dst_desc(), onednn::fastest_attr(work.traits));
    if (other && onednn::may_stand_for(other.impl_info_str(), first.impl_info_str()))
      first = std::move(other);
    else
      weights = weights_for(r, plain);
  }
  // A product of matrices for each channel takes four to six times as long as loops over channels,
  // one for each group of few channels 1.2 to 6 times as long as our own.
  constexpr std::int64_t few_channels = 16;
  const bool has_small_groups = r.as<Conv>().group > 1 && r.shape(1)[1] < few_channels;
  const std::string best = first.impl_info_str();
  if (form == Form::by_rule && best.find("gemm") != std::string::npos &&
      (suits_conv_depthwise(r) || (has_small_groups && suits_conv_rows(r))))
    return unsupported();
  const auto dst_layout = onednn::layout_of(first.dst_desc(), shapes.dst);
  if (!dst_layout) return unsupported();
  if (r.post_ops.empty() || form == Form::post_ops_apart)
    return build<dnnl::convolution_forward>(r, shapes, first, plain, {});
  // Operands still have the dropped dimensions.
  const bool operands = shapes.dropped.empty();
  const auto fused = onednn::fuse_trusted(
      r, shapes.dst, {.allow_sum = operands, .allow_binary = operands, .dst_layout = dst_layout},
      [&](const onednn::FusedPostOps& f) {
        if (f.taken == 0) return first;
        auto pd = make(first.src_desc(), first.dst_desc(), onednn::make_attr(r, work.traits, f));
        const bool slow = pd && !onednn::may_stand_for(pd.impl_info_str(), best);
        return slow ? dnnl::convolution_forward::primitive_desc() : pd;
      });
  return build<dnnl::convolution_forward>(r, shapes, fused.pd, plain, fused.post_ops);
}

// Only AVX-512 has it, and only before 3.0. Its scratch memory is several times as large as the
// operands.
bool takes_winograd(const KernelRequest& r, const ConvShapes& s, Form form) {
  const bool is_possible = r.target.scratch && !r.target.channels_last && r.dtype(0) == DType::f32;
  if (!is_possible || form == Form::direct) return false;
  return form == Form::winograd ||
         (!QUERN_ONEDNN_3 && faster_by_winograd(r.as<Conv>(), s.weights, s.dst));
}

template <Form form>
Selection select_whole_conv(const KernelRequest& r) {
  const auto& op = r.as<Conv>();
  Window window = op.window;
  const ConvShapes shapes = without_ones(r, window);
  ConvWork work = conv_work(window, shapes);
  if (!work.has_short_code) return unsupported();
  if (r.dtype(0) == DType::bf16) work.traits.add(onednn::Trait::bf16);
  // Constants are packed from f32, whatever their type.
  const Md plain = row_major(onednn::DataType::f32, grouped(shapes.weights, op.group));
  const OpenMpThreads threads(threads_of(r));
  if (takes_winograd(r, shapes, form)) {
    QUERN_ASSIGN(auto choice,
                 build_conv(r, shapes, work, plain, dnnl::algorithm::convolution_winograd, form));
    if (choice || form == Form::winograd) return choice;
  }
  if (form == Form::winograd) return unsupported();
  return build_conv(r, shapes, work, plain, dnnl::algorithm::convolution_direct, form);
}

// One call of the library sees no deadline: it takes some 50 ms of one thread at most, by what was
// measured: 80 GFLOP/s, and 10^9 elements a second of what products give before they are added up.
bool is_short_call(const KernelRequest& r) {
  constexpr double most_flops = 4e9;
  constexpr double most_columns = 5e7;
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(1);
  const double columns = static_cast<double>(x.elements()) / static_cast<double>(x[1]) *
                         static_cast<double>(w.elements(1) * r.as<ConvTranspose>().group);
  const double flops = 2.0 * static_cast<double>(x.elements()) * static_cast<double>(w.elements(1));
  return flops <= most_flops && columns <= most_columns;
}

template <Form form>
Selection select_form(const KernelRequest& r) {
  if (!suits_conv(r) || (r.dtype(0) == DType::bf16 && !suits_bf16(r))) return unsupported();
  return onednn::guard(r, [&]() -> Selection {
    if (r.target.team.calls_library_in_parallel()) {
      QUERN_ASSIGN(auto parts, conv_at_one_time(r, select_whole_conv<form>));
      if (parts) return std::optional<KernelChoice>(std::move(*parts));
    }
    QUERN_ASSIGN(auto parts, conv_in_parts(r, select_whole_conv<form>));
    if (parts) return std::optional<KernelChoice>(std::move(*parts));
    return select_whole_conv<form>(r);
  });
}

}  // namespace

Selection select_conv_onednn(const KernelRequest& r) {
  return select_form<Form::by_rule>(r);
}

Selection select_conv_onednn_direct(const KernelRequest& r) {
  return select_form<Form::direct>(r);
}

Selection select_conv_onednn_winograd(const KernelRequest& r) {
  return select_form<Form::winograd>(r);
}

Selection select_conv_onednn_apart(const KernelRequest& r) {
  if (r.post_ops.empty()) return unsupported();
  return select_form<Form::post_ops_apart>(r);
}

Selection select_conv_transpose_onednn(const KernelRequest& r) {
  if (!suits_conv(r) || r.dtype(0) != DType::f32 || !is_short_call(r)) return unsupported();
  const auto& op = r.as<ConvTranspose>();
  return onednn::guard(r, [&]() -> Selection {
    const Shape& dst_shape = r.outputs[0].shape;
    const auto kernel = r.shape(1).dims().subspan(2);
    const ResolvedWindow w = resolve_transposed_window(op, r.shape(0).dims().subspan(2), kernel);
    // The window slides over the destination; each element of the source is one position.
    const onednn::ConvGeometry g = onednn::geometry_of(w, dst_shape, r.shape(0));
    if (!onednn::has_short_code(w, g, dst_shape, r.shape(0))) return unsupported();
    const Md plain = transposed_weights(r.shape(1), op.group);
    const OpenMpThreads threads(threads_of(r));
    // Post-ops run as separate steps: oneDNN computes them element by element, which took 200 times
    // as long as the convolution.
    const auto pd = onednn::deconv_pd(
        onednn::any(onednn::DataType::f32, onednn::dims_of(r.shape(0))), weights_for(r, plain),
        bias_of(r), onednn::any(onednn::DataType::f32, onednn::dims_of(dst_shape)), g,
        onednn::make_attr(r));
    if (!pd) return unsupported();
    return build<dnnl::deconvolution_forward>(r, all_dimensions(r), pd, plain, {});
  });
}

}  // namespace quern
