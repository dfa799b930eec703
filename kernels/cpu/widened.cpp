// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/widened.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/products.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

bool is_16bit(DType t) {
  return t == DType::f16 || t == DType::bf16;
}

void widen(DType from, const std::byte* x, float* y, std::int64_t n) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(x);
  from == DType::f16 ? simd().half_to_float(bits, y, n) : simd().bfloat_to_float(bits, y, n);
}
void narrow(DType to, const float* x, std::byte* y, std::int64_t n) {
  auto* bits = reinterpret_cast<std::uint16_t*>(y);
  to == DType::f16 ? simd().float_to_half(x, bits, n) : simd().float_to_bfloat(x, bits, n);
}

// A constant of 16-bit floats in f32.
class WideConstant final : public ConstantSource {
 public:
  explicit WideConstant(const ConstantSource& constant)
      : constant_(constant),
        type_{DType::f32, constant.type().shape},
        key_(cat(constant.key(), "|f32")) {}
  const TensorType& type() const override { return type_; }
  Result<Tensor> get() const override { return widened_constant(constant_); }
  const std::string& key() const override { return key_; }

 private:
  const ConstantSource& constant_;
  TensorType type_;
  std::string key_;
};

// A tensor that is cast: its type elsewhere, its elements with those that pad blocks, and where its
// f32 form lies in the scratch memory.
struct Cast16 {
  std::size_t index = 0;
  DType type = DType::bf16;
  std::int64_t elements = 0;
  std::size_t scratch = 0;
};

class Widened final : public CpuKernel {
 public:
  std::unique_ptr<CpuKernel> kernel;
  std::vector<Cast16> reads;   // by KernelRequest::read
  std::vector<Cast16> result;  // at most one

  Result<std::unique_ptr<KernelState>> make_state() const override { return kernel->make_state(); }

  Status run(const KernelArgs& args, KernelState* state, const Parallel& parallel) const override {
    std::array<const std::byte*, most_reads> inputs{};
    std::ranges::copy(args.inputs, inputs.begin());
    for (const Cast16& c : reads) {
      auto* wide = reinterpret_cast<float*>(args.scratch + c.scratch);
      const std::byte* x = args.inputs[c.index];
      if (!x) continue;
      parallel(c.elements, elements_per_thread(), [&](std::int64_t begin, std::int64_t end) {
        widen(c.type, x + 2 * begin, wide + begin, end - begin);
      });
      inputs[c.index] = args.scratch + c.scratch;
    }
    KernelArgs wide_args = args;
    wide_args.inputs = {inputs.data(), args.inputs.size()};
    std::byte* output = args.outputs[0];
    if (!result.empty()) output = args.scratch + result[0].scratch;
    wide_args.outputs = {&output, 1};
    QUERN_TRY(kernel->run(wide_args, state, parallel));
    if (result.empty() || args.is_over()) return {};
    const auto* y = reinterpret_cast<const float*>(output);
    const Cast16& c = result[0];
    parallel(c.elements, elements_per_thread(), [&](std::int64_t begin, std::int64_t end) {
      narrow(c.type, y + begin, args.outputs[0] + 2 * begin, end - begin);
    });
    return {};
  }

  static constexpr std::size_t most_reads = 16;
};

// The request in f32.
class WideRequest {
 public:
  explicit WideRequest(const KernelRequest& r)
      : whole_(r), op_(with_result(r.op, ProductType::of_factors)) {
    for (std::size_t i = 0; i < r.read_count(); ++i) {
      KernelInput in = r.read(i);
      in.is_last_use = false;  // it lies elsewhere than where the result may
      if (is_16bit(in.desc.dtype)) {
        in.desc = TensorDesc::row_major(DType::f32, in.desc.shape);
        if (in.constant)
          in.constant = constants_.emplace_back(std::make_unique<WideConstant>(*in.constant)).get();
      }
      (i < r.inputs.size() ? inputs_ : operands_).push_back(in);
    }
    outputs_.push_back({DType::f32, r.outputs[0].shape});
  }
  KernelRequest request() const {
    return {op_,       whole_.name,   inputs_,   outputs_, whole_.wanted, whole_.post_ops,
            operands_, whole_.target, whole_.gpu};
  }

 private:
  const KernelRequest& whole_;
  Op op_;
  std::vector<std::unique_ptr<WideConstant>> constants_;
  std::vector<KernelInput> inputs_, operands_;
  std::vector<TensorType> outputs_;
};

// The elements of a tensor that the kernel reads or writes in `layout`, padding included.
std::int64_t elements_in(const std::vector<Layout>& layouts, std::size_t i, const Shape& shape) {
  TensorDesc t = TensorDesc::row_major(DType::f32, shape);
  if (i < layouts.size() && layouts[i].strides.rank() == shape.rank()) t.layout = layouts[i];
  return static_cast<std::int64_t>(t.bytes() / sizeof(float));
}

}  // namespace

Selection select_widened(const KernelRequest& r) {
  if (!is_16bit(r.dtype(0)) || r.read_count() > Widened::most_reads) return unsupported();
  const WideRequest wide(r);
  QUERN_ASSIGN(KernelChoice choice, select_cpu_kernel(wide.request()));
  if (!choice.is_on_host() || !choice.copies.empty() || !choice.sharing.empty())
    return unsupported();
  auto work = std::make_unique<Widened>();
  const auto reserve = [&](std::size_t i, DType type, std::int64_t elements) {
    const Cast16 c{i, type, elements, choice.scratch_bytes};
    choice.scratch_bytes += round_up(static_cast<std::size_t>(elements) * sizeof(float), 64UL);
    return c;
  };
  choice.scratch_bytes = round_up(choice.scratch_bytes, 64UL);
  for (std::size_t i = 0; i < r.read_count(); ++i) {
    const bool is_packed = i < choice.packed_inputs.size() && choice.packed_inputs[i];
    const TensorDesc& t = r.read(i).desc;
    if (r.read(i).present && !is_packed && is_16bit(t.dtype))
      work->reads.push_back(reserve(i, t.dtype, elements_in(choice.input_layouts, i, t.shape)));
  }
  if (is_16bit(r.outputs[0].dtype))
    work->result.push_back(
        reserve(0, r.outputs[0].dtype, elements_in(choice.output_layouts, 0, r.outputs[0].shape)));
  work->kernel = std::move(std::get<std::unique_ptr<CpuKernel>>(choice.work));
  choice.work = std::move(work);
  choice.implementation += " widened";
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
