// SPDX-License-Identifier: Apache-2.0
// Average pooling by oneDNN, in the layout of the source. Its max pooling loses NaN and is not
// used.
#include "kernels/contract/pool.h"

#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "kernels/contract/openmp.h"
#include "kernels/onednn/onednn.h"
#include "kernels/onednn/select.h"

namespace quern {
namespace {

// oneDNN's two divisors: the average over the taps inside the input, or inside the padded input.
// Ours differs where a window of ceil_mode overhangs the padding.
bool hangs_over(const Pool& op, const ResolvedWindow& w, const Shape& src, const Shape& dst) {
  if (!op.count_include_pad) return false;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    const std::int64_t end = (dst[2 + i] - 1) * w.strides[i] + w.extent(i);
    if (end > src[2 + i] + w.pads_begin[i] + w.pads_end[i]) return true;
  }
  return false;
}

bool suits_pool(const KernelRequest& r) {
  const auto& op = r.as<Pool>();
  const std::size_t rank = r.shape(0).rank();
  if (!r.target.use_onednn || !onednn::available() || rank < 3 || rank > 5) return false;
  if (r.dtype(0) != DType::f32 || op.kind != PoolKind::average) return false;
  return r.shape(0).elements() > 0 && r.outputs[0].shape.elements() > 0;
}

dnnl::algorithm algorithm_of(const Pool& op) {
  return op.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                              : dnnl::algorithm::pooling_avg_exclude_padding;
}

}  // namespace

Selection select_pool_onednn(const KernelRequest& r) {
  if (!suits_pool(r) || r.target.team.calls_library_in_parallel()) return unsupported();
  const auto& op = r.as<Pool>();
  const Shape& src = r.shape(0);
  const Shape& dst = r.outputs[0].shape;
  const ResolvedWindow w = resolve_pool_window(op, src.dims().subspan(2));
  if (hangs_over(op, w, src, dst)) return unsupported();
  // One call sees no deadline.
  constexpr double most_taps = 1e9;
  if (static_cast<double>(dst.elements()) * static_cast<double>(w.kernel.elements()) > most_taps)
    return unsupported();
  return onednn::guard(r, [&]() -> Selection {
    const int threads =
        onednn::threads_for(r, static_cast<double>(dst.elements() * w.kernel.elements()) * 4);
    const OpenMpThreads made_by(threads);
    const onednn::ConvGeometry g = onednn::geometry_of(w, src, dst);
    Layout layout = r.inputs[0].desc.layout;
    auto src_md = onednn::md_of(r.inputs[0].desc);
    if (!src_md || !onednn::layout_of(*src_md, src)) {
      layout = Layout::channels_last(src);
      src_md = onednn::md_of({DType::f32, src, layout});
    }
    const auto pd = onednn::pool_pd(
        algorithm_of(op), *src_md, onednn::any(onednn::DataType::f32, onednn::dims_of(dst)),
        onednn::dims_of(w.kernel), g, onednn::make_attr(r, onednn::window_traits(w, src, dst, 1)));
    if (!pd) return unsupported();
    const auto dst_layout = onednn::layout_of(pd.dst_desc(), dst);
    if (!dst_layout) return unsupported();
    onednn::KernelBuilder b(r);
    b.threads(threads);
    b.input(DNNL_ARG_SRC, 0, *src_md, layout);
    b.output(DNNL_ARG_DST, 0, pd.dst_desc(), *dst_layout);
    return b.finish<onednn::PoolPrimitive>(pd);
  });
}

}  // namespace quern
