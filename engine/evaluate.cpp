// SPDX-License-Identifier: Apache-2.0
#include "engine/evaluate.h"

#include <cstdint>
#include <memory>

namespace quern {
namespace {

// Constants may alias a mapped file at any address; kernels want aligned elements.
Result<Tensor> aligned(const Tensor& t) {
  if (!t.valid() || reinterpret_cast<std::uintptr_t>(t.data()) % size_of(t.dtype()) == 0) return t;
  return Tensor::copy_of(t.type(), {t.data(), t.bytes()});
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const OpDef& def, const Op& op, std::span<const Tensor> inputs,
                                     std::span<const TensorType> types) {
  std::vector<Tensor> in;
  std::vector<TensorView> in_views;
  std::vector<TensorType> in_types;
  for (const Tensor& t : inputs) {
    QUERN_ASSIGN(in.emplace_back(), aligned(t));
    in_views.push_back(in.back().view());
    in_types.push_back(t.type());
  }
  // New strings live as long as the tensors that point at them.
  auto strings = std::make_shared<StringPool>();
  std::vector<Tensor> out;
  std::vector<MutableTensorView> out_views;
  for (const TensorType& t : types) {
    QUERN_ASSIGN(out.emplace_back(), Tensor::zeros(t));
    out_views.push_back({t, out.back().mutable_data()});
  }
  const std::size_t scratch_bytes = def.scratch ? def.scratch(op, in_types, types) : 0;
  QUERN_ASSIGN(Tensor memory,
               Tensor::zeros({DType::u8, {static_cast<std::int64_t>(scratch_bytes)}}));
  Scratch scratch(memory.mutable_data(), scratch_bytes);
  QUERN_TRY(def.reference({op, in_views, out_views, scratch, *strings}));
  for (std::size_t i = 0; i < out.size(); ++i) {
    struct Owners {
      std::shared_ptr<const void> bytes, inputs, strings;
    };
    std::shared_ptr<const void> owner = out[i].owner();
    if (types[i].dtype == DType::string)
      owner = std::make_shared<Owners>(
          Owners{owner, std::make_shared<std::vector<Tensor>>(in), strings});
    out[i] = Tensor(out_views[i].type, std::move(owner), out[i].data());
  }
  return out;
}

}  // namespace quern
