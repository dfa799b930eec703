// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"

namespace quern::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are aliased as they lie");

struct TypeRow {
  std::string_view name;
  std::optional<DType> dtype;
};

// TensorProto.DataType in order.
constexpr std::array<TypeRow, 27> types = {{
    {"UNDEFINED", {}},
    {"FLOAT", DType::f32},
    {"UINT8", DType::u8},
    {"INT8", DType::i8},
    {"UINT16", DType::u16},
    {"INT16", DType::i16},
    {"INT32", DType::i32},
    {"INT64", DType::i64},
    {"STRING", DType::string},
    {"BOOL", DType::boolean},
    {"FLOAT16", DType::f16},
    {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},
    {"UINT64", DType::u64},
    {"COMPLEX64", {}},
    {"COMPLEX128", {}},
    {"BFLOAT16", DType::bf16},
    {"FLOAT8E4M3FN", DType::f8e4m3fn},
    {"FLOAT8E4M3FNUZ", DType::f8e4m3fnuz},
    {"FLOAT8E5M2", DType::f8e5m2},
    {"FLOAT8E5M2FNUZ", DType::f8e5m2fnuz},
    {"UINT4", DType::u4},
    {"INT4", DType::i4},
    {"FLOAT4E2M1", DType::f4e2m1},
    {"FLOAT8E8M0", DType::f8e8m0},
    {"UINT2", DType::u2},
    {"INT2", DType::i2},
}};

// Elements that share a byte of a payload, the first in its low bits; 1 for whole bytes.
std::size_t per_byte(DType dtype) {
  return bits_of(dtype) < 8 ? 8 / bits_of(dtype) : 1;
}

// Element `i` of those in a byte, sign-extended if it is a signed integer.
std::uint8_t part_of(std::uint8_t byte, std::size_t i, DType dtype) {
  const std::size_t bits = bits_of(dtype);
  const int v = byte >> (bits * i) & ((1 << bits) - 1);
  const int sign = is_integer(dtype) && !is_unsigned(dtype) ? 1 << (bits - 1) : 0;
  return static_cast<std::uint8_t>((v ^ sign) - sign);
}

// The target of the data pointer of tensors without elements, which must not be null.
constexpr std::byte no_bytes{};

const std::byte* non_null(const char* p) {
  return p ? reinterpret_cast<const std::byte*>(p) : &no_bytes;
}

Status wrong_size(std::uint64_t found, const TensorType& type, std::uint64_t wanted,
                  std::string_view unit) {
  return {Code::invalid_model,
          cat("has ", found, " ", unit, ", but ", type.text(), " takes ", wanted)};
}

// ---- typed fields

enum class Encoding : std::uint8_t { varint, fixed };
struct Field {
  std::uint32_t number;
  Encoding encoding;
};

// The typed field that holds elements of `dtype`.
Field field_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return {4, Encoding::fixed};
    case DType::f64: return {10, Encoding::fixed};
    case DType::i64: return {7, Encoding::varint};
    case DType::u32:
    case DType::u64: return {11, Encoding::varint};
    default: return {5, Encoding::varint};
  }
}

// Writes decoded numbers in order; refuses more numbers than the tensor has elements.
class ElementWriter {
 public:
  ElementWriter(DType dtype, std::byte* dst, std::int64_t elements)
      : dtype_(dtype), size_(size_of(dtype)), dst_(dst), left_(elements) {}

  std::int64_t left() const { return left_; }
  // Returns false if no element is left, or if the number is out of the range of the type.
  bool write(std::uint64_t v) {
    if (left_ <= 0 || !fits(v)) return false;
    if (const std::size_t parts = per_byte(dtype_); parts > 1) {
      for (std::size_t i = 0; i < parts && left_ > 0; ++i)
        put(part_of(static_cast<std::uint8_t>(v), i, dtype_));
      return true;
    }
    put(dtype_ == DType::boolean ? static_cast<std::uint64_t>(v != 0) : v);
    return true;
  }

 private:
  // Narrow types may be stored as signed numbers or as their bits.
  bool fits(std::uint64_t v) const {
    if (dtype_ == DType::boolean || size_ >= 4) return true;
    const auto n = static_cast<std::int64_t>(v);
    const std::int64_t span = std::int64_t{1} << (8 * size_);
    return n >= -span / 2 && n < span;
  }
  void put(std::uint64_t v) {
    std::memcpy(dst_, &v, size_);
    dst_ += size_;
    --left_;
  }

  DType dtype_;
  std::size_t size_;
  std::byte* dst_;
  std::int64_t left_;
};

bool take(WireReader& r, const Field& field, std::size_t size, std::uint64_t& v) {
  v = 0;
  return field.encoding == Encoding::varint ? r.take_varint(v) : r.take_fixed(&v, size);
}

// One field of the message: a packed run or a single element.
void decode_occurrence(WireReader& r, const Field& field, DType dtype, ElementWriter& out) {
  const std::size_t size = size_of(dtype);
  const std::uint32_t single = field.encoding == Encoding::varint ? 0U : (size == 8 ? 1U : 5U);
  std::uint64_t v = 0;
  if (r.wire_type() == single) {
    if (take(r, field, size, v) && !out.write(v))
      r.fail("a number too many, or outside of its type");
    return;
  }
  WireReader run = r.message();
  while (!run.at_end() && take(run, field, size, v))
    if (!out.write(v)) return run.fail("a number too many, or outside of its type");
}

// The payload if it is one packed run of fixed-size numbers, which may be aliased.
std::optional<std::string_view> only_run(const TensorProto& proto, std::uint32_t field) {
  std::optional<std::string_view> run;
  for (std::string_view part : proto.parts) {
    WireState state(part, 0);
    WireReader r(part, state);
    while (r.next()) {
      if (r.field() != field) {
        r.skip();
        continue;
      }
      if (run || r.wire_type() != 2) return std::nullopt;
      run = r.message_bytes();
    }
  }
  return run;
}

std::uint64_t bytes_of(const TensorProto& proto) {
  std::uint64_t n = 0;
  for (std::string_view part : proto.parts) n += part.size();
  return n;
}

// ---- external data

struct ExternalEntry {
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Result<std::uint64_t> parse_number(const StringEntry& entry) {
  std::uint64_t v = 0;
  const char* end = entry.value.data() + entry.value.size();
  const auto [p, error] = std::from_chars(entry.value.data(), end, v);
  if (error != std::errc() || p != end)
    return Status(Code::invalid_model, cat("external data: ", printable(entry.key), " is '",
                                           printable(entry.value), "', wants a number"));
  return v;
}

Result<ExternalEntry> external_entry(const TensorProto& proto) {
  ExternalEntry e;
  for (const StringEntry& entry : proto.external) {
    if (entry.key == "location") {
      e.location = entry.value;
    } else if (entry.key == "offset") {
      QUERN_ASSIGN(e.offset, parse_number(entry));
    } else if (entry.key == "length") {
      QUERN_ASSIGN(e.length, parse_number(entry));
    }
  }
  return e;
}

// The bytes of the elements in a payload.
std::uint64_t stored_bytes(const TensorType& type, std::int64_t elements) {
  const auto n = static_cast<std::uint64_t>(elements);
  const std::size_t parts = per_byte(type.dtype);
  return parts > 1 ? n / parts + (n % parts != 0) : n * size_of(type.dtype);
}

// ---- sparse

Status sparse_error(std::string_view what) {
  return {Code::invalid_model, cat("sparse tensor: ", what)};
}

// The index of entry `i` of a sparse tensor in the dense tensor; nullopt if it is out of range.
std::optional<std::int64_t> dense_offset(const Ints& indices, std::size_t i, std::size_t width,
                                         const Shape& dense) {
  if (width == 0) return indices[i];
  std::int64_t at = 0;
  for (std::size_t d = 0; d < width; ++d) {
    const std::int64_t index = indices[i * width + d];
    if (index < 0 || index >= dense[d]) return std::nullopt;
    at = at * dense[d] + index;
  }
  return at;
}

}  // namespace

Result<DType> dtype_of(std::int64_t onnx_type) {
  if (onnx_type < 0 || onnx_type >= static_cast<std::int64_t>(types.size()))
    return Status(Code::unsupported, cat("element type ", onnx_type, " is not known"));
  const TypeRow& row = types[static_cast<std::size_t>(onnx_type)];
  if (!row.dtype)
    return Status(onnx_type == 0 ? Code::invalid_model : Code::unsupported,
                  cat("element type ", row.name, " is not supported"));
  return *row.dtype;
}

std::int32_t onnx_type_of(DType dtype) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i].dtype == dtype) return static_cast<std::int32_t>(i);
  return 0;
}

Status MemoryBudget::charge(std::uint64_t bytes) {
  if (bytes > left_)
    return {Code::out_of_memory,
            cat("takes ", bytes, " bytes more, past the import's budget of ", limit_, " bytes")};
  left_ -= static_cast<std::size_t>(bytes);
  constexpr std::int64_t cost = 256;  // of importing a part of the graph that is charged
  if (check_.spend(cost + static_cast<std::int64_t>(bytes / 4))) return stop_->check();
  return {};
}

Result<Tensor> TensorDecoder::decode(const TensorProto& proto) {
  auto tensor = decode_checked(proto);
  if (!tensor) return std::move(tensor).error().in(cat("tensor '", printable(proto.name), "'"));
  return tensor;
}

Result<Tensor> TensorDecoder::decode(const SparseTensorProto& proto) {
  auto tensor = decode_sparse(proto);
  if (!tensor)
    return std::move(tensor).error().in(cat("tensor '", printable(proto.values.name), "'"));
  return tensor;
}

Result<TensorDecoder::Header> TensorDecoder::header(const TensorProto& proto) const {
  QUERN_ASSIGN(const DType dtype, dtype_of(proto.data_type));
  if (proto.dims.size() > Shape::max_rank)
    return Status(Code::unsupported,
                  cat("has rank ", proto.dims.size(), ", the most is ", Shape::max_rank));
  const Shape shape{std::span<const std::int64_t>(proto.dims)};
  const auto elements = shape.checked_elements(size_of(dtype));
  if (!elements)
    return Status(Code::invalid_model,
                  cat("dimensions ", shape.text(), " are negative or their product overflows"));
  return Header{{dtype, shape}, *elements};
}

Result<Tensor> TensorDecoder::decode_checked(const TensorProto& proto) {
  QUERN_ASSIGN(const Header h, header(proto));
  if (proto.is_external) return decode_external(h, proto);
  if (h.type.dtype == DType::string) return decode_strings(h, proto);
  if (!proto.raw.empty() || (proto.has_raw && h.elements == 0))
    return decode_bytes(h, proto.raw, owner_);
  return decode_fields(h, proto);
}

Result<Tensor> TensorDecoder::room(const TensorType& type) {
  QUERN_TRY(budget_.charge(type.bytes()));
  return Tensor::zeros(type);
}

Result<Tensor> TensorDecoder::decode_bytes(const Header& h, std::string_view bytes,
                                           const std::shared_ptr<const void>& owner) {
  const std::uint64_t wanted = stored_bytes(h.type, h.elements);
  if (bytes.size() != wanted) return wrong_size(bytes.size(), h.type, wanted, "bytes");
  const auto is_truth_value = [](char c) { return c == 0 || c == 1; };
  const std::size_t parts = per_byte(h.type.dtype);
  const bool copy = parts > 1 || (h.type.dtype == DType::boolean &&
                                  !std::all_of(bytes.begin(), bytes.end(), is_truth_value));
  if (!copy) return Tensor(h.type, owner, non_null(bytes.data()));
  QUERN_ASSIGN(Tensor t, room(h.type));
  auto* dst = reinterpret_cast<std::uint8_t*>(t.mutable_data());
  for (std::int64_t i = 0; i < h.elements; ++i) {
    const auto at = static_cast<std::size_t>(i);
    dst[at] = h.type.dtype == DType::boolean
                  ? static_cast<std::uint8_t>(bytes[at] != 0)
                  : part_of(static_cast<std::uint8_t>(bytes[at / parts]), at % parts, h.type.dtype);
  }
  return t;
}

Result<Tensor> TensorDecoder::decode_external(const Header& h, const TensorProto& proto) {
  if (h.type.dtype == DType::string)
    return Status(Code::invalid_model, "strings cannot be external data");
  QUERN_ASSIGN(const ExternalEntry e, external_entry(proto));
  const std::size_t before = folder_.opened_bytes();
  QUERN_ASSIGN(const OpenedFile file, folder_.open(e.location));
  budget_.add_file(folder_.opened_bytes() - before);
  const std::uint64_t wanted = stored_bytes(h.type, h.elements);
  const std::uint64_t length = e.length.value_or(wanted);
  const std::uint64_t size = file.bytes.size();
  if (e.offset > size || length > size - e.offset)
    return Status(Code::invalid_model,
                  cat("external data: offset ", e.offset, " and length ", length,
                      " reach past the ", size, " bytes of '", printable(e.location), "'"));
  return decode_bytes(h, file.text().substr(e.offset, length), file.owner);
}

Result<Tensor> TensorDecoder::decode_fields(const Header& h, const TensorProto& proto) {
  const Field field = field_of(h.type.dtype);
  const auto wanted = static_cast<std::uint64_t>(h.elements);
  if (field.encoding == Encoding::fixed) {
    const auto run = only_run(proto, field.number);
    if (run && run->size() == wanted * size_of(h.type.dtype))
      return Tensor(h.type, owner_, non_null(run->data()));
  }
  // A byte of the message holds no more elements than this, so that no memory is allocated for a
  // mere claim of size.
  if (wanted / per_byte(h.type.dtype) > bytes_of(proto))
    return wrong_size(0, h.type, wanted, "elements at most");
  QUERN_ASSIGN(Tensor t, room(h.type));
  ElementWriter out(h.type.dtype, t.mutable_data(), h.elements);
  for (std::string_view part : proto.parts) {
    WireState state(part, 0);
    WireReader r(part, state);
    while (r.next()) {
      if (r.field() == field.number) {
        decode_occurrence(r, field, h.type.dtype, out);
      } else {
        r.skip();
      }
    }
    QUERN_TRY(state.status());
  }
  if (out.left() != 0)
    return wrong_size(wanted - static_cast<std::uint64_t>(out.left()), h.type, wanted, "elements");
  return t;
}

Result<Tensor> TensorDecoder::decode_strings(const Header& h, const TensorProto& proto) {
  struct Storage {
    std::shared_ptr<const void> text;
    std::vector<StringRef> refs;
  };
  auto storage = std::make_shared<Storage>();
  storage->text = owner_;
  for (std::string_view part : proto.parts) {
    WireState state(part, 0);
    WireReader r(part, state);
    while (r.next()) {
      if (r.field() != 6) {
        r.skip();
        continue;
      }
      QUERN_TRY(budget_.charge(sizeof(StringRef)));
      const std::string_view s = r.message_bytes();
      storage->refs.push_back({s.data(), s.size()});
    }
    QUERN_TRY(state.status());
  }
  const auto wanted = static_cast<std::uint64_t>(h.elements);
  if (storage->refs.size() != wanted)
    return wrong_size(storage->refs.size(), h.type, wanted, "strings");
  const auto* data = reinterpret_cast<const char*>(storage->refs.data());
  return Tensor(h.type, std::move(storage), non_null(data));
}

Result<Tensor> TensorDecoder::decode_sparse(const SparseTensorProto& proto) {
  QUERN_ASSIGN(const Tensor values, decode_checked(proto.values));
  QUERN_ASSIGN(const Tensor indices, decode_checked(proto.indices));
  TensorProto dense;
  dense.dims = proto.dims;
  dense.data_type = proto.values.data_type;
  QUERN_ASSIGN(const Header h, header(dense));
  if (h.type.dtype == DType::string)
    return Status(Code::unsupported, "sparse tensors of strings are not supported");
  if (values.shape().rank() != 1) return sparse_error("values must be a list");
  if (indices.dtype() != DType::i64) return sparse_error("indices must be INT64");
  const auto count = static_cast<std::size_t>(values.shape()[0]);
  const Shape& s = indices.shape();
  const bool linear = s == Shape{values.shape()[0]};
  const auto rank = static_cast<std::int64_t>(h.type.shape.rank());
  if (!linear && s != Shape{values.shape()[0], rank})
    return sparse_error(cat("indices are ", indices.type().text(), ", wants [", count, "] or [",
                            count, ",", rank, "]"));
  QUERN_ASSIGN(Tensor t, room(h.type));
  const Ints at = int_elements(indices).value_or(Ints());
  const std::size_t size = size_of(h.type.dtype);
  for (std::size_t i = 0; i < count; ++i) {
    const auto offset =
        dense_offset(at, i, linear ? 0 : h.type.shape.rank(), h.type.shape).value_or(-1);
    if (offset < 0 || offset >= h.elements) return sparse_error("an index is out of range");
    std::memcpy(t.mutable_data() + static_cast<std::size_t>(offset) * size,
                values.data() + i * size, size);
  }
  return t;
}

}  // namespace quern::onnx
