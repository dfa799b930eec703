// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/error.h"

namespace quern::wasi_nn {
namespace {

Errno errno_of(Code code) {
  switch (code) {
    case Code::ok: return Errno::success;
    case Code::invalid_argument: return Errno::invalid_argument;
    case Code::invalid_model: return Errno::invalid_encoding;
    case Code::unsupported: return Errno::unsupported_operation;
    case Code::not_found: return Errno::not_found;
    case Code::out_of_memory: return Errno::too_large;
    case Code::busy:
    case Code::timed_out: return Errno::timed_out;
    case Code::device_lost:
    case Code::internal: break;
  }
  return Errno::runtime_error;
}

}  // namespace

std::string_view errno_name(Errno code) noexcept {
  switch (code) {
    case Errno::success: return "success";
    case Errno::invalid_argument: return "invalid_argument";
    case Errno::invalid_encoding: return "invalid_encoding";
    case Errno::missing_memory: return "missing_memory";
    case Errno::busy: return "busy";
    case Errno::runtime_error: return "runtime_error";
    case Errno::unsupported_operation: return "unsupported_operation";
    case Errno::too_large: return "too_large";
    case Errno::not_found: return "not_found";
    case Errno::end_of_sequence: return "end_of_sequence";
    case Errno::context_full: return "context_full";
    case Errno::prompt_too_long: return "prompt_too_long";
    case Errno::model_not_found: return "model_not_found";
    case Errno::timed_out: return "timed_out";
  }
  return "unknown";
}

Error::Error(const Status& status) : code(errno_of(status.code())), text(status.message()) {}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t longest = 80;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string s = "'";
  for (const char c : name.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      s += c;
    } else {
      s += "\\x";
      s += digits[byte >> 4];
      s += digits[byte & 15];
    }
  }
  return s + (name.size() > longest ? "...'" : "'");
}

}  // namespace quern::wasi_nn
