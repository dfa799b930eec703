// SPDX-License-Identifier: Apache-2.0
// What the wasi-nn front end costs a guest's call, beside what the call is about:
//   quern-wasi-nn-bench [--benchmark_...] [MODEL.onnx with one input, f32 or f16; by default
//   digits]
#include <cstring>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include <quern/session.h>

#include "frontends/wasi-nn/witx.h"

namespace {

using namespace quern;           // NOLINT: a program
using namespace quern::wasi_nn;  // NOLINT

std::string model_path = QUERN_DIGITS;  // NOLINT: set once, by main()

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

std::shared_ptr<Tenant> tenant_with_model() {
  auto tenant = Tenant::create({.threads = 1});
  if (const Error error = tenant->add_file("model", model_path); !error.ok())
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

// 1x3x224x224 floats, into a model whose input takes any number of pictures of 28 x 28: 192 of
// them.
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
  BenchGuest guest(tenant_with_model());
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

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc > 1) model_path = argv[1];
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
