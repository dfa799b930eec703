// SPDX-License-Identifier: Apache-2.0
// This measures what the wasi-nn front end adds to the cost of a guest's call:
//   quern-wasi-nn-bench [--benchmark_...] [MODEL.onnx with one input, f32 or f16; by default
//   digits, or the folder of a language model, of which a token is measured then]
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include <quern/session.h>

#include "frontends/language/generator.h"
#include "frontends/language/model_folder.h"
#include "frontends/wasi-nn/prompts/folder_prompts.h"
#include "frontends/wasi-nn/wit.h"
#include "frontends/wasi-nn/witx.h"

namespace {

using namespace quern;           // NOLINT: a program
using namespace quern::wasi_nn;  // NOLINT

constexpr const char* digits = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
std::string model_path = digits;  // NOLINT: set once, by main()

// Free dimensions are 1.
Shape input_shape(const ValueSpec& spec) {
  Shape shape;
  for (const std::int64_t d : spec.dims) shape.push_back(d < 0 ? 1 : d);
  return shape;
}

// A guest that has loaded the model by its name; its memory holds one tensor of zeros.
struct BenchGuest {
  enum : std::uint32_t {
    name_at = 64,
    out_at = 128,
    record_at = 192,
    dims_at = 256,
    data_at = 4096
  };

  explicit BenchGuest(const std::shared_ptr<Tenant>& tenant) : instance(Instance::create(tenant)) {
    memory.resize(data_at);
    std::memcpy(memory.data() + name_at, "model", 5);
    call("load_by_name", {name_at, 5, out_at});
    std::shared_ptr<ChargedGraph> graph;
    (void)instance->graph(1, &graph);
    call("init_execution_context", {1, out_at});
    const ValueSpec& input = graph->graph().inputs().at(0);
    place_tensor(input.dtype, input_shape(input));
  }

  // With a context of a language model.
  BenchGuest(std::shared_ptr<Instance> of, std::string_view options) : instance(std::move(of)) {
    memory.resize(data_at + 4096);
    std::memcpy(memory.data() + name_at, "model", 5);
    std::memcpy(memory.data() + data_at, options.data(), options.size());
    call("load_by_name_with_config",
         {name_at, 5, data_at, static_cast<std::uint32_t>(options.size()), out_at});
    call("init_execution_context", {1, out_at});
  }
  void put_text(std::uint32_t size) {
    put(record_at + 8, 3);
    put(record_at + 12, data_at);
    put(record_at + 16, size);
  }

  void place_tensor(DType dtype, const Shape& shape) {
    bytes = static_cast<std::uint32_t>(TensorType{dtype, shape}.bytes());
    memory.resize(data_at + 2 * std::size_t{bytes} + (1 << 20));
    for (std::size_t i = 0; i < shape.rank(); ++i)
      put(dims_at + 4 * static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(shape[i]));
    put(record_at, dims_at);
    put(record_at + 4, static_cast<std::uint32_t>(shape.rank()));
    put(record_at + 8, dtype == DType::f16 ? 0 : 1);
    put(record_at + 12, data_at);
    put(record_at + 16, bytes);
  }
  void put(std::uint32_t at, std::uint32_t value) { std::memcpy(memory.data() + at, &value, 4); }

  std::uint32_t call(std::string_view name, std::initializer_list<std::uint32_t> arguments) {
    Guest guest{{memory.data(), memory.size()}};
    for (const Import& row : witx_imports())
      if (name == row.name) return row.call(*instance, guest, arguments.begin());
    return 0xffffffff;
  }
  std::uint32_t infer() {
    const std::uint32_t answers[] = {call("set_input", {2, 0, record_at}), call("compute", {2}),
                                     call("get_output", {2, 0, data_at + bytes, 1 << 20, out_at})};
    return answers[0] | answers[1] | answers[2];
  }

  std::shared_ptr<Instance> instance;
  std::vector<std::byte> memory;
  std::uint32_t bytes = 0;
};

std::shared_ptr<Tenant> tenant_with_model(const std::string& path = model_path) {
  auto tenant = Tenant::create({.threads = 1});
  if (const Error error = tenant->add_file("model", path); !error.ok())
    throw std::runtime_error(error.text);
  return tenant;
}

void rejected_call(benchmark::State& state) {
  BenchGuest guest(tenant_with_model());
  for (auto _ : state) benchmark::DoNotOptimize(guest.call("compute", {77}));
}
BENCHMARK(rejected_call);

void rejected_pointer(benchmark::State& state) {
  BenchGuest guest(tenant_with_model());
  for (auto _ : state) benchmark::DoNotOptimize(guest.call("set_input", {2, 0, 0xfffffff0}));
}
BENCHMARK(rejected_pointer);

// 1x3x224x224 floats, into a model (the digits) whose input takes any number of pictures of 28 x
// 28: 192 of them.
constexpr Shape pictures = {192, 1, 28, 28};

void memcpy_602112_bytes(benchmark::State& state) {
  const std::vector<std::byte> source(602112);
  std::vector<std::byte> target(source.size());
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), source.size());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(memcpy_602112_bytes);

void set_input_602112_bytes(benchmark::State& state) {
  BenchGuest guest(tenant_with_model(digits));
  guest.place_tensor(DType::f32, pictures);
  if (guest.call("set_input", {2, 0, BenchGuest::record_at}) != 0) state.SkipWithError("refused");
  for (auto _ : state) guest.call("set_input", {2, 0, BenchGuest::record_at});
}
BENCHMARK(set_input_602112_bytes);

void inference_of_session(benchmark::State& state) {
  auto graph = SharedGraph::open(model_path, {Target::cpu, 1});
  auto session = Session::create(*(*graph)->executable(Target::cpu));
  const ValueSpec& input = (*graph)->inputs().at(0);
  const auto zeros = Tensor::zeros({input.dtype, input_shape(input)});
  for (auto _ : state)
    if (!(*session)->set_input(0, zeros->view()).ok() || !(*session)->run().ok())
      state.SkipWithError("failed");
}
BENCHMARK(inference_of_session);

void inference_of_guest(benchmark::State& state) {
  BenchGuest guest(tenant_with_model());
  for (auto _ : state)
    if (guest.infer() != 0) state.SkipWithError(guest.instance->last_error().c_str());
}
BENCHMARK(inference_of_guest);

// The same by WIT: a tensor is made, computed with, and what came is read and dropped.
class Component {
 public:
  explicit Component(const std::shared_ptr<Tenant>& tenant) : guest_(tenant) {
    std::shared_ptr<ChargedGraph> graph;
    (void)guest_.instance->graph(1, &graph);
    const ValueSpec& input = graph->graph().inputs().at(0);
    name_size_ = static_cast<std::uint32_t>(input.name.size());
    std::memcpy(guest_.memory.data() + BenchGuest::name_at, input.name.data(), name_size_);
    rank_ = static_cast<std::uint32_t>(input.dims.size());
    dtype_ = input.dtype == DType::f16 ? 0 : 1;
  }
  bool infer() {
    using G = BenchGuest;
    top_ = G::data_at + guest_.bytes;
    const std::uint32_t tensor =
        call("[constructor]tensor", {G::dims_at, rank_, dtype_, G::data_at, guest_.bytes});
    guest_.put(list_at, G::name_at);
    guest_.put(list_at + 4, name_size_);
    guest_.put(list_at + 8, tensor);
    call("[method]graph-execution-context.compute", {2, list_at, 1, G::out_at});
    if (word(G::out_at) % 256 != 0) return false;
    const std::uint32_t output = word(word(G::out_at + 4) + 8);
    call("[method]tensor.data", {output, G::out_at});
    call("[resource-drop]tensor", {output});
    return true;
  }

 private:
  static constexpr std::uint32_t list_at = 320;

  std::uint32_t word(std::uint32_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, guest_.memory.data() + at, 4);
    return value;
  }
  std::uint32_t call(std::string_view name, std::initializer_list<std::uint32_t> arguments) {
    Guest guest{{guest_.memory.data(), guest_.memory.size()}, &Component::make_room, this};
    for (const Import& row : wit_imports())
      if (name == row.name) return row.call(*guest_.instance, guest, arguments.begin());
    return 0;
  }
  static bool make_room(Guest& guest, std::uint32_t, std::uint32_t bytes, std::uint32_t* at) {
    auto& self = *static_cast<Component*>(guest.host);
    *at = self.top_ = (self.top_ + 7) / 8 * 8;
    self.top_ += bytes;
    return true;
  }

  BenchGuest guest_;
  std::uint32_t name_size_ = 0, rank_ = 0, dtype_ = 0, top_ = 0;
};

void inference_of_component(benchmark::State& state) {
  Component component(tenant_with_model());
  for (auto _ : state)
    if (!component.infer()) state.SkipWithError("failed");
}
BENCHMARK(inference_of_component);

void first_load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(tenant_with_model());
}
BENCHMARK(first_load);

void load_by_name_of_next_instance(benchmark::State& state) {
  const auto tenant = tenant_with_model();
  std::vector<std::byte> memory(256);
  std::memcpy(memory.data(), "model", 5);
  const std::uint32_t arguments[] = {0, 5, 128};
  const Import& row = witx_imports()[1];
  for (auto _ : state) {
    const auto instance = Instance::create(tenant);
    Guest guest{{memory.data(), memory.size()}};
    if (row.call(*instance, guest, arguments) != 0) state.SkipWithError("refused");
  }
}
BENCHMARK(load_by_name_of_next_instance);

// ---- a token ------------------------------------------------------------------------------------

constexpr const char* prompt = "The limit of a model is";

// Answers to the prompt, one after the other, without the front end.
void token_of_generator(benchmark::State& state) {
  const auto folder = language::ModelFolder::read(model_path);
  auto graph = SharedGraph::open(folder->decoder_file, {Target::cpu, 1});
  auto decoder = language::open_decoder(*(*graph)->executable(Target::cpu), folder->names,
                                        std::min<std::int64_t>(folder->context_length, 4096));
  const auto tokens = folder->tokenizer->encode(prompt);
  const language::GenerateOptions options{.sampling = {.temperature = 0},
                                          .max_new_tokens = std::numeric_limits<int>::max(),
                                          .end_ids = folder->end_ids,
                                          .unit = language::TextUnit::bytes};
  std::optional<language::Generator> generator;
  for (auto _ : state) {
    if (!generator || generator->end() != language::Generator::End::none) {
      state.PauseTiming();
      (void)(*decoder)->rewind(0);
      generator.emplace(*language::Generator::create(**decoder, folder->tokenizer, options));
      if (!generator->begin(*tokens).ok() || !generator->step()) state.SkipWithError("failed");
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(generator->step());
  }
}

// The same as a guest that reads each token.
void token_of_guest(benchmark::State& state) {
  auto tenant = Tenant::create({.threads = 1, .read_folder = &read_prompt_folder});
  if (const Error error = tenant->add_file("model", model_path); !error.ok())
    return state.SkipWithError(error.text.c_str());
  BenchGuest guest(Instance::create(tenant), "{\"temp\": 0}");
  const auto size = static_cast<std::uint32_t>(std::strlen(prompt));
  std::memcpy(guest.memory.data() + BenchGuest::data_at, prompt, size);
  guest.put_text(size);
  std::uint32_t answer = 100;
  for (auto _ : state) {
    if (answer != 0) {
      state.PauseTiming();
      const std::uint32_t set = guest.call("set_input", {2, 0, BenchGuest::record_at});
      if (set != 0 || guest.call("compute_single", {2}) != 0) state.SkipWithError("failed");
      state.ResumeTiming();
    }
    answer = guest.call("compute_single", {2});
    guest.call("get_output_single", {2, 0, BenchGuest::data_at + 1024, 256, BenchGuest::out_at});
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc > 1) model_path = argv[1];
  if (std::filesystem::is_directory(model_path)) {
    benchmark::ClearRegisteredBenchmarks();
    benchmark::RegisterBenchmark("token_of_generator", &token_of_generator);
    benchmark::RegisterBenchmark("token_of_guest", &token_of_guest);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
