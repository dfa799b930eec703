// SPDX-License-Identifier: Apache-2.0
#include <quern/status.h>

namespace quern {

std::string_view code_name(Code code) noexcept {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid_argument";
    case Code::invalid_model: return "invalid_model";
    case Code::unsupported: return "unsupported";
    case Code::not_found: return "not_found";
    case Code::out_of_memory: return "out_of_memory";
    case Code::device_lost: return "device_lost";
    case Code::busy: return "busy";
    case Code::timed_out: return "timed_out";
    case Code::internal: return "internal";
  }
  return "internal";
}

}  // namespace quern
