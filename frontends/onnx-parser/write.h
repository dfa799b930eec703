// SPDX-License-Identifier: Apache-2.0
// ONNX messages as bytes: the inverse of proto.h, for tools that make or change models.
//
// Writes the contents of the structs in the order of field numbers; fields that reading skips (doc
// strings of nodes, names of a function's attributes) are lost. Reading the bytes gives equal
// structs.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include <quern/tensor.h>

#include "frontends/onnx-parser/proto.h"

namespace quern::onnx {

// Owns texts and payloads that are created while a message is built, since messages only view them.
// The result of keep() is valid as long as the pool.
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
// strings and elements smaller than a byte), so `tensor` must outlive the message; the rest is kept
// in `pool`.
TensorProto tensor_message(const Tensor& tensor, std::string_view name, TextPool& pool);

// ---- attributes, for code that builds models

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
