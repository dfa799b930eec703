// SPDX-License-Identifier: Apache-2.0
// Which part of a model an evaluator computes otherwise than it should.
//
// An error may show in a single node, or only if several nodes run together: fusion, layouts and
// memory need neighbours. Therefore parts of the graph are run on input values that are known to be
// right, and a part that still fails is made smaller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <quern/status.h>

#include "tools/against/difference.h"
#include "tools/against/evaluate.h"
#include "tools/against/source.h"

namespace quern::tools {

struct PartingValue {
  std::string name;
  Divergence difference;
};

// A cut, run by what is tested.
struct Trial {
  std::vector<PartingValue> values;  // all that it hands out, in the order of cut.outputs
  std::vector<StepInfo> steps;

  // The first that parts, in that order; null: none.
  const PartingValue* first() const;
  std::size_t parted() const;
};

class Bisection {
 public:
  struct Limits {
    std::size_t runs_max = 2000;
    double seconds_max = 600;
  };

  // `known`: what every value should be.
  Bisection(const SourceModel& model, Evaluator tested, const KnownValues& known,
            const Criterion& criterion, const Limits& limits);
  Bisection(const SourceModel& model, Evaluator tested, const KnownValues& known,
            const Criterion& criterion)
      : Bisection(model, std::move(tested), known, criterion, Limits()) {}

  // Errors: what is tested refuses the cut, or a value is not known.
  Result<Trial> run(const Cut& cut);

  // Makes the cut smaller as long as a difference remains; nullopt if there is none to begin with.
  std::optional<Cut> smallest(const Cut& start);
  // The node by itself.
  Cut alone(std::uint32_t node) const;
  std::size_t runs() const { return runs_; }
  bool out_of_time() const;  // what smallest() gave could be smaller

 private:
  bool parts(const Cut& cut);
  bool parts_somehow(Cut& cut);
  Cut front_of(const Cut& cut, std::size_t count) const;
  Cut back_of(const Cut& cut, std::size_t first) const;
  Cut without(const Cut& cut, std::size_t first, std::size_t count) const;
  Cut shorter_behind(const Cut& cut);
  Cut shorter_before(const Cut& cut);
  Cut fewer_outputs(Cut cut);
  Cut fewer_nodes(Cut cut);

  const SourceModel& model_;
  Evaluator tested_;
  const KnownValues& known_;
  Criterion criterion_;
  Limits limits_;
  std::size_t runs_ = 0;
  double begin_s_;
};

}  // namespace quern::tools
