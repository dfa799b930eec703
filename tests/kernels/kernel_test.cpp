// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/kernel_test.h"

#include <deque>
#include <map>
#include <memory>

#include "kernels/contract/copy.h"
#include "kernels/simd/simd.h"

namespace quern::testing {
namespace {

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

// Packs on each call, and holds keys to what they promise: equal keys of one process name equal
// bytes, and code that any of its requests can run.
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

  std::shared_ptr<const void> find_or_make_code(const std::string& key,
                                                const MakeCode& make) override {
    constexpr std::size_t most = 200;
    static std::deque<std::pair<std::string, std::shared_ptr<const void>>> known;
    for (const auto& [name, code] : known)
      if (name == key) return code;
    if (known.size() == most) known.pop_front();
    return known.emplace_back(key, make()).second;
  }

  std::uint64_t number_of(const std::byte* constant) override {
    return reinterpret_cast<std::uintptr_t>(constant);
  }
  Status reading(const std::byte* /*constant*/) override { return {}; }

  static std::string hash_of(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::to_string(std::hash<std::string_view>()(text));
  }
};

// The request that a case describes, with all that it points at.
class HeldRequest {
 public:
  explicit HeldRequest(const SelectedCase& c)
      : post_ops_(c.post_ops),
        target_{.team = {c.threads, c.pool ? Team::Kind::pool : Team::Kind::openmp},
                .use_onednn = c.use_onednn,
                .weights = &weights_,
                .scratch = c.scratch},
        request_{c.op, "test", {}, {}, {}, post_ops_, {}, target_} {
    for (const Tensor& t : c.inputs) add_read(c, t);
    for (const Tensor& t : c.operands) add_read(c, t);
    if (c.layout) reads_[0].desc.layout = *c.layout;
    request_.inputs = std::span(reads_).first(c.inputs.size());
    request_.operands = std::span(reads_).subspan(c.inputs.size());
    const auto types = infer(c.op, c.inputs, c.output_count).value();
    for (const ValueType& t : types) out_.push_back({t.dtype, *t.shape()});
    request_.outputs = out_;
    request_.wanted = {wanted_, c.output_count};
  }
  const KernelRequest& operator*() const { return request_; }
  const KernelRequest* operator->() const { return &request_; }

 private:
  void add_read(const SelectedCase& c, const Tensor& t) {
    const std::size_t i = reads_.size();
    reads_.emplace_back();
    if (!t.valid()) return;
    const auto lists = [&](const std::vector<std::size_t>& list) {
      return std::ranges::find(list, i) != list.end();
    };
    reads_.back() = {.present = true,
                     .desc = TensorDesc::row_major(t.dtype(), t.shape()),
                     .is_last_use = lists(c.dying)};
    if (!lists(c.constants)) return;
    held_.push_back(std::make_unique<HeldConstant>(
        t, t.type().text() + "#" + TestWeights::hash_of({t.data(), t.bytes()})));
    reads_.back().constant = held_.back().get();
  }

  PostOps post_ops_;
  TestWeights weights_;
  CpuTarget target_;
  KernelRequest request_;
  std::vector<std::unique_ptr<HeldConstant>> held_;
  std::vector<KernelInput> reads_;
  std::vector<TensorType> out_;
  static constexpr bool wanted_[8] = {true, true, true, true, true, true, true, true};
};

// The tensor has the layout that the answer asks for, or is row-major where it asks for none.
TensorDesc asked(const std::vector<Layout>& layouts, std::size_t i, const TensorType& t) {
  const bool given = i < layouts.size() && layouts[i].strides.rank() > 0;
  EXPECT_TRUE(!given || layouts[i].strides.rank() == t.shape.rank()) << "a layout of another rank";
  return TensorDesc{t.dtype, t.shape, given ? layouts[i] : Layout::row_major(t.shape)};
}

}  // namespace

void detail::move_elements(const TensorDesc& from, const std::byte* src, const TensorDesc& to,
                           std::byte* dst) {
  const KernelChoice copy = select_copy(from, to, {}).value();
  GuardedBytes work(copy.scratch_bytes);
  const auto state = copy.cpu_kernel().make_state().value();
  const Status status =
      copy.cpu_kernel().run({.inputs = {&src, 1}, .outputs = {&dst, 1}, .scratch = work.data()},
                            state.get(), Parallel(1));
  EXPECT_TRUE(status.ok()) << status.message();
}

namespace {

using detail::move_elements;

// Memory for the operands of one kernel, in the layouts that it asks for.
struct KernelMemory {
  std::vector<std::unique_ptr<GuardedBytes>> all;
  std::vector<std::byte*> in, out;  // null: absent, or packed
  std::byte* work;

  KernelMemory(const KernelRequest& r, const KernelChoice& choice) {
    const std::size_t own = r.inputs.size();
    for (std::size_t i = 0; i < r.read_count(); ++i) {
      const bool packed = i < choice.packed_inputs.size() && choice.packed_inputs[i];
      const KernelInput& in_request = r.read(i);
      const TensorDesc desc =
          asked(choice.input_layouts, i, {in_request.desc.dtype, in_request.desc.shape});
      const bool later = i >= own && is_read_later(r.post_ops, choice.post_ops_taken, i - own);
      const bool read = in_request.present && !packed && !later;
      in.push_back(read ? take(desc.bytes()) : nullptr);
    }
    for (std::size_t i = 0; i < r.outputs.size(); ++i) {
      out.push_back(nullptr);
      for (const Sharing& s : choice.sharing)
        if (s.alias == Alias::must && s.output == i) out[i] = in[s.input];
      if (!out[i]) out[i] = take(asked(choice.output_layouts, i, r.outputs[i]).bytes());
    }
    work = take(choice.scratch_bytes);
  }
  void fill(const KernelChoice& choice, const SelectedCase& c) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i]) continue;
      const std::size_t own = c.inputs.size();
      const Tensor& t = i < own ? c.inputs[i] : c.operands[i - own];
      const TensorDesc desc = asked(choice.input_layouts, i, t.type());
      move_elements(TensorDesc::row_major(desc.dtype, desc.shape), t.data(), desc, in[i]);
    }
  }

 private:
  std::byte* take(std::size_t bytes) {
    all.push_back(std::make_unique<GuardedBytes>(bytes));
    return all.back()->data();
  }
};

}  // namespace

Selection (*implementation_of(const OpDef& def, std::string_view name))(const KernelRequest&) {
  for (const CpuImplementation& i : kernels_of(def).cpu)
    if (i.name == name) return i.select;
  return nullptr;
}

namespace {

// Runs the kernel once for each output that may have the memory of an input, with that memory, and
// expects what it made with memory of its own.
void expect_same_in_place(const SelectedCase& c, const KernelRequest& r, const KernelChoice& choice,
                          KernelMemory& memory, const KernelArgs& args, KernelState* state) {
  for (const Sharing& s : choice.sharing) {
    std::byte* const in = memory.in[s.input];
    if (s.alias != Alias::may || !in) continue;
    const std::size_t bytes = asked(choice.output_layouts, s.output, r.outputs[s.output]).bytes();
    const TensorDesc& read = r.read(s.input).desc;
    ASSERT_EQ(asked(choice.input_layouts, s.input, {read.dtype, read.shape}).bytes(), bytes);
    const std::vector<std::byte> wanted(args.outputs[s.output], args.outputs[s.output] + bytes);
    std::vector<std::byte*> out(args.outputs.begin(), args.outputs.end());
    out[s.output] = in;
    KernelArgs in_place = args;
    in_place.outputs = out;
    memory.fill(choice, c);
    const Status status =
        choice.cpu_kernel().run(in_place, state, Parallel(c.threads, nullptr, c.pool));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), in))
        << choice.implementation << " over read " << s.input;
  }
}

}  // namespace

SelectedRun run_selected(const SelectedCase& c) {
  const HeldRequest request(c);
  std::optional<KernelChoice> choice =
      c.select ? c.select(*request).value() : select_cpu_kernel(*request).value();
  if (!choice) return {};
  KernelMemory memory(*request, *choice);
  static StringPool strings;
  std::vector<Shape> shapes(c.output_count);
  const auto state = choice->cpu_kernel().make_state().value();
  const std::vector<const std::byte*> in(memory.in.begin(), memory.in.end());
  const KernelArgs args{in, memory.out, memory.work, shapes.data(), &strings};
  SelectedRun result{choice->implementation, {}, choice->scratch_bytes, choice->post_ops_taken, {}};
  for (int repeat = 0; repeat < 2; ++repeat) {  // what a run leaves in scratch must not matter
    memory.fill(*choice, c);
    result.status =
        choice->cpu_kernel().run(args, state.get(), Parallel(c.threads, nullptr, c.pool));
    EXPECT_TRUE(c.may_fail || result.status.ok()) << result.status.message();
  }
  if (result.status.ok()) expect_same_in_place(c, *request, *choice, memory, args, state.get());
  for (const auto& m : memory.all)
    EXPECT_TRUE(m->is_intact()) << result.implementation
                                << " wrote outside of its memory: " << request->shape(0).text()
                                << " and "
                                << (request->inputs.size() > 1 ? request->shape(1).text() : "");
  if (!result.status.ok()) return result;
  for (std::size_t i = 0; i < c.output_count; ++i) {
    const TensorDesc desc = asked(choice->output_layouts, i, request->outputs[i]);
    result.outputs.push_back(Tensor::zeros(request->outputs[i]).value());
    move_elements(desc, memory.out[i], TensorDesc::row_major(desc.dtype, desc.shape),
                  result.outputs.back().mutable_data());
  }
  return result;
}

SelectedRun run_selected(const Op& op, const std::vector<Tensor>& inputs,
                         const std::vector<std::size_t>& constants, std::size_t output_count,
                         int threads, const std::optional<Layout>& layout,
                         Selection (*select)(const KernelRequest&), bool scratch) {
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

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

Tensor RandomTensors::floats(const Shape& shape, float low, float high) {
  std::uniform_real_distribution<float> d(low, high);
  Tensor t = Tensor::zeros({DType::f32, shape}).value();
  auto* p = reinterpret_cast<float*>(t.mutable_data());
  for (std::int64_t i = 0; i < shape.elements(); ++i) p[i] = d(engine_);
  return t;
}

std::vector<int> RandomTensors::draw(std::int64_t count, int low, int high) {
  std::uniform_int_distribution<int> d(low, high);
  std::vector<int> drawn(static_cast<std::size_t>(count));
  for (int& v : drawn) v = d(engine_);
  return drawn;
}

}  // namespace quern::testing
