// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/wire.h"

#include <cstring>
#include <limits>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern::onnx {
namespace {

constexpr std::uint32_t varint_type = 0;
constexpr std::uint32_t fixed64_type = 1;
constexpr std::uint32_t bytes_type = 2;
constexpr std::uint32_t fixed32_type = 5;

const char* wire_type_name(std::uint32_t type) {
  switch (type) {
    case varint_type: return "a varint";
    case fixed64_type: return "eight bytes";
    case bytes_type: return "a length and bytes";
    case fixed32_type: return "four bytes";
    case 3:
    case 4: return "a group, which ONNX does not use";
    default: return "an unknown wire type";
  }
}

}  // namespace

void WireState::fail(const char* at, std::string message, Code code) {
  if (!ok()) return;
  code_ = code;
  offset_ = static_cast<std::size_t>(at - begin_);
  message_ = std::move(message);
}

bool WireState::charge(const char* at, std::uint64_t count, std::size_t size) {
  if (!ok()) return false;
  if (count > left_ / size) {
    fail(at,
         cat(count, " more elements here pass the memory budget of ", budget_,
             " bytes for what this file describes"),
         Code::out_of_memory);
    return false;
  }
  left_ -= count * size;
  return true;
}

void WireState::fail_stopped(const char* at) {
  const Status reached = stop_->check();
  fail(at, std::string(reached.message()), reached.code());
}

Status WireState::status() const {
  if (ok()) return {};
  return {code_, cat("byte ", offset_, ": ", message_)};
}

void WireReader::fail(std::string message, Code code) {
  state_->fail(p_, std::move(message), code);
  p_ = end_;
}

bool WireReader::take_varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p_ == end_) {
      fail("a number is cut off");
      return false;
    }
    const auto byte = static_cast<unsigned char>(*p_);
    if (shift == 63 && byte > 1) break;
    ++p_;
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  fail("a number has more than 64 bits");
  return false;
}

bool WireReader::take_fixed(void* value, std::size_t size) {
  if (remaining() < size) {
    fail("a number is cut off");
    return false;
  }
  std::memcpy(value, p_, size);
  p_ += size;
  return true;
}

bool WireReader::next() {
  if (!state_->spend(p_, 16)) p_ = end_;
  if (at_end()) return false;
  std::uint64_t key = 0;
  if (!take_varint(key)) return false;
  field_ = static_cast<std::uint32_t>(key >> 3);
  wire_type_ = static_cast<std::uint32_t>(key & 7);
  if (key > std::numeric_limits<std::uint32_t>::max() || field_ == 0) {
    fail("a field number that cannot be");
    return false;
  }
  return true;
}

bool WireReader::want(std::uint32_t wire_type) {
  if (!state_->ok()) return false;
  if (wire_type_ == wire_type) return true;
  fail(cat("field ", field_, " is ", wire_type_name(wire_type_), ", wants ",
           wire_type_name(wire_type)));
  return false;
}

void WireReader::read(std::int64_t& value) {
  std::uint64_t v = 0;
  if (want(varint_type) && take_varint(v)) value = static_cast<std::int64_t>(v);
}

void WireReader::read(std::int32_t& value) {
  std::int64_t v = value;
  read(v);
  value = static_cast<std::int32_t>(v);  // protobuf takes the low 32 bits
}

void WireReader::read(float& value) {
  if (want(fixed32_type)) take_fixed(&value, sizeof value);
}

void WireReader::read(std::string_view& value) {
  std::uint64_t size = 0;
  if (!want(bytes_type) || !take_varint(size)) return;
  if (size > remaining()) {
    fail(cat("field ", field_, " has ", size, " bytes, but only ", remaining(), " are left"));
    return;
  }
  value = {p_, static_cast<std::size_t>(size)};
  p_ += size;
}

std::string_view WireReader::message_bytes() {
  std::string_view bytes(p_, p_);
  read(bytes);
  return bytes;
}

WireReader WireReader::message() {
  return {message_bytes(), *state_};
}

void WireReader::skip() {
  std::uint64_t ignored = 0;
  std::string_view bytes;
  switch (wire_type_) {
    case varint_type: take_varint(ignored); break;
    case fixed64_type: take_fixed(&ignored, 8); break;
    case bytes_type: read(bytes); break;
    case fixed32_type: take_fixed(&ignored, 4); break;
    default: fail(cat("field ", field_, " is ", wire_type_name(wire_type_)));
  }
}

void WireReader::append(std::vector<std::int64_t>& values) {
  std::uint64_t v = 0;
  if (wire_type_ != bytes_type) {
    if (want(varint_type) && take_varint(v) && charge(1, sizeof v))
      values.push_back(static_cast<std::int64_t>(v));
    return;
  }
  WireReader run = message();
  if (!charge(run.remaining(), sizeof v)) return;  // an element takes at least one byte
  while (!run.at_end() && state_->spend(p_, 4) && run.take_varint(v))
    values.push_back(static_cast<std::int64_t>(v));
}

void WireReader::append(std::vector<float>& values) {
  float v = 0;
  if (wire_type_ != bytes_type) {
    if (want(fixed32_type) && take_fixed(&v, sizeof v) && charge(1, sizeof v)) values.push_back(v);
    return;
  }
  WireReader run = message();
  if (!charge(run.remaining() / sizeof v, sizeof v)) return;
  while (!run.at_end() && state_->spend(p_, 4) && run.take_fixed(&v, sizeof v)) values.push_back(v);
}

void WireReader::append(std::vector<std::string_view>& values) {
  std::string_view text(p_, p_);
  read(text);
  if (charge(1, sizeof text)) values.push_back(text);
}

}  // namespace quern::onnx
