// SPDX-License-Identifier: Apache-2.0
// The table of functions that import ONNX operators. Each family's file holds its functions and
// rows; op_table.cpp joins them. Operators that name their ONNX operator themselves (OpDef::onnx)
// have rows in ops_same.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace quern {
class CustomOps;           // <quern/custom_ops.h>
class RegisteredOperator;  // graph/custom/bound.h
}  // namespace quern

namespace quern::onnx {

class NodeImport;
using ImportFn = void (*)(NodeImport&);

// One version of an operator, from opset `since` up to the next row of its name. The importer may
// assume that the first inputs.min inputs are present.
struct OpRow {
  std::string_view name;
  std::int64_t since = 1;
  ImportFn import = nullptr;
  Arity inputs = {1, 1};
  Arity outputs = {1, 1};
  const OpDef* same = nullptr;  // in place of `import`: OpDef::onnx says that it is this
};

// Numbers of inputs or outputs that several families have; one is what a row says nothing of.
inline constexpr Arity none{0, 0};
inline constexpr Arity one_or_two{1, 2};
inline constexpr Arity two{2, 2};
inline constexpr Arity two_or_three{2, 3};
inline constexpr Arity three{3, 3};
inline constexpr Arity any{1, any_number};

using OpRows = std::span<const OpRow>;
OpRows unary_ops();
OpRows binary_ops();
OpRows cast_ops();
OpRows reduction_ops();
OpRows matrix_ops();
OpRows conv_ops();
OpRows pool_ops();
OpRows norm_ops();
OpRows quant_ops();
OpRows shape_ops();
OpRows movement_ops();
OpRows index_ops();
OpRows resample_ops();
OpRows rnn_ops();
OpRows data_dependent_ops();
OpRows random_ops();
OpRows spectral_ops();
OpRows text_ops();
OpRows picture_ops();
OpRows control_ops();
OpRows sequence_ops();
OpRows attention_ops();
OpRows loss_ops();
OpRows training_ops();
OpRows preview_ops();
OpRows legacy_ops();
OpRows ml_ops();
OpRows ml_linear_ops();
OpRows ml_tree_ops();
OpRows microsoft_ops();
OpRows microsoft_attention_ops();
OpRows microsoft_attn_lstm_ops();
OpRows microsoft_decoder_ops();
OpRows microsoft_diffusion_ops();
OpRows microsoft_expert_ops();
OpRows microsoft_few_bits_ops();
OpRows microsoft_generation_ops();
OpRows microsoft_math_ops();
OpRows microsoft_quant_ops();
OpRows microsoft_rnn_ops();
OpRows microsoft_sequence_ops();
OpRows same_onnx_ops();
OpRows same_microsoft_ops();
// Imports the node as the operator that it is, with the attributes that the fields name.
void import_same(NodeImport& n, const OpDef& def);

// The operator that a host registered for this node, which goes before all others; null if there is
// none, or no registry.
std::shared_ptr<const RegisteredOperator> find_custom(const CustomOps* registry,
                                                      std::string_view domain,
                                                      std::string_view name, std::int64_t version);
// The opsets for which it is registered, as text; "" if it is not.
std::string custom_opsets(const CustomOps* registry, std::string_view domain,
                          std::string_view name);
void import_custom(NodeImport& n, const RegisteredOperator& op, const CustomOps& registry);

// Every version of every operator, by domain ("" for ai.onnx), name and opset.
struct OpEntry {
  std::string_view domain;
  const OpRow* row = nullptr;
};
std::vector<OpEntry> all_ops();

struct OpLookup {
  const OpRow* row = nullptr;
  std::int64_t since = 0;  // the first opset that has the operator; 0: none
};
// `domain` is "" for ai.onnx.
OpLookup find_op(std::string_view domain, std::string_view name, std::int64_t version);
// The newest opset of a domain that this importer supports; nullopt for an unknown domain.
std::optional<std::int64_t> newest_opset(std::string_view domain);

}  // namespace quern::onnx
