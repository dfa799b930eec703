// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv_tail.h"

#include <utility>

#include "kernels/cpu/elementwise.h"

namespace quern {
ConvTail take_tail(const KernelRequest& r, KernelChoice& choice) {
  ConvTail tail{r.has(2), added_operand(r), r.post_ops};
  choice.input_layouts.resize(r.read_count());
  if (tail.residual) {
    choice.input_layouts[*tail.residual] = Layout::channels_last(r.outputs[0].shape);
    choice.sharing.push_back({0, *tail.residual, Alias::may});
    tail.functions.erase(tail.functions.begin());
  }
  tail.functions.resize(leading_functions(tail.functions));
  choice.post_ops_taken = (tail.residual ? 1 : 0) + tail.functions.size();
  return tail;
}

}  // namespace quern
