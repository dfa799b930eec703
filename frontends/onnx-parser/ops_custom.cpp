// SPDX-License-Identifier: Apache-2.0
// Nodes whose operator the host registered (ImportOptions has none of its own: OpSet::custom).
#include <algorithm>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/custom/bound.h"
#include "graph/custom/registry.h"
#include "graph/ops/custom.h"

namespace quern::onnx {
namespace {

// The attribute, marked as read; nullopt, with an error, where it is of a kind that C has no
// function for.
std::optional<CustomAttribute> read_custom(NodeImport& n, std::string_view name) {
  CustomAttribute a{.name = std::string(name), .value = {}};
  switch (n.kind_of(name)) {
    case AttributeKind::integer: a.value = n.integer(name); break;
    case AttributeKind::number: a.value = n.number(name); break;
    case AttributeKind::text: a.value = n.text(name); break;
    case AttributeKind::integers: a.value = n.ints(name); break;
    case AttributeKind::numbers: a.value = n.numbers(name); break;
    default:
      n.unsupported(cat("attribute '", name,
                        "': operators of the host take ints, floats, a string and lists of both"));
      return std::nullopt;
  }
  return a;
}

}  // namespace

std::shared_ptr<const RegisteredOperator> find_custom(const CustomOps* registry,
                                                      std::string_view domain,
                                                      std::string_view name, std::int64_t version) {
  return registry ? registry->impl().find(domain, name, version) : nullptr;
}

std::string custom_opsets(const CustomOps* registry, std::string_view domain,
                          std::string_view name) {
  return registry ? registry->impl().opsets_of(domain, name) : std::string();
}

void import_custom(NodeImport& n, const RegisteredOperator& op, const CustomOps& registry) {
  CustomCall call{.domain = op.domain(), .name = op.name(), .opset = n.version()};
  for (const std::string_view name : n.attribute_names()) {
    if (!op.knows_attribute(name)) continue;  // refused as one that nobody read
    if (!is_custom_name(name))
      return n.fail(cat("attribute '", printable(name),
                        "' has a name with other characters than "
                        "letters, digits, _ . -"));
    const auto attribute = read_custom(n, name);
    if (!attribute || !n.ok()) return;
    std::string text = to_text(*attribute);
    if (!n.charge(2 * text.size())) return;
    call.attributes.push_back(std::move(text));
  }
  Op bound = Custom{std::move(call)};
  if (Status status = bind_custom(bound, &registry); !status.ok())
    return n.fail(status.message(), status.code());
  const auto least = static_cast<std::size_t>(op.functions().min_outputs);
  const std::size_t outputs = std::max(n.output_count(), least);
  n.emit(std::move(bound), {n.inputs().begin(), n.inputs().end()}, {}, outputs);
}

}  // namespace quern::onnx
