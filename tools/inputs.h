// SPDX-License-Identifier: Apache-2.0
// Inputs of a model: from files, pictures and data sets, or generated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quern/model.h>
#include <quern/session.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/type.h"
#include "tools/fitting.h"
#include "tools/options.h"

namespace quern::tools {

// The value of one input; owns the elements, which are aligned.
struct InputValue {
  enum class Kind : std::uint8_t { tensor, sequence, none };

  Kind kind = Kind::tensor;
  std::vector<Tensor> tensors;
  std::string origin;                           // "generated", or the file
  bool guessed_shape = false;                   // free dimensions were filled in
  std::map<std::string, std::int64_t> guesses;  // ... those that have names

  bool generated() const { return origin == "generated"; }
  std::string text() const;  // "f32[1,3,224,224]", "sequence of 2"
};

// Numbers for free dimensions.
struct Dimensions {
  std::map<std::string, Shape> shapes;          // by input
  std::map<std::string, std::int64_t> symbols;  // by name
  std::map<std::string, std::int64_t> guesses;  // by name, where nobody said anything
};
// Errors: invalid_argument for unknown names, with those there are.
Result<Dimensions> parse_dimensions(const InputArgs& args, const std::vector<ValueSpec>& specs);

// Every dimension of the input that is known, -1 for the rest.
std::vector<std::int64_t> known_dims(const ValueSpec& spec, const Dimensions& dimensions);

// One value per input, in their order. What nothing is said about is generated from args.seed:
// elements that fit its readers where `fits` has them, else floats in [0, 1), small integers, masks
// of ones; one tensor to a sequence, empty optionals, one element where any shape will do.
Result<std::vector<InputValue>> make_inputs(const std::vector<ValueSpec>& specs,
                                            const ModelMetadata& metadata, const InputArgs& args,
                                            double default_crop = 1, const Fits& fits = {});

// `args` with other numbers for what was guessed of `inputs`, for models that the first guess does
// not fit: one dimension the sum of two others (past and new tokens), all ones, other ranks, a
// signal among ones.
std::vector<InputArgs> other_guesses(const InputArgs& args, const std::vector<ValueSpec>& specs,
                                     const std::vector<InputValue>& inputs);

// Elements of `type` for an input called `name`.
Result<Tensor> generate_tensor(const TensorType& type, std::string_view name, std::uint64_t seed,
                               const std::optional<Fit>& fit = std::nullopt);

// Reads input_K.pb or output_K.pb for an input or output of this type.
Result<InputValue> read_value(const std::string& path, const ValueSpec& spec);
ValueType value_type(const ValueSpec& spec);
// "f32[batch,3,?,?]", "sequence of f32[?]"
std::string spec_text(const ValueSpec& spec);

// `values` outlive the run.
Status bind_inputs(Session& session, std::span<const InputValue> values);

}  // namespace quern::tools
