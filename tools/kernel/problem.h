// SPDX-License-Identifier: Apache-2.0
// A problem of `quern kernel`: one operator with its operands and what follows it, as a line of
// text (docs/kernel-lab.md has the grammar), and the graph that a line stands for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/custom_ops.h>
#include <quern/model.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern::tools::lab {

// The bounds of generated numbers: low <= x < high.
struct Range {
  double low = -1;
  double high = 1;

  bool operator==(const Range&) const = default;
};

struct OperandSpec {
  enum class Kind : std::uint8_t {
    input,     // other numbers in each call
    constant,  // a weight: kernels may pack it
    absent,    // an optional operand that is left out
  };

  Kind kind = Kind::input;
  TensorType type;
  std::optional<Range> range;    // nullopt: by the type
  std::vector<double> elements;  // of a constant; empty: generated

  bool operator==(const OperandSpec&) const = default;
};

// An elementwise operation on the result, as a node of its own that passes may fuse.
struct PostOpSpec {
  std::string op;                      // "Unary" or "Binary"
  std::string attributes;              // "kind=clip alpha=0 beta=6"
  std::optional<OperandSpec> operand;  // of a Binary; nullopt: an input like the result
  bool swapped = false;                // the operand is the left-hand side

  bool operator==(const PostOpSpec&) const = default;
};

struct Problem {
  std::string text;  // the line, with single spaces
  std::string op;    // an operator of docs/operators.md by its family, or "domain.Name" of --ops
  std::string attributes;
  std::vector<OperandSpec> operands;
  std::vector<PostOpSpec> post_ops;
  std::size_t outputs = 1;
  double weight = 1;  // how often a model runs it
};

// The most that the operands and results of one problem may take.
inline constexpr std::size_t max_problem_bytes = std::size_t{512} << 20;

// A line without sweeps. Errors: invalid_argument, with the word, what it is and what is wanted.
Result<Problem> parse_problem(std::string_view line);

// The lines that `line` stands for: `{64..512*2}`, `{1..9+4}` and `{1,3,7}` stand for their numbers
// in turn, several for each combination, the last one fastest; `c=64..512*2` behind conv: or
// matmul: for c{64..512*2}. Errors: invalid_argument, also for more than max_lines.
inline constexpr std::size_t max_lines = 4096;
Result<std::vector<std::string>> expand_sweeps(std::string_view line);

// The problems of a text with one line for each; `#` starts a comment. Errors name the line.
Result<std::vector<Problem>> parse_problems(std::string_view text);

// The graph of a problem: inputs x0, x1, ..., outputs y0, y1, ... Constants are made from `seed`.
// Errors: invalid_argument, with the problem and what inference says of it.
Result<Model> build_problem(const Problem& problem, std::uint64_t seed,
                            const std::shared_ptr<const CustomOps>& ops = nullptr);

// The specs of the graph's inputs, in order.
std::vector<OperandSpec> inputs_of(const Problem& problem, const Model& model);

// Numbers for an operand. Floats of 32 bits are multiples of 2^-20 of the range, so that none but 0
// is denormal. Errors: out_of_memory; unsupported, for strings.
Result<Tensor> generate_elements(const OperandSpec& spec, std::uint64_t seed);

// "const:f32[64,64,3,3]@0..1"
std::string operand_text(const OperandSpec& spec);
std::string post_op_text(const PostOpSpec& post_op);

}  // namespace quern::tools::lab
