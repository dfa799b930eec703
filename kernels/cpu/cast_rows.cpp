// SPDX-License-Identifier: Apache-2.0
// Casts that lose no range: integers and bool to f32 or to wider integers, in loops that compilers
// vectorise, and 16-bit floats from and to f32, in any layout.
#include "kernels/cpu/cast_rows.h"

#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

using CastLoop = void (*)(const std::byte* x, std::byte* y, std::int64_t n);

template <class From, class To>
void convert_elements(const std::byte* x, std::byte* y, std::int64_t n) {
  const auto* from = reinterpret_cast<const From*>(x);
  auto* to = reinterpret_cast<To*>(y);
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

template <>
void convert_elements<std::int32_t, float>(const std::byte* x, std::byte* y, std::int64_t n) {
  simd().int_to_float(reinterpret_cast<const std::int32_t*>(x), reinterpret_cast<float*>(y), n);
}

void half_to_float_elements(const std::byte* x, std::byte* y, std::int64_t n) {
  simd().half_to_float(reinterpret_cast<const std::uint16_t*>(x), reinterpret_cast<float*>(y), n);
}
void float_to_half_elements(const std::byte* x, std::byte* y, std::int64_t n) {
  simd().float_to_half(reinterpret_cast<const float*>(x), reinterpret_cast<std::uint16_t*>(y), n);
}

void bfloat_to_float_elements(const std::byte* x, std::byte* y, std::int64_t n) {
  simd().bfloat_to_float(reinterpret_cast<const std::uint16_t*>(x), reinterpret_cast<float*>(y), n);
}
void float_to_bfloat_elements(const std::byte* x, std::byte* y, std::int64_t n) {
  simd().float_to_bfloat(reinterpret_cast<const float*>(x), reinterpret_cast<std::uint16_t*>(y), n);
}

template <class From>
CastLoop widening(DType to) {
  switch (to) {
    case DType::f32: return convert_elements<From, float>;
    case DType::i32: return sizeof(From) < 4 ? convert_elements<From, std::int32_t> : nullptr;
    case DType::i64: return sizeof(From) < 8 ? convert_elements<From, std::int64_t> : nullptr;
    default: return nullptr;
  }
}

// Null if it is none of these.
CastLoop loop_of(DType from, DType to) {
  switch (from) {
    case DType::boolean: return widening<bool>(to);
    case DType::u8: return widening<std::uint8_t>(to);
    case DType::i8: return widening<std::int8_t>(to);
    case DType::u16: return widening<std::uint16_t>(to);
    case DType::i16: return widening<std::int16_t>(to);
    case DType::i32: return widening<std::int32_t>(to);
    case DType::i64: return widening<std::int64_t>(to);
    case DType::f16: return to == DType::f32 ? half_to_float_elements : nullptr;
    case DType::bf16: return to == DType::f32 ? bfloat_to_float_elements : nullptr;
    case DType::f32:
      return to == DType::f16    ? float_to_half_elements
             : to == DType::bf16 ? float_to_bfloat_elements
                                 : nullptr;
    default: return nullptr;
  }
}

class CastRows final : public CpuKernel {
 public:
  CastRows(CastLoop loop, const TensorType& x, DType to)
      : loop_(loop),
        n_(x.shape.elements()),
        x_size_(static_cast<std::int64_t>(size_of(x.dtype))),
        y_size_(static_cast<std::int64_t>(size_of(to))) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    parallel(n_, elements_per_thread(), [&](std::int64_t begin, std::int64_t end) {
      loop_(args.inputs[0] + begin * x_size_, args.outputs[0] + begin * y_size_, end - begin);
    });
    return {};
  }

 private:
  CastLoop loop_;
  std::int64_t n_, x_size_, y_size_;
};

}  // namespace

Selection select_cast_rows(const KernelRequest& r) {
  const TensorDesc& x = r.inputs[0].desc;
  const DType to = r.outputs[0].dtype;
  const CastLoop loop = loop_of(x.dtype, to);
  if (!loop || x.shape.elements() == 0) return unsupported();
  const Layout layout = is_dense(x) ? x.layout : Layout::row_major(x.shape);
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts = {layout};
  choice.output_layouts = {layout};
  choice.work = std::make_unique<CastRows>(loop, TensorType{x.dtype, x.shape}, to);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
