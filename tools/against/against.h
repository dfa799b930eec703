// SPDX-License-Identifier: Apache-2.0
// quern verify --against: a model on two devices, the first node where they part, and the smallest
// part of the model that shows it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <quern/status.h>

#include "tools/against/bisect.h"
#include "tools/console.h"
#include "tools/options.h"

namespace quern::tools {

// A party whose answers are compared.
struct Party {
  std::string name;
  Evaluator evaluate;
};

enum class Bisect : std::uint8_t { no, yes };

struct Finding {
  std::string inputs;                        // where they come from
  std::map<std::string, std::string> types;  // of every value
  Trial outputs;                             // the model as it is
  Trial values;                              // with every value handed out, in execution order
  std::string values_refused;                // why there are none
  std::optional<Cut> cut;                    // the smallest part that shows a difference
  std::vector<std::string> cut_inputs;
  Trial cut_trial;
  std::size_t runs = 0;
  bool out_of_time = false;
  std::string written;  // the folder of the cut as a case

  bool parts() const { return outputs.first() != nullptr || values.first() != nullptr; }
};

struct Investigation {
  const SourceModel& model;
  Party tested;
  Party judge;
  Criterion criterion;
  Bisect bisect = Bisect::no;
  std::string write;  // a folder for the cut; empty: none
};

// Errors: one of the two refuses the model or its inputs (in the model's order).
Result<Finding> investigate(const Investigation& what, const std::vector<InputValue>& inputs);

std::string finding_text(const Investigation& what, const Finding& finding, const Console& console);
Json finding_json(const Investigation& what, const Finding& finding);

Result<ExitCode> verify_against(const VerifyArgs& args, const Console& console);

}  // namespace quern::tools
