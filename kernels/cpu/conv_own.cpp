// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv_own.h"

#include <string_view>

#include "graph/ops/conv.h"
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_rows.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

bool has_wide_registers() {
  return simd().name == std::string_view("avx512");
}

}  // namespace

Selection select_own_depthwise(const KernelRequest& r) {
  if (!has_wide_registers() || !suits_conv_depthwise(r)) return unsupported();
  constexpr std::int64_t large_window = 25;
  const bool is_faster =
      r.shape(1).elements(2) >= large_window || begins_with_exponential(r.post_ops);
  return is_faster ? select_conv_depthwise(r) : unsupported();
}

Selection select_own_conv(const KernelRequest& r) {
  if (!has_wide_registers() || !suits_conv_rows(r)) return unsupported();
  constexpr std::int64_t wide_group = 32, narrow_vector = 16;
  const std::int64_t group = r.as<Conv>().group;
  const std::int64_t in = r.shape(1)[1], out = r.shape(1)[0] / group;
  if (group > 1 && (in < wide_group || out < wide_group)) return unsupported();
  const bool is_faster = out > narrow_vector || has_few_outputs(r) ||
                         begins_with_exponential(r.post_ops) ||
                         r.outputs[0].shape.elements() == r.shape(1)[0];
  return is_faster ? select_conv_rows(r) : unsupported();
}

}  // namespace quern
