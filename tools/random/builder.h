// SPDX-License-Identifier: Apache-2.0
// A model under construction: values with their types and concrete shapes, and the means to find or
// make operands for the next node. Families of operators (families.h) are written with it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/random/random_model.h"
#include "tools/random/rng.h"

namespace quern::tools {

// A dimension: its size in each run. One that is not the same in all comes from a symbol.
inline constexpr std::size_t most_runs = 3;
using Extent = std::array<std::int64_t, most_runs>;
using Extents = std::vector<Extent>;

inline Extent fixed(std::int64_t n) {
  return {n, n, n};
}
inline bool is_fixed(const Extent& e) {
  return e[0] == e[1] && e[1] == e[2];
}
bool all_fixed(const Extents& dims);
Extents fixed_dims(std::span<const std::int64_t> dims);
template <class F>
Extent map_extent(const Extent& e, F f) {
  return {f(e[0]), f(e[1]), f(e[2])};
}
Extent product(std::span<const Extent> dims);
std::int64_t least(const Extent& e);
std::int64_t most(const Extent& e);

// Which numbers a tensor of floats starts with.
enum class Numbers : std::uint8_t {
  around_zero,  // [-1, 1]
  positive,     // [0.25, 1.75]
  wild,         // NaN, infinities, zeros, denormals and the largest numbers among others
};

struct DrawnValue {
  std::string_view name;
  DType dtype = DType::f32;
  Extents dims;
  double most = 1;           // about the largest magnitude
  bool exact = true;         // the same bits however the work is ordered
  bool wild = false;         // may hold what Numbers::wild has
  bool positive = false;     // all elements are at least 0.01
  int depth = 0;             // nodes behind it
  Grain grain = Grain::f32;  // the coarsest rounding behind it
  bool open_rank = false;    // an importer may not know it: a sequence is behind it

  std::size_t rank() const { return dims.size(); }
};

// The effect of a node on its operands.
struct Effect {
  DType dtype = DType::f32;
  Extents dims;
  double most = 1;
  bool rounds = true;  // floats that come out depend on the order of work
  bool jumps = false;  // discontinuous: operands must be exact
  bool positive = false;
};
// The effect of what computes a value of the same type and shape.
inline Effect same(const DrawnValue& x, double most) {
  return {x.dtype, x.dims, most};
}

// That of what only moves elements.
inline Effect moved(const DrawnValue& x, const Extents& dims) {
  return {x.dtype, dims, x.most, false, false, x.positive};
}

// Selects whether a declared type gives all dimensions that are the same in every run.
enum class Fixed : std::uint8_t { all, some };

// Selects whether a shape operand may be -1 (inferred from the rest) for one dimension.
enum class Missing : std::uint8_t { allowed, never };

struct Want {
  std::vector<DType> types;
  std::size_t least_rank = 0;
  std::size_t most_rank = 5;
  bool exact = false;
  bool tame = true;  // neither wild nor large
  bool nonempty = false;
  bool positive = false;
  bool known_rank = false;
};

using Attributes = std::vector<onnx::AttributeProto>;
using Values = std::vector<DrawnValue>;

class Builder {
 public:
  explicit Builder(const RandomOptions& options);

  Rng rng;
  std::int64_t opset() const { return opset_; }
  DType main_type() const { return main_; }  // of most floats
  std::size_t runs() const { return runs_; }
  const CustomOps* ops() const { return out_.ops.get(); }  // null: none
  // Of a domain ("" is ai.onnx); nullopt while no node is of it.
  std::optional<std::int64_t> opset_of(std::string_view domain) const;
  // From the first call for a domain on, the model uses this opset of it.
  void use_domain(std::string_view domain, std::int64_t version = 1);

  // ---- attributes
  static onnx::AttributeProto integer(std::string_view name, std::int64_t v);
  static onnx::AttributeProto integers(std::string_view name, const std::vector<std::int64_t>& v);
  onnx::AttributeProto number(std::string_view name, double v);
  static onnx::AttributeProto text(std::string_view name, std::string_view v);
  std::string_view keep(std::string s) { return out_.pool->keep(std::move(s)); }

  // ---- values that no node makes
  DrawnValue input(DType dtype, const Extents& dims, Numbers numbers = Numbers::around_zero);
  DrawnValue constant(DType dtype, const Extents& dims, Numbers numbers = Numbers::around_zero);
  // One of them; a constant only where the shape is the same in all runs.
  DrawnValue root(DType dtype, const Extents& dims, Numbers numbers = Numbers::around_zero);
  DrawnValue constant_of(Tensor tensor);
  DrawnValue scalar(DType dtype, double v);
  // i64[n]; an input now and then.
  DrawnValue numbers_operand(const std::vector<std::int64_t>& v, double input_chance = 0.1);
  DrawnValue numbers_constant(const std::vector<std::int64_t>& v, DType dtype = DType::i64);
  // i64 of the shape, in [from, to) of each run.
  DrawnValue indices(DType dtype, const Extents& dims, const Extent& from, const Extent& to);
  // An operand whose slightest change would change shapes or leave an operator's domain.
  DrawnValue steady(const DrawnValue& v);
  // Elements given run by run.
  DrawnValue input_of(DType dtype, const Extents& dims,
                      const std::function<Tensor(std::size_t run, const Shape& shape)>& make);
  // A value that no node has made is there for the nodes that follow.
  void note(const DrawnValue& v);
  // A shape as an operand: a constant, an input, or computed from shapes of other values.
  DrawnValue shape_operand(const Extents& dims, Missing missing);

  // ---- values that there are
  std::optional<DrawnValue> find(const std::function<bool(const DrawnValue&)>& suits);
  // One that suits, or a new one.
  DrawnValue take(const Want& want);
  DrawnValue take_like(DType dtype, const Extents& dims, const Want& want = {});
  // Takes a value whose dims broadcast into `dims`.
  DrawnValue take_broadcast(DType dtype, const Extents& dims, const Want& want = {});
  Extents random_dims(std::size_t rank);
  Extent random_extent();
  const Values& values() const { return values_; }

  // ---- nodes
  static DrawnValue none() { return {}; }
  DrawnValue add(std::string_view op, const Values& in, const Attributes& attributes,
                 const Effect& effect);
  Values add_many(std::string_view op, const Values& in, const Attributes& attributes,
                  const std::vector<Effect>& effects, std::string_view domain = "");
  // The same where outputs from `first` on are optional: some are left out, though not all.
  void add_some(std::string_view op, const Values& in, const Attributes& attributes,
                const std::vector<Effect>& effects, std::size_t first,
                std::string_view domain = "");
  // The operator of another domain than ai.onnx.
  DrawnValue add_of(std::string_view domain, std::string_view op, const Values& in,
                    const Attributes& attributes, const Effect& effect);
  // Sequences and optionals: the name alone.
  std::string_view add_structured(std::string_view op, const std::vector<std::string_view>& in,
                                  const Attributes& attributes);
  // A Loop that carries a sequence and a tensor: their names behind it.
  std::pair<std::string_view, std::string_view> add_loop_of_sequence(
      const std::vector<std::string_view>& in, const onnx::AttributeProto& body);
  // A tensor whose shape only its readers know.
  std::string_view add_unsized(std::string_view op, const std::vector<std::string_view>& in,
                               const Attributes& attributes);
  DrawnValue typed(std::string_view name, const Effect& effect, const Values& from);
  // Hands out a sequence or an optional. `kind`: which of them.
  void output_structured(std::string_view name, onnx::TypeProto::Kind kind, DType dtype);
  // The type of one, without a shape.
  static onnx::TypeProto structured_type(onnx::TypeProto::Kind kind, DType dtype);
  // An input that is a tensor in some runs and absent in others; presence by run.
  struct OptionalInput {
    std::string_view name;
    std::array<bool, most_runs> present;
  };
  OptionalInput optional_input(DType dtype, const Extents& dims);
  bool fits(const Extents& dims) const;
  int nodes() const { return nodes_; }
  // The share of nodes that may still be made inside of a body.
  int depth() const { return static_cast<int>(scopes_.size()); }

  // ---- bodies
  void begin_body();
  void body_input(const DrawnValue& v);
  std::string_view body_sequence(DType dtype);
  DrawnValue local(DType dtype, const Extents& dims, const DrawnValue& facts);
  onnx::GraphProto end_body(const std::vector<std::string_view>& outputs,
                            const std::vector<onnx::TypeProto>& types);
  onnx::TypeProto declared(DType dtype, const Extents& dims, Fixed fixed);
  // Any few nodes, in the scope that is open.
  void grow(int nodes);

  RandomModel finish(const std::vector<std::string>& families);

 private:
  friend class OutputChoice;
  struct Scope {
    onnx::GraphProto graph;
    std::size_t values;
  };
  struct Made {
    std::vector<std::string_view> in;
    bool jumps = false;
  };

  std::string_view fresh(std::string_view prefix);
  Shape shape_of(const Extents& dims, std::size_t run) const;
  void mark_steady();
  void add_claims();
  onnx::TypeProto vague(onnx::TypeProto type);
  void choose_outputs();

  onnx::GraphProto& graph() { return scopes_.empty() ? out_.graph() : scopes_.back().graph; }

  RandomModel out_;
  RandomOptions options_;
  std::int64_t opset_ = 20;
  DType main_ = DType::f32;
  std::size_t runs_ = 1;
  std::int64_t most_elements_ = 3000;  // of a tensor
  double empty_share_ = 0.02;          // of the dimensions that are new
  std::vector<Extent> symbols_;
  Values values_;  // in scope
  std::map<std::string_view, Made> made_;
  std::set<std::string_view> used_;
  Values top_;  // everything made in the main graph
  struct Structured {
    std::string_view name;
    onnx::TypeProto type;
  };
  std::vector<Structured> structured_;  // outputs
  std::vector<Scope> scopes_;
  std::vector<double> weights_;  // of the families of this model
  int nodes_ = 0;
  int names_ = 0;
};

}  // namespace quern::tools
