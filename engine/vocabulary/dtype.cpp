// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <quern/dtype.h>
#include <quern/tensor.h>

namespace quern {
namespace {

enum class Kind : std::uint8_t { floating, signed_integer, unsigned_integer, other };

struct Row {
  std::string_view name;
  std::size_t size;
  Kind kind;
};

constexpr std::array<Row, dtype_count> rows = {{
    {"f32", 4, Kind::floating},         {"f64", 8, Kind::floating},
    {"f16", 2, Kind::floating},         {"bf16", 2, Kind::floating},
    {"i8", 1, Kind::signed_integer},    {"i16", 2, Kind::signed_integer},
    {"i32", 4, Kind::signed_integer},   {"i64", 8, Kind::signed_integer},
    {"u8", 1, Kind::unsigned_integer},  {"u16", 2, Kind::unsigned_integer},
    {"u32", 4, Kind::unsigned_integer}, {"u64", 8, Kind::unsigned_integer},
    {"bool", 1, Kind::other},           {"string", sizeof(StringRef), Kind::other},
    {"i4", 1, Kind::signed_integer},    {"u4", 1, Kind::unsigned_integer},
    {"f8e4m3fn", 1, Kind::floating},    {"f8e4m3fnuz", 1, Kind::floating},
    {"f8e5m2", 1, Kind::floating},      {"f8e5m2fnuz", 1, Kind::floating},
    {"f4e2m1", 1, Kind::floating},      {"f8e8m0", 1, Kind::floating},
    {"i2", 1, Kind::signed_integer},    {"u2", 1, Kind::unsigned_integer},
}};

const Row& row(DType dtype) noexcept {
  return rows[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::size_t size_of(DType dtype) noexcept {
  return row(dtype).size;
}

std::size_t bits_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::i4:
    case DType::u4:
    case DType::f4e2m1: return 4;
    case DType::i2:
    case DType::u2: return 2;
    default: return 8 * size_of(dtype);
  }
}

std::string_view name_of(DType dtype) noexcept {
  return row(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType dtype) noexcept {
  return row(dtype).kind == Kind::floating;
}

bool is_integer(DType dtype) noexcept {
  return row(dtype).kind == Kind::signed_integer || row(dtype).kind == Kind::unsigned_integer;
}

bool is_unsigned(DType dtype) noexcept {
  return row(dtype).kind == Kind::unsigned_integer;
}

}  // namespace quern
