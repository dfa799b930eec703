// SPDX-License-Identifier: Apache-2.0
// Runs a graph: walks the tree of its plans and keeps what one session needs for each.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/cpu/host_context.h"
#include "engine/devices/device_tensor_impl.h"
#include "engine/run/memory_block.h"
#include "engine/run/run_memory.h"

namespace quern {

class ControlRunner;

struct RunOptions {
  StopSignals stop;
  StepListener* listener = nullptr;
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();  // bytes of a session
  // A result that is an input as it came is copied, so that it outlives the caller's bytes.
  bool detach_results = false;
  // Tensors of the device that inputs of the graph, and wanted outputs, are bound to; empty, or
  // null where they lie on the host. The views and places given beside them are their copies there.
  std::span<TensorMemory* const> device_inputs;
  std::span<TensorMemory* const> device_outputs;
};

// A place that the caller wants a result written to.
struct BoundOutput {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};

class Runner {
 public:
  // The first segment of a session's graph has an arena, planned: `arena`, which others use, too,
  // but never during a run, or one of its own. Everything else takes from `memory`, which outlives
  // the runner.
  enum class Graphs : std::uint8_t { session, body };
  Runner(std::shared_ptr<PlanTree> tree, int threads, RunMemory& memory, Graphs graph,
         MemoryBlock* arena = nullptr);
  ~Runner();

  // Inputs in the graph's order, row-major and aligned; borrowed until the next run. `bound` is
  // empty or has an entry per wanted output. Allocates nothing on the plan of an earlier run.
  Status run(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
             std::span<const BoundOutput> bound, const RunOptions& options);
  // Hands a run to the device and does not wait: is_done_within() and finish() do, called with what
  // this was called with. False: it takes the host too, and nothing has begun.
  Result<bool> start(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
                     std::span<const BoundOutput> bound, const RunOptions& options);
  bool is_done_within(std::chrono::nanoseconds time);
  Status finish(std::span<const RuntimeValue> inputs, std::span<const BoundOutput> bound,
                const RunOptions& options);
  // The type of the i-th wanted output, where the plan of prepare() or start() knows it.
  std::optional<TensorType> planned_type(std::size_t i) const;
  // The first plan only, without running.
  Status prepare(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted);

  // Of the last run, one per wanted output; valid until the next.
  std::span<const RuntimeValue> results() const { return results_; }
  // The plans that the last run went through.
  std::span<const std::shared_ptr<const PlanNode>> partition() const { return partition_; }
  // Bytes of the planned arena, if it is its own.
  std::size_t arena_bytes() const { return own_arena_.size(); }
  // Of arenas and staging on a device, and between: not of the pool.
  std::size_t device_bytes() const;
  void trim();

 private:
  // What this runner keeps for one plan.
  struct Bound {
    std::shared_ptr<const PlanNode> node;
    std::unique_ptr<ExecutionContext> context;
    std::vector<std::unique_ptr<ControlRunner>> controls;
    std::vector<const std::byte*> inputs;  // room for a call's pointers
    std::vector<std::byte*> outputs;
    std::vector<TensorMemory*> device_inputs;
    std::vector<TensorMemory*> device_outputs;
    PlanKey key;  // of the child that followed last time
    const PlanNode* child = nullptr;
    std::uint64_t used = 0;
  };

  Result<std::shared_ptr<const PlanNode>> first(std::span<const RuntimeValue> inputs,
                                                std::span<const std::size_t> wanted);
  Result<std::shared_ptr<const PlanNode>> following(Bound& bound);
  Result<std::byte*> arena_for(std::size_t depth, std::size_t bytes, const RunOptions& options);
  Result<Bound*> bound_for(const std::shared_ptr<const PlanNode>& node);
  bool is_device_alone(const Bound& bound, std::span<const BoundOutput> outputs,
                       const RunOptions& options) const;
  void begin(std::span<const RuntimeValue> inputs);
  Result<ExecutionContext::Call> bind_segment(Bound& bound, std::size_t depth,
                                              std::span<const BoundOutput> outputs,
                                              const RunOptions& options);
  void take_outputs(const Bound& bound);
  Status run_segment(Bound& bound, std::size_t depth, std::span<const BoundOutput> outputs,
                     const RunOptions& options);
  Status run_controls(Bound& bound, const RunOptions& options);
  void bind_results(const PlanNode& node, std::span<const BoundOutput> outputs,
                    const RunOptions& options, Bound& bound) const;
  Status end(std::span<const RuntimeValue> inputs, std::span<const BoundOutput> outputs,
             const RunOptions& options);
  Status collect_results(const PlanNode& node, std::span<const BoundOutput> outputs);
  Status fetch_passed_inputs(const RunOptions& options);
  Status send_results(const RunOptions& options);
  Status detach_results(std::span<const RuntimeValue> inputs, std::span<const BoundOutput> outputs);
  RuntimeValue& slot(Slot s);
  void read(const ResultRef& ref, RuntimeValue& into);

  std::shared_ptr<PlanTree> tree_;
  int threads_;
  std::vector<RuntimeValue> slots_;
  std::vector<RuntimeValue> results_;
  std::vector<RuntimeValue> control_inputs_;
  std::vector<RuntimeValue> answers_;
  std::vector<std::unique_ptr<Bound>> bounds_;
  RunMemory& memory_;
  Graphs graph_;
  MemoryBlock own_arena_;
  MemoryBlock& arena_;            // of a session's first segment
  std::vector<RunBlock> arenas_;  // of the other segments, by depth in the partition
  std::vector<RunBlock> detached_;
  std::vector<MemoryRecorder::Id> recorded_;  // buffers that live until the next run
  std::vector<std::shared_ptr<const PlanNode>> partition_;
  PlanKey key_;       // under construction
  PlanKey root_key_;  // of root_
  std::shared_ptr<const PlanNode> root_;
  Bound* started_ = nullptr;
  ExecutionContext::Call started_call_{};
  std::uint64_t clock_ = 0;
  std::size_t longest_partition_ = 0;
};

}  // namespace quern
