// SPDX-License-Identifier: Apache-2.0
// Running one operator by the kernel that selection gives, to compare with the reference: operands
// in the layouts that it asks for, nothing written outside of its outputs and scratch.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/contract/copy.h"
#include "kernels/simd/simd.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {

class HeldConstant final : public ConstantSource {
 public:
  HeldConstant(Tensor t, std::string key)
      : tensor_(std::move(t)), type_(tensor_.type()), key_(std::move(key)) {}
  const TensorType& type() const override { return type_; }
  Result<Tensor> get() const override { return tensor_; }
  const std::string& key() const override { return key_; }

 private:
  Tensor tensor_;
  TensorType type_;
  std::string key_;
};

// Bytes aligned to 64 between two margins that must stay as they are.
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
  static constexpr std::byte fill{0xa5};
  std::size_t size_;
  std::vector<std::byte> all_;
  std::byte* data_;
};

// Packs on each call, and holds keys to what they promise: equal keys of one process name equal
// bytes.
class TestWeights final : public WeightStore {
 public:
  Result<std::shared_ptr<const std::byte>> find_or_make(const std::string& key, std::size_t bytes,
                                                        const Fill& fill) override {
    auto held = std::make_shared<GuardedBytes>(bytes);
    std::fill_n(held->data(), bytes, std::byte{0});
    QUERN_TRY(fill(held->data()));
    EXPECT_TRUE(held->is_intact()) << "packing wrote outside of its bytes";
    static std::map<std::string, std::string> contents;
    const std::string content = std::to_string(bytes) + "|" + hash_of({held->data(), bytes});
    const auto first = contents.emplace(std::string(simd().name) + "|" + key, content).first;
    EXPECT_EQ(first->second, content) << "one key, two packings: " << key;
    return std::shared_ptr<const std::byte>(held, held->data());
  }

  static std::string hash_of(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::to_string(std::hash<std::string_view>()(text));
  }
};

struct SelectedRun {
  std::string implementation;  // empty: the one that was asked said "not for me"
  std::vector<Tensor> outputs;
  std::size_t scratch_bytes = 0;
  std::size_t post_ops_taken = 0;
};

// One call of one kernel. Operands of post-ops stand behind the op's own inputs.
struct SelectedCase {
  const Op& op;
  const std::vector<Tensor>& inputs;
  PostOps post_ops;
  std::vector<std::size_t> constants;  // inputs that are known when the kernel is made
  std::vector<std::size_t> dying;      // inputs that may be overwritten
  std::size_t output_count = 1;
  int threads = 2;
  std::optional<Layout> layout;                         // of input 0
  Selection (*select)(const KernelRequest&) = nullptr;  // one implementation instead of all
  bool scratch = true;
  bool use_onednn = true;
};

namespace detail {

// The request that a case describes, with all that it points at.
class HeldRequest {
 public:
  explicit HeldRequest(const SelectedCase& c)
      : post_ops_(c.post_ops),
        target_{.threads = c.threads,
                .use_onednn = c.use_onednn,
                .weights = &weights_,
                .scratch = c.scratch},
        request_{c.op, "test", {}, {}, {}, post_ops_, target_} {
    for (std::size_t i = 0; i < c.inputs.size(); ++i) add_input(c, i);
    if (c.layout) in_[0].desc.layout = *c.layout;
    request_.inputs = in_;
    const std::vector<Tensor> own(c.inputs.begin(),
                                  c.inputs.begin() + static_cast<long>(request_.own_inputs()));
    const auto types = infer(c.op, own, c.output_count).value();
    for (const ValueType& t : types) out_.push_back({t.dtype, *t.shape()});
    request_.outputs = out_;
    request_.wanted = {wanted_, c.output_count};
  }
  const KernelRequest& operator*() const { return request_; }
  const KernelRequest* operator->() const { return &request_; }

 private:
  void add_input(const SelectedCase& c, std::size_t i) {
    const Tensor& t = c.inputs[i];
    in_.emplace_back();
    if (!t.valid()) return;
    const auto lists = [&](const std::vector<std::size_t>& list) {
      return std::ranges::find(list, i) != list.end();
    };
    in_.back() = {.present = true,
                  .desc = TensorDesc::row_major(t.dtype(), t.shape()),
                  .dies_here = lists(c.dying)};
    if (!lists(c.constants)) return;
    held_.push_back(std::make_unique<HeldConstant>(
        t, t.type().text() + "#" + TestWeights::hash_of({t.data(), t.bytes()})));
    in_.back().constant = held_.back().get();
  }

  PostOps post_ops_;
  TestWeights weights_;
  CpuTarget target_;
  KernelRequest request_;
  std::vector<std::unique_ptr<HeldConstant>> held_;
  std::vector<KernelInput> in_;
  std::vector<TensorType> out_;
  static constexpr bool wanted_[8] = {true, true, true, true, true, true, true, true};
};

// What an answer asks for, which is row-major where it says nothing.
inline TensorDesc asked(const std::vector<Layout>& layouts, std::size_t i, const TensorType& t) {
  const bool given = i < layouts.size() && layouts[i].strides.rank() > 0;
  EXPECT_TRUE(!given || layouts[i].strides.rank() == t.shape.rank()) << "a layout of another rank";
  return TensorDesc{t.dtype, t.shape, given ? layouts[i] : Layout::row_major(t.shape)};
}

// Elements from one layout to another, as a plan moves them: a partial block is filled with zeros.
inline void move_elements(const TensorDesc& from, const std::byte* src, const TensorDesc& to,
                          std::byte* dst) {
  const KernelChoice copy = select_copy(from, to, {}).value();
  GuardedBytes work(copy.scratch_bytes);
  const auto state = copy.kernel->make_state().value();
  const Status status =
      copy.kernel->run({.inputs = {&src, 1}, .outputs = {&dst, 1}, .scratch = work.data()},
                       state.get(), Parallel(1));
  EXPECT_TRUE(status.ok()) << status.message();
}

// Operands of post-ops that the kernel has not taken are for the steps behind it: it gets null.
inline bool is_later_operand(const KernelRequest& r, const KernelChoice& choice,
                             std::size_t input) {
  for (std::size_t k = choice.post_ops_taken; k < r.post_ops.size(); ++k)
    if (const auto* b = std::get_if<BinaryPostOp>(&r.post_ops[k]); b && b->operand == input)
      return true;
  return false;
}

// Memory for the operands of one kernel, in the layouts that it asks for.
struct KernelMemory {
  std::vector<std::unique_ptr<GuardedBytes>> all;
  std::vector<std::byte*> in, out;  // null: absent, or packed
  std::byte* work;

  KernelMemory(const KernelRequest& r, const KernelChoice& choice) {
    for (std::size_t i = 0; i < r.inputs.size(); ++i) {
      const bool packed = i < choice.packed_inputs.size() && choice.packed_inputs[i];
      const TensorDesc desc = asked(choice.input_layouts, i, {r.dtype(i), r.shape(i)});
      const bool read = r.inputs[i].present && !packed && !is_later_operand(r, choice, i);
      in.push_back(read ? take(desc.bytes()) : nullptr);
    }
    for (std::size_t i = 0; i < r.outputs.size(); ++i) {
      out.push_back(nullptr);
      for (const Sharing& s : choice.sharing)
        if (s.required && s.output == i) out[i] = in[s.input];
      if (!out[i]) out[i] = take(asked(choice.output_layouts, i, r.outputs[i]).bytes());
    }
    work = take(choice.scratch_bytes);
  }
  void fill(const KernelChoice& choice, const std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!in[i]) continue;
      const TensorDesc desc = asked(choice.input_layouts, i, inputs[i].type());
      move_elements(TensorDesc::row_major(desc.dtype, desc.shape), inputs[i].data(), desc, in[i]);
    }
  }

 private:
  std::byte* take(std::size_t bytes) {
    all.push_back(std::make_unique<GuardedBytes>(bytes));
    return all.back()->data();
  }
};

}  // namespace detail

inline SelectedRun run_selected(const SelectedCase& c) {
  const detail::HeldRequest request(c);
  std::optional<KernelChoice> choice =
      c.select ? c.select(*request).value() : select_cpu_kernel(*request).value();
  if (!choice) return {};
  detail::KernelMemory memory(*request, *choice);
  static StringPool strings;
  std::vector<Shape> shapes(c.output_count);
  const auto state = choice->kernel->make_state().value();
  const std::vector<const std::byte*> in(memory.in.begin(), memory.in.end());
  const KernelArgs args{in, memory.out, memory.work, shapes.data(), &strings};
  for (int repeat = 0; repeat < 2; ++repeat) {  // what a run leaves in scratch must not matter
    memory.fill(*choice, c.inputs);
    const Status status = choice->kernel->run(args, state.get(), Parallel(c.threads));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  for (const auto& m : memory.all) EXPECT_TRUE(m->is_intact()) << "wrote outside of its memory";
  SelectedRun result{choice->implementation, {}, choice->scratch_bytes, choice->post_ops_taken};
  for (std::size_t i = 0; i < c.output_count; ++i) {
    const TensorDesc desc = detail::asked(choice->output_layouts, i, request->outputs[i]);
    result.outputs.push_back(Tensor::zeros(request->outputs[i]).value());
    detail::move_elements(desc, memory.out[i], TensorDesc::row_major(desc.dtype, desc.shape),
                          result.outputs.back().mutable_data());
  }
  return result;
}

// Inputs listed in `constants` are known when the kernel is made. `layout` is how input 0 lies;
// `select` one implementation to ask instead of all; `scratch` as CpuTarget.
inline SelectedRun run_selected(const Op& op, const std::vector<Tensor>& inputs,
                                const std::vector<std::size_t>& constants = {},
                                std::size_t output_count = 1, int threads = 2,
                                const std::optional<Layout>& layout = {},
                                Selection (*select)(const KernelRequest&) = nullptr,
                                bool scratch = true) {
  SelectedRun run = run_selected(SelectedCase{.op = op,
                                              .inputs = inputs,
                                              .constants = constants,
                                              .output_count = output_count,
                                              .threads = threads,
                                              .layout = layout,
                                              .select = select,
                                              .scratch = scratch});
  EXPECT_FALSE(run.implementation.empty()) << "not for this implementation";
  return run;
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

// Tensors of seeded random elements.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  // Whole numbers, both ends included.
  template <class T>
  Tensor integers(const Shape& shape, int low, int high) {
    std::uniform_int_distribution<int> d(low, high);
    return fill<T>(shape, [&] { return static_cast<T>(d(engine_)); });
  }
  template <class T>
  Tensor bytes(const Shape& shape) {
    return integers<T>(shape, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  Tensor floats(const Shape& shape, float low = -1, float high = 1) {
    std::uniform_real_distribution<float> d(low, high);
    return fill<float>(shape, [&] { return d(engine_); });
  }

 private:
  template <class T, class F>
  Tensor fill(const Shape& shape, F next) {
    Tensor t = Tensor::zeros({dtype_of<T>(), shape}).value();
    auto* p = reinterpret_cast<T*>(t.mutable_data());
    for (std::int64_t i = 0; i < shape.elements(); ++i) p[i] = next();
    return t;
  }

  std::mt19937 engine_;
};

}  // namespace quern::testing
