// SPDX-License-Identifier: Apache-2.0
// Checks the results of a device for a random model.
//
// The first judge is the oracle (tools/oracle/error_bounds.h): the right answer in f64 and, for
// each element, a bound that is derived from the operations. It judges every float that rounding
// touches and whose bound is finite; the reference itself must be within all bounds that there are.
//
// Everything else is held to the reference on the graph without passes. Integers, truth values, and
// floats that no rounding has touched must have its bits (both zeros are equal, and all NaN are).
// Floats that the oracle leaves undetermined, or all of a run that it refuses, have a second judge:
// they may differ by what the model itself shows. The reference runs again with every input,
// constant and result of a node moved by some units in the last place (64 of f32, 4 of f16 and
// bf16), and what that does to an element is what rounding may do to it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/session.h>

#include "tools/levers.h"
#include "tools/oracle/error_bounds.h"
#include "tools/random/random_model.h"

namespace quern::tools {

// The outputs of one run: the tensors of each output, one unless it is a sequence.
using RunOutputs = std::vector<std::vector<Tensor>>;

Result<std::shared_ptr<const Executable>> compile_random(const RandomModel& model,
                                                         const std::shared_ptr<Device>& device,
                                                         const CompileOptions& options,
                                                         const Levers& way = {});
Result<RunOutputs> run_once(Session& session, const std::vector<RandomInput>& inputs);
// The runs one after the other in a session of the reference without passes.
Result<std::vector<RunOutputs>> reference_outputs(const RandomModel& model);

class Judge {
 public:
  // `arithmetic` is that of the runs to judge. Errors: what the reference says of the model.
  static Result<Judge> make(const RandomModel& model, Arithmetic arithmetic = Arithmetic::cpu);
  // The same where the reference has given `wanted`.
  static Result<Judge> make(const RandomModel& model, std::vector<RunOutputs> wanted,
                            Arithmetic arithmetic);

  const std::vector<RunOutputs>& wanted() const { return wanted_; }
  // Checks `got` for this output of this run; returns "" or a description of the error.
  std::string verdict(std::size_t run, std::size_t output, const std::vector<Tensor>& got) const;
  // Outputs for which the reference is outside the oracle's bound: one of the two is defective.
  struct Fault {
    std::string output;
    std::string reason;
  };
  const std::vector<Fault>& faults() const { return faults_; }
  // The share of the rounded floats that the oracle judges.
  const Share& share() const { return share_; }

 private:
  struct Rule {
    bool exact = false;
    Grain grain = Grain::f32;
  };
  // The oracle's bounds for an output; null if it rejects the run.
  const BoundedValue* bounds(std::size_t run, std::size_t output) const;
  void ask_oracle(const RandomModel& model, const Model& parsed, Arithmetic arithmetic);
  void check_reference(const RandomModel& model);
  void count_and_move(const RandomModel& model);
  std::string compare_exact(const Tensor& got, const Tensor& wanted) const;
  std::string compare_moved(std::size_t run, std::size_t output, std::size_t element,
                            const Tensor& got) const;

  std::vector<RunOutputs> wanted_;
  std::vector<Rule> rules_;
  // By run: one value for each output, or none if the oracle rejects the run.
  std::vector<std::vector<BoundedValue>> bounds_;
  std::vector<Fault> faults_;
  Share share_;
  // By grain: the reference's results for moved inputs. Only for grains that the second judge
  // needs.
  std::vector<std::vector<RunOutputs>> moved_[3];
};

}  // namespace quern::tools
