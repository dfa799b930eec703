// SPDX-License-Identifier: Apache-2.0
// Running one operator by the kernel that selection gives, to compare with the reference: operands
// in the layouts that it asks for, nothing written outside of its outputs and scratch. Equal keys
// of packed weights have to name equal bytes, in all runs of a process.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/kernels/op_test.h"

namespace quern::testing {

// Bytes aligned to 64, not written yet, between two margins that must stay as they are.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) : size_(size), all_(size + 3 * margin, fill) {
    const auto address = reinterpret_cast<std::uintptr_t>(all_.data()) + margin;
    data_ = reinterpret_cast<std::byte*>((address + 63) & ~std::uintptr_t{63});
  }
  std::byte* data() { return data_; }
  bool is_intact() const {
    const auto is_fill = [](std::byte b) { return b == fill; };
    return std::all_of(all_.data(), static_cast<const std::byte*>(data_), is_fill) &&
           std::all_of(static_cast<const std::byte*>(data_) + size_, all_.data() + all_.size(),
                       is_fill);
  }

 private:
  static constexpr std::size_t margin = 64;
  static constexpr std::byte fill{0xff};  // NaN: who reads what nothing wrote is wrong
  std::size_t size_;
  std::vector<std::byte> all_;
  std::byte* data_;
};

struct SelectedRun {
  std::string implementation;  // empty: the one that was asked said "unsupported"
  std::vector<Tensor> outputs;
  std::size_t scratch_bytes = 0;
  std::size_t post_ops_taken = 0;
  Status status;  // of the run; if it failed there are no outputs
};

// One call of one kernel. Numbers of reads count inputs first, then the operands of post-ops.
struct SelectedCase {
  const Op& op;
  const std::vector<Tensor>& inputs;
  PostOps post_ops;
  std::vector<Tensor> operands;        // of the post-ops
  std::vector<std::size_t> constants;  // reads that are known when the kernel is made
  std::vector<std::size_t> dying;      // reads that may be overwritten
  std::size_t output_count = 1;
  int threads = 2;
  std::optional<Layout> layout;                         // of input 0
  Selection (*select)(const KernelRequest&) = nullptr;  // one implementation instead of all
  bool scratch = true;
  bool use_onednn = true;
  bool may_fail = false;
  ThreadPool* pool = nullptr;  // null: OpenMP's threads
};

namespace detail {

// Elements from one layout to another, as a plan moves them: a partial block is filled with zeros.
void move_elements(const TensorDesc& from, const std::byte* src, const TensorDesc& to,
                   std::byte* dst);

}  // namespace detail

SelectedRun run_selected(const SelectedCase& c);

// Inputs listed in `constants` are known when the kernel is made. `layout` is how input 0 lies;
// `select` one implementation to ask instead of all; `scratch` as CpuTarget.
SelectedRun run_selected(const Op& op, const std::vector<Tensor>& inputs,
                         const std::vector<std::size_t>& constants = {},
                         std::size_t output_count = 1, int threads = 2,
                         const std::optional<Layout>& layout = {},
                         Selection (*select)(const KernelRequest&) = nullptr, bool scratch = true);

// The query of this implementation of an operator; null: the build has none of the name.
Selection (*implementation_of(const OpDef& def, std::string_view name))(const KernelRequest&);

bool same_bytes(const Tensor& a, const Tensor& b);

// Tensors of seeded random elements.
class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : engine_(seed) {}

  // Whole numbers, both ends included.
  template <class T>
  Tensor integers(const Shape& shape, int low, int high) {
    const std::vector<int> drawn = draw(shape.elements(), low, high);
    Tensor t = Tensor::zeros({dtype_of<T>(), shape}).value();
    auto* p = reinterpret_cast<T*>(t.mutable_data());
    for (std::size_t i = 0; i < drawn.size(); ++i) p[i] = static_cast<T>(drawn[i]);
    return t;
  }
  template <class T>
  Tensor bytes(const Shape& shape) {
    return integers<T>(shape, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  Tensor floats(const Shape& shape, float low = -1, float high = 1);

 private:
  std::vector<int> draw(std::int64_t count, int low, int high);

  std::mt19937 engine_;
};

}  // namespace quern::testing
