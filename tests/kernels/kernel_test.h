// SPDX-License-Identifier: Apache-2.0
// Running one operator by the kernel that selection gives, to compare with the reference: operands
// in the layouts that it asks for, nothing written outside of its outputs and scratch.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/copy.h"
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

class TestWeights final : public WeightStore {
 public:
  Result<std::shared_ptr<const std::byte>> find_or_make(const std::string&, std::size_t bytes,
                                                        const Fill& fill) override {
    auto held = std::make_shared<GuardedBytes>(bytes);
    std::fill_n(held->data(), bytes, std::byte{0});
    QUERN_TRY(fill(held->data()));
    EXPECT_TRUE(held->is_intact()) << "packing wrote outside of its bytes";
    return std::shared_ptr<const std::byte>(held, held->data());
  }
};

struct SelectedRun {
  std::string implementation;
  std::vector<Tensor> outputs;
  std::size_t scratch_bytes = 0;
};

// Inputs listed in `constants` are known when the kernel is made. `layout` is how input 0 lies;
// `select` one implementation to ask instead of all; `scratch` as CpuTarget.
inline SelectedRun run_selected(const Op& op, const std::vector<Tensor>& inputs,
                                const std::vector<std::size_t>& constants = {},
                                std::size_t output_count = 1, int threads = 2,
                                const std::optional<Layout>& layout = {},
                                Selection (*select)(const KernelRequest&) = nullptr,
                                bool scratch = true) {
  const OpDef& def = *builtin_ops()[op.index()];
  const auto types = infer(op, inputs, output_count).value();
  std::vector<std::unique_ptr<HeldConstant>> held;
  std::vector<KernelInput> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    if (!t.valid()) {
      in.emplace_back();
      continue;
    }
    in.push_back({.present = true, .desc = TensorDesc::row_major(t.dtype(), t.shape())});
    if (std::ranges::find(constants, i) == constants.end()) continue;
    held.push_back(std::make_unique<HeldConstant>(t, std::to_string(i)));
    in.back().constant = held.back().get();
  }
  if (layout) in[0].desc.layout = *layout;
  std::vector<TensorType> out_types;
  for (const ValueType& t : types) out_types.push_back({t.dtype, *t.shape()});
  const bool wanted[8] = {true, true, true, true, true, true, true, true};
  TestWeights weights;
  const CpuTarget target{.threads = threads, .weights = &weights, .scratch = scratch};
  const PostOps none;
  const KernelRequest request{op, def, "test", in, out_types, {wanted, output_count}, none, target};
  KernelChoice choice =
      select ? std::move(select(request).value().value()) : select_cpu_kernel(request).value();

  const auto asked = [](const std::vector<Layout>& layouts, std::size_t i, const TensorType& t) {
    const bool given = i < layouts.size() && layouts[i].strides.rank() == t.shape.rank();
    return TensorDesc{t.dtype, t.shape, given ? layouts[i] : Layout::row_major(t.shape)};
  };
  std::vector<std::unique_ptr<GuardedBytes>> memory;
  const auto guarded = [&](std::size_t bytes) {
    memory.push_back(std::make_unique<GuardedBytes>(bytes));
    return memory.back()->data();
  };
  std::vector<const std::byte*> in_pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool packed = i < choice.packed_inputs.size() && choice.packed_inputs[i];
    in_pointers.push_back(nullptr);
    if (!inputs[i].valid() || packed) continue;
    const TensorDesc desc = asked(choice.input_layouts, i, inputs[i].type());
    std::byte* copy = guarded(desc.bytes());
    copy_elements(TensorDesc::row_major(desc.dtype, desc.shape), inputs[i].data(), desc, copy);
    in_pointers.back() = copy;
  }
  std::vector<std::byte*> out_pointers;
  for (std::size_t i = 0; i < output_count; ++i)
    out_pointers.push_back(guarded(asked(choice.output_layouts, i, out_types[i]).bytes()));
  std::byte* work = guarded(choice.scratch_bytes);
  static StringPool strings;
  std::vector<Shape> shapes(output_count);
  const auto state = choice.kernel->make_state().value();
  const KernelArgs args{in_pointers, out_pointers, work, shapes.data(), &strings};
  SelectedRun result{choice.implementation, {}, choice.scratch_bytes};
  for (int repeat = 0; repeat < 2; ++repeat) {  // what a run leaves in scratch must not matter
    const Status status = choice.kernel->run(args, state.get(), Parallel(threads));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  for (const auto& m : memory) EXPECT_TRUE(m->is_intact()) << "wrote outside of its memory";
  for (std::size_t i = 0; i < output_count; ++i) {
    const TensorDesc desc = asked(choice.output_layouts, i, out_types[i]);
    result.outputs.push_back(Tensor::zeros(out_types[i]).value());
    copy_elements(desc, out_pointers[i], TensorDesc::row_major(desc.dtype, desc.shape),
                  result.outputs.back().mutable_data());
  }
  return result;
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
