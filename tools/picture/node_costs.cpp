// SPDX-License-Identifier: Apache-2.0
#include "tools/picture/node_costs.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

// The bytes of the arena that are in use in each step; empty where buffers are of several arenas.
std::vector<double> live_bytes(const PlanInfo& plan) {
  if (plan.segments != 1) return {};
  std::vector<double> live(plan.steps.size() + 1, 0);
  const auto change = [&](std::int64_t first, std::int64_t end, double bytes) {
    const auto last = static_cast<std::int64_t>(plan.steps.size());
    live[static_cast<std::size_t>(std::clamp<std::int64_t>(first, 0, last))] += bytes;
    live[static_cast<std::size_t>(std::clamp<std::int64_t>(end, 0, last))] -= bytes;
  };
  for (const BufferInfo& b : plan.buffers) {
    const auto size = static_cast<double>(b.bytes);
    change(b.first, b.end, size);
    for (const BufferInfo::Gap& g : b.gaps)
      change(g.first, g.end, static_cast<double>(g.to - g.from) - size);
  }
  for (std::size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  return live;
}

void add(NodeCost& sum, const NodeCost& one) {
  if (sum.kernel.find(one.kernel) == std::string::npos)
    sum.kernel += cat(sum.kernel.empty() ? "" : ", ", one.kernel);
  if (sum.layouts.empty()) sum.layouts = one.layouts;
  sum.flops += one.flops;
  sum.bytes += one.bytes;
  sum.live = std::max(sum.live, one.live);
  sum.ms += one.ms;
  sum.calls += one.calls;
}

// A number of the file that can be drawn.
double number_of(const Json& step, std::string_view key) {
  const Json* const found = step.find(key);
  const double number = found ? found->number() : 0;
  return std::isfinite(number) && number > 0 ? number : 0;
}

std::string text_of(const Json& step, std::string_view key) {
  const Json* const found = step.find(key);
  return found ? std::string(found->text()) : std::string();
}

NodeCost cost_of(const Json& step) {
  return {.kernel = text_of(step, "implementation"),
          .layouts = text_of(step, "layouts"),
          .flops = number_of(step, "flops"),
          .bytes = number_of(step, "bytes"),
          .ms = number_of(step, "ms"),
          .calls = number_of(step, "calls")};
}

}  // namespace

NodeCosts::Key NodeCosts::key_of(std::string_view name, std::string_view op) {
  return {std::string(name), std::string(op.substr(0, op.find('.')))};
}

NodeCosts::NodeCosts(const PlanInfo& plan) {
  const std::vector<double> live = live_bytes(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepInfo& s = plan.steps[i];
    steps_[key_of(s.node, s.op)].each.push_back({.kernel = s.implementation,
                                                 .layouts = s.layouts,
                                                 .flops = s.flops,
                                                 .bytes = s.bytes,
                                                 .live = live.empty() ? 0 : live[i]});
  }
  sum_up();
}

void NodeCosts::sum_up() {
  for (auto& [key, steps] : steps_) {
    steps.sum = {};
    for (const NodeCost& one : steps.each) add(steps.sum, one);
  }
}

Status NodeCosts::add_profile(const Json& profile) {
  const Json* const list = profile.find("steps");
  if (!list || list->items().empty() || !profile.find("run_ms"))
    return {Code::invalid_argument,
            "it has no \"steps\" and \"run_ms\": `quern profile MODEL --json` writes such a file"};
  run_ms_ = number_of(profile, "run_ms");
  std::map<Key, std::vector<NodeCost>> timed;
  for (const Json& step : list->items()) {
    timed[key_of(text_of(step, "node"), text_of(step, "op"))].push_back(cost_of(step));
    steps_ms_ += number_of(step, "ms");
  }
  for (auto& [key, costs] : timed) {
    Steps& steps = steps_[key];
    if (steps.each.empty()) {
      steps.each = std::move(costs);
    } else if (steps.each.size() == costs.size()) {
      for (std::size_t i = 0; i < costs.size(); ++i) {
        steps.each[i].ms = costs[i].ms;
        steps.each[i].calls = costs[i].calls;
      }
    } else if (steps.each.size() == 1) {
      for (const NodeCost& one : costs) steps.each[0].ms += one.ms;
      steps.each[0].calls = costs[0].calls;
    }
  }
  sum_up();
  return {};
}

const NodeCost* NodeCosts::find(std::string_view name, std::string_view op, std::size_t which,
                                std::size_t same) const {
  const auto found = steps_.find(key_of(name, op));
  if (found == steps_.end()) return nullptr;
  const Steps& steps = found->second;
  if (same == 1) return &steps.sum;
  return steps.each.size() == same && which < same ? &steps.each[which] : nullptr;
}

}  // namespace quern::tools
