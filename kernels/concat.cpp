// SPDX-License-Identifier: Apache-2.0
// Concat: the inputs one behind the other along an axis.
//
// ONNX: Concat, opsets 1 to 13 (axis is 1 when left out below opset 4).
#include <algorithm>

#include "graph/text_util.h"
#include "kernels/copy.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

// The first input whose rank is known; all others must have it.
Result<const Dims*> first_known(const InferContext& c) {
  const Dims* known = nullptr;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.error(cat("input ", i, " is left out"));
    QUERN_TRY(c.want_same_dtype(0, i));
    if (!c.dims(i)) continue;
    if (!known) known = c.dims(i);
    if (c.dims(i)->size() != known->size())
      return c.error(cat(c.describe(i), " has not the rank of the others, ", known->size()));
  }
  return known;
}

Status infer(InferContext& c) {
  QUERN_ASSIGN(const Dims* known, first_known(c));
  if (!known) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Concat>().axis, known->size()));
  Dims out = *known;
  Dim total = 0;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.dims(i)) {
      total = Dim();
      continue;
    }
    Dims dims = *c.dims(i);
    total = total + dims[axis];
    dims[axis] = out[axis];
    const auto both = meet(out, dims);
    if (!both)
      return c.error(cat(c.describe(i), " differs from the other inputs in more than axis ", axis));
    out = *both;
  }
  out[axis] = total;
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  const std::size_t axis = positive_axis(call.as<Concat>().axis, y.type.shape.rank());
  const AxisSplit s = split_at(y.type.shape, axis);
  std::byte* dst = y.data;
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (const TensorView& x : call.inputs) {
      const auto run =
          static_cast<std::size_t>(x.type.shape[axis] * s.inner) * size_of(x.type.dtype);
      std::memcpy(dst, x.data + static_cast<std::size_t>(o) * run, run);
      dst += run;
    }
  }
  return {};
}

// ---- in any layout -----------------------------------------------------------------------------

// The part [at, at + part.shape[axis]) of a tensor along an axis, as it lies in there.
struct Part {
  TensorDesc desc;
  std::size_t offset;  // bytes
};

Part part_of(const TensorDesc& whole, std::size_t axis, std::int64_t at, const Shape& shape) {
  const Layout& l = whole.layout;
  const std::int64_t step = axis == 1 && l.block ? at / l.block : at;
  return {{whole.dtype, shape, l},
          static_cast<std::size_t>(step * l.strides[axis]) * size_of(whole.dtype)};
}

class ConcatParts final : public CpuKernel {
 public:
  ConcatParts(std::span<const TensorDesc> inputs, const TensorDesc& whole, std::size_t axis) {
    std::int64_t at = 0;
    for (const TensorDesc& in : inputs) {
      const Part part = part_of(whole, axis, at, in.shape);
      copies_.push_back({StridedCopy(in, part.desc), part.offset});
      at += in.shape[axis];
    }
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    for (std::size_t i = 0; i < copies_.size(); ++i)
      copies_[i].copy.run(args.inputs[i], args.outputs[0] + copies_[i].offset, parallel);
    return {};
  }

 private:
  struct Placed {
    StridedCopy copy;
    std::size_t offset;
  };
  std::vector<Placed> copies_;
};

// Of the largest input, if all can have it.
std::optional<TensorDesc> common_model(const KernelRequest& r) {
  const auto largest = std::ranges::max_element(r.inputs, {}, [](const KernelInput& in) {
    return in.constant ? 0 : in.desc.shape.elements();
  });
  const TensorDesc& model = largest->desc;
  if (const int block = model.layout.block)
    return std::ranges::all_of(r.inputs, [&](const KernelInput& in) {
             return in.desc.shape[1] % block == 0;
           })
               ? std::optional(model)
               : std::nullopt;
  return is_dense(model) ? std::optional(model) : std::nullopt;
}

Selection select_parts(const KernelRequest& r) {
  const Shape& shape = r.outputs[0].shape;
  if (shape.elements() == 0 || r.dtype(0) == DType::string) return not_for_me();
  const TensorDesc model = common_model(r).value_or(TensorDesc::row_major(r.dtype(0), r.shape(0)));
  KernelChoice choice;
  choice.implementation = "copy";
  const TensorDesc whole{r.dtype(0), shape, Layout::like(model, shape)};
  std::vector<TensorDesc> inputs;
  for (const KernelInput& in : r.inputs) {
    choice.input_layouts.push_back(Layout::like(model, in.desc.shape));
    inputs.push_back({whole.dtype, in.desc.shape, choice.input_layouts.back()});
  }
  choice.output_layouts = {whole.layout};
  choice.kernel = std::make_unique<ConcatParts>(
      inputs, whole, positive_axis(r.as<Concat>().axis, shape.rank()));
  return std::optional<KernelChoice>(std::move(choice));
}

constexpr CpuImplementation cpu[] = {{"copy", select_parts}};
constexpr OpKernels kernels{.cpu = cpu};

}  // namespace

const OpDef& Concat::def() {
  static constexpr OpDef def{
      .name = "Concat", .inputs = {1, any_number}, .infer = infer, .reference = reference,
      .kernels = &kernels};
  return def;
}

}  // namespace quern
