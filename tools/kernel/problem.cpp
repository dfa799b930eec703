// SPDX-License-Identifier: Apache-2.0
// Reads problem lines.
#include "tools/kernel/problem.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/post_ops.h"
#include "graph/text.h"
#include "tools/kernel/families.h"
#include "tools/kernel/words.h"
#include "tools/parse.h"

namespace quern::tools::lab {
namespace {

Result<Range> parse_range(std::string_view text, DType dtype) {
  const std::size_t dots = text.find("..");
  const auto low = parse_number(text.substr(0, dots));
  const auto high = parse_number(dots == text.npos ? "" : text.substr(dots + 2));
  if (!low || !high || !(*low < *high))
    return bad_word(text, "wanted a range such as @-1..1, its end above its beginning");
  // The numbers in it lie 2^-20 of its width apart.
  if (is_float(dtype) && *high - *low < 1e-30)
    return bad_word(text,
                    "numbers of so small a range are denormal, and what they cost says nothing of "
                    "the kernel");
  return Range{*low, *high};
}

Result<std::vector<double>> parse_elements(std::string_view text, const TensorType& type) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}')
    return bad_word(text, "wanted numbers in braces");
  std::vector<double> numbers;
  if (text.size() > 2) {
    auto list = parse_numbers(text.substr(1, text.size() - 2));
    if (!list) return bad_word(text, "wanted numbers in braces, with commas between them");
    numbers = std::move(*list);
  }
  const auto wanted = static_cast<std::size_t>(type.shape.elements());
  if (numbers.size() != wanted || wanted == 0)
    return bad_word(text,
                    cat("has ", numbers.size(), " numbers, ", type.text(), " wants ", wanted));
  return numbers;
}

// "f32[1,64]" at the beginning of `text`, which loses it.
Result<TensorType> take_type(std::string_view& text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  const auto dtype = dtype_from_name(text.substr(0, open));
  if (!dtype || open == text.npos || close == text.npos || close < open)
    return bad_word(text, "wanted a type such as f32[1,64]");
  if (*dtype == DType::string) return bad_word(text, "texts are nothing to measure");
  TensorType type{*dtype, {}};
  const std::vector<std::string> sizes = split_list(text.substr(open + 1, close - open - 1));
  if (sizes.size() > Shape::max_rank)
    return bad_word(text, cat("has more than ", Shape::max_rank, " dimensions"));
  for (const std::string& size : sizes) {
    const auto number = parse_integer(size);
    if (!number || *number < 0) return bad_word(text, cat("'", printable(size), "' is no size"));
    type.shape.push_back(*number);
  }
  const auto count = type.shape.checked_elements(size_of(*dtype));
  if (!count || type.bytes() > max_problem_bytes)
    return bad_word(text, cat("takes more than ", max_problem_bytes, " bytes"));
  text.remove_prefix(close + 1);
  return type;
}

Result<OperandSpec> parse_operand(std::string_view text) {
  OperandSpec spec;
  if (text == "_") {
    spec.kind = OperandSpec::Kind::absent;
    return spec;
  }
  if (text.starts_with("const:")) {
    spec.kind = OperandSpec::Kind::constant;
    text.remove_prefix(6);
  }
  QUERN_ASSIGN(spec.type, take_type(text));
  if (text.starts_with("=")) {
    spec.kind = OperandSpec::Kind::constant;
    QUERN_ASSIGN(spec.elements, parse_elements(text.substr(1), spec.type));
  } else if (text.starts_with("@")) {
    QUERN_ASSIGN(spec.range, parse_range(text.substr(1), spec.type.dtype));
  } else if (!text.empty()) {
    return bad_word(text, "wanted ={numbers}, @low..high or nothing behind a type");
  }
  return spec;
}

// "clip(0,6)", "add", "add:f32[1,64,1,1]", "~sub:const:f32[64]".
Result<PostOpSpec> parse_post_op(std::string_view text) {
  PostOpSpec post_op;
  const std::string_view whole = text;
  if (text.starts_with("~")) {
    post_op.swapped = true;
    text.remove_prefix(1);
  }
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    QUERN_ASSIGN(post_op.operand, parse_operand(text.substr(colon + 1)));
    text = text.substr(0, colon);
  }
  const std::size_t open = text.find('(');
  const std::string_view name = text.substr(0, open);
  if (make_op("Binary", cat("kind=", printable(name)))) {
    post_op.op = "Binary";
  } else if (make_op("Unary", cat("kind=", printable(name)))) {
    post_op.op = "Unary";
  } else {
    return bad_word(whole, "no elementwise operation of this name");
  }
  post_op.attributes = cat("kind=", name);
  const bool is_unary = post_op.op == "Unary";
  if (is_unary && (post_op.operand || post_op.swapped))
    return bad_word(whole, "an operation of one number has no operand");
  if (open == text.npos) return post_op;
  const auto numbers = text.back() == ')'
                           ? parse_numbers(text.substr(open + 1, text.size() - open - 2))
                           : std::nullopt;
  if (!is_unary || !numbers || numbers->size() > 2)
    return bad_word(whole, "wanted one or two numbers in parentheses, as in clip(0,6)");
  post_op.attributes += cat(" alpha=", shortest((*numbers)[0]));
  if (numbers->size() == 2) post_op.attributes += cat(" beta=", shortest((*numbers)[1]));
  return post_op;
}

bool is_attribute(std::string_view word) {
  const std::size_t equal = word.find('=');
  return equal != word.npos && equal > 0 && word.find_first_of("[:@") > equal;
}

// A word behind the head of an op: line.
Status take_word(Problem& p, const std::string& word) {
  if (word.starts_with("->")) {
    const auto count = parse_integer(std::string_view(word).substr(2));
    if (!count || *count < 1 || *count > 64)
      return bad_word(word, "wanted a number of results, 1 to 64");
    p.outputs = static_cast<std::size_t>(*count);
    return {};
  }
  if (is_attribute(word)) {
    p.attributes += cat(p.attributes.empty() ? "" : " ", word);
    return {};
  }
  QUERN_ASSIGN(p.operands.emplace_back(), parse_operand(word));
  if (p.operands.size() > 64) return bad_word(word, "a problem has at most 64 operands");
  return {};
}

Status check_operator(const Problem& p) {
  if (p.op.find('.') != std::string::npos) return {};  // of --ops, which only a registry knows
  if (!make_op(p.op, "")) return bad_word(p.op, "there is no operator of this name");
  if (auto op = make_op(p.op, p.attributes); !op)
    return bad_word(p.attributes, op.error().message());
  return {};
}

Result<Problem> parse_head(const std::vector<std::string>& words) {
  const std::string_view head = words[0];
  const std::size_t colon = head.find(':');
  const std::string_view family = head.substr(0, colon);
  if (colon == head.npos)
    return bad_word(head, "wanted conv:SIZES, matmul:SIZES or op:NAME at the beginning of a line");
  const std::string_view rest = head.substr(colon + 1);
  std::vector<std::string> plain;  // what is no post-op
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].starts_with('+')) plain.push_back(words[i]);
  if (family == "conv") return parse_conv(rest, plain);
  if (family == "matmul") return parse_matmul(rest, plain);
  if (family != "op") return bad_word(head, "no such family; there is conv, matmul and op");
  Problem p;
  p.op = rest;
  for (const std::string& word : plain) QUERN_TRY(take_word(p, word));
  QUERN_TRY(check_operator(p));
  return p;
}

}  // namespace

Result<Problem> parse_problem(std::string_view line) {
  QUERN_ASSIGN(const std::vector<std::string> words, words_of(line));
  if (words.empty()) return bad_word(line, "a problem has a word at least");
  QUERN_ASSIGN(Problem p, parse_head(words));
  for (const std::string& word : words) {
    p.text += cat(p.text.empty() ? "" : " ", word);
    if (!word.starts_with('+')) continue;
    if (p.post_ops.size() == 16) return bad_word(word, "at most 16 operations follow");
    QUERN_ASSIGN(p.post_ops.emplace_back(), parse_post_op(std::string_view(word).substr(1)));
  }
  return p;
}

Result<std::vector<Problem>> parse_problems(std::string_view text) {
  std::vector<Problem> problems;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto lines = expand_sweeps(line);
    if (!lines) return std::move(lines.error()).in(cat("line ", number));
    for (const std::string& one : *lines) {
      auto problem = parse_problem(one);
      if (!problem) return std::move(problem.error()).in(cat("line ", number));
      problems.push_back(std::move(*problem));
    }
    if (problems.size() > max_lines)
      return Status(Code::invalid_argument, cat("more than ", max_lines, " problems"));
  }
  return problems;
}

std::string operand_text(const OperandSpec& spec) {
  if (spec.kind == OperandSpec::Kind::absent) return "_";
  std::string s = spec.kind == OperandSpec::Kind::constant && spec.elements.empty() ? "const:" : "";
  s += spec.type.text();
  if (spec.range) s += cat("@", shortest(spec.range->low), "..", shortest(spec.range->high));
  for (std::size_t i = 0; i < spec.elements.size(); ++i)
    s += cat(i ? "," : "={", shortest(spec.elements[i]));
  return spec.elements.empty() ? s : s + "}";
}

std::string post_op_text(const PostOpSpec& post_op) {
  std::string s = post_op.swapped ? "+~" : "+";
  const auto op = make_op(post_op.op, post_op.attributes);
  if (!op) return s;
  const PostOp made = *op;
  if (const Unary* unary = unary_of(made)) return s + unary_text(*unary);
  s += post_op.attributes.substr(std::string_view("kind=").size());
  return post_op.operand ? cat(s, ":", operand_text(*post_op.operand)) : s;
}

}  // namespace quern::tools::lab
