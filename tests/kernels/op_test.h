// SPDX-License-Identifier: Apache-2.0
// Running one operator by its definition alone: inference, then the reference.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/tensor.h>

#include "graph/numeric.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "kernels/contract/kernel.h"

namespace quern::testing {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, Half>) return DType::f16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::i16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::u16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::u64;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, StringRef>) return DType::string;
  if constexpr (std::is_same_v<T, Int4>) return DType::i4;
  if constexpr (std::is_same_v<T, UInt4>) return DType::u4;
  if constexpr (std::is_same_v<T, Float8Of<Float8::e4m3fn>>) return DType::f8e4m3fn;
  if constexpr (std::is_same_v<T, Float8Of<Float8::e4m3fnuz>>) return DType::f8e4m3fnuz;
  if constexpr (std::is_same_v<T, Float8Of<Float8::e5m2>>) return DType::f8e5m2;
  if constexpr (std::is_same_v<T, Float8Of<Float8::e5m2fnuz>>) return DType::f8e5m2fnuz;
}

// tensor<float>({2, 2}, {1, 2, 3, 4})
template <class T>
Tensor tensor(Shape shape, std::initializer_list<std::type_identity_t<T>> values) {
  Tensor t = Tensor::zeros({dtype_of<T>(), shape}).value();
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(t.mutable_data()));
  return t;
}
template <class T>
std::vector<T> values(const Tensor& t) {
  const auto s = t.span<T>();
  return {s.begin(), s.end()};
}
inline Tensor absent() {
  return {};
}

// The types that inference gives for these inputs, with `known` telling whose elements it may see.
inline Result<std::vector<ValueType>> infer(const Op& op, const std::vector<Tensor>& inputs,
                                            std::size_t outputs = 1, bool elements_known = true) {
  const OpDef& def = op.def();
  std::vector<InferInput> in;
  for (const Tensor& t : inputs)
    in.push_back(t.valid() ? InferInput{true, ValueType(t.type()), elements_known ? &t : nullptr}
                           : InferInput{});
  InferContext context(op, def.name, "test", in, outputs);
  QUERN_TRY((def.bound && elements_known ? def.bound : def.infer)(context));
  return std::vector<ValueType>(context.outputs().begin(), context.outputs().end());
}

// Inference that knows less must succeed as well and say nothing that the full truth contradicts:
// without the ranks, without the dimensions, without the elements.
inline void expect_symbolic_inference(const Op& op, const std::vector<Tensor>& inputs,
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

// Inference, then the reference. An input made by absent() is left out.
inline Result<std::vector<Tensor>> run_reference(const Op& op, const std::vector<Tensor>& inputs,
                                                 std::size_t outputs = 1) {
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
    // What the reference forgets to write shall not pass for zero.
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

// The only output; fails the test on an error.
inline Tensor run(const Op& op, const std::vector<Tensor>& inputs) {
  auto r = run_reference(op, inputs);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? (*r)[0] : Tensor();
}

// The error message; fails the test when there is none.
inline std::string error_of(const Op& op, const std::vector<Tensor>& inputs,
                            std::size_t outputs = 1) {
  auto r = run_reference(op, inputs, outputs);
  EXPECT_FALSE(r) << "an error was expected";
  return r ? "" : std::string(r.error().message());
}

}  // namespace quern::testing
