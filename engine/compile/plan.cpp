// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/plan.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "engine/lowering/lower.h"
#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/text_util.h"
#include "graph/text.h"

namespace quern {

Status no_plan_maker(std::string_view what) {
  return {Code::unsupported,
          cat(what,
              ", and this library runs what is compiled but compiles nothing: `quern compile` "
              "writes a plan for each shape that --dim names")};
}

void append_structure(PlanKey& key, const RuntimeValue& value) {
  key.push_back(static_cast<std::int64_t>(value.kind));
  key.push_back(static_cast<std::int64_t>(value.tensors.size()));
  for (const TensorView& t : value.tensors) {
    key.push_back(static_cast<std::int64_t>(t.type.dtype) << 8 |
                  static_cast<std::int64_t>(t.type.shape.rank()));
    key.insert(key.end(), t.type.shape.begin(), t.type.shape.end());
  }
}

void append_team(PlanKey& key, Team team) {
  key.push_back(team.threads);
  key.push_back(static_cast<std::int64_t>(team.kind));
}

PlanKey root_key(Team team, std::span<const std::size_t> wanted,
                 std::span<const RuntimeValue> inputs) {
  PlanKey key;
  append_team(key, team);
  key.insert(key.end(), wanted.begin(), wanted.end());
  key.push_back(-1);
  for (const RuntimeValue& v : inputs) append_structure(key, v);
  return key;
}

void append_elements(PlanKey& key, const TensorView& tensor) {
  const std::size_t bytes = tensor.type.bytes();
  for (std::size_t at = 0; at < bytes; at += sizeof(std::int64_t)) {
    std::int64_t word = 0;
    std::memcpy(&word, tensor.data + at, std::min(sizeof word, bytes - at));
    key.push_back(word);
  }
}

std::shared_ptr<const PlanNode> PlanCache::find(const PlanKey& key) {
  for (Entry& e : entries_) {
    if (e.key != key) continue;
    e.used = ++clock_;
    return e.plan;
  }
  return nullptr;
}

void PlanCache::insert(PlanKey key, std::shared_ptr<const PlanNode> plan, std::size_t most_bytes) {
  const auto drop_oldest = [&] {
    entries_.erase(std::ranges::min_element(entries_, {}, &Entry::used));
  };
  if (entries_.size() >= std::max<std::size_t>(capacity_, 1)) drop_oldest();
  std::size_t bytes = plan->tables.bytes();
  for (const Entry& e : entries_) bytes += e.plan->tables.bytes();
  while (!entries_.empty() && bytes > most_bytes) {
    bytes -= std::ranges::min_element(entries_, {}, &Entry::used)->plan->tables.bytes();
    drop_oldest();
  }
  entries_.push_back({std::move(key), std::move(plan), ++clock_});
}

namespace {

// Waits for the mutex, but no longer than until `stop` is reached.
Status lock_until(std::unique_lock<std::timed_mutex>& lock, const Stop* stop) {
  if (!stop) {
    lock.lock();
    return {};
  }
  while (!lock.try_lock_for(std::chrono::milliseconds(2))) QUERN_TRY(stop->check());
  return {};
}

}  // namespace

template <class F>
PlanTree::Planned PlanTree::find_or_build(PlanCache& cache, const PlanKey& key, const Stop* stop,
                                          const F& make) {
  const auto find = [&] {
    const std::scoped_lock lock(mutex_);
    return cache.find(key);
  };
  if (auto found = find()) return found;
  std::unique_lock build_lock(building_, std::defer_lock);
  QUERN_TRY(lock_until(build_lock, stop));
  if (auto found = find()) return found;  // another thread made it meanwhile
  QUERN_ASSIGN(auto node, make());
  // Searches that were ended early gave a plan that another run would not want.
  if (stop) QUERN_TRY(stop->check());
  const std::scoped_lock lock(mutex_);
  cache.insert(key, node, most_plan_bytes());
  return node;
}

PlanTree::Planned PlanTree::root(const PlanKey& key, std::span<const RuntimeValue> inputs,
                                 std::span<const std::size_t> wanted, Team team, const Stop* stop) {
  return find_or_build(roots_, key, stop, [&]() -> Planned {
    if (options_.saved) {
      QUERN_ASSIGN(auto saved, options_.saved->find(std::span(key).subspan(team_words)));
      if (saved) return build_saved(*std::move(saved), inputs, wanted.size(), team, stop);
      if (options_.saved->are_all())
        return Status(Code::unsupported,
                      cat("the artefact holds plans for ", options_.saved->shapes(),
                          " and all outputs only: compile the model again, with the shape that is "
                          "wanted or with --portable"));
    }
    QUERN_ASSIGN(const PlanMaker* const m,
                 maker("a plan is wanted that the artefact does not hold"));
    QUERN_ASSIGN(Segment segment, m->first(graph_, inputs, wanted, stop));
    return build(std::move(segment), team, stop);
  });
}

PlanTree::Planned PlanTree::next(const PlanNode& node, const PlanKey& key,
                                 std::span<const RuntimeValue> resolved, Team team,
                                 const Stop* stop) {
  return find_or_build(node.children_, key, stop, [&]() -> Planned {
    QUERN_ASSIGN(const PlanMaker* const m, maker("shapes depend on what a run computes"));
    QUERN_ASSIGN(Segment segment, m->next(*node.segment.rest, resolved, stop));
    return build(std::move(segment), team, stop);
  });
}

Result<const PlanMaker*> PlanTree::maker(std::string_view what) const {
  if (!options_.maker) return no_plan_maker(what);
  return options_.maker;
}

Status PlanTree::check_fallbacks(const Program& program) const {
  if (!backend_ || !backend_->is_strict() || program.fallbacks.empty()) return {};
  return no_kernel_error(program.fallbacks);
}

Status PlanTree::check_memory(const Program& program) const {
  const std::uint64_t on_device = device_limits().arena;
  if (program.device_plan.size > on_device)
    return {Code::out_of_memory,
            cat("a plan wants ", program.device_plan.size,
                " bytes of arena on the device, which gives at most ", on_device, " in one piece")};
  const std::uint64_t arena = arena_bytes(program);
  if (arena <= most_arena()) return {};
  if (options_.arena_limit && arena > options_.arena_limit)
    return {Code::out_of_memory,
            cat("a plan wants ", arena, " bytes of arena, the limit is ", options_.arena_limit)};
  return {Code::out_of_memory, cat("a plan wants ", weight_bytes(), " bytes of weights and ", arena,
                                   " of arena, the limit is ", options_.memory_limit)};
}

std::uint64_t PlanTree::most_arena() const {
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  const std::size_t limit = options_.memory_limit ? options_.memory_limit : any;
  return std::min(options_.arena_limit ? options_.arena_limit : any,
                  limit - std::min(limit, weight_bytes()));
}

std::size_t PlanTree::weight_bytes() const {
  return weights_->bytes() + (backend_ ? backend_->constant_bytes() : 0);
}

LowerOptions PlanTree::lower_options(Team team, const Stop* stop) const {
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  return {.team = team,
          .reference_only = options_.reference_only,
          .entry = options_.entry,
          .measured = options_.tuning ? &entries_of(*options_.tuning) : nullptr,
          .strategy = options_.strategy,
          .order = options_.order,
          .alias = options_.alias,
          .scratch = options_.scratch,
          .weights = weights_.get(),
          .backend = backend_.get(),
          .half_products = options_.half_products,
          .flush_denormals = options_.flush_denormals,
          .memory_limit = options_.memory_limit ? options_.memory_limit : any,
          .stop = stop,
          .record = options_.record,
          .searches = &work_->searches};
}

PlanTree::Planned PlanTree::build(Segment segment, Team team, const Stop* stop) {
  ++work_->graphs;
  auto node = std::make_shared<PlanNode>(std::move(segment), options_.max_plans);
  auto program = options_.maker->lower(*this, node->segment, team, stop);
  weights_->forget_recent_code();
  if (!program) return std::move(program).error();
  return with_program(std::move(node), *std::move(program));
}

namespace {

// What a plan is that its host may not expect.
void tell_of(const Program& program) {
  std::string names;
  for (const std::string& node : program.fallbacks) {
    if (names.size() > 300) {
      names += ", ...";
      break;
    }
    names += cat(names.empty() ? "" : ", ", node);
  }
  if (!names.empty())
    tell_host(Host::Level::warning, cat(program.fallbacks.size(),
                                        " nodes have no kernel for the device and run on the "
                                        "CPU: ",
                                        names));
  if (!program.is_searched)
    tell_host(Host::Level::info,
              "the plan is so large that order and offsets come from lists instead of a search");
}

// An input stays as it was where something reads it after the program: another segment, a body, the
// caller, who is given it as a result.
void drop_read_inputs(const Segment& segment, std::vector<Update>& updates) {
  if (segment.rest || !segment.controls.empty()) return updates.clear();
  std::erase_if(updates, [&](const Update& u) {
    const SlotRef input = segment.inputs[u.input];
    return std::ranges::any_of(segment.results, [&](const ResultRef& r) {
      return r.whole_slot == input.slot || std::ranges::find(r.tensors, input) != r.tensors.end();
    });
  });
}

}  // namespace

PlanTree::Planned PlanTree::with_program(std::shared_ptr<PlanNode> node,
                                         std::unique_ptr<Program> program) const {
  tell_of(*program);
  drop_read_inputs(node->segment, program->updates);
  node->program = std::move(program);
  node->segment.graph = Graph(graph_.ops());
  node->tables = LedgerEntry(ledger_, table_bytes(*node->program));
  PlanOptions of_bodies = options_;
  of_bodies.saved = nullptr;
  for (const ControlOp& c : node->segment.controls)
    node->controls.push_back(
        {std::make_shared<PlanTree>(*c.body, weights_, of_bodies, ledger_, backend_, work_)});
  return std::shared_ptr<const PlanNode>(std::move(node));
}

namespace {

// The inputs of a saved plan have the types of these values, its slots and results those of a
// program: an artefact may say anything.
Status check_segment(const Segment& segment, const Graph& graph,
                     std::span<const RuntimeValue> inputs, std::size_t wanted) {
  const auto bad = [](std::string_view what) {
    return Status(Code::invalid_model, cat("a plan of the artefact ", what));
  };
  if (segment.inputs.size() != graph.inputs().size() ||
      segment.outputs.size() != graph.outputs().size())
    return bad("has another number of inputs or outputs than its graph");
  for (std::size_t i = 0; i < segment.inputs.size(); ++i) {
    const auto [slot, element] = segment.inputs[i];
    if (slot >= inputs.size() || element >= inputs[slot].tensors.size())
      return bad("reads an input that there is not");
    const TensorType& type = inputs[slot].tensors[element].type;
    if (graph.type(graph.inputs()[i]) != ValueType(type))
      return bad(cat("reads ", type_text(graph.type(graph.inputs()[i])), " where the input is ",
                     type.text()));
  }
  // Slots of outputs are those after the inputs, each once, in their order.
  if (segment.slot_count != inputs.size() + segment.outputs.size())
    return bad("has slots that nothing fills");
  for (std::size_t i = 0; i < segment.outputs.size(); ++i)
    if (segment.outputs[i] != inputs.size() + i) return bad("fills its slots in another order");
  if (segment.results.size() != wanted) return bad("has another number of results");
  for (const ResultRef& r : segment.results)
    for (const SlotRef& t : r.tensors)
      if (t.slot >= segment.slot_count ||
          t.element >= (t.slot < inputs.size() ? inputs[t.slot].tensors.size() : 1))
        return bad("has a result that there is not");
  return {};
}

}  // namespace

PlanTree::Planned PlanTree::build_saved(SavedPlan saved, std::span<const RuntimeValue> inputs,
                                        std::size_t wanted, Team team, const Stop* stop) {
  const Recipe& recipe = saved.recipe;
  QUERN_TRY(check_segment(saved.segment, recipe.graph, inputs, wanted));
  QUERN_TRY(check_room(recipe.graph, CompilePhase::lowering, options_.memory_limit));
  LowerOptions lowering = lower_options(team, stop);
  lowering.order = recipe.order;
  lowering.scratch = recipe.scratch;
  lowering.stripes = recipe.stripes;
  lowering.recipe = &recipe;
  PackedFormats formats;
  if (recipe.stripes != Stripes::none)
    lowering.formats = &formats;  // in stripes, as lower_in_stripes() does
  saved.segment.dynamic_output.assign(saved.segment.outputs.size(), false);
  auto program = lower_with(recipe.graph, lowering,
                            options_.maker ? options_.maker->place() : lowering::place_plainly);
  weights_->forget_recent_code();
  if (!program) return std::move(program).error();
  QUERN_TRY(check_memory(**program));
  QUERN_TRY(check_fallbacks(**program));
  auto node = std::make_shared<PlanNode>(std::move(saved.segment), options_.max_plans);
  return with_program(std::move(node), *std::move(program));
}

}  // namespace quern
