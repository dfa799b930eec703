// SPDX-License-Identifier: Apache-2.0
#include "shaders/to_khr.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>

namespace quern::shaders {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t magic = 0x07230203;
constexpr std::size_t header_words = 5;
constexpr std::size_t bound_word = 3;

enum Op : std::uint32_t {
  op_extension = 10,
  op_capability = 17,
  op_type_int = 21,
  op_type_float = 22,
  op_constant_true = 41,
  op_constant_false = 42,
  op_constant = 43,
  op_type_nv = 5358,
  op_load_nv = 5359,
  op_store_nv = 5360,
  op_product_nv = 5361,
  op_length_nv = 5362,
  op_type_khr = 4456,
  op_load_khr = 4457,
  op_store_khr = 4458,
  op_product_khr = 4459,
  op_length_khr = 4460,
};
constexpr std::uint32_t capability_nv = 5357;
constexpr std::uint32_t capability_khr = 6022;
constexpr std::string_view extension_nv = "SPV_NV_cooperative_matrix";
constexpr std::string_view extension_khr = "SPV_KHR_cooperative_matrix";

// Use operands: MatrixAKHR, MatrixBKHR, MatrixAccumulatorKHR. The first two numbers are those of
// the layouts too: by rows, by columns.
constexpr std::uint32_t uses = 3;

struct Instruction {
  std::uint32_t op = 0;
  Words operands;
};

std::string text_of(const Words& words) {
  std::string text(words.size() * 4, '\0');
  std::memcpy(text.data(), words.data(), text.size());
  text.resize(text.find('\0') == text.npos ? text.size() : text.find('\0'));
  return text;
}

Words words_of(std::string_view text) {
  Words words(text.size() / 4 + 1, 0);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}

class Rewriting {
 public:
  std::string run(const Words& module) {
    read(module);
    if (error_.empty()) find_types();
    if (error_.empty()) find_uses();
    if (error_.empty() && matrices_.empty()) fail("the module has no matrices of the NV extension");
    if (!error_.empty()) return error_;
    for (Instruction& i : instructions_) rewrite(std::move(i));
    return error_;
  }
  Words words;

 private:
  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }

  void read(const Words& module) {
    if (module.size() < header_words || module[0] != magic)
      return fail("this is no SPIR-V of this machine's byte order");
    words.assign(module.begin(), module.begin() + header_words);
    for (std::size_t at = header_words; at < module.size();) {
      const std::size_t count = module[at] >> 16;
      if (count == 0 || count > module.size() - at)
        return fail("an instruction at word " + std::to_string(at) + " is longer than the module");
      const auto begin = module.begin() + static_cast<std::ptrdiff_t>(at);
      instructions_.push_back(
          {module[at] & 0xffff, {begin + 1, begin + static_cast<std::ptrdiff_t>(count)}});
      at += count;
    }
  }

  // Checks the operand count of an instruction that is looked into.
  bool has(const Instruction& i, std::size_t operands) {
    if (i.operands.size() >= operands) return true;
    fail("instruction " + std::to_string(i.op) + " lacks operands");
    return false;
  }

  void find_types() {
    for (const Instruction& i : instructions_) {
      const Words& w = i.operands;
      switch (i.op) {
        case op_type_int:
          if (has(i, 3) && w[1] == 32 && w[2] == 0) uint_ = w[0];
          break;
        case op_type_float:
          if (has(i, 2)) floats_.push_back(w[0]);
          break;
        case op_constant_true:
        case op_constant_false:
          if (has(i, 2)) by_columns_[w[1]] = i.op == op_constant_true;
          break;
        case op_type_nv:
          if (!has(i, 5)) break;
          if (std::ranges::find(floats_, w[1]) == floats_.end())
            fail("matrix type %" + std::to_string(w[0]) + " is not of floats");
          matrices_[w[0]] = uses;
          break;
        default:
          // A value of such a type: its result type comes first. Names and decorations of the type
          // come before it.
          if (w.size() >= 2 && matrices_.contains(w[0])) type_of_[w[1]] = w[0];
      }
    }
  }

  void find_uses() {
    for (const Instruction& i : instructions_) {
      if (i.op != op_product_nv || !has(i, 5)) continue;
      for (std::uint32_t use = 0; use < uses; ++use) {
        const auto type = type_of_.find(i.operands[2 + use]);
        if (type == type_of_.end())
          fail("%" + std::to_string(i.operands[2 + use]) + " is multiplied and no matrix");
        else
          note_use(type->second, use);
      }
      note_use(i.operands[0], uses - 1);
    }
    for (const auto& [type, use] : matrices_)
      if (use == uses) fail("matrix type %" + std::to_string(type) + " is in no product");
  }

  void note_use(std::uint32_t type, std::uint32_t use) {
    const auto found = matrices_.find(type);
    if (found == matrices_.end()) return fail("a product gives what is no matrix");
    if (found->second != uses && found->second != use)
      fail("matrix type %" + std::to_string(type) +
           " stands in two places of products: give each sizes of its own");
    found->second = use;
  }

  void emit(std::uint32_t op, const Words& operands) {
    words.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
    words.insert(words.end(), operands.begin(), operands.end());
  }

  // The numbers that types and layouts name, before the first type.
  void emit_numbers() {
    if (numbers_[0] != 0) return;
    if (uint_ == 0) return fail("a matrix type comes before unsigned integers");
    for (std::uint32_t n = 0; n < uses; ++n) {
      numbers_[n] = words[bound_word]++;
      emit(op_constant, {uint_, numbers_[n], n});
    }
  }

  std::uint32_t layout(std::uint32_t is_by_columns) {
    const auto found = by_columns_.find(is_by_columns);
    if (found == by_columns_.end()) {
      fail("the layout of a load or store is no constant");
      return 0;
    }
    return numbers_[found->second];
  }

  void rewrite(Instruction i) {
    Words& w = i.operands;
    switch (i.op) {
      case op_capability:
        if (has(i, 1) && w[0] == capability_nv) w[0] = capability_khr;
        break;
      case op_extension:
        if (text_of(w) == extension_nv) w = words_of(extension_khr);
        break;
      case op_type_nv:
        emit_numbers();
        i.op = op_type_khr;
        w.push_back(numbers_[matrices_[w[0]]]);
        break;
      case op_load_nv:
        if (!has(i, 5)) return;
        i.op = op_load_khr;
        swap_stride_and_layout(w, 3);
        break;
      case op_store_nv:
        if (!has(i, 4)) return;
        i.op = op_store_khr;
        swap_stride_and_layout(w, 2);
        break;
      case op_product_nv: i.op = op_product_khr; break;
      case op_length_nv: i.op = op_length_khr; break;
      default: break;
    }
    emit(i.op, w);
  }
  // stride, whether by columns => layout, stride
  void swap_stride_and_layout(Words& w, std::size_t at) {
    const std::uint32_t stride = w[at];
    w[at] = layout(w[at + 1]);
    w[at + 1] = stride;
  }

  std::vector<Instruction> instructions_;
  std::string error_;
  std::uint32_t uint_ = 0;
  Words floats_;
  std::map<std::uint32_t, std::uint32_t> matrices_;  // uses, by type
  std::map<std::uint32_t, std::uint32_t> type_of_;   // of values that are matrices
  std::map<std::uint32_t, bool> by_columns_;
  std::array<std::uint32_t, uses> numbers_{};
};

}  // namespace

Rewritten to_khr(const Words& module) {
  Rewriting rewriting;
  Rewritten result;
  result.error = rewriting.run(module);
  if (result.error.empty()) result.words = std::move(rewriting.words);
  return result;
}

}  // namespace quern::shaders
