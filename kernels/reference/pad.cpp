// SPDX-License-Identifier: Apache-2.0
// Pad: adds elements before and after each dimension, or takes some away where a pad is negative.
//
// ONNX: Pad, opsets 1 to 25 (pads and value that were attributes import as inputs). First the
// negative pads crop, then the positive ones extend what is left: with a value, its edge, its
// reflection (without repeating the edge, as often as it takes) or its periodic continuation.
#include "graph/ops/pad.h"

#include <algorithm>

#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/pad_copy.h"
#include "kernels/cpu/pad_indexed.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

class Padding {
 public:
  explicit Padding(const ReferenceCall& call)
      : mode_(call.as<Pad>().mode),
        x_(call.inputs[0].type.shape),
        y_(call.outputs[0].type.shape),
        strides_(row_major_strides(x_)),
        size_(size_of(call.inputs[0].type.dtype)),
        dst_(call.outputs[0].data),
        check_(call.stop) {
    read_pads(call);
    if (call.has(2)) std::memcpy(value_, call.inputs[2].data, size_);
  }

  // Writes the part of y from dimension d on, whose source is at `src`.
  void write(std::size_t d, const std::byte* src) {
    if (d == y_.rank()) return put(src);
    for (std::int64_t i = 0; i < y_[d] && !check_.spend(4); ++i) {
      const std::int64_t from = pad_source(mode_, i - extend_[d], kept_[d]);
      if (from < 0) {
        put_value(y_.elements(d + 1));
      } else {
        write(d + 1, src + static_cast<std::size_t>((crop_[d] + from) * strides_[d]) * size_);
      }
    }
  }

 private:
  void read_pads(const ReferenceCall& call) {
    kept_ = x_;
    crop_ = extend_ = Shape::filled(x_.rank(), 0);
    const TensorView& pads = call.inputs[1];
    const std::int64_t n = pads.type.shape.elements() / 2;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::size_t axis = call.has(3) ? positive_axis(index_at(call.inputs[3], i), x_.rank())
                                           : static_cast<std::size_t>(i);
      const std::int64_t begin = index_at(pads, i);
      const std::int64_t end = index_at(pads, n + i);
      extend_[axis] = std::max<std::int64_t>(begin, 0);
      crop_[axis] = -std::min<std::int64_t>(begin, 0);
      kept_[axis] += std::min<std::int64_t>(begin, 0) + std::min<std::int64_t>(end, 0);
    }
  }
  void put(const std::byte* element) {
    std::memcpy(dst_, element, size_);
    dst_ += size_;
  }
  void put_value(std::int64_t n) {
    fill(size_, value_, n, dst_, check_);
    dst_ += static_cast<std::size_t>(n) * size_;
  }

  PadMode mode_;
  Shape x_, y_, strides_;
  Shape kept_, crop_, extend_;  // elements left by the crops, taken off and put before them
  std::size_t size_;
  std::byte value_[sizeof(StringRef)] = {};
  std::byte* dst_;
  StopCheck check_;
};

Status pad_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() > 0) Padding(call).write(0, call.inputs[0].data);
  return {};
}

constexpr CpuImplementation pad_implementations[] = {{"copy", select_pad_copy},
                                                     {"indexed", select_pad_indexed}};

}  // namespace

const OpKernels& Pad::kernels() {
  static constexpr OpKernels table{
      .reference = {pad_reference}, .cpu = pad_implementations, .gpu = gpu::select_pad};
  return table;
}

}  // namespace quern
