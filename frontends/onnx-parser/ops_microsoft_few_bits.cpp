// SPDX-License-Identifier: Apache-2.0
// com.microsoft: weights in 2, 4 and 8 bits, as exports of language models have them. They are
// unpacked to bytes here and dequantised by the graph. Source: docs/ContribOperators.md of ONNX
// Runtime.
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantize.h"

namespace quern::onnx {
namespace {

constexpr std::int64_t most_weights = std::int64_t{1} << 40;

bool is_width(std::int64_t bits) {
  return bits == 2 || bits == 4 || bits == 8;
}

// [rows, columns] in bytes from numbers of so many bits, the first in the lowest; each row begins a
// byte. `packed` must hold as many bytes.
Tensor unpacked_bytes(const Tensor& packed, std::int64_t rows, std::int64_t columns,
                      std::int64_t bits) {
  const std::int64_t in_byte = 8 / bits;
  const std::int64_t row_bytes = ceil_div(columns, in_byte);
  const auto mask = static_cast<std::uint8_t>((1 << bits) - 1);
  auto bytes = Tensor::zeros({DType::u8, {rows, columns}});
  if (!bytes) return {};
  auto* to = reinterpret_cast<std::uint8_t*>(bytes->mutable_data());
  const auto* from = reinterpret_cast<const std::uint8_t*>(packed.data());
  for (std::int64_t r = 0; r < rows; ++r, from += row_bytes)
    for (std::int64_t c = 0; c < columns; ++c)
      *to++ = static_cast<std::uint8_t>(from[c / in_byte] >> (c % in_byte * bits)) & mask;
  return *std::move(bytes);
}

// A constant of u8 as numbers of `bits`: a value u8 [rows, columns]; fails if it is none, or of
// another size.
ValueId unpacked_constant(NodeImport& n, std::size_t i, std::int64_t rows, std::int64_t columns,
                          std::int64_t bits) {
  const Tensor* packed = n.constant(n.in(i));
  if (!packed) {
    n.unsupported(cat("input ", i, " must be a constant"));
    return no_value;
  }
  if (columns < 0 || rows < 0 || (columns > 0 && rows > most_weights / columns)) {
    n.fail(cat(rows, " rows of ", columns, " numbers are more than a table has"));
    return no_value;
  }
  const std::int64_t row_bytes = ceil_div(columns * bits, 8);
  if (packed->dtype() != DType::u8 || packed->shape().elements() != rows * row_bytes) {
    n.fail(cat("input ", i, " is ", packed->type().text(), ", wants u8 of ", rows * row_bytes,
               " elements"));
    return no_value;
  }
  if (!n.charge(static_cast<std::size_t>(rows * columns))) return no_value;
  return n.constant(unpacked_bytes(*packed, rows, columns, bits));
}

// Numbers in blocks along their last dimension.
struct Blocks {
  ValueId numbers;  // u8 [..., columns]
  ValueId scales;   // [..., blocks]
  ValueId zeros;    // u8, or of the scales' type
  std::int64_t size;
};

ValueId dequantised_blocks(NodeImport& n, const Blocks& b, std::int64_t axis) {
  if (n.dtype(b.zeros) == n.dtype(b.numbers))
    return n.add(Dequantize{.axis = axis, .block_size = b.size}, {b.numbers, b.scales, b.zeros});
  // Zero points in float: (number - zero) * scale, block by block.
  const ValueId wide = reshape(n, cast(n, b.numbers, n.dtype(b.scales)), Ints{0, -1, b.size});
  const ValueId shifted = sub(n, wide, unsqueeze(n, b.zeros, {-1}));
  const ValueId scaled = mul(n, shifted, unsqueeze(n, b.scales, {-1}));
  return reshape(n, scaled, Ints{0, -1});
}

// (x [..., K], weights u8 [N, blocks, bytes], scales [N * blocks], zeros?, group index?, bias?)
void import_matmul_nbits(NodeImport& n) {
  const std::int64_t depth = n.integer("K");
  const std::int64_t columns = n.integer("N");
  const std::int64_t bits = n.integer("bits", 4);
  const std::int64_t size = n.integer("block_size");
  n.ignore("accuracy_level");  // how it is computed, within what it may deviate
  if (!n.ok()) return;
  if (n.has(4)) return n.unsupported("a group index (input 4) is not supported");
  if (n.integer("weight_prepacked", 0) != 0)
    return n.unsupported("weights in a device's own order are not supported");
  if (!is_width(bits) || size < 16 || (size & (size - 1)) != 0 || size > (1 << 20) || depth < 1 ||
      columns < 1 || depth > most_weights / columns)
    return n.fail(cat("K = ", depth, ", N = ", columns, ", ", bits, " bits in blocks of ", size,
                      " is no form of weights"));
  const std::int64_t blocks = ceil_div(depth, size);
  Blocks b{.numbers = unpacked_constant(n, 1, columns, blocks * size, bits),
           .scales = reshape(n, n.in(2), Ints{columns, blocks}),
           .zeros = no_value,
           .size = size};
  if (!n.has(3)) {
    const ValueId shape = n.ints_constant({columns, blocks});
    b.zeros = filled(n, shape, DType::u8, static_cast<double>(1 << (bits - 1)));
  } else if (n.dtype(n.in(3)) == DType::u8) {
    b.zeros = unpacked_constant(n, 3, columns, blocks, bits);
  } else {
    b.zeros = reshape(n, n.in(3), Ints{columns, blocks});
  }
  if (!n.ok()) return;
  ValueId weights = dequantised_blocks(n, b, 1);
  if (blocks * size != depth) weights = slice(n, weights, 0, depth, 1);
  const ValueId y = n.add(MatMul{.transpose_b = true}, {n.in(0), weights});
  n.set(0, n.has(5) ? add(n, y, n.in(5)) : y);
}

// (data, indices, scales, zeros?): rows are gathered, then dequantised. Of u8, which holds several
// numbers in a byte, and of the types of four bits.
void import_gather_block_quantized(NodeImport& n) {
  const std::int64_t size = n.integer("block_size", 128);
  const std::int64_t bits = n.integer("bits", 4);
  const std::int64_t rank = n.known_rank(n.in(0));
  const std::int64_t gather_axis = n.integer("gather_axis", 0);
  const std::int64_t quantize_axis = n.integer("quantize_axis", 1);
  if (!n.ok()) return;
  if (rank != 2 || gather_axis != 0 || (quantize_axis != 1 && quantize_axis != -1))
    return n.unsupported("wants a table of two dimensions, gathered by rows, with blocks in a row");
  if (!is_width(bits) || size < 16 || (size & (size - 1)) != 0)
    return n.fail(cat(bits, " bits in blocks of ", size, " is no form of weights"));
  const DType dtype = n.dtype(n.in(0));
  const Dim rows = n.dim(n.in(0), 0), width = n.dim(n.in(0), 1), blocks = n.dim(n.in(2), 1);
  if (!rows.known() || !width.known() || !blocks.known())
    return n.unsupported("needs to know the sizes of its table");
  if (width.value() > most_weights)
    return n.fail(cat("a table of ", width.value(), " columns is none"));
  if (n.has(3) && n.dtype(n.in(3)) != dtype)
    return n.fail(cat("zero points of ", name_of(n.dtype(n.in(3))), " for a table of ",
                      name_of(dtype), "; both must have one type"));
  const bool packed = dtype == DType::u8 && bits < 8;
  ValueId table = n.in(0);
  if (packed) table = unpacked_constant(n, 0, rows.value(), width.value() * (8 / bits), bits);
  ValueId zeros = no_value;
  if (!n.has(3)) {
    const ValueId shape = n.ints_constant({rows.value(), blocks.value()});
    const double middle = dtype == DType::u8 ? static_cast<double>(1 << (bits - 1)) : 0;
    zeros = filled(n, shape, dtype, middle);
  } else {
    zeros = packed ? unpacked_constant(n, 3, rows.value(), blocks.value(), bits) : n.in(3);
  }
  if (!n.ok()) return;
  const auto rows_of = [&](ValueId x) { return gather(n, x, n.in(1), 0); };
  Blocks b{.numbers = rows_of(table), .scales = no_value, .zeros = no_value, .size = size};
  b.scales = rows_of(n.in(2));
  b.zeros = rows_of(zeros);
  n.set(0, dequantised_blocks(n, b, -1));
}

constexpr OpRow microsoft_few_bits_rows[] = {
    {"GatherBlockQuantized", 1, import_gather_block_quantized, {3, 4}},
    {"MatMulNBits", 1, import_matmul_nbits, {3, 6}},
};

}  // namespace

OpRows microsoft_few_bits_ops() {
  return microsoft_few_bits_rows;
}

}  // namespace quern::onnx
