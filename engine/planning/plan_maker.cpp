// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/plan_maker.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engine/compile/executable_impl.h"
#include "engine/compile/ledger.h"
#include "engine/planning/lower.h"
#include "engine/planning/place.h"
#include "engine/planning/planning.h"
#include "engine/planning/striped.h"
#include "engine/vocabulary/host_memory.h"
#include "graph/passes/few_bits.h"
#include "graph/passes/narrow.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/quantized.h"
#include "kernels/contract/bf16.h"
#include "kernels/contract/integer_products.h"

namespace quern {
namespace {

// The bytes that kernels work in, by node.
std::vector<std::uint64_t> scratch_of(const Program& program,
                                      std::span<const StepMeaning> meanings) {
  std::vector<std::uint64_t> scratch;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (meanings[i].kind != StepMeaning::Kind::kernel) continue;
    const std::size_t node = index(meanings[i].node);
    scratch.resize(std::max(scratch.size(), node + 1), 0);
    scratch[node] = program.steps[i].scratch_bytes;
  }
  return scratch;
}

Result<std::unique_ptr<Program>> lower_to_bind(const PlanTree& tree, const Graph& graph,
                                               const LowerOptions& lowering,
                                               std::unique_ptr<Program> whole) {
  if (whole->too_large == 0) return whole;
  const auto fits = [&](const Program& p) -> Status {
    QUERN_TRY(tree.check_memory(p));
    if (p.too_large < whole->too_large) return {};
    return {Code::unsupported, "as many nodes have operands that the device cannot bind"};
  };
  StripeLimits limits{.arena = tree.most_arena(),
                      .fits = fits,
                      .memory = tree.options().memory_limit,
                      .operand = tree.device_limits().binding};
  auto striped = lower_in_stripes(graph, lowering, std::move(limits),
                                  {Code::unsupported, "no node can be computed by rows"});
  if (striped) return striped;
  const Code code = striped.error().code();
  if (code == Code::unsupported || code == Code::out_of_memory) return whole;
  return striped;
}

Result<std::unique_ptr<Program>> lower_within_limits(const PlanTree& tree, const Graph& graph,
                                                     LowerOptions lowering) {
  CachedStripes cached;
  if (tree.options().stripes) {
    QUERN_ASSIGN(cached, lower_in_cached_stripes(graph, lowering, tree.options().memory_limit));
    if (cached.program && !tree.check_memory(*cached.program).ok()) cached = {};
    if (cached.is_smaller) return std::move(cached.program);
  }
  std::vector<StepMeaning> meanings;
  lowering.meanings = &meanings;
  QUERN_ASSIGN(auto program, lower(graph, lowering));
  if (cached.program && arena_bytes(*cached.program) <= arena_bytes(*program))
    return std::move(cached.program);
  cached = {};  // and the packed weights that only it uses
  QUERN_ASSIGN(auto forced, lower_in_forced_stripes(graph, lowering, *program));
  if (forced) return forced;
  lowering.meanings = nullptr;
  const auto limits_of = [&](const Program& whole, std::uint64_t most) -> StripeLimits {
    return {most, [&](const Program& p) { return tree.check_memory(p); },
            scratch_of(whole, meanings), tree.options().memory_limit};
  };
  QUERN_ASSIGN(
      auto measured,
      lower_in_measured_stripes(graph, lowering, limits_of(*program, tree.most_arena()), *program));
  if (measured) return measured;
  Status fits = tree.check_memory(*program);
  if (!fits.ok() && lowering.scratch) {
    program.reset();  // and the packed weights that only it uses
    lowering.scratch = false;
    lowering.meanings = &meanings;
    QUERN_ASSIGN(program, lower(graph, lowering));
    lowering.meanings = nullptr;
    fits = tree.check_memory(*program);
  }
  // What the host's arena takes beside that of the device is about the same in stripes.
  const std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t host = program->arena_bytes;
  const std::uint64_t most = std::min(tree.device_limits().arena, any - host) + host;
  lowering.scratch = tree.options().scratch;  // little of it, for few rows
  if (fits.ok()) return lower_to_bind(tree, graph, lowering, std::move(program));
  // The weights of a plan in stripes are about those of this one.
  StripeLimits limits = limits_of(*program, std::min(most, tree.most_arena()));
  if (program->too_large > 0) limits.operand = tree.device_limits().binding;
  program.reset();
  tell_host(Host::Level::info,
            "whole tensors take more than the limits allow: the plan is looked for in stripes of "
            "rows");
  return lower_in_stripes(graph, lowering, std::move(limits), std::move(fits));
}

Result<std::unique_ptr<Program>> lower_segment(const PlanTree& tree, const Segment& segment,
                                               Team team, const Stop* stop) {
  QUERN_TRY(check_room(segment.graph, CompilePhase::lowering, tree.options().memory_limit));
  // A vector<bool> has no bytes to point at.
  const std::unique_ptr<bool[]> dynamic(new bool[segment.dynamic_output.size()]);
  std::ranges::copy(segment.dynamic_output, dynamic.get());
  LowerOptions lowering = tree.lower_options(team, stop);
  lowering.dynamic_outputs = {dynamic.get(), segment.dynamic_output.size()};
  QUERN_ASSIGN(auto program, lower_within_limits(tree, segment.graph, lowering));
  QUERN_TRY(tree.check_fallbacks(*program));
  return program;
}

class SearchingPlanMaker final : public PlanMaker {
 public:
  Result<Segment> first(const Graph& graph, std::span<const RuntimeValue> inputs,
                        std::span<const std::size_t> wanted, const Stop* stop) const override {
    return first_segment(graph, inputs, wanted, stop);
  }
  Result<Segment> next(const ResumePoint& rest, std::span<const RuntimeValue> resolved,
                       const Stop* stop) const override {
    return next_segment(rest, resolved, stop);
  }
  Result<std::unique_ptr<Program>> lower(const PlanTree& tree, Segment& segment, Team team,
                                         const Stop* stop) const override {
    QUERN_TRY(rewrite(segment.graph, tree.options(), stop));
    return lower_segment(tree, segment, team, stop);
  }
  lowering::PlaceFn place() const override { return lowering::place; }
  const Strategy& default_strategy() const override { return quern::default_strategy(); }

 private:
  static Status rewrite(Graph& graph, const PlanOptions& options, const Stop* stop) {
    graph.erase_dead();
    if (options.optimize) QUERN_TRY(run_passes(graph, {.stop = stop}));
    if (options.convolve_integers) {
      QUERN_TRY(scale_integer_convolutions(graph));
      QUERN_TRY(keep_quantized_weights(graph, rows_faster_by_few_bits()));
    }
    if (options.math == Math::bf16) return narrow_products(graph, faster_in_bf16);
    if (options.math != Math::f32) return narrow_products(graph, faster_in_bf16x3);
    return {};
  }
};

}  // namespace

const PlanMaker& plan_maker() {
  static const SearchingPlanMaker maker;
  return maker;
}

Result<PlanOptions> searching_plan_options(const CompileOptions& options,
                                           const DeviceInfo& device) {
  PlanOptions plan = plan_options(options, device);
  plan.maker = &plan_maker();
  plan.stripes =
      options.stripes && team_of_run(options.threads, options.thread_pool.get()).threads == 1;
  if (options.strategy.empty()) return plan;
  plan.strategy = find_strategy(options.strategy);
  if (!plan.strategy) return none_of("memory strategy", options.strategy, strategies());
  return plan;
}

}  // namespace quern
