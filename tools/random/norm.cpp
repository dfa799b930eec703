// SPDX-License-Identifier: Apache-2.0
// Normalisation, softmax and reductions; recurrent layers.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

std::int64_t norm_axis(Builder& b, const DrawnValue& x) {
  const auto rank = static_cast<std::int64_t>(x.rank());
  const std::int64_t axis = b.rng.below(rank);
  return b.rng.chance(0.4) ? axis - rank : axis;
}
std::size_t place(std::int64_t axis, const DrawnValue& x) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.rank()) : axis);
}

bool softmax(Builder& b) {
  const DrawnValue x = b.take({.types = {some_float(b)}, .least_rank = 1});
  const std::int64_t axis = b.rng.chance(0.5) ? -1 : norm_axis(b, x);
  const bool log = b.rng.chance(0.25);
  Attributes a;
  if (axis != -1 || b.rng.chance(0.5)) a.push_back(Builder::integer("axis", axis));
  b.add(log ? "LogSoftmax" : "Softmax", {x}, a, {x.dtype, x.dims, log ? x.most * 2 + 8 : 1});
  return true;
}

bool hardmax(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 1, .exact = true, .nonempty = true});
  if (!x.exact) return false;
  b.add("Hardmax", {x}, {Builder::integer("axis", norm_axis(b, x))},
        {x.dtype, x.dims, 1, false, true});
  return true;
}

// A scale and a shift that are not the same value: s n + s would cancel where n is near -1.
void add_scale_and_shift(Builder& b, DType type, const Extents& dims, Values& in) {
  in.push_back(b.take_like(type, dims));
  const DrawnValue shift = b.take_like(type, dims);
  in.push_back(shift.name == in.back().name ? b.root(type, dims) : shift);
}

bool layer_norm(Builder& b) {
  const DrawnValue x = b.take({.types = {some_float(b)}, .least_rank = 1, .nonempty = true});
  const std::int64_t axis = b.rng.chance(0.6) ? -1 : norm_axis(b, x);
  const Extents tail(x.dims.begin() + static_cast<std::ptrdiff_t>(place(axis, x)), x.dims.end());
  if (least(product(tail)) < 2) return false;
  const bool rms = b.opset() >= 23 && b.rng.chance(0.4);
  Values in = {x};
  add_scale_and_shift(b, x.dtype, tail, in);
  if (rms || b.rng.chance(0.3)) in.pop_back();
  Attributes a = {Builder::integer("axis", axis)};
  if (b.rng.chance(0.7)) a.push_back(b.number("epsilon", 0.01));
  b.add(rms ? "RMSNormalization" : "LayerNormalization", in, a, {x.dtype, x.dims, 16});
  return true;
}

std::optional<DrawnValue> with_channels(Builder& b, std::size_t least_rank, DType type) {
  const auto suits = [&](const DrawnValue& v) {
    return v.dtype == type && !v.wild && v.most <= 64 && v.rank() >= least_rank && v.rank() <= 5 &&
           is_fixed(v.dims[1]) && least(product(v.dims)) > 0;
  };
  if (b.rng.chance(0.8))
    if (auto v = b.find(suits)) return v;
  Extents dims = b.random_dims(std::max<std::size_t>(least_rank, 3));
  dims[1] = fixed(b.rng.pick(std::vector<std::int64_t>{2, 4, 6}));
  if (!b.fits(dims) || least(product(dims)) == 0) return std::nullopt;
  return b.root(type, dims);
}

bool batch_norm(Builder& b) {
  const auto x = with_channels(b, 2, b.rng.pick(ordinary_floats()));
  if (!x) return false;
  Values in = {*x};
  for (int i = 0; i < 4; ++i) {
    const Numbers numbers = i == 3 ? Numbers::positive : Numbers::around_zero;
    in.push_back(b.rng.chance(0.85) ? b.constant(x->dtype, {x->dims[1]}, numbers)
                                    : b.input(x->dtype, {x->dims[1]}, numbers));
  }
  Attributes a;
  if (b.rng.chance(0.5)) a.push_back(b.number("epsilon", 0.001));
  b.add("BatchNormalization", in, a, {x->dtype, x->dims, x->most * 4 + 4});
  return true;
}

bool instance_norm(Builder& b) {
  const auto x = with_channels(b, 3, b.rng.pick(ordinary_floats()));
  if (!x) return false;
  if (least(product(Extents(x->dims.begin() + 2, x->dims.end()))) < 2) return false;
  Values in = {*x};
  add_scale_and_shift(b, x->dtype, {x->dims[1]}, in);
  b.add("InstanceNormalization", in, {b.number("epsilon", 0.01)}, {x->dtype, x->dims, 16});
  return true;
}

bool group_norm(Builder& b) {
  const auto x = with_channels(b, 3, b.rng.pick(ordinary_floats()));
  if (!x) return false;
  const std::int64_t channels = x->dims[1][0];
  const std::int64_t groups = channels % 2 == 0 && b.rng.chance(0.6) ? 2 : 1;
  if (least(product(Extents(x->dims.begin() + 2, x->dims.end()))) * (channels / groups) < 2)
    return false;
  const Extents scale = {fixed(b.opset() < 21 ? groups : channels)};
  Values in = {*x};
  add_scale_and_shift(b, x->dtype, scale, in);
  b.add("GroupNormalization", in,
        {Builder::integer("num_groups", groups), b.number("epsilon", 0.01)},
        {x->dtype, x->dims, 16});
  return true;
}

bool other_norms(Builder& b) {
  const auto x = with_channels(b, 4, DType::f32);
  if (!x || x->rank() != 4) return false;
  if (b.rng.chance(0.5)) {
    b.add("LRN", {*x}, {Builder::integer("size", b.rng.between(1, 5)), b.number("alpha", 0.02)},
          {x->dtype, x->dims, x->most});
  } else {
    const DrawnValue y = b.add("Abs", {*x}, {}, {x->dtype, x->dims, x->most, false});
    const DrawnValue z = b.add("Add", {y, b.scalar(DType::f32, 0.5)}, {},
                               {x->dtype, x->dims, x->most + 0.5, true, false, true});
    b.add("LpNormalization", {z},
          {Builder::integer("axis", norm_axis(b, z)), Builder::integer("p", b.rng.between(1, 2))},
          {x->dtype, x->dims, 1});
  }
  return true;
}

// ---- reductions

struct Reduction {
  std::vector<std::int64_t> axes;
  bool keep = true;
  Extents dims;
  double count = 1;  // elements that come to one
};
Reduction some_reduction(Builder& b, const DrawnValue& x) {
  Reduction r{.keep = b.rng.chance(0.5)};
  std::vector<bool> reduced(x.rank());
  const bool all = b.rng.chance(0.15);
  for (std::size_t i = 0; i < x.rank(); ++i) reduced[i] = all || b.rng.chance(0.45);
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) {
      r.dims.push_back(x.dims[i]);
      continue;
    }
    const auto axis = static_cast<std::int64_t>(i);
    r.axes.push_back(b.rng.chance(0.3) ? axis - static_cast<std::int64_t>(x.rank()) : axis);
    r.count *= static_cast<double>(tools::most(x.dims[i]));
    if (r.keep) r.dims.push_back(fixed(1));
  }
  return r;
}

bool reduction(Builder& b) {
  const bool whole = b.rng.chance(0.2);
  static const std::vector<DType> integers = {DType::i32, DType::i64};
  const DrawnValue x = b.take({.types = whole ? integers : std::vector<DType>{some_float(b)},
                               .nonempty = b.rng.chance(0.9)});
  Reduction r = some_reduction(b, x);
  if (r.axes.empty()) {
    if (x.rank() > 0 && b.rng.chance(0.8)) return false;
    r.dims = r.keep ? Extents(x.rank(), fixed(1)) : Extents{};
    r.count = static_cast<double>(tools::most(product(x.dims)));
  }
  struct Row {
    std::string_view op;
    double most;
    bool rounds;
    bool whole;
    bool positive;
  };
  const double sum = x.most * (r.count + 1);
  const Row row = b.rng.pick(
      std::vector<Row>{{"ReduceSum", sum, true, true, false},
                       {"ReduceMean", x.most, true, false, false},
                       {"ReduceMean", x.most, true, false, false},
                       {"ReduceMax", x.most, false, true, false},
                       {"ReduceMin", x.most, false, true, false},
                       {"ReduceProd", std::pow(std::max(x.most, 1.0), r.count), true, true, false},
                       {"ReduceL1", sum, true, true, false},
                       {"ReduceL2", sum, true, false, false},
                       {"ReduceSumSquare", sum * x.most, true, true, false},
                       {"ReduceLogSumExp", x.most + 8, true, false, false},
                       {"ReduceLogSum", x.most + 8, true, false, true}});
  if (whole && !row.whole) return false;
  if (row.positive && !x.positive) return false;
  if (least(product(x.dims)) == 0 && row.op != "ReduceSum" && row.op != "ReduceMax") return false;
  Values in = {x};
  if (!r.axes.empty()) in.push_back(b.numbers_operand(r.axes, 0.05));
  Attributes a;
  if (!r.keep || b.rng.chance(0.5)) a.push_back(Builder::integer("keepdims", r.keep));
  b.add(row.op, in, a, {x.dtype, r.dims, row.most, row.rounds});
  return true;
}

bool arg_reduce(Builder& b) {
  const DrawnValue x =
      b.take({.types = all_numbers(), .least_rank = 1, .exact = true, .nonempty = true});
  if (!x.exact) return false;
  const std::int64_t axis = norm_axis(b, x);
  const bool keep = b.rng.chance(0.5);
  Extents dims = x.dims;
  if (keep) {
    dims[place(axis, x)] = fixed(1);
  } else {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(place(axis, x)));
  }
  Attributes a = {Builder::integer("axis", axis), Builder::integer("keepdims", keep)};
  if (b.rng.chance(0.3)) a.push_back(Builder::integer("select_last_index", 1));
  b.add(b.rng.chance(0.5) ? "ArgMax" : "ArgMin", {x}, a, {DType::i64, dims, 1e4, false, true});
  return true;
}

bool cumulative(Builder& b) {
  static const std::vector<DType> types = {DType::f32, DType::f64, DType::i32, DType::i64};
  const DrawnValue x = b.take({.types = types, .least_rank = 1});
  const std::int64_t axis = norm_axis(b, x);
  Attributes a;
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("exclusive", 1));
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("reverse", 1));
  const DrawnValue at = b.rng.chance(0.5) ? b.scalar(DType::i64, static_cast<double>(axis))
                                          : b.scalar(DType::i32, static_cast<double>(axis));
  b.add("CumSum", {x, at}, a,
        {x.dtype, x.dims, x.most * static_cast<double>(tools::most(x.dims[place(axis, x)]) + 1)});
  return true;
}

// ---- recurrent layers

bool recurrent(Builder& b) {
  struct Row {
    std::string_view op;
    std::int64_t gates;
  };
  const Row row = b.rng.pick(std::vector<Row>{{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}});
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 3, .most_rank = 3, .nonempty = true});
  if (!is_fixed(x.dims[2])) return false;
  const std::int64_t hidden = b.rng.between(1, 8);
  const bool both = b.rng.chance(0.3);
  const std::int64_t directions = both ? 2 : 1;
  const std::int64_t gates = row.gates * hidden;
  if (directions * gates * x.dims[2][0] > 3000) return false;
  Values in = {x, b.root(x.dtype, fixed_dims(std::array{directions, gates, x.dims[2][0]})),
               b.root(x.dtype, fixed_dims(std::array{directions, gates, hidden}))};
  const Extents state = {fixed(directions), x.dims[1], fixed(hidden)};
  in.push_back(b.rng.chance(0.7) ? b.root(x.dtype, fixed_dims(std::array{directions, 2 * gates}))
                                 : Builder::none());
  in.push_back(b.rng.chance(0.25) ? b.indices(DType::i32, {x.dims[1]}, fixed(1),
                                              map_extent(x.dims[0], [](auto n) { return n + 1; }))
                                  : Builder::none());
  in.push_back(b.rng.chance(0.4) ? b.take_like(x.dtype, state) : Builder::none());
  if (row.op == "LSTM")
    in.push_back(b.rng.chance(0.4) ? b.take_like(x.dtype, state) : Builder::none());
  Attributes a = {Builder::integer("hidden_size", hidden)};
  if (both) a.push_back(Builder::text("direction", "bidirectional"));
  if (!both && b.rng.chance(0.3)) a.push_back(Builder::text("direction", "reverse"));
  if (row.op == "GRU" && b.rng.chance(0.5)) a.push_back(Builder::integer("linear_before_reset", 1));
  std::vector<Effect> out = {{x.dtype, {x.dims[0], fixed(directions), x.dims[1], fixed(hidden)}, 2},
                             {x.dtype, state, 2}};
  if (row.op == "LSTM") out.push_back({x.dtype, state, 8});
  b.add_some(row.op, in, a, out, 0);
  return true;
}

constexpr std::array norm_table = {
    Family{"softmax", 2, softmax},
    Family{"hardmax", 0.3, hardmax},
    Family{"layer-norm", 1.5, layer_norm},
    Family{"batch-norm", 1.5, batch_norm},
    Family{"instance-norm", 0.8, instance_norm},
    Family{"group-norm", 0.8, group_norm},
    Family{"other-norms", 0.6, other_norms},
    Family{"reduction", 4, reduction},
    Family{"arg-reduce", 1, arg_reduce},
    Family{"cumulative", 0.8, cumulative},
    Family{"recurrent", 1, recurrent},
};

}  // namespace

std::span<const Family> norm_families() {
  return norm_table;
}

}  // namespace quern::tools
