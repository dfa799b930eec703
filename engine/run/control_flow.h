// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/run/runner.h"

namespace quern {

// Executes one Loop or Scan: a Runner of its own runs the body; carried values and collected
// results are in blocks of the session's memory that are kept between runs.
class ControlRunner {
 public:
  virtual ~ControlRunner() = default;
  // `inputs` are the operator's, in order; an absent input has kind none. Results are valid until
  // the next run.
  virtual Status run(std::span<const RuntimeValue> inputs, const RunOptions& options) = 0;
  std::span<const RuntimeValue> outputs() const { return outputs_; }
  virtual std::size_t table_bytes() const = 0;  // Runner::table_bytes() of the body

  static std::unique_ptr<ControlRunner> create(const ControlOp& op, const ControlPlan& plan,
                                               Team team, RunMemory& memory);

 protected:
  std::vector<RuntimeValue> outputs_;
};

}  // namespace quern
