// SPDX-License-Identifier: Apache-2.0
// One kernel of a GPU that would run for a good part of a second, or much longer, ends soon after
// its deadline. Products, convolutions and chains are in tests/engine/vulkan/pieces_test.cpp, what
// a CPU does in deadline_test.cpp.
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/engine_test.h"
#include "tests/process_time.h"
#include "tests/sanitized.h"

namespace quern::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using G = GraphBuilder;

struct LongOnGpu {
  const char* name;
  std::function<void(G&)> build;
};
void PrintTo(const LongOnGpu& kernel, std::ostream* to) {
  *to << kernel.name;
}

using Dims = std::initializer_list<std::int64_t>;

Operand values_of(G& g, const char* name, DType dtype, Dims shape) {
  return g.input(name, dtype, std::vector<Dimension>(shape.begin(), shape.end()));
}
Operand numbers(G& g, const char* name, Dims shape) {
  return values_of(g, name, DType::f32, shape);
}
Operand pattern_of(G& g, Dims shape) {
  return g.constant(pattern(Shape(shape)));
}

// A workgroup a row, or an invocation a line, which walk over it.
const LongOnGpu rows[] = {
    {"reduce_of_one_row",
     [](G& g) { g.output("y", g.reduce("sum", numbers(g, "x", {15'000'000}), {0})); }},
    {"log_sum_exp_of_two_rows",
     [](G& g) {
       g.output("y", g.reduce("log_sum_exp", numbers(g, "x", {2, 7'000'000}), {1}));
     }},
    {"argmax", [](G& g) { g.output("y", g.argmax(numbers(g, "x", {15'000'000}))); }},
    {"softmax_of_one_row", [](G& g) { g.output("y", g.softmax(numbers(g, "x", {15'000'000}))); }},
    {"layer_norm_of_one_row",
     [](G& g) { g.output("y", g.layer_norm(numbers(g, "x", {15'000'000}))); }},
    {"group_norm_of_one_group",
     [](G& g) {
       g.output("y", g.group_norm(numbers(g, "x", {1, 16, 900'000}), pattern_of(g, {16}),
                                  pattern_of(g, {16}), 1));
     }},
    {"lp_norm", [](G& g) { g.output("y", g.lp_norm(numbers(g, "x", {15'000'000}))); }},
    {"cumulative_sum",
     [](G& g) {
       g.output("y", g.cumsum(numbers(g, "x", {50'000, 600}), 0));
     }},
    {"top_k",
     [](G& g) {
       g.output("y", g.top_k(numbers(g, "x", {2000, 4000}), {400}, 1)[0]);
     }},
    {"top_k_of_one_row",
     [](G& g) { g.output("y", g.top_k(numbers(g, "x", {200'000}), {200}, 0)[1]); }},
    {"dynamic_quantize",
     [](G& g) { g.output("y", g.dynamic_quantize(numbers(g, "x", {28'000'000}))[0]); }},
    {"lrn",
     [](G& g) {
       g.output("y", g.lrn(numbers(g, "x", {1, 2048, 40, 40}), 2047));
     }},
};

// Transforms, samples, windows and recurrent layers.
const LongOnGpu transforms[] = {
    {"dft",
     [](G& g) {
       g.output("y", g.dft(numbers(g, "x", {20, 6000, 1}), {}, 1));
     }},
    {"dft_of_a_prime",
     [](G& g) {
       g.output("y", g.dft(numbers(g, "x", {1, 50'021, 1}), {}, 1));
     }},
    {"stft",
     [](G& g) {
       g.output("y", g.stft(numbers(g, "x", {1, 40'000, 1}), g.scalar(10, DType::i64), {},
                            g.scalar(1021, DType::i64)));
     }},
    {"rnn",
     [](G& g) {
       g.output("y", g.rnn(numbers(g, "x", {4000, 1, 16}), pattern_of(g, {1, 512, 16}),
                           pattern_of(g, {1, 512, 512}), 512)[0]);
     }},
    {"lstm_of_a_batch",
     [](G& g) {
       g.output("y", g.lstm(numbers(g, "x", {100, 32, 16}), pattern_of(g, {1, 1024, 16}),
                            pattern_of(g, {1, 1024, 256}), 256)[0]);
     }},
    {"max_pool",
     [](G& g) {
       g.output("y", g.max_pool(numbers(g, "x", {1, 64, 300, 300}), {31, 31}));
     }},
    {"average_pool",
     [](G& g) {
       g.output("y", g.average_pool(numbers(g, "x", {1, 8, 400, 400}), {101, 101}));
     }},
    {"lp_pool",
     [](G& g) {
       g.output("y", g.lp_pool(numbers(g, "x", {1, 8, 300, 300}), {51, 51}));
     }},
    {"roi_align",
     [](G& g) {
       const Operand images = values_of(g, "images", DType::i64, {200});
       g.output("y", g.roi_align(numbers(g, "x", {1, 64, 64, 64}), numbers(g, "rois", {200, 4}),
                                 images, {.height = 7, .width = 7, .sampling_ratio = 40}));
     }},
    {"grid_sample",
     [](G& g) {
       g.output("y", g.grid_sample(numbers(g, "x", {1, 32, 100, 100}),
                                   numbers(g, "grid", {1, 900, 900, 2}), {.mode = "cubic"}));
     }},
    {"resize_by_cubes",
     [](G& g) {
       g.output("y", g.resize(numbers(g, "x", {1, 16, 300, 300}),
                              {.sizes = {1, 16, 1200, 1200}, .mode = "cubic"}));
     }},
    {"depthwise_convolution",
     [](G& g) {
       g.output("y", g.conv(numbers(g, "x", {1, 64, 200, 200}), pattern_of(g, {64, 1, 63, 63}), {},
                            {.group = 64}));
     }},
    {"convolution_of_bytes",
     [](G& g) {
       g.output("y",
                g.conv_integer(values_of(g, "x", DType::u8, {1, 128, 128, 128}),
                               g.constant(must(Tensor::zeros({DType::i8, {128, 128, 9, 9}})))));
     }},
    {"matmul_of_bytes",
     [](G& g) {
       g.output("y", g.matmul_integer(values_of(g, "a", DType::u8, {2000, 3000}),
                                      g.constant(must(Tensor::zeros({DType::i8, {3000, 2000}})))));
     }},
    {"product_of_one_row",
     [](G& g) {
       g.output("y", g.matmul(numbers(g, "a", {1, 50'000}), numbers(g, "b", {50'000, 600})));
     }},
    {"product_with_one_column",
     [](G& g) {
       g.output("y", g.matmul(numbers(g, "a", {600, 50'000}), numbers(g, "b", {50'000, 1})));
     }},
};

// Elements alone, but much for each.
const LongOnGpu elements[] = {
    {"small_dispatches",  // of which each takes the driver longer to begin than to compute
     [](G& g) {
       Operand x = numbers(g, "x", {8, 8});
       for (int i = 0; i < 20'000; ++i) x = g.softmax(x, i % 2);
       g.output("y", x);
     }},
    {"chain_of_powers",
     [](G& g) {
       Operand x = numbers(g, "x", {8'000'000});
       for (int i = 0; i < 20; ++i) x = g.pow(g.abs(x), g.scalar(1.01 + 0.01 * i));
       g.output("y", x);
     }},
    {"chain_of_functions",
     [](G& g) {
       Operand x = numbers(g, "x", {30'000'000});
       for (int i = 0; i < 8; ++i) x = g.tanh(g.erf(g.sin(x)));
       g.output("y", x);
     }},
    {"scatter_that_adds",
     [](G& g) {
       g.output("y", g.scatter_nd(numbers(g, "x", {500, 1000}),
                                  values_of(g, "i", DType::i64, {20'000, 1}),
                                  numbers(g, "u", {20'000, 1000}), "add"));
     }},
    {"scatter_elements_that_multiplies",
     [](G& g) {
       g.output("y", g.scatter_elements(numbers(g, "x", {10'000, 400}),
                                        values_of(g, "i", DType::i64, {10'000, 400}),
                                        numbers(g, "u", {10'000, 400}), 0, "mul"));
     }},
    {"inverse_of_many",
     [](G& g) {
       g.output("y", g.op("Inverse", {numbers(g, "x", {400'000, 8, 8})}));
     }},
    {"broadcast_and_multiply",
     [](G& g) {
       g.output("y", g.mul(numbers(g, "a", {5000, 1}), numbers(g, "b", {1, 6000})));
     }},
    {"transpose",
     [](G& g) {
       g.output("y", g.transpose(numbers(g, "x", {5000, 6000}), {1, 0}));
     }},
    {"concat_of_many",
     [](G& g) {
       Operands parts;
       for (int i = 0; i < 60; ++i)
         parts.push_back(g.neg(numbers(g, ("x" + std::to_string(i)).c_str(), {500'000})));
       g.output("y", g.concat(parts, 0));
     }},
};

constexpr auto time_of_run = 100ms;
constexpr double longest_ms = sanitized ? 3000 : 200;

std::shared_ptr<Device> strict_gpu() {
  auto opened = open_device("vulkan,strict");
  return opened ? *std::move(opened) : nullptr;
}

class DeadlineOnGpu : public ::testing::TestWithParam<LongOnGpu> {};

// A tensor of small positive numbers, as data or as indices.
Tensor small_numbers(const ValueSpec& spec) {
  Shape shape;
  for (std::int64_t d : spec.dims) shape.push_back(d);
  return spec.dtype == DType::f32 ? pattern(shape, 3) : must(Tensor::zeros({spec.dtype, shape}));
}

TEST_P(DeadlineOnGpu, EndsTheKernel) {
  const auto device = strict_gpu();
  if (!device) GTEST_SKIP() << "no Vulkan device: install mesa-vulkan-drivers for one in software";
  G g(GetParam().name);
  GetParam().build(g);
  const auto session = session_of(must(Executable::compile(must(g.build()), device)));
  std::vector<Tensor> inputs;
  for (const ValueSpec& spec : session->executable().inputs())
    inputs.push_back(small_numbers(spec));
  for (std::size_t i = 0; i < inputs.size(); ++i) must(session->set_input(i, inputs[i].view()));
  must(session->prepare());
  const double cpus = std::thread::hardware_concurrency();
  bool was_late = true;
  const double took = least_of(longest_ms, [&] {
    Status status;
    const double ms =
        process_ms_of([&] { status = session->run_until(Clock::now() + time_of_run); }) / cpus;
    if (status.ok())
      was_late = false;
    else
      EXPECT_EQ(status.code(), Code::timed_out) << status.message();
    return ms;
  });
  EXPECT_LT(took, longest_ms);
  RecordProperty("ms", std::to_string(took));
  RecordProperty("timed_out", was_late);
}

const auto name_of_long = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Rows, DeadlineOnGpu, ::testing::ValuesIn(rows), name_of_long);
INSTANTIATE_TEST_SUITE_P(Transforms, DeadlineOnGpu, ::testing::ValuesIn(transforms), name_of_long);
INSTANTIATE_TEST_SUITE_P(Elements, DeadlineOnGpu, ::testing::ValuesIn(elements), name_of_long);

}  // namespace
}  // namespace quern::testing
