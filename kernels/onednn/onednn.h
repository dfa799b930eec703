// SPDX-License-Identifier: Apache-2.0
// The one door to oneDNN, for the *_onednn.cpp files: both generations (2.x and 3.x) behind one
// interface, the library opened at run time, exceptions kept inside guard().
#pragma once

#include "onednn_dispatch.h"  // generated: before dnnl.hpp, which it redirects

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_version.h>

#include "kernels/contract/kernel.h"
#include "kernels/onednn/trust.h"

#define QUERN_ONEDNN_3 (DNNL_VERSION_MAJOR >= 3)

namespace quern::onednn {

using Md = dnnl::memory::desc;
using MdDims = dnnl::memory::dims;
using DataType = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// Opens the library on first call. False: not installed, or this CPU is not for it.
bool available() noexcept;
const dnnl::engine& engine();

// Runs f, turning what oneDNN throws into an answer: "unimplemented" and "invalid arguments" mean
// "not for me", anything else is an error.
Selection guard(const KernelRequest& request, const std::function<Selection()>& f) noexcept;

// ---- descriptors

std::optional<DataType> data_type(DType dtype);
MdDims dims_of(const Shape& shape);
Md md(DataType type, const MdDims& dims, Tag tag);
// In the layout that the implementation likes best.
Md any(DataType type, const MdDims& dims);
// As it lies; nothing for a layout that oneDNN has no name for.
std::optional<Md> md_of(const TensorDesc& desc);
Md strided(DataType type, const MdDims& dims, const MdDims& strides);
// Back to our terms; nothing for layouts that only oneDNN knows (packed weights, Winograd).
std::optional<Layout> layout_of(const Md& md, const Shape& shape);
// Names the format in keys of packed weights.
std::string format_key(const Md& md);
MdDims md_dims(const Md& md);

// ---- post-ops

// Takes the longest prefix of request.post_ops that oneDNN has names for. The operands are inputs
// of the node; a residual that may be overwritten becomes a sum into the destination.
struct FusedPostOps {
  dnnl::post_ops ops;
  std::size_t taken = 0;
  struct Operand {
    int position;         // in the chain
    std::uint32_t input;  // of the node
    Md md;
    Layout layout;
  };
  std::vector<Operand> operands;
  std::optional<std::uint32_t> sum_input;
  Traits traits;
};
struct PostOpRules {
  bool allow_sum = true;
  bool allow_binary = true;
  // The layout that the destination will have, for operands of full shape; row-major when empty.
  std::optional<Layout> dst_layout;
  // The destination is described as a matrix [rows, last dimension], whatever its rank.
  bool as_matrix = false;
  // The result is multiplied by this before anything else.
  float scale = 1;
  // Post-ops of the node that are taken care of otherwise.
  std::size_t skip = 0;
  // No more post-ops than these.
  std::size_t at_most = std::numeric_limits<std::size_t>::max();
};
FusedPostOps fuse_post_ops(const KernelRequest& request, const Shape& dst_shape,
                           const PostOpRules& rules);

template <class PrimitiveDesc>
struct FusedPrimitive {
  FusedPostOps post_ops;
  PrimitiveDesc pd;  // empty: none is trusted, even without post-ops
};
// The same, cut down to what make(FusedPostOps) has a primitive descriptor for.
template <class Make>
auto fuse_trusted(const KernelRequest& request, const Shape& dst_shape, PostOpRules rules,
                  const Make& make) {
  for (;;) {
    FusedPostOps fused = fuse_post_ops(request, dst_shape, rules);
    auto pd = make(std::as_const(fused));
    if (pd || fused.taken == 0)
      return FusedPrimitive<decltype(pd)>{std::move(fused), std::move(pd)};
    rules.at_most = fused.taken - 1;
  }
}

// ---- building a kernel

// Collects the arguments of one primitive and makes the answer of an implementation.
class KernelBuilder {
 public:
  explicit KernelBuilder(const KernelRequest& request);

  void input(int arg, std::uint32_t index, const Md& md, const Layout& layout);
  void output(int arg, std::uint32_t index, const Md& md, const Layout& layout);
  void packed(int arg, const Md& md, std::shared_ptr<const std::byte> bytes);
  // Operands of the chain, and the shared output of a sum.
  void post_ops(const FusedPostOps& fused);
  void mark_packed(std::uint32_t input) { choice_.packed_inputs[input] = true; }
  // Post-ops that the primitive does as something else (a bias), before those of `fused`.
  void also_taken(std::size_t post_ops) { also_taken_ = post_ops; }
  void threads(int n) { threads_ = n; }

  template <class PrimitiveDesc>
  Selection finish(const PrimitiveDesc& pd, dnnl::primitive primitive) {
    return finish(pd.impl_info_str(), pd.scratchpad_desc(), std::move(primitive));
  }

 private:
  friend class OneDnnKernel;
  struct Arg {
    enum class Source { input, output, packed, scratch } source;
    int id;
    std::uint32_t index;
    Md md;
    std::shared_ptr<const std::byte> bytes;
  };
  Selection finish(const std::string& implementation, const Md& scratchpad,
                   dnnl::primitive primitive);

  const KernelRequest& request_;
  KernelChoice choice_;
  std::vector<Arg> args_;
  std::size_t also_taken_ = 0;
  int threads_;
};

// What a primitive is asked for beside its tensors.
struct Attributes {
  dnnl::primitive_attr attr;
  bool scratch = true;  // as CpuTarget
  Traits traits;        // of the work: only what is trusted with them is taken
};
// The scratchpad in our arena, however large it is.
Attributes fastest_attr(Traits traits = {}, const FusedPostOps& fused = {});
// The same as large as the target allows.
Attributes make_attr(const KernelRequest& request, Traits traits = {},
                     const FusedPostOps& fused = {});
// Whether an implementation is about as fast as the best may be.
bool may_stand_for(std::string_view name, std::string_view best);

// The constant `source`, seen as `from` (row-major elements of its own dtype, or f32 when it is a
// 16-bit float), in the format `to`: from the WeightStore or packed now.
Result<std::shared_ptr<const std::byte>> pack_constant(const KernelRequest& request,
                                                       const ConstantSource& source, const Md& from,
                                                       const Md& to);

// Threads for work of this size: one for small work, where waking a team costs more than it gives.
int threads_for(const KernelRequest& request, double flops);

// ---- primitive descriptors, in one form for both generations; empty where no implementation is
// trusted

struct ConvGeometry {
  MdDims strides, dilations, pads_begin, pads_end;  // dilations: 0 is dense
};
dnnl::convolution_forward::primitive_desc conv_pd(dnnl::algorithm algorithm, const Md& src,
                                                  const Md& weights, const std::optional<Md>& bias,
                                                  const Md& dst, const ConvGeometry& g,
                                                  const Attributes& attr);
dnnl::deconvolution_forward::primitive_desc deconv_pd(const Md& src, const Md& weights,
                                                      const std::optional<Md>& bias, const Md& dst,
                                                      const ConvGeometry& g,
                                                      const Attributes& attr);
dnnl::matmul::primitive_desc matmul_pd(const Md& a, const Md& b, const std::optional<Md>& bias,
                                       const Md& dst, const Attributes& attr);
#if QUERN_ONEDNN_3
using PoolPrimitive = dnnl::pooling_forward;
using SoftmaxPrimitive = dnnl::softmax_forward;
#else
using PoolPrimitive = dnnl::pooling_v2_forward;
using SoftmaxPrimitive = dnnl::softmax_v2_forward;
#endif
PoolPrimitive::primitive_desc pool_pd(dnnl::algorithm algorithm, const Md& src, const Md& dst,
                                      const MdDims& kernel, const ConvGeometry& g,
                                      const Attributes& attr);
dnnl::reorder::primitive_desc reorder_pd(const Md& from, const Md& to, const Attributes& attr);

}  // namespace quern::onednn
