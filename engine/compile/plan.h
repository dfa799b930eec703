// SPDX-License-Identifier: Apache-2.0
// Plans of one graph: a tree of segments, each with its program, cached by what they depend on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <quern/executable.h>

#include "engine/compile/backend.h"
#include "engine/compile/ledger.h"
#include "engine/compile/plan_maker.h"
#include "engine/compile/program.h"
#include "engine/compile/saved_plans.h"
#include "engine/compile/specialize.h"
#include "engine/compile/tuning.h"
#include "engine/compile/value.h"
#include "engine/devices/cpu/weights.h"
#include "engine/lowering/lower.h"
#include "graph/graph.h"

namespace quern {

void append_structure(PlanKey& key, const RuntimeValue& value);
void append_elements(PlanKey& key, const TensorView& tensor);
void append_team(PlanKey& key, Team team);
// The key of the first plan for these inputs: the team, the wanted outputs, -1, and what the inputs
// are.
PlanKey root_key(Team team, std::span<const std::size_t> wanted,
                 std::span<const RuntimeValue> inputs);

class PlanNode;

// A small map that evicts the least recently used plan, where there are more than `capacity`, or
// more than one while the tables of all plans take more than `most_bytes`.
class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity) : capacity_(capacity) {}
  std::shared_ptr<const PlanNode> find(const PlanKey& key);
  void insert(PlanKey key, std::shared_ptr<const PlanNode> plan,
              std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

 private:
  struct Entry {
    PlanKey key;
    std::shared_ptr<const PlanNode> plan;
    std::uint64_t used = 0;
  };
  std::size_t capacity_;
  std::uint64_t clock_ = 0;
  std::vector<Entry> entries_;
};

struct PlanOptions {
  const PlanMaker* maker = nullptr;  // null: the plans of `saved` are all that can be had
  const Strategy* strategy = nullptr;
  std::size_t max_plans = 32;
  std::size_t memory_limit = 0;    // bytes of weights and one arena, and of tables; 0: no limit
  std::size_t arena_limit = 0;     // bytes of an arena; 0: no limit
  std::size_t max_plan_bytes = 0;  // of tables of plans that are kept; 0: no limit
  bool reference_only = false;
  std::string entry;  // CompileOptions::implementation
  std::shared_ptr<const Tuning> tuning = {};
  bool optimize = true;
  bool order = true;
  bool alias = true;
  bool scratch = true;             // ignored if `memory_limit` cannot be met otherwise
  bool stripes = false;            // chains may be in stripes without a limit that asks for them
  bool half_products = false;      // operands of products may be rounded to f16
  Math math = Math::f32;           // of products where it is faster than f32
  bool convolve_integers = false;  // convolutions of integers that are dequantised, on the CPU
  bool flush_denormals = true;     // CompileOptions::denormals
  bool record = false;             // programs get their recipes, for an artefact
  std::shared_ptr<const SavedPlans> saved = {};  // of an artefact; null: there is none
};

// What plans were made of, counted: an artefact saves all but kernels.
struct PlanWork {
  std::atomic<std::size_t> graphs = 0;    // that were specialised and rewritten
  std::atomic<std::size_t> searches = 0;  // for an order and places in memory
};

class PlanTree;

// Loop or Scan of a segment: the plans of its body.
struct ControlPlan {
  std::shared_ptr<PlanTree> body;
};

// One segment, ready to run. Immutable, except for the cache of its children.
class PlanNode {
 public:
  PlanNode(Segment s, std::size_t max_children) : segment(std::move(s)), children_(max_children) {}

  Segment segment;  // its graph is consumed by lowering
  std::shared_ptr<const Program> program;
  LedgerEntry tables;
  std::vector<ControlPlan> controls;

 private:
  friend class PlanTree;
  mutable PlanCache children_;
};

// All plans of one graph. Any thread.
class PlanTree {
 public:
  // `graph` and `weights` outlive the tree.
  PlanTree(const Graph& graph, std::shared_ptr<cpu::SharedWeights> weights, PlanOptions options,
           std::shared_ptr<Ledger> ledger, std::shared_ptr<Backend> backend = nullptr,
           std::shared_ptr<PlanWork> work = std::make_shared<PlanWork>())
      : graph_(graph),
        weights_(std::move(weights)),
        backend_(std::move(backend)),
        options_(std::move(options)),
        ledger_(std::move(ledger)),
        work_(std::move(work)),
        roots_(options.max_plans) {}

  const Graph& graph() const { return graph_; }
  const PlanOptions& options() const { return options_; }
  const std::shared_ptr<PlanWork>& work() const { return work_; }
  // For the maker of plans: how segments are lowered, and within which limits.
  LowerOptions lower_options(Team team, const Stop* stop) const;
  Status check_memory(const Program& program) const;
  DeviceLimits device_limits() const { return backend_ ? backend_->limits() : DeviceLimits(); }
  std::uint64_t most_arena() const;  // bytes that are left beside the weights
  // Of a strict device: that it computes all nodes.
  Status check_fallbacks(const Program& program) const;
  Backend* backend() const { return backend_.get(); }  // null: the CPU
  std::size_t max_plans() const { return std::max<std::size_t>(options_.max_plans, 1); }
  // True while the plans of the executable take more than is allowed, or what a session keeps for
  // them does: what it keeps for others than those of its last run should go.
  bool is_over_budget(std::size_t session_bytes) const {
    return std::max(ledger_->bytes(), session_bytes) > most_plan_bytes();
  }

  // The first segment for these inputs. `key` holds their structure, the wanted outputs and
  // `team`. `stop` (it may be null) ends the planning with its error.
  Result<std::shared_ptr<const PlanNode>> root(const PlanKey& key,
                                               std::span<const RuntimeValue> inputs,
                                               std::span<const std::size_t> wanted, Team team,
                                               const Stop* stop);
  // The segment after `node`, for the values that `node` left unresolved.
  Result<std::shared_ptr<const PlanNode>> next(const PlanNode& node, const PlanKey& key,
                                               std::span<const RuntimeValue> resolved, Team team,
                                               const Stop* stop);

 private:
  using Planned = Result<std::shared_ptr<const PlanNode>>;
  // The plan of this key in the cache, or a new one, which `make` makes.
  template <class F>
  Planned find_or_build(PlanCache& cache, const PlanKey& key, const Stop* stop, const F& make);
  Planned build(Segment segment, Team team, const Stop* stop);
  // From an artefact, without a search. `wanted`: the number of results.
  Planned build_saved(SavedPlan saved, std::span<const RuntimeValue> inputs, std::size_t wanted,
                      Team team, const Stop* stop);
  Planned with_program(std::shared_ptr<PlanNode> node, std::unique_ptr<Program> program) const;
  // The maker, or the error of `what` without one.
  Result<const PlanMaker*> maker(std::string_view what) const;
  std::size_t weight_bytes() const;  // of all plans that are held now
  std::size_t most_plan_bytes() const {
    return options_.max_plan_bytes ? options_.max_plan_bytes
                                   : std::numeric_limits<std::size_t>::max();
  }

  const Graph& graph_;
  std::shared_ptr<cpu::SharedWeights> weights_;
  std::shared_ptr<Backend> backend_;
  PlanOptions options_;
  std::shared_ptr<Ledger> ledger_;  // of all plans of the executable
  std::shared_ptr<PlanWork> work_;
  std::timed_mutex building_;  // one plan is made at a time; lookups go on meanwhile
  std::mutex mutex_;           // protects all caches
  PlanCache roots_;
};

}  // namespace quern
