// SPDX-License-Identifier: Apache-2.0
// The error of an operator whose strings have no room.
#pragma once

#include "engine/vocabulary/text_util.h"
#include "graph/reference.h"

namespace quern {

inline Status check_room(const StringPool& strings, std::size_t bytes = 0) {
  if (strings.has_room(bytes)) return {};
  return {Code::out_of_memory,
          cat("the strings of this run have more than ", strings.most_bytes(), " bytes")};
}

}  // namespace quern
