// SPDX-License-Identifier: Apache-2.0
// Reads and writes input_K.pb and output_K.pb.
#include <algorithm>
#include <cstdio>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/file.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/tensor.h"
#include "frontends/onnx-parser/write.h"

namespace quern {
namespace {

using onnx::ProtoLimits;

// ---- reading

// Reinterprets the bits of UINT16 as the declared 16-bit float.
Tensor relabelled(Tensor t, DType declared) {
  const bool half = declared == DType::bf16 || declared == DType::f16;
  if (!half || t.dtype() != DType::u16) return t;
  return {{declared, t.shape()}, t.owner(), t.data()};
}

// Elements in the file may have any alignment, but a session requires aligned inputs. Text is never
// a view of the file.
Result<Tensor> aligned(Tensor t) {
  const std::size_t alignment = std::min<std::size_t>(size_of(t.dtype()), 8);
  if (t.dtype() == DType::string || reinterpret_cast<std::uintptr_t>(t.data()) % alignment == 0)
    return t;
  return Tensor::copy_of(t.type(), {t.data(), t.bytes()});
}

class ValueReader {
 public:
  ValueReader(std::size_t file_bytes, std::shared_ptr<const void> owner, const ValueType& declared)
      : budget_((std::size_t{64} << 20) + 16 * file_bytes),
        decoder_(std::move(owner), onnx::ConfinedFolder(""), budget_),
        limits_{(std::size_t{32} << 20) + 4 * file_bytes},
        declared_(declared) {}

  Result<OnnxValue> read(std::string_view bytes) {
    OnnxValue value{.kind = declared_.kind};
    if (declared_.is_optional()) {
      QUERN_ASSIGN(const onnx::OptionalProto optional, onnx::read_optional(bytes, limits_));
      value.name = std::string(optional.name);
      value.present = !optional.tensor.empty() || !optional.sequence.empty();
      for (const onnx::TensorProto& t : optional.tensor) QUERN_TRY(add(value, t));
      for (const onnx::SequenceProto& s : optional.sequence) QUERN_TRY(add(value, s));
    } else if (declared_.is_sequence()) {
      QUERN_ASSIGN(const onnx::SequenceProto sequence, onnx::read_sequence(bytes, limits_));
      value.name = std::string(sequence.name);
      QUERN_TRY(add(value, sequence));
    } else {
      QUERN_ASSIGN(const onnx::TensorProto tensor, onnx::read_tensor(bytes, limits_));
      value.name = std::string(tensor.name);
      QUERN_TRY(add(value, tensor));
    }
    return value;
  }

 private:
  Status add(OnnxValue& value, const onnx::TensorProto& proto) {
    QUERN_ASSIGN(Tensor t, decoder_.decode(proto));
    QUERN_ASSIGN(value.tensors.emplace_back(), aligned(relabelled(std::move(t), declared_.dtype)));
    return {};
  }
  Status add(OnnxValue& value, const onnx::SequenceProto& proto) {
    for (const onnx::TensorProto& t : proto.tensors) QUERN_TRY(add(value, t));
    return {};
  }

  onnx::MemoryBudget budget_;
  onnx::TensorDecoder decoder_;
  ProtoLimits limits_;
  const ValueType& declared_;
};

// ---- writing

std::string encode(const OnnxValue& value) {
  onnx::TextPool pool;
  onnx::SequenceProto sequence;
  for (const Tensor& t : value.tensors)
    sequence.tensors.push_back(onnx::tensor_message(t, "", pool));
  onnx::OptionalProto optional;
  optional.name = value.name;
  switch (value.kind) {
    case ValueType::Kind::tensor:
      sequence.tensors.front().name = value.name;
      return onnx::write_tensor(sequence.tensors.front());
    case ValueType::Kind::sequence:
      sequence.name = value.name;
      return onnx::write_sequence(sequence);
    case ValueType::Kind::optional_tensor:
      if (value.present) optional.tensor = std::move(sequence.tensors);
      return onnx::write_optional(optional);
    case ValueType::Kind::optional_sequence:
      if (value.present) optional.sequence.push_back(std::move(sequence));
      return onnx::write_optional(optional);
  }
  return {};
}

bool holds_one_tensor(const OnnxValue& value) {
  return value.kind == ValueType::Kind::tensor ||
         (value.kind == ValueType::Kind::optional_tensor && value.present);
}

}  // namespace

Result<OnnxValue> parse_tensor_file(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, const ValueType& declared) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return ValueReader(bytes.size(), std::move(owner), declared).read(text);
}

Result<OnnxValue> read_tensor_file(const std::string& path, const ValueType& declared) {
  QUERN_ASSIGN(const OpenedFile file, open_file(path));
  auto value = parse_tensor_file(file.bytes, file.owner, declared);
  if (!value) return std::move(value).error().in(printable(path));
  return value;
}

Result<std::string> tensor_file_bytes(const OnnxValue& value) {
  if (holds_one_tensor(value) && value.tensors.size() != 1)
    return Status(Code::invalid_argument, cat(value.tensors.size(), " tensors given, wants one"));
  return encode(value);
}

Status write_tensor_file(const std::string& path, const OnnxValue& value) {
  auto encoded = tensor_file_bytes(value);
  if (!encoded) return std::move(encoded).error().in(printable(path));
  const std::string& bytes = *encoded;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return {Code::invalid_argument, cat(printable(path), ": cannot be written")};
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return {};
  return {Code::invalid_argument, cat(printable(path), ": could not be written whole")};
}

}  // namespace quern
