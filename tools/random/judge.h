// SPDX-License-Identifier: Apache-2.0
// Whether what a device computed for a random model is right.
//
// The oracle is the reference on the graph without passes. Integers, truth values, and floats that
// no rounding has touched must have its bits (both zeros are equal, and all NaN are). Other floats
// may differ by a bound that the model itself gives: the reference runs again with every input,
// constant and result of a node moved by some units in the last place (64 of f32, 4 of f16 and
// bf16), and what that does to an element is what rounding may do to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/session.h>

#include "tools/random/random_model.h"

namespace quern::tools {

// Of one run: the tensors of each output, one unless it is a sequence.
using RunOutputs = std::vector<std::vector<Tensor>>;

Result<std::shared_ptr<const Executable>> compile_random(const RandomModel& model,
                                                         const std::shared_ptr<Device>& device,
                                                         const CompileOptions& options);
Result<RunOutputs> run_once(Session& session, const std::vector<RandomInput>& inputs);
// The runs one after the other in a session of the reference without passes.
Result<std::vector<RunOutputs>> reference_outputs(const RandomModel& model);

class Judge {
 public:
  // Errors: what the reference says of the model.
  static Result<Judge> make(const RandomModel& model);

  const std::vector<RunOutputs>& wanted() const { return wanted_; }
  // Whether `got` is right for this output of this run; "" or what is wrong.
  std::string verdict(std::size_t run, std::size_t output, const std::vector<Tensor>& got) const;

 private:
  struct Rule {
    bool exact = false;
    Grain grain = Grain::f32;
  };
  std::string compare_exact(const Tensor& got, const Tensor& wanted) const;
  std::string compare_rounded(std::size_t run, std::size_t output, std::size_t element,
                              const Tensor& got) const;

  std::vector<RunOutputs> wanted_;
  std::vector<Rule> rules_;
  // By grain: what the reference says to moved inputs.
  std::vector<std::vector<RunOutputs>> moved_[3];
};

}  // namespace quern::tools
