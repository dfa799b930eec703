// SPDX-License-Identifier: Apache-2.0
// Pool in f32 as the source lies: channels side by side (last, or in blocks) in vectors, or planes,
// where neighbours along the last dimension are. NaN goes through a maximum, and windows over
// padding alone give what the reference gives.
#include "kernels/cpu/pool_rows.h"

#include <optional>
#include <vector>

#include "graph/ops/convolution.h"
#include "graph/ops/windows.h"
#include "kernels/contract/pool.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/pool_loops.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

// ---- where the elements lie

// Floats from an element to the next in row-major order of the dimensions past the channels;
// nothing where that is not one number.
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

std::optional<PoolSource> source_of(const TensorDesc& x) {
  const Shape& strides = x.layout.strides;
  const auto stride = element_stride(spatial_of(x.shape), strides.dims().subspan(2));
  if (!stride) return std::nullopt;
  PoolSource s{.images = x.shape[0],
               .column = *stride,
               .image_stride = strides[0],
               .group_stride = strides[1]};
  const std::int64_t channels = x.shape[1];
  if (x.layout.block) {
    s.lanes = x.layout.block;
    s.groups = (channels + s.lanes - 1) / s.lanes;
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

// Positions of one divisor each. All that are not at an edge have one.
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

// Each position at an edge is looked at when a plan is made; of more than these the reference takes
// care.
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

// One position, and all elements under it.
bool covers(const PoolGeometry& g, std::size_t d) {
  return g.out[d] == 1 && g.taps(d, 0).size() == g.in[d] &&
         (g.in[d] == 1 || g.window.dilations[d] == 1);
}

// Of a dimension with one position, whose divisor goes to the one before (or behind).
void erase_dimension(PoolGeometry& g, std::size_t d) {
  for (PoolSpan& s : g.divisors[d > 0 ? d - 1 : 1]) s.divisor *= g.divisors[d][0].divisor;
  g.divisors.erase(g.divisors.begin() + static_cast<long>(d));
  for (Shape* s : {&g.in, &g.out, &g.window.kernel, &g.window.strides, &g.window.dilations,
                   &g.window.pads_begin, &g.window.pads_end})
    s->erase(d);
}

// Of one element under one position.
void add_dimension(PoolGeometry& g, std::size_t at) {
  for (Shape* s : {&g.in, &g.out, &g.window.kernel, &g.window.strides, &g.window.dilations})
    s->insert(at, 1);
  for (Shape* s : {&g.window.pads_begin, &g.window.pads_end}) s->insert(at, 0);
  g.divisors.insert(g.divisors.begin() + static_cast<long>(at), {PoolSpan{0, 1}});
}

// The same with fewer dimensions, but at least two: none of one element under one position, and in
// planes, whose elements lie side by side, one for all those at the end that the window covers
// whole. Where many channels have one position along the last dimension, its taps become rows.
void simplify(PoolGeometry& g, const PoolSource& source) {
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

// Some window holds padding alone: at an edge, or between two elements that a dilation steps over.
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

// As it lies, if there is a variant for that; else as a copy with its innermost dimension inside.
TensorDesc readable(const TensorDesc& x, const PoolGeometry& g) {
  // Channels past the last are to stay zero in the result.
  const bool fills_blocks = !x.layout.block || x.shape[1] % x.layout.block == 0;
  if (source_of(x) && (fills_blocks || !has_empty_window(g))) return x;
  const bool channels_inside =
      x.layout.block || x.layout.strides[1] < x.layout.strides[x.shape.rank() - 1];
  return {x.dtype, x.shape,
          channels_inside ? Layout::channels_last(x.shape) : Layout::row_major(x.shape)};
}

Layout result_layout(const Shape& y, const PoolSource& s, std::uint8_t block) {
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
  const PoolSource source = *source_of(in);
  simplify(g, source);
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts = {in.layout};
  choice.output_layouts = {result_layout(y, source, in.layout.block)};
  choice.kernel = std::make_unique<PoolLoops>(op.kind, source, g, r.target.threads);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
