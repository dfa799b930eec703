// SPDX-License-Identifier: Apache-2.0
// Numbers for the inputs of a problem, and which answers are right for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <quern/executable.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "tools/compare.h"
#include "tools/kernel/problem.h"
#include "tools/oracle/error_bounds.h"

namespace quern::tools::lab {

// The judge of the answers of one problem. An answer is right where it lies within the bound that
// the oracle derives from the right value in f64 (docs/error-bounds.md). Where the oracle has no
// rule, it is compared with the device `reference`.
class Answers {
 public:
  struct Options {
    Arithmetic arithmetic = Arithmetic::cpu;
    Math math = Math::f32;  // products in bf16 are judged more loosely: docs/kernel-lab.md
    std::size_t sets = 3;   // of inputs, at least 2
    std::uint64_t seed = 1;
  };
  // Evaluates the problem once for each set. Errors: those of the reference.
  static Result<Answers> make(const Problem& problem, const Model& model, const Options& options);

  std::size_t sets() const { return sets_.size(); }
  const std::vector<Tensor>& inputs(std::size_t set) const { return sets_[set].inputs; }
  std::size_t outputs() const { return sets_[0].outputs.size(); }
  const TensorType& output_type(std::size_t output) const { return types_[output]; }

  // Writes what is no answer: each byte of the right answer is another one.
  void spoil(std::size_t set, std::size_t output, std::byte* to) const;
  // "" if `got` is right, else a sentence.
  std::string verdict(std::size_t set, std::size_t output, const TensorView& got) const;
  // The oracle's, or "reference".
  const std::string& judge() const { return judge_; }

 private:
  struct Output {
    Tensor right;  // in the type of the output, for spoil()
    BoundedTensor bounded;
    // Of f32: the bounds as numbers of that type, which are quick to look at.
    std::vector<float> least, most;
  };
  struct Set {
    std::vector<Tensor> inputs;
    std::vector<Output> outputs;
  };

  Status ask_oracle(const Model& model, const Options& options, Set& set) const;
  Status ask_reference(const Model& model, Set& set) const;

  std::vector<TensorType> types_;
  std::vector<Set> sets_;
  Criterion criterion_;
  std::string judge_ = "oracle";
};

}  // namespace quern::tools::lab
