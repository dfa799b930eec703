// SPDX-License-Identifier: Apache-2.0
// Plans that an artefact holds, as the tree of plans asks for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quern/status.h>

#include "engine/compile/specialize.h"
#include "engine/lowering/recipe.h"

namespace quern {

// The key of a plan: the shapes, elements and options that it was made for, as numbers. Those of
// the team come first.
using PlanKey = std::vector<std::int64_t>;
inline constexpr std::size_t team_words = 2;

// A model that is one segment without loops. The segment has no graph: that of the recipe is it.
struct SavedPlan {
  Segment segment;
  Recipe recipe;
};

// Immutable. Any thread.
class SavedPlans {
 public:
  virtual ~SavedPlans() = default;
  // The plan of a key, whatever its team; nothing: there is none. Errors: invalid_model.
  virtual Result<std::optional<SavedPlan>> find(std::span<const std::int64_t> key) const = 0;
  // True if nothing else can be planned, since weights are missing.
  virtual bool are_all() const = 0;
  // The shapes that there are plans for, for messages.
  virtual std::string shapes() const = 0;
};

}  // namespace quern
