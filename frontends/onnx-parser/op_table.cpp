// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/op_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace quern::onnx {
namespace {

using Family = OpRows (*)();

constexpr std::array onnx_families = {
    unary_ops,    binary_ops,    cast_ops,     reduction_ops, matrix_ops,
    conv_ops,     pool_ops,      norm_ops,     quant_ops,     shape_ops,
    movement_ops, index_ops,     resample_ops, rnn_ops,       data_dependent_ops,
    random_ops,   spectral_ops,  text_ops,     picture_ops,   control_ops,
    sequence_ops, attention_ops, loss_ops,     legacy_ops,    same_onnx_ops,
};
constexpr std::array ml_families = {ml_ops, ml_linear_ops, ml_tree_ops};
constexpr std::array preview_families = {preview_ops};
constexpr std::array training_families = {training_ops};
constexpr std::array microsoft_families = {
    microsoft_ops,        microsoft_attention_ops, microsoft_decoder_ops,  microsoft_diffusion_ops,
    microsoft_expert_ops, microsoft_few_bits_ops,  microsoft_math_ops,     microsoft_generation_ops,
    microsoft_quant_ops,  microsoft_rnn_ops,       microsoft_sequence_ops, microsoft_attn_lstm_ops,
    same_microsoft_ops};

struct OperatorSet {
  std::string_view domain;
  std::int64_t newest;
  std::span<const Family> families;
};

// com.microsoft has one version; its number is ignored.
constexpr std::array<OperatorSet, 5> sets = {{
    {"", 28, onnx_families},
    {"ai.onnx.ml", 5, ml_families},
    {"ai.onnx.preview", 1, preview_families},
    {"ai.onnx.preview.training", 1, training_families},
    {"com.microsoft", 1 << 20, microsoft_families},
}};

using Index = std::multimap<std::string_view, const OpRow*>;

const Index& index_of(std::size_t set) {
  static const auto indexes = [] {
    std::array<Index, sets.size()> all;
    for (std::size_t i = 0; i < sets.size(); ++i)
      for (Family family : sets[i].families)
        for (const OpRow& row : family()) all[i].emplace(row.name, &row);
    return all;
  }();
  return indexes[set];
}

}  // namespace

std::vector<OpEntry> all_ops() {
  std::vector<OpEntry> all;
  for (const OperatorSet& set : sets)
    for (Family family : set.families)
      for (const OpRow& row : family()) all.push_back({set.domain, &row});
  std::ranges::sort(
      all, {}, [](const OpEntry& e) { return std::tuple(e.domain, e.row->name, e.row->since); });
  return all;
}

OpLookup find_op(std::string_view domain, std::string_view name, std::int64_t version) {
  OpLookup found;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].domain != domain) continue;
    const auto [first, last] = index_of(i).equal_range(name);
    for (auto it = first; it != last; ++it) {
      const OpRow& row = *it->second;
      if (found.since == 0 || row.since < found.since) found.since = row.since;
      if (row.since <= version && (!found.row || row.since > found.row->since)) found.row = &row;
    }
  }
  return found;
}

std::optional<std::int64_t> newest_opset(std::string_view domain) {
  for (const OperatorSet& set : sets)
    if (set.domain == domain) return set.newest;
  return std::nullopt;
}

}  // namespace quern::onnx
