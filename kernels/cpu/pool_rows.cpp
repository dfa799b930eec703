// SPDX-License-Identifier: Apache-2.0
// Pool in f32 in the layout of the source: vectors hold contiguous channels (channels last, or
// blocks) or, in planes, neighbours along the last dimension. A maximum propagates NaN, and windows
// over padding alone give the result of the reference.
#include "kernels/cpu/pool_rows.h"

#include <optional>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "kernels/contract/pool.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/pool_loops.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

// ---- where the elements lie

// Floats from one element to the next in row-major order of the spatial dimensions; nullopt if that
// is not constant.
std::optional<std::int64_t> element_stride(const Shape& in, std::span<const std::int64_t> strides) {
  std::int64_t stride = 0;
  std::int64_t elements = 1;
  for (std::size_t d = in.rank(); d-- > 0; elements *= in[d]) {
    if (in[d] == 1) continue;
    if (stride == 0) stride = strides[d];
    if (stride <= 0 || strides[d] != stride * elements) return std::nullopt;
  }
  return stride;
}

std::optional<PooledImages> source_of(const TensorDesc& x) {
  const Shape& strides = x.layout.strides;
  const auto stride = element_stride(spatial_of(x.shape), strides.dims().subspan(2));
  if (!stride) return std::nullopt;
  PooledImages s{.images = x.shape[0],
                 .column = *stride,
                 .image_stride = strides[0],
                 .group_stride = strides[1]};
  const std::int64_t channels = x.shape[1];
  if (x.layout.block) {
    s.lanes = x.layout.block;
    s.groups = ceil_div(channels, s.lanes);
  } else if (channels > 1 && strides[1] == 1 && (*stride == 0 || *stride >= channels)) {
    s.lanes = channels;
  } else if (*stride <= 1) {
    s.groups = channels;
  } else {
    return std::nullopt;
  }
  if (s.column == 0) s.column = s.lanes;
  return s;
}

// ---- the window

// Spans of positions with one divisor each. All positions away from the edges share one.
std::vector<PoolSpan> divisors_along(const Pool& op, const PoolGeometry& g, std::size_t d) {
  if (op.kind == PoolKind::max) return {{0, g.out[d]}};
  const PoolSpan interior = g.interior(d);
  std::vector<PoolSpan> spans;
  for (std::int64_t at = 0; at < g.out[d]; at = spans.back().end) {
    const auto divisor = static_cast<double>(counted_taps(op, g.window, g.in, d, at));
    if (spans.empty() || spans.back().divisor != divisor) spans.push_back({at, at, divisor});
    spans.back().end = at >= interior.begin && at < interior.end ? interior.end : at + 1;
  }
  return spans;
}

// Each position at an edge is examined when a plan is made; the reference handles cases with more
// than this.
constexpr std::int64_t most_at_edges = 1 << 16;

bool has_long_edges(const PoolGeometry& g) {
  for (std::size_t d = 0; d < g.in.rank(); ++d) {
    const PoolSpan interior = g.interior(d);
    if (g.out[d] - (interior.end - interior.begin) > most_at_edges) return true;
  }
  return false;
}

PoolGeometry geometry_of(const Pool& op, const Shape& in, const Shape& out) {
  return {.window = resolve_pool_window(op, in.dims()), .in = in, .out = out, .divisors = {}};
}

// True if dimension d has one position that covers all elements.
bool covers(const PoolGeometry& g, std::size_t d) {
  return g.out[d] == 1 && g.taps(d, 0).size() == g.in[d] &&
         (g.in[d] == 1 || g.window.dilations[d] == 1);
}

// Erases a dimension with one position; its divisor goes to the previous (or next) dimension.
void erase_dimension(PoolGeometry& g, std::size_t d) {
  for (PoolSpan& s : g.divisors[d > 0 ? d - 1 : 1]) s.divisor *= g.divisors[d][0].divisor;
  g.divisors.erase(g.divisors.begin() + static_cast<long>(d));
  for (Shape* s : {&g.in, &g.out, &g.window.kernel, &g.window.strides, &g.window.dilations,
                   &g.window.pads_begin, &g.window.pads_end})
    s->erase(d);
}

// Adds a dimension with one element and one position.
void add_dimension(PoolGeometry& g, std::size_t at) {
  for (Shape* s : {&g.in, &g.out, &g.window.kernel, &g.window.strides, &g.window.dilations})
    s->insert(at, 1);
  for (Shape* s : {&g.window.pads_begin, &g.window.pads_end}) s->insert(at, 0);
  g.divisors.insert(g.divisors.begin() + static_cast<long>(at), {PoolSpan{0, 1}});
}

// Gives an equal geometry with fewer dimensions, but at least two: drops dimensions with one
// element and one position and, in planes, whose elements are contiguous, merges the trailing
// dimensions that the window covers completely. If many channels have one position along the last
// dimension, its taps become rows.
void simplify(PoolGeometry& g, const PooledImages& source) {
  for (std::size_t d = g.in.rank(); d-- > 0;)
    if (g.in.rank() > 1 && g.in[d] == 1 && covers(g, d)) erase_dimension(g, d);
  while (source.is_plane() && g.in.rank() > 1 && covers(g, g.in.rank() - 1) &&
         covers(g, g.in.rank() - 2)) {
    const std::size_t d = g.in.rank() - 2;
    g.in[d] *= g.in[d + 1];
    g.window.kernel[d] = g.in[d];
    g.window.dilations[d] = 1;
    g.window.pads_begin[d] = 0;
    erase_dimension(g, d + 1);
  }
  if (source.lanes >= pool_long_row && g.in.back() > 1 && g.out.back() == 1 &&
      g.in.rank() < max_spatial_rank)
    add_dimension(g, g.in.rank());
  if (g.in.rank() == 1) add_dimension(g, 0);
}

// ---- choosing

// True if some window covers padding alone: at an edge, or because a dilation steps over the
// elements.
bool has_empty_window(const PoolGeometry& g) {
  for (std::size_t d = 0; d < g.in.rank(); ++d) {
    const PoolSpan interior = g.interior(d);
    for (std::int64_t at = 0; at < g.out[d]; ++at) {
      if (at == interior.begin) at = interior.end;
      if (at < g.out[d] && g.taps(d, at).size() == 0) return true;
    }
  }
  return false;
}

// The source's layout if there is a variant for it; else that of a copy with its innermost
// dimension inside.
TensorDesc readable(const TensorDesc& x, const PoolGeometry& g) {
  // Channels past the last one must stay zero in the result.
  const bool fills_blocks = !x.layout.block || x.shape[1] % x.layout.block == 0;
  if (source_of(x) && (fills_blocks || !has_empty_window(g))) return x;
  const bool channels_inside =
      x.layout.block || x.layout.strides[1] < x.layout.strides[x.shape.rank() - 1];
  return {x.dtype, x.shape,
          channels_inside ? Layout::channels_last(x.shape) : Layout::row_major(x.shape)};
}

Layout result_layout(const Shape& y, const PooledImages& s, std::uint8_t block) {
  if (block) return Layout::channel_blocked(y, block);
  return s.lanes > 1 ? Layout::channels_last(y) : Layout::row_major(y);
}

}  // namespace

Selection select_pool_rows(const KernelRequest& r) {
  const auto& op = r.as<Pool>();
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  if (r.dtype(0) != DType::f32 || op.kind == PoolKind::lp || r.wants(1) || x.rank() < 3 ||
      x.elements() == 0 || y.elements() == 0)
    return unsupported();
  PoolGeometry g = geometry_of(op, spatial_of(x), spatial_of(y));
  if (has_long_edges(g)) return unsupported();
  for (std::size_t d = 0; d < g.in.rank(); ++d) g.divisors.push_back(divisors_along(op, g, d));
  const TensorDesc in = readable(r.inputs[0].desc, g);
  const PooledImages source = *source_of(in);
  simplify(g, source);
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts = {in.layout};
  choice.output_layouts = {result_layout(y, source, in.layout.block)};
  choice.work = std::make_unique<PoolLoops>(op.kind, source, g, r.target.team.threads);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
