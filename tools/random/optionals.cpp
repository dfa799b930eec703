// SPDX-License-Identifier: Apache-2.0
// Optionals, and what maps over sequences.
#include <algorithm>
#include <array>

#include "frontends/onnx-parser/tensor.h"
#include "tools/random/families.h"

namespace quern::tools {
namespace {

using Kind = onnx::TypeProto::Kind;

DrawnValue named(std::string_view name, const DrawnValue& like) {
  DrawnValue v = like;
  v.name = name;
  return v;
}

// A tensor in an optional, and out of it; or asked whether it is there.
bool wrapped(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type(), DType::i64}});
  DrawnValue o = named(b.add_structured("Optional", {x.name}, {}), x);
  if (b.rng.chance(0.3)) o = named(b.add_structured("Identity", {o.name}, {}), x);
  if (b.rng.chance(0.5)) b.add("OptionalHasElement", {o}, {}, {DType::boolean, {}, 1, false});
  b.add("OptionalGetElement", {o}, {}, {x.dtype, x.dims, x.most, false, false, x.positive});
  if (b.rng.chance(0.4)) b.output_structured(o.name, Kind::optional, x.dtype);
  return true;
}

bool empty(Builder& b) {
  onnx::TypeProto tensor;
  tensor.kind = Kind::tensor;
  tensor.elem_type = onnx::onnx_type_of(b.main_type());
  const std::string_view o =
      b.add_structured("Optional", {}, {onnx::type_attribute("type", std::move(tensor))});
  b.add("OptionalHasElement", {{.name = o, .dtype = b.main_type()}}, {},
        {DType::boolean, {}, 1, false});
  if (b.rng.chance(0.5)) b.output_structured(o, Kind::optional, b.main_type());
  return true;
}

// An input that some runs give and others do not: used where it is, or something else in its place.
bool maybe_given(Builder& b) {
  if (b.depth() > 0) return false;
  const DType type = b.main_type();
  const Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(0, 3)));
  const DrawnValue otherwise = b.take_like(type, dims);
  const auto in = b.optional_input(type, dims);
  const DrawnValue o{.name = in.name, .dtype = type, .dims = dims};
  const DrawnValue given = b.add("OptionalHasElement", {o}, {}, {DType::boolean, {}, 1, false});
  std::vector<onnx::GraphProto> bodies;
  for (const bool is_there : {true, false}) {
    b.begin_body();
    const Effect effect{type, dims, 2};
    const DrawnValue x =
        is_there ? b.add("OptionalGetElement", {o}, {}, {type, dims, 2, false}) : otherwise;
    const DrawnValue y = b.add("Tanh", {x}, {}, effect);
    bodies.push_back(b.end_body({y.name}, {b.declared(type, dims, Fixed::some)}));
  }
  DrawnValue all = given;
  all.grain = otherwise.grain;
  b.add_many("If", {all},
             {onnx::graph_attribute("then_branch", std::move(bodies[0])),
              onnx::graph_attribute("else_branch", std::move(bodies[1]))},
             {{type, dims, 2}});
  return true;
}

// A sequence that begins empty.
bool grown(Builder& b) {
  const DType type = b.main_type();
  std::string_view s =
      b.add_structured("SequenceEmpty", {}, {Builder::integer("dtype", onnx::onnx_type_of(type))});
  DrawnValue whole{.dtype = type, .open_rank = true};
  DrawnValue last;
  for (std::int64_t n = b.rng.between(1, 3); n > 0; --n) {
    last = b.take({.types = {type}, .most_rank = 3});
    whole.grain = std::max(whole.grain, last.grain);
    s = b.add_structured("SequenceInsert", {s, last.name}, {});
  }
  whole.name = s;
  b.add("SequenceAt", {whole, b.scalar(DType::i64, -1)}, {}, {type, last.dims, last.most, true});
  if (b.rng.chance(0.4)) b.output_structured(s, Kind::sequence, type);
  return true;
}

// A loop that carries a sequence and puts something into it each time; what went in may be read, or
// all of it be joined.
bool collected(Builder& b) {
  if (b.depth() > 0) return false;
  const DType type = b.main_type();
  const std::int64_t trips = b.rng.between(1, 4);
  const DrawnValue first = b.take({.types = {type}, .least_rank = 1, .most_rank = 3});
  const std::string_view start = b.add_structured("SequenceConstruct", {first.name}, {});
  DrawnValue carried = b.take_like(type, first.dims);
  const double most = std::max({carried.most, first.most, 2.0});
  const DrawnValue count = b.scalar(DType::i64, static_cast<double>(trips));
  b.begin_body();
  const DrawnValue number = b.local(DType::i64, {}, {.most = 9});
  const DrawnValue alive = b.local(DType::boolean, {}, {});
  b.body_input(number);
  b.body_input(alive);
  const std::string_view held = b.body_sequence(type);
  const DrawnValue x = b.local(type, first.dims, {.most = most});
  b.body_input(x);
  b.grow(static_cast<int>(b.rng.between(0, 2)));
  const DrawnValue y = b.rng.chance(0.3) ? x : b.add("Tanh", {x}, {}, {type, x.dims, 1});
  const bool in_front = b.rng.chance(0.3);
  std::vector<std::string_view> in = {held, b.rng.chance(0.5) ? x.name : y.name};
  if (in_front) in.push_back(b.scalar(DType::i64, 0).name);
  const std::string_view more = b.add_structured("SequenceInsert", in, {});
  const DrawnValue on = b.add("Identity", {alive}, {}, {DType::boolean, {}, 1, false});
  for (const DrawnValue& v : b.values()) carried.grain = std::max(carried.grain, v.grain);
  carried.open_rank = true;  // beside a sequence, whose elements may have any
  const std::vector<onnx::TypeProto> types = {b.declared(DType::boolean, {}, Fixed::all),
                                              Builder::structured_type(Kind::sequence, type),
                                              b.declared(type, first.dims, Fixed::some)};
  const auto body = onnx::graph_attribute("body", b.end_body({on.name, more, y.name}, types));
  const auto [s, last] = b.add_loop_of_sequence({count.name, "", start, carried.name}, body);
  DrawnValue whole{.name = s, .dtype = type, .grain = carried.grain, .open_rank = true};
  b.note(b.typed(last, {type, first.dims, most}, {carried}));
  Extents dims = first.dims;
  dims[0] = map_extent(dims[0], [&](auto n) { return n * (trips + 1); });
  if (b.fits(dims) && b.rng.chance(0.7))
    b.add("ConcatFromSequence", {whole}, {Builder::integer("axis", 0)}, {type, dims, most, true});
  b.add("SequenceAt", {whole, b.scalar(DType::i64, static_cast<double>(b.rng.between(0, trips)))},
        {}, {type, first.dims, most, true});
  if (b.rng.chance(0.4)) b.output_structured(s, Kind::sequence, type);
  return true;
}

bool mapped(Builder& b) {
  if (b.depth() > 0) return false;
  const DType type = b.main_type();
  const DrawnValue first = b.take({.types = {type}, .most_rank = 3});
  Values held = {first};
  std::vector<std::string_view> names = {first.name};
  for (std::int64_t n = b.rng.between(0, 2); n > 0; --n) {
    held.push_back(b.take_like(type, first.dims));
    names.push_back(held.back().name);
  }
  const std::string_view s = b.add_structured("SequenceConstruct", names, {});
  double most = 0;
  DrawnValue whole{.name = s, .dtype = type, .open_rank = true};
  for (const DrawnValue& v : held) {
    most = std::max(most, v.most);
    whole.grain = std::max(whole.grain, v.grain);
  }
  b.begin_body();
  const DrawnValue x = b.local(type, first.dims, {.most = most});
  b.body_input(x);
  b.grow(static_cast<int>(b.rng.between(0, 3)));
  const DrawnValue y = b.add("Tanh", {b.take_like(type, first.dims)}, {}, {type, first.dims, 1});
  for (const DrawnValue& v : b.values()) whole.grain = std::max(whole.grain, v.grain);
  const std::vector<onnx::TypeProto> types = {b.declared(type, first.dims, Fixed::some)};
  const std::string_view out = b.add_structured(
      "SequenceMap", {s}, {onnx::graph_attribute("body", b.end_body({y.name}, types))});
  whole.name = out;
  b.add("SequenceAt", {whole, b.scalar(DType::i64, 0)}, {}, {type, first.dims, 1, true});
  if (b.rng.chance(0.4)) b.output_structured(out, Kind::sequence, type);
  return true;
}

constexpr std::array optionals_table = {
    Family{"optional", 0.7, wrapped},
    Family{"optional-empty", 0.3, empty},
    Family{"optional-input", 0.7, maybe_given},
    Family{"sequence-grown", 0.4, grown},
    Family{"sequence-in-a-loop", 0.7, collected},
    Family{"sequence-map", 0.6, mapped},
};

}  // namespace

std::span<const Family> optional_families() {
  return optionals_table;
}

}  // namespace quern::tools
