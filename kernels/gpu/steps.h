// SPDX-License-Identifier: Apache-2.0
// Functions of elements as the shaders number them, and chains of them at the end of a kernel:
// shaders/scalar_ops.glsl and steps.glsl.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/contract/kernel.h"

namespace quern::gpu {

// Nothing: no shader has it.
std::optional<std::uint32_t> code_of(UnaryKind kind);
std::optional<std::uint32_t> code_of(BinaryKind kind);
inline constexpr std::uint32_t where_code = 96;
inline constexpr std::uint32_t copy_code = 97;

// The result that steps work on: its shape and where its elements lie.
struct StepTarget {
  const Shape& shape;
  const Layout& layout;  // dense
  bool vectors;          // results come in fours that begin at multiples of four
};

// The functions that a shader has: all, or those of FEW_STEPS in steps.glsl.
enum class StepSet : std::uint8_t { all, few };

// Up to four steps of a dispatch, to be built one by one.
class Steps {
 public:
  static constexpr std::size_t max = 4;
  explicit Steps(StepTarget target, StepSet set) : target_(target), set_(set) {}

  // False: the shader does not have it, or the operand lies in a way that it cannot read; nothing
  // has changed.
  bool add(const Unary& op);
  bool add(const BinaryPostOp& op, const KernelInput& operand);
  // Adds floats that lie as the result does.
  bool add_flat(BufferUse operand);
  // Adds input `input`, one element a channel, to results whose channels lie innermost.
  bool add_bias(std::uint32_t input, std::int64_t channels);
  // As many of the node's post-ops as go, in order; says how many.
  std::size_t add_post_ops(const KernelRequest& request);
  std::size_t size() const { return steps_.size(); }
  // None of them, of the same result.
  Steps none() const { return Steps(target_, set_); }

  // Puts the steps at the end of a dispatch whose own buffers, push words and constants (at most
  // ten) are complete.
  void finish(Dispatch& d) const;
  // Layouts that the operands are read in, by input of the node.
  void ask_layouts(std::vector<Layout>& input_layouts) const;

 private:
  struct Step {
    std::uint32_t code = 0;
    std::uint32_t read = 0;  // 0: no operand
    BufferUse operand;
    float alpha = 0, beta = 0;
    std::uint32_t period = 1, inner = 1;
    Layout layout;
  };
  bool place_operand(const KernelInput& operand, Step& step) const;

  StepTarget target_;
  StepSet set_;
  std::vector<Step> steps_;
};

}  // namespace quern::gpu
