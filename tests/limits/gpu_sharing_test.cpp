// SPDX-License-Identifier: Apache-2.0
// Runs of many tenants on one GPU: a long one leaves the short ones of others their share of the
// queue, and eight cost what their work does.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/limits/guests.h"
#include "tests/process_time.h"

namespace quern::testing {
namespace {

// A run of one tenant.
using GpuTenant = std::function<Status()>;

// ---- sessions

GpuTenant session_tenant(Model model) {
  struct State {
    std::unique_ptr<Session> session;
    std::vector<Tensor> inputs;
  };
  static const std::shared_ptr<Device> device = must(open_device("vulkan,strict"));
  auto s = std::make_shared<State>();
  s->session = session_of(must(Executable::compile(std::move(model), device)));
  s->inputs = inputs_of(s->session->executable());
  for (std::size_t i = 0; i < s->inputs.size(); ++i)
    must(s->session->set_input(i, s->inputs[i].view()));
  must(s->session->prepare());
  return [s] { return s->session->run(); };
}

Model light_chain() {
  GraphBuilder g("light");
  Operand x = g.input("x", DType::f32, {1, 32, 56, 56});
  for (int i = 0; i < 8; ++i)
    x = g.relu(g.conv(x, g.constant(pattern({32, 32, 3, 3})), {}, {.pads = {1, 1, 1, 1}}));
  g.output("y", x);
  return must(g.build(), "build");
}

Model heavy_product() {
  GraphBuilder g("heavy");
  const Operand a = g.input("a", DType::f32, {2400, 2400});
  g.output("y", g.matmul(a, g.input("b", DType::f32, {2400, 2400})));
  return must(g.build(), "build");
}

// ---- guests of wasi-nn

GpuTenant guest_tenant(const std::string& model, const Shape& shape) {
  struct State {
    std::shared_ptr<nn::Instance> instance;
    nn::Handle context = 0;
    nn::ContextUse use;
  };
  auto s = std::make_shared<State>();
  s->instance = instance_with(1000 * mb);
  const nn::Handle graph = must_load(*s->instance, model, nn::Target::gpu);
  EXPECT_TRUE(s->instance->init_execution_context(graph, std::nullopt, &s->context).ok());
  EXPECT_TRUE(s->instance->use(s->context, &s->use).ok());
  const TensorType type{DType::f32, shape};
  const std::vector<std::byte> zeros(type.bytes());
  EXPECT_TRUE(s->use.set_input(0, type, zeros).ok());
  return [s] {
    const nn::Error error = s->use.compute();
    return error.ok() ? Status() : Status(Code::internal, error.text);
  };
}

// Convolutions of so many channels by as many, 3 by 3.
std::string guest_chain(int length, std::int64_t channels) {
  onnx::GraphParts g;
  const std::string zeros(static_cast<std::size_t>(channels * channels * 9 * 4), '\0');
  std::string x = "x";
  for (int i = 0; i < length; ++i) {
    const std::string w = "w" + std::to_string(i), y = "y" + std::to_string(i);
    g.initializers.push_back(onnx::raw_tensor(w, onnx::f32, {channels, channels, 3, 3}, zeros));
    g.nodes.push_back(onnx::node("Conv", {x, w}, {y}, {onnx::integers("pads", {1, 1, 1, 1})}));
    x = y;
  }
  g.inputs = {onnx::value("x", onnx::f32, {1, channels, "H", "W"})};
  g.outputs = {onnx::value(x, onnx::f32, {1, channels, "H", "W"})};
  return onnx::make_model(g);
}

// ---- what both are held to

struct TenantsOnGpu {
  const char* name;
  std::function<GpuTenant()> light, heavy;
};
void PrintTo(const TenantsOnGpu& tenants, std::ostream* to) {
  *to << tenants.name;
}

const TenantsOnGpu kinds[] = {
    {"sessions", [] { return session_tenant(light_chain()); },
     [] { return session_tenant(heavy_product()); }},
    {"guests",
     [] {
       return guest_tenant(guest_chain(8, 32), {1, 32, 56, 56});
     },
     [] {
       return guest_tenant(guest_chain(4, 128), {1, 128, 150, 150});
     }},
};

class SharingOfGpu : public ::testing::TestWithParam<TenantsOnGpu> {
 protected:
  void SetUp() override {
    if (!open_device("vulkan"))
      GTEST_SKIP() << "no Vulkan device: install mesa-vulkan-drivers for one in software";
  }
};

double median_of_runs(const GpuTenant& tenant, int runs) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    must(tenant());
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::nth_element(times, times.begin() + runs / 2);
  return times[static_cast<std::size_t>(runs) / 2];
}

TEST_P(SharingOfGpu, AShortRunBesideALongOneHasItsShare) {
  constexpr double most = 2.5;
  const GpuTenant light = GetParam().light(), heavy = GetParam().heavy();
  must(light());
  const double least = least_of(most, [&] {
    const double alone = median_of_runs(light, 20);
    std::atomic<bool> is_over = false;
    std::thread host([&] {
      while (!is_over) must(heavy());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double beside = median_of_runs(light, 20);
    is_over = true;
    host.join();
    RecordProperty("alone_ms", std::to_string(alone));
    RecordProperty("beside_ms", std::to_string(beside));
    return beside / alone;
  });
  EXPECT_LT(least, most);
  RecordProperty("ratio_percent", static_cast<int>(100 * least));
}

TEST_P(SharingOfGpu, EightTenantsCostWhatTheirWorkDoes) {
  constexpr double most = 1.15;
  constexpr int runs = 12;
  std::vector<GpuTenant> all;
  for (int i = 0; i < 8; ++i) all.push_back(GetParam().light());
  const auto some_runs = [](const GpuTenant& t) {
    for (int i = 0; i < runs; ++i) must(t());
  };
  for (const GpuTenant& t : all) must(t());
  const double least = least_of(most, [&] {
    const double one_by_one = process_ms_of([&] { std::ranges::for_each(all, some_runs); });
    const double together = process_ms_of([&] {
      std::vector<std::thread> hosts;
      for (const GpuTenant& t : all) hosts.emplace_back(some_runs, t);
      for (std::thread& t : hosts) t.join();
    });
    return together / one_by_one;
  });
  EXPECT_LT(least, most);
  RecordProperty("ratio_percent", static_cast<int>(100 * least));
}

INSTANTIATE_TEST_SUITE_P(Each, SharingOfGpu, ::testing::ValuesIn(kinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern::testing
