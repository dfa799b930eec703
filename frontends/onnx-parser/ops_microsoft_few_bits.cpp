// SPDX-License-Identifier: Apache-2.0
// com.microsoft: weights in 2, 4 and 8 bits, as exports of language models have them, which stay
// so, or by tables of numbers. Source: docs/ContribOperators.md of ONNX Runtime.
#include <array>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/matmul.h"

namespace quern::onnx {
namespace {

constexpr std::int64_t most_weights = std::int64_t{1} << 40;

bool is_width(std::int64_t bits) {
  return bits == 2 || bits == 4 || bits == 8;
}

bool is_block_size(std::int64_t size) {
  return size >= 16 && size <= most_in_block && (size & (size - 1)) == 0;
}

// Input i, u8 of as many elements as `shape`, with that shape; fails if it is known to be another.
// Only constants stay in their bits.
ValueId packed_numbers(NodeImport& n, std::size_t i, const Ints& shape) {
  const Tensor* constant = n.constant(n.in(i));
  std::int64_t elements = 1;
  for (const std::int64_t d : shape) elements *= d;
  if (n.dtype(n.in(i)) != DType::u8 || (constant && constant->shape().elements() != elements)) {
    const std::string given =
        constant ? constant->type().text() : std::string(name_of(n.dtype(n.in(i))));
    n.fail(cat("input ", i, " is ", given, ", wants u8 of ", elements, " elements"));
    return no_value;
  }
  return reshape(n, n.in(i), shape);
}

struct FewBits {
  std::int64_t depth, columns, bits, size;

  std::int64_t blocks() const { return ceil_div(depth, size); }
  std::int64_t zero_bytes() const { return ceil_div(blocks(), 8 / bits); }
};

// Zero points u8 [N, bytes], or [N, blocks] of another type; no_value where there are none.
ValueId zero_points(NodeImport& n, const FewBits& w) {
  if (!n.has(3)) return no_value;
  if (n.dtype(n.in(3)) == DType::u8) return packed_numbers(n, 3, {w.columns, w.zero_bytes()});
  return reshape(n, n.in(3), Ints{w.columns, w.blocks()});
}

// Each k has the scale and the zero point of block group[k]: the weights [N, K], widened.
ValueId weights_by_group(NodeImport& n, const FewBits& w, ValueId packed, ValueId zeros) {
  const ValueId scales = reshape(n, n.in(2), Ints{w.columns, w.blocks()});
  const DType dtype = n.dtype(scales);
  ValueId numbers = n.add(UnpackBits{w.bits}, {packed});
  numbers = reshape(n, numbers, Ints{w.columns, w.blocks() * w.size});
  numbers = cast(n, slice(n, numbers, 0, w.depth, 1), dtype);
  if (zeros == no_value) {
    numbers = add(n, numbers, -static_cast<double>(1 << (w.bits - 1)));
  } else {
    if (n.dtype(zeros) == DType::u8)
      zeros = slice(n, n.add(UnpackBits{w.bits}, {zeros}), 0, w.blocks(), 1);
    numbers = sub(n, numbers, gather(n, cast(n, zeros, dtype), n.in(4), 1));
  }
  return mul(n, numbers, gather(n, scales, n.in(4), 1));
}

// (x [..., K], weights u8 [N, blocks, bytes], scales [N * blocks], zeros?, group index?, bias?)
void import_matmul_nbits(NodeImport& n) {
  const FewBits w{.depth = n.integer("K"),
                  .columns = n.integer("N"),
                  .bits = n.integer("bits", 4),
                  .size = n.integer("block_size")};
  const std::int64_t accuracy_level = n.integer("accuracy_level", 0);
  if (!n.ok()) return;
  if (n.integer("weight_prepacked", 0) != 0)
    return n.unsupported("weights in a device's own order are not supported");
  if (!is_width(w.bits) || !is_block_size(w.size) || w.depth < 1 || w.columns < 1 ||
      w.depth > most_weights / w.columns)
    return n.fail(cat("K = ", w.depth, ", N = ", w.columns, ", ", w.bits, " bits in blocks of ",
                      w.size, " is no form of weights"));
  const ValueId packed = packed_numbers(n, 1, {w.columns, w.blocks(), w.size * w.bits / 8});
  const ValueId zeros = zero_points(n, w);
  const ValueId bias = n.in(5);
  if (!n.ok()) return;
  if (n.has(4)) {
    const ValueId wide = weights_by_group(n, w, packed, zeros);
    const ValueId y = n.add(MatMul{.transpose_b = true}, {n.in(0), wide});
    return n.set(0, bias == no_value ? y : add(n, y, bias));
  }
  const ValueId scales = reshape(n, n.in(2), Ints{w.columns, w.blocks()});
  // The level is the least accuracy that is wanted: of larger blocks x is not rounded.
  const bool quantize_x = accuracy_level == 4 && w.size <= most_in_block_of_bytes;
  n.set(0, n.add(BlockQuantizedMatMul{w.bits, w.size, quantize_x},
                 {n.in(0), packed, scales, zeros, bias}));
}

// The sixteen numbers of 4 bits as bitsandbytes has them: floats of three bits and a sign over 12,
// and quantiles of the normal distribution.
constexpr std::array<float, 16> fp4_numbers = {
    0,     5.208333333e-03F,  0.66666667F,  1,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -5.208333333e-03F, -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
constexpr std::array<float, 16> nf4_numbers = {-1,
                                               -0.6961928009986877F,
                                               -0.5250730514526367F,
                                               -0.39491748809814453F,
                                               -0.28444138169288635F,
                                               -0.18477343022823334F,
                                               -0.09105003625154495F,
                                               0,
                                               0.07958029955625534F,
                                               0.16093020141124725F,
                                               0.24611230194568634F,
                                               0.33791524171829224F,
                                               0.44070982933044434F,
                                               0.5626170039176941F,
                                               0.7229568362236023F,
                                               1};

// The two numbers of each byte, the first in its upper half: [256, 2].
ValueId pairs_of_bytes(NodeImport& n, const std::array<float, 16>& numbers, DType dtype) {
  std::vector<float> pairs;
  for (std::size_t byte = 0; byte < 256; ++byte)
    pairs.insert(pairs.end(), {numbers[byte / 16], numbers[byte % 16]});
  return cast(n, n.constant(Tensor::from_values<float>(DType::f32, Shape{256, 2}, pairs)), dtype);
}

// (x, weights u8 [bytes], greatest of each block): the weights [N, K] as one row in blocks.
void import_matmul_bnb4(NodeImport& n) {
  const std::int64_t depth = n.integer("K"), columns = n.integer("N");
  const std::int64_t size = n.integer("block_size");
  const std::int64_t kind = n.integer("quant_type");
  const MatMul op{.transpose_b = n.flag("transB", Flag::on)};
  n.ignore("training_mode");
  if (!n.ok()) return;
  if (kind != 0 && kind != 1) return n.fail(cat("quant_type is ", kind, ", wants 0 or 1"));
  if (!is_block_size(size) || depth < 1 || columns < 1 || depth > most_weights / columns)
    return n.fail(
        cat("K = ", depth, ", N = ", columns, " in blocks of ", size, " is no form of weights"));
  const std::int64_t count = depth * columns, blocks = ceil_div(count, size);
  const ValueId packed = packed_numbers(n, 1, {ceil_div(count, 2)});
  const ValueId greatest = reshape(n, n.in(2), Ints{blocks, 1});
  if (!n.ok()) return;
  const ValueId table = pairs_of_bytes(n, kind == 0 ? fp4_numbers : nf4_numbers, n.dtype(greatest));
  ValueId w = reshape(n, gather(n, table, cast(n, packed, DType::i32), 0), Ints{-1});
  if (count % 2 != 0) w = slice(n, w, 0, count, 0);
  if (count % size == 0) {
    w = mul(n, reshape(n, w, Ints{blocks, size}), greatest);
  } else {
    const ValueId each = expand_to(n, greatest, n.ints_constant({blocks, size}));
    w = mul(n, w, slice(n, reshape(n, each, Ints{-1}), 0, count, 0));
  }
  n.set(0, n.add(op, {n.in(0), reshape(n, w, Ints{columns, depth})}));
}

// Numbers in blocks along their last dimension as floats: (number - zero) * scale. scales and zeros
// have a number for each block; no zeros: `middle` for all.
ValueId dequantised(NodeImport& n, ValueId numbers, std::int64_t size, ValueId scales,
                    ValueId zeros, double middle) {
  const DType dtype = n.dtype(scales);
  const ValueId shape = shape_of(n, numbers);
  const ValueId each = unsqueeze(n, scales, {-1});
  ValueId blocked = cast(n, numbers, dtype);
  // [..., blocks, size]: the dimensions of the scales, and one more.
  blocked = reshape(n, blocked, join_dims(n, {shape_of(n, scales), n.ints_constant({size})}));
  if (zeros != no_value)
    blocked = sub(n, blocked, unsqueeze(n, cast(n, zeros, dtype), {-1}));
  else if (middle != 0)
    blocked = add(n, blocked, -middle);
  return reshape(n, mul(n, blocked, each), shape);
}

// (data, indices, scales, zeros?): rows are gathered, then unpacked and dequantised. Of u8, which
// holds several numbers in a byte, and of the types of four bits.
void import_gather_block_quantized(NodeImport& n) {
  const std::int64_t size = n.integer("block_size", 128);
  const std::int64_t bits = n.integer("bits", 4);
  const std::int64_t rank = n.known_rank(n.in(0));
  const std::int64_t gather_axis = n.integer("gather_axis", 0);
  const std::int64_t quantize_axis = n.integer("quantize_axis", 1);
  if (!n.ok()) return;
  if (rank != 2 || gather_axis != 0 || (quantize_axis != 1 && quantize_axis != -1))
    return n.unsupported("wants a table of two dimensions, gathered by rows, with blocks in a row");
  if (!is_width(bits) || !is_block_size(size))
    return n.fail(cat(bits, " bits in blocks of ", size, " is no form of weights"));
  const DType dtype = n.dtype(n.in(0));
  const Dim width = n.dim(n.in(0), 1), blocks = n.dim(n.in(2), 1);
  if (!width.known() || !blocks.known())
    return n.unsupported("needs to know the sizes of its table");
  const bool packed = dtype == DType::u8 && bits < 8;
  const std::int64_t in_element = packed ? 8 / bits : 1;
  if (width.value() > most_weights || width.value() * in_element != blocks.value() * size)
    return n.fail(cat("a table of ", width.value(), " columns, ", in_element,
                      " numbers in each, wants ", blocks.value(), " blocks of ", size));
  if (n.has(3) && n.dtype(n.in(3)) != dtype)
    return n.fail(cat("zero points of ", name_of(n.dtype(n.in(3))), " for a table of ",
                      name_of(dtype), "; both must have one type"));
  const auto rows_of = [&](ValueId x) {
    const ValueId rows = gather(n, x, n.in(1), 0);
    return packed && x != n.in(2) ? n.add(UnpackBits{bits}, {rows}) : rows;
  };
  const ValueId numbers = rows_of(n.in(0));
  const ValueId scales = rows_of(n.in(2));
  ValueId zeros = no_value;
  if (n.has(3)) {
    zeros = rows_of(n.in(3));
    if (packed) zeros = slice(n, zeros, 0, blocks.value(), -1);
  }
  const double middle = dtype == DType::u8 ? static_cast<double>(1 << (bits - 1)) : 0;
  n.set(0, dequantised(n, numbers, size, scales, zeros, middle));
}

constexpr OpRow microsoft_few_bits_rows[] = {
    {"GatherBlockQuantized", 1, import_gather_block_quantized, {3, 4}},
    {"MatMulBnb4", 1, import_matmul_bnb4, three},
    {"MatMulNBits", 1, import_matmul_nbits, {3, 6}},
};

}  // namespace

OpRows microsoft_few_bits_ops() {
  return microsoft_few_bits_rows;
}

}  // namespace quern::onnx
