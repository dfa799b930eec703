// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "graph/ops/attention.h"
#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

auto about(float x) {
  return FloatNear(x, 1e-5f);
}

// ---- CacheAppend

const Tensor past = tensor<float>({2, 1, 3, 1}, {1, 2, 3, 4, 5, 6});
const Tensor fresh = tensor<float>({2, 1, 2, 1}, {7, 8, 9, 10});

Tensor whole(std::initializer_list<std::int64_t> n) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(n.size())}, n);
}

TEST(CacheAppend, RowsBehindThoseThatCount) {
  const Tensor y = run(CacheAppend{}, {past, fresh, whole({1, 0}), whole({3})});
  EXPECT_EQ(y.shape(), Shape({2, 1, 3, 1}));
  EXPECT_ELEMENTS(values<float>(y), 1, 7, 8, 9, 10, 0);
  const Tensor longer = run(CacheAppend{}, {past, fresh, whole({3, 2}), whole({5})});
  EXPECT_ELEMENTS(values<float>(longer), 1, 2, 3, 7, 8, 4, 5, 9, 10, 0);
}

TEST(CacheAppend, NothingBeforeAndNothingNew) {
  const Tensor none = tensor<float>({2, 1, 0, 1}, {});
  EXPECT_ELEMENTS(values<float>(run(CacheAppend{}, {none, fresh, whole({0, 0}), whole({2})})), 7, 8,
                  9, 10);
  EXPECT_ELEMENTS(values<float>(run(CacheAppend{}, {past, none, whole({1, 2}), whole({3})})), 1, 0,
                  0, 4, 5, 0);
}

TEST(CacheAppend, RowsWithoutRoomAreErrors) {
  const auto error = [](std::initializer_list<std::int64_t> before, std::int64_t length) {
    return error_of(CacheAppend{}, {past, fresh, whole(before), whole({length})});
  };
  EXPECT_CONTAINS(error({2, 0}, 3),
                  "a cache with room for 3 rows cannot take 2 behind the first 2");
  EXPECT_CONTAINS(error({0, 4}, 9), "a cache of 3 rows cannot have 4 in front of the new ones");
  EXPECT_CONTAINS(error({-1, 0}, 3), "a cache of 3 rows cannot have -1");
  EXPECT_CONTAINS(error({0, 0}, -2), "a cache of -2 rows");
}

TEST(CacheAppend, RefusesWhatDoesNotFit) {
  const auto error = [](const Tensor& p, const Tensor& r, const Tensor& before) {
    return error_of(CacheAppend{}, {p, r, before, whole({3})});
  };
  EXPECT_CONTAINS(error(past, fresh.reshaped({2, 2, 1, 1}), whole({0, 0})), "number of heads is 1");
  EXPECT_CONTAINS(error(past, fresh.reshaped({2, 1, 1, 2}), whole({0, 0})), "width is 1");
  EXPECT_CONTAINS(error(past, fresh.reshaped({1, 1, 4, 1}), whole({0, 0})),
                  "number of sequences is 2");
  EXPECT_CONTAINS(error(past, fresh, whole({0})), "number of sequences is 1");
  EXPECT_CONTAINS(error(past.reshaped({6}), fresh, whole({0, 0})), "rank");
  EXPECT_NE(error(past, fresh, tensor<float>({2}, {0, 0})), "");
}

// ---- CachedAttention

// Scores ln 3 and 0 become weights 3/4 and 1/4.
const float log3 = std::log(3.0f);
const Tensor query = tensor<float>({1, 1, 1, 1}, {1});
const Tensor keys = tensor<float>({1, 1, 3, 1}, {log3, 0, 99});
const Tensor vals = tensor<float>({1, 1, 3, 2}, {4, 8, 0, 4, nan, nan});

TEST(CachedAttention, SeesTheKeysUpToItsOwn) {
  const auto behind = [](std::int64_t before) {
    return values<float>(run(CachedAttention{}, {query, keys, vals, whole({before})}));
  };
  EXPECT_ELEMENTS(behind(0), 4, 8);
  EXPECT_THAT(behind(1), ElementsAre(about(3), about(7)));
  const Tensor two = tensor<float>({1, 1, 2, 1}, {1, 1});
  EXPECT_THAT(values<float>(run(CachedAttention{}, {two, keys, vals, whole({0})})),
              ElementsAre(about(4), about(8), about(3), about(7)));
}

TEST(CachedAttention, AWindowHidesTheFirst) {
  const Tensor y = run(CachedAttention{.window = 1}, {query, keys, vals, whole({1})});
  EXPECT_ELEMENTS(values<float>(y), 0, 4);
}

TEST(CachedAttention, ScaleCapBiasAndSink) {
  const auto with = [](CachedAttention op, std::vector<Tensor> more) {
    std::vector<Tensor> in = {query, keys, vals, whole({1})};
    in.insert(in.end(), more.begin(), more.end());
    return values<float>(run(op, in));
  };
  EXPECT_ELEMENTS(with({.scale = 0}, {}), 2, 6);
  const Tensor bias = tensor<float>({3}, {-log3, 0, 0});
  EXPECT_THAT(with({}, {bias}), ElementsAre(about(2), about(6)));
  const Tensor hidden = tensor<float>({1, 1, 1, 3}, {-inf, -inf, 0});
  EXPECT_ELEMENTS(with({}, {hidden}), 0, 0);
  // A sink of ln 4 takes half: 3, 1 and 4.
  const Tensor none = tensor<float>({1}, {0});
  const Tensor sink = tensor<float>({1}, {std::log(4.0f)});
  EXPECT_THAT(with({}, {none, sink}), ElementsAre(about(1.5f), about(3.5f)));
  const float capped = std::exp(2 * std::tanh(log3 / 2));
  EXPECT_THAT(with({.softcap = 2}, {}), ElementsAre(about(4 * capped / (capped + 1)),
                                                    about((8 * capped + 4) / (capped + 1))));
}

TEST(CachedAttention, HeadsShareKeyHeadsAndSequencesHaveLengths) {
  const Tensor q4 = tensor<float>({2, 4, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor k2 = tensor<float>({2, 2, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor v2 = tensor<float>({2, 2, 2, 1}, {10, 20, 30, 40, 50, 60, 70, 80});
  EXPECT_ELEMENTS(values<float>(run(CachedAttention{}, {q4, k2, v2, whole({0, 1})})), 10, 10, 30,
                  30, 55, 55, 75, 75);
}

TEST(CachedAttention, KeysOfSixteenBits) {
  const Half one(1.0f), two(2.0f);
  const Tensor k16 = tensor<Half>({1, 1, 1, 1}, {one}), v16 = tensor<Half>({1, 1, 1, 1}, {two});
  EXPECT_ELEMENTS(values<float>(run(CachedAttention{}, {query, k16, v16, whole({0})})), 2);
  const Tensor q16 = tensor<Half>({1, 1, 1, 1}, {one});
  EXPECT_THAT(values<Half>(run(CachedAttention{}, {q16, k16, v16, whole({0})})), ElementsAre(2.0f));
  EXPECT_NE(error_of(CachedAttention{}, {q16, keys, vals, whole({0})}), "");
}

TEST(CachedAttention, RefusesWhatDoesNotFit) {
  const auto error = [](std::vector<Tensor> in, CachedAttention op = {}) {
    return error_of(op, in);
  };
  EXPECT_CONTAINS(error({query, keys, vals, whole({3})}),
                  "1 rows behind 3 keys attend to a cache of 3");
  EXPECT_CONTAINS(error({query, keys, vals, whole({-1})}), "1 rows behind -1 keys");
  EXPECT_CONTAINS(error({query, keys, vals, whole({0, 0})}), "number of sequences is 2");
  EXPECT_CONTAINS(error({query, vals, vals, whole({0})}), "width is 1");
  EXPECT_CONTAINS(error({query, keys, keys.reshaped({1, 3, 1, 1}), whole({0})}),
                  "number of keys is 3");
  const Tensor q3 = tensor<float>({1, 3, 1, 1}, {1, 2, 3});
  const Tensor k2 = tensor<float>({1, 2, 1, 1}, {1, 2});
  EXPECT_CONTAINS(error({q3, k2, k2, whole({0})}), "3 heads are no multiple of 2 key heads");
  EXPECT_CONTAINS(error({query, keys, vals, whole({0}), tensor<float>({2}, {0, 0})}),
                  "does not broadcast");
  EXPECT_CONTAINS(error({query, keys, vals, whole({0}), tensor<float>({3}, {0, 0, 0}),
                         tensor<float>({2}, {0, 0})}),
                  "number of heads is 2");
  EXPECT_CONTAINS(error({query, keys, vals, whole({0})}, {.window = -1}), "a window of -1 keys");
  EXPECT_CONTAINS(error({query, keys, vals, whole({0})}, {.softcap = -1}), "softcap = -1");
  EXPECT_CONTAINS(error({query.reshaped({1}), keys, vals, whole({0})}), "rank");
}

TEST(CachedAttention, CountsOperations) {
  const std::vector<TensorType> in = {{DType::f32, {2, 4, 3, 5}},
                                      {DType::f32, {2, 2, 7, 5}},
                                      {DType::f32, {2, 2, 7, 6}},
                                      {DType::i64, {2}}};
  const std::vector<TensorType> out = {{DType::f32, {2, 4, 3, 6}}};
  EXPECT_EQ(cost_of(CachedAttention{}, in, out).flops, 2.0 * 2 * 4 * 3 * 7 * (5 + 6));
}

}  // namespace
}  // namespace quern::testing
