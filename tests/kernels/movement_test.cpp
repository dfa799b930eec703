// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/movement_test.h"

#include "graph/text.h"

namespace quern::testing {
namespace {

std::string types_text(InferFn fn, const Op& op, const std::vector<Arg>& args, std::size_t outputs,
                       const Bodies& bodies) {
  std::vector<InferInput> in;
  for (const Arg& a : args) in.push_back({a.present, a.type, a.value.valid() ? &a.value : nullptr});
  InferContext context(op, op.def().name, "test", in, outputs, bodies);
  if (Status s = fn(context); !s.ok()) return std::string(s.message());
  std::string text;
  for (const ValueType& t : context.outputs()) text += (text.empty() ? "" : "; ") + type_text(t);
  return text;
}

}  // namespace

std::string infer_text(const Op& op, const std::vector<Arg>& args, std::size_t outputs,
                       const Bodies& bodies) {
  return types_text(op.def().infer, op, args, outputs, bodies);
}
std::string bound_text(const Op& op, const std::vector<Arg>& args, std::size_t outputs) {
  return types_text(op.def().bound, op, args, outputs, {});
}

Tensor counting(Shape shape) {
  Tensor t = Tensor::zeros({DType::f32, shape}).value();
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    reinterpret_cast<float*>(t.mutable_data())[i] = static_cast<float>(i);
  return t;
}
Tensor strings(Shape shape, std::initializer_list<std::string_view> values) {
  std::vector<StringRef> refs;
  for (std::string_view v : values) refs.push_back({v.data(), v.size()});
  return Tensor::from_values<StringRef>(DType::string, shape, refs);
}
std::vector<std::string> string_values(const Tensor& t) {
  std::vector<std::string> out;
  for (const StringRef& s : t.span<StringRef>()) out.emplace_back(s.view());
  return out;
}
std::vector<Tensor> run_all(const Op& op, const std::vector<Tensor>& inputs, std::size_t outputs) {
  auto r = run_reference(op, inputs, outputs);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? *std::move(r) : std::vector<Tensor>(outputs);
}

}  // namespace quern::testing
