// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/custom.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/custom/attributes.h"
#include "graph/custom/operator_call.h"
#include "graph/custom/registry.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// Elements of operands that decide shapes, aligned: in a file they may lie anywhere.
class PlanOperand {
 public:
  explicit PlanOperand(const Tensor* t) {
    if (!t) return;
    data_ = t->data();
    const auto address = reinterpret_cast<std::uintptr_t>(t->data());
    if (address % size_of(t->dtype()) == 0) return;
    copy_.resize(t->bytes() / sizeof(std::max_align_t) + 1);
    std::memcpy(copy_.data(), t->data(), t->bytes());
    data_ = copy_.data();
  }
  const void* data() const { return data_; }

 private:
  const void* data_ = nullptr;
  std::vector<std::max_align_t> copy_;
};

Status check_count(const InferContext& c, std::string_view what, std::size_t count,
                   std::int32_t min, std::int32_t max) {
  if (count >= static_cast<std::size_t>(min) &&
      (max == -1 || count <= static_cast<std::size_t>(max)))
    return {};
  const std::string wanted = max == min  ? cat(min)
                             : max == -1 ? cat("at least ", min)
                                         : cat(min, " to ", max);
  return c.error(cat("has ", count, " ", what, ", wants ", wanted));
}

Status check_operands(const InferContext& c, const quern_custom_op& op) {
  QUERN_TRY(check_count(c, "inputs", c.input_count(), op.min_inputs, op.max_inputs));
  QUERN_TRY(check_count(c, "outputs", c.output_count(), op.min_outputs, op.max_outputs));
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i) && i < static_cast<std::size_t>(op.min_inputs))
      return c.error(cat("input ", i, " is left out, but it is not optional"));
    if (c.has(i) && c.dtype(i) == DType::string)
      return c.unsupported(cat(c.describe(i), ": operators of the host take no strings"));
  }
  return {};
}

bool decides_shapes(const quern_custom_op& op, std::size_t input) {
  return input < 32 && (op.plan_inputs >> input & 1) != 0;
}

// True if the types of all inputs are known, and the elements of those that decide shapes.
bool is_all_known(const InferContext& c, const quern_custom_op& op) {
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.has(i) && (!c.type(i).fully_known() || (decides_shapes(op, i) && !c.value(i))))
      return false;
  return true;
}

Status infer_bound(InferContext& c, const BoundOperator& bound) {
  const quern_custom_op& op = bound.functions();
  QUERN_TRY(check_operands(c, op));
  OperatorCall call(bound, c.input_count(), c.output_count());
  std::vector<PlanOperand> elements;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    elements.emplace_back(decides_shapes(op, i) ? c.value(i) : nullptr);
    if (c.has(i)) call.show_input(i, c.type(i), elements.back().data());
  }
  if (Status failed = call.infer(); !failed.ok())
    return failed.code() == Code::invalid_model ? c.error(failed.message())
           : failed.code() == Code::unsupported ? c.unsupported(failed.message())
                                                : std::move(failed);
  const bool must_be_known = is_all_known(c, op);
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    const ValueType& type = *call.types()[i];
    if (must_be_known && !type.fully_known())
      return c.unsupported(
          cat("its inference leaves the shape of output ", i,
              " open although all inputs are known: shapes of an operator of the host depend on "
              "shapes and on the elements of plan_inputs, on no other data"));
    c.set(i, type);
  }
  return {};
}

template <class T>
Status infer_custom(InferContext& c) {
  const CustomCall& call = c.op<T>();
  if (call.bound) return infer_bound(c, *call.bound);
  return c.unsupported(cat("operator ", printable(call.full_name()), " is not registered"));
}

template <class T>
std::uint32_t plan_inputs_of(const Op& op) {
  const CustomCall& call = *op.as<T>();
  return call.bound ? call.bound->functions().plan_inputs : 0;
}

template <class T>
constexpr OpDef custom_def(std::string_view name, OpTrait traits) {
  return {.name = name,
          .inputs = {0, any_number},
          .outputs = {1, any_number},
          .traits = traits,
          .plan_operands_of = plan_inputs_of<T>,
          .infer = infer_custom<T>,
          .attributes = &op_struct<T>};
}

}  // namespace

const OpDef& Custom::def() {
  static constexpr OpDef def = custom_def<Custom>("Custom", OpTrait::none);
  return def;
}
const OpDef& CustomRandom::def() {
  static constexpr OpDef def = custom_def<CustomRandom>("CustomRandom", OpTrait::random);
  return def;
}

std::string CustomCall::full_name() const {
  return cat(domain, domain.empty() ? "" : ".", name);
}

bool CustomCall::operator==(const CustomCall& other) const {
  const auto definition = [](const CustomCall& c) {
    return c.bound ? &c.bound->definition() : nullptr;
  };
  return domain == other.domain && name == other.name && opset == other.opset &&
         attributes == other.attributes && definition(*this) == definition(other);
}

const CustomCall* custom_call(const Op& op) {
  if (const auto* custom = op.as<Custom>()) return custom;
  return op.as<CustomRandom>();
}

Status bind_custom(Op& op, const CustomOps* registry) {
  const CustomCall* const given = custom_call(op);
  if (!given) return {};
  CustomCall call = *given;
  auto definition = registry ? registry->impl().find(call.domain, call.name, call.opset) : nullptr;
  if (!definition)
    return {Code::unsupported, cat("operator ", printable(call.full_name()), " of opset ",
                                   call.opset, " is not registered here")};
  std::vector<CustomAttribute> attributes;
  for (const std::string& text : call.attributes) {
    QUERN_ASSIGN(attributes.emplace_back(), parse_custom_attribute(text));
    if (!definition->knows_attribute(attributes.back().name))
      return {Code::invalid_argument, cat("operator ", call.full_name(), " has no attribute '",
                                          attributes.back().name, "'")};
  }
  const bool is_deterministic = definition->is(QUERN_OP_DETERMINISTIC);
  call.bound = std::make_shared<const BoundOperator>(std::move(definition), std::move(attributes));
  op = is_deterministic ? Op(Custom{std::move(call)}) : Op(CustomRandom{std::move(call)});
  return {};
}

}  // namespace quern
