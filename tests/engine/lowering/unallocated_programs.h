// SPDX-License-Identifier: Apache-2.0
// Drafts written by hand: vectors of f32 between buffers with names.
#pragma once

#include <initializer_list>
#include <string>

#include "engine/lowering/unallocated_program.h"

namespace quern::lowering::testing {

using Base = Buffer::Base;

// `count` floats that begin `offset` bytes into the buffer.
inline Place floats(BufferId buffer, std::int64_t count, std::uint64_t offset = 0) {
  return {buffer, offset, TensorDesc::row_major(DType::f32, {count})};
}

// All of a new buffer.
inline Place piece(UnallocatedProgram& d, Space space, std::int64_t count, std::string name) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  return floats(d.add(space, bytes, std::move(name)), count);
}
inline Place piece(UnallocatedProgram& d, Base base, std::int64_t count, std::string name) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  return floats(d.add({.base = base, .bytes = bytes, .name = std::move(name)}), count);
}

inline void step(UnallocatedProgram& d, std::string name, std::initializer_list<Place> inputs,
                 std::initializer_list<Place> outputs, const KernelChoice& choice = {},
                 Step::Kind kind = Step::Kind::host) {
  Step s;
  s.kind = kind;
  s.node = std::move(name);
  s.scratch_bytes = choice.scratch_bytes;
  d.append(std::move(s), inputs, outputs, choice);
}

}  // namespace quern::lowering::testing
