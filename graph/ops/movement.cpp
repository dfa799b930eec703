// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/movement.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<4> pad_names = {"constant", "reflect", "edge", "wrap"};
constexpr EnumNames<3> depth_space_names = {"depth_to_space_dcr", "depth_to_space_crd",
                                            "space_to_depth"};

// ---- broadcast_copy

// The entries of a list as dimensions; while they are unknown, as many unknown ones.
Result<std::optional<Dims>> counts_operand(const InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, shape_operand(c, 1));
  if (!list.length) return std::optional<Dims>();
  if (!list.values) return std::optional<Dims>(Dims(static_cast<std::size_t>(*list.length)));
  Dims out;
  for (std::int64_t v : *list.values) {
    if (v < 0) return c.error(cat(list_text(*list.values), " has a negative entry"));
    out.push_back(v);
  }
  return std::optional<Dims>(std::move(out));
}

Status infer_expand(InferContext& c) {
  QUERN_ASSIGN(const std::optional<Dims> shape, counts_operand(c));
  std::optional<Dims> out;
  if (shape && c.dims(0)) {
    out = broadcast(*c.dims(0), *shape);
    if (!out) return c.error(cat(c.describe(0), " does not broadcast to ", list_text(*c.ints(1))));
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_tile(InferContext& c) {
  QUERN_ASSIGN(const std::optional<Dims> repeats, counts_operand(c));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), repeats ? std::optional(Dims(repeats->size())) : std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  if (repeats && repeats->size() != dims.size())
    return c.error(cat(repeats->size(), " repeats for ", c.describe(0)));
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = repeats ? dims[i] * (*repeats)[i] : Dim();
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// ---- concat

// The first input whose rank is known; all others must have it.
Result<const Dims*> first_known(const InferContext& c) {
  const Dims* known = nullptr;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.error(cat("input ", i, " is left out"));
    QUERN_TRY(c.want_same_dtype(0, i));
    if (!c.dims(i)) continue;
    if (!known) known = c.dims(i);
    if (c.dims(i)->size() != known->size())
      return c.error(cat(c.describe(i), " has not the rank of the others, ", known->size()));
  }
  return known;
}

Status infer_concat(InferContext& c) {
  QUERN_ASSIGN(const Dims* known, first_known(c));
  if (!known) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Concat>().axis, known->size()));
  Dims out = *known;
  Dim total = 0;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.dims(i)) {
      total = Dim();
      continue;
    }
    Dims dims = *c.dims(i);
    total = total + dims[axis];
    dims[axis] = out[axis];
    const auto both = meet(out, dims);
    if (!both)
      return c.error(cat(c.describe(i), " differs from the other inputs in more than axis ", axis));
    out = *both;
  }
  out[axis] = total;
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// ---- depth_space

Status infer_depth_space(InferContext& c) {
  const auto& op = c.op<DepthSpace>();
  constexpr std::int64_t largest_block = 1 << 20;  // its square is no overflow
  if (op.block < 1 || op.block > largest_block) return c.error(cat("blocksize is ", op.block));
  QUERN_TRY(want_rank(c, 0, 4));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), Dims(4));
    return {};
  }
  const Dims& x = *c.dims(0);
  const std::int64_t area = op.block * op.block;
  const auto divides = [](Dim d, std::int64_t by) { return !d.known() || d.value() % by == 0; };
  if (op.kind != DepthSpaceKind::space_to_depth) {
    if (!divides(x[1], area))
      return c.error(cat(c.describe(0), ": channels are no multiple of ", area));
    c.set(0, c.dtype(0), Dims{x[0], div_exact(x[1], area), x[2] * op.block, x[3] * op.block});
    return {};
  }
  if (!divides(x[2], op.block) || !divides(x[3], op.block))
    return c.error(cat(c.describe(0), ": height or width is no multiple of ", op.block));
  c.set(0, c.dtype(0),
        Dims{x[0], x[1] * area, div_exact(x[2], op.block), div_exact(x[3], op.block)});
  return {};
}

// ---- pad

struct Pads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A dimension that nobody knows keeps its size only if nothing is done to it: in the other cases
// even a crop that cancels a pad might take more than there is.
Result<Dim> padded(const InferContext& c, std::size_t axis, Pads p) {
  const Dim d = (*c.dims(0))[axis];
  if (p.begin == 0 && p.end == 0) return d;
  if (!d.known()) return Dim();
  std::int64_t left = d.value() + std::min<std::int64_t>(p.begin, 0);
  if (__builtin_add_overflow(left, std::min<std::int64_t>(p.end, 0), &left) || left < 0)
    return c.error(cat("pads ", p.begin, " and ", p.end, " crop more than dimension ", axis, " of ",
                       c.describe(0), " has"));
  const bool extends = p.begin > 0 || p.end > 0;
  if (left == 0 && extends && c.op<Pad>().mode != PadMode::constant)
    return c.error(cat("mode ", enum_name(c.op<Pad>().mode),
                       " has nothing to take from in dimension ", axis, " of ", c.describe(0)));
  return Dim(left) + Dim(std::max<std::int64_t>(p.begin, 0)) +
         Dim(std::max<std::int64_t>(p.end, 0));
}

// Pads of each dimension of x.
Result<std::optional<std::vector<Pads>>> pads_of(const InferContext& c, const ListOperand& list,
                                                 std::size_t rank) {
  using All = std::optional<std::vector<Pads>>;
  QUERN_ASSIGN(const auto axes, axes_operand(c, 3, rank));
  if (c.has(3) && !axes) return All();
  const std::size_t n = axes ? axes->size() : rank;
  if (list.length && *list.length != 2 * static_cast<std::int64_t>(n))
    return c.error(cat(*list.length, " pads, wants two for each of ", n, " axes"));
  if (!list.values) return All();
  std::vector<Pads> pads(rank);
  for (std::size_t i = 0; i < n; ++i)
    pads[axes ? (*axes)[i] : i] = {(*list.values)[i], (*list.values)[n + i]};
  return All(std::move(pads));
}

Status infer_pad(InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, list_operand(c, 1));
  QUERN_TRY(list_operand(c, 3).status());
  QUERN_TRY(c.want_same_dtype(0, 2));
  QUERN_TRY(want_single(c, 2));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims(c.dims(0)->size());
  QUERN_ASSIGN(const auto pads, pads_of(c, list, dims.size()));
  for (std::size_t i = 0; pads && i < dims.size(); ++i) {
    QUERN_ASSIGN(dims[i], padded(c, i, (*pads)[i]));
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// ---- reverse_sequence

Status infer_reverse_sequence(InferContext& c) {
  const auto& op = c.op<ReverseSequence>();
  const bool batch_first = op.batch_axis == 0 && op.time_axis == 1;
  if (!batch_first && !(op.batch_axis == 1 && op.time_axis == 0))
    return c.error(cat("batch_axis ", op.batch_axis, " and time_axis ", op.time_axis,
                       ", wants 0 and 1 in either order"));
  QUERN_TRY(want_index_dtype(c, 1));
  QUERN_TRY(want_rank(c, 1, 1));
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have rank 2 or more"));
  if (c.dims(0) && c.dims(1)) {
    const Dim batch = (*c.dims(0))[batch_first ? 0 : 1];
    if (!meet({batch}, *c.dims(1)))
      return c.error(
          cat(c.describe(1), " must hold a length for each of ", batch.value(), " sequences"));
  }
  return infer_like_input(c);
}

// ---- slice

// Beyond every dimension that a tensor can have.
constexpr std::int64_t to_the_end = std::int64_t{1} << 62;

std::int64_t count_of(const Cut& cut) {
  const std::int64_t way = cut.step > 0 ? cut.end - cut.start : cut.start - cut.end;
  if (way <= 0) return 0;
  if (cut.step == std::numeric_limits<std::int64_t>::min()) return 1;
  const std::int64_t stride = cut.step > 0 ? cut.step : -cut.step;
  return (way - 1) / stride + 1;
}

Dim sliced(Dim d, const Cut& cut) {
  if (d.known()) return count_of(clamped(cut, d.value()));
  const bool all = cut.step == 1 && cut.start == 0 && cut.end >= to_the_end;
  const bool reversed = cut.step == -1 && cut.start == -1 && cut.end <= -to_the_end;
  return all || reversed ? d : Dim();
}

struct Operands {
  ListOperand starts, ends, axes, steps;
};

Result<Operands> operands_of(const InferContext& c) {
  Operands o;
  QUERN_ASSIGN(o.starts, list_operand(c, 1));
  QUERN_ASSIGN(o.ends, list_operand(c, 2));
  QUERN_ASSIGN(o.axes, list_operand(c, 3));
  QUERN_ASSIGN(o.steps, list_operand(c, 4));
  const ListOperand* all[] = {&o.starts, &o.ends, &o.axes, &o.steps};
  std::optional<std::int64_t> length;
  for (const ListOperand* list : all) {
    if (!list->length) continue;
    if (length && *length != *list->length)
      return c.error(cat("starts, ends, axes and steps have different lengths: ", *length, " and ",
                         *list->length));
    length = list->length;
  }
  if (o.steps.values &&
      std::find(o.steps.values->begin(), o.steps.values->end(), 0) != o.steps.values->end())
    return c.error("a step is 0");
  return o;
}

// The axes that the operands speak of; nothing while unknown.
Result<std::optional<std::vector<std::size_t>>> axes_of(const InferContext& c, const Operands& o,
                                                        std::size_t rank) {
  using Axes = std::optional<std::vector<std::size_t>>;
  if (c.has(3)) return axes_operand(c, 3, rank);
  const auto length = o.starts.length ? o.starts.length : o.ends.length;
  if (!length) return Axes();
  if (*length > static_cast<std::int64_t>(rank))
    return c.error(cat(*length, " starts for ", c.describe(0)));
  std::vector<std::size_t> axes(static_cast<std::size_t>(*length));
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return Axes(std::move(axes));
}

Status infer_slice(InferContext& c) {
  QUERN_ASSIGN(const Operands o, operands_of(c));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  QUERN_ASSIGN(const auto axes, axes_of(c, o, dims.size()));
  if (!axes) {
    c.set(0, c.dtype(0), Dims(dims.size()));
    return {};
  }
  const bool known = o.starts.values && o.ends.values && (o.steps.values || !c.has(4));
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Dim& d = dims[(*axes)[i]];
    d = !known ? Dim()
               : sliced(d, {(*o.starts.values)[i], (*o.ends.values)[i],
                            o.steps.values ? (*o.steps.values)[i] : 1});
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// ---- split

// Sizes of the parts when none are given.
Dims equal_parts(Dim d, std::size_t parts) {
  const auto n = static_cast<std::int64_t>(parts);
  if (n == 1) return {d};
  Dims sizes(parts);
  if (!d.known()) return sizes;
  const std::int64_t size = ceil_div(d, n).value();
  std::int64_t left = d.value();
  for (Dim& part : sizes) {
    part = std::min(size, left);
    left -= part.value();
  }
  return sizes;
}

Result<Dims> given_parts(const InferContext& c, const Ints& sizes, Dim d) {
  Dims parts;
  Dim total = 0;
  for (std::int64_t v : sizes) {
    if (v < 0) return c.error(cat("a part of ", v, " elements"));
    parts.push_back(v);
    total = total + Dim(v);
  }
  if (d.known() && d != total)
    return c.error(cat("the parts have ", total.value(), " elements, the axis has ", d.value()));
  return parts;
}

Status infer_split(InferContext& c) {
  const std::size_t parts = c.output_count();
  QUERN_ASSIGN(const ListOperand sizes, list_operand(c, 1));
  if (sizes.length && *sizes.length != static_cast<std::int64_t>(parts))
    return c.error(cat(*sizes.length, " sizes for ", parts, " outputs"));
  if (!c.dims(0)) {
    for (std::size_t i = 0; i < parts; ++i) c.set(i, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Split>().axis, dims.size()));
  Dims lengths(parts);
  if (!c.has(1)) {
    lengths = equal_parts(dims[axis], parts);
  } else if (sizes.values) {
    QUERN_ASSIGN(lengths, given_parts(c, *sizes.values, dims[axis]));
  }
  for (std::size_t i = 0; i < parts; ++i) {
    dims[axis] = lengths[i];
    c.set(i, c.dtype(0), dims);
  }
  return {};
}

// ---- transpose

Status check_perm(const InferContext& c, const Ints& perm) {
  std::vector<bool> seen(perm.size(), false);
  for (std::int64_t p : perm) {
    const bool inside = p >= 0 && p < static_cast<std::int64_t>(perm.size());
    if (!inside || seen[static_cast<std::size_t>(p)])
      return c.error(cat("perm ", list_text(perm), " is no permutation"));
    seen[static_cast<std::size_t>(p)] = true;
  }
  return {};
}

Status infer_transpose(InferContext& c) {
  const auto& op = c.op<Transpose>();
  QUERN_TRY(check_result_rank(c, op.perm.size()));
  QUERN_TRY(check_perm(c, op.perm));
  const Dims* x = c.dims(0);
  if (!x) {
    std::optional<Dims> dims;
    if (!op.perm.empty()) dims = Dims(op.perm.size());
    c.set(0, c.dtype(0), std::move(dims));
    return {};
  }
  if (!op.perm.empty() && op.perm.size() != x->size())
    return c.error(cat("perm ", list_text(op.perm), " does not suit ", c.describe(0)));
  Dims out;
  for (std::size_t i = 0; i < x->size(); ++i) out.push_back((*x)[source_of(op, i, x->size())]);
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// ---- trilu

Status infer_trilu(InferContext& c) {
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have rank 2 or more"));
  QUERN_TRY(want_index_dtype(c, 1));
  QUERN_TRY(want_single(c, 1));
  return infer_like_input(c);
}

}  // namespace

std::span<const std::string_view> enum_names(PadMode) {
  return pad_names;
}
std::span<const std::string_view> enum_names(DepthSpaceKind) {
  return depth_space_names;
}

const OpDef& Expand::def() {
  static constexpr OpDef def{.name = "Expand",
                             .inputs = {2, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_expand,
                             .attributes = &op_struct<Expand>,
                             .onnx = {"Expand", 8}};
  return def;
}

const OpDef& Tile::def() {
  static constexpr OpDef def{.name = "Tile",
                             .inputs = {2, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_tile,
                             .attributes = &op_struct<Tile>};
  return def;
}

const OpDef& Concat::def() {
  static constexpr OpDef def{.name = "Concat",
                             .inputs = {1, any_number},
                             .infer = infer_concat,
                             .attributes = &op_struct<Concat>};
  return def;
}

const OpDef& DepthSpace::def() {
  static constexpr OpDef def{
      .name = "DepthSpace", .infer = infer_depth_space, .attributes = &op_struct<DepthSpace>};
  return def;
}

const OpDef& Pad::def() {
  static constexpr OpDef def{.name = "Pad",
                             .inputs = {2, 4},
                             .plan_operands = 0b1010,
                             .infer = infer_pad,
                             .attributes = &op_struct<Pad>};
  return def;
}

const OpDef& ReverseSequence::def() {
  static constexpr OpDef def{.name = "ReverseSequence",
                             .inputs = {2, 2},
                             .infer = infer_reverse_sequence,
                             .attributes = &op_struct<ReverseSequence>};
  return def;
}

const OpDef& Slice::def() {
  static constexpr OpDef def{.name = "Slice",
                             .inputs = {3, 5},
                             .plan_operands = 0b11110,
                             .infer = infer_slice,
                             .attributes = &op_struct<Slice>};
  return def;
}

const OpDef& Split::def() {
  static constexpr OpDef def{.name = "Split",
                             .inputs = {1, 2},
                             .outputs = {1, any_number},
                             .plan_operands = 1u << 1,
                             .infer = infer_split,
                             .attributes = &op_struct<Split>};
  return def;
}

const OpDef& Transpose::def() {
  static constexpr OpDef def{.name = "Transpose",
                             .infer = infer_transpose,
                             .attributes = &op_struct<Transpose>,
                             .onnx = {"Transpose"}};
  return def;
}

const OpDef& Trilu::def() {
  static constexpr OpDef def{.name = "Trilu",
                             .inputs = {1, 2},
                             .infer = infer_trilu,
                             .attributes = &op_struct<Trilu>,
                             .onnx = {"Trilu", 14}};
  return def;
}

}  // namespace quern
