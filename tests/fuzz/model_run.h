// SPDX-License-Identifier: Apache-2.0
// A hostile model compiled and run on inputs that are made for it, in bounded memory and time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <quern/executable.h>
#include <quern/model.h>
#include <quern/tensor.h>

#include "tools/oracle/error_bounds.h"

namespace quern::fuzz {

using tools::OracleInput;

// One run's answer: an error, or every byte of every output.
struct Answer {
  struct Element {
    TensorType type;
    std::vector<std::byte> bytes;    // of numbers
    std::vector<std::string> texts;  // of strings
  };

  Code code = Code::ok;
  std::string message;
  std::vector<std::vector<Element>> outputs;  // of each output: one, a sequence, or nothing
};

enum class Inputs : std::uint8_t {
  plain,
  // Floats are a little larger: outputs that this moves far say nothing about rounding.
  moved,
};

constexpr int rounds = 2;  // in one session: other sizes, other numbers, optionals that are empty

// This makes the inputs of a round: free dimensions are 2, then 3; optionals are there, then not.
// Errors: Code::busy where a tensor is too large for a fuzzer, or none can have its shape.
Result<std::vector<OracleInput>> make_inputs(const std::vector<ValueSpec>& specs, int round,
                                             Inputs inputs);

// The device that is held to the reference: "cpu", or what the environment names as
// QUERN_FUZZ_DEVICE ("vulkan").
std::string tested_device();

// This returns the answer of each round. Code::busy, timed_out and out_of_memory mean that the
// model was too much for a fuzzer.
std::vector<Answer> run_model(const Model& model, const std::string& device, CompileOptions options,
                              Inputs inputs);

}  // namespace quern::fuzz
