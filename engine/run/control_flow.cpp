// SPDX-License-Identifier: Apache-2.0
#include "engine/run/control_flow.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/control_flow.h"
#include "kernels/contract/copy.h"

namespace quern {
namespace {

using Kind = RuntimeValue::Kind;

// A value that is kept while the body runs again: a copy of its tensors. It is updated in two
// steps, since a body may return its inputs: all values are staged before the first one changes.
class Kept {
 public:
  explicit Kept(RunMemory& memory) : memory_(&memory) {}

  Status stage(const RuntimeValue& v) {
    next_.value.kind = v.kind;
    next_.value.tensors.resize(v.tensors.size());
    while (next_.blocks.size() < v.tensors.size()) next_.blocks.emplace_back(*memory_);
    for (std::size_t i = 0; i < v.tensors.size(); ++i) {
      const std::size_t bytes = v.tensors[i].type.bytes();
      RunBlock& block = next_.blocks[i];
      if (Status s = block.reserve(bytes); !s.ok()) return std::move(s).in("a carried value");
      if (bytes) std::memcpy(block.data(), v.tensors[i].data, bytes);
      next_.value.tensors[i] = {v.tensors[i].type, block.data()};
    }
    return {};
  }
  // Returns the staged value, which is valid until the next commit().
  const RuntimeValue& commit() {
    std::swap(now_, next_);
    return now_.value;
  }
  const RuntimeValue& value() const { return now_.value; }

 private:
  struct Copy {
    RuntimeValue value;
    std::vector<RunBlock> blocks;
  };
  RunMemory* memory_;
  Copy now_;
  Copy next_;
};

// Carries values of a loop from one iteration's results to the next iteration's inputs.
Status carry(std::span<Kept> kept, std::span<const RuntimeValue> from, std::span<RuntimeValue> to) {
  for (std::size_t i = 0; i < kept.size(); ++i) QUERN_TRY(kept[i].stage(from[i]));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const RuntimeValue& v = kept[i].commit();
    to[i].kind = v.kind;
    to[i].tensors.assign(v.tensors.begin(), v.tensors.end());
  }
  return {};
}

// Tensors of one type, concatenated to one tensor with a new leading dimension.
class Stacked {
 public:
  explicit Stacked(RunMemory& memory) : block_(memory) {}

  void clear(DType dtype, std::optional<Shape> element) {
    type_ = {dtype, element.value_or(Shape())};
    known_ = element.has_value();
    count_ = 0;
  }
  Status push(const TensorView& t, std::string_view node) {
    if (count_ == 0 && !known_) type_ = t.type;
    if (count_ == 0) type_.dtype = t.type.dtype;
    if (count_ == 0) type_.shape = t.type.shape;
    if (t.type != type_)
      return {Code::invalid_argument, cat("node '", printable(node), "': iterations give ",
                                          type_.text(), " and ", t.type.text())};
    if (type_.shape.rank() == Shape::max_rank)
      return {Code::unsupported, cat("node '", printable(node), "': result of rank 9")};
    const std::size_t bytes = type_.bytes();
    const std::size_t wanted = (count_ + 1) * bytes;
    if (Status s = block_.grow(count_ * bytes, wanted); !s.ok())
      return std::move(s).in(
          cat("node '", printable(node), "': the results of ", count_ + 1, " iterations"));
    if (bytes) std::memcpy(block_.data() + count_ * bytes, t.data, bytes);
    ++count_;
    return {};
  }
  Result<TensorView> view() {
    QUERN_TRY(block_.grow(count_ * type_.bytes(), 1));
    TensorType type = type_;
    type.shape.insert(0, static_cast<std::int64_t>(count_));
    return TensorView{type, block_.data()};
  }
  // The elements, in the order of push().
  std::size_t count() const { return count_; }
  const TensorType& element() const { return type_; }
  std::byte* data() const { return block_.data(); }

 private:
  TensorType type_;
  bool known_ = false;
  std::size_t count_ = 0;
  RunBlock block_;
};

// The shape of an iteration's result if there was no iteration; open dimensions are 0.
std::optional<Shape> declared_shape(const Graph& body, std::size_t output) {
  const ValueType& type = body.type(body.outputs()[output]);
  if (!type.dims) return std::nullopt;
  Shape s;
  for (Dim d : *type.dims) s.push_back(d.known() ? d.value() : 0);
  return s;
}

// Makes `count` objects over one memory.
template <class T>
std::vector<T> several(std::size_t count, RunMemory& memory) {
  std::vector<T> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(memory);
  return all;
}

// Keeps the memory of `to`.
void set_tensor(RuntimeValue& to, const TensorView& t) {
  to.kind = Kind::tensor;
  to.tensors.assign(1, t);
}

// ---- Loop --------------------------------------------------------------------------------------

class LoopRunner final : public ControlRunner {
 public:
  LoopRunner(const ControlOp& op, const ControlPlan& plan, Team team, RunMemory& memory)
      : body_graph_(*op.body),
        name_(op.name),
        carried_(static_cast<std::size_t>(op.op.as<Loop>()->carried)),
        body_(plan.body, team, memory, Runner::Graphs::body),
        kept_(several<Kept>(carried_, memory)),
        scanned_(several<Stacked>(op.body->outputs().size() - 1 - carried_, memory)) {
    wanted_.resize(op.body->outputs().size());
    std::iota(wanted_.begin(), wanted_.end(), 0);
    outputs_.resize(carried_ + scanned_.size());
  }

  std::size_t table_bytes() const override { return body_.table_bytes(); }

  Status run(std::span<const RuntimeValue> inputs, const RunOptions& options) override {
    const std::int64_t trips = inputs[0].kind == Kind::none
                                   ? std::numeric_limits<std::int64_t>::max()
                                   : *inputs[0].tensor().as<std::int64_t>();
    bool go_on = inputs[1].kind == Kind::none || *inputs[1].tensor().as<bool>();
    body_inputs_.resize(inputs.size());
    set_tensor(body_inputs_[0],
               {{DType::i64, {}}, reinterpret_cast<const std::byte*>(&iteration_)});
    const Shape condition = inputs[1].kind == Kind::none ? Shape() : inputs[1].tensor().type.shape;
    set_tensor(body_inputs_[1],
               {{DType::boolean, condition}, reinterpret_cast<const std::byte*>(&condition_)});
    for (std::size_t i = 2; i < inputs.size(); ++i) body_inputs_[i] = inputs[i];
    for (std::size_t i = 0; i < scanned_.size(); ++i)
      scanned_[i].clear(body_graph_.type(body_graph_.outputs()[1 + carried_ + i]).dtype,
                        declared_shape(body_graph_, 1 + carried_ + i));
    QUERN_TRY(carry(kept_, inputs.subspan(2), std::span(body_inputs_).subspan(2)));
    for (iteration_ = 0; iteration_ < trips && go_on; ++iteration_) {
      condition_ = go_on;
      if (options.stop) QUERN_TRY(options.stop->check());
      QUERN_TRY(body_.run(body_inputs_, wanted_, {}, options));
      QUERN_TRY(take(body_.results(), go_on));
    }
    for (std::size_t i = 0; i < carried_; ++i) outputs_[i] = kept_[i].value();
    for (std::size_t i = 0; i < scanned_.size(); ++i) {
      QUERN_ASSIGN(const TensorView all, scanned_[i].view());
      set_tensor(outputs_[carried_ + i], all);
    }
    return {};
  }

 private:
  Status take(std::span<const RuntimeValue> results, bool& go_on) {
    if (results[0].tensor().type.shape.elements() != 1 ||
        results[0].tensor().type.dtype != DType::boolean)
      return {Code::invalid_model,
              cat("node '", printable(name_), "' (Loop): the condition is not one bool")};
    go_on = *results[0].tensor().as<bool>();
    for (std::size_t i = 0; i < scanned_.size(); ++i)
      QUERN_TRY(scanned_[i].push(results[1 + carried_ + i].tensor(), name_));
    return carry(kept_, results.subspan(1), std::span(body_inputs_).subspan(2));
  }

  const Graph& body_graph_;
  std::string name_;
  std::size_t carried_;
  Runner body_;
  std::vector<std::size_t> wanted_;
  std::vector<RuntimeValue> body_inputs_;
  std::vector<Kept> kept_;
  std::vector<Stacked> scanned_;
  std::int64_t iteration_ = 0;
  bool condition_ = true;
};

// ---- Scan --------------------------------------------------------------------------------------

class ScanRunner final : public ControlRunner {
 public:
  ScanRunner(const ControlOp& op, const ControlPlan& plan, Team team, RunMemory& memory)
      : op_(*op.op.as<Scan>()),
        body_graph_(*op.body),
        name_(op.name),
        states_(static_cast<std::size_t>(op_.states)),
        sequences_(static_cast<std::size_t>(op_.scanned_inputs)),
        body_(plan.body, team, memory, Runner::Graphs::body),
        kept_(several<Kept>(states_, memory)),
        slices_(several<RunBlock>(sequences_, memory)),
        collected_(several<Stacked>(op.body->outputs().size() - states_, memory)),
        joined_(several<RunBlock>(collected_.size(), memory)) {
    wanted_.resize(op.body->outputs().size());
    std::iota(wanted_.begin(), wanted_.end(), 0);
    outputs_.resize(wanted_.size());
  }

  std::size_t table_bytes() const override { return body_.table_bytes(); }

  Status run(std::span<const RuntimeValue> inputs, const RunOptions& options) override {
    QUERN_TRY(find_length(inputs));
    body_inputs_.assign(inputs.begin(), inputs.end());
    QUERN_TRY(carry(kept_, inputs, body_inputs_));
    for (std::size_t i = 0; i < collected_.size(); ++i)
      collected_[i].clear(body_graph_.type(body_graph_.outputs()[states_ + i]).dtype,
                          declared_shape(body_graph_, states_ + i));
    for (std::int64_t t = 0; t < length_; ++t) {
      if (options.stop) QUERN_TRY(options.stop->check());
      for (std::size_t i = 0; i < sequences_; ++i)
        QUERN_TRY(slice(i, inputs[states_ + i].tensor(), t));
      QUERN_TRY(body_.run(body_inputs_, wanted_, {}, options));
      const auto results = body_.results();
      for (std::size_t i = 0; i < collected_.size(); ++i)
        QUERN_TRY(collected_[i].push(results[states_ + i].tensor(), name_));
      QUERN_TRY(carry(kept_, results, body_inputs_));
    }
    for (std::size_t i = 0; i < states_; ++i) outputs_[i] = kept_[i].value();
    for (std::size_t i = 0; i < collected_.size(); ++i) QUERN_TRY(join(i));
    return {};
  }

 private:
  static std::int64_t entry(const Ints& list, std::size_t i) {
    return i < list.size() ? list[i] : 0;
  }
  Status error(std::string_view what) const {
    return {Code::invalid_argument, cat("node '", printable(name_), "' (Scan): ", what)};
  }

  Result<std::size_t> axis_of(const Ints& axes, std::size_t i, std::size_t rank) const {
    const auto r = static_cast<std::int64_t>(rank);
    const std::int64_t a = entry(axes, i) < 0 ? entry(axes, i) + r : entry(axes, i);
    if (a < 0 || a >= r) return error(cat("axis ", entry(axes, i), " is outside of rank ", rank));
    return static_cast<std::size_t>(a);
  }

  Status find_length(std::span<const RuntimeValue> inputs) {
    length_ = -1;
    for (std::size_t i = 0; i < sequences_; ++i) {
      const Shape& shape = inputs[states_ + i].tensor().type.shape;
      QUERN_ASSIGN(const std::size_t axis, axis_of(op_.input_axes, i, shape.rank()));
      if (length_ >= 0 && shape[axis] != length_)
        return error(cat("inputs to scan have lengths ", length_, " and ", shape[axis]));
      length_ = shape[axis];
    }
    return {};
  }

  // Element t of a scanned input: a view, or a gathered copy.
  Status slice(std::size_t i, const TensorView& whole, std::int64_t t) {
    QUERN_ASSIGN(const std::size_t axis, axis_of(op_.input_axes, i, whole.type.shape.rank()));
    const std::int64_t at = entry(op_.input_directions, i) ? length_ - 1 - t : t;
    TensorType type = whole.type;
    type.shape.erase(axis);
    Layout layout = Layout::row_major(whole.type.shape);
    const std::int64_t offset = at * layout.strides[axis];
    layout.strides.erase(axis);
    const std::byte* from = whole.data + static_cast<std::size_t>(offset) * size_of(type.dtype);
    const TensorDesc source{type.dtype, type.shape, layout};
    if (!is_row_major(source)) {
      if (Status s = slices_[i].reserve(type.bytes()); !s.ok()) return std::move(s).in("a slice");
      copy_elements(source, from, TensorDesc::row_major(type.dtype, type.shape), slices_[i].data());
      from = slices_[i].data();
    }
    set_tensor(body_inputs_[states_ + i], {type, from});
    return {};
  }

  // Writes the collected elements along their axis, in their direction.
  Status join(std::size_t i) {
    QUERN_ASSIGN(const TensorView stacked, collected_[i].view());
    QUERN_ASSIGN(const std::size_t axis, axis_of(op_.output_axes, i, stacked.type.shape.rank()));
    const bool reversed = entry(op_.output_directions, i) != 0;
    if (axis == 0 && !reversed) {
      set_tensor(outputs_[states_ + i], stacked);
      return {};
    }
    const TensorType element = collected_[i].element();
    TensorType type = element;
    type.shape.insert(axis, length_);
    if (Status s = joined_[i].reserve(type.bytes()); !s.ok())
      return std::move(s).in("a result of Scan");
    Layout layout = Layout::row_major(type.shape);
    const std::int64_t stride = layout.strides[axis];
    layout.strides.erase(axis);
    for (std::int64_t t = 0; t < length_; ++t) {
      const std::int64_t at = reversed ? length_ - 1 - t : t;
      copy_elements(
          TensorDesc::row_major(element.dtype, element.shape),
          stacked.data + static_cast<std::size_t>(t) * element.bytes(),
          {element.dtype, element.shape, layout},
          joined_[i].data() + static_cast<std::size_t>(at * stride) * size_of(type.dtype));
    }
    set_tensor(outputs_[states_ + i], {type, joined_[i].data()});
    return {};
  }

  Scan op_;
  const Graph& body_graph_;
  std::string name_;
  std::size_t states_;
  std::size_t sequences_;
  Runner body_;
  std::vector<std::size_t> wanted_;
  std::vector<RuntimeValue> body_inputs_;
  std::vector<Kept> kept_;
  std::vector<RunBlock> slices_;
  std::vector<Stacked> collected_;
  std::vector<RunBlock> joined_;
  std::int64_t length_ = 0;
};

}  // namespace

std::unique_ptr<ControlRunner> ControlRunner::create(const ControlOp& op, const ControlPlan& plan,
                                                     Team team, RunMemory& memory) {
  if (op.op.is<Loop>()) return std::make_unique<LoopRunner>(op, plan, team, memory);
  return std::make_unique<ScanRunner>(op, plan, team, memory);
}

}  // namespace quern
