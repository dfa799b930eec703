// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/families.h"

#include <vector>

#include "engine/vocabulary/text_util.h"
#include "tools/kernel/words.h"

namespace quern::tools::lab {
namespace {

using Kind = OperandSpec::Kind;

constexpr std::string_view conv_sizes = "n c z h w o k kz kh kw s sz sh sw p pz ph pw d dz dh dw g";
constexpr std::string_view matmul_sizes = "b m n k";

struct Types {
  DType left = DType::f32;
  DType right = DType::f32;
  bool with_bias = false;
  bool is_dynamic = false;  // the right side is an input, too
};

// "f32", "u8*i8", "bias", "dynamic".
Result<Types> parse_types(std::span<const std::string> words) {
  Types types;
  bool has_type = false;
  for (const std::string& word : words) {
    if (word == "bias") {
      types.with_bias = true;
      continue;
    }
    if (word == "dynamic") {
      types.is_dynamic = true;
      continue;
    }
    const std::string_view text = word;
    const std::size_t star = text.find('*');
    const auto left = dtype_from_name(text.substr(0, star));
    const auto right = star == text.npos ? left : dtype_from_name(text.substr(star + 1));
    if (!left || !right)
      return bad_word(word, "wanted a type such as f32 or u8*i8, bias, dynamic, or +POST-OP");
    if (has_type) return bad_word(word, "a second type");
    has_type = true;
    types.left = *left;
    types.right = *right;
  }
  const bool both_float = is_float(types.left) && types.left == types.right;
  const auto is_byte = [](DType t) { return t == DType::u8 || t == DType::i8; };
  if (!both_float && !(is_byte(types.left) && is_byte(types.right)))
    return Status(Code::invalid_argument,
                  cat(name_of(types.left), "*", name_of(types.right),
                      ": wanted one type of floats, or u8 and i8; op: has all others"));
  if (!both_float && types.with_bias)
    return Status(Code::invalid_argument, "a product of integers has no bias");
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
  const bool is_batched = sizes.contains("b");
  Shape a = is_batched ? Shape{sizes.at("b")} : Shape{};
  Shape b = a;
  for (const char* name : {"m", "k"}) a.push_back(sizes.at(name));
  for (const char* name : {"k", "n"}) b.push_back(sizes.at(name));
  Problem p;
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
