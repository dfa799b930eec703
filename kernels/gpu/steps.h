// SPDX-License-Identifier: Apache-2.0
// The shaders' codes of elementwise functions, and chains of such functions at the end of a kernel:
// see shaders/scalar_ops.glsl and steps.glsl.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/contract/kernel.h"

namespace quern {
enum class UnaryKind : std::uint8_t;
}  // namespace quern

namespace quern::gpu {

// nullopt if no shader has the function.
std::optional<std::uint32_t> code_of(UnaryKind kind);
std::optional<std::uint32_t> code_of(BinaryKind kind);
inline constexpr std::uint32_t where_code = 96;
inline constexpr std::uint32_t copy_code = 97;
inline constexpr std::uint32_t quantize_code = 98;
inline constexpr std::uint32_t dequantize_code = 99;

// The result that steps are applied to: its shape and layout.
struct StepTarget {
  const Shape& shape;
  const Layout& layout;  // dense
  bool vectors;          // results come in aligned groups of four
};

// A function of the result and of what the node reads under this number (KernelRequest::read).
// `swapped`: the result is its right-hand side.
struct BinaryStep {
  BinaryKind kind;
  std::uint32_t read;
  bool swapped = false;
};

// The functions that a shader has: all, or those of FEW_STEPS in steps.glsl.
enum class StepSet : std::uint8_t { all, few };

// Builder of up to four steps of a dispatch.
class Steps {
 public:
  static constexpr std::size_t max = 4;
  explicit Steps(StepTarget target, StepSet set) : target_(target), set_(set) {}

  // False if the shader lacks the function or cannot read the operand's layout; then nothing has
  // changed.
  bool add(const Unary& op);
  bool add_factor(float factor);
  bool add(const BinaryStep& op, const KernelInput& operand);
  // Adds input `input` of the node.
  bool add_sum(std::uint32_t input, const KernelInput& operand);
  // Adds floats in the layout of the result.
  bool add_flat(BufferUse operand);
  // Adds input `input`, one element per channel, to results whose channels are innermost.
  bool add_bias(std::uint32_t input, std::int64_t channels);
  // Adds the longest possible prefix of the node's post-ops; returns its length.
  std::size_t add_post_ops(const KernelRequest& request);
  std::size_t size() const { return steps_.size(); }
  // An empty chain for the same result.
  Steps none() const { return Steps(target_, set_); }

  // Appends the steps to a dispatch whose own buffers, push words and constants (at most ten) are
  // complete.
  void finish(Dispatch& d) const;
  // Sets the layouts in which the operands are read, by input of the node.
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
