// SPDX-License-Identifier: Apache-2.0
// Runs a graph: walks the tree of its plans and keeps the session's state for each plan.
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
struct SharedFlight;  // engine/run/flight.h

struct RunOptions {
  const Stop* stop = nullptr;  // null: nothing ends the run early
  StepListener* listener = nullptr;
  ThreadPool* pool = nullptr;                                          // of Team::Kind::pool
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();  // bytes of a session
  // Copies a result that is an unchanged input, so that it outlives the caller's bytes.
  bool detach_results = false;
  // The device tensors that inputs of the graph and wanted outputs are bound to; empty, or null for
  // those on the host. For a bound tensor, the view or place passed to run() is its copy on the
  // host.
  std::span<TensorMemory* const> device_inputs;
  std::span<TensorMemory* const> device_outputs;
};

// Caller's memory that a result is written to.
struct BoundOutput {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};

class Runner {
 public:
  // The first segment of a session's graph has a planned arena: `arena`, which others may use
  // between runs, or if it is null one of its own. All other memory is taken from `memory`, which
  // must outlive the runner.
  enum class Graphs : std::uint8_t { session, body };
  Runner(std::shared_ptr<PlanTree> tree, Team team, RunMemory& memory, Graphs graph,
         MemoryBlock* arena = nullptr);
  ~Runner();
  // Makes this one of the flight's runs: it has the flight's plan and arena and no other. Before
  // the first run.
  void join(std::shared_ptr<SharedFlight> flight, std::size_t run);

  // `inputs` are in the graph's order, row-major and aligned; they are borrowed until the next run.
  // `bound` is empty or has one entry per wanted output. Allocates nothing if the plan was used by
  // an earlier run.
  Status run(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
             std::span<const BoundOutput> bound, const RunOptions& options);
  // Submits a run to the device without waiting; is_done_within() and finish() wait. finish() takes
  // the inputs, `bound` and options that start() was given. Returns false if the run needs the host
  // too; then nothing was started.
  Result<bool> start(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
                     std::span<const BoundOutput> bound, const RunOptions& options);
  bool is_done_within(std::chrono::nanoseconds time);
  Status finish(std::span<const RuntimeValue> inputs, std::span<const BoundOutput> bound,
                const RunOptions& options);
  // The type of the i-th wanted output; nullopt if the plan of prepare() or start() does not
  // determine it.
  std::optional<TensorType> planned_type(std::size_t i) const;
  // Makes the first plan only, without running it.
  Status prepare(std::span<const RuntimeValue> inputs, std::span<const std::size_t> wanted,
                 const Stop* stop);

  // The results of the last run, one per wanted output; valid until the next run.
  std::span<const RuntimeValue> results() const { return results_; }
  // The plans that the last run used.
  std::span<const std::shared_ptr<const PlanNode>> partition() const { return partition_; }
  // Bytes of the planned arena, if the runner owns it.
  std::size_t arena_bytes() const { return own_arena_.size(); }
  std::size_t table_bytes() const;
  void trim();

 private:
  // The state that this runner keeps for one plan.
  struct Bound {
    explicit Bound(RunMemory& m);
    ~Bound();
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

    RunMemory& memory;
    std::shared_ptr<const PlanNode> node;
    std::unique_ptr<ExecutionContext> context;
    std::vector<std::unique_ptr<ControlRunner>> controls;
    std::vector<const std::byte*> inputs;  // storage for the pointers of a call
    std::vector<std::byte*> outputs;
    std::vector<TensorMemory*> device_inputs;
    std::vector<TensorMemory*> device_outputs;
    PlanKey key;  // of the child plan that followed last time
    std::weak_ptr<const PlanNode> child;
    std::uint64_t used = 0;
  };

  Result<std::shared_ptr<const PlanNode>> first(std::span<const RuntimeValue> inputs,
                                                std::span<const std::size_t> wanted,
                                                const Stop* stop);
  Result<std::shared_ptr<const PlanNode>> following(Bound& bound, const Stop* stop);
  Result<std::byte*> arena_for(std::size_t depth, std::size_t bytes, const RunOptions& options);
  void drop_old_bounds();
  Result<Bound*> bound_for(const std::shared_ptr<const PlanNode>& node, const Stop* stop);
  Result<std::unique_ptr<ExecutionContext>> context_on(Backend& backend, const PlanNode& node,
                                                       const Stop* stop);
  bool is_device_alone(const Bound& bound, std::span<const BoundOutput> outputs,
                       const RunOptions& options) const;
  void begin(std::span<const RuntimeValue> inputs);
  Status check_shared_tensors(const PlanNode& node, const RunOptions& options) const;
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
  Team team_;
  std::vector<RuntimeValue> slots_;
  std::vector<RuntimeValue> results_;
  std::vector<RuntimeValue> control_inputs_;
  std::vector<RuntimeValue> answers_;
  std::vector<std::unique_ptr<Bound>> bounds_;
  RunMemory& memory_;
  std::shared_ptr<SharedFlight> flight_;  // null: alone
  cpu::FlightSeat seat_{};                // of the flight
  Graphs graph_;
  MemoryBlock own_arena_;
  MemoryBlock& arena_;            // for a session's first segment
  std::vector<RunBlock> arenas_;  // for the other segments, by depth in the partition
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
