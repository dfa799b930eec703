// SPDX-License-Identifier: Apache-2.0
// Quantize and Dequantize between f32 and 8 or 16 bits, DynamicQuantize to 8 bits, vectorised: one
// scale for all elements in any layout, or one per index of an axis in row-major order.
#include "kernels/cpu/quantize_rows.h"

#include <cstring>
#include <type_traits>

#include "graph/ops/infer.h"
#include "graph/ops/quantize.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/quantized.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

// Reads scale and zero point k of a node from inputs 1 and 2. T: the unsigned integer as large as
// those of the node.
template <class T>
struct Steps {
  bool is_signed = false;
  bool has_zero = false;

  float scale(const KernelArgs& args, std::int64_t k) const {
    float v = 0;
    std::memcpy(&v, args.inputs[1] + k * 4, 4);
    return v;
  }
  QuantizedInt zero(const KernelArgs& args, std::int64_t k) const {
    if (!has_zero) return {0, is_signed};
    T v = 0;
    std::memcpy(&v, args.inputs[2] + k * static_cast<std::int64_t>(sizeof v), sizeof v);
    return {is_signed ? static_cast<std::make_signed_t<T>>(v) : std::int32_t{v}, is_signed};
  }
};

void quantize(const float* x, float scale, QuantizedInt to, std::uint8_t* y, std::int64_t n) {
  simd().quantize(x, scale, to, y, n);
}
void quantize(const float* x, float scale, QuantizedInt to, std::uint16_t* y, std::int64_t n) {
  simd().quantize_words(x, scale, to, y, n);
}
void dequantize(const std::uint8_t* x, QuantizedInt from, float scale, float* y, std::int64_t n) {
  simd().dequantize(x, from, scale, y, n);
}
void dequantize(const std::uint16_t* x, QuantizedInt from, float scale, float* y, std::int64_t n) {
  simd().dequantize_words(x, from, scale, y, n);
}

enum class Way : std::uint8_t { to_integers, to_floats };

template <Way way, class T>
class QuantizeRows final : public CpuKernel {
 public:
  QuantizeRows(const AxisSplit& split, const Steps<T>& steps) : split_(split), steps_(steps) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    if (split_.axis == 1) {
      parallel(split_.inner, elements_per_thread(),
               [&](std::int64_t begin, std::int64_t end) { convert(args, 0, begin, end - begin); });
      return {};
    }
    parallel(split_.outer * split_.axis, row_grain(split_.inner),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t row = begin; row < end; ++row)
                 for_row_pieces(split_.inner, check, [&](std::int64_t i, std::int64_t n) {
                   convert(args, row % split_.axis, row * split_.inner + i, n);
                 });
             });
    return {};
  }

 private:
  void convert(const KernelArgs& args, std::int64_t k, std::int64_t first, std::int64_t n) const {
    const float scale = steps_.scale(args, k);
    const QuantizedInt zero = steps_.zero(args, k);
    if constexpr (way == Way::to_integers)
      quantize(reinterpret_cast<const float*>(args.inputs[0]) + first, scale, zero,
               reinterpret_cast<T*>(args.outputs[0]) + first, n);
    else
      dequantize(reinterpret_cast<const T*>(args.inputs[0]) + first, zero, scale,
                 reinterpret_cast<float*>(args.outputs[0]) + first, n);
  }

  AxisSplit split_;
  Steps<T> steps_;
};

template <Way way, class Quantization>
Selection select(const KernelRequest& r, const Quantization& op) {
  const DType integers = way == Way::to_integers ? r.outputs[0].dtype : r.dtype(0);
  const DType floats = way == Way::to_integers ? r.dtype(0) : r.outputs[0].dtype;
  const Shape& shape = r.shape(0);
  const bool is_word = integers == DType::u16 || integers == DType::i16;
  if ((!is_8bit(integers) && !is_word) || floats != DType::f32 || r.dtype(1) != DType::f32 ||
      shape.elements() == 0)
    return unsupported();
  const bool is_one = r.shape(1).elements() == 1;
  if (!is_one && op.block_size > 0) return unsupported();
  AxisSplit split{1, 1, shape.elements()};
  Layout layout = Layout::row_major(shape);
  if (!is_one) {
    split = split_at(shape, positive_axis(op.axis, shape.rank()));
  } else if (is_dense(r.inputs[0].desc)) {
    layout = r.inputs[0].desc.layout;
  }
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = layout;
  choice.output_layouts = {layout};
  const bool is_signed = integers == DType::i8 || integers == DType::i16;
  if (is_word)
    choice.work = std::make_unique<QuantizeRows<way, std::uint16_t>>(
        split, Steps<std::uint16_t>{is_signed, r.has(2)});
  else
    choice.work = std::make_unique<QuantizeRows<way, std::uint8_t>>(
        split, Steps<std::uint8_t>{is_signed, r.has(2)});
  return std::optional<KernelChoice>(std::move(choice));
}

// Ten microseconds with AVX-512; a thread that sleeps takes longer to wake.
std::int64_t dynamic_elements_per_thread() {
  return 4 * elements_per_thread();
}

class DynamicQuantizeRows final : public CpuKernel {
 public:
  explicit DynamicQuantizeRows(std::int64_t n) : n_(n) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    const DynamicSteps steps = range_of(x, args.stop, parallel);
    if (args.outputs[1]) *reinterpret_cast<float*>(args.outputs[1]) = steps.scale;
    if (args.outputs[2]) args.outputs[2][0] = std::byte{steps.zero};
    auto* y = reinterpret_cast<std::uint8_t*>(args.outputs[0]);
    if (!y) return {};
    parallel(n_, dynamic_elements_per_thread(), [&](std::int64_t begin, std::int64_t end) {
      simd().quantize(x + begin, steps.scale, {steps.zero, false}, y + begin, end - begin);
    });
    return {};
  }

 private:
  // The extremes of parts, which are as many as there may be threads, and then of these.
  DynamicSteps range_of(const float* x, const Stop* stop, const Parallel& parallel) const {
    constexpr std::int64_t most_parts = 64;
    const std::int64_t parts = std::clamp<std::int64_t>(
        std::min<std::int64_t>(n_ / dynamic_elements_per_thread(), parallel.threads()), 1,
        most_parts);
    float low[most_parts] = {};
    float high[most_parts] = {};
    parallel(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(stop);
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t first = n_ * p / parts;
        for_row_pieces(n_ * (p + 1) / parts - first, check, [&](std::int64_t i, std::int64_t n) {
          float least = 0;
          float greatest = 0;
          simd().range(x + first + i, n, &least, &greatest);
          low[p] = nan_min(low[p], least);
          high[p] = nan_max(high[p], greatest);
        });
      }
    });
    for (std::int64_t p = 1; p < parts; ++p) {
      low[0] = nan_min(low[0], low[p]);
      high[0] = nan_max(high[0], high[p]);
    }
    return dynamic_steps(low[0], high[0]);
  }

  std::int64_t n_;
};

}  // namespace

Selection select_quantize_rows(const KernelRequest& r) {
  return select<Way::to_integers>(r, r.as<Quantize>());
}

Selection select_dequantize_rows(const KernelRequest& r) {
  return select<Way::to_floats>(r, r.as<Dequantize>());
}

Selection select_dynamic_quantize_rows(const KernelRequest& r) {
  const Shape& shape = r.shape(0);
  if (shape.elements() == 0 || r.outputs.size() != 3) return unsupported();
  const TensorDesc& x = r.inputs[0].desc;
  const Layout layout = is_dense(x) ? x.layout : Layout::row_major(shape);
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts = {layout};
  choice.output_layouts = {layout, {}, {}};
  choice.work = std::make_unique<DynamicQuantizeRows>(shape.elements());
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
