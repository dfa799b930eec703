// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/selection.h"

#include <algorithm>

#include "engine/compile/backend.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/concat.h"

namespace quern::lowering {
namespace {

// Returns true if the elements of each operand that is read fit in a binding of the device. Where
// it lies in a larger tensor, it is copied.
bool can_bind_inputs(const KernelRequest& request) {
  const auto fits = [&](const KernelInput& i) {
    return TensorType{i.desc.dtype, i.desc.shape}.bytes() <= request.gpu->max_range;
  };
  return std::ranges::all_of(request.inputs, fits) && std::ranges::all_of(request.operands, fits);
}

// Stripes have less rows and the same constants.
bool has_large_constant(const KernelRequest& request) {
  const auto is_large = [&](const KernelInput& i) {
    return i.constant && i.desc.bytes() > request.gpu->max_range;
  };
  return std::ranges::any_of(request.inputs, is_large) ||
         std::ranges::any_of(request.operands, is_large);
}

bool can_bind_outputs(const KernelRequest& request) {
  return std::ranges::all_of(
      request.outputs, [&](const TensorType& t) { return t.bytes() <= request.gpu->max_range; });
}

// Returns true if all that the dispatches bind fits in a binding.
bool binds_parts(const KernelChoice& choice, const KernelRequest& request) {
  const std::uint64_t most = request.gpu->max_range;
  const auto bytes = [&](const BufferUse& use) -> std::uint64_t {
    if (use.of == BufferUse::Of::input) {
      const TensorDesc& desc = request.read(use.index).desc;
      const Layout layout = layout_asked(choice.input_layouts, use.index, desc.shape);
      return TensorDesc{desc.dtype, desc.shape, layout}.bytes();
    }
    if (use.of == BufferUse::Of::scratch) return choice.scratch_bytes;
    if (use.of == BufferUse::Of::constant)  // devices may bind all that they keep for it
      return round_up(choice.gpu_constants()[use.index].bytes, 256);
    return use.bytes ? use.bytes : request.outputs[use.index].bytes() - use.offset;
  };
  return choice.scratch_bytes <= most &&
         std::ranges::all_of(choice.gpu_dispatches(), [&](const Dispatch& d) {
           return std::ranges::all_of(d.buffers,
                                      [&](const BufferUse& use) { return bytes(use) <= most; });
         });
}

Result<KernelChoice> reference(const KernelRequest& request) {
  QUERN_ASSIGN(std::optional<KernelChoice> choice, select_reference(request));
  if (choice) return std::move(*choice);
  return Status(Code::unsupported, cat(request.def().name, " has no reference"));
}

}  // namespace

Result<KernelChoice> KernelSelector::select(KernelRequest request, const GpuTarget* gpu) {
  if (reference_only_) return reference(request);
  bool is_too_large = false;
  if (gpu) {
    request.gpu = gpu;
    request.half_products = half_products_ || gpu->half_products;
    // A Concat binds the parts of its result one by one.
    const bool can_bind =
        can_bind_inputs(request) && (request.op.is<Concat>() || can_bind_outputs(request));
    is_too_large = !can_bind && !has_large_constant(request);
    if (can_bind) {
      QUERN_ASSIGN(auto choice, select_gpu_kernel(request));
      if (choice && binds_parts(*choice, request)) return std::move(*choice);
      is_too_large = choice.has_value();
    }
  }
  if (backend_)
    fallbacks_.push_back(cat("'", printable(request.name), "' (", request.def().name, ")"));
  too_large_ += is_too_large ? 1 : 0;
  return select_cpu_kernel(request);
}

Status KernelSelector::check_fallbacks() const {
  if (fallbacks_.size() == too_large_ || !backend_->is_strict()) return {};
  return no_kernel_error(fallbacks_);
}

}  // namespace quern::lowering

namespace quern {

Status no_kernel_error(std::span<const std::string> fallbacks) {
  std::string list;
  for (const std::string& node : fallbacks) list += cat(list.empty() ? "" : ", ", node);
  return {Code::unsupported, cat(fallbacks.size(), " nodes have no kernel for the device: ", list)};
}

}  // namespace quern
