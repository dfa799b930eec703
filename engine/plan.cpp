// SPDX-License-Identifier: Apache-2.0
#include "engine/plan.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/lower.h"
#include "graph/passes/pipeline.h"
#include "graph/verify.h"

namespace quern {

void append_structure(PlanKey& key, const RuntimeValue& value) {
  key.push_back(static_cast<std::int64_t>(value.kind));
  key.push_back(static_cast<std::int64_t>(value.tensors.size()));
  for (const TensorView& t : value.tensors) {
    key.push_back(static_cast<std::int64_t>(t.type.dtype) << 8 |
                  static_cast<std::int64_t>(t.type.shape.rank()));
    key.insert(key.end(), t.type.shape.begin(), t.type.shape.end());
  }
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

void PlanCache::insert(PlanKey key, std::shared_ptr<const PlanNode> plan) {
  if (entries_.size() >= std::max<std::size_t>(capacity_, 1))
    entries_.erase(std::ranges::min_element(entries_, {}, &Entry::used));
  entries_.push_back({std::move(key), std::move(plan), ++clock_});
}

Result<std::shared_ptr<const PlanNode>> PlanTree::root(const PlanKey& key,
                                                       std::span<const RuntimeValue> inputs,
                                                       std::span<const std::size_t> wanted,
                                                       int threads) {
  const std::scoped_lock lock(mutex_);
  if (auto found = roots_.find(key)) return found;
  QUERN_ASSIGN(Segment segment, begin_chain(graph_, inputs, wanted));
  QUERN_ASSIGN(auto node, build(std::move(segment), threads));
  roots_.insert(key, node);
  return node;
}

Result<std::shared_ptr<const PlanNode>> PlanTree::next(const PlanNode& node, const PlanKey& key,
                                                       std::span<const RuntimeValue> answers,
                                                       int threads) {
  const std::scoped_lock lock(mutex_);
  if (auto found = node.children_.find(key)) return found;
  QUERN_ASSIGN(Segment segment, continue_chain(*node.segment.rest, answers));
  QUERN_ASSIGN(auto child, build(std::move(segment), threads));
  node.children_.insert(key, child);
  return child;
}

Result<std::shared_ptr<const PlanNode>> PlanTree::build(Segment segment, int threads) {
  segment.graph.erase_dead();
  if (options_.optimize) QUERN_TRY(run_passes(segment.graph));
  // A vector<bool> has no bytes to point at.
  const std::unique_ptr<bool[]> dynamic(new bool[segment.dynamic_output.size()]);
  std::ranges::copy(segment.dynamic_output, dynamic.get());
  auto node = std::make_shared<PlanNode>(std::move(segment), options_.max_plans);
  QUERN_ASSIGN(node->program, cpu::lower(node->segment.graph,
                                         {.threads = threads,
                                          .reference_only = options_.reference_only,
                                          .strategy = options_.strategy,
                                          .weights = weights_.get(),
                                          .dynamic_outputs = {dynamic.get(), node->segment.dynamic_output.size()}}));
  node->segment.graph = Graph(graph_.ops());
  for (const ControlOp& c : node->segment.controls)
    node->controls.push_back({std::make_shared<PlanTree>(*c.body, weights_, options_)});
  return std::shared_ptr<const PlanNode>(std::move(node));
}

}  // namespace quern
