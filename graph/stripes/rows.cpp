// SPDX-License-Identifier: Apache-2.0
#include "graph/stripes/rows.h"

#include <array>
#include <limits>
#include <numeric>
#include <span>

#include "graph/ops/attention.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/concat.h"
#include "graph/ops/conv.h"
#include "graph/ops/infer.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/lp_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pad.h"
#include "graph/ops/pool.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/quantize.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/reduce.h"
#include "graph/ops/resampling.h"
#include "graph/ops/reshape.h"
#include "graph/ops/resize_axes.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/split.h"
#include "graph/ops/transpose.h"
#include "graph/ops/windows.h"

namespace quern::stripes {
namespace {

Shape shape_of(const Graph& g, ValueId v) {
  return *g.type(v).shape();
}

constexpr std::uint8_t window_axis = 2;  // the first dimension that windows go over

bool has_rows(const Shape& s, std::size_t axis) {
  return s.rank() > axis && s[axis] > 1 && s.elements() > 0;
}

std::uint8_t narrow(std::size_t axis) {
  return static_cast<std::uint8_t>(axis);
}

// ---- windows -----------------------------------------------------------------------------------

// The window of a convolution or a pool, with every list complete.
std::optional<ResolvedWindow> window_of(const Graph& g, const Node& n) {
  const auto weights = [&](std::size_t i) { return shape_of(g, n.inputs[i]); };
  const auto spatial = shape_of(g, n.inputs[0]);
  const auto resolved = [&](const Window& window, const Shape& w) {
    return resolve_window(window, spatial.dims().subspan(2), w.dims().subspan(2));
  };
  if (const auto* op = n.as<Conv>()) return resolved(op->window, weights(1));
  if (const auto* op = n.as<ConvInteger>()) return resolved(op->window, weights(1));
  if (const auto* op = n.as<QLinearConv>()) return resolved(op->window, weights(3));
  if (const auto* op = n.as<ConvIntegerToFloat>()) return resolved(op->window, weights(3));
  const auto* pool = n.as<Pool>();
  if (!pool || pool->global || n.outputs.size() > 1) return std::nullopt;
  return resolve_window(pool->window, spatial.dims().subspan(2), pool->window.kernel);
}

// Explicit lists: the rows as given, everything else as resolved.
Window explicit_window(const ResolvedWindow& w, std::int64_t pad_begin, std::int64_t pad_end) {
  Window made;
  made.kernel = w.kernel.dims().empty() ? Ints() : Ints(w.kernel.begin(), w.kernel.end());
  made.strides.assign(w.strides.begin(), w.strides.end());
  made.dilations.assign(w.dilations.begin(), w.dilations.end());
  made.pads.assign(w.pads_begin.begin(), w.pads_begin.end());
  made.pads.insert(made.pads.end(), w.pads_end.begin(), w.pads_end.end());
  made.pads[0] = pad_begin;
  made.pads[w.rank()] = pad_end;
  return made;
}

template <class T>
Op with_window(const T& op, const Window& window) {
  T made = op;
  made.window = window;
  return made;
}

std::optional<RowMap> map_of_window(const Graph& g, const Node& n, const ResolvedWindow& w,
                                    std::int64_t height) {
  const std::int64_t rows = shape_of(g, n.inputs[0])[window_axis];
  const std::int64_t extent = w.extent(0);
  const RowMap map{w.strides[0], 1, -w.pads_begin[0], extent - 1 - w.pads_begin[0]};
  // Each position of the window touches the input.
  if (map.end_of(1) < 1 || map.begin_of(height - 1) >= rows) return std::nullopt;
  if (const auto* pool = n.as<Pool>()) {
    // Means over a last window that is cut off have divisors of their own.
    const bool is_cut = map.end_of(height) > rows + w.pads_end[0];
    if (is_cut && pool->kind == PoolKind::average) return std::nullopt;
    if (pool->ceil_mode && pool->kind == PoolKind::average) return std::nullopt;
  }
  return map;
}

Op window_op(const Graph& g, const Node& n, const Rows& result) {
  const ResolvedWindow w = *window_of(g, n);
  const std::int64_t rows = shape_of(g, n.inputs[0])[window_axis];
  const std::int64_t begin = result.begin * w.strides[0] - w.pads_begin[0];
  const std::int64_t end = (result.end - 1) * w.strides[0] - w.pads_begin[0] + w.extent(0);
  Window window =
      explicit_window(w, std::max<std::int64_t>(-begin, 0), std::max<std::int64_t>(end - rows, 0));
  if (const auto* op = n.as<Conv>()) return with_window(*op, window);
  if (const auto* op = n.as<ConvInteger>()) return with_window(*op, window);
  if (const auto* op = n.as<QLinearConv>()) return with_window(*op, window);
  if (const auto* op = n.as<ConvIntegerToFloat>()) return with_window(*op, window);
  Pool pool = *n.as<Pool>();
  if (pool.ceil_mode) {  // the other dimensions' last windows, as pads behind
    const Shape x = shape_of(g, n.inputs[0]);
    const Shape y = shape_of(g, n.outputs[0]);
    for (std::size_t d = 1; d < w.rank(); ++d)
      window.pads[w.rank() + d] = std::max<std::int64_t>(
          (y[2 + d] - 1) * w.strides[d] + w.extent(d) - w.pads_begin[d] - x[2 + d], 0);
    pool.ceil_mode = false;
  }
  pool.window = std::move(window);
  return pool;
}

// ---- transposed convolutions -------------------------------------------------------------------

ResolvedWindow transposed_window(const Graph& g, const Node& n) {
  const Shape x = shape_of(g, n.inputs[0]);
  const Shape w = shape_of(g, n.inputs[1]);
  return resolve_transposed_window(*n.as<ConvTranspose>(), x.dims().subspan(2),
                                   w.dims().subspan(2));
}

// Maps that are found row by row.
constexpr std::int64_t most_rows_looked_at = 1 << 16;

std::optional<RowMap> map_of_transposed(const Graph& g, const Node& n, std::int64_t height) {
  if (height > most_rows_looked_at) return std::nullopt;
  const ResolvedWindow w = transposed_window(g, n);
  const std::int64_t rows = shape_of(g, n.inputs[0])[window_axis];
  const std::int64_t stride = w.strides[0];
  if (w.extent(0) < stride) return std::nullopt;  // some rows have no input
  const RowMap map{1, stride, w.pads_begin[0] - w.extent(0) + stride, w.pads_begin[0]};
  // Each row of the result has a row of the input, though only zeros of it.
  for (std::int64_t row = 0; row < height; ++row)
    if (map.of({row, row + 1}, rows).size() < 1) return std::nullopt;
  return map;
}

Op transposed_op(const Graph& g, const Node& n, const Rows& result, const Rows& input) {
  const ResolvedWindow w = transposed_window(g, n);
  const Shape x = shape_of(g, n.inputs[0]);
  const Shape y = shape_of(g, n.outputs[0]);
  ConvTranspose op = *n.as<ConvTranspose>();
  op.window = explicit_window(w, 0, 0);
  op.output_shape.clear();
  op.output_padding.assign(w.rank(), 0);
  for (std::size_t d = 0; d < w.rank(); ++d) {
    const std::int64_t in = d == 0 ? input.size() : x[2 + d];
    const std::int64_t out = d == 0 ? result.size() : y[2 + d];
    const std::int64_t begin =
        d == 0 ? result.begin + w.pads_begin[0] - input.begin * w.strides[0] : w.pads_begin[d];
    const std::int64_t end = (in - 1) * w.strides[d] + w.extent(d) - begin - out;
    op.window.pads[d] = begin;
    op.window.pads[w.rank() + d] = std::max<std::int64_t>(end, 0);
    op.output_padding[d] = std::max<std::int64_t>(-end, 0);
  }
  return op;
}

// ---- slices ------------------------------------------------------------------------------------

// The slice of each dimension of a Slice with constant operands.
std::optional<std::vector<SliceRange>> slice_ranges(const Graph& g, const Node& n) {
  const Shape x = shape_of(g, n.inputs[0]);
  std::vector<Ints> lists(5);
  for (std::size_t i = 1; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == no_value) continue;
    const Value& v = g.value(n.inputs[i]);
    const auto elements = v.is_constant() ? int_elements(v.constant) : std::nullopt;
    if (!elements) return std::nullopt;
    lists[i] = *elements;
  }
  std::vector<SliceRange> ranges;
  for (std::size_t d = 0; d < x.rank(); ++d) ranges.push_back({0, x[d], 1});
  for (std::size_t i = 0; i < lists[1].size(); ++i) {
    const std::size_t d = lists[3].empty() ? i : positive_axis(lists[3][i], x.rank());
    ranges[d] = clamped({lists[1][i], lists[2][i], lists[4].empty() ? 1 : lists[4][i]}, x[d]);
  }
  return ranges;
}

std::optional<RowMap> map_of_slice(const Graph& g, const Node& n, std::size_t axis) {
  const auto ranges = slice_ranges(g, n);
  if (!ranges) return std::nullopt;
  const SliceRange& rows = (*ranges)[axis];
  if (rows.step < 1) return std::nullopt;
  return RowMap{rows.step, 1, rows.start, rows.start};
}

Tensor list_of(const Ints& values) {
  return Tensor::from_values<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())},
                                           values);
}

RowOp slice_op(const Graph& g, const Node& n, std::size_t axis, const Rows& input) {
  auto ranges = *slice_ranges(g, n);
  ranges[axis] = {0, input.size(), ranges[axis].step};
  std::array<Ints, 4> lists;  // starts, ends, axes, steps
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    lists[0].push_back(ranges[d].start);
    // A range that goes down to the first element ends before it.
    const bool to_first = ranges[d].step < 0 && ranges[d].end < 0;
    lists[1].push_back(to_first ? std::numeric_limits<std::int64_t>::min() : ranges[d].end);
    lists[2].push_back(static_cast<std::int64_t>(d));
    lists[3].push_back(ranges[d].step);
  }
  RowOp made{n.op, {}};
  for (std::size_t i = 0; i < lists.size(); ++i)
    made.operands.emplace_back(i + 1, list_of(lists[i]));
  return made;
}

// ---- other shapes ------------------------------------------------------------------------------

// The dimension of `y` that holds the rows of `x`: as many elements lie before it, and it is as
// long.
std::optional<std::size_t> reshaped_axis(const Shape& x, const Shape& y, std::size_t axis) {
  std::int64_t before = 1;
  for (std::size_t d = 0; d < axis; ++d) before *= x[d];
  std::int64_t passed = 1;
  for (std::size_t d = 0; d < y.rank(); ++d) {
    if (passed == before && y[d] == x[axis]) return d;
    passed *= y[d];
  }
  return std::nullopt;
}

RowOp reshape_op(const Graph& g, const Node& n, std::size_t axis, const Rows& result) {
  const Shape y = shape_of(g, n.outputs[0]);
  Ints shape(y.begin(), y.end());
  shape[axis] = result.size();
  return {Reshape{}, {{1, list_of(shape)}}};
}

// ---- resizing ----------------------------------------------------------------------------------

std::optional<ResizeAxis> resize_axis(const Graph& g, const Node& n, std::size_t axis) {
  std::array<TensorView, 3> views;
  for (std::size_t i = 1; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == no_value) continue;
    const Value& v = g.value(n.inputs[i]);
    if (!v.is_constant()) return std::nullopt;
    views[i - 1] = v.constant.view();
  }
  ResizeAxes axes;
  const auto& op = *n.as<Resize>();
  if (!op.part.empty() ||
      !resolve_resize(op, shape_of(g, n.inputs[0]), {views[0], views[1], views[2]}, axes).ok())
    return std::nullopt;
  return axes[axis];
}

// Rows have taps anywhere: the map is the narrowest that holds them all.
std::optional<RowMap> map_of_resize(const Graph& g, const Node& n, std::size_t axis) {
  const auto a = resize_axis(g, n, axis);
  if (!a || a->in < 1 || std::max(a->in, a->out) > most_rows_looked_at) return std::nullopt;
  if (a->is_identity()) return RowMap{};
  const auto& op = *n.as<Resize>();
  StopCheck no_limit(nullptr);
  std::vector<ResizeTap> taps(max_resize_taps(op, a->in, a->out));
  const std::int64_t common = std::gcd(a->in, a->out);
  RowMap map{a->in / common, a->out / common, std::numeric_limits<std::int64_t>::max(),
             std::numeric_limits<std::int64_t>::min()};
  for (std::int64_t row = 0; row < a->out; ++row) {
    const std::size_t count = resize_taps(op, *a, row, no_limit, taps);
    if (count == 0) return std::nullopt;
    map.first = std::min(map.first, taps[0].index * map.div - row * map.mul);
    map.last = std::max(map.last, taps[count - 1].index * map.div - row * map.mul);
  }
  return map;
}

Op resize_op(const Graph& g, const Node& n, std::size_t axis, const Rows& result,
             const Rows& input) {
  const ResizeAxis a = *resize_axis(g, n, axis);
  Resize op = *n.as<Resize>();
  if (!a.is_identity())
    op.part = {static_cast<std::int64_t>(axis), a.in, input.begin, result.begin, result.size()};
  return op;
}

// ---- operators that take rows to the same rows -------------------------------------------------

// True if a reduction keeps the rows apart.
bool keeps_rows(const Graph& g, const Node& n, std::size_t rank, std::size_t rows) {
  if (!n.as<Reduce>()->keepdims || n.inputs.size() < 2 || n.inputs[1] == no_value) return false;
  const Value& v = g.value(n.inputs[1]);
  const auto axes = v.is_constant() ? int_elements(v.constant) : std::nullopt;
  return axes && !axes->empty() && std::ranges::none_of(*axes, [&](std::int64_t a) {
           return positive_axis(a, rank) == rows;
         });
}

bool pads_no_rows(const Graph& g, const Node& n, std::size_t rank, std::size_t rows) {
  if (n.inputs.size() > 3 && n.inputs[3] != no_value) return false;
  const Value& v = g.value(n.inputs[1]);
  const auto pads = v.is_constant() ? int_elements(v.constant) : std::nullopt;
  return pads && pads->size() == 2 * rank && (*pads)[rows] == 0 && (*pads)[rank + rows] == 0;
}

template <class T>
bool scales_apart(const Graph& g, const Node& n, const T& op, std::size_t rank, std::size_t rows) {
  return op.block_size == 0 &&
         (shape_of(g, n.inputs[1]).elements() == 1 || positive_axis(op.axis, rank) != rows);
}

// True if row i of the result depends on row i of the first input, and on the others as a whole.
bool maps_first_input(const Graph& g, const Node& n, std::size_t rank, std::size_t rows) {
  const auto is_other = [&](std::int64_t axis) { return positive_axis(axis, rank) != rows; };
  if (const auto* op = n.as<BatchNorm>()) return !op->training && rows != 1;
  if (const auto* op = n.as<Softmax>()) return !op->flatten && is_other(op->axis);
  if (const auto* op = n.as<LpNorm>()) return is_other(op->axis);
  if (const auto* op = n.as<LayerNorm>()) return positive_axis(op->axis, rank) > rows;
  if (const auto* op = n.as<Split>()) return is_other(op->axis);
  if (const auto* op = n.as<Quantize>()) return scales_apart(g, n, *op, rank, rows);
  if (const auto* op = n.as<Dequantize>()) return scales_apart(g, n, *op, rank, rows);
  if (n.as<Reduce>()) return keeps_rows(g, n, rank, rows);
  if (n.as<Pad>()) return pads_no_rows(g, n, rank, rows);
  return n.as<Lrn>() && rows != 1;
}

// An operand that broadcasts to the result, aligned at the last dimension.
std::optional<RowRead> broadcast_read(const Shape& operand, const Shape& result, std::size_t axis) {
  const std::size_t missing = result.rank() - operand.rank();
  if (missing > axis || operand[axis - missing] == 1) return std::nullopt;
  return RowRead{narrow(axis - missing), {}};
}

// ---- all operators -----------------------------------------------------------------------------

// Finds the rule of one node.
class RuleMaker {
 public:
  RuleMaker(const Graph& g, const Node& n, RowAxes axes)
      : g_(g), n_(n), axes_(axes), x_(shape_of(g, n.inputs[0])), y_(shape_of(g, n.outputs[0])) {}

  std::optional<RowRule> make() {
    rule_.reads.resize(n_.read_count());
    if (!map_inputs()) return std::nullopt;
    rule_.height = y_[rule_.axis];
    for (std::size_t i = 0; i < n_.operands.size(); ++i)
      rule_.reads[n_.inputs.size() + i] =
          broadcast_read(shape_of(g_, n_.operands[i]), y_, rule_.axis);
    for (ValueId v : n_.outputs)
      if (!has_rows(shape_of(g_, v), rule_.axis) || g_.type(v).dtype == DType::string)
        return std::nullopt;
    return std::move(rule_);
  }

 private:
  // The axis of the first input; where it is not known, the one that nets of layers have.
  std::uint8_t axis_in(std::uint8_t otherwise) const {
    const std::uint8_t known = axes_[index(n_.inputs[0])];
    return known == no_rows ? otherwise : known;
  }
  std::uint8_t usual_axis() const { return axis_in(x_.rank() == 3 ? 1 : window_axis); }

  // The first input is read by this map, others as a whole.
  bool first(std::size_t axis_of_result, std::size_t axis, const std::optional<RowMap>& map) {
    if (!map || !has_rows(x_, axis)) return false;
    rule_.axis = narrow(axis_of_result);
    rule_.reads[0] = RowRead{narrow(axis), *map};
    return true;
  }

  bool map_inputs() {
    if (const auto window = window_of(g_, n_)) return over_windows(*window);
    if (n_.op.def().is(OpTrait::elementwise)) return elementwise();
    if (n_.as<MatMul>() || n_.as<BlockQuantizedMatMul>()) return product();
    if (n_.as<Attention>()) return attention();
    if (n_.as<Concat>()) return concat();
    if (n_.as<ConvTranspose>())
      return has_rows(y_, window_axis) &&
             first(window_axis, window_axis, map_of_transposed(g_, n_, y_[window_axis]));
    if (const auto* op = n_.as<Transpose>()) return transpose(*op);
    const std::uint8_t axis = usual_axis();
    if (!has_rows(x_, axis)) return false;
    if (n_.as<Slice>()) return first(axis, axis, map_of_slice(g_, n_, axis));
    if (n_.as<Resize>()) return first(axis, axis, map_of_resize(g_, n_, axis));
    if (n_.op.def().is(OpTrait::view)) {
      const auto to = reshaped_axis(x_, y_, axis);
      return to && first(*to, axis, RowMap{});
    }
    if (const auto* op = n_.as<DepthSpace>()) return depth_space(*op, axis);
    return maps_first_input(g_, n_, y_.rank(), axis) && first(axis, axis, RowMap{});
  }

  bool over_windows(const ResolvedWindow& window) {
    if (!has_rows(y_, window_axis)) return false;
    return first(window_axis, window_axis, map_of_window(g_, n_, window, y_[window_axis]));
  }

  bool depth_space(const DepthSpace& op, std::uint8_t axis) {
    if (axis != window_axis) return false;
    if (op.kind == DepthSpaceKind::space_to_depth)
      return first(axis, axis, RowMap{op.block, 1, 0, op.block - 1});
    rule_.unit = op.block;
    return first(axis, axis, RowMap{1, op.block, 0, 0});
  }

  // Where the rows of the input are not known, those of the result are an image's.
  bool transpose(const Transpose& op) {
    const std::size_t rank = y_.rank();
    if (rank <= window_axis) return false;
    const std::uint8_t axis = axis_in(narrow(source_of(op, window_axis, rank)));
    for (std::size_t d = 0; d < rank; ++d)
      if (source_of(op, d, rank) == axis) return first(d, axis, RowMap{});
    return false;
  }

  // Rows of the left matrix are rows of the result; the right one is read as a whole.
  bool product() {
    const auto* op = n_.as<MatMul>();
    if ((op && op->transpose_a) || x_.rank() < 2 || x_.rank() != y_.rank()) return false;
    const std::size_t rows = x_.rank() - 2;
    return first(rows, rows, RowMap{});
  }

  // Each query has a row of the result, and maybe one of the mask; keys and values are read as a
  // whole.
  bool attention() {
    const std::size_t rows = x_.rank() - 2;
    if (x_.rank() < 3 || x_.rank() != y_.rank() || !first(rows, rows, RowMap{})) return false;
    if (n_.inputs.size() > 3 && n_.inputs[3] != no_value)
      rule_.reads[3] = broadcast_read(shape_of(g_, n_.inputs[3]), y_, rows);
    return true;
  }

  bool concat() {
    const std::uint8_t axis = usual_axis();
    if (positive_axis(n_.as<Concat>()->axis, y_.rank()) == axis || !has_rows(y_, axis))
      return false;
    rule_.axis = axis;
    for (auto& read : rule_.reads) read = RowRead{axis, {}};
    return true;
  }

  // The axis is that of an operand with all rows, if one is known.
  bool elementwise() {
    std::uint8_t axis = no_rows;
    for (ValueId v : n_.inputs) {
      if (v == no_value || axes_[index(v)] == no_rows || axis != no_rows) continue;
      const std::size_t aligned = axes_[index(v)] + y_.rank() - shape_of(g_, v).rank();
      if (has_rows(shape_of(g_, v), axes_[index(v)])) axis = narrow(aligned);
    }
    if (axis == no_rows) axis = y_.rank() == 3 ? 1 : window_axis;
    if (!has_rows(y_, axis)) return false;
    rule_.axis = axis;
    for (std::size_t i = 0; i < n_.inputs.size(); ++i)
      if (n_.inputs[i] != no_value)
        rule_.reads[i] = broadcast_read(shape_of(g_, n_.inputs[i]), y_, axis);
    return std::ranges::any_of(rule_.reads, [](const auto& r) { return r.has_value(); });
  }

  const Graph& g_;
  const Node& n_;
  RowAxes axes_;
  Shape x_;
  Shape y_;
  RowRule rule_;
};

}  // namespace

std::optional<RowRule> row_rule(const Graph& g, const Node& n, RowAxes axes) {
  if (!n.bodies.empty() || n.inputs.empty() || n.inputs[0] == no_value) return std::nullopt;
  if (n.outputs.size() != 1 && !n.as<Split>()) return std::nullopt;
  if (std::ranges::find(n.outputs, no_value) != n.outputs.end()) return std::nullopt;
  return RuleMaker(g, n, axes).make();
}

RowOp row_op(const Graph& g, const Node& n, const RowRule& rule, const Rows& result,
             const Rows& input) {
  if (window_of(g, n)) return {window_op(g, n, result), {}};
  if (n.as<ConvTranspose>()) return {transposed_op(g, n, result, input), {}};
  if (n.as<Slice>()) return slice_op(g, n, rule.axis, input);
  if (n.as<Resize>()) return {resize_op(g, n, rule.axis, result, input), {}};
  if (n.op.def().is(OpTrait::view) && !n.as<Identity>()) return reshape_op(g, n, rule.axis, result);
  return {n.op, {}};
}

}  // namespace quern::stripes
