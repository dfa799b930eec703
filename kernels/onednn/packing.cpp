// SPDX-License-Identifier: Apache-2.0
// Constants in the formats that oneDNN's kernels want.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/cpu/blocking.h"
#include "kernels/onednn/onednn.h"

namespace quern::onednn {
namespace {

dnnl::memory::data_type type_of(const Md& m) {
#if QUERN_ONEDNN_3
  return m.get_data_type();
#else
  return m.data_type();
#endif
}

std::optional<Blocking> blocking_of(const Md& m) {
#if QUERN_ONEDNN_3
  if (m.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  return Blocking{m.get_padded_dims(), m.get_strides(), m.get_inner_blks(), m.get_inner_idxs()};
#else
  const auto& d = m.data;
  if (d.format_kind != dnnl_blocked || d.extra.flags != 0) return std::nullopt;
  const auto& b = d.format_desc.blocking;
  return Blocking{{d.padded_dims, d.padded_dims + d.ndims},
                  {b.strides, b.strides + d.ndims},
                  {b.inner_blks, b.inner_blks + b.inner_nblks},
                  {b.inner_idxs, b.inner_idxs + b.inner_nblks}};
#endif
}

// oneDNN 3.7 reorders wrongly where dimensions are padded and the CPU tells no sizes of its caches,
// as in virtual machines: its blocks for the cache are then one element, and split padded
// dimensions.
bool is_packed_here(const Md& from, const Md& to) {
  using Type = dnnl::memory::data_type;
  if (!QUERN_ONEDNN_3 || type_of(from) != Type::f32) return false;
  if (type_of(to) != Type::f32 && type_of(to) != Type::bf16) return false;
  const auto blocking = blocking_of(to);
  return blocking && blocking_of(from) && blocking->padded != md_dims(to);
}

// Its calls run with the host's treatment of denormal numbers (float_state.h); weights have none.
void flush_denormals(std::byte* packed, std::size_t bytes) {
  auto* const v = reinterpret_cast<float*>(packed);
  for (std::size_t i = 0; i < bytes / sizeof(float); ++i)
    v[i] = std::fabs(v[i]) < std::numeric_limits<float>::min() ? std::copysign(0.0F, v[i]) : v[i];
}

Status reorder_constant(const KernelRequest& request, const Tensor& t, const Md& from, const Md& to,
                        std::byte* packed) {
  if (is_packed_here(from, to)) {
    std::memset(packed, 0, to.get_size());
    const auto dims = md_dims(to);
    if (type_of(to) == dnnl::memory::data_type::bf16)
      copy_blocks(dims, *blocking_of(from), t.data(), *blocking_of(to),
                  reinterpret_cast<BFloat16*>(packed));
    else
      copy_blocks(dims, *blocking_of(from), t.data(), *blocking_of(to),
                  reinterpret_cast<float*>(packed));
    return {};
  }
  dnnl::memory src(from, engine(), const_cast<std::byte*>(t.data()));
  dnnl::memory dst(to, engine(), packed);
  dnnl::stream stream(engine());
  const auto reorder = shared_primitive(request.target.weights,
                                        cat("onednn|pack|", format_key(from), "|", format_key(to)),
                                        [&] { return dnnl::reorder(src, dst); });
  reorder->execute(stream, {{DNNL_ARG_FROM, src}, {DNNL_ARG_TO, dst}});
  stream.wait();
  return {};
}

}  // namespace

Result<std::shared_ptr<const std::byte>> pack_constant(const KernelRequest& request,
                                                       const ConstantSource& source, const Md& from,
                                                       const Md& to) {
  const auto fill = [&](std::byte* packed) -> Status {
    // 16-bit floats as f32, because not every CPU's oneDNN reorders them.
    QUERN_ASSIGN(const Tensor t, widened_constant(source));
    QUERN_TRY(reorder_constant(request, t, from, to, packed));
    if (request.target.flush_denormals && type_of(to) == dnnl::memory::data_type::f32)
      flush_denormals(packed, to.get_size());
    return {};
  };
  return request.target.weights->find_or_make(
      cat("onednn|", format_key(from), "|", format_key(to), "|", source.key()), to.get_size(),
      fill);
}

}  // namespace quern::onednn
