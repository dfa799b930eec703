// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as the bytes of an artefact: little-endian, without alignment. A writer and a
// reader have the same methods, so that one function says the order of fields for both.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <quern/status.h>

#include "engine/vocabulary/text_util.h"

namespace quern::artefact {

class ByteWriter {
 public:
  template <std::integral T>
  void number(const T& v) {
    for (std::size_t i = 0; i < sizeof v; ++i)
      bytes_ += static_cast<char>(static_cast<std::make_unsigned_t<T>>(v) >> 8 * i & 0xff);
  }
  template <std::same_as<bool> B>
  void flag(const B& v) {
    number(static_cast<std::uint8_t>(v));
  }
  template <class E>
  void choice(const E& v, unsigned /*end*/, std::string_view /*what*/) {
    number(static_cast<std::uint8_t>(v));
  }
  void text(const std::string& v) {
    number(std::uint64_t{v.size()});
    bytes_ += v;
  }
  // Their number, and each by `f`.
  template <class T, class F>
  void list(std::vector<T>& items, std::size_t /*least*/, const F& f) {
    number(std::uint64_t{items.size()});
    for (T& item : items) f(item);
  }
  void fail(std::string_view /*why*/) {}

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a ByteWriter wrote, or anything else: past the end, and after any value that cannot
// be, it answers zeros and status() is an error.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <std::integral T>
  void number(T& v) {
    v = 0;
    if (sizeof v > bytes_.size() - at_) return fail("the tables end within a value");
    std::make_unsigned_t<T> u = 0;
    for (std::size_t i = 0; i < sizeof v; ++i)
      u = static_cast<std::make_unsigned_t<T>>(
          u | std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << 8 * i);
    v = static_cast<T>(u);
    at_ += sizeof v;
  }
  void flag(bool& v) { choice(v, 2, "a flag"); }
  // A number below `end`.
  template <class E>
  void choice(E& v, unsigned end, std::string_view what) {
    std::uint8_t read = 0;
    number(read);
    if (read >= end) fail(cat(what, " is ", unsigned{read}, ", wanted less than ", end));
    v = static_cast<E>(read < end ? read : 0);
  }
  void text(std::string& v) {
    std::uint64_t size = 0;
    number(size);
    if (size > bytes_.size() - at_) return fail("a text is longer than the tables");
    v = bytes_.substr(at_, size);
    at_ += size;
  }
  // Items of at least `least` bytes each, which bounds what is reserved for them.
  template <class T, class F>
  void list(std::vector<T>& items, std::size_t least, const F& f) {
    std::uint64_t count = 0;
    number(count);
    if (count > (bytes_.size() - at_) / least) return fail("a list is longer than the tables");
    items.resize(count);
    for (T& item : items) f(item);
  }
  void fail(std::string_view why) {
    if (status_.ok()) status_ = {Code::invalid_model, cat("artefact, table byte ", at_, ": ", why)};
    at_ = bytes_.size();
  }

  bool is_at_end() const { return at_ == bytes_.size(); }
  const Status& status() const { return status_; }
  Status take_status() { return std::move(status_); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  Status status_;
};

}  // namespace quern::artefact
