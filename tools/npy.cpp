// SPDX-License-Identifier: Apache-2.0
#include "tools/npy.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "engine/vocabulary/text_util.h"
#include "tools/json.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_npy_bytes = std::size_t{8} << 30;

struct NumpyType {
  std::string_view numpy;
  DType dtype;
};
// The first row of a dtype is what is written.
constexpr std::array codes = {
    NumpyType{"<f4", DType::f32},      NumpyType{"<f8", DType::f64},
    NumpyType{"<f2", DType::f16},      NumpyType{"|i1", DType::i8},
    NumpyType{"<i2", DType::i16},      NumpyType{"<i4", DType::i32},
    NumpyType{"<i8", DType::i64},      NumpyType{"|u1", DType::u8},
    NumpyType{"<u2", DType::u16},      NumpyType{"<u4", DType::u32},
    NumpyType{"<u8", DType::u64},      NumpyType{"|b1", DType::boolean},
    NumpyType{"|V2", DType::bf16},     NumpyType{"<V2", DType::bf16},
    NumpyType{"|i1", DType::i4},       NumpyType{"|u1", DType::u4},
    NumpyType{"|V1", DType::f8e4m3fn}, NumpyType{"|V1", DType::f8e4m3fnuz},
    NumpyType{"|V1", DType::f8e5m2},   NumpyType{"|V1", DType::f8e5m2fnuz},
    NumpyType{"|V1", DType::f4e2m1},   NumpyType{"|V1", DType::f8e8m0},
    NumpyType{"|i1", DType::i2},       NumpyType{"|u1", DType::u2},
};

Status bad(std::string_view what) {
  return {Code::invalid_argument, cat("not a .npy file: ", what)};
}

// The header is a Python dictionary with three keys; this looks for one and gives what follows it.
std::optional<std::string_view> entry(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(cat("'", key, "'"));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + key.size() + 2);
  const std::size_t value = rest.find_first_not_of(" :");
  if (value == std::string_view::npos) return std::nullopt;
  return rest.substr(value);
}

Result<DType> dtype_of(std::string_view header) {
  const auto value = entry(header, "descr");
  if (!value || value->empty() || value->front() != '\'') return bad("it holds no plain array");
  const std::string_view code = value->substr(1, value->find('\'', 1) - 1);
  for (const NumpyType& c : codes)
    if (c.numpy == code) return c.dtype;
  const bool big = !code.empty() && code[0] == '>';
  return Status(Code::unsupported,
                cat("element type '", printable(code, 20), big ? "' (big endian)" : "'",
                    " of the .npy file; try array.astype('<f4')"));
}

Result<Shape> shape_of(std::string_view header) {
  const auto value = entry(header, "shape");
  if (!value || value->empty() || value->front() != '(') return bad("no shape");
  std::string_view list = value->substr(1, value->find(')') - 1);
  Shape shape;
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(" ,L"), list.size()));
    if (list.empty()) return shape;
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), dim);
    if (error != std::errc() || dim < 0) return bad("a broken shape");
    if (shape.rank() == Shape::max_rank)
      return Status(Code::unsupported, cat("array of more than ", Shape::max_rank, " dimensions"));
    shape.push_back(dim);
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
  }
}

// Columns first to rows first.
void transpose(const std::byte* src, const TensorType& type, std::byte* dst) {
  const std::size_t size = size_of(type.dtype);
  const std::size_t rank = type.shape.rank();
  std::array<std::int64_t, Shape::max_rank> at{};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    std::int64_t from = 0;
    for (std::size_t d = rank; d-- > 0;) from = from * type.shape[d] + at[d];
    std::memcpy(dst + static_cast<std::size_t>(i) * size,
                src + static_cast<std::size_t>(from) * size, size);
    for (std::size_t d = rank; d-- > 0 && ++at[d] == type.shape[d];) at[d] = 0;
  }
}

// Header and data; `bytes` starts with the magic.
Result<std::pair<std::string_view, std::span<const std::byte>>> split(
    std::span<const std::byte> bytes) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); };
  if (bytes.size() < 12) return bad("it is too short");
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) return Status(Code::unsupported, cat(".npy version ", version));
  const std::size_t start = version == 1 ? 10 : 12;
  const std::size_t length =
      byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - start) return bad("its header is longer than the file");
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return std::pair(std::string_view(text + start, length), bytes.subspan(start + length));
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes) {
  if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return bad("it does not start with \\x93NUMPY");
  QUERN_ASSIGN(const auto parts, split(bytes));
  const auto& [header, data] = parts;
  TensorType type;
  QUERN_ASSIGN(type.dtype, dtype_of(header));
  QUERN_ASSIGN(type.shape, shape_of(header));
  const auto elements = type.shape.checked_elements(size_of(type.dtype));
  if (!elements || type.bytes() != data.size())
    return bad(cat(type.text(), " and ", data.size(), " bytes of data do not agree"));
  const auto order = entry(header, "fortran_order");
  if (!order || !order->starts_with("True")) return Tensor::copy_of(type, data);
  QUERN_ASSIGN(Tensor t, Tensor::zeros(type));
  transpose(data.data(), type, t.mutable_data());
  return t;
}

Result<Tensor> read_npy(const std::string& path) {
  QUERN_ASSIGN(const std::string content, read_file(path, max_npy_bytes));
  auto tensor = parse_npy(std::as_bytes(std::span(content)));
  if (!tensor) return std::move(tensor).error().in(printable(path));
  return tensor;
}

Result<std::string> npy_bytes(const TensorView& tensor) {
  std::string_view code;
  for (const NumpyType& c : codes)
    if (c.dtype == tensor.type.dtype && code.empty()) code = c.numpy;
  if (code.empty())
    return Status(Code::unsupported, "strings do not fit into .npy files; use --format pb");
  std::string header = cat("{'descr': '", code, "', 'fortran_order': False, 'shape': (");
  for (std::int64_t d : tensor.type.shape) header += cat(d, ",");
  header += "), }";
  const std::size_t fixed_part = magic.size() + 4;
  header.append(63 - (fixed_part + header.size()) % 64, ' ');
  header += '\n';
  std::string out = std::string(magic) + '\x01' + '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  if (tensor.type.bytes())
    out.append(reinterpret_cast<const char*>(tensor.data), tensor.type.bytes());
  return out;
}

Status write_npy(const std::string& path, const TensorView& tensor) {
  QUERN_ASSIGN(const std::string bytes, npy_bytes(tensor));
  return write_whole_file(path, bytes);
}

}  // namespace quern::tools
