// SPDX-License-Identifier: Apache-2.0
// The valid values of struct_size in the C API: the current size of each structure, and each size
// that it had before it grew. A structure of any other size would end inside a field, or has fields
// that this library does not know. Both C APIs read and write their structures with these
// functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include <quern/status.h>

namespace quern::c_api {

template <class T>
struct StructSizes;

// One line per structure: its name, then the offset of the first field of each extension. Such a
// field must begin where the structure ended, padding included: within the padding it would not
// change the size.
#define QUERN_STRUCT_SIZES(type, ...)                                                 \
  template <>                                                                         \
  struct StructSizes<type> {                                                          \
    static constexpr const char* name = #type;                                        \
    static constexpr std::array sizes = {__VA_ARGS__ __VA_OPT__(, ) sizeof(type)};    \
    static_assert(std::ranges::is_sorted(sizes) && offsetof(type, struct_size) == 0); \
  }

template <class T>
bool is_struct_size(std::size_t size) {
  const auto& sizes = StructSizes<T>::sizes;
  return std::ranges::find(sizes, size) != sizes.end();
}

inline Status wrong_struct_size(const char* name, std::span<const std::size_t> sizes,
                                std::size_t size) {
  std::string known;
  for (std::size_t s : sizes) known += (known.empty() ? "" : " or ") + std::to_string(s);
  return {Code::invalid_argument, std::string("struct_size of ") + name +
                                      (size == 0 ? " is not set" : " is " + std::to_string(size)) +
                                      ", not " + known};
}

template <class T>
Status check_struct_size(std::size_t size) {
  if (is_struct_size<T>(size)) return {};
  return wrong_struct_size(StructSizes<T>::name, StructSizes<T>::sizes, size);
}

// Reads the part of a structure that the caller's version has: other fields of `value` stay
// unchanged. A null `given` changes nothing.
template <class T>
Status read_fields(const T* given, T* value) {
  if (!given) return {};
  QUERN_TRY(check_struct_size<T>(given->struct_size));
  std::memcpy(value, given, given->struct_size);
  return {};
}

// The inverse: fields that the caller's structure lacks are not written.
template <class T>
Status write_struct(T* to, T value) {
  QUERN_TRY(check_struct_size<T>(to->struct_size));
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, value.struct_size);
  return {};
}

}  // namespace quern::c_api
