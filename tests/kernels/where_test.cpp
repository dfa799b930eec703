// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/where.h"

#include "kernels/cpu/where_rows.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Where, BroadcastsAllThree) {
  const Tensor y = run(Where{}, {tensor<bool>({2, 1}, {true, false}),
                                 tensor<float>({1, 3}, {1, 2, 3}), tensor<float>({}, {9})});
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  EXPECT_ELEMENTS(values<float>(y), 1, 2, 3, 9, 9, 9);
}

template <class T>
void expect_choice() {
  const Tensor y = run(
      Where{}, {tensor<bool>({3}, {true, false, true}), tensor<T>({3}, {T(1.0f), T(2.0f), T(3.0f)}),
                tensor<T>({3}, {T(5.0f), T(6.0f), T(7.0f)})});
  EXPECT_THAT(values<T>(y), ElementsAre(T(1.0f), T(6.0f), T(3.0f)));
}

TEST(Where, TakesEveryWidth) {
  expect_choice<std::int8_t>();
  expect_choice<std::uint16_t>();
  expect_choice<std::int32_t>();
  expect_choice<double>();
  expect_choice<BFloat16>();
  const Tensor s = run(
      Where{}, {tensor<bool>({2}, {true, false}), tensor<StringRef>({2}, {{"ab", 2}, {"cd", 2}}),
                tensor<StringRef>({2}, {{"x", 1}, {"y", 1}})});
  EXPECT_EQ(s.span<StringRef>()[0].view(), "ab");
  EXPECT_EQ(s.span<StringRef>()[1].view(), "y");
}

TEST(Where, EmptyStaysEmpty) {
  const Tensor y = run(
      Where{}, {tensor<bool>({2, 0}, {}), tensor<float>({1}, {1}), tensor<float>({2, 1}, {1, 2})});
  EXPECT_EQ(y.shape(), Shape({2, 0}));
  EXPECT_THAT(values<float>(y), IsEmpty());
}

TEST(Where, RefusesWhatDoesNotFit) {
  const Tensor f = tensor<float>({1}, {1});
  EXPECT_CONTAINS(error_of(Where{}, {f, f, f}), "input 0 (f32[1]) must be bool");
  EXPECT_CONTAINS(error_of(Where{}, {tensor<bool>({1}, {true}), f, tensor<double>({1}, {1})}),
                  "must have one element type");
  EXPECT_CONTAINS(
      error_of(Where{}, {tensor<bool>({2}, {true, true}), tensor<float>({3}, {1, 2, 3}), f}),
      "does not broadcast");
}

// Broadcasts along any dimensions, elements of every size, lines of more than a piece.
TEST(WhereRows, AreTheReference) {
  struct Case {
    Shape condition, a, b;
  };
  const Case cases[] = {{{1, 1, 40, 50}, {2, 3, 40, 50}, {}},
                        {{5, 1}, {5, 7}, {1, 7}},
                        {{40000}, {40000}, {1}},
                        {{}, {3, 4}, {4}},
                        {{2, 1, 3, 1}, {1, 4, 1, 5}, {2, 4, 3, 5}},
                        {{1, 9}, {6, 1}, {6, 9}},
                        {{}, {}, {}}};
  RandomTensors random(11);
  const auto check = [&]<class T>(const Case& c, T) {
    const std::vector<Tensor> inputs = {random.integers<bool>(c.condition, 0, 1),
                                        random.integers<T>(c.a, 0, 99),
                                        random.integers<T>(c.b, 0, 99)};
    for (const int threads : {1, 2}) {
      const SelectedRun got =
          run_selected(Where{}, inputs, {}, 1, threads, std::nullopt, select_where_rows);
      EXPECT_TRUE(same_bytes(got.outputs[0], run(Where{}, inputs)))
          << c.condition.text() << " of " << c.a.text() << " and " << c.b.text();
    }
  };
  for (const Case& c : cases) {
    check(c, std::uint8_t{});
    check(c, std::int16_t{});
    check(c, float{});
    check(c, std::int64_t{});
  }
}

}  // namespace
}  // namespace quern::testing
