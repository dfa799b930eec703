// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <quern/device.h>
#include <quern/model.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern {

struct CompileOptions {
  // Threads of a run, unless the session says otherwise; 0: as many CPUs as the process may use.
  int threads = 0;
  // Memory strategy by name (`quern plan --strategy help` lists them); "" is the default.
  std::string strategy;
  // Pool by name for what no plan knows (`quern plan --pools help` lists them); "" is the default.
  std::string pool;
  // Plans kept per executable, one a set of input shapes; the least recently used goes first.
  std::size_t max_plans = 32;
  // Bytes that weights, arena and pool of one session may take; 0: no limit.
  std::size_t memory_limit = 0;
  // Rewrites of the graph; off for bisecting.
  bool optimize = true;
  // Kernels may run in another order than the model's, and write their results straight into the
  // tensor that a later Concat would copy them to, where that needs no more memory.
  bool order = true;
  bool alias = true;
  // Kernels may take memory to work in where that makes them faster. Off, and where `memory_limit`
  // is met in no other way, they take the least that forms of about the same speed need.
  bool scratch = true;
};

// One kernel of a plan, in the order of execution.
struct StepInfo {
  // A kernel of the CPU; one of a device; bytes that go to a device, or come from it.
  enum class Lane : std::uint8_t { host, device, upload, download };

  std::string node, op, shapes, implementation;
  double flops = 0;     // multiply and add are two
  double bytes = 0;     // inputs, weights and outputs, each once
  std::string layouts;  // "row-major -> c16"; empty: all row-major
  Lane lane = Lane::host;
};

// A stretch of a plan's arena: an intermediate result, an output or the scratch of a kernel.
struct BufferInfo {
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  std::size_t offset = 0;
  std::int64_t first = 0;  // live in the steps [first, end) of its segment
  std::int64_t end = 0;
  std::size_t segment = 0;  // each has an arena
  // Steps [first, end) in which only its bytes [from, to) are in use.
  struct Gap {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  std::vector<Gap> gaps;
};

// Bytes that a session takes at most for inputs of these shapes; the text of strings is not
// counted.
struct MemoryNeed {
  std::size_t weights = 0;  // packed: once, however many sessions there are
  std::size_t arena = 0;    // intermediate results, outputs and scratch, planned
  std::size_t scratch = 0;  // the most that a kernel takes of the arena
  std::size_t staging = 0;  // copies on the way to a device and back: none on the CPU
  std::size_t pool = 0;     // what no plan knows: so far, where it is not all known
  // All is known before a run. Otherwise the graph has loops, or shapes that depend on data: their
  // part of the pool shows when they ran.
  bool is_complete = true;

  std::size_t total() const { return weights + arena + staging + pool; }
};

// What a plan for these shapes does and needs.
struct PlanInfo {
  std::vector<StepInfo> steps;
  std::vector<BufferInfo> buffers;
  std::size_t segments = 1;
  std::size_t arena_bytes = 0;
  std::size_t arena_lower_bound = 0;   // no placement of these buffers is smaller
  std::size_t plain_lower_bound = 0;   // the same in the model's order, without spared copies
  bool order_is_optimal = true;        // no order of these kernels has a smaller bound: proven
  std::size_t unshared_bytes = 0;      // if no two buffers shared memory
  std::size_t weight_bytes = 0;        // packed
  std::vector<std::string> fallbacks;  // nodes that run on the CPU although the device is none
  MemoryNeed memory;
};

// A model bound to a device: immutable, shared by any number of threads and sessions.
class Executable {
 public:
  // Consumes the model. Plans at once when every input dimension is a number, so that what can fail
  // fails here. `device` null: the CPU.
  static Result<std::shared_ptr<const Executable>> compile(Model model,
                                                           std::shared_ptr<Device> device = nullptr,
                                                           const CompileOptions& options = {});
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const std::vector<ValueSpec>& inputs() const;
  const std::vector<ValueSpec>& outputs() const;
  const ModelMetadata& metadata() const;
  const Device& device() const;
  // Of a session for the declared shapes; nothing when they leave a dimension open.
  std::optional<MemoryNeed> memory_need() const;
  // The graph after the passes.
  std::string text(std::size_t max_elements = 16) const;

  struct Impl;  // engine/compile/executable_impl.h
  const Impl& impl() const { return *impl_; }

 private:
  explicit Executable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
