// SPDX-License-Identifier: Apache-2.0
// std::from_chars() for float and double, in the formats that strtod() reads, too: all but
// hexadecimal digits without their prefix.
#pragma once

#include <__charconv/chars_format.h>
#include <__charconv/from_chars_result.h>
#include <__system_error/errc.h>

extern "C" {
double strtod(const char*, char**);
float strtof(const char*, char**);
}

namespace std {

// The characters that a number may begin with, for a function that wants a zero at their end. Those
// after the room are digits that change nothing.
class number_text {
 public:
  number_text(const char* first, const char* last) {
    const bool is_negative = first != last && *first == '-';
    const char* const begin = is_negative ? first + 1 : first;
    // What strtod() would skip or take beyond from_chars().
    if (begin == last || !may_begin(*begin) || is_hexadecimal(begin, last)) return;
    while (size_ < sizeof text_ - 1 && first != last) text_[size_++] = *first++;
  }
  const char* text() const { return text_; }

 private:
  static bool may_begin(char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (c >= '0' && c <= '9') || c == '.' || lower == 'i' || lower == 'n';
  }
  static bool is_hexadecimal(const char* at, const char* last) {
    return last - at > 1 && at[0] == '0' && (at[1] | 0x20) == 'x';
  }

  char text_[1024] = {};
  unsigned long size_ = 0;
};

template <class T, class Read>
from_chars_result read_float(const char* first, const char* last, T& value, Read read) {
  const number_text number(first, last);
  char* end = nullptr;
  const T v = read(number.text(), &end);
  const auto size = end - number.text();
  if (size == 0) return {first, errc::invalid_argument};
  if (__builtin_isinf(v) && (number.text()[0] | 0x20) != 'i' && (number.text()[1] | 0x20) != 'i')
    return {first + size, errc::result_out_of_range};
  value = v;
  return {first + size, errc{}};
}

inline from_chars_result from_chars(const char* first, const char* last, double& value,
                                    chars_format = chars_format::general) {
  return read_float(first, last, value, strtod);
}
inline from_chars_result from_chars(const char* first, const char* last, float& value,
                                    chars_format = chars_format::general) {
  return read_float(first, last, value, strtof);
}

}  // namespace std
