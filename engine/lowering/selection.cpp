// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/selection.h"

#include <algorithm>

#include "engine/compile/backend.h"
#include "engine/vocabulary/text_util.h"

namespace quern::lowering {
namespace {

// Returns true if each operand fits in a binding of the device.
bool can_bind(const KernelRequest& request) {
  const auto fits = [&](std::size_t bytes) { return bytes <= request.gpu->max_range; };
  const auto input_fits = [&](const KernelInput& i) { return fits(i.desc.bytes()); };
  return std::ranges::all_of(request.inputs, input_fits) &&
         std::ranges::all_of(request.operands, input_fits) &&
         std::ranges::all_of(request.outputs, [&](const TensorType& t) { return fits(t.bytes()); });
}

Result<KernelChoice> reference(const KernelRequest& request) {
  QUERN_ASSIGN(std::optional<KernelChoice> choice, select_reference(request));
  if (choice) return std::move(*choice);
  return Status(Code::unsupported, cat(request.def().name, " has no reference"));
}

}  // namespace

Result<KernelChoice> KernelSelector::select(KernelRequest request, const GpuTarget* gpu) {
  if (reference_only_) return reference(request);
  if (gpu) {
    request.gpu = gpu;
    request.half_products = half_products_ || gpu->half_products;
    if (can_bind(request)) {
      QUERN_ASSIGN(auto choice, select_gpu_kernel(request));
      if (choice && choice->scratch_bytes <= gpu->max_range) return std::move(*choice);
    }
  }
  if (backend_)
    fallbacks_.push_back(cat("'", printable(request.name), "' (", request.def().name, ")"));
  return select_cpu_kernel(request);
}

Status KernelSelector::check_fallbacks() const {
  if (fallbacks_.empty() || !backend_->is_strict()) return {};
  std::string list;
  for (const std::string& node : fallbacks_) list += cat(list.empty() ? "" : ", ", node);
  return {Code::unsupported,
          cat(fallbacks_.size(), " nodes have no kernel for the device: ", list)};
}

}  // namespace quern::lowering
