// SPDX-License-Identifier: Apache-2.0
// Names and what they stand for, across graphs.
#include "frontends/onnx-parser/import.h"

namespace quern::onnx {

std::optional<ValueId> Scope::find(std::string_view name) {
  if (const auto it = names_.find(name); it != names_.end()) return it->second;
  if (!outer_) return std::nullopt;
  const auto found = outer_->find(name);
  if (!found || *found == no_value || *found == poisoned_value) return found;
  return capture(*found);
}

ValueId Scope::capture(ValueId outer) {
  if (const auto it = captured_.find(outer); it != captured_.end()) return it->second;
  const Value& v = outer_->graph().value(outer);
  ValueId inner = no_value;
  if (v.is_constant()) {
    inner = graph_.add_constant(v.constant, short_name(v.name));
  } else {
    inner = graph_.add_input(short_name(v.name), graph_.adopt(v.type, outer_->graph()));
    captures_.push_back(outer);
  }
  captured_.emplace(outer, inner);
  return inner;
}

}  // namespace quern::onnx
