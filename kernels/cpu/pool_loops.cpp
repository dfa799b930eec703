// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool_loops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "kernels/contract/cuts.h"

namespace quern {
namespace {

constexpr std::int64_t line_floats = 4096;  // two such buffers stay in the first-level cache
constexpr std::int64_t line_lanes = 64;     // channels at a time, if there are many
constexpr std::int64_t cached = 8192;       // floats
constexpr std::int64_t small_plane = 1024;
constexpr std::int64_t max_rows = 64;  // folded at once
std::int64_t most_taps_at_once() {
  return cut_size(1 << 24);
}
// Waking a thread takes some 5 us.
double taps_per_thread() {
  return cut_work(1 << 17);
}

// The window along the dimensions [from, to).
ResolvedWindow part_of(const ResolvedWindow& w, std::size_t from, std::size_t to) {
  const auto part = [&](const Shape& s) { return Shape(s.dims().subspan(from, to - from)); };
  return {part(w.kernel), part(w.strides), part(w.dilations), part(w.pads_begin), part(w.pads_end)};
}

double divisor_at(const std::vector<PoolSpan>& spans, std::int64_t position) {
  return std::ranges::upper_bound(spans, position, {}, &PoolSpan::end)->divisor;
}

bool has_edges(const PoolGeometry& g) {
  for (std::size_t d = 0; d < g.in.rank(); ++d) {
    const PoolSpan inside = g.interior(d);
    if (inside.end - inside.begin < g.out[d]) return true;
  }
  return false;
}

// Bands of positions with the same taps inside, of limited size.
std::vector<PoolSpan> bands_of(const PoolGeometry& g, std::size_t d, std::int64_t most) {
  const PoolSpan interior = g.interior(d);
  std::vector<PoolSpan> bands;
  for (std::int64_t at = 0; at < g.out[d]; at = bands.back().end) {
    const bool inside = at >= interior.begin && at < interior.end;
    const std::int64_t end = inside ? std::min(interior.end, at + most) : at + 1;
    bands.push_back({at, end, divisor_at(g.divisors[d], at)});
  }
  return bands;
}

}  // namespace

PoolSpan PoolGeometry::interior(std::size_t d) const {
  const std::int64_t stride = window.strides[d];
  const std::int64_t begin = std::min(out[d], ceil_div(window.pads_begin[d], stride));
  const std::int64_t last = in[d] - window.extent(d) + window.pads_begin[d];
  const std::int64_t end = last < 0 ? 0 : std::min(out[d], last / stride + 1);
  return {begin, std::max(begin, end)};
}

PoolLoops::PoolLoops(PoolKind kind, const PooledImages& source, const PoolGeometry& g,
                     std::int64_t threads)
    : kind_(kind),
      source_(source),
      rows_(1),
      taps_(std::min(g.window.kernel.back(), g.in.back())),
      outer_(part_of(g.window, 0, g.in.rank() - 1)),
      last_(part_of(g.window, g.in.rank() - 1, g.in.rank())),
      outer_in_(g.in.dims().first(g.in.rank() - 1)),
      deep_out_(g.out.dims().first(g.in.rank() - 2)),
      deep_divisors_(g.divisors.begin(), g.divisors.end() - 2),
      out_rows_(g.out[g.in.rank() - 2]),
      in_(g.in.back()),
      out_(g.out.back()),
      interior_(g.interior(g.in.rank() - 1)),
      spans_(g.divisors.back()),
      has_edges_(has_edges(g)) {
  for (std::size_t d = 0; d + 1 < g.in.rank(); ++d) rows_ *= std::min(g.window.kernel[d], g.in[d]);
  variant_ = best_variant();
  if (variant_ == Variant::through_plane) tabulate(g.divisors[0]);
  cut(g, threads);
}

Status PoolLoops::run(const KernelArgs& args, KernelState*, const Parallel& parallel) const {
  const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
  auto* y = reinterpret_cast<float*>(args.outputs[0]);
  parallel(blocks_, grain_, [&](std::int64_t begin, std::int64_t end) {
    StopCheck check(args.stop);
    for (std::int64_t u = begin; u < end && !check.spend(16); ++u)
      run_block(block_at(x, y, u, check));
  });
  return {};
}

// Large blocks, but some for each thread.
void PoolLoops::cut(const PoolGeometry& g, std::int64_t threads) {
  const std::size_t row = g.in.rank() - 2;
  const std::int64_t planes = source_.images * source_.groups * deep_out_.elements();
  const double work =
      static_cast<double>(planes * out_rows_ * y_line()) * static_cast<double>(rows_ * taps_);
  const std::int64_t wanted = work < 2 * taps_per_thread() || threads == 1 ? 1 : 4 * threads;
  piece_ = source_.lanes;
  const auto cut_lanes = [&](std::int64_t parts) {  // pieces of whole vectors
    const std::int64_t unit = parts * line_lanes;
    piece_ = std::min(piece_, ceil_div(piece_, unit) * line_lanes);
  };
  if (variant_ == Variant::through_line) piece_ = std::min(piece_, line_lanes);
  if (variant_ == Variant::in_place && planes * out_rows_ < wanted) cut_lanes(wanted);
  // The taps that neighbouring windows share should still be in the first-level cache.
  if (variant_ == Variant::in_place && last_.strides[0] < taps_)
    cut_lanes(ceil_div(piece_ * rows_ * taps_, cached));
  by_groups_ = deep_out_.elements() * out_rows_ == 1 || variant_ == Variant::through_plane;
  batch_ = std::clamp<std::int64_t>(source_.images * source_.groups / wanted, 1, source_.groups);
  if (!by_groups_) batch_ = 1;
  bands_ = variant_ == Variant::through_plane
               ? std::vector<PoolSpan>{{0, out_rows_}}
               : bands_of(g, row, std::max<std::int64_t>(1, planes * out_rows_ / wanted));
  blocks_ = source_.images * batches() * deep_out_.elements() * std::ssize(bands_) * pieces();
  grain_ = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(taps_per_thread() / (work / static_cast<double>(blocks_))));
}

// The number of positions that fit into a line; 0 if none does.
std::int64_t PoolLoops::positions_of_line(std::int64_t lanes) const {
  const std::int64_t stride = last_.strides[0];
  const std::int64_t room = line_floats / lanes - last_.extent(0) - stride;
  return room < 0 ? 0 : 1 + room / stride;
}

// True if folding rows for several positions at once costs less than the taps of each position:
// each costs a load and one or two operations; the line itself costs more if its columns are far
// apart.
bool PoolLoops::line_pays() const {
  const auto rows = static_cast<double>(rows_);
  const auto taps = static_cast<double>(taps_);
  const auto stride = static_cast<double>(last_.strides[0]);
  const double tap = is_average() ? 2 : 3;
  const double line = source_.column > line_lanes || stride > 1 ? 8 : 3;
  return tap * rows * taps > stride * (tap * rows + line) + tap * taps + 3;
}

// True if padded planes without holes fit into the buffer.
bool PoolLoops::fits_planes() const {
  if (outer_.rank() > 1 || source_.column != source_.lanes || outer_.kernel[0] > max_rows)
    return false;
  const std::int64_t rows = line_floats - outer_.extent(0);
  if (rows < 0 || rows / outer_.strides[0] < out_rows_ - 1) return false;
  return positions_of_line(source_.lanes) >= out_ &&
         padded_rows() * line_columns(out_) * source_.lanes <= line_floats;
}

std::int64_t PoolLoops::planes_at_once() const {
  return line_floats / (padded_rows() * line_columns(out_) * source_.lanes);
}

// Many calls with little work each are expensive: small planes are done with their edges in one
// call.
PoolLoops::Variant PoolLoops::best_variant() const {
  const Variant variant = long_variant();
  if (variant == Variant::by_reduction || !fits_planes()) return variant;
  const bool is_small = source_.is_plane() && outer_in_.elements() * in_ <= small_plane;
  return is_small || has_edges_ ? Variant::through_plane : variant;
}

// Writing and reading a line has a cost. It pays where rows are folded for several positions at
// once, and in planes, where its padding avoids edges and deinterleaving avoids strides.
PoolLoops::Variant PoolLoops::long_variant() const {
  const std::int64_t lanes = std::min(source_.lanes, line_lanes);
  if (!source_.is_plane())
    return line_pays() && positions_of_line(lanes) >= 8 ? Variant::through_line : Variant::in_place;
  const bool fits = positions_of_line(1) > 0;
  const bool side_by_side = last_.dilations[0] == 1 && last_.kernel[0] > 1;
  if (side_by_side && (out_ == 1 || !fits)) return Variant::by_reduction;
  const bool in_place = rows_ == 1 && last_.strides[0] == 1;
  return !fits || in_place ? Variant::in_place : Variant::through_line;
}

// Tabulates the divisors of as many planes as are computed at once.
void PoolLoops::tabulate(const std::vector<PoolSpan>& of_rows) {
  for (std::int64_t row = 0; row < out_rows_ && is_average(); ++row)
    for (const PoolSpan& span : spans_)
      table_.insert(table_.end(), static_cast<std::size_t>((span.end - span.begin) * source_.lanes),
                    static_cast<float>(divisor_at(of_rows, row) * span.divisor));
  spans_ = {{0, out_}};
  if (table_.empty()) return;
  if (std::ranges::count(table_, table_[0]) == std::ssize(table_)) {
    spans_[0].divisor = table_[0];
    table_.clear();
  }
  const std::vector<float> plane = table_;
  for (std::int64_t i = 1; i < planes_at_once(); ++i)
    table_.insert(table_.end(), plane.begin(), plane.end());
}

PoolLoops::Block PoolLoops::block_at(const float* x, float* y, std::int64_t block,
                                     StopCheck& check) const {
  const auto next = [&block](std::int64_t n) { return std::exchange(block, block / n) % n; };
  const std::int64_t lane = next(pieces()) * piece_;
  const PoolSpan& band = bands_[static_cast<std::size_t>(next(std::ssize(bands_)))];
  Block b{.at = Shape::filled(deep_out_.rank(), 0),
          .lanes = std::min(piece_, source_.lanes - lane),
          .lines = band.end - band.begin,
          .line_stride = outer_.strides.back() * in_ * source_.column,
          .divisor = band.divisor,
          .check = &check};
  std::int64_t deep = 0;
  for (std::size_t d = deep_out_.rank(), stride = 1; d-- > 0; stride *= deep_out_[d]) {
    b.at[d] = next(deep_out_[d]);
    deep += b.at[d] * static_cast<std::int64_t>(stride);
    b.divisor *= divisor_at(deep_divisors_[d], b.at[d]);
  }
  b.at.push_back(band.begin);
  const std::int64_t group = next(batches()) * batch_;
  if (by_groups_) {
    b.lines = std::min(batch_, source_.groups - group);
    b.line_stride = source_.group_stride;
  }
  const std::int64_t plane = (block * source_.groups + group) * deep_out_.elements() + deep;
  b.x = x + block * source_.image_stride + group * source_.group_stride + lane;
  b.y = y + (plane * out_rows_ + band.begin) * y_line() + lane;
  return b;
}

void PoolLoops::run_block(const Block& b) const {
  switch (variant_) {
    case Variant::in_place: return fold_in_place(b);
    case Variant::through_line: return fold_through_line(b);
    case Variant::through_plane: return fold_through_plane(b);
    case Variant::by_reduction: return reduce(b);
  }
}

// Folds the rows under the position, from column `offset` on.
void PoolLoops::fold_rows(const Block& b, std::int64_t offset, SimdWindow w) const {
  std::array<const float*, max_rows> rows;
  const float divisor = std::exchange(w.divisor, 1);
  // Long rows are folded a few at a time, as many as can be prefetched.
  const std::int64_t most = w.lanes >= pool_long_row ? 8 : max_rows;
  w.x = rows.data();
  w.rows = 0;
  const std::int64_t cost = 1 + w.taps * w.lanes * w.positions * w.lines / 8;  // of a row
  for_each_tap(outer_, outer_in_, b.at, *b.check, [&](std::int64_t row, std::int64_t) {
    if (w.rows == most) {
      if (b.check->spend(cost * w.rows)) return;
      fold(w);
      w.rows = 0;
      w.accumulate = true;
    }
    rows[static_cast<std::size_t>(w.rows++)] = b.x + (row * in_ + offset) * source_.column;
  });
  w.divisor = divisor;
  if (!b.check->spend(cost * w.rows)) fold(w);
}

void PoolLoops::fold_in_place(const Block& b) const {
  const bool neighbours_are_lanes = source_.is_plane() && last_.strides[0] == 1;
  SimdWindow w{.taps = last_.kernel[0],
               .dilation = last_.dilations[0] * source_.column,
               .lanes = b.lanes,
               .stride = last_.strides[0] * source_.column,
               .y_stride = source_.lanes,
               .lines = b.lines,
               .line_stride = b.line_stride,
               .y_line_stride = y_line()};
  for (std::int64_t at = 0; at < interior_.begin; ++at) fold_edge(b, at, w);
  for (std::int64_t at = interior_.end; at < out_; ++at) fold_edge(b, at, w);
  if (interior_.begin == interior_.end) return;
  w.divisor = static_cast<float>(b.divisor * divisor_at(spans_, interior_.begin));
  // Whole vectors at a time, so that long rows and windows leave time to look at the clock.
  const std::int64_t at_once = std::max<std::int64_t>(
      64, most_taps_at_once() / (w.taps * b.lanes * b.lines * std::min(rows_, max_rows)) / 64 * 64);
  for (std::int64_t at = interior_.begin; at < interior_.end; at += at_once) {
    (neighbours_are_lanes ? w.lanes : w.positions) = std::min(at_once, interior_.end - at);
    w.y = b.y + at * source_.lanes;
    fold_rows(b, at * last_.strides[0] - last_.pads_begin[0], w);
  }
}

void PoolLoops::fold_edge(const Block& b, std::int64_t at, SimdWindow w) const {
  const TapRange taps = taps_between(last_, 0, at, 0, in_);
  w.y = b.y + at * source_.lanes;
  w.divisor = static_cast<float>(b.divisor * divisor_at(spans_, at));
  w.taps = std::max<std::int64_t>(taps.size(), 1);
  if (taps.size() > 0) return fold_rows(b, taps.first + taps.begin * last_.dilations[0], w);
  w.rows = 0;
  fold(w);
}

void PoolLoops::fold_through_line(const Block& b) const {
  const std::int64_t most = positions_of_line(b.lanes);
  for (std::int64_t at = 0; at < out_; at += most) {
    const std::int64_t positions = std::min(most, out_ - at);
    const std::int64_t line = line_columns(positions) * b.lanes;
    const std::int64_t lines = std::max<std::int64_t>(1, line_floats / line);
    Block part = b;
    for (std::int64_t i = 0; i < b.lines; i += lines) {
      part.lines = std::min(lines, b.lines - i);
      part.x = b.x + i * b.line_stride;
      part.y = b.y + i * y_line();
      if (b.check->spend(part.lines * line)) return;
      fold_lines(part, at, positions);
    }
  }
}
// Columns along the last dimension of a line, including those that deinterleaving reads.
std::int64_t PoolLoops::line_columns(std::int64_t positions) const {
  const std::int64_t stride = last_.strides[0];
  const std::int64_t columns = (positions - 1) * stride + last_.extent(0);
  return source_.is_plane() ? round_up(columns, stride) : columns;
}

void PoolLoops::fold_lines(const Block& b, std::int64_t at, std::int64_t positions) const {
  alignas(64) float buffer[line_floats];
  const std::int64_t first = at * last_.strides[0] - last_.pads_begin[0];
  const std::int64_t columns = line_columns(positions);
  const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, columns);
  const std::int64_t end = std::clamp<std::int64_t>(in_ - first, begin, columns);
  SimdWindow w{.y = buffer + begin * b.lanes,
               .lanes = b.lanes,
               .positions = end - begin,
               .stride = source_.column,
               .y_stride = b.lanes,
               .lines = b.lines,
               .line_stride = b.line_stride,
               .y_line_stride = columns * b.lanes};
  for (std::int64_t i = 0; i < b.lines; ++i) {
    float* line = buffer + i * w.y_line_stride;
    std::fill(line, line + begin * b.lanes, of_nothing());
    std::fill(line + end * b.lanes, line + w.y_line_stride, of_nothing());
  }
  if (source_.column == b.lanes) {  // no holes: one long row
    w.lanes *= w.positions;
    w.positions = 1;
  }
  if (begin < end) fold_rows(b, first + begin, w);
  fold_columns(b, at, positions, buffer);
}

// `buffer`: b.lines lines of line_columns(positions) columns, beginning under position `at`.
void PoolLoops::fold_columns(const Block& b, std::int64_t at, std::int64_t positions,
                             const float* buffer) const {
  const std::int64_t stride = last_.strides[0];
  const std::int64_t line = line_columns(positions) * b.lanes;
  const bool in_ways = source_.is_plane() && stride > 1;
  alignas(64) float ways[line_floats];
  if (in_ways) simd().deinterleave(buffer, stride, ways, b.lines * line / stride);
  for (const PoolSpan& span : spans_) {
    const std::int64_t begin = std::max(span.begin, at);
    const std::int64_t end = std::min(span.end, at + positions);
    if (begin >= end) continue;
    SimdWindow w{.taps = last_.kernel[0],
                 .dilation = last_.dilations[0] * b.lanes,
                 .y = b.y + begin * source_.lanes,
                 .lanes = b.lanes,
                 .positions = end - begin,
                 .stride = stride * b.lanes,
                 .y_stride = source_.lanes,
                 .lines = b.lines,
                 .line_stride = line,
                 .y_line_stride = y_line(),
                 .divisor = static_cast<float>(b.divisor * span.divisor),
                 .divisors = table()};
    if (source_.is_plane()) std::swap(w.lanes, w.positions);  // neighbours are lanes
    if (in_ways) {
      fold_ways(ways + (begin - at), b.lines * line / stride, w);
      continue;
    }
    const float* x = buffer + (begin - at) * stride * b.lanes;
    w.x = &x;
    w.rows = 1;
    fold(w);
  }
}

// Folds the taps of a plane, each of which is a row of a way of `way_floats`.
void PoolLoops::fold_ways(const float* ways, std::int64_t way_floats, SimdWindow w) const {
  const std::int64_t stride = last_.strides[0];
  const float divisor = std::exchange(w.divisor, 1);
  const float* divisors = std::exchange(w.divisors, nullptr);
  std::array<const float*, max_rows> rows;
  w.x = rows.data();
  w.taps = 1;
  w.line_stride /= stride;
  for (std::int64_t t = 0; t < last_.kernel[0]; t += w.rows) {
    w.rows = std::min<std::int64_t>(std::ssize(rows), last_.kernel[0] - t);
    for (std::int64_t i = 0; i < w.rows; ++i) {
      const std::int64_t column = (t + i) * last_.dilations[0];
      rows[static_cast<std::size_t>(i)] = ways + column % stride * way_floats + column / stride;
    }
    w.accumulate = t > 0;
    if (t + w.rows == last_.kernel[0]) {
      w.divisor = divisor;
      w.divisors = divisors;
    }
    fold(w);
  }
}

void PoolLoops::fold_through_plane(const Block& b) const {
  alignas(64) float padded[line_floats];
  const std::int64_t top = outer_.pads_begin[0];
  const std::int64_t left = last_.pads_begin[0];
  const std::int64_t line = line_columns(out_) * b.lanes;
  const std::int64_t plane = padded_rows() * line;
  const std::int64_t most = std::min(b.lines, planes_at_once());
  if (has_edges_) std::fill_n(padded, most * plane, of_nothing());
  const std::int64_t width = std::clamp<std::int64_t>(line_columns(out_) - left, 0, in_);
  const std::int64_t height = std::clamp<std::int64_t>(padded_rows() - top, 0, outer_in_[0]);
  const bool is_seen = width > 0 && height > 0;
  SimdWindow copy{.rows = 1,
                  .y = padded + (is_seen ? top * line + left * b.lanes : 0),
                  .lanes = width * b.lanes,
                  .positions = height,
                  .stride = in_ * b.lanes,
                  .y_stride = line,
                  .line_stride = b.line_stride,
                  .y_line_stride = plane};
  for (std::int64_t i = 0; i < b.lines; i += most) {
    const float* x = b.x + i * b.line_stride;
    copy.x = &x;
    copy.lines = std::min(most, b.lines - i);
    if (b.check->spend(copy.lines * plane)) return;
    float* y = b.y + i * out_rows_ * y_line();
    if (!has_edges_) {
      fold_planes({x, copy.lanes, copy.stride, copy.line_stride}, copy.lines, y);
      continue;
    }
    if (is_seen) fold(copy);
    fold_planes({padded, line, line, plane}, copy.lines, y);
  }
}

void PoolLoops::fold_planes(const Planes& x, std::int64_t planes, float* y) const {
  const std::int64_t lanes = source_.lanes;
  if (!source_.is_plane() && !line_pays()) {
    for (std::int64_t i = 0; i < planes; ++i)
      fold_taps(x, x.data + i * x.plane, y + i * out_rows_ * y_line());
  } else {
    alignas(64) float columns[line_floats];
    const std::int64_t line = line_columns(out_) * lanes;
    SimdWindow w{.y = columns,
                 .lanes = x.width,
                 .positions = out_rows_,
                 .stride = outer_.strides[0] * x.row,
                 .y_stride = line,
                 .lines = planes,
                 .line_stride = x.plane,
                 .y_line_stride = out_rows_ * line};
    if (w.stride == line && w.lanes == line)  // one long row
      w.lanes *= std::exchange(w.positions, 1);
    fold_rows_of_plane(x, x.data, w);
    fold_columns({.y = y, .lanes = lanes, .lines = planes * out_rows_, .divisor = 1}, 0, out_,
                 columns);
  }
}

void PoolLoops::fold_rows_of_plane(const Planes& x, const float* plane, SimdWindow w) const {
  std::array<const float*, max_rows> rows;
  w.x = rows.data();
  w.rows = outer_.kernel[0];
  for (std::int64_t k = 0; k < w.rows; ++k)
    rows[static_cast<std::size_t>(k)] = plane + k * outer_.dilations[0] * x.row;
  fold(w);
}

// Folds all taps of one plane's channels.
void PoolLoops::fold_taps(const Planes& x, const float* plane, float* y) const {
  const std::int64_t lanes = source_.lanes;
  fold_rows_of_plane(x, plane,
                     {.taps = last_.kernel[0],
                      .dilation = last_.dilations[0] * lanes,
                      .y = y,
                      .lanes = lanes,
                      .positions = out_,
                      .stride = last_.strides[0] * lanes,
                      .y_stride = lanes,
                      .lines = out_rows_,
                      .line_stride = outer_.strides[0] * x.row,
                      .y_line_stride = y_line(),
                      .divisor = static_cast<float>(spans_[0].divisor),
                      .divisors = table()});
}

void PoolLoops::reduce(const Block& b) const {
  const bool is_one_row = rows_ == 1 && !has_edges_;
  Block line = b;
  if (is_one_row)
    for_each_tap(outer_, outer_in_, b.at, *b.check, [&](std::int64_t row, std::int64_t) {
      line.x += row * in_;  // of the band
    });
  for (std::int64_t i = 0; i < b.lines; ++i, line.x += b.line_stride, line.y += y_line())
    for (std::int64_t at = 0; at < out_ && !b.check->spend(8); ++at) {
      Folded folded{.most = of_nothing()};
      if (is_one_row) {
        add_run(line.x + at * last_.strides[0], last_.kernel[0], folded, *b.check);
      } else {
        const TapRange taps = taps_between(last_, 0, at, 0, in_);
        for_each_tap(outer_, outer_in_, b.at, *b.check, [&](std::int64_t row, std::int64_t) {
          add_run(line.x + row * in_ + taps.first + taps.begin, taps.size(), folded, *b.check);
        });
      }
      line.y[at] = is_average()
                       ? static_cast<float>(folded.sum / (b.divisor * divisor_at(spans_, at)))
                       : folded.most;
    }
}

void PoolLoops::add_run(const float* x, std::int64_t n, Folded& onto, StopCheck& check) const {
  constexpr std::int64_t long_run = 4096;  // the sums of the pieces are added in double
  for (; n > 0; x += long_run, n -= long_run) {
    const std::int64_t piece = std::min(long_run, n);
    if (check.spend(piece / 4)) return;
    if (is_average())
      onto.sum += simd().sum(x, piece);
    else if (const float v = simd().max(x, piece); std::isnan(v) || v > onto.most)
      onto.most = v;
  }
}

}  // namespace quern
