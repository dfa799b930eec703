// SPDX-License-Identifier: Apache-2.0
#include "graph/custom/bound.h"

#include <algorithm>
#include <string>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr std::size_t most_attributes = 1000;

Status wrong_field(std::string_view field, std::string_view what) {
  return {Code::invalid_argument, cat("quern_custom_op.", field, " ", what)};
}

// The list has numbers as `min` and `max` of inputs or outputs must be.
Status check_count(std::string_view what, std::int32_t min, std::int32_t max, std::int32_t least) {
  if (min < least) return wrong_field(cat("min_", what), cat("is ", min, ", at least ", least));
  if (max != -1 && max < min)
    return wrong_field(cat("max_", what), cat("is ", max, ", below min_", what, " of ", min));
  return {};
}

Status check_fields(const quern_custom_op& op) {
  if (op.struct_size != sizeof(quern_custom_op))
    return wrong_field("struct_size", cat("is ", op.struct_size, ", not ", sizeof op));
  const std::string_view domain = op.domain ? op.domain : "";
  if (!domain.empty() && !is_custom_name(domain))
    return wrong_field("domain", cat("is '", printable(domain), "', wants letters, digits, _ . -"));
  if (!op.name) return wrong_field("name", "is NULL");
  if (!is_custom_name(op.name))
    return wrong_field("name", cat("is '", printable(op.name), "', wants letters, digits, _ . -"));
  if (op.first_opset < 0 || op.last_opset < 0 ||
      (op.last_opset != 0 && op.last_opset < op.first_opset))
    return wrong_field("last_opset", cat("is ", op.last_opset, ", first_opset ", op.first_opset));
  constexpr std::uint32_t known = QUERN_OP_DETERMINISTIC | QUERN_OP_IN_PLACE;
  if ((op.flags & ~known) != 0) return wrong_field("flags", cat("is ", op.flags, ", not known"));
  if (!op.infer) return wrong_field("infer", "is NULL");
  if (!op.run) return wrong_field("run", "is NULL");
  QUERN_TRY(check_count("inputs", op.min_inputs, op.max_inputs, 0));
  return check_count("outputs", op.min_outputs, op.max_outputs, 1);
}

}  // namespace

Result<std::shared_ptr<RegisteredOperator>> RegisteredOperator::make(
    const quern_custom_op& op, std::shared_ptr<void> library) {
  QUERN_TRY(check_fields(op));
  std::shared_ptr<RegisteredOperator> made(new RegisteredOperator);
  made->op_ = op;
  made->domain_ = op.domain ? op.domain : "";
  if (made->domain_ == "ai.onnx") made->domain_.clear();
  made->name_ = op.name;
  made->takes_any_attribute_ = op.attributes == nullptr;
  for (const char* const* name = op.attributes; name && *name; ++name) {
    if (made->attributes_.size() == most_attributes || !is_custom_name(*name))
      return wrong_field("attributes",
                         cat("has '", printable(*name), "' as entry ", made->attributes_.size(),
                             ", wants at most 1000 of letters, digits, _ . -"));
    made->attributes_.emplace_back(*name);
  }
  made->op_.domain = made->domain_.c_str();
  made->op_.name = made->name_.c_str();
  made->op_.attributes = nullptr;
  made->library_ = std::move(library);
  return made;
}

RegisteredOperator::~RegisteredOperator() {
  if (is_owned_ && op_.release) op_.release(op_.context);
}

bool RegisteredOperator::is_for(std::int64_t opset) const {
  return (op_.first_opset == 0 || opset >= op_.first_opset) &&
         (op_.last_opset == 0 || opset <= op_.last_opset);
}

bool RegisteredOperator::knows_attribute(std::string_view name) const {
  return takes_any_attribute_ || std::ranges::find(attributes_, name) != attributes_.end();
}

const CustomAttribute* BoundOperator::find(std::string_view name) const {
  const auto at = std::ranges::find(attributes_, name, &CustomAttribute::name);
  return at == attributes_.end() ? nullptr : &*at;
}

}  // namespace quern
