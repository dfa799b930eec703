// SPDX-License-Identifier: Apache-2.0
// One kernel that would run for a good part of a second, or for hours, ends soon after its
// deadline, or after it is cancelled, and never succeeds later. Judged by processor time, which
// others on the machine do not take.
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tests/engine/engine_test.h"
#include "tests/process_time.h"

namespace quern::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using G = GraphBuilder;

// A model whose only kernel takes long.
struct Long {
  const char* name;
  std::function<void(G&)> build;

  std::unique_ptr<Session> session() const {
    G g(name);
    build(g);
    return session_of(compile(must(g.build(), "build")), 1);
  }
};
void PrintTo(const Long& kernel, std::ostream* to) {
  *to << kernel.name;
}

using Sizes = std::initializer_list<std::int64_t>;

Operand input_of(G& g, const char* name, DType dtype, Sizes shape) {
  return g.input(name, dtype, std::vector<Dimension>(shape.begin(), shape.end()));
}
Operand floats_of(G& g, const char* name, Sizes shape) {
  return input_of(g, name, DType::f32, shape);
}
Operand weights_of(G& g, Sizes shape) {
  return g.constant(pattern(Shape(shape)));
}

Tensor tensor_for(const ValueSpec& spec) {
  Shape shape;
  for (std::int64_t d : spec.dims) shape.push_back(d);
  if (spec.dtype == DType::f32) return pattern(shape, 3);
  Tensor t = must(Tensor::zeros({spec.dtype, shape}));
  if (spec.dtype == DType::f64)
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      reinterpret_cast<double*>(t.mutable_data())[i] = static_cast<double>(1 + i % 97) / 96;
  return t;
}

// Convolutions, products and attention.
const Long products[] = {
    {"matmul",
     [](G& g) {
       g.output("y", g.matmul(floats_of(g, "a", {3000, 3000}), floats_of(g, "b", {3000, 3000})));
     }},
    {"matmul_of_the_transposed",
     [](G& g) {
       const Operand a = g.transpose(floats_of(g, "a", {3000, 3000}), {1, 0});
       g.output("y", g.matmul(a, floats_of(g, "b", {3000, 3000})));
     }},
    {"matmul_of_batches",
     [](G& g) {
       g.output("y", g.matmul(floats_of(g, "a", {2, 12, 800, 800}),
                              floats_of(g, "b", {2, 12, 800, 800})));
     }},
    {"matmul_of_a_batch_and_a_matrix",
     [](G& g) {
       g.output("y", g.matmul(floats_of(g, "a", {12, 500, 2500}), weights_of(g, {2500, 1500})));
     }},
    {"matmul_of_integers",
     [](G& g) {
       g.output("y", g.matmul(input_of(g, "a", DType::i32, {900, 900}),
                              input_of(g, "b", DType::i32, {900, 900})));
     }},
    {"matmul_of_bytes",
     [](G& g) {
       g.output("y", g.matmul_integer(input_of(g, "a", DType::u8, {2000, 6000}),
                                      input_of(g, "b", DType::i8, {6000, 6000})));
     }},
    {"einsum",
     [](G& g) {
       g.output("y",
                g.einsum("ab,bc,cd->", {floats_of(g, "a", {90, 90}), floats_of(g, "b", {90, 90}),
                                        floats_of(g, "c", {90, 90})}));
     }},
    {"det",
     [](G& g) {
       g.output("y", g.det(floats_of(g, "x", {2000, 2000})));
     }},
    {"attention",
     [](G& g) {
       g.output("y", g.attention(floats_of(g, "q", {8, 6000, 64}), floats_of(g, "k", {8, 6000, 64}),
                                 floats_of(g, "v", {8, 6000, 64})));
     }},
    {"convolution",
     [](G& g) {
       g.output("y",
                g.conv(floats_of(g, "x", {1, 128, 256, 256}), weights_of(g, {128, 128, 5, 5})));
     }},
    {"convolution_of_a_long_line",
     [](G& g) {
       g.output("y", g.conv(floats_of(g, "x", {1, 1, 1'000'000}), weights_of(g, {1, 1, 8191})));
     }},
    {"convolution_of_each_channel",
     [](G& g) {
       g.output("y", g.conv(floats_of(g, "x", {1, 256, 256, 256}),
                            floats_of(g, "w", {256, 1, 11, 11}), {}, {.group = 256}));
     }},
    {"convolution_of_a_batch",
     [](G& g) {
       g.output("y", g.conv(floats_of(g, "x", {64, 64, 56, 56}), weights_of(g, {64, 64, 5, 5})));
     }},
    {"convolution_of_doubles",
     [](G& g) {
       g.output("y", g.conv(input_of(g, "x", DType::f64, {1, 16, 80, 80}),
                            input_of(g, "w", DType::f64, {16, 16, 7, 7})));
     }},
    {"convolution_of_bytes",
     [](G& g) {
       g.output("y", g.conv_integer(input_of(g, "x", DType::u8, {1, 256, 128, 128}),
                                    input_of(g, "w", DType::i8, {256, 256, 9, 9})));
     }},
    {"transposed_convolution",
     [](G& g) {
       g.output("y", g.conv_transpose(floats_of(g, "x", {1, 256, 144, 144}),
                                      weights_of(g, {256, 256, 5, 5})));
     }},
    {"deformed_convolution",
     [](G& g) {
       g.output("y",
                g.deform_conv(floats_of(g, "x", {1, 16, 68, 68}), weights_of(g, {16, 16, 5, 5}),
                              floats_of(g, "o", {1, 50, 64, 64})));
     }},
    {"lstm_of_one_large_step",
     [](G& g) {
       g.output("y", g.lstm(floats_of(g, "x", {1, 3000, 16}), weights_of(g, {1, 4096, 16}),
                            weights_of(g, {1, 4096, 1024}), 1024)[0]);
     }},
    {"rnn",
     [](G& g) {
       g.output("y", g.rnn(floats_of(g, "x", {2000, 1, 512}), weights_of(g, {1, 512, 512}),
                           weights_of(g, {1, 512, 512}), 512)[0]);
     }},
};

// Windows, samples, sorting and what is drawn.
const Long others[] = {
    {"top_k", [](G& g) { g.output("y", g.top_k(floats_of(g, "x", {1 << 21}), {1 << 20}, 0)[0]); }},
    {"unique", [](G& g) { g.output("y", g.unique(floats_of(g, "x", {1 << 22}))[0]); }},
    {"non_max_suppression",
     [](G& g) {
       const Operand y = g.non_max_suppression(
           floats_of(g, "boxes", {1, 20'000, 4}), floats_of(g, "scores", {1, 1, 20'000}),
           {.max_output_boxes = g.scalar(1 << 30, DType::i64), .iou_threshold = g.scalar(1)});
       g.output("y", y);
     }},
    {"dft_of_a_prime",
     [](G& g) {
       g.output("y", g.dft(floats_of(g, "x", {1, 15'991, 1}), {}, 1));
     }},
    {"dft",
     [](G& g) {
       g.output("y", g.dft(floats_of(g, "x", {1, 1 << 20, 1}), {}, 1));
     }},
    {"stft",
     [](G& g) {
       g.output("y", g.stft(floats_of(g, "x", {1, 4000, 1}), g.scalar(10, DType::i64), {},
                            g.scalar(1021, DType::i64)));
     }},
    {"max_pool_of_a_long_line",
     [](G& g) {
       g.output("y", g.max_pool(floats_of(g, "x", {1, 1, 4'000'000}), {9001}));
     }},
    {"max_pool_with_indices",
     [](G& g) {
       g.output("y", g.max_pool_indices(floats_of(g, "x", {1, 4, 200, 200}), {101, 101})[1]);
     }},
    {"average_pool",
     [](G& g) {
       g.output("y", g.average_pool(floats_of(g, "x", {1, 1, 4000, 4000}), {1501, 1501}));
     }},
    {"lp_pool",
     [](G& g) {
       g.output("y", g.lp_pool(floats_of(g, "x", {1, 4, 200, 200}), {101, 101}));
     }},
    {"roi_align",
     [](G& g) {
       const Operand images = input_of(g, "images", DType::i64, {100});
       g.output("y", g.roi_align(floats_of(g, "x", {1, 4, 64, 64}), floats_of(g, "rois", {100, 4}),
                                 images, {.height = 7, .width = 7, .sampling_ratio = 100}));
     }},
    {"lrn",
     [](G& g) {
       g.output("y", g.lrn(floats_of(g, "x", {1, 2048, 16, 16}), 2047));
     }},
    {"resize_in_three_dimensions",
     [](G& g) {
       g.output("y", g.resize(floats_of(g, "x", {1, 1, 60, 60, 60}),
                              {.sizes = {1, 1, 140, 140, 140}, .mode = "cubic"}));
     }},
    {"grid_sample",
     [](G& g) {
       g.output("y", g.grid_sample(floats_of(g, "x", {1, 40, 100, 100}),
                                   floats_of(g, "grid", {1, 700, 700, 2}), {.mode = "cubic"}));
     }},
    {"multinomial",
     [](G& g) {
       g.output("y", g.multinomial(floats_of(g, "x", {1, 4000}), 80'000));
     }},
    {"random_normal", [](G& g) { g.output("y", g.random_normal({1 << 24})); }},
    {"tf_idf",
     [](G& g) {
       g.output("y", g.op("TfIdfVectorizer", {input_of(g, "x", DType::i64, {20'000})},
                          "min_gram_length=2 max_gram_length=2 max_skip_count=9000 "
                          "ngram_counts=[0,0] ngram_indexes=[0] pool_int64s=[5,6]"));
     }},
    {"numbers_to_text",
     [](G& g) { g.output("y", g.cast(floats_of(g, "x", {3'000'000}), DType::string)); }},
    {"softmax_of_one_row",
     [](G& g) {
       g.output("y", g.softmax(input_of(g, "x", DType::f64, {1, 15'000'000})));
     }},
    {"power",
     [](G& g) {
       g.output("y", g.pow(input_of(g, "x", DType::f64, {10'000'000}), g.scalar(1.37, DType::f64)));
     }},
};

constexpr auto deadline = 30ms;
constexpr double most_ms = sanitized ? 3000 : 150;

class Deadline : public ::testing::TestWithParam<Long> {
 protected:
  // Makes a session that has run nothing.
  void renew() {
    session = GetParam().session();
    for (const ValueSpec& spec : session->executable().inputs()) inputs.push_back(tensor_for(spec));
    for (std::size_t i = 0; i < inputs.size(); ++i) must(session->set_input(i, inputs[i].view()));
    must(session->prepare());
  }

  std::unique_ptr<Session> session;
  std::vector<Tensor> inputs;
};

TEST_P(Deadline, EndsTheKernel) {
  const double took = least_of(most_ms, [&] {
    renew();
    Status status;
    const double ms = process_ms_of([&] { status = session->run_until(Clock::now() + deadline); });
    EXPECT_EQ(status.code(), Code::timed_out) << status.message();
    return ms;
  });
  EXPECT_LT(took, most_ms);
  RecordProperty("ms", std::to_string(took));
}

class Cancel : public Deadline {};

TEST_P(Cancel, EndsTheKernel) {
  const auto cancelled_run = [&] {
    renew();
    std::thread canceller([&] {
      std::this_thread::sleep_for(deadline);
      session->cancel();
    });
    Status status;
    const double ms = process_ms_of([&] { status = session->run(); });
    canceller.join();
    EXPECT_EQ(status.code(), Code::busy) << status.message();
    return ms;
  };
  EXPECT_LT(least_of(most_ms, cancelled_run), most_ms);
}

const auto name_of = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Products, Deadline, ::testing::ValuesIn(products), name_of);
INSTANTIATE_TEST_SUITE_P(Others, Deadline, ::testing::ValuesIn(others), name_of);
INSTANTIATE_TEST_SUITE_P(Some, Cancel, ::testing::Values(products[0], products[4], others[0]),
                         name_of);

// A tensor without elements may have 2^40 rows: what walks over them, and not over elements, would
// not end.
TEST(EmptyTensors, OfManyRowsTakeNoTime) {
  G g("nothing");
  const Operand x = floats_of(g, "x", {std::int64_t{1} << 40, 0});
  const Operand matrices = floats_of(g, "matrices", {std::int64_t{1} << 40, 3, 0});
  const Operand bits = input_of(g, "bits", DType::boolean, {3});
  const Operand indices = input_of(g, "indices", DType::i64, {2});
  g.output("joined", g.concat({x, g.neg(x)}, 1));
  g.output("part", g.split(x, {0, 0}, 1)[0]);
  g.output("sorted", g.top_k(matrices, {2}, 1)[0]);
  g.output("triangle", g.op("Trilu", {matrices}));
  g.output("gathered", g.gather(matrices, indices, 1));
  g.output("compressed", g.compress(matrices, bits, 1));
  g.output("different", g.unique(matrices, {.axis = 1})[0]);
  const auto session = session_of(compile(must(g.build(), "build")), 1);
  std::vector<Tensor> inputs;
  for (const ValueSpec& spec : session->executable().inputs()) inputs.push_back(tensor_for(spec));
  for (std::size_t i = 0; i < inputs.size(); ++i) must(session->set_input(i, inputs[i].view()));
  const Status status = session->run_until(Clock::now() + 5s);
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace quern::testing
