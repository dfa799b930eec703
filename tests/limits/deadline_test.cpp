// SPDX-License-Identifier: Apache-2.0
// One kernel that would run for seconds ends soon after its deadline, or after it is cancelled, and
// never succeeds later. The limit has slack for machines that others use.
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tests/engine/engine_test.h"

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

Operand floats_of(G& g, const char* name, std::initializer_list<std::int64_t> shape) {
  return g.input(name, DType::f32, std::vector<Dimension>(shape.begin(), shape.end()));
}

const Long kernels[] = {
    {"top_k",
     [](G& g) {
       const auto found = g.top_k(floats_of(g, "x", {1 << 24}), {1 << 23}, 0);
       g.output("y", found[0]);
     }},
    {"matmul",
     [](G& g) {
       g.output("y", g.matmul(floats_of(g, "a", {6000, 6000}), floats_of(g, "b", {6000, 6000})));
     }},
    {"matmul_of_integers",
     [](G& g) {
       const auto as_integers = [&](const char* name) {
         return g.cast(floats_of(g, name, {3000, 3000}), DType::i32);
       };
       g.output("y", g.matmul(as_integers("a"), as_integers("b")));
     }},
    {"einsum",
     [](G& g) {
       g.output("y", g.einsum("ab,bc,cd->",
                              {floats_of(g, "a", {300, 300}), floats_of(g, "b", {300, 300}),
                               floats_of(g, "c", {300, 300})}));
     }},
    {"det",
     [](G& g) {
       g.output("y", g.det(floats_of(g, "x", {3000, 3000})));
     }},
    {"non_max_suppression",
     [](G& g) {
       const Operand y = g.non_max_suppression(
           floats_of(g, "boxes", {1, 200'000, 4}), floats_of(g, "scores", {1, 1, 200'000}),
           {.max_output_boxes = g.scalar(1 << 30, DType::i64), .iou_threshold = g.scalar(1)});
       g.output("y", y);
     }},
    {"dft_of_a_prime",
     [](G& g) {
       g.output("y", g.dft(floats_of(g, "x", {1, 99'991, 1}), {}, 1));
     }},
    {"convolution_of_doubles",
     [](G& g) {
       const Operand x = g.cast(floats_of(g, "x", {1, 64, 64, 64}), DType::f64);
       const Operand w = g.cast(floats_of(g, "w", {64, 64, 7, 7}), DType::f64);
       g.output("y", g.conv(x, w));
     }},
    {"attention",
     [](G& g) {
       g.output("y", g.attention(floats_of(g, "q", {8, 6000, 64}), floats_of(g, "k", {8, 6000, 64}),
                                 floats_of(g, "v", {8, 6000, 64})));
     }},
};

constexpr auto deadline = 100ms;
constexpr auto slack = sanitized ? 3000ms : 400ms;

class Deadline : public ::testing::TestWithParam<Long> {
 protected:
  void SetUp() override {
    session = GetParam().session();
    inputs = inputs_of(session->executable());
    for (std::size_t i = 0; i < inputs.size(); ++i) must(session->set_input(i, inputs[i].view()));
    must(session->prepare());
  }

  std::unique_ptr<Session> session;
  std::vector<Tensor> inputs;
};

TEST_P(Deadline, EndsTheKernel) {
  const auto begin = Clock::now();
  const Status status = session->run_until(begin + deadline);
  const auto took = Clock::now() - begin;
  EXPECT_EQ(status.code(), Code::timed_out) << status.message();
  EXPECT_LT(took, deadline + slack);
  RecordProperty("ms", std::to_string(std::chrono::duration<double, std::milli>(took).count()));
}

TEST_P(Deadline, SoDoesACancel) {
  std::thread canceller([&] {
    std::this_thread::sleep_for(deadline);
    session->cancel();
  });
  const auto begin = Clock::now();
  const Status status = session->run();
  const auto took = Clock::now() - begin;
  canceller.join();
  EXPECT_EQ(status.code(), Code::busy) << status.message();
  EXPECT_LT(took, deadline + slack);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Deadline, ::testing::ValuesIn(kernels),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern::testing
