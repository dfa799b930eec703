// SPDX-License-Identifier: Apache-2.0
// How an operator runs on a GPU, as plain data: dispatches of named shaders over the node's
// operands. Kernels describe, a device records; nothing here knows Vulkan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern {

// Matrices of f16 that the invocations of a subgroup multiply together, with sums in f32.
struct MatrixUnit {
  std::uint32_t m = 0, n = 0, k = 0;  // rows, columns, terms; 0: the device has none
  bool emulated = false;              // by loops, for tests
};

// What a kernel may count on, from the device's capabilities.
struct GpuTarget {
  // Wants one subgroup a workgroup, operands in registers and no shared memory: a CPU in disguise.
  bool software = true;
  std::uint32_t subgroup_size = 8;
  std::uint32_t max_groups = 65535;      // along each axis
  std::uint32_t max_invocations = 1024;  // of a workgroup
  std::uint32_t shared_bytes = 16384;    // of a workgroup
  std::uint32_t units = 1;  // that each run a few workgroups at a time; perhaps a guess
  std::uint32_t max_iterations = 60000;  // of all loops of an invocation; 0: any number
  std::uint64_t max_range = 128u << 20;  // bytes that one binding may see
  bool storage_8bit = false;
  bool storage_16bit = false;
  bool int64 = false;
  bool integer_dot = false;  // products of four bytes each, summed, are an instruction
  MatrixUnit matrices;
  // Whoever opened the device lets operands of products be rounded to f16.
  bool half_products = false;
};

// A constant operand in the layout that a shader wants: made once per executable, on the device.
struct GpuConstant {
  std::string key;  // equal keys, equal bytes
  std::size_t bytes = 0;
  std::function<Status(std::byte*)> fill;  // gets zeroed bytes aligned to 64
};

// What a dispatch does with a part of an operand.
enum class BufferAccess : std::uint8_t { read, write };

// A part of an operand as a dispatch sees it.
struct BufferUse {
  enum class Of : std::uint8_t { input, output, scratch, constant };

  Of of = Of::input;
  std::uint32_t index = 0;  // of the node's inputs or outputs, or of GpuWork::constants
  bool written = false;     // else read
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0: to the operand's end

  static BufferUse input(std::uint32_t i) { return {Of::input, i}; }
  static BufferUse output(std::uint32_t i) { return {Of::output, i, true}; }
  static BufferUse constant(std::uint32_t i) { return {Of::constant, i}; }
  // What an earlier dispatch of the same node has written, or this one writes.
  static BufferUse scratch(std::uint64_t offset, std::uint64_t bytes, BufferAccess access) {
    return {Of::scratch, 0, access == BufferAccess::write, offset, bytes};
  }
  bool operator==(const BufferUse&) const = default;
};

struct Dispatch {
  std::string_view shader;               // a row of shaders/CMakeLists.txt
  std::vector<std::uint32_t> constants;  // specialisation constants, from id 0 on
  std::vector<std::uint32_t> push;       // at most 32 words
  std::vector<BufferUse> buffers;        // by binding
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
  std::uint32_t subgroup = 0;  // invocations that every subgroup has; 0: whatever the device likes
  // Other ways to the same bytes, with the same buffers: which is fastest, a device measures. Sums
  // are made in one order; only a sum that has underflowed to zero may have another sign.
  std::vector<Dispatch> candidates;
  bool operator==(const Dispatch&) const = default;
};

struct GpuWork {
  std::vector<Dispatch> dispatches;  // in order; each sees what those before it wrote
  std::vector<GpuConstant> constants;
};

}  // namespace quern
