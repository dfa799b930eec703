// SPDX-License-Identifier: Apache-2.0
#include "engine/run/runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/run/control_flow.h"
#include "engine/run/flight.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

// Assigns and keeps the memory of `to`.
void assign(RuntimeValue& to, RuntimeValue::Kind kind, std::span<const TensorView> tensors) {
  to.kind = kind;
  to.tensors.assign(tensors.begin(), tensors.end());
}

}  // namespace

namespace {

bool is_of(const ResultRef& result, Slot slot) {
  return !result.whole_slot && result.tensors.size() == 1 && result.tensors[0].slot == slot;
}

// Returns the output of the segment's program that is result r and no other result; nullopt if
// there is none.
std::optional<std::size_t> output_of(const Segment& s, std::size_t r) {
  for (std::size_t i = 0; i < s.outputs.size(); ++i) {
    const auto same = [&](const ResultRef& other) { return is_of(other, s.outputs[i]); };
    if (same(s.results[r]) && std::ranges::count_if(s.results, same) == 1) return i;
  }
  return std::nullopt;
}

}  // namespace

Runner::Runner(std::shared_ptr<PlanTree> tree, Team team, RunMemory& memory, Graphs graph,
               MemoryBlock* arena)
    : tree_(std::move(tree)),
      team_(team),
      memory_(memory),
      graph_(graph),
      arena_(arena ? *arena : own_arena_) {}

Runner::~Runner() = default;

Runner::Bound::Bound(RunMemory& m) : memory(m) {}

Runner::Bound::~Bound() {
  std::erase(memory.contexts, context.get());
}

void Runner::join(std::shared_ptr<SharedFlight> flight, std::size_t run) {
  seat_ = {&flight->plan.runs[run].places, &flight->gate, run};
  flight_ = std::move(flight);
}

RuntimeValue& Runner::slot(Slot s) {
  if (s >= slots_.size()) slots_.resize(s + 1);
  return slots_[s];
}

// ---- finding plans -----------------------------------------------------------------------------

Result<std::shared_ptr<const PlanNode>> Runner::first(std::span<const RuntimeValue> inputs,
                                                      std::span<const std::size_t> wanted,
                                                      const Stop* stop) {
  key_.clear();
  append_team(key_, team_);
  for (std::size_t w : wanted) key_.push_back(static_cast<std::int64_t>(w));
  key_.push_back(-1);
  for (const RuntimeValue& v : inputs) append_structure(key_, v);
  if (flight_) {
    if (key_ == flight_->key) return flight_->node;
    return Status(Code::invalid_argument,
                  "a run of a group wants inputs of the shapes that the group was made for, and "
                  "all outputs");
  }
  if (root_ && key_ == root_key_) return root_;
  QUERN_ASSIGN(root_, tree_->root(key_, inputs, wanted, team_, stop));
  root_key_ = key_;
  return root_;
}

Result<std::shared_ptr<const PlanNode>> Runner::following(Bound& bound, const Stop* stop) {
  const PlanNode& node = *bound.node;
  key_.clear();
  for (const UnresolvedValue& q : node.segment.unresolved) {
    if (q.about == UnresolvedValue::About::structure) {
      append_structure(key_, slot(q.slot));
    } else {
      append_elements(key_, slot(q.slot).tensor());
    }
  }
  // By ownership: another plan may have the address of one that was dropped.
  if (key_ == bound.key)
    if (auto known = bound.child.lock()) return known;
  answers_.resize(node.segment.unresolved.size());
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const RuntimeValue& v = slot(node.segment.unresolved[i].slot);
    assign(answers_[i], v.kind, v.tensors);
  }
  QUERN_ASSIGN(auto child, tree_->next(node, key_, answers_, team_, stop));
  bound.key = key_;
  bound.child = child;
  return child;
}

Result<Runner::Bound*> Runner::bound_for(const std::shared_ptr<const PlanNode>& node,
                                         const Stop* stop) {
  for (const auto& b : bounds_) {
    if (b->node != node) continue;
    b->used = ++clock_;
    return b.get();
  }
  auto fresh = std::make_unique<Bound>(memory_);
  fresh->node = node;
  fresh->used = ++clock_;
  if (Backend* backend = tree_->backend()) {
    QUERN_ASSIGN(fresh->context, context_on(*backend, *node, stop));
    memory_.contexts.push_back(fresh->context.get());
  } else {
    QUERN_ASSIGN(fresh->context,
                 cpu::HostContext::create(node->program, flight_ ? &seat_ : nullptr));
  }
  fresh->inputs.resize(node->program->inputs.size());
  fresh->outputs.resize(node->program->outputs.size());
  fresh->device_inputs.resize(fresh->inputs.size());
  fresh->device_outputs.resize(fresh->outputs.size());
  for (std::size_t i = 0; i < node->controls.size(); ++i)
    fresh->controls.push_back(
        ControlRunner::create(node->segment.controls[i], node->controls[i], team_, memory_));
  drop_old_bounds();
  bounds_.push_back(std::move(fresh));
  return bounds_.back().get();
}

// A plan that needs more of the device's arena than there is moves it, and those that were made
// before follow. Where one cannot now, its own next run says why.
Result<std::unique_ptr<ExecutionContext>> Runner::context_on(Backend& backend, const PlanNode& node,
                                                             const Stop* stop) {
  const std::uint64_t before = memory_.device->generation();
  auto made = backend.make_context(node.program, memory_.device, stop);
  if (memory_.device->generation() != before)
    for (ExecutionContext* c : memory_.contexts) (void)c->settle(stop);
  return made;
}

// One state per cached plan. The plans of the current partition are the most recently used, so they
// are not evicted.
void Runner::drop_old_bounds() {
  longest_partition_ = std::max(longest_partition_, partition_.size());
  const std::size_t most = tree_->max_plans() * std::max<std::size_t>(longest_partition_, 1);
  while (bounds_.size() >= most ||
         (bounds_.size() > longest_partition_ && tree_->is_over_budget(table_bytes())))
    bounds_.erase(std::ranges::min_element(bounds_, {}, [](const auto& b) { return b->used; }));
}

// ---- running -----------------------------------------------------------------------------------

Status Runner::prepare(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
                       const Stop* stop) {
  QUERN_ASSIGN(const auto node, first(inputs, wanted, stop));
  QUERN_TRY(bound_for(node, stop).status());
  partition_.assign(1, node);
  return {};
}

void Runner::begin(std::span<const RuntimeValue> inputs) {
  partition_.clear();
  if (graph_ == Graphs::session) {  // the last run's results are no longer valid
    for (RunBlock& a : arenas_) a.release();
    memory_.strings.clear();
  }
  if (memory_.recorder) memory_.recorder->free_all(recorded_);
  for (Slot i = 0; i < inputs.size(); ++i) assign(slot(i), inputs[i].kind, inputs[i].tensors);
}

Status Runner::run(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
                   std::span<const BoundOutput> outputs, const RunOptions& options) {
  QUERN_ASSIGN(auto node, first(inputs, wanted, options.stop));
  begin(inputs);
  for (std::size_t depth = 0;; ++depth) {
    partition_.push_back(node);
    QUERN_ASSIGN(Bound* const bound, bound_for(node, options.stop));
    QUERN_TRY(run_segment(*bound, depth, outputs, options));
    if (!node->segment.rest) break;
    QUERN_ASSIGN(node, following(*bound, options.stop));
  }
  return end(inputs, outputs, options);
}

Status Runner::end(std::span<const RuntimeValue> inputs, std::span<const BoundOutput> outputs,
                   const RunOptions& options) {
  QUERN_TRY(fetch_passed_inputs(options));
  QUERN_TRY(collect_results(*partition_.back(), outputs));
  if (options.detach_results) QUERN_TRY(detach_results(inputs, outputs));
  return send_results(options);
}

// ---- running without waiting -------------------------------------------------------------------

Result<bool> Runner::start(std::span<const RuntimeValue> inputs,
                           std::span<const std::size_t> wanted,
                           std::span<const BoundOutput> outputs, const RunOptions& options) {
  QUERN_ASSIGN(auto node, first(inputs, wanted, options.stop));
  QUERN_ASSIGN(Bound* const bound, bound_for(node, options.stop));
  if (!is_device_alone(*bound, outputs, options)) {
    partition_.assign(1, node);
    return false;
  }
  begin(inputs);
  partition_.push_back(node);
  QUERN_ASSIGN(started_call_, bind_segment(*bound, 0, outputs, options));
  QUERN_TRY(bound->context->start(started_call_));
  started_ = bound;
  return true;
}

// Returns true if the run is complete when the device is done: the host only copies from staging to
// memory of its own. Later runs on the device rely on that.
bool Runner::is_device_alone(const Bound& bound, std::span<const BoundOutput> outputs,
                             const RunOptions& options) const {
  const Segment& s = bound.node->segment;
  if (s.rest || !bound.controls.empty() || !bound.context->can_start()) return false;
  for (std::size_t r = 0; r < s.results.size(); ++r) {
    for (const SlotRef& t : s.results[r].tensors)  // an unchanged input
      if (t.slot < options.device_inputs.size() && options.device_inputs[t.slot]) return false;
    if (r >= options.device_outputs.size() || !options.device_outputs[r]) continue;
    const auto output = output_of(s, r);
    if (!output || !bound.context->writes_on_device(*output) ||
        bound.node->program->outputs[*output].bytes() > outputs[r].capacity)
      return false;
  }
  return true;
}

bool Runner::is_done_within(std::chrono::nanoseconds time) {
  return !started_ || started_->context->is_done_within(time);
}

Status Runner::finish(std::span<const RuntimeValue> inputs, std::span<const BoundOutput> outputs,
                      const RunOptions& options) {
  if (!started_) return {Code::internal, "no run was started"};
  Bound& bound = *std::exchange(started_, nullptr);
  QUERN_TRY(bound.context->finish(started_call_));
  take_outputs(bound);
  return end(inputs, outputs, options);
}

std::optional<TensorType> Runner::planned_type(std::size_t i) const {
  if (partition_.empty() || partition_.front()->segment.rest) return std::nullopt;
  const PlanNode& node = *partition_.front();
  const ResultRef& result = node.segment.results.at(i);
  if (result.whole_slot || result.tensors.size() != 1) return std::nullopt;
  const Slot wanted = result.tensors[0].slot;
  for (std::size_t k = 0; k < node.segment.inputs.size(); ++k)
    if (node.segment.inputs[k].slot == wanted) return node.program->inputs[k];
  const auto at = std::ranges::find(node.segment.outputs, wanted);
  if (at == node.segment.outputs.end()) return std::nullopt;
  const auto k = static_cast<std::size_t>(at - node.segment.outputs.begin());
  for (const Step& s : node.program->steps)
    for (const Step::DynamicOutput& d : s.dynamic_outputs)
      if (d.output == k) return std::nullopt;
  return node.program->outputs[k];
}

// ---- segments ----------------------------------------------------------------------------------

// A session's first arena is taken off the memory limit; the pool gets the rest.
Result<std::byte*> Runner::arena_for(std::size_t depth, std::size_t bytes,
                                     const RunOptions& options) {
  if (flight_) {
    if (flight_->arena.size() <= options.memory_limit) return flight_->arena.data();
    return Status(Code::out_of_memory, cat("no ", flight_->arena.size(), " bytes for the arena"));
  }
  if (graph_ == Graphs::session && depth == 0) {
    if (bytes > options.memory_limit || !arena_.reserve(bytes))
      return Status(Code::out_of_memory, cat("no ", bytes, " bytes for the arena"));
    const std::size_t taken = &arena_ == &own_arena_ ? arena_.size() : bytes;
    memory_.set_limit(options.memory_limit - std::min(options.memory_limit, taken));
    return arena_.data();
  }
  while (arenas_.size() <= depth) arenas_.emplace_back(memory_, RunBlock::Holds::arena);
  if (Status s = arenas_[depth].reserve(bytes); !s.ok()) return std::move(s).in("an arena");
  return arenas_[depth].data();
}

// A tensor that is an input and an output is that of an update, so that nothing reads what has been
// overwritten.
Status Runner::check_shared_tensors(const PlanNode& node, const RunOptions& options) const {
  const Segment& s = node.segment;
  for (std::size_t r = 0; r < options.device_outputs.size(); ++r) {
    if (!options.device_outputs[r]) continue;
    for (std::size_t k = 0; k < options.device_inputs.size(); ++k) {
      if (options.device_outputs[r] != options.device_inputs[k]) continue;
      const auto output = r < s.results.size() ? output_of(s, r) : std::nullopt;
      const auto is_this = [&](const Update& u) {
        return u.output == output && s.inputs[u.input].slot == k;
      };
      if (!s.rest && std::ranges::any_of(node.program->updates, is_this)) continue;
      return {Code::invalid_argument,
              cat("output ", r, " of those that are wanted is bound to the tensor of input ", k,
                  ", and the plan does not make it in place")};
    }
  }
  return {};
}

Result<ExecutionContext::Call> Runner::bind_segment(Bound& bound, std::size_t depth,
                                                    std::span<const BoundOutput> outputs,
                                                    const RunOptions& options) {
  const PlanNode& node = *bound.node;
  QUERN_TRY(check_shared_tensors(node, options));
  QUERN_ASSIGN(std::byte* const arena, arena_for(depth, node.program->arena_bytes, options));
  if (memory_.recorder)
    memory_.recorder->play(node.program->memory_problem, node.program->steps.size(), recorded_);
  if (node.segment.slot_count > slots_.size()) slots_.resize(node.segment.slot_count);
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const SlotRef ref = node.segment.inputs[i];
    bound.inputs[i] = slots_[ref.slot].tensors[ref.element].data;
    bound.device_inputs[i] =
        ref.slot < options.device_inputs.size() ? options.device_inputs[ref.slot] : nullptr;
  }
  std::ranges::fill(bound.outputs, nullptr);
  std::ranges::fill(bound.device_outputs, nullptr);
  bind_results(node, outputs, options, bound);
  return ExecutionContext::Call{
      arena,        bound.inputs,     bound.outputs, bound.device_inputs, bound.device_outputs,
      options.stop, options.listener, options.pool,  &memory_.strings};
}

void Runner::take_outputs(const Bound& bound) {
  const Segment& segment = bound.node->segment;
  for (std::size_t i = 0; i < segment.outputs.size(); ++i) {
    const TensorView view = bound.context->output(i);
    assign(slots_[segment.outputs[i]], RuntimeValue::Kind::tensor, {&view, 1});
  }
}

Status Runner::run_segment(Bound& bound, std::size_t depth, std::span<const BoundOutput> outputs,
                           const RunOptions& options) {
  QUERN_ASSIGN(const ExecutionContext::Call call, bind_segment(bound, depth, outputs, options));
  QUERN_TRY(bound.context->run(call));
  take_outputs(bound);
  if (bound.controls.empty() && !bound.node->segment.rest) return {};
  // Bodies and unresolved values are read on the host.
  for (TensorMemory* t : options.device_inputs)
    if (t) QUERN_TRY(t->fetch());
  for (TensorMemory* t : bound.device_outputs)
    if (t) QUERN_TRY(t->fetch());
  return run_controls(bound, options);
}

Status Runner::run_controls(Bound& bound, const RunOptions& options) {
  const PlanNode& node = *bound.node;
  RunOptions inside = options;
  inside.device_inputs = {};
  inside.device_outputs = {};
  for (std::size_t i = 0; i < bound.controls.size(); ++i) {
    const ControlOp& c = node.segment.controls[i];
    if (control_inputs_.size() < c.inputs.size()) control_inputs_.resize(c.inputs.size());
    for (std::size_t k = 0; k < c.inputs.size(); ++k) read(c.inputs[k], control_inputs_[k]);
    QUERN_TRY(bound.controls[i]->run({control_inputs_.data(), c.inputs.size()}, inside));
    const auto results = bound.controls[i]->outputs();
    for (std::size_t k = 0; k < c.outputs.size(); ++k)
      assign(slots_[c.outputs[k]], results[k].kind, results[k].tensors);
  }
  return {};
}

// Results whose type is known before the run are written directly to the caller's memory.
void Runner::bind_results(const PlanNode& node, std::span<const BoundOutput> outputs,
                          const RunOptions& options, Bound& bound) const {
  const Segment& s = node.segment;
  for (std::size_t r = 0; r < std::min(outputs.size(), s.results.size()); ++r) {
    const ResultRef& result = s.results[r];
    if (!outputs[r].data || result.whole_slot || result.tensors.size() != 1) continue;
    for (std::size_t i = 0; i < s.outputs.size(); ++i) {
      const bool fits = node.program->outputs[i].bytes() <= outputs[r].capacity;
      if (s.outputs[i] != result.tensors[0].slot || !fits || bound.outputs[i]) continue;
      bound.outputs[i] = outputs[r].data;
      // An output that is two results is copied on the host.
      if (r < options.device_outputs.size() && output_of(s, r) == i)
        bound.device_outputs[i] = options.device_outputs[r];
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

// Results that are unchanged inputs are read on the host.
Status Runner::fetch_passed_inputs(const RunOptions& options) {
  for (const ResultRef& result : partition_.back()->segment.results)
    for (const SlotRef& t : result.tensors)
      if (t.slot < options.device_inputs.size() && options.device_inputs[t.slot])
        QUERN_TRY(options.device_inputs[t.slot]->fetch());
  return {};
}

// Uploads results that the host computed and wrote to the host's copies of tensors.
Status Runner::send_results(const RunOptions& options) {
  for (TensorMemory* t : options.device_outputs)
    if (t) QUERN_TRY(t->send());
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

std::size_t Runner::table_bytes() const {
  std::size_t bytes = 0;
  for (const auto& b : bounds_) {
    bytes += sizeof *b + b->context->table_bytes();
    for (const auto& c : b->controls) bytes += c->table_bytes();
  }
  return bytes;
}

void Runner::trim() {
  started_ = nullptr;
  own_arena_.release();
  arenas_.clear();
  detached_.clear();
  bounds_.clear();
  slots_.clear();
  results_.clear();
}

}  // namespace quern
