// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/trust.h"

#include <algorithm>
#include <array>

#include <oneapi/dnnl/dnnl_version.h>

#include "graph/ops/windows.h"
#include "kernels/contract/stretches.h"

namespace quern::onednn {
namespace {

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which it is read
struct Row {
  Work work;
  std::string_view family;  // prefix of the implementation's name
  std::string_view forms;   // its suffixes, separated by blanks
  Traits but;               // not trusted with these
  std::string_view reason;  // why not
};

// The instruction sets with which the sweep was run (ONEDNN_MAX_CPU_ISA).
constexpr std::string_view jit = "sse41 avx avx2 avx512_core avx512_core_amx_bf16 avx10_1_512_amx";

constexpr std::string_view of_gemm =
    "accepts operands of any shape and reads all but those of one number or one for each channel "
    "at wrong places (2.6, AVX-512); sums bf16 in an order that depends on the number of threads "
    "(3.7)";

constexpr std::string_view unproven_quotient =
    "0 / 0, where a window covers padding alone, is proven to come out as NaN with 2.6 only";

constexpr Row rows[] = {
    // ---- convolution
    {Work::convolution,
     "brgconv:",
     jit,
     {Trait::empty_window},
     "where a window covers padding alone it computes an activation before a sum without loading "
     "the table of its numbers, and dies (2.6)"},
    {Work::convolution, "brgconv_1x1:", jit, {}, ""},
    {Work::convolution, "brdgmm_dw:", jit, {}, ""},
    {Work::convolution,
     "brg_conv_fwd:",
     "avx10_1_512_amx",
     {Trait::empty_window, Trait::column},
     "takes one column with a stride along the row for something else, whatever the channels "
     "(3.7)"},
    {Work::convolution,
     "brg_conv_fwd:",
     "sse41 avx avx2 avx512_core",
     {Trait::empty_window, Trait::narrow_column},
     "dies of a window that covers padding alone; takes one channel and one column with a stride "
     "along the row for something else (3.7)"},
    {Work::convolution, "jit:", jit, {}, ""},
    // Not with AMX: it writes beside results of 8 channels over three dimensions (2.6).
    {Work::convolution, "jit_1x1:", "sse41 avx avx2 avx512_core", {}, ""},
    {Work::convolution, "jit_dw:", "avx avx2 avx512_core", {}, ""},
    {Work::convolution,
     "jit_dw:",
     "sse41",
     {Trait::sum},
     "adds by instructions that want addresses aligned to 16, in rows that are not (2.6, 3.7)"},
    {Work::convolution, "jit_fp32_wino_2x3:", "avx512_core", {}, ""},
    {Work::convolution, "jit_wino_4x3:", "avx512_core", {}, ""},
    {Work::convolution,
     "x64:gemm:",
     "jit",
     {Trait::full_operand, Trait::spread_operand, Trait::bf16},
     of_gemm},
    {Work::convolution, "brgconv_strided:", jit, {}, ""},
    {Work::convolution, "jit_uni_ncsp_convolution:conv+jit:", jit, {}, ""},
    // ---- deconvolution
    {Work::deconvolution, "brg_deconv:", jit, {}, ""},
    {Work::deconvolution, "jit:", jit, {}, ""},
    {Work::deconvolution, "jit_1x1:", jit, {}, ""},
    {Work::deconvolution, "jit_dw:", jit, {}, ""},
    {Work::deconvolution, "x64:gemm:", "jit", {}, ""},
    {Work::deconvolution, "jit_deconvolution:", jit, {}, ""},
    {Work::deconvolution, "jit_1x1_deconvolution:", jit, {}, ""},
    {Work::deconvolution, "conv:any+jit:", jit, {}, ""},
    {Work::deconvolution, "conv:any+jit_1x1:", jit, {}, ""},
    {Work::deconvolution, "conv:any+jit_dw:", jit, {}, ""},
    {Work::deconvolution, "conv:any+x64:gemm:", "jit", {}, ""},
    // ---- matmul
    {Work::matmul, "brg:", jit, {}, ""},
    {Work::matmul, "brg_matmul:", jit, {}, ""},
    {Work::matmul, "gemm:", "jit jit:f32", {}, ""},
    // ---- pooling
    {Work::pooling, "jit:", jit, {Trait::empty_window}, unproven_quotient},
    {Work::pooling, "simple_nchw:", "any", {Trait::empty_window}, unproven_quotient},
    {Work::pooling, "simple_nhwc:", "any", {Trait::empty_window}, unproven_quotient},
    // ---- reorder
    {Work::reorder, "jit:", "blk", {}, ""},
    {Work::reorder,
     "jit:",
     "uni",
     {Trait::padded_blocks},
     "writes parts of padded blocks to wrong places where the CPU tells no sizes of caches (3.7)"},
    {Work::reorder, "jit_direct_copy:", "uni", {}, ""},
    {Work::reorder, "simple:", "any", {}, ""},
};

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool names(const Row& row, std::string_view implementation) {
  return implementation.starts_with(row.family) &&
         has_word(row.forms, implementation.substr(row.family.size()));
}

}  // namespace

Traits window_traits(const ResolvedWindow& window, const Shape& src, const Shape& dst,
                     std::int64_t channels_per_sum) {
  Traits traits;
  for (std::size_t d = 0; d < window.rank(); ++d)
    if (std::ranges::any_of(stretches_of(window, d, src[2 + d], dst[2 + d]),
                            [](const Stretch& s) { return s.taps == 0; }))
      traits.add(Trait::empty_window);
  if (dst.back() == 1) traits.add(Trait::column);
  if (dst.back() == 1 && channels_per_sum == 1) traits.add(Trait::narrow_column);
  return traits;
}

Traits operand_traits(const Shape& operand, const Shape& dst) {
  if (operand == dst) return {Trait::full_operand};
  const std::int64_t channels = operand.rank() > 1 ? operand[1] : 1;
  return operand.elements() == channels ? Traits{} : Traits{Trait::spread_operand};
}

bool is_trusted(Work work, std::string_view implementation, Traits traits) {
  return std::ranges::any_of(rows, [&](const Row& row) {
    return row.work == work && names(row, implementation) && !traits.meets(row.but);
  });
}

// 2.x stores elementwise post-ops by algorithm, so that of two with the same algorithm the second
// is computed with wrong parameters (Gemm with alpha before HardSigmoid).
bool tells_repeated_eltwise_apart() {
  return DNNL_VERSION_MAJOR >= 3;
}

}  // namespace quern::onednn
