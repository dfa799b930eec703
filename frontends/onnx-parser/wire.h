// SPDX-License-Identifier: Apache-2.0
// Reads the protobuf wire format in place: nothing is copied, strings are views into the bytes.
//
// Errors are sticky: after the first one every reader of the same WireState is at its end, so a
// message is read without checks in between and the state is checked once at the end. Groups (wire
// types 3 and 4, unused by ONNX) are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "engine/vocabulary/stop.h"

namespace quern::onnx {

// The state shared by the readers of one buffer: its start, the first error, and the remaining
// memory budget for elements read from it.
class WireState {
 public:
  // `stop` (it may be null) ends the reading with its error.
  WireState(std::string_view bytes, std::size_t budget_bytes, const Stop* stop = nullptr)
      : begin_(bytes.data()),
        budget_(budget_bytes),
        left_(budget_bytes),
        stop_(stop),
        check_(stop) {}

  bool ok() const { return code_ == Code::ok; }
  void fail(const char* at, std::string message, Code code = Code::invalid_model);
  // Charges `count` elements of `size` bytes to the budget; sets an error and returns false if it
  // is exceeded.
  bool charge(const char* at, std::uint64_t count, std::size_t size);
  std::size_t charged() const { return budget_ - left_; }
  // Counts what reading took, in units of StopCheck; sets an error where it must end.
  bool spend(const char* at, std::int64_t units) {
    if (check_.spend(units)) fail_stopped(at);
    return ok();
  }
  // ok, or "byte 1234: ..."
  Status status() const;

 private:
  void fail_stopped(const char* at);

  const char* begin_;
  std::size_t budget_;
  std::size_t left_;
  const Stop* stop_;
  StopCheck check_;
  Code code_ = Code::ok;
  std::size_t offset_ = 0;
  std::string message_;
};

// A window onto one message. After next() exactly one reading call takes the field's value.
class WireReader {
 public:
  WireReader(std::string_view bytes, WireState& state)
      : p_(bytes.data()), end_(bytes.data() + bytes.size()), state_(&state) {}

  // Moves to the next field; false at the end and after an error.
  bool next();
  std::uint32_t field() const { return field_; }

  void read(std::int64_t& value);  // int64, int32, uint64, bool and enums: all are varints
  void read(std::int32_t& value);
  void read(float& value);
  void read(std::string_view& value);  // string and bytes
  WireReader message();
  std::string_view message_bytes();
  void skip();

  // Appends one element of a repeated field, or a packed run of elements. Charged to the budget.
  void append(std::vector<std::int64_t>& values);
  void append(std::vector<float>& values);
  void append(std::vector<std::string_view>& values);
  // Makes room for an element that a sub-message will fill.
  template <class T>
  T& add(std::vector<T>& elements) {
    if (!charge(1, sizeof(T)) && !elements.empty()) return elements.back();
    return elements.emplace_back();
  }
  bool charge(std::uint64_t count, std::size_t size) { return state_->charge(p_, count, size); }

  // Raw element readers, for packed runs: false at the end and after an error.
  bool take_varint(std::uint64_t& value);
  bool take_fixed(void* value, std::size_t size);
  bool at_end() const { return p_ == end_; }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - p_); }
  // The wire type of the field: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.
  std::uint32_t wire_type() const { return wire_type_; }
  void fail(std::string message, Code code = Code::invalid_model);
  WireState& state() const { return *state_; }

 private:
  bool want(std::uint32_t wire_type);

  const char* p_;
  const char* end_;
  WireState* state_;
  std::uint32_t field_ = 0;
  std::uint32_t wire_type_ = 0;
};

}  // namespace quern::onnx
