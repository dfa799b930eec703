// SPDX-License-Identifier: Apache-2.0
// An ONNX file whose message is changed and written again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <quern/custom_ops.h>
#include <quern/model.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/write.h"
#include "graph/graph.h"

namespace quern::tools {

// Its own name, or that of its first output.
std::string_view node_name(const onnx::NodeProto& node);
// "Conv", "com.microsoft.Gelu"
std::string operator_name(const onnx::NodeProto& node);

class EditedModel {
 public:
  // `path` is a file, or a folder with a model.onnx. External data is read into the model. Errors:
  // not_found, invalid_model, unsupported.
  static Result<EditedModel> open(const std::string& path,
                                  std::shared_ptr<const CustomOps> ops = nullptr);
  // From memory; external data is looked for in `folder`.
  static Result<EditedModel> parse(std::shared_ptr<const std::string> bytes, std::string folder,
                                   std::shared_ptr<const CustomOps> ops = nullptr);

  onnx::ModelProto& message() { return message_; }
  const onnx::ModelProto& message() const { return message_; }
  onnx::GraphProto& graph() { return message_.graph[0]; }
  const onnx::GraphProto& graph() const { return message_.graph[0]; }
  // The opset of a domain that the model imports; 0: it imports none.
  std::int64_t opset(std::string_view domain) const;
  void set_opset(std::int64_t version);  // of ai.onnx
  void import_domain(std::string_view domain, std::int64_t version);

  // An initializer, or the value of a Constant node, by name; null: neither. One that is an input,
  // too, which callers may replace in a run, counts as the constant that it is by default.
  const Tensor* constant(std::string_view name) const;
  // Adds an initializer under a name like `stem` that nothing has yet; returns the name.
  std::string_view add_constant(Tensor tensor, const std::string& stem);
  std::string_view fresh_name(const std::string& stem);
  // The tensor as a message of this model, which keeps it.
  onnx::TensorProto message_of(Tensor tensor, std::string_view name);
  std::string_view keep(std::string text) { return texts_->keep(std::move(text)); }
  // Removes initializers and Constant nodes that nothing reads any more, with the inputs of their
  // names.
  void drop_unread_constants();

  std::string bytes() const { return onnx::write_model(message_); }
  // As it stands. The bytes are written and read again.
  Result<Model> model() const;
  // As it stands, without writing it; its constants view this model's memory. `values` receives the
  // value of each name of the main graph.
  Result<Graph> import(std::map<std::string, ValueId, std::less<>>& values) const;
  // The same of another message over the same bytes, such as one of its nodes alone.
  Result<Graph> import_other(const onnx::ModelProto& message) const;

 private:
  Status read_constants();
  Result<Graph> import_message(const onnx::ModelProto& message,
                               std::map<std::string, ValueId, std::less<>>* values) const;

  std::shared_ptr<const std::string> file_;  // that the message views
  std::string folder_;
  std::shared_ptr<const CustomOps> ops_;  // that its nodes may name; null: none
  onnx::ModelProto message_;
  std::shared_ptr<onnx::TextPool> texts_ = std::make_shared<onnx::TextPool>();
  // That messages view, where they are when this is moved.
  std::unique_ptr<std::deque<Tensor>> tensors_ = std::make_unique<std::deque<Tensor>>();
  std::unordered_map<std::string_view, const Tensor*> constants_;
  std::unordered_set<std::string_view> names_;
};

}  // namespace quern::tools
