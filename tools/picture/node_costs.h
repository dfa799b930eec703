// SPDX-License-Identifier: Apache-2.0
// What a plan and a profile say of nodes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/executable.h>

#include "tools/json.h"

namespace quern::tools {

// Of a run; 0: nobody says, or nothing.
struct NodeCost {
  std::string kernel, layouts;
  double flops = 0;
  double bytes = 0;  // inputs, weights and outputs, each once
  double live = 0;   // bytes of the arena that are in use while it runs
  double ms = 0;
  double calls = 0;
};

// Steps of a plan and of a profile, by the name and the operator of their node.
class NodeCosts {
 public:
  NodeCosts() = default;
  explicit NodeCosts(const PlanInfo& plan);
  // Adds the times of what `quern profile --json` wrote; without a plan its kernels, too. Errors:
  // invalid_argument, for another document.
  Status add_profile(const Json& profile);

  // The cost of node `which` of `same` nodes that have this name and this operator, in the order of
  // a run; null where there are not as many steps, unless one node has them all.
  const NodeCost* find(std::string_view name, std::string_view op, std::size_t which,
                       std::size_t same) const;

  double run_ms() const { return run_ms_; }      // of the profile; 0: there is none
  double steps_ms() const { return steps_ms_; }  // of all its kernels

 private:
  using Key = std::pair<std::string, std::string>;
  struct Steps {
    std::vector<NodeCost> each;
    NodeCost sum;
  };

  static Key key_of(std::string_view name, std::string_view op);
  void sum_up();

  std::map<Key, Steps> steps_;
  double run_ms_ = 0;
  double steps_ms_ = 0;
};

}  // namespace quern::tools
