// SPDX-License-Identifier: Apache-2.0
// The work of an operator on a GPU, as plain data: dispatches of named shaders over the node's
// operands. Kernels describe the work and a device records it; nothing here depends on Vulkan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "engine/vocabulary/multiples.h"

namespace quern {

// Cooperative matrices: f16 matrices that a subgroup multiplies, with sums in f32.
struct MatrixUnit {
  std::uint32_t m = 0, n = 0, k = 0;  // rows, columns, terms; 0 if the device has none
  bool emulated = false;              // by loops, for tests
};

// The capabilities of the device that a kernel may rely on.
struct GpuTarget {
  // A software device (a CPU): prefers one subgroup per workgroup, operands in registers and no
  // shared memory.
  bool software = true;
  std::uint32_t subgroup_size = 8;
  std::uint32_t max_groups = 65535;      // along each axis
  std::uint32_t max_invocations = 1024;  // of a workgroup
  std::uint32_t shared_bytes = 16384;    // of a workgroup
  std::uint32_t units = 1;               // that run a few workgroups each at a time; may be a guess
  std::uint32_t max_iterations = 60000;  // of all loops of an invocation; 0: unlimited
  std::uint64_t max_range = 128u << 20;  // maximum bytes of one binding
  bool storage_8bit = false;
  bool storage_16bit = false;
  bool int64 = false;
  bool float64 = false;
  bool integer_dot = false;  // has an instruction for dot products of four bytes
  MatrixUnit matrices;
  // Operands of products may be rounded to f16, an option of opening the device.
  bool half_products = false;
};

// A constant operand in the layout that a shader needs: made once per executable, on the device.
struct GpuConstant {
  std::string key;  // equal keys, equal bytes
  std::size_t bytes = 0;
  std::function<Status(std::byte*)> fill;  // gets zeroed bytes aligned to 64
};

// Shaders read and write whole vectors of this size in bytes: the last one may reach beyond an
// operand's end.
inline constexpr std::uint64_t shader_vector_bytes = 16;
constexpr std::uint64_t whole_vectors(std::uint64_t bytes) {
  return round_up(bytes, shader_vector_bytes);
}

// The access of a dispatch to a part of an operand.
enum class BufferAccess : std::uint8_t { read, write };

// A part of an operand, as bound to a dispatch.
struct BufferUse {
  enum class Of : std::uint8_t { input, output, scratch, constant };

  Of of = Of::input;
  std::uint32_t index = 0;  // of the node's inputs or outputs, or of GpuWork::constants
  bool written = false;     // false: read
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0: to the operand's end

  static BufferUse input(std::uint32_t i) { return {Of::input, i}; }
  static BufferUse output(std::uint32_t i) { return {Of::output, i, true}; }
  static BufferUse constant(std::uint32_t i) { return {Of::constant, i}; }
  // Scratch memory that this dispatch writes, or that an earlier dispatch of the same node has
  // written.
  static BufferUse scratch(std::uint64_t offset, std::uint64_t bytes, BufferAccess access) {
    return {Of::scratch, 0, access == BufferAccess::write, offset, bytes};
  }
  bool operator==(const BufferUse&) const = default;
};

struct Dispatch {
  std::string_view shader;               // a row of shaders/variants.txt
  std::vector<std::uint32_t> constants;  // specialisation constants, from id 0 on
  std::vector<std::uint32_t> push;       // at most 32 words
  std::vector<BufferUse> buffers;        // by binding
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
  std::uint32_t subgroup = 0;  // required subgroup size; 0: the device's choice
  // The shader reads gl_NumWorkGroups.z, so that all of z goes out at once. No shader reads that of
  // y, and that of x matters only where y has more than one.
  bool counts_z = false;
  // The operations of all invocations, where they are many more than the node's Cost says; a long
  // dispatch is cut by them. 0: what the Cost says.
  double operations = 0;
  // Alternatives with the same buffers and the same result; the device measures which is fastest.
  // All add in the same order, so that results are equal to the bit, except for the sign of a sum
  // that underflowed to zero.
  std::vector<Dispatch> candidates;
  bool operator==(const Dispatch&) const = default;
};

struct GpuWork {
  std::vector<Dispatch> dispatches;  // in order; each sees the writes of those before it
  std::vector<GpuConstant> constants;
};

}  // namespace quern
