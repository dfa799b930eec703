// SPDX-License-Identifier: Apache-2.0
#include "engine/runner.h"

#include <algorithm>
#include <cstring>

#include "engine/control_flow.h"
#include "graph/text_util.h"

namespace quern {
namespace {

// Assigns without giving up the memory of `to`.
void assign(RuntimeValue& to, RuntimeValue::Kind kind, std::span<const TensorView> tensors) {
  to.kind = kind;
  to.tensors.assign(tensors.begin(), tensors.end());
}

}  // namespace

Runner::Runner(std::shared_ptr<PlanTree> tree, int threads, RunMemory& memory, Graphs graph)
    : tree_(std::move(tree)), threads_(threads), memory_(memory), graph_(graph) {}

Runner::~Runner() = default;

RuntimeValue& Runner::slot(Slot s) {
  if (s >= slots_.size()) slots_.resize(s + 1);
  return slots_[s];
}

// ---- finding plans -----------------------------------------------------------------------------

Result<std::shared_ptr<const PlanNode>> Runner::first(std::span<const RuntimeValue> inputs,
                                                      std::span<const std::size_t> wanted) {
  key_.clear();
  key_.push_back(threads_);
  for (std::size_t w : wanted) key_.push_back(static_cast<std::int64_t>(w));
  key_.push_back(-1);
  for (const RuntimeValue& v : inputs) append_structure(key_, v);
  if (root_ && key_ == root_key_) return root_;
  QUERN_ASSIGN(root_, tree_->root(key_, inputs, wanted, threads_));
  root_key_ = key_;
  return root_;
}

Result<std::shared_ptr<const PlanNode>> Runner::following(Bound& bound) {
  const PlanNode& node = *bound.node;
  key_.clear();
  for (const Question& q : node.segment.questions) {
    if (q.about == Question::About::structure) {
      append_structure(key_, slot(q.slot));
    } else {
      append_elements(key_, slot(q.slot).tensor());
    }
  }
  if (bound.child && key_ == bound.key) {
    for (const auto& b : bounds_)
      if (b->node.get() == bound.child) return b->node;
  }
  answers_.resize(node.segment.questions.size());
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const RuntimeValue& v = slot(node.segment.questions[i].slot);
    assign(answers_[i], v.kind, v.tensors);
  }
  QUERN_ASSIGN(auto child, tree_->next(node, key_, answers_, threads_));
  bound.key = key_;
  bound.child = child.get();
  return child;
}

Result<Runner::Bound*> Runner::bound_for(const std::shared_ptr<const PlanNode>& node) {
  for (const auto& b : bounds_) {
    if (b->node != node) continue;
    b->used = ++clock_;
    return b.get();
  }
  auto fresh = std::make_unique<Bound>();
  fresh->node = node;
  fresh->used = ++clock_;
  QUERN_ASSIGN(fresh->instance, cpu::Instance::create(node->program));
  fresh->inputs.resize(node->program->inputs.size());
  fresh->outputs.resize(node->program->outputs.size());
  for (std::size_t i = 0; i < node->controls.size(); ++i)
    fresh->controls.push_back(
        ControlRunner::create(node->segment.controls[i], node->controls[i], threads_, memory_));
  // One state a plan of the cache. The plans of the chain in progress were used later than any
  // other.
  longest_chain_ = std::max(longest_chain_, chain_.size());
  if (bounds_.size() >= tree_->max_plans() * std::max<std::size_t>(longest_chain_, 1))
    bounds_.erase(std::ranges::min_element(bounds_, {}, [](const auto& b) { return b->used; }));
  bounds_.push_back(std::move(fresh));
  return bounds_.back().get();
}

// ---- running -----------------------------------------------------------------------------------

Status Runner::prepare(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted) {
  QUERN_ASSIGN(const auto node, first(inputs, wanted));
  QUERN_TRY(bound_for(node).status());
  chain_.assign(1, node);
  return {};
}

Status Runner::run(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
                   std::span<const BoundOutput> outputs, const RunOptions& options) {
  QUERN_ASSIGN(auto node, first(inputs, wanted));
  chain_.clear();
  if (graph_ == Graphs::session)  // the last run's results have had their time
    for (RunBlock& a : arenas_) a.release();
  if (memory_.recorder) memory_.recorder->free_all(recorded_);
  for (Slot i = 0; i < inputs.size(); ++i) assign(slot(i), inputs[i].kind, inputs[i].tensors);
  for (std::size_t depth = 0;; ++depth) {
    chain_.push_back(node);
    QUERN_ASSIGN(Bound* const bound, bound_for(node));
    QUERN_TRY(run_segment(*bound, depth, outputs, options));
    if (!node->segment.rest) break;
    QUERN_ASSIGN(node, following(*bound));
  }
  QUERN_TRY(collect_results(*node, outputs));
  return options.detach_results ? detach_results(inputs, outputs) : Status();
}

// A session's first arena counts against the limit before the pool does.
Result<std::byte*> Runner::arena_for(std::size_t depth, std::size_t bytes,
                                     const RunOptions& options) {
  if (graph_ == Graphs::session && depth == 0) {
    if (bytes > options.memory_limit || !arena_.reserve(bytes))
      return Status(Code::out_of_memory, cat("no ", bytes, " bytes for the arena"));
    memory_.set_limit(options.memory_limit - std::min(options.memory_limit, arena_.size()));
    return arena_.data();
  }
  while (arenas_.size() <= depth) arenas_.emplace_back(memory_, RunBlock::Holds::arena);
  if (Status s = arenas_[depth].reserve(bytes); !s.ok()) return std::move(s).in("an arena");
  return arenas_[depth].data();
}

Status Runner::run_segment(Bound& bound, std::size_t depth, std::span<const BoundOutput> outputs,
                           const RunOptions& options) {
  const PlanNode& node = *bound.node;
  QUERN_ASSIGN(std::byte* const arena, arena_for(depth, node.program->arena_bytes, options));
  if (memory_.recorder)
    memory_.recorder->play(node.program->memory_problem, node.program->steps.size(), recorded_);
  if (node.segment.slot_count > slots_.size()) slots_.resize(node.segment.slot_count);
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const SlotRef ref = node.segment.inputs[i];
    bound.inputs[i] = slots_[ref.slot].tensors[ref.element].data;
  }
  std::ranges::fill(bound.outputs, nullptr);
  bind_results(node, outputs, bound);
  QUERN_TRY(
      bound.instance->run({arena, bound.inputs, bound.outputs, options.stop, options.listener}));
  for (std::size_t i = 0; i < node.segment.outputs.size(); ++i) {
    const TensorView view = bound.instance->output(i);
    assign(slots_[node.segment.outputs[i]], RuntimeValue::Kind::tensor, {&view, 1});
  }
  for (std::size_t i = 0; i < bound.controls.size(); ++i) {
    const ControlOp& c = node.segment.controls[i];
    if (control_inputs_.size() < c.inputs.size()) control_inputs_.resize(c.inputs.size());
    for (std::size_t k = 0; k < c.inputs.size(); ++k) read(c.inputs[k], control_inputs_[k]);
    QUERN_TRY(bound.controls[i]->run({control_inputs_.data(), c.inputs.size()}, options));
    const auto results = bound.controls[i]->outputs();
    for (std::size_t k = 0; k < c.outputs.size(); ++k)
      assign(slots_[c.outputs[k]], results[k].kind, results[k].tensors);
  }
  return {};
}

// A result whose type is known before the run is written where the caller wants it.
void Runner::bind_results(const PlanNode& node, std::span<const BoundOutput> outputs,
                          Bound& bound) const {
  const Segment& s = node.segment;
  for (std::size_t r = 0; r < std::min(outputs.size(), s.results.size()); ++r) {
    const ResultRef& result = s.results[r];
    if (!outputs[r].data || result.whole_slot || result.tensors.size() != 1) continue;
    for (std::size_t i = 0; i < s.outputs.size(); ++i) {
      const bool fits = node.program->outputs[i].bytes() <= outputs[r].capacity;
      if (s.outputs[i] == result.tensors[0].slot && fits && !bound.outputs[i])
        bound.outputs[i] = outputs[r].data;
    }
  }
}

void Runner::read(const ResultRef& ref, RuntimeValue& into) {
  if (ref.whole_slot) {
    const RuntimeValue& v = slot(*ref.whole_slot);
    assign(into, v.kind, v.tensors);
    return;
  }
  into.kind = ref.kind;
  into.tensors.clear();
  for (const SlotRef& t : ref.tensors) into.tensors.push_back(slot(t.slot).tensors[t.element]);
}

Status Runner::collect_results(const PlanNode& node, std::span<const BoundOutput> outputs) {
  results_.resize(node.segment.results.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    read(node.segment.results[i], results_[i]);
    if (i >= outputs.size() || !outputs[i].data || results_[i].tensors.empty()) continue;
    TensorView& t = results_[i].tensors[0];
    if (t.data == outputs[i].data) continue;
    if (t.type.bytes() > outputs[i].capacity)
      return {Code::invalid_argument, cat("output ", i, " is ", t.type.text(), ", ", t.type.bytes(),
                                          " bytes; its place has ", outputs[i].capacity)};
    std::memcpy(outputs[i].data, t.data, t.type.bytes());
    t.data = outputs[i].data;
  }
  return {};
}

Status Runner::detach_results(std::span<const RuntimeValue> inputs,
                              std::span<const BoundOutput> outputs) {
  const auto is_input = [&](const TensorView& t) {
    return std::ranges::any_of(inputs, [&](const RuntimeValue& v) {
      return std::ranges::find(v.tensors, t.data, &TensorView::data) != v.tensors.end();
    });
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    for (TensorView& t : results_[i].tensors) {
      const bool is_bound = i < outputs.size() && outputs[i].data == t.data;
      if (is_bound || !is_input(t)) continue;
      if (detached_.size() <= count) detached_.emplace_back(memory_);
      RunBlock& block = detached_[count++];
      const std::size_t bytes = t.type.bytes();
      if (Status s = block.reserve(bytes); !s.ok()) return std::move(s).in("an output");
      if (bytes) std::memcpy(block.data(), t.data, bytes);
      t.data = block.data();
    }
  }
  return {};
}

// ---- memory ------------------------------------------------------------------------------------

void Runner::trim() {
  arena_.release();
  arenas_.clear();
  detached_.clear();
  bounds_.clear();
  slots_.clear();
  results_.clear();
}

}  // namespace quern
