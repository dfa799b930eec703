// SPDX-License-Identifier: Apache-2.0
// input_K.pb and output_K.pb: values outside of models.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "frontends/onnx-parser/file.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/tensor.h"
#include "graph/text_util.h"

namespace quern {
namespace {

using onnx::ProtoLimits;

// ---- reading

// The bits of UINT16 under the 16-bit float that they are meant to be.
Tensor relabelled(Tensor t, DType declared) {
  const bool half = declared == DType::bf16 || declared == DType::f16;
  if (!half || t.dtype() != DType::u16) return t;
  return {{declared, t.shape()}, t.owner(), t.data()};
}

// Those of the file may lie anywhere; a session wants its inputs aligned. Text is never in the
// file's own bytes.
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
        decoder_(std::move(owner), "", budget_),
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

void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 128; v >>= 7) out += static_cast<char>(v | 128);
  out += static_cast<char>(v);
}
void put_number(std::string& out, std::uint32_t field, std::uint64_t v) {
  put_varint(out, field << 3);
  put_varint(out, v);
}
void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

std::string pack_four_bits(const Tensor& t) {
  const auto values = t.span<std::uint8_t>();
  std::string packed((values.size() + 1) / 2, '\0');
  for (std::size_t i = 0; i < values.size(); ++i)
    packed[i / 2] = static_cast<char>(packed[i / 2] | (values[i] & 15) << (i % 2 * 4));
  return packed;
}

std::string encode(const Tensor& t, std::string_view name) {
  std::string out;
  for (std::int64_t d : t.shape()) put_number(out, 1, static_cast<std::uint64_t>(d));
  put_number(out, 2, static_cast<std::uint64_t>(onnx::onnx_type_of(t.dtype())));
  if (!name.empty()) put_bytes(out, 8, name);
  if (t.dtype() == DType::string) {
    for (std::size_t i = 0; i < t.span<StringRef>().size(); ++i) {
      StringRef s;
      std::memcpy(&s, t.data() + i * sizeof s, sizeof s);
      put_bytes(out, 6, s.view());
    }
  } else if (t.dtype() == DType::i4 || t.dtype() == DType::u4) {
    put_bytes(out, 9, pack_four_bits(t));
  } else {
    put_bytes(out, 9, {reinterpret_cast<const char*>(t.data()), t.bytes()});
  }
  return out;
}

// Numbers of SequenceProto.DataType and OptionalProto.DataType.
constexpr std::uint64_t of_tensors = 1;
constexpr std::uint64_t of_sequences = 3;

std::string encode(const OnnxValue& value) {
  std::string sequence;
  put_number(sequence, 2, of_tensors);
  for (const Tensor& t : value.tensors) put_bytes(sequence, 3, encode(t, ""));
  std::string out;
  switch (value.kind) {
    case ValueType::Kind::tensor: return encode(value.tensors.front(), value.name);
    case ValueType::Kind::sequence: put_bytes(out, 1, value.name); return out + sequence;
    case ValueType::Kind::optional_tensor:
      put_bytes(out, 1, value.name);
      put_number(out, 2, value.present ? of_tensors : 0);
      if (value.present) put_bytes(out, 3, encode(value.tensors.front(), ""));
      return out;
    case ValueType::Kind::optional_sequence:
      put_bytes(out, 1, value.name);
      put_number(out, 2, value.present ? of_sequences : 0);
      if (value.present) put_bytes(out, 5, sequence);
      return out;
  }
  return out;
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
  QUERN_ASSIGN(const onnx::MappedFile file, onnx::map_file(path));
  auto value = parse_tensor_file(file.bytes, file.owner, declared);
  if (!value) return std::move(value).error().in(printable(path));
  return value;
}

Status write_tensor_file(const std::string& path, const OnnxValue& value) {
  if (holds_one_tensor(value) && value.tensors.size() != 1)
    return {Code::invalid_argument,
            cat(printable(path), ": ", value.tensors.size(), " tensors given, wants one")};
  const std::string bytes = encode(value);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return {Code::invalid_argument, cat(printable(path), ": cannot be written")};
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return {};
  return {Code::invalid_argument, cat(printable(path), ": could not be written whole")};
}

}  // namespace quern
