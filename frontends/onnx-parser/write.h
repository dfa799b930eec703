// SPDX-License-Identifier: Apache-2.0
// ONNX messages as bytes: the inverse of proto.h, for tools that make or change models.
//
// What the structs hold is written, in the order of field numbers; what reading skips (doc strings
// of nodes, names of a function's attributes) is gone. Reading the bytes gives equal structs.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include <quern/tensor.h>

#include "frontends/onnx-parser/proto.h"

namespace quern::onnx {

// Owns texts and payloads that are made while a message is built, since messages only view them.
// What keep() returns is valid for as long as the pool lives.
class TextPool {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  std::deque<std::string> texts_;
};

std::string write_model(const ModelProto& model);
std::string write_tensor(const TensorProto& tensor);
std::string write_sequence(const SequenceProto& sequence);
std::string write_optional(const OptionalProto& optional);

// A tensor as a message. Elements are views of `tensor` where the encoding allows it (all but
// strings and 4-bit integers), so `tensor` must outlive the message; the rest is kept in `pool`.
TensorProto tensor_message(const Tensor& tensor, std::string_view name, TextPool& pool);

// ---- what models are made of, for those who build them

AttributeProto number_attribute(std::string_view name, float value);
AttributeProto integer_attribute(std::string_view name, std::int64_t value);
AttributeProto text_attribute(std::string_view name, std::string_view value);
AttributeProto integers_attribute(std::string_view name, std::span<const std::int64_t> values);
AttributeProto numbers_attribute(std::string_view name, std::span<const float> values);
AttributeProto texts_attribute(std::string_view name, std::span<const std::string_view> values);
AttributeProto tensor_attribute(std::string_view name, TensorProto value);
AttributeProto graph_attribute(std::string_view name, GraphProto value);
AttributeProto type_attribute(std::string_view name, TypeProto value);

}  // namespace quern::onnx
