// SPDX-License-Identifier: Apache-2.0
// A registered operator, and one with the attributes of a node.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/c/custom_op.h>
#include <quern/status.h>

#include "graph/custom/attributes.h"

namespace quern {

// A copy of what the host registered, strings included.
class RegisteredOperator {
 public:
  // `library` is kept as long as this. Errors: invalid_argument, with the field.
  static Result<std::shared_ptr<RegisteredOperator>> make(const quern_custom_op& op,
                                                          std::shared_ptr<void> library);
  ~RegisteredOperator();
  RegisteredOperator(const RegisteredOperator&) = delete;
  RegisteredOperator& operator=(const RegisteredOperator&) = delete;

  // Its strings are those below.
  const quern_custom_op& functions() const { return op_; }
  const std::string& domain() const { return domain_; }  // "" is ai.onnx
  const std::string& name() const { return name_; }
  bool is(std::uint32_t flag) const { return (op_.flags & flag) != 0; }
  bool is_for(std::int64_t opset) const;
  bool knows_attribute(std::string_view name) const;
  // From now on the host's `release` is called at the end.
  void own() { is_owned_ = true; }

 private:
  RegisteredOperator() = default;

  quern_custom_op op_ = {};
  std::string domain_;
  std::string name_;
  std::vector<std::string> attributes_;
  bool takes_any_attribute_ = true;
  bool is_owned_ = false;
  std::shared_ptr<void> library_;
};

// Immutable; any thread.
class BoundOperator {
 public:
  BoundOperator(std::shared_ptr<const RegisteredOperator> definition,
                std::vector<CustomAttribute> attributes)
      : definition_(std::move(definition)), attributes_(std::move(attributes)) {}

  const RegisteredOperator& definition() const { return *definition_; }
  const quern_custom_op& functions() const { return definition_->functions(); }
  const CustomAttribute* find(std::string_view name) const;

 private:
  std::shared_ptr<const RegisteredOperator> definition_;
  std::vector<CustomAttribute> attributes_;
};

}  // namespace quern
