// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv_tail.h"

#include <utility>

#include "engine/vocabulary/text_util.h"
#include "kernels/cpu/elementwise.h"

namespace quern {
namespace {

ConvTail functions_of(const KernelRequest& r, PostOps post_ops, KernelChoice& choice) {
  choice.input_layouts.resize(r.read_count());
  post_ops.resize(leading_functions(post_ops));
  choice.post_ops_taken += post_ops.size();
  ConvTail tail{.has_bias = r.has(2)};
  if (const auto range = leading_range(post_ops)) {
    tail.range = *range;
    post_ops.erase(post_ops.begin());
  }
  tail.functions = std::move(post_ops);
  return tail;
}

}  // namespace

KernelChoice own_conv_choice(const KernelRequest& r, std::string_view name) {
  KernelChoice choice;
  choice.implementation = cat(name, " ", simd().name);
  choice.input_layouts = {Layout::channels_last(r.shape(0))};
  choice.output_layouts = {Layout::channels_last(r.outputs[0].shape)};
  choice.packed_inputs = {false, true, false};
  return choice;
}

ConvTail take_functions(const KernelRequest& r, KernelChoice& choice) {
  return functions_of(r, r.post_ops, choice);
}

ConvTail take_tail(const KernelRequest& r, KernelChoice& choice) {
  const std::optional<std::uint32_t> residual = added_operand(r);
  if (!residual) return take_functions(r, choice);
  choice.post_ops_taken = 1;
  ConvTail tail = functions_of(r, {r.post_ops.begin() + 1, r.post_ops.end()}, choice);
  tail.residual = residual;
  choice.input_layouts[*residual] = Layout::channels_last(r.outputs[0].shape);
  choice.sharing.push_back({0, *residual, Alias::may});
  return tail;
}

}  // namespace quern
