// SPDX-License-Identifier: Apache-2.0
// Products by block-quantised weights: values worked out by hand, the loops of every instruction
// set against plain sums in double, and whole kernels against the reference.
#include "graph/ops/block_quantized.h"

#include <cmath>

#include "engine/vocabulary/multiples.h"
#include "kernels/cpu/few_bits_weights.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using u8 = std::uint8_t;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::StartsWith;

// ---- the reference

// Two rows of four numbers, 4 bits: 1, 2, 3, 4 and 15, 0, 8, 9; blocks of two.
const Tensor nibbles = tensor<u8>({2, 2, 1}, {0x21, 0x43, 0x0f, 0x98});
const Tensor nibble_scales = tensor<float>({2, 2}, {1, 0.5f, 2, -1});
const Tensor x4 = tensor<float>({1, 4}, {1, 10, 100, 1000});

TEST(BlockQuantizedMatMul, TakesTheMiddleWhereThereAreNoZeroPoints) {
  const Tensor y = run(BlockQuantizedMatMul{4, 2}, {x4, nibbles, nibble_scales});
  EXPECT_EQ(y.shape(), Shape({1, 2}));
  EXPECT_ELEMENTS(values<float>(y), -7 - 60 + (-500 - 4000) / 2.0f, 2 * (7 - 80) - 0 - 1000);
}

TEST(BlockQuantizedMatMul, ZeroPointsAreBitsOrFloats) {
  const Tensor zeros = tensor<u8>({2, 1}, {0x31, 0x80});  // 1, 3 and 0, 8
  const Tensor bias = tensor<float>({2}, {5, -5});
  const float first = 0 + 10 + (0 + 1000) / 2.0f, second = 2 * 15 - 1000;
  EXPECT_ELEMENTS(
      values<float>(run(BlockQuantizedMatMul{4, 2}, {x4, nibbles, nibble_scales, zeros})), first,
      second);
  EXPECT_ELEMENTS(
      values<float>(run(BlockQuantizedMatMul{4, 2}, {x4, nibbles, nibble_scales, zeros, bias})),
      first + 5, second - 5);
  const Tensor floats = tensor<float>({2, 2}, {0.5f, 3, 0, 8});
  EXPECT_ELEMENTS(
      values<float>(run(BlockQuantizedMatMul{4, 2}, {x4, nibbles, nibble_scales, floats})),
      first + 5.5f, second);
}

TEST(BlockQuantizedMatMul, RoundsXToBytes) {
  // Of a block with 127 the steps are 1, of the other 2.
  const Tensor x = tensor<float>({4}, {127, 2.5f, 254, 3});
  const Tensor w = tensor<u8>({1, 2, 1}, {0x99, 0x99});  // all 1
  const Tensor ones = tensor<float>({1, 2}, {1, 1});
  const Tensor y = run(BlockQuantizedMatMul{4, 2, true}, {x, w, ones});
  EXPECT_EQ(y.shape(), Shape({1}));
  EXPECT_ELEMENTS(values<float>(y), 127 + 2 + 254 + 4);
  EXPECT_ELEMENTS(values<float>(run(BlockQuantizedMatMul{4, 2}, {x, w, ones})), 386.5f);
}

TEST(BlockQuantizedMatMul, ABlockThatIsNotFiniteIsNaN) {
  const Tensor w = tensor<u8>({1, 2, 1}, {0x99, 0x99});
  const Tensor ones = tensor<float>({1, 2}, {1, 1});
  for (const float special : {inf, -inf, nan}) {
    const Tensor x = tensor<float>({4}, {special, 1, 1, 1});
    EXPECT_TRUE(std::isnan(values<float>(run(BlockQuantizedMatMul{4, 2, true}, {x, w, ones}))[0]));
  }
}

TEST(BlockQuantizedMatMul, NoDepthLeavesTheBias) {
  EXPECT_ELEMENTS(
      values<float>(run(BlockQuantizedMatMul{4, 2},
                        {tensor<float>({2, 0}, {}), tensor<u8>({1, 0, 1}, {}),
                         tensor<float>({1, 0}, {}), absent(), tensor<float>({1}, {3})})),
      3, 3);
}

TEST(BlockQuantizedMatMul, RefusesWhatDoesNotFit) {
  const auto refusal = [](BlockQuantizedMatMul op, std::vector<Tensor> inputs) {
    return error_of(op, inputs);
  };
  const Tensor x = tensor<float>({1, 4}, {1, 2, 3, 4});
  EXPECT_THAT(refusal({3, 2}, {x, nibbles, nibble_scales}), HasSubstr("bits is 3"));
  EXPECT_THAT(refusal({4, 3}, {x, nibbles, nibble_scales}), HasSubstr("block_size is 3"));
  EXPECT_THAT(refusal({4, 0}, {x, nibbles, nibble_scales}), HasSubstr("block_size is 0"));
  EXPECT_THAT(refusal({4, 1 << 17, true}, {x, nibbles, nibble_scales}), HasSubstr("at most 65536"));
  EXPECT_THAT(refusal({4, 4}, {x, nibbles, nibble_scales}), HasSubstr("wants to be [2,1,2]"));
  EXPECT_THAT(refusal({4, 2}, {tensor<float>({1, 5}, {1, 2, 3, 4, 5}), nibbles, nibble_scales}),
              HasSubstr("wants to be [2,3,1]"));
  EXPECT_THAT(refusal({4, 2}, {x, x, nibble_scales}), HasSubstr("u8"));
  EXPECT_THAT(refusal({4, 2}, {x, nibbles, tensor<float>({2, 1}, {1, 1})}),
              HasSubstr("wants to be [2,2]"));
  EXPECT_THAT(refusal({4, 2}, {x, nibbles, tensor<double>({2, 2}, {1, 1, 1, 1})}),
              HasSubstr("one element type"));
  EXPECT_THAT(refusal({4, 2}, {x, nibbles, nibble_scales, tensor<u8>({2, 2}, {1, 1, 1, 1})}),
              HasSubstr("wants to be [2,1]"));
  EXPECT_THAT(refusal({4, 2}, {x, nibbles, nibble_scales, absent(), tensor<float>({3}, {1, 1, 1})}),
              HasSubstr("wants to be [2]"));
  EXPECT_THAT(refusal({4, 2}, {tensor<float>({}, {1}), nibbles, nibble_scales}),
              HasSubstr("is not a matrix"));
}

TEST(UnpackBits, TheFirstNumberIsInTheLowestBits) {
  const Tensor x = tensor<u8>({1, 2}, {0xe4, 0x21});
  EXPECT_ELEMENTS(values<u8>(run(UnpackBits{2}, {x})), 0, 1, 2, 3, 1, 0, 2, 0);
  EXPECT_ELEMENTS(values<u8>(run(UnpackBits{4}, {x})), 4, 14, 1, 2);
  EXPECT_ELEMENTS(values<u8>(run(UnpackBits{8}, {x})), 0xe4, 0x21);
  EXPECT_THAT(error_of(UnpackBits{1}, {x}), HasSubstr("bits is 1"));
  EXPECT_THAT(error_of(UnpackBits{4}, {tensor<u8>({}, {1})}), HasSubstr("has no rows"));
}

// ---- loops

struct Weights {
  std::int64_t bits, block_size, depth, columns;
  FewBitsZeros kind = FewBitsZeros::middle;
  Tensor numbers = {}, scales = {}, zeros = {};

  std::int64_t blocks() const { return ceil_div(depth, block_size); }

  static Weights drawn(Weights w, RandomTensors& random) {
    w.numbers = random.bytes<u8>({w.columns, w.blocks(), w.block_size * w.bits / 8});
    w.scales = random.floats({w.columns, w.blocks()});
    if (w.kind == FewBitsZeros::bytes)
      w.zeros = random.bytes<u8>({w.columns, ceil_div(w.blocks(), 8 / w.bits)});
    if (w.kind == FewBitsZeros::floats)
      w.zeros = random.floats({w.columns, w.blocks()}, 0, static_cast<float>(1 << w.bits));
    return w;
  }
  double zero(std::int64_t n, std::int64_t block) const {
    if (kind == FewBitsZeros::middle) return static_cast<double>(1 << (bits - 1));
    if (kind == FewBitsZeros::floats)
      return zeros.span<float>()[static_cast<std::size_t>(n * blocks() + block)];
    const std::int64_t at = block * bits;
    const u8 byte =
        zeros.span<u8>()[static_cast<std::size_t>(n * ceil_div(blocks(), 8 / bits) + at / 8)];
    return byte >> at % 8 & ((1 << bits) - 1);
  }
  double weight(std::int64_t n, std::int64_t k) const {
    const std::int64_t bit = k * bits;
    const std::int64_t row = blocks() * block_size * bits / 8;
    const u8 byte = numbers.span<u8>()[static_cast<std::size_t>(n * row + bit / 8)];
    const std::int64_t block = k / block_size;
    return ((byte >> bit % 8 & ((1 << bits) - 1)) - zero(n, block)) *
           scales.span<float>()[static_cast<std::size_t>(n * blocks() + block)];
  }
  // What roundings of a sum of products with x, of at most 1, are relative to.
  double magnitude() const { return static_cast<double>(depth << bits); }

  FewBitsForm form() const {
    return {bits, block_size, round_up(block_size, few_bits_step), blocks(), columns, kind};
  }
  std::vector<std::byte> packed() const {
    std::vector<std::byte> to(static_cast<std::size_t>(form().bytes()));
    pack_few_bits(form(), {numbers.data(), scales.data(), zeros.valid() ? zeros.data() : nullptr},
                  to.data());
    return to;
  }
};

// A row of x with its blocks padded, and what goes with each block.
struct Row {
  std::vector<float> floats;
  std::vector<std::int8_t> bytes;
  std::vector<float> sums, scales;
  std::vector<std::int32_t> byte_sums;
};

Row row_of(const Weights& w, const float* x) {
  const FewBitsForm f = w.form();
  const auto n = static_cast<std::size_t>(f.blocks * f.size);
  Row row{std::vector<float>(n), std::vector<std::int8_t>(n), {}, {}, {}};
  for (std::int64_t b = 0; b < f.blocks; ++b) {
    float most = 0, sum = 0;
    std::int32_t byte_sum = 0;
    const std::int64_t end = std::min(w.block_size, w.depth - b * w.block_size);
    for (std::int64_t k = 0; k < end; ++k) {
      const float v = x[b * w.block_size + k];
      most = std::max(most, std::fabs(v));
      sum += row.floats[static_cast<std::size_t>(b * f.size + k)] = v;
    }
    for (std::int64_t k = 0; k < end; ++k)
      byte_sum += row.bytes[static_cast<std::size_t>(b * f.size + k)] =
          static_cast<std::int8_t>(std::nearbyint(x[b * w.block_size + k] * (127 / most)));
    row.sums.push_back(sum);
    row.scales.push_back(most / 127);
    row.byte_sums.push_back(byte_sum);
  }
  return row;
}

// The factor that element k of the row has as bytes.
double as_bytes_at(const Weights& w, const Row& row, std::int64_t k) {
  const FewBitsForm f = w.form();
  const std::int64_t b = k / w.block_size;
  return static_cast<double>(row.bytes[static_cast<std::size_t>(b * f.size + k % w.block_size)]) *
         row.scales[static_cast<std::size_t>(b)];
}

void check_set(const SimdFewBits& set, const Weights& w, int rows, RandomTensors& random) {
  const FewBitsForm f = w.form();
  const Tensor x = random.floats({rows, w.depth});
  std::vector<float> floats, sums, scales;
  std::vector<std::int8_t> bytes;
  std::vector<std::int32_t> byte_sums;
  std::vector<Row> all;
  for (int r = 0; r < rows; ++r) {
    const Row& row = all.emplace_back(row_of(w, x.span<float>().data() + r * w.depth));
    floats.insert(floats.end(), row.floats.begin(), row.floats.end());
    bytes.insert(bytes.end(), row.bytes.begin(), row.bytes.end());
    sums.insert(sums.end(), row.sums.begin(), row.sums.end());
    scales.insert(scales.end(), row.scales.begin(), row.scales.end());
    byte_sums.insert(byte_sums.end(), row.byte_sums.begin(), row.byte_sums.end());
  }
  const std::vector<std::byte> packed = w.packed();
  const FewBitsPanel panel = f.panel(packed.data(), 0);
  const std::int64_t stride = f.blocks * f.size;
  std::vector<float> y(static_cast<std::size_t>(rows) * few_bits_columns), z(y.size());
  set.multiply_floats(panel, {floats.data(), stride, sums.data(), rows, y.data()});
  set.multiply_bytes(panel,
                     {bytes.data(), stride, scales.data(), byte_sums.data(), rows, z.data()});
  for (int r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < w.columns; ++n) {
      double want = 0, want_bytes = 0;
      for (std::int64_t k = 0; k < w.depth; ++k) {
        want += static_cast<double>(x.span<float>()[static_cast<std::size_t>(r * w.depth + k)]) *
                w.weight(n, k);
        want_bytes += as_bytes_at(w, all[static_cast<std::size_t>(r)], k) * w.weight(n, k);
      }
      const auto at = static_cast<std::size_t>(r * few_bits_columns + n);
      ASSERT_NEAR(y[at], want, 2e-7 * w.magnitude()) << set.name << " row " << r << " column " << n;
      ASSERT_NEAR(z[at], want_bytes, 2e-7 * w.magnitude())
          << set.name << " in bytes, row " << r << " column " << n;
    }
}

TEST(FewBits, EveryInstructionSetMultiplies) {
  RandomTensors random(1);
  for (const SimdFewBits* set : few_bits_sets())
    for (const std::int64_t bits : {2, 4, 8})
      for (const std::int64_t size : {16, 32, 24, 256})
        for (const auto kind : {FewBitsZeros::middle, FewBitsZeros::bytes, FewBitsZeros::floats}) {
          SCOPED_TRACE(std::to_string(bits) + " bits, blocks of " + std::to_string(size) +
                       ", zeros " + std::to_string(static_cast<int>(kind)));
          const Weights w = Weights::drawn({bits, size, 2 * size + 7, 16, kind}, random);
          for (int rows = 1; rows <= few_bits_rows; ++rows) check_set(*set, w, rows, random);
        }
}

TEST(FewBits, EveryInstructionSetWidens) {
  RandomTensors random(2);
  for (const SimdFewBits* set : few_bits_sets())
    for (const std::int64_t bits : {2, 4, 8})
      for (const auto kind : {FewBitsZeros::middle, FewBitsZeros::bytes, FewBitsZeros::floats}) {
        const Weights w = Weights::drawn({bits, 64, 128, 16, kind}, random);
        const std::vector<std::byte> packed = w.packed();
        constexpr std::int64_t stride = 19;
        std::vector<float> to(32 * stride, 7);
        set->widen(w.form().panel(packed.data(), 0), 1, 16, 48, to.data(), stride);
        for (std::int64_t k = 0; k < 32; ++k)
          for (std::int64_t n = 0; n < stride; ++n) {
            const float got = to[static_cast<std::size_t>(k * stride + n)];
            if (n >= few_bits_columns) {
              ASSERT_EQ(got, 7);
            } else if (kind == FewBitsZeros::floats) {
              ASSERT_NEAR(got, w.weight(n, 64 + 16 + k), 1e-7 * (2 << bits));
            } else {
              ASSERT_EQ(got, static_cast<float>(w.weight(n, 64 + 16 + k))) << set->name;
            }
          }
      }
}

// Halves go to the even neighbour, and no bits behind the point get lost before that.
TEST(FewBits, EveryInstructionSetRounds) {
  for (const SimdFewBits* set : few_bits_sets()) {
    std::vector<float> x;
    for (int i = -127; i < 127; ++i)
      for (const float f : {0.0f, 0.25f, 0.5f, 0.75f}) x.push_back(static_cast<float>(i) + f);
    std::vector<std::int8_t> q(x.size());
    std::int32_t want = 0;
    const auto n = static_cast<std::int64_t>(x.size());
    const std::int32_t sum = set->quantize(x.data(), 1, q.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(q[i], std::nearbyint(x[i])) << set->name << " " << x[i];
      want += q[i];
    }
    EXPECT_EQ(sum, want);
    EXPECT_EQ(set->most(x.data(), n), 127);
    x[5] = -inf;
    EXPECT_EQ(set->most(x.data(), n), inf);
    x[9] = nan;
    EXPECT_TRUE(std::isnan(set->most(x.data(), n)));
  }
}

// ---- kernels

void check_kernel(const Weights& w, const Shape& rows, bool quantize_x, RandomTensors& random) {
  Shape shape = rows;
  shape.push_back(w.depth);
  std::vector<Tensor> inputs = {random.floats(shape), w.numbers, w.scales, w.zeros,
                                random.floats({w.columns})};
  const BlockQuantizedMatMul op{w.bits, w.block_size, quantize_x};
  const Tensor want = run(op, inputs);
  std::vector<std::size_t> constants = {1, 2};
  if (w.zeros.valid()) constants.push_back(3);
  std::optional<Tensor> first;
  for (const int threads : {1, 3})
    for (const bool scratch : {true, false}) {
      const SelectedRun got = run_selected(op, inputs, constants, 1, threads, {}, nullptr, scratch);
      ASSERT_THAT(got.implementation, StartsWith("few bits"));
      ASSERT_TRUE(got.status.ok());
      for (std::int64_t i = 0; i < want.shape().elements(); ++i)
        ASSERT_NEAR(values<float>(got.outputs[0])[static_cast<std::size_t>(i)],
                    values<float>(want)[static_cast<std::size_t>(i)], 2e-7 * w.magnitude())
            << got.implementation << ", element " << i;
      if (!scratch) continue;
      EXPECT_TRUE(!first || same_bytes(*first, got.outputs[0])) << "by threads";
      first = got.outputs[0];
    }
}

TEST(FewBits, KernelsAreTheReference) {
  RandomTensors random(3);
  for (const std::int64_t bits : {2, 4, 8})
    for (const auto kind : {FewBitsZeros::middle, FewBitsZeros::bytes, FewBitsZeros::floats})
      for (const bool quantize_x : {false, true})
        for (const Shape& rows : {Shape({1}), Shape({}), Shape({2, 5}), Shape({70})}) {
          SCOPED_TRACE(std::to_string(bits) + " bits, zeros " +
                       std::to_string(static_cast<int>(kind)) + ", rows " + rows.text());
          check_kernel(Weights::drawn({bits, 32, 75, 37, kind}, random), rows, quantize_x, random);
          check_kernel(Weights::drawn({bits, 16, 64, 16, kind}, random), rows, quantize_x, random);
        }
}

// One block a column, longer than a tile that is widened at a time; columns of several tiles; more
// blocks than are unpacked at a time.
TEST(FewBits, LongBlocksAndManyColumns) {
  RandomTensors random(4);
  for (const bool quantize_x : {false, true}) {
    const auto kind = FewBitsZeros::bytes;
    check_kernel(Weights::drawn({8, 1400, 1400, 20, kind}, random), {17}, quantize_x, random);
    check_kernel(Weights::drawn({4, 128, 256, 333, kind}, random), {130}, quantize_x, random);
    check_kernel(Weights::drawn({4, 2, 9, 3, kind}, random), {3}, quantize_x, random);
    check_kernel(Weights::drawn({4, 2048, 9000, 40, kind}, random), {37}, quantize_x, random);
    check_kernel(Weights::drawn({2, 32, 9000, 17, kind}, random), {37}, quantize_x, random);
  }
}

TEST(FewBits, WeightsOfARunAreTheReferences) {
  const SelectedRun got =
      run_selected(BlockQuantizedMatMul{4, 2}, {x4, nibbles, nibble_scales}, {1});
  EXPECT_EQ(got.implementation, "reference");
}

}  // namespace
}  // namespace quern::testing
