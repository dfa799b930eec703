// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/families.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/block_quantized.h"
#include "tools/kernel/words.h"

namespace quern::tools::lab {
namespace {

using Kind = OperandSpec::Kind;

constexpr std::string_view conv_sizes = "n c z h w o k kz kh kw s sz sh sw p pz ph pw d dz dh dw g";
constexpr std::string_view matmul_sizes = "b m n k q";

struct Types {
  DType left = DType::f32;
  DType right = DType::f32;
  int bits = 0;            // of each weight, where weights are quantised in blocks; 0: they are not
  bool has_zeros = false;  // such weights have zero points
  bool quantize_x = false;  // and the left side is rounded to bytes
  bool with_bias = false;
  bool is_dynamic = false;  // the right side is an input, too
};

// "int4" as "i4", "uint8" as "u8".
std::string short_name(std::string_view text) {
  for (const std::string_view integer : {"uint", "int"})
    if (text.starts_with(integer)) return cat(integer[0], text.substr(integer.size()));
  return std::string(text);
}

// Types of weights of few bits, which tensors need not have. Without sign they have zero points.
struct FewBitsType {
  std::string_view name;
  int bits;
};
constexpr FewBitsType few_bits_types[] = {{"i2", 2}, {"i4", 4}, {"i8", 8},
                                          {"u2", 2}, {"u4", 4}, {"u8", 8}};

bool is_byte(DType t) {
  return t == DType::u8 || t == DType::i8;
}

// What stands beside weights of few bits.
bool is_left_of_few_bits(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

// "f32", "u8*i8", "bf16*int4".
Status take_types(std::string_view word, Types& types) {
  const std::size_t star = word.find('*');
  const auto left = dtype_from_name(short_name(word.substr(0, star)));
  const std::string right_name = short_name(star == word.npos ? word : word.substr(star + 1));
  const auto right = dtype_from_name(right_name);
  const auto* few_bits = std::ranges::find(few_bits_types, right_name, &FewBitsType::name);
  const bool has_few_bits = few_bits != std::end(few_bits_types);
  if (!left || (!right && !has_few_bits))
    return bad_word(word,
                    "wanted a type such as f32, u8*i8 or bf16*i4, bias, dynamic, or +POST-OP");
  types.left = *left;
  types.right = right.value_or(DType::u8);
  const bool both_float = is_float(*left) && left == right;
  if (both_float || (is_byte(*left) && right && is_byte(*right))) return {};
  if (!has_few_bits || !is_left_of_few_bits(*left))
    return bad_word(word,
                    "wanted one type of floats, u8 or i8 by u8 or i8, or behind matmul: f32, f16 "
                    "or bf16 by weights of i2, i4 or i8, or of u2, u4 or u8 with zero points; op: "
                    "has all others");
  types.right = DType::u8;
  types.bits = few_bits->bits;
  types.has_zeros = right_name[0] == 'u';
  return {};
}

Status check_types(const Types& types) {
  if (!is_float(types.left) && types.with_bias)
    return {Code::invalid_argument, "a product of integers has no bias"};
  if (types.bits && types.is_dynamic)
    return bad_word("dynamic", "weights of few bits are constants");
  if (!types.bits && types.quantize_x)
    return bad_word("quantize_x", "wanted only with weights of few bits, as in f32*i4");
  return {};
}

// "f32", "u8*i8", "bias", "dynamic", "quantize_x".
Result<Types> parse_types(std::span<const std::string> words) {
  Types types;
  bool has_type = false;
  for (const std::string& word : words) {
    if (word == "bias") {
      types.with_bias = true;
    } else if (word == "dynamic") {
      types.is_dynamic = true;
    } else if (word == "quantize_x") {
      types.quantize_x = true;
    } else {
      QUERN_TRY(take_types(word, types));
      if (has_type) return bad_word(word, "a second type");
      has_type = true;
    }
  }
  QUERN_TRY(check_types(types));
  return types;
}

std::int64_t size_or(const Sizes& sizes, const std::string& name, std::int64_t otherwise) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? otherwise : found->second;
}

Status want(const Sizes& sizes, std::initializer_list<const char*> names, std::string_view head) {
  for (const char* name : names)
    if (!sizes.contains(name)) return {Code::invalid_argument, cat(head, " wants a size ", name)};
  return {};
}

// "z", "h" and "w", as many as the picture has dimensions.
std::vector<std::string> axes_of(const Sizes& sizes) {
  if (sizes.contains("z")) return {"z", "h", "w"};
  if (sizes.contains("h")) return {"h", "w"};
  return {"w"};
}

std::string list_text(std::string_view name, const std::vector<std::int64_t>& numbers) {
  std::string s = cat(" ", name, "=[");
  for (std::size_t i = 0; i < numbers.size(); ++i) s += cat(i ? "," : "", numbers[i]);
  return s + "]";
}

OperandSpec operand(Kind kind, DType dtype, const Shape& shape) {
  return {.kind = kind, .type = {dtype, shape}};
}

// A product by weights of few bits, as MatMulNBits has it: its operands and its attributes.
Status take_few_bits(const Types& types, const Sizes& sizes, Problem& p) {
  const std::int64_t n = sizes.at("n"), size = size_or(sizes, "q", 32);
  if (sizes.contains("b"))
    return bad_word("b", "weights of few bits are the same for all rows; m has them all");
  if (size < 1 || size * types.bits % 8 != 0 || size > most_in_block)
    return bad_word(cat("q", size), cat("a block wants whole bytes of numbers of ", types.bits,
                                        " bits, and ", most_in_block, " numbers at most"));
  const std::int64_t blocks = ceil_div(sizes.at("k"), size);
  OperandSpec scales = operand(Kind::constant, types.left, {n, blocks});
  // Weights between -1 and 1.
  const double step = std::exp2(1 - types.bits);
  scales.range = Range{step / 2, step};
  OperandSpec zeros{.kind = Kind::absent};
  if (types.has_zeros)
    zeros = operand(Kind::constant, DType::u8, {n, ceil_div(blocks, 8 / types.bits)});
  p.op = "BlockQuantizedMatMul";
  p.attributes = cat("bits=", types.bits, " block_size=", size,
                     " quantize_x=", types.quantize_x ? "true" : "false");
  p.operands = {operand(Kind::input, types.left, {sizes.at("m"), sizes.at("k")}),
                operand(Kind::constant, DType::u8, {n, blocks, size * types.bits / 8}),
                std::move(scales), std::move(zeros)};
  if (types.with_bias) p.operands.push_back(operand(Kind::constant, types.left, {n}));
  return {};
}

Status check_bytes(const Problem& p) {
  for (const OperandSpec& o : p.operands) {
    const auto count = o.type.shape.checked_elements(size_of(o.type.dtype));
    if (!count || o.type.bytes() > max_problem_bytes)
      return {Code::invalid_argument,
              cat("an operand ", o.type.text(), " takes more than ", max_problem_bytes, " bytes")};
  }
  return {};
}

}  // namespace

Result<Problem> parse_conv(std::string_view text, std::span<const std::string> words) {
  QUERN_ASSIGN(const Sizes sizes, parse_sizes(text, conv_sizes));
  QUERN_ASSIGN(const Types types, parse_types(words));
  QUERN_TRY(want(sizes, {"c", "o"}, "conv:"));
  if (types.bits)
    return Status(Code::invalid_argument,
                  "conv: has no weights of few bits: wanted one type of floats, or u8 or i8 by u8 "
                  "or i8");
  const std::vector<std::string> axes = axes_of(sizes);
  const std::int64_t group = size_or(sizes, "g", 1);
  if (group < 1) return bad_word("g0", "wanted a group at least");
  Shape x{size_or(sizes, "n", 1), sizes.at("c")};
  Shape w{sizes.at("o"), sizes.at("c") / group};
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  for (const std::string& axis : axes) {
    const std::int64_t picture = size_or(sizes, axis, axis == "w" ? size_or(sizes, "h", -1) : -1);
    const std::int64_t taps = size_or(sizes, "k" + axis, size_or(sizes, "k", -1));
    if (picture < 0) return Status(Code::invalid_argument, cat("conv: wants a size ", axis));
    if (taps < 0) return Status(Code::invalid_argument, cat("conv: wants a size k or k", axis));
    x.push_back(picture);
    w.push_back(taps);
    kernel.push_back(taps);
    strides.push_back(size_or(sizes, "s" + axis, size_or(sizes, "s", 1)));
    dilations.push_back(size_or(sizes, "d" + axis, size_or(sizes, "d", 1)));
    pads.push_back(size_or(sizes, "p" + axis, size_or(sizes, "p", 0)));
  }
  const std::vector<std::int64_t> once = pads;
  pads.insert(pads.end(), once.begin(), once.end());
  Problem p;
  p.op = is_float(types.left) ? "Conv" : "ConvInteger";
  p.attributes = cat("group=", group, list_text("kernel", kernel), list_text("strides", strides),
                     list_text("dilations", dilations), list_text("pads", pads));
  const Kind right = types.is_dynamic ? Kind::input : Kind::constant;
  p.operands = {operand(Kind::input, types.left, x), operand(right, types.right, w)};
  if (types.with_bias) p.operands.push_back(operand(right, types.left, {w[0]}));
  QUERN_TRY(check_bytes(p));
  return p;
}

Result<Problem> parse_matmul(std::string_view text, std::span<const std::string> words) {
  QUERN_ASSIGN(const Sizes sizes, parse_sizes(text, matmul_sizes));
  QUERN_ASSIGN(const Types types, parse_types(words));
  QUERN_TRY(want(sizes, {"m", "n", "k"}, "matmul:"));
  Problem p;
  if (types.bits) {
    QUERN_TRY(take_few_bits(types, sizes, p));
    QUERN_TRY(check_bytes(p));
    return p;
  }
  if (sizes.contains("q")) return bad_word("q", "wanted only with weights of few bits");
  const bool is_batched = sizes.contains("b");
  Shape a = is_batched ? Shape{sizes.at("b")} : Shape{};
  Shape b = a;
  for (const char* name : {"m", "k"}) a.push_back(sizes.at(name));
  for (const char* name : {"k", "n"}) b.push_back(sizes.at(name));
  p.op = is_float(types.left) ? "MatMul" : "MatMulInteger";
  // As in attention: both sides of a batch of products are computed.
  const Kind right = is_batched || types.is_dynamic ? Kind::input : Kind::constant;
  p.operands = {operand(Kind::input, types.left, a), operand(right, types.right, b)};
  if (types.with_bias)
    p.post_ops.push_back({.op = "Binary",
                          .attributes = "kind=add",
                          .operand = operand(Kind::constant, types.left, {sizes.at("n")})});
  QUERN_TRY(check_bytes(p));
  return p;
}

}  // namespace quern::tools::lab
