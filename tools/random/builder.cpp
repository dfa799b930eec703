// SPDX-License-Identifier: Apache-2.0
#include "tools/random/builder.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/tensor.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

// The size of a tensor in some models: only larger work is shared among threads.
constexpr std::int64_t many_elements = 40'000;
constexpr double most_magnitude = 64;

Grain grain_of(DType dtype) {
  return dtype == DType::f16 ? Grain::f16 : dtype == DType::bf16 ? Grain::bf16 : Grain::f32;
}

double largest(DType dtype) {
  return dtype == DType::f16 ? 2e3 : 1e6;
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool suits(const DrawnValue& v, const Want& w) {
  if (!w.types.empty() && !contains(w.types, v.dtype)) return false;
  if (v.rank() < w.least_rank || v.rank() > w.most_rank) return false;
  if (w.exact && !v.exact) return false;
  if (w.tame && (v.wild || v.most > most_magnitude)) return false;
  if (w.positive && !v.positive) return false;
  if (w.known_rank && v.open_rank) return false;
  if (w.nonempty && least(product(v.dims)) == 0) return false;
  return true;
}

}  // namespace

// ---- extents

bool all_fixed(const Extents& dims) {
  return std::all_of(dims.begin(), dims.end(), is_fixed);
}
Extents fixed_dims(std::span<const std::int64_t> dims) {
  Extents e;
  for (const std::int64_t d : dims) e.push_back(fixed(d));
  return e;
}
Extent product(std::span<const Extent> dims) {
  Extent n = fixed(1);
  for (const Extent& d : dims)
    for (std::size_t k = 0; k < most_runs; ++k) n[k] *= d[k];
  return n;
}
std::int64_t least(const Extent& e) {
  return *std::min_element(e.begin(), e.end());
}
std::int64_t most(const Extent& e) {
  return *std::max_element(e.begin(), e.end());
}

// ---- set-up

Builder::Builder(const RandomOptions& options) : rng(options.seed), options_(options) {
  opset_ =
      std::min(rng.pick(std::vector<std::int64_t>{18, 20, 21, 23, 24, 26, 28}), options.most_opset);
  main_ = rng.pick(std::vector<DType>{DType::f32, DType::f32, DType::f32, DType::f32, DType::f32,
                                      DType::f32, DType::f32, DType::f32, DType::f16, DType::f64,
                                      DType::bf16, DType::f32});
  if (rng.chance(0.12)) most_elements_ = many_elements;
  if (rng.chance(0.08)) empty_share_ = 0.12;
  runs_ = rng.chance(0.5) ? 1 : static_cast<std::size_t>(rng.between(2, most_runs));
  for (int i = 0; runs_ > 1 && i < 2; ++i) {
    Extent e = {rng.between(1, 4), rng.between(1, 9), rng.between(1, 6)};
    if (rng.chance(0.05)) e[1] = 0;
    for (std::size_t k = runs_; k < most_runs; ++k) e[k] = e[0];
    if (!is_fixed(e)) symbols_.push_back(e);
  }
  out_.ops = options.ops;
  out_.model.ir_version = 10;
  out_.model.producer_name = "quern verify --random";
  out_.model.opsets.push_back({"", opset_});
  out_.model.graph.emplace_back().name = keep(cat("random_", options.seed));
  out_.runs.resize(runs_);
}

std::string_view Builder::fresh(std::string_view prefix) {
  return keep(cat(prefix, names_++));
}

// ---- attributes

onnx::AttributeProto Builder::integer(std::string_view name, std::int64_t v) {
  return onnx::integer_attribute(name, v);
}
onnx::AttributeProto Builder::integers(std::string_view name, const std::vector<std::int64_t>& v) {
  return onnx::integers_attribute(name, v);
}
onnx::AttributeProto Builder::number(std::string_view name, double v) {
  return onnx::number_attribute(name, static_cast<float>(v));
}
onnx::AttributeProto Builder::text(std::string_view name, std::string_view v) {
  return onnx::text_attribute(name, v);
}

// ---- values that no node makes

Shape Builder::shape_of(const Extents& dims, std::size_t run) const {
  Shape s;
  for (const Extent& e : dims) s.push_back(e[run]);
  return s;
}

onnx::TypeProto Builder::declared(DType dtype, const Extents& dims, Fixed fixed) {
  onnx::TypeProto t;
  t.kind = onnx::TypeProto::Kind::tensor;
  t.elem_type = onnx::onnx_type_of(dtype);
  t.has_shape = true;
  for (const Extent& e : dims) {
    onnx::Dimension& d = t.dims.emplace_back();
    const auto symbol = std::find(symbols_.begin(), symbols_.end(), e);
    if (is_fixed(e) && !(fixed == Fixed::some && rng.chance(0.5))) {
      d.has_value = true;
      d.value = e[0];
    } else if (symbol != symbols_.end()) {
      d.param = symbol == symbols_.begin() ? "N" : "S";
    }
  }
  return t;
}

DrawnValue Builder::input_of(DType dtype, const Extents& dims,
                             const std::function<Tensor(std::size_t, const Shape&)>& make) {
  DrawnValue v{.name = fresh("x"), .dtype = dtype, .dims = dims};
  out_.graph().inputs.push_back(
      {v.name, declared(dtype, dims, rng.chance(0.15) ? Fixed::some : Fixed::all)});
  for (std::size_t k = 0; k < runs_; ++k)
    out_.runs[k].push_back({std::string(v.name), make(k, shape_of(dims, k))});
  return v;
}

void Builder::note(const DrawnValue& v) {
  values_.push_back(v);
  if (scopes_.empty()) top_.push_back(v);
}

namespace {
DrawnValue with_facts(DrawnValue v, Numbers numbers) {
  v.wild = numbers == Numbers::wild;
  v.grain = grain_of(v.dtype);
  v.positive = numbers == Numbers::positive;
  v.most = v.wild ? 4 : is_float(v.dtype) ? 1.75 : 9;
  return v;
}
}  // namespace

DrawnValue Builder::input(DType dtype, const Extents& dims, Numbers numbers) {
  DrawnValue v = with_facts(input_of(dtype, dims,
                                     [&](std::size_t, const Shape& shape) {
                                       return random_tensor(rng, dtype, shape, numbers);
                                     }),
                            numbers);
  note(v);
  return v;
}

DrawnValue Builder::constant_of(Tensor tensor) {
  const Tensor& t = out_.tensors->emplace_back(std::move(tensor));
  DrawnValue v{.name = fresh("c"), .dtype = t.dtype(), .dims = fixed_dims(t.shape().dims())};
  if (rng.chance(0.15)) {
    onnx::NodeProto& node = graph().nodes.emplace_back();
    node.op_type = "Constant";
    node.outputs.push_back(v.name);
    node.attributes.push_back(
        onnx::tensor_attribute("value", onnx::tensor_message(t, "", *out_.pool)));
  } else {
    graph().initializers.push_back(onnx::tensor_message(t, v.name, *out_.pool));
  }
  return v;
}

DrawnValue Builder::constant(DType dtype, const Extents& dims, Numbers numbers) {
  DrawnValue v =
      with_facts(constant_of(random_tensor(rng, dtype, shape_of(dims, 0), numbers)), numbers);
  if (rng.chance(0.2)) note(v);
  return v;
}

DrawnValue Builder::root(DType dtype, const Extents& dims, Numbers numbers) {
  if (all_fixed(dims) && rng.chance(0.5)) return constant(dtype, dims, numbers);
  return input(dtype, dims, numbers);
}

DrawnValue Builder::scalar(DType dtype, double x) {
  DrawnValue v = constant_of(tensor_of(dtype, {}, [&](std::int64_t) { return x; }));
  v.most = std::abs(x);
  v.positive = x >= 0.01;
  return v;
}

DrawnValue Builder::steady(const DrawnValue& v) {
  out_.steady.push_back(v.name);
  return v;
}

namespace {
// Through no double: the largest numbers mean "to the end" in a Slice.
Tensor whole_numbers(const std::vector<std::int64_t>& v, DType dtype) {
  const Shape shape = {static_cast<std::int64_t>(v.size())};
  if (dtype == DType::i64) {
    Tensor t = Tensor::zeros({dtype, shape}).value();
    std::copy(v.begin(), v.end(), reinterpret_cast<std::int64_t*>(t.mutable_data()));
    return t;
  }
  return tensor_of(dtype, shape, [&](std::int64_t i) {
    return static_cast<double>(v[static_cast<std::size_t>(i)]);
  });
}
}  // namespace

DrawnValue Builder::numbers_constant(const std::vector<std::int64_t>& v, DType dtype) {
  return constant_of(whole_numbers(v, dtype));
}

DrawnValue Builder::numbers_operand(const std::vector<std::int64_t>& v, double input_chance) {
  if (!rng.chance(input_chance)) return numbers_constant(v);
  return input_of(DType::i64, {fixed(static_cast<std::int64_t>(v.size()))},
                  [&](std::size_t, const Shape&) { return whole_numbers(v, DType::i64); });
}

DrawnValue Builder::indices(DType dtype, const Extents& dims, const Extent& from,
                            const Extent& to) {
  const auto make = [&](std::size_t run, const Shape& shape) {
    return tensor_of(dtype, shape, [&](std::int64_t) {
      return static_cast<double>(from[run] +
                                 rng.below(std::max<std::int64_t>(to[run] - from[run], 1)));
    });
  };
  const bool fixed_all = all_fixed(dims) && is_fixed(from) && is_fixed(to);
  if (fixed_all && rng.chance(0.6)) return constant_of(make(0, shape_of(dims, 0)));
  return input_of(dtype, dims, make);
}

// The sizes that no run shares come from shapes of values that have them.
DrawnValue Builder::shape_operand(const Extents& dims, Missing missing) {
  std::vector<std::int64_t> numbers;
  std::size_t open = 0;
  std::size_t zeros = 0;
  for (const Extent& e : dims) {
    open += !is_fixed(e);
    zeros += least(e) == 0;
    numbers.push_back(is_fixed(e) ? e[0] : -1);
  }
  const bool inferable = open == 1 && zeros == 0 && missing == Missing::allowed && rng.chance(0.5);
  if (open == 0 || inferable) return numbers_operand(numbers);
  Values parts;
  for (const Extent& e : dims) {
    std::optional<DrawnValue> source;
    if (!is_fixed(e)) source = find([&](const DrawnValue& v) { return contains(v.dims, e); });
    if (is_fixed(e)) {
      parts.push_back(numbers_constant({e[0]}));
    } else if (source) {
      const auto at = std::find(source->dims.begin(), source->dims.end(), e) - source->dims.begin();
      const auto rank = static_cast<std::int64_t>(source->rank());
      const DrawnValue shape = add("Shape", {*source}, {}, {DType::i64, {fixed(rank)}});
      parts.push_back(add("Gather", {shape, numbers_constant({at})}, {}, {DType::i64, {fixed(1)}}));
    } else {
      parts.push_back(input_of(DType::i64, {fixed(1)}, [&](std::size_t run, const Shape& s) {
        return tensor_of(DType::i64, s, [&](std::int64_t) { return static_cast<double>(e[run]); });
      }));
    }
  }
  if (parts.size() == 1) return parts[0];
  return add("Concat", parts, {integer("axis", 0)},
             {DType::i64, {fixed(static_cast<std::int64_t>(dims.size()))}});
}

// ---- values that there are

std::optional<DrawnValue> Builder::find(const std::function<bool(const DrawnValue&)>& suits) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (suits(values_[i])) found.push_back(i);
  if (found.empty()) return std::nullopt;
  // The newest of two, so that chains get long.
  const std::size_t a = rng.pick(found);
  const std::size_t b = rng.pick(found);
  return values_[std::max(a, b)];
}

Extent Builder::random_extent() {
  if (!symbols_.empty() && rng.chance(0.25)) return rng.pick(symbols_);
  if (rng.chance(empty_share_)) return fixed(0);
  if (most_elements_ == many_elements && rng.chance(0.3))
    return fixed(rng.pick(std::vector<std::int64_t>{32, 33, 48, 64, 65, 100}));
  return fixed(rng.pick(std::vector<std::int64_t>{1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}));
}

Extents Builder::random_dims(std::size_t rank) {
  while (true) {
    Extents dims;
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(random_extent());
    if (fits(dims)) return dims;
  }
}

bool Builder::fits(const Extents& dims) const {
  return tools::most(product(dims)) <= most_elements_;
}

DrawnValue Builder::take(const Want& want) {
  if (rng.chance(0.88))
    if (auto v = find([&](const DrawnValue& x) { return suits(x, want); })) return *v;
  const auto rank = static_cast<std::size_t>(rng.between(
      static_cast<std::int64_t>(want.least_rank),
      static_cast<std::int64_t>(std::min<std::size_t>(want.most_rank, want.least_rank + 3))));
  Extents dims = random_dims(rank);
  if (want.nonempty)
    for (Extent& e : dims)
      if (least(e) == 0) e = fixed(2);
  const DType dtype = want.types.empty() ? main_ : rng.pick(want.types);
  const Numbers numbers = want.positive                   ? Numbers::positive
                          : !want.tame && rng.chance(0.1) ? Numbers::wild
                                                          : Numbers::around_zero;
  return root(dtype, dims, numbers);
}

DrawnValue Builder::take_like(DType dtype, const Extents& dims, const Want& want) {
  Want w = want;
  w.types = {dtype};
  w.most_rank = 8;
  w.least_rank = 0;
  if (rng.chance(0.85))
    if (auto v = find([&](const DrawnValue& x) { return x.dims == dims && suits(x, w); }))
      return *v;
  return root(dtype, dims, want.positive ? Numbers::positive : Numbers::around_zero);
}

DrawnValue Builder::take_broadcast(DType dtype, const Extents& dims, const Want& want) {
  Extents d = dims;
  if (rng.chance(0.45)) {
    for (Extent& e : d)
      if (rng.chance(0.4)) e = fixed(1);
    while (!d.empty() && rng.chance(0.3)) d.erase(d.begin());
  }
  return take_like(dtype, d, want);
}

// ---- nodes

Values Builder::add_many(std::string_view op, const Values& in, const Attributes& attributes,
                         const std::vector<Effect>& effects, std::string_view domain) {
  use_domain(domain);
  onnx::NodeProto node;
  node.op_type = op;
  node.domain = domain;
  node.attributes = attributes;
  Made made;
  for (const DrawnValue& v : in) {
    node.inputs.push_back(v.name);
    made.in.push_back(v.name);
    used_.insert(v.name);
  }
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  Values out;
  for (const Effect& e : effects) {
    DrawnValue v = typed(fresh("v"), e, in);
    node.outputs.push_back(v.name);
    made.jumps = e.jumps;
    made_[v.name] = made;
    if (!v.exact && is_float(v.dtype)) out_.rounded[v.name] = v.dtype;
    note(v);
    out.push_back(v);
  }
  graph().nodes.push_back(std::move(node));
  ++nodes_;
  return out;
}

DrawnValue Builder::add(std::string_view op, const Values& in, const Attributes& attributes,
                        const Effect& effect) {
  return add_many(op, in, attributes, {effect}).front();
}

std::string_view Builder::add_unsized(std::string_view op, const std::vector<std::string_view>& in,
                                      const Attributes& attributes) {
  onnx::NodeProto& node = graph().nodes.emplace_back();
  node.op_type = op;
  node.inputs = in;
  node.attributes = attributes;
  const std::string_view name = fresh("s");
  node.outputs.push_back(name);
  Made made{.in = in};
  for (const std::string_view n : in) used_.insert(n);
  made_[name] = made;
  ++nodes_;
  return name;
}

void Builder::add_some(std::string_view op, const Values& in, const Attributes& attributes,
                       const std::vector<Effect>& effects, std::size_t first,
                       std::string_view domain) {
  const Values out = add_many(op, in, attributes, effects, domain);
  const auto kept = rng.below(static_cast<std::int64_t>(out.size()));
  for (std::size_t i = first; i < out.size(); ++i) {
    if (static_cast<std::int64_t>(i) == kept || rng.chance(0.7)) continue;
    graph().nodes.back().outputs[i] = "";
    const auto is_it = [&](const DrawnValue& v) { return v.name == out[i].name; };
    std::erase_if(values_, is_it);
    std::erase_if(top_, is_it);
    out_.rounded.erase(out[i].name);
  }
}

DrawnValue Builder::add_of(std::string_view domain, std::string_view op, const Values& in,
                           const Attributes& attributes, const Effect& effect) {
  return add_many(op, in, attributes, {effect}, domain).front();
}

DrawnValue Builder::typed(std::string_view name, const Effect& e, const Values& from) {
  DrawnValue v{.name = name, .dtype = e.dtype, .dims = e.dims, .most = e.most};
  v.positive = e.positive;
  for (const DrawnValue& x : from) {
    v.depth = std::max(v.depth, x.depth + 1);
    v.exact = v.exact && x.exact;
    v.wild = v.wild || x.wild;
    v.open_rank = v.open_rank || x.open_rank;
    v.grain = std::max(v.grain, x.grain);
  }
  v.grain = std::max(v.grain, grain_of(e.dtype));
  v.exact = v.exact && !(e.rounds && is_float(e.dtype));
  v.wild = v.wild || e.most > largest(e.dtype);
  return v;
}

std::optional<std::int64_t> Builder::opset_of(std::string_view domain) const {
  for (const onnx::OperatorSetId& set : out_.model.opsets)
    if (set.domain == domain) return set.version;
  return std::nullopt;
}

void Builder::use_domain(std::string_view domain, std::int64_t version) {
  if (!opset_of(domain)) out_.model.opsets.push_back({domain, version});
}

// ---- bodies

void Builder::begin_body() {
  scopes_.push_back({{}, values_.size()});
  scopes_.back().graph.name = fresh("body");
}

void Builder::body_input(const DrawnValue& v) {
  scopes_.back().graph.inputs.push_back({v.name, vague(declared(v.dtype, v.dims, Fixed::all))});
  note(v);
}

DrawnValue Builder::local(DType dtype, const Extents& dims, const DrawnValue& facts) {
  DrawnValue v = facts;
  v.name = fresh("b");
  v.dtype = dtype;
  v.dims = dims;
  v.exact = !is_float(dtype);
  v.grain = Grain::f32;
  for (const DrawnValue& x : values_) v.grain = std::max(v.grain, x.grain);
  return v;
}

onnx::GraphProto Builder::end_body(const std::vector<std::string_view>& outputs,
                                   const std::vector<onnx::TypeProto>& types) {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  values_.resize(scope.values);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    scope.graph.outputs.push_back({outputs[i], vague(types[i])});
    used_.insert(outputs[i]);
  }
  return std::move(scope.graph);
}

}  // namespace quern::tools
