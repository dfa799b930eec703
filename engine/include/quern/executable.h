// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/device.h>
#include <quern/host.h>
#include <quern/model.h>
#include <quern/status.h>
#include <quern/tensor.h>
#include <quern/thread_pool.h>
#include <quern/tuning.h>

namespace quern {

// The precision of products of matrices: convolutions, MatMul and what is made of them.
enum class Math : std::uint8_t {
  f32,
  // On CPUs with units for matrices of bf16 (AMX): operands and results of products are rounded to
  // bf16, 8 significant bits, sums are f32. Elsewhere the same as f32.
  bf16,
  // There, too: each factor is the sum of two numbers of bf16, 16 significant bits, and each
  // product the sum of three, where that takes less time than in f32. Results are f32.
  bf16x3,
  // The fastest that keeps 16 bits or more.
  automatic,
};

// "f32", "bf16", "bf16x3" or "auto". Errors: invalid_argument, with the names there are.
Result<Math> math_named(std::string_view name);

// Numbers too small for all their digits (below 2^-126 in f32, 2^-1022 in f64), on the CPU. Where
// one is a factor, a multiplication takes tens of times as long on many CPUs.
enum class Denormals : std::uint8_t {
  // They count as 0 in operators that multiply and add: convolutions, products, recurrent layers,
  // attention, norms and softmax, with what is fused into these. The threads of a run are as the
  // host had them after it.
  flush,
  keep,
};

// "flush" or "keep". Errors: invalid_argument, with the names there are.
Result<Denormals> denormals_named(std::string_view name);

// Whether chains of a plan's nodes are computed in stripes of rows (docs/memory-planning.md).
enum class Stripes : std::uint8_t {
  none,
  limit,  // as many as a limit asks for, or a tuning
  cache,  // so that rows stay in the second-level cache of a core
};

struct CompileOptions {
  // The number of threads of a run, unless the session sets another; 0: as many as the process may
  // use CPUs. A larger number, or one above OMP_THREAD_LIMIT, has the effect of the largest that is
  // allowed: Session::threads() tells it.
  int threads = 0;
  // The threads that sessions have unless they are given others; null: those of OpenMP
  // (SessionOptions::thread_pool).
  std::shared_ptr<ThreadPool> thread_pool;
  // The name of the memory strategy (`quern plan --strategy help` lists them); "" is the default.
  std::string strategy;
  // The name of the pool for memory whose size no plan knows (`quern plan --pools help` lists
  // them); "" is the default.
  std::string pool;
  // The number of plans kept per executable, one per set of input shapes; the least recently used
  // plan is dropped first.
  std::size_t max_plans = 32;
  // The same by the bytes that their tables take (Executable::table_bytes()), and for what a
  // session keeps for them (Session::table_bytes()); one plan is always kept. 0: a quarter of
  // `memory_limit`, or no limit where that is 0.
  std::size_t max_plan_bytes = 0;
  // The limit in bytes for weights, arena and pool of one session, for constant expressions while
  // they are computed, and (with 4 MiB more) for the tables that compiling needs meanwhile, which
  // are estimated; 0: no limit.
  std::size_t memory_limit = 0;
  // The limit in bytes for the arena of a plan, outputs included; 0: no limit. Where the buffers of
  // whole tensors pass this or `memory_limit`, chains of nodes are computed in stripes of rows, as
  // high as the limit allows; where no stripes are low enough, the error names the smallest limit
  // that would do.
  std::size_t arena_limit = 0;
  // Enables rewrites of the graph; turned off for bisecting.
  bool optimize = true;
  // `order`: kernels may run in another order than the model's. `alias`: kernels may write their
  // results directly into the tensor that a later Concat would copy them to, where that needs no
  // more memory. On a device, nodes that are left to the CPU keep every node in the model's order.
  bool order = true;
  bool alias = true;
  Math math = Math::f32;
  Denormals denormals = Denormals::flush;
  // Kernels may use scratch memory where that makes them faster. If this is off, or if
  // `memory_limit` cannot be met otherwise, each kernel uses the least scratch that variants of
  // about the same speed need.
  bool scratch = true;
  // With one thread, chains of nodes are computed in stripes of rows where the tensors between them
  // leave the second-level cache and that is estimated to be faster; no arena is larger for it.
  // Sums may be rounded otherwise. Sessions with other numbers of threads have the same plans.
  bool stripes = true;
  // An implementation by its name (StepInfo::entries): operators whose list has it take it where it
  // can compute them, and all others the first of their list that can. For measuring one beside
  // another; empty: none.
  std::string implementation;
  // What was measured to be fast on this machine (quern/tuning.h): operators on the CPU whose work
  // is in it take the implementation that it names, and plans the stripes of rows; null: none.
  std::shared_ptr<const Tuning> tuning;
  // Compiling ends with timed_out soon after this has passed: docs/limits.md says what is not cut.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Memory and sentences of the executable and its sessions; null: the system's, and none.
  std::shared_ptr<Host> host;
};

// One kernel of a plan, in the order of execution.
struct StepInfo {
  // A kernel on the CPU, a kernel on a device, a copy to a device, or a copy from it.
  enum class Lane : std::uint8_t { host, device, upload, download };

  std::string node, op, shapes, implementation;
  double flops = 0;     // a multiply-add counts as two
  double bytes = 0;     // inputs, weights and outputs, each counted once
  std::string layouts;  // "row-major -> c16"; empty: all row-major
  Lane lane = Lane::host;
  // The implementations of the operator on the CPU, best first, and the one that was chosen; empty
  // for copies and on a device.
  std::vector<std::string> entries;
  std::string entry;
  // The work by which CompileOptions::tuning knows the kernel; empty: there is no tuning, or no
  // choice.
  std::string work;
};

// A range of a plan's arena: an intermediate result, an output or the scratch memory of a kernel.
struct BufferInfo {
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  std::size_t offset = 0;
  std::int64_t first = 0;  // live in the steps [first, end) of its segment
  std::int64_t end = 0;
  std::size_t segment = 0;  // each segment has its own arena
  // A gap: in the steps [first, end) only the bytes [from, to) of the buffer are in use.
  struct Gap {
    std::int64_t first = 0;
    std::int64_t end = 0;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  std::vector<Gap> gaps;
};

// An upper bound on the bytes that a session takes for inputs of these shapes; the text of strings
// is not counted.
struct MemoryNeed {
  std::size_t weights = 0;  // packed; held once for all sessions
  std::size_t arena = 0;    // intermediate results, outputs and scratch, planned
  std::size_t scratch = 0;  // the largest scratch of one kernel, within the arena
  std::size_t staging = 0;  // staging for copies to and from a device; 0 on the CPU
  std::size_t pool = 0;     // memory that no plan knows; the amount so far, unless is_complete
  // True if everything is known before a run. Otherwise the graph has loops or data-dependent
  // shapes, whose part of the pool is known only after a run.
  bool is_complete = true;

  std::size_t total() const { return weights + arena + staging + pool; }
};

// The steps and the memory of a plan for these shapes.
struct PlanInfo {
  std::vector<StepInfo> steps;
  std::vector<BufferInfo> buffers;
  std::size_t segments = 1;
  std::size_t arena_bytes = 0;
  std::size_t arena_lower_bound = 0;  // no placement of these buffers can be smaller
  std::size_t plain_lower_bound = 0;  // the same in the model's order, if no copy is avoided
  bool order_is_optimal = true;       // proven: no order of these kernels has a smaller bound
  // False: the model is so large that order and offsets come from lists instead of a search, which
  // bounds the time of compiling.
  bool is_searched = true;
  Stripes stripes = Stripes::none;     // the most of any segment
  std::size_t unshared_bytes = 0;      // the total if no two buffers shared memory
  std::size_t weight_bytes = 0;        // packed
  std::vector<std::string> fallbacks;  // nodes that run on the CPU instead of the device
  // A sentence where the plan is much slower than it were with a library that is not here; or "".
  std::string warning;
  // The work by which CompileOptions::tuning knows how much of the arena of whole tensors the plan
  // takes, in stripes of rows; empty: there is no tuning, or more than one segment.
  std::string work;
  MemoryNeed memory;
};

// A model bound to a device: immutable, shared by any number of threads and sessions.
class Executable {
 public:
  // Consumes the model. If every input dimension is a number, the plan is made here, so that its
  // errors are reported here. A null `device` is the CPU. Errors: invalid_model, unsupported,
  // not_found (a strategy or a pool), out_of_memory, timed_out.
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
  // The bytes that the graph, all plans and generated code take now, estimated; weights are not
  // among them. Any thread.
  std::size_t table_bytes() const;
  // The memory of a session for the declared shapes; nullopt if a dimension is not declared as a
  // number.
  std::optional<MemoryNeed> memory_need() const;
  // The graph after the passes, as text.
  std::string text(std::size_t max_elements = 16) const;

  struct Impl;  // engine/compile/executable_impl.h
  const Impl& impl() const { return *impl_; }
  // compile() and load_artefact() make one.
  explicit Executable(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
