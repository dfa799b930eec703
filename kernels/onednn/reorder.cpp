// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/onednn.h"

namespace quern::onednn {

Selection select_reorder(const KernelRequest& request, const TensorDesc& from,
                         const TensorDesc& to) {
  if (!available()) return unsupported();
  return guard(request, [&]() -> Selection {
    const auto src = md_of(from);
    const auto dst = md_of(to);
    if (!src || !dst) return unsupported();
    Traits traits;
    if (QUERN_ONEDNN_3) traits.add(Trait::padded_blocks);  // nothing else is asked for
    const auto pd = reorder_pd(*src, *dst, make_attr(request, traits));
    if (!pd) return unsupported();
    KernelBuilder builder(request);
    builder.input(DNNL_ARG_FROM, 0, *src, from.layout);
    builder.output(DNNL_ARG_TO, 0, *dst, to.layout);
    return builder.finish<dnnl::reorder>(pd);
  });
}

}  // namespace quern::onednn
