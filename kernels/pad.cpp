// SPDX-License-Identifier: Apache-2.0
// Pad: adds elements before and after each dimension, or takes some away where a pad is negative.
//
// ONNX: Pad, opsets 1 to 25 (pads and value that were attributes import as inputs). First the
// negative pads crop, then the positive ones extend what is left: with a value, its edge, its
// reflection (without repeating the edge, as often as it takes) or its periodic continuation.
#include <algorithm>

#include "graph/op_fields.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"
#include "kernels/pad_copy.h"

namespace quern {
namespace {

// ---- inference

struct Pads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A dimension that nobody knows keeps its size only if nothing is done to it: in the other cases
// even a crop that cancels a pad might take more than there is.
Result<Dim> padded(const InferContext& c, std::size_t axis, Pads p) {
  const Dim d = (*c.dims(0))[axis];
  if (p.begin == 0 && p.end == 0) return d;
  if (!d.known()) return Dim();
  std::int64_t left = d.value() + std::min<std::int64_t>(p.begin, 0);
  if (__builtin_add_overflow(left, std::min<std::int64_t>(p.end, 0), &left) || left < 0)
    return c.error(cat("pads ", p.begin, " and ", p.end, " crop more than dimension ", axis, " of ",
                       c.describe(0), " has"));
  const bool extends = p.begin > 0 || p.end > 0;
  if (left == 0 && extends && c.op<Pad>().mode != PadMode::constant)
    return c.error(cat("mode ", enum_name(c.op<Pad>().mode),
                       " has nothing to take from in dimension ", axis, " of ", c.describe(0)));
  return Dim(left) + Dim(std::max<std::int64_t>(p.begin, 0)) +
         Dim(std::max<std::int64_t>(p.end, 0));
}

// Pads of each dimension of x.
Result<std::optional<std::vector<Pads>>> pads_of(const InferContext& c, const ListOperand& list,
                                                 std::size_t rank) {
  using All = std::optional<std::vector<Pads>>;
  QUERN_ASSIGN(const auto axes, axes_operand(c, 3, rank));
  if (c.has(3) && !axes) return All();
  const std::size_t n = axes ? axes->size() : rank;
  if (list.length && *list.length != 2 * static_cast<std::int64_t>(n))
    return c.error(cat(*list.length, " pads, wants two for each of ", n, " axes"));
  if (!list.values) return All();
  std::vector<Pads> pads(rank);
  for (std::size_t i = 0; i < n; ++i)
    pads[axes ? (*axes)[i] : i] = {(*list.values)[i], (*list.values)[n + i]};
  return All(std::move(pads));
}

Status infer(InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, list_operand(c, 1));
  QUERN_TRY(list_operand(c, 3).status());
  QUERN_TRY(c.want_same_dtype(0, 2));
  QUERN_TRY(want_single(c, 2));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims(c.dims(0)->size());
  QUERN_ASSIGN(const auto pads, pads_of(c, list, dims.size()));
  for (std::size_t i = 0; pads && i < dims.size(); ++i) {
    QUERN_ASSIGN(dims[i], padded(c, i, (*pads)[i]));
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// ---- reference

// Where an element comes from that lies `at` positions behind the first of n; -1: it is the value.
std::int64_t source_at(PadMode mode, std::int64_t at, std::int64_t n) {
  if (at >= 0 && at < n) return at;
  switch (mode) {
    case PadMode::constant: return -1;
    case PadMode::edge: return at < 0 ? 0 : n - 1;
    case PadMode::wrap: return (at % n + n) % n;
    case PadMode::reflect: break;
  }
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1);
  const std::int64_t phase = (at % period + period) % period;
  return phase < n ? phase : period - phase;
}

class Padding {
 public:
  explicit Padding(const ReferenceCall& call)
      : mode_(call.as<Pad>().mode),
        x_(call.inputs[0].type.shape),
        y_(call.outputs[0].type.shape),
        strides_(row_major_strides(x_)),
        size_(size_of(call.inputs[0].type.dtype)),
        dst_(call.outputs[0].data) {
    read_pads(call);
    if (call.has(2)) std::memcpy(value_, call.inputs[2].data, size_);
  }

  // Writes the part of y from dimension d on, whose source is at `src`.
  void write(std::size_t d, const std::byte* src) {
    if (d == y_.rank()) return put(src);
    for (std::int64_t i = 0; i < y_[d]; ++i) {
      const std::int64_t from = source_at(mode_, i - extend_[d], kept_[d]);
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
    fill(size_, value_, n, dst_);
    dst_ += static_cast<std::size_t>(n) * size_;
  }

  PadMode mode_;
  Shape x_, y_, strides_;
  Shape kept_, crop_, extend_;  // elements left by the crops, taken off and put before them
  std::size_t size_;
  std::byte value_[sizeof(StringRef)] = {};
  std::byte* dst_;
};

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() > 0) Padding(call).write(0, call.inputs[0].data);
  return {};
}

constexpr CpuImplementation implementations[] = {{"copy", select_pad_copy}};
constexpr OpKernels kernels{.cpu = implementations, .gpu = gpu::select_pad};

}  // namespace

const OpDef& Pad::def() {
  static constexpr OpDef def{.name = "Pad",
                             .inputs = {2, 4},
                             .plan_operands = 0b1010,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
