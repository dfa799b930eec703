// SPDX-License-Identifier: Apache-2.0
// The contract between the implementations of operators and the devices that run them.
//
// An op has an ordered list of implementations per device. Given concrete shapes, an implementation
// returns a kernel or nothing ("unsupported"); the reference is last in the list. Everything that
// can fail, allocate or compile code happens then; a kernel's run() does none of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>
#include <quern/thread_pool.h>

#include "engine/vocabulary/stop.h"
#include "graph/op_def.h"
#include "graph/post_ops.h"
#include "graph/reference.h"
#include "kernels/contract/gpu.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/measured.h"
#include "kernels/contract/worker_pool.h"

namespace quern {

// ---- running -----------------------------------------------------------------------------------

// The threads that a run may use, and whose they are: OpenMP's, which oneDNN opens teams of, too,
// or those of a ThreadPool, of which oneDNN knows nothing: a call of it then has one thread, and
// kernels make several calls at one time.
struct Team {
  enum class Kind : std::uint8_t { openmp, pool };
  int threads = 1;
  Kind kind = Kind::openmp;

  int threads_of_library() const { return kind == Kind::openmp ? threads : 1; }
  bool calls_library_in_parallel() const { return kind == Kind::pool && threads > 1; }
  bool operator==(const Team&) const = default;
};

// The threads of one run. Calls body(begin, end) for parts of [0, n) of at least `grain` each, on
// at most `threads` threads including the caller's; returns when all are done. Small n stays on the
// calling thread. The body must not throw and must not nest another parallel loop. Where the run
// has a Stop, a part is called in blocks of some milliseconds, and what is left when it is reached
// is never called: the run then fails.
class Parallel {
 public:
  // The threads are those of `pool`, or OpenMP's if it is null.
  explicit Parallel(int threads = 1, const Stop* stop = nullptr, ThreadPool* pool = nullptr)
      : threads_(threads), stop_(stop), pool_(pool) {}
  int threads() const { return threads_; }

  template <class F>
  void operator()(std::int64_t n, std::int64_t grain, const F& body) const {
    // In a pool, whoever is free takes the next part.
    const std::int64_t most = pool_ && threads_ > 1 ? parts_per_thread * threads_ : threads_;
    const std::int64_t parts =
        grain > 0 ? std::min<std::int64_t>(most, n / grain) : std::int64_t{1};
    if (parts <= 1 && (!stop_ || n <= grain)) {
      if (n > 0) body(std::int64_t{0}, n);
      return;
    }
    const Body call = [](const void* f, std::int64_t begin, std::int64_t end) {
      (*static_cast<const F*>(f))(begin, end);
    };
    const Loop loop{&body, call, n, std::max<std::int64_t>(grain, 1), stop_};
    if (parts <= 1)
      run_part(loop, 0, n);
    else if (pool_)
      run_in_pool(static_cast<int>(parts), loop, *pool_);
    else
      run(static_cast<int>(parts), loop);
  }

  // The number of slots of each(n, ...).
  static int slots(std::int64_t n, int threads) {
    return static_cast<int>(std::clamp<std::int64_t>(n, 1, threads));
  }
  // Calls body(slot, i) for each i of [0, n), where one thread at a time has a slot; whoever is
  // free takes the next i. Ends early as the loop above does.
  template <class F>
  void each(std::int64_t n, const F& body) const {
    std::atomic<std::int64_t> next = 0;
    const auto use = [&](std::int64_t slot) {
      while (!helper_is_due_elsewhere() && !(stop_ && stop_->is_reached())) {
        const std::int64_t i = next++;
        if (i >= n) return;
        body(static_cast<std::size_t>(slot), i);
      }
    };
    (*this)(slots(n, threads_), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t slot = begin; slot < end; ++slot) use(slot);
    });
    use(0);  // what is left if helpers had all slots and left
  }

 private:
  static constexpr std::int64_t parts_per_thread = 4;
  using Body = void (*)(const void*, std::int64_t, std::int64_t);
  struct Loop {
    const void* context;
    Body body;
    std::int64_t n;
    std::int64_t grain;
    const Stop* stop;
  };
  struct Range {
    std::int64_t begin, end;
  };
  class Rests;
  static void run(int parts, const Loop& loop);
  static void run_in_pool(int parts, const Loop& loop, ThreadPool& pool);
  static void run_range(Range range, int parts, const Loop& loop, ThreadPool& pool, Rests& rests);
  // Returns where it ended: before `end` on a helper that is due elsewhere.
  static std::int64_t run_part(const Loop& loop, std::int64_t begin, std::int64_t end);

  int threads_;
  const Stop* stop_;
  ThreadPool* pool_;
};

// The pointers of one call, in exactly the layouts that the kernel requested at selection.
struct KernelArgs {
  // By KernelRequest::read. Null: absent, or packed into the kernel.
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;  // null: not wanted
  std::byte* scratch = nullptr;         // KernelChoice::scratch_bytes, aligned to 64
  // For ops whose output shape depends on data: run() writes the actual shapes here.
  Shape* output_shapes = nullptr;
  StringPool* strings = nullptr;  // for ops that make strings
  // For loops that Parallel does not cut: see StopCheck. A kernel that ends early may return ok.
  const Stop* stop = nullptr;

  bool is_over() const { return stop && stop->is_reached(); }
};

// The state that one session keeps for one kernel between runs (oneDNN's memory handles).
class KernelState {
 public:
  virtual ~KernelState() = default;
  // The number of calls of a library that it holds handles for.
  virtual std::size_t calls() const { return 1; }
};

// Immutable, shared by all sessions of a plan.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  virtual Result<std::unique_ptr<KernelState>> make_state() const {
    return std::unique_ptr<KernelState>();
  }
  // Fails only for errors that depend on the data, such as an index out of range.
  virtual Status run(const KernelArgs& args, KernelState* state,
                     const Parallel& parallel) const = 0;
};

// ---- choosing ----------------------------------------------------------------------------------

// A constant operand. The elements may be the result of a constant expression, which is computed
// (and held) only on request: weights are packed one by one, so that never all of them are held
// twice.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;
  virtual const TensorType& type() const = 0;
  virtual Result<Tensor> get() const = 0;
  // Equal keys mean equal elements. Used in the keys of the WeightStore.
  virtual const std::string& key() const = 0;
};

// The kernels of one executable share packed weights, made once per (constant, packed layout), and
// generated code, as long as one of them holds these.
class WeightStore {
 public:
  virtual ~WeightStore() = default;
  // `fill` gets `bytes` zeroed bytes aligned to 64. A key names the constant and every number that
  // `fill` reads besides: strides alone do not tell [2, 1] from [1, 2].
  using Fill = std::function<Status(std::byte*)>;
  virtual Result<std::shared_ptr<const std::byte>> find_or_make(const std::string& key,
                                                                std::size_t bytes,
                                                                const Fill& fill) = 0;
  // Code by a key that names whatever it was generated from. Two threads may make the same.
  using MakeCode = std::function<std::shared_ptr<const void>()>;
  virtual std::shared_ptr<const void> find_or_make_code(const std::string& key,
                                                        const MakeCode& make) = 0;
  // The number of a large constant of the model, which is part of keys in the place of its address.
  virtual std::uint64_t number_of(const std::byte* constant) = 0;
  // Called before the elements of a constant of the model are read. Errors: unsupported, where they
  // are not at hand, since only packed weights were kept of them.
  virtual Status reading(const std::byte* constant) = 0;
};

// The formats in which constants were packed first, by their keys. The nodes that compute stripes
// of one node read the same weights: they take the format of the first of them where they can.
class PackedFormats {
 public:
  // Null if there is none yet.
  std::shared_ptr<const void> find(const std::string& key) const {
    const auto at = formats_.find(key);
    return at == formats_.end() ? nullptr : at->second;
  }
  void keep(const std::string& key, std::shared_ptr<const void> format) {
    formats_.emplace(key, std::move(format));
  }

 private:
  std::unordered_map<std::string, std::shared_ptr<const void>> formats_;
};

struct KernelInput {
  bool present = false;
  TensorDesc desc;
  const ConstantSource* constant = nullptr;  // set if the elements are the same in every run
  bool is_last_use = false;                  // not read after this node: may be overwritten
};

struct CpuTarget {
  Team team;
  bool use_onednn = true;
  WeightStore* weights = nullptr;
  // True: use scratch memory wherever that is faster. False: use the least that implementations of
  // about the same speed need.
  bool scratch = true;
  bool flush_denormals = true;  // of weights that are packed
  // Images are to lie with their channels last where a kernel has the choice: rows of them are one
  // range of memory then.
  bool channels_last = false;
  PackedFormats* formats = nullptr;  // null: each kernel takes the format that suits it best
  // The entry that operators take whose list has it, "reference" at the end of each, where it
  // answers; else, and where this is empty, the first that answers.
  std::string_view entry = {};
  const MeasuredEntries* measured = nullptr;  // for operators that `entry` says nothing of
  const Stop* stop = nullptr;                 // ends the packing of weights

  // The result of packing that asked `stop`.
  Status packed() const { return stop ? stop->check() : Status(); }
};

struct KernelRequest {
  const Op& op;
  std::string_view name;  // of the node, for messages
  std::span<const KernelInput> inputs;
  std::span<const TensorType> outputs;
  std::span<const bool> wanted;  // outputs that are read
  const PostOps& post_ops;
  std::span<const KernelInput> operands;  // of the post-ops, by BinaryPostOp::operand
  const CpuTarget& target;
  const GpuTarget* gpu = nullptr;  // for the implementations of OpKernels::gpu
  bool half_products = false;      // operands of products may be rounded to f16, sums may not

  const OpDef& def() const { return op.def(); }
  // "node 'conv1' (Conv)", for messages.
  std::string description() const;
  template <class T>
  const T& as() const {
    return *op.as<T>();
  }
  // The node reads its inputs, then the operands of its post-ops. Arguments and choices are indexed
  // in this order.
  std::size_t read_count() const { return inputs.size() + operands.size(); }
  const KernelInput& read(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : operands[i - inputs.size()];
  }
  std::uint32_t read_of(const BinaryPostOp& p) const {
    return static_cast<std::uint32_t>(inputs.size()) + p.operand;
  }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
  bool wants(std::size_t i) const { return i < wanted.size() && wanted[i]; }
  const Shape& shape(std::size_t i) const { return inputs[i].desc.shape; }
  DType dtype(std::size_t i) const { return inputs[i].desc.dtype; }
};

// `may`: the output may have the memory of the input. `must`: the kernel reads that input only at
// the address of the output.
enum class Alias : std::uint8_t { may, must };

struct Sharing {
  std::uint32_t output;
  std::uint32_t input;
  Alias alias;

  bool operator==(const Sharing&) const = default;
};

// The first output holds this input's bytes unchanged at `offset`. The kernel skips the copy if the
// input already lies there; of GpuWork, the dispatches that read the input are dropped.
struct CopiedInput {
  std::uint32_t input;
  std::size_t offset;
};

// The output may be bound to the memory of the input by a run, if nothing else reads the input or
// writes the output: only what differs is written then (on GPUs, by what does not read the input).
struct Update {
  std::uint32_t output;
  std::uint32_t input;
};

// Code that only the device that made it understands: a region of a graph, compiled as a whole.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
};

// The work of a step: a kernel on the CPU, dispatches on a GPU, or code of a device.
using KernelWork =
    std::variant<std::unique_ptr<CpuKernel>, GpuWork, std::shared_ptr<const DeviceCode>>;

// An implementation's answer. Empty layouts mean dense row-major.
struct KernelChoice {
  std::string implementation;   // as "onednn brgconv:avx512_core"; for profile and inspect
  std::string_view entry = {};  // of the operator's list; empty: of a device
  std::string work_text = {};   // of the request, where CpuTarget::measured is set
  KernelWork work;
  std::vector<Layout> input_layouts;  // by KernelRequest::read
  std::vector<Layout> output_layouts;
  std::vector<bool> packed_inputs;  // true: the kernel holds it and needs no pointer
  std::vector<Sharing> sharing;     // outputs that may (must) have the memory of an input
  std::vector<CopiedInput> copies;  // if not empty, the kernel does nothing but copy
  std::vector<Update> updates;      // outputs that may be made in place
  std::size_t scratch_bytes = 0;
  std::size_t post_ops_taken = 0;  // a prefix; the rest runs as separate elementwise steps

  bool is_on_host() const { return std::holds_alternative<std::unique_ptr<CpuKernel>>(work); }
  bool is_on_gpu() const { return std::holds_alternative<GpuWork>(work); }
  // The kernel of a choice for the CPU.
  const CpuKernel& cpu_kernel() const { return *std::get<std::unique_ptr<CpuKernel>>(work); }
  // The dispatches; makes this a choice for a GPU.
  GpuWork& on_gpu() { return is_on_gpu() ? std::get<GpuWork>(work) : work.emplace<GpuWork>(); }
  std::span<const Dispatch> gpu_dispatches() const {
    if (!is_on_gpu()) return {};
    return std::get<GpuWork>(work).dispatches;
  }
  std::span<const GpuConstant> gpu_constants() const {
    if (!is_on_gpu()) return {};
    return std::get<GpuWork>(work).constants;
  }
};

using Selection = Result<std::optional<KernelChoice>>;
inline Selection unsupported() {
  return std::optional<KernelChoice>();
}

struct CpuImplementation {
  std::string_view name;
  Selection (*select)(const KernelRequest&);
  bool by_name_only = false;  // taken where it is named or was measured, never as the best that is
};
// Returns dispatches, or nothing: the node then runs on the CPU.
using GpuSelect = Selection (*)(const KernelRequest&);

// The work of one node, for profile and bench.
struct Cost {
  double flops = 0;  // a multiply-add counts as two
  double bytes = 0;  // each input, weight and output once
};
using CostFn = Cost (*)(const Op&, std::span<const TensorType> inputs,
                        std::span<const TensorType> outputs);

// The result of T::kernels().
struct OpKernels {
  OpReference reference;                   // none if planning resolves the op
  std::span<const CpuImplementation> cpu;  // best first; the reference is appended implicitly
  CostFn flops = nullptr;                  // null: one flop per output element
  GpuSelect gpu = nullptr;                 // null: none
};

const OpKernels& kernels_of(const OpDef& def);
// The reference of `request.op` as a kernel; runs the post-ops too.
Selection select_reference(const KernelRequest& request);
// The first implementation of the list that answers; before it CpuTarget::entry, or the one that
// was measured.
Result<KernelChoice> select_cpu_kernel(const KernelRequest& request);
// `request.gpu` must be set.
Selection select_gpu_kernel(const KernelRequest& request);
// The cost of reading and writing each tensor once, without arithmetic: the base of a CostFn.
Cost traffic(std::span<const TensorType> inputs, std::span<const TensorType> outputs);
// The cost of an operator that copies chosen elements of its first input: they are read and written
// once, its other inputs are read, and the rest of the first is not touched.
Cost chosen_elements(const Op& op, std::span<const TensorType> inputs,
                     std::span<const TensorType> outputs);
Cost cost_of(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs);

}  // namespace quern
