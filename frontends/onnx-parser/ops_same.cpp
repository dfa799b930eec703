// SPDX-License-Identifier: Apache-2.0
// Operators that are the same here as in ONNX (OpDef::onnx): each field is read from the attribute
// of its name, and keeps its default without one.
#include <type_traits>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/op_fields.h"

namespace quern::onnx {
namespace {

template <class T>
void read_field(NodeImport& n, std::string_view name, T& field) {
  if constexpr (std::is_same_v<T, bool>)
    field = n.flag(name, field ? Flag::on : Flag::off);
  else if constexpr (std::is_same_v<T, std::int64_t>)
    field = n.integer(name, field);
  else if constexpr (std::is_same_v<T, float>)
    field = n.number(name, field);
  else if constexpr (std::is_same_v<T, Ints>)
    field = n.ints(name);
  else
    n.fail(cat("field '", name, "' has a type that no attribute has"), Code::internal);
}

std::vector<OpRow> rows_of(std::string_view domain) {
  std::vector<OpRow> rows;
  for (const OpDef* def : quern::all_ops())
    if (!def->onnx.name.empty() && def->onnx.domain == domain)
      rows.push_back({.name = def->onnx.name,
                      .since = def->onnx.since,
                      .inputs = def->inputs,
                      .outputs = def->outputs,
                      .same = def});
  return rows;
}

}  // namespace

void import_same(NodeImport& n, const OpDef& def) {
  Op op = default_op(def);
  edit_fields(op, [&](std::string_view name, auto& field) { read_field(n, name, field); });
  n.emit(std::move(op), {n.inputs().begin(), n.inputs().end()});
}

OpRows same_onnx_ops() {
  static const std::vector<OpRow> rows = rows_of("");
  return rows;
}
OpRows same_microsoft_ops() {
  static const std::vector<OpRow> rows = rows_of("com.microsoft");
  return rows;
}

}  // namespace quern::onnx
