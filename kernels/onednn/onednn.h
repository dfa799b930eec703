// SPDX-License-Identifier: Apache-2.0
// The only interface to oneDNN: covers both generations (2.x and 3.x), opens the library at run
// time, and catches exceptions in guard().
//
// oneDNN's own cache of primitives is turned off, for the whole process: it cannot be repaired
// after an allocation in it has failed, and tenants would see by the time of a compilation what
// others have compiled. Kernels of one executable share code by its WeightStore instead.
#pragma once

#include "onednn_dispatch.h"  // generated: before dnnl.hpp, which it redirects

#include <functional>
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

// Opens the library on first call. False if it is not installed or does not suit this CPU.
bool available() noexcept;
// True if it multiplies matrices of bf16 by units of this CPU for that (AMX).
bool has_bf16_units() noexcept;
// Its version and the instructions that it uses; "none" where there is none.
std::string library_text();
const dnnl::engine& engine();

// Runs f and converts oneDNN's exceptions: "unimplemented" and "invalid arguments" mean
// "unsupported", anything else is an error.
Selection guard(const KernelRequest& request, const std::function<Selection()>& f) noexcept;

// ---- descriptors

std::optional<DataType> data_type(DType dtype);
MdDims dims_of(const Shape& shape);
Md md(DataType type, const MdDims& dims, Tag tag);
// A descriptor with the layout that the implementation prefers.
Md any(DataType type, const MdDims& dims);
// The descriptor of a tensor in its layout; nullopt if oneDNN cannot describe that.
std::optional<Md> md_of(const TensorDesc& desc);
Md strided(DataType type, const MdDims& dims, const MdDims& strides);
// The descriptor's layout as ours; nullopt for layouts that only oneDNN knows (packed weights,
// Winograd).
std::optional<Layout> layout_of(const Md& md, const Shape& shape);
// A name of the format, for keys of packed weights.
std::string format_key(const Md& md);
MdDims md_dims(const Md& md);

// ---- post-ops

// The longest prefix of request.post_ops that oneDNN supports. The operands are inputs of the node;
// a residual that may be overwritten becomes a sum into the destination.
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
  // Number of leading post-ops of the node that are handled elsewhere.
  std::size_t skip = 0;
  // Maximum number of post-ops.
  std::size_t at_most = std::numeric_limits<std::size_t>::max();
};
FusedPostOps fuse_post_ops(const KernelRequest& request, const Shape& dst_shape,
                           const PostOpRules& rules);

template <class PrimitiveDesc>
struct FusedPrimitive {
  FusedPostOps post_ops;
  PrimitiveDesc pd;  // empty if none is trusted, even without post-ops
};
// The same, shortened until make(FusedPostOps) returns a primitive descriptor.
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

// The first post-op if it adds an operand, which may be a bias; null otherwise.
const BinaryPostOp* leading_sum(const KernelRequest& request);

// ---- building a kernel

// Collects the arguments of one primitive and builds the answer of an implementation.
class KernelBuilder {
 public:
  explicit KernelBuilder(const KernelRequest& request);

  void input(int arg, std::uint32_t index, const Md& md, const Layout& layout);
  void output(int arg, std::uint32_t index, const Md& md, const Layout& layout);
  void packed(int arg, const Md& md, std::shared_ptr<const std::byte> bytes);
  // Adds the operands of the chain, and the shared output of a sum.
  void post_ops(const FusedPostOps& fused);
  void mark_packed(std::uint32_t input) { choice_.packed_inputs[input] = true; }
  // Post-ops that the primitive computes in another form (as a bias), before those of `fused`.
  void also_taken(std::size_t post_ops) { also_taken_ = post_ops; }
  void threads(int n) { threads_ = n; }

  template <class Primitive, class PrimitiveDesc>
  Selection finish(const PrimitiveDesc& pd) {
    return finish(pd.impl_info_str(), pd.scratchpad_desc(), [&] { return Primitive(pd); });
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
                   const std::function<dnnl::primitive()>& generate);
  std::string code_key(const std::string& implementation) const;

  const KernelRequest& request_;
  KernelChoice choice_;
  std::vector<Arg> args_;
  std::size_t also_taken_ = 0;
  int threads_;
};

// Attributes of a primitive beside its tensors.
struct Attributes {
  dnnl::primitive_attr attr;
  bool scratch = true;  // as CpuTarget
  Traits traits;        // of the work: only implementations trusted with them are used
};
// Attributes for the fastest implementation; the scratchpad is in our arena, whatever its size.
Attributes fastest_attr(Traits traits = {}, const FusedPostOps& fused = {});
// The same, but respects CpuTarget::scratch of the target.
Attributes make_attr(const KernelRequest& request, Traits traits = {},
                     const FusedPostOps& fused = {});
// True if implementation `name` may replace `best` because it is about as fast.
bool may_stand_for(std::string_view name, std::string_view best);

// The primitive of this key in `store`, or a new one; `store` may be null.
std::shared_ptr<const dnnl::primitive> shared_primitive(
    WeightStore* store, const std::string& key, const std::function<dnnl::primitive()>& generate);

// The constant `source`, described by `from` (row-major elements of its own dtype, or f32 if it is
// a 16-bit float), in the format `to`: from the WeightStore, or packed now.
Result<std::shared_ptr<const std::byte>> pack_constant(const KernelRequest& request,
                                                       const ConstantSource& source, const Md& from,
                                                       const Md& to);

// Number of threads for work of this size: one for small work, where waking a team costs more than
// it gains. A primitive is made by so many (OpenMpThreads) as run it: some keep the number, and
// open teams of it whatever the caller's is.
int threads_for(const KernelRequest& request, double flops);

// ---- primitive descriptors, in one form for both generations; empty where no implementation is
// trusted

struct ConvGeometry {
  MdDims strides, dilations, pads_begin, pads_end;  // dilations: 0 is dense
};
// Of a window that slides over `slid` with a position for each element of `positions`, both with
// batch and channels in front. The end padding is chosen to give that many.
ConvGeometry geometry_of(const ResolvedWindow& window, const Shape& slid, const Shape& positions);
// False where oneDNN could take more than some 100 ms or 100 MB to make a convolution's code, and
// where sizes overflow inside it.
bool has_short_code(const ResolvedWindow& window, const ConvGeometry& g, const Shape& slid,
                    const Shape& positions);
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
