// SPDX-License-Identifier: Apache-2.0
// Branches, loops and scans whose bodies use values from outside, and sequences.
#include <algorithm>
#include <array>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

constexpr int most_depth = 2;

// A value of this type and shape at the end of a body: something that is there, made small.
DrawnValue body_result(Builder& b, DType type, const Extents& dims) {
  const DrawnValue x = b.take_like(type, dims);
  if (!is_float(type)) return b.add("Identity", {x}, {}, {type, dims, x.most, false});
  return b.add(b.rng.chance(0.7) ? "Tanh" : "Sigmoid", {x}, {}, {type, dims, 1});
}

// A body output that the body did not compute: one of its inputs, perhaps in place of another one,
// or a value from outside. Others may still read such values in place.
std::optional<DrawnValue> passed_on(Builder& b, const DrawnValue& like) {
  return b.find([&](const DrawnValue& v) {
    return v.dtype == like.dtype && v.dims == like.dims && v.most <= std::max(like.most, 2.0) &&
           !v.wild && !v.name.empty();
  });
}
// The next value of something that a loop carries, within the size that it had.
DrawnValue next_value(Builder& b, const DrawnValue& carried) {
  if (b.rng.chance(0.3))
    if (const auto v = passed_on(b, carried)) return *v;
  return body_result(b, carried.dtype, carried.dims);
}

DType body_type(Builder& b) {
  if (b.rng.chance(0.05)) return DType::string;
  return b.rng.chance(0.85) ? b.main_type() : DType::i64;
}

// What is known of all values, as far as results of bodies may be made of them.
void note_bodies(const Builder& b, DrawnValue& all) {
  for (const DrawnValue& v : b.values()) {
    all.grain = std::max(all.grain, v.grain);
    all.open_rank = all.open_rank || v.open_rank;
  }
}

bool branch(Builder& b) {
  if (b.depth() >= most_depth) return false;
  const DrawnValue condition = b.rng.chance(0.3) ? b.scalar(DType::boolean, b.rng.below(2))
                                                 : b.take_like(DType::boolean, {});
  const std::int64_t outputs = b.rng.between(1, 2);
  std::vector<Effect> effects;
  std::vector<onnx::TypeProto> types;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const DrawnValue like = b.take({.types = {body_type(b)}, .most_rank = 4});
    effects.push_back({like.dtype, like.dims, 2});
    types.push_back(b.declared(like.dtype, like.dims, Fixed::some));
  }
  std::vector<onnx::GraphProto> bodies;
  for (int i = 0; i < 2; ++i) {
    b.begin_body();
    b.grow(static_cast<int>(b.rng.between(0, 3)));
    std::vector<std::string_view> names;
    for (const Effect& e : effects) {
      // A branch may hand out what it did not make.
      const bool outer = b.rng.chance(0.15);
      const auto x = outer ? b.find([&](const DrawnValue& v) {
        return v.dtype == e.dtype && v.dims == e.dims && v.most <= 4 && !v.wild && v.depth > 0;
      })
                           : std::nullopt;
      names.push_back(x ? x->name : body_result(b, e.dtype, e.dims).name);
    }
    if (names.size() == 2 && names[0] == names[1])
      names[1] = body_result(b, effects[1].dtype, effects[1].dims).name;
    bodies.push_back(b.end_body(names, types));
  }
  DrawnValue all = condition;
  note_bodies(b, all);
  b.add_many("If", {all},
             {onnx::graph_attribute("then_branch", std::move(bodies[0])),
              onnx::graph_attribute("else_branch", std::move(bodies[1]))},
             effects);
  return true;
}

// The operand with the number of trips: a constant, or an input of the model.
DrawnValue trip_count(Builder& b, std::int64_t trips) {
  if (b.rng.chance(0.7)) return b.scalar(DType::i64, static_cast<double>(trips));
  return b.input_of(DType::i64, {}, [&](std::size_t, const Shape&) {
    return Tensor::scalar<std::int64_t>(DType::i64, trips);
  });
}

bool loop(Builder& b) {
  if (b.depth() >= most_depth) return false;
  const std::int64_t trips = b.rng.between(0, 4);
  const std::int64_t carried = b.rng.between(1, 2);
  const std::int64_t scanned = trips > 0 ? b.rng.below(2) : 0;
  const bool stops = b.rng.chance(0.25);  // by its condition, one trip early
  Values in = {trip_count(b, trips),
               stops || b.rng.chance(0.3) ? b.scalar(DType::boolean, 1) : Builder::none()};
  Values starts;
  for (std::int64_t i = 0; i < carried; ++i) {
    starts.push_back(b.take({.types = {body_type(b)}, .most_rank = 3, .known_rank = true}));
    in.push_back(starts.back());
  }
  b.begin_body();
  const DrawnValue number = b.local(DType::i64, {}, {.most = 9});
  const DrawnValue alive = b.local(DType::boolean, {}, {});
  b.body_input(number);
  b.body_input(alive);
  Values locals;
  double largest = 2;
  for (const DrawnValue& s : starts) largest = std::max(largest, s.most);
  for (const DrawnValue& s : starts) {
    locals.push_back(b.local(s.dtype, s.dims, {.most = largest}));
    b.body_input(locals.back());
  }
  b.grow(static_cast<int>(b.rng.between(1, 4)));
  const DrawnValue goes_on =
      stops ? b.add("Less", {number, b.scalar(DType::i64, static_cast<double>(trips - 2))}, {},
                    {DType::boolean, {}, 1, false})
            : b.add("Identity", {alive}, {}, {DType::boolean, {}, 1, false});
  std::vector<std::string_view> names = {goes_on.name};
  std::vector<onnx::TypeProto> types = {b.declared(DType::boolean, {}, Fixed::all)};
  std::vector<Effect> effects;
  const bool swaps = locals.size() == 2 && locals[0].dtype == locals[1].dtype &&
                     locals[0].dims == locals[1].dims && b.rng.chance(0.4);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const DrawnValue& s = starts[i];
    names.push_back(swaps ? locals[1 - i].name : next_value(b, locals[i]).name);
    types.push_back(b.declared(s.dtype, s.dims, Fixed::some));
    effects.push_back({s.dtype, s.dims, largest});
  }
  for (std::int64_t i = 0; i < scanned; ++i) {
    const DrawnValue each = b.take({.types = {b.main_type()}, .most_rank = 3});
    const DrawnValue y = b.rng.chance(0.25) && each.most <= 2 && !each.name.empty()
                             ? each
                             : body_result(b, each.dtype, each.dims);
    names.push_back(y.name);
    types.push_back(b.declared(y.dtype, y.dims, Fixed::some));
    Extents dims = y.dims;
    // The condition of the last trip is known beforehand: trip i goes on while i < trips - 2.
    dims.insert(dims.begin(), fixed(stops ? std::clamp<std::int64_t>(trips - 1, 1, trips) : trips));
    effects.push_back({y.dtype, dims, 2});
  }
  note_bodies(b, in[0]);
  b.add_many("Loop", in, {onnx::graph_attribute("body", b.end_body(names, types))}, effects);
  return true;
}

bool scan(Builder& b) {
  if (b.depth() >= most_depth) return false;
  const DrawnValue sequence = b.take({.types = {b.main_type()},
                                      .least_rank = 1,
                                      .most_rank = 3,
                                      .nonempty = true,
                                      .known_rank = true});
  const DrawnValue start = b.take({.types = {b.main_type()}, .most_rank = 2, .known_rank = true});
  b.begin_body();
  const DrawnValue state = b.local(start.dtype, start.dims, {.most = std::max(start.most, 2.0)});
  const DrawnValue step = b.local(sequence.dtype, {sequence.dims.begin() + 1, sequence.dims.end()},
                                  {.most = sequence.most});
  b.body_input(state);
  b.body_input(step);
  b.grow(static_cast<int>(b.rng.between(1, 3)));
  const DrawnValue next = next_value(b, state);
  const DrawnValue out = b.rng.chance(0.2) ? step : body_result(b, step.dtype, step.dims);
  const std::vector<onnx::TypeProto> types = {b.declared(next.dtype, next.dims, Fixed::some),
                                              b.declared(out.dtype, out.dims, Fixed::some)};
  Attributes a = {onnx::graph_attribute("body", b.end_body({next.name, out.name}, types)),
                  Builder::integer("num_scan_inputs", 1)};
  if (b.rng.chance(0.3)) a.push_back(Builder::integers("scan_input_directions", {1}));
  if (b.rng.chance(0.3)) a.push_back(Builder::integers("scan_output_directions", {1}));
  DrawnValue all = start;
  note_bodies(b, all);
  b.add_many("Scan", {all, sequence}, a,
             {{start.dtype, start.dims, std::max(start.most, 2.0)},
              {sequence.dtype, sequence.dims, std::max(sequence.most, 2.0)}});
  return true;
}

// Tensors into a sequence, changes to it, and tensors out of it.
bool sequence(Builder& b) {
  const DType type = b.main_type();
  const DrawnValue first = b.take({.types = {type}, .least_rank = 1, .most_rank = 3});
  Values held = {first};
  std::vector<std::string_view> names = {first.name};
  for (std::int64_t n = b.rng.between(0, 2); n > 0; --n) {
    held.push_back(b.take_like(type, first.dims));
    names.push_back(held.back().name);
  }
  std::string_view s = b.add_structured("SequenceConstruct", names, {});
  const auto place = [&](std::int64_t n) {
    const std::int64_t at = b.rng.below(n);
    return std::pair(at,
                     b.scalar(DType::i64, static_cast<double>(b.rng.chance(0.3) ? at - n : at)));
  };
  for (std::int64_t n = b.rng.between(0, 2); n > 0; --n) {
    const auto size = static_cast<std::int64_t>(held.size());
    if (b.rng.chance(0.5) || size < 2) {
      const DrawnValue v = b.take_like(type, first.dims);
      if (b.rng.chance(0.5)) {
        const auto [at, index] = place(size);
        s = b.add_structured("SequenceInsert", {s, v.name, index.name}, {});
        held.insert(held.begin() + at, v);
      } else {
        s = b.add_structured("SequenceInsert", {s, v.name}, {});
        held.push_back(v);
      }
    } else {
      const auto [at, index] = place(size);
      s = b.add_structured("SequenceErase", {s, index.name}, {});
      held.erase(held.begin() + at);
    }
  }
  DrawnValue whole{.name = s, .dtype = type, .exact = true, .open_rank = true};
  for (const DrawnValue& v : held) whole.grain = std::max(whole.grain, v.grain);
  Values from = {whole};
  from.insert(from.end(), held.begin(), held.end());
  const auto [at, index] = place(static_cast<std::int64_t>(held.size()));
  const DrawnValue& chosen = held[static_cast<std::size_t>(at)];
  b.add("SequenceAt", {whole, index}, {}, {type, first.dims, chosen.most, true});
  if (b.rng.chance(0.5)) {
    Extents dims = first.dims;
    double most = 0;
    dims[0] =
        map_extent(dims[0], [&](auto n) { return n * static_cast<std::int64_t>(held.size()); });
    for (const DrawnValue& v : held) most = std::max(most, v.most);
    if (b.fits(dims))
      b.add("ConcatFromSequence", {whole}, {Builder::integer("axis", 0)}, {type, dims, most, true});
  }
  if (b.rng.chance(0.3)) b.add("SequenceLength", {whole}, {}, {DType::i64, {}, 9, false});
  if (b.rng.chance(0.3)) b.output_structured(s, onnx::TypeProto::Kind::sequence, type);
  return true;
}

bool split_to_sequence(Builder& b) {
  const DrawnValue x =
      b.take({.types = {b.main_type()}, .least_rank = 1, .most_rank = 3, .nonempty = true});
  if (!is_fixed(x.dims[0])) return false;
  const std::int64_t n = x.dims[0][0];
  const std::int64_t size = b.rng.between(1, n);
  const std::string_view s = b.add_structured(
      "SplitToSequence", {x.name, b.scalar(DType::i64, static_cast<double>(size)).name},
      {Builder::integer("axis", 0)});
  Extents dims = x.dims;
  dims[0] = fixed(size);
  b.add(
      "SequenceAt",
      {{.name = s, .dtype = x.dtype, .grain = x.grain, .open_rank = true}, b.scalar(DType::i64, 0)},
      {}, {x.dtype, dims, x.most, true});
  return true;
}

constexpr std::array control_table = {
    Family{"if", 1.2, branch},
    Family{"loop", 1.2, loop},
    Family{"scan", 0.8, scan},
    Family{"sequence", 1, sequence},
    Family{"split-to-sequence", 0.5, split_to_sequence},
};

}  // namespace

std::span<const Family> control_families() {
  return control_table;
}

}  // namespace quern::tools
