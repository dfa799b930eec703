// SPDX-License-Identifier: Apache-2.0
// Operators of the host (quern/c/custom_op.h), for models that are read with them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <quern/c/custom_op.h>
#include <quern/status.h>

namespace quern {

// A registered operator, as lists show it.
struct CustomOpInfo {
  std::string domain;  // "" is ai.onnx
  std::string name;
  std::int64_t first_opset = 0;  // 0: no bound
  std::int64_t last_opset = 0;
  bool has_reference = false;
  bool is_deterministic = false;
};

// A registry that a host makes and passes on where models are read (OnnxOptions::ops,
// LoadOptions::ops): there is no global one, so that tenants have their own. Where it names an
// operator that the engine or the model has, too, the registered one is taken. Models, and what is
// compiled from them, keep the operators that they use. Any thread.
class CustomOps {
 public:
  CustomOps();
  ~CustomOps();
  CustomOps(const CustomOps&) = delete;
  CustomOps& operator=(const CustomOps&) = delete;

  // Copies `op`, with its strings. Errors: invalid_argument, with the field; also for a name whose
  // opsets overlap with those of one that is there. `op.release` is not called then.
  Status add(const quern_custom_op& op);
  // Opens a shared object and lets its quern_register_ops() add to this. All or none of its
  // operators are added; it stays open as long as one exists. Errors: not_found (no such file),
  // invalid_argument (no shared object, without the function, or the function's error).
  Status load(const std::string& path);
  // In the order in which they were added.
  std::vector<CustomOpInfo> list() const;

  struct Impl;  // graph/custom/registry.h
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
