// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_test.h"

#include "graph/text.h"

namespace quern::testing {

template std::vector<float> values(const Tensor& t);
template std::vector<std::int64_t> values(const Tensor& t);

Tensor tensor_of_bytes(const TensorType& type, std::span<const std::byte> bytes) {
  Tensor t = Tensor::zeros(type).value();
  EXPECT_LE(bytes.size(), t.bytes());
  std::copy_n(bytes.begin(), std::min(bytes.size(), t.bytes()), t.mutable_data());
  return t;
}

Result<std::vector<ValueType>> infer(const Op& op, const std::vector<Tensor>& inputs,
                                     std::size_t outputs, bool elements_known) {
  const OpDef& def = op.def();
  std::vector<InferInput> in;
  for (const Tensor& t : inputs)
    in.push_back(t.valid() ? InferInput{true, ValueType(t.type()), elements_known ? &t : nullptr}
                           : InferInput{});
  InferContext context(op, def.name, "test", in, outputs);
  QUERN_TRY((def.bound && elements_known ? def.bound : def.infer)(context));
  return std::vector<ValueType>(context.outputs().begin(), context.outputs().end());
}

void expect_symbolic_inference(const Op& op, const std::vector<Tensor>& inputs,
                               const std::vector<ValueType>& truth) {
  const OpDef& def = op.def();
  for (const char* unknown : {"ranks", "dimensions", "elements"}) {
    std::vector<InferInput> in;
    for (const Tensor& t : inputs) {
      in.push_back({t.valid(), ValueType(t.type()), nullptr});
      if (*unknown == 'r') in.back().type.dims.reset();
      if (*unknown == 'd') in.back().type.dims = Dims(t.shape().rank());
    }
    InferContext context(op, def.name, "test", in, truth.size());
    const Status status = def.infer(context);
    EXPECT_TRUE(status.ok()) << "with unknown " << unknown << ": " << status.message();
    if (!status.ok()) continue;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const ValueType& said = context.outputs()[i];
      EXPECT_EQ(said.dtype, truth[i].dtype) << "output " << i << " with unknown " << unknown;
      EXPECT_TRUE(!said.dims || !truth[i].dims || meet(*said.dims, *truth[i].dims))
          << "output " << i << " with unknown " << unknown << " is " << type_text(said);
    }
  }
}

Result<std::vector<Tensor>> run_reference(const Op& op, const std::vector<Tensor>& inputs,
                                          std::size_t outputs) {
  const OpReference reference = builtin_ops().reference_of(op.def());
  QUERN_ASSIGN(const std::vector<ValueType> types, infer(op, inputs, outputs));
  if (!op.def().bound) expect_symbolic_inference(op, inputs, types);
  std::vector<Tensor> out;
  std::vector<TensorView> in_views;
  std::vector<TensorType> in_types;
  std::vector<MutableTensorView> out_views;
  std::vector<TensorType> out_types;
  for (const Tensor& t : inputs) {
    in_views.push_back(t.view());
    in_types.push_back(t.type());
  }
  for (const ValueType& t : types) {
    const auto shape = t.shape();
    if (!shape) return Status(Code::internal, "inference left a dimension open");
    QUERN_ASSIGN(out.emplace_back(), Tensor::zeros({t.dtype, *shape}));
    // Elements that the reference forgets to write must not pass for zero.
    std::fill_n(out.back().mutable_data(), out.back().bytes(), std::byte{0xa5});
    out_types.push_back(out.back().type());
    out_views.push_back({out.back().type(), out.back().mutable_data()});
  }
  std::vector<std::byte> memory(reference.scratch ? reference.scratch(op, in_types, out_types) + 64
                                                  : 64);
  auto* aligned = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) & ~std::uintptr_t{63});
  Scratch scratch(aligned, memory.size() - 64);
  static StringPool strings;
  QUERN_TRY(reference.run({op, in_views, out_views, scratch, strings}));
  for (std::size_t i = 0; i < out.size(); ++i)  // shapes that depended on data
    out[i] = Tensor(out_views[i].type, out[i].owner(), out[i].data());
  return out;
}

Tensor run(const Op& op, const std::vector<Tensor>& inputs) {
  auto r = run_reference(op, inputs);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? (*r)[0] : Tensor();
}

std::string error_of(const Op& op, const std::vector<Tensor>& inputs, std::size_t outputs) {
  auto r = run_reference(op, inputs, outputs);
  EXPECT_FALSE(r) << "an error was expected";
  return r ? "" : std::string(r.error().message());
}

}  // namespace quern::testing
