// SPDX-License-Identifier: Apache-2.0
// How an operator runs: the contract between the op files and the devices.
//
// An op has an ordered list of implementations per device. Asked with concrete shapes, an
// implementation answers with a kernel or with nothing ("not for me"); the reference closes the
// list. All that can fail, allocate or compile code happens then; a kernel's run() does neither.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/op_def.h"
#include "graph/post_ops.h"
#include "graph/reference.h"
#include "kernels/contract/gpu.h"
#include "kernels/contract/layout.h"

namespace quern {

// ---- running -----------------------------------------------------------------------------------

// Threads of one run. Calls body(begin, end) over parts of [0, n), at least `grain` long each, on
// at most `threads` threads, the caller's own included; returns when all are done. Small n stays on
// the caller. The body may not throw and may not nest another parallel_for.
class Parallel {
 public:
  explicit Parallel(int threads = 1) : threads_(threads) {}
  int threads() const { return threads_; }

  template <class F>
  void operator()(std::int64_t n, std::int64_t grain, const F& body) const {
    const std::int64_t parts =
        grain > 0 ? std::min<std::int64_t>(threads_, n / grain) : std::int64_t{1};
    if (parts <= 1) {
      if (n > 0) body(std::int64_t{0}, n);
      return;
    }
    run(static_cast<int>(parts), n, &body, [](const void* f, std::int64_t begin, std::int64_t end) {
      (*static_cast<const F*>(f))(begin, end);
    });
  }

 private:
  using Body = void (*)(const void*, std::int64_t, std::int64_t);
  static void run(int parts, std::int64_t n, const void* context, Body body);

  int threads_;
};

// Pointers of one call. A kernel has asked for layouts at selection and gets exactly those.
struct KernelArgs {
  std::span<const std::byte* const> inputs;  // null: absent, or packed into the kernel
  std::span<std::byte* const> outputs;       // null: not wanted
  std::byte* scratch = nullptr;              // KernelChoice::scratch_bytes, aligned to 64
  // For ops whose output shape depends on data: where run() writes the real shapes.
  Shape* output_shapes = nullptr;
  StringPool* strings = nullptr;  // for ops that make strings
};

// What one session keeps for one kernel between runs (oneDNN's memory handles).
class KernelState {
 public:
  virtual ~KernelState() = default;
};

// Immutable, shared by all sessions of a plan.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  virtual Result<std::unique_ptr<KernelState>> make_state() const {
    return std::unique_ptr<KernelState>();
  }
  // An error only for what the data alone can show: an index out of range, say.
  virtual Status run(const KernelArgs& args, KernelState* state,
                     const Parallel& parallel) const = 0;
};

// ---- choosing ----------------------------------------------------------------------------------

// A constant operand. The elements may be the result of a constant expression that is computed
// (and held) only while somebody asks: weights are packed one by one and never all held twice.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;
  virtual const TensorType& type() const = 0;
  virtual Result<Tensor> get() const = 0;
  // Equal keys, equal elements: names packed layouts in the WeightStore.
  virtual const std::string& key() const = 0;
};

// Packed weights of one executable: made once per (constant, packed layout) and shared by its
// plans.
class WeightStore {
 public:
  virtual ~WeightStore() = default;
  // `fill` gets `bytes` zeroed bytes aligned to 64. A key names the constant and every number that
  // `fill` reads besides: strides alone do not tell [2, 1] from [1, 2].
  using Fill = std::function<Status(std::byte*)>;
  virtual Result<std::shared_ptr<const std::byte>> find_or_make(const std::string& key,
                                                                std::size_t bytes,
                                                                const Fill& fill) = 0;
};

struct KernelInput {
  bool present = false;
  TensorDesc desc;
  const ConstantSource* constant = nullptr;  // elements that are the same in every run
  bool is_last_use = false;                  // nobody reads it after this node: may be overwritten
};

struct CpuTarget {
  int threads = 1;
  bool use_onednn = true;
  WeightStore* weights = nullptr;
  // Memory to work in is taken where that is faster; else the least that about as fast forms need.
  bool scratch = true;
};

struct KernelRequest {
  const Op& op;
  std::string_view name;  // of the node, for messages
  std::span<const KernelInput> inputs;
  std::span<const TensorType> outputs;
  std::span<const bool> wanted;  // outputs that somebody reads
  const PostOps& post_ops;
  const CpuTarget& target;
  const GpuTarget* gpu = nullptr;  // for the implementations of OpKernels::gpu
  bool half_products = false;      // operands of products may be rounded to f16, sums may not

  const OpDef& def() const { return op.def(); }
  template <class T>
  const T& as() const {
    return *op.as<T>();
  }
  // Operands of post-ops stand behind the op's own inputs and are none of them.
  std::size_t own_inputs() const { return quern::own_inputs(inputs.size(), post_ops); }
  bool has(std::size_t i) const { return i < own_inputs() && inputs[i].present; }
  bool wants(std::size_t i) const { return i < wanted.size() && wanted[i]; }
  const Shape& shape(std::size_t i) const { return inputs[i].desc.shape; }
  DType dtype(std::size_t i) const { return inputs[i].desc.dtype; }
};

// Whether an output may have the bytes of an input, or must: then the kernel reads that input where
// it writes the output, and nowhere else.
enum class Alias : std::uint8_t { may, must };

struct Sharing {
  std::uint32_t output;
  std::uint32_t input;
  Alias alias;
};

// The first result holds this input's bytes, as they are, `offset` bytes in. A kernel that says so
// skips the copy when it finds the input there.
struct CopiedInput {
  std::uint32_t input;
  std::size_t offset;
};

// An implementation's answer. Layouts left empty mean dense row-major.
struct KernelChoice {
  std::string implementation;         // "onednn brgconv:avx512_core": for profile and inspect
  std::unique_ptr<CpuKernel> kernel;  // null: `gpu` is the work
  GpuWork gpu;
  std::vector<Layout> input_layouts;
  std::vector<Layout> output_layouts;
  std::vector<bool> packed_inputs;  // true: the kernel holds it, the pointer is not needed
  std::vector<Sharing> sharing;     // outputs that may (must) be the bytes of an input
  std::vector<CopiedInput> copies;  // not empty: copies are all that the kernel does
  std::size_t scratch_bytes = 0;
  std::size_t post_ops_taken = 0;  // a prefix; the rest runs as elementwise steps of its own
};

using Selection = Result<std::optional<KernelChoice>>;
inline Selection unsupported() {
  return std::optional<KernelChoice>();
}

struct CpuImplementation {
  std::string_view name;
  Selection (*select)(const KernelRequest&);
};
// Describes dispatches, or answers "not for me": the node then runs on the CPU.
using GpuSelect = Selection (*)(const KernelRequest&);

// Work of one node, for profile and bench.
struct Cost {
  double flops = 0;  // multiply and add are two
  double bytes = 0;  // each input, weight and output once
};
using CostFn = Cost (*)(const Op&, std::span<const TensorType> inputs,
                        std::span<const TensorType> outputs);

// What T::kernels() gives.
struct OpKernels {
  OpReference reference;                   // none: planning resolves the op
  std::span<const CpuImplementation> cpu;  // best first; the reference follows by itself
  CostFn flops = nullptr;                  // null: one per output element
  GpuSelect gpu = nullptr;                 // null: none
};

const OpKernels& kernels_of(const OpDef& def);
// The reference of `request.op` as a kernel; runs the post-ops too.
Selection select_reference(const KernelRequest& request);
// The first implementation of the list that answers.
Result<KernelChoice> select_cpu_kernel(const KernelRequest& request);
// `request.gpu` is set.
Selection select_gpu_kernel(const KernelRequest& request);
// Each tensor once, no arithmetic: what a CostFn starts from.
Cost traffic(std::span<const TensorType> inputs, std::span<const TensorType> outputs);
Cost cost_of(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs);

}  // namespace quern
