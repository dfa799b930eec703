// SPDX-License-Identifier: Apache-2.0
// An ONNX model as messages, and parts cut out of it. Values are known by their names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/write.h"
#include "tools/inputs.h"

namespace quern::tools {

// Values by name.
using KnownValues = std::map<std::string, InputValue, std::less<>>;

// Some nodes of a model, and which of the values that they make are handed out. What they read and
// do not make is given.
struct Cut {
  // How to pass the values of removed nodes: always as inputs; or as constants if they may be
  // shapes or axes (integers of rank 0 or 1), which plans know as long as the nodes are present.
  enum class Given : std::uint8_t { shapes_as_constants, as_inputs };

  std::vector<std::uint32_t> nodes;  // places in the execution order, ascending
  std::vector<std::string> outputs;
  Given given = Given::shapes_as_constants;
};

class SourceModel {
 public:
  // A file, or a folder with a model.onnx. Errors: those of reading one.
  static Result<SourceModel> open(const std::string& path);
  // From memory; external data is looked for in `folder`.
  static Result<SourceModel> parse(std::shared_ptr<const std::string> bytes, std::string folder);

  std::size_t node_count() const { return order_.size(); }
  const onnx::NodeProto& node(std::uint32_t at) const { return graph().nodes[order_[at]]; }
  // "'conv1' (Conv)"
  std::string label(std::uint32_t at) const;
  // Values that the node reads; constants of the model are none.
  std::vector<std::string> reads(std::uint32_t at) const;
  std::vector<std::string> makes(std::uint32_t at) const;
  std::optional<std::uint32_t> maker(std::string_view value) const;
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::string& folder() const { return folder_; }

  Cut whole() const;       // with the model's outputs
  Cut all_values() const;  // with everything that nodes make
  // The cut without nodes that no output needs.
  Cut pruned(const Cut& cut) const;
  // The values that the cut takes, in the order of its inputs.
  std::vector<std::string> inputs_of(const Cut& cut, const KnownValues& known) const;

  // Constants in files of their own stay there, or are written into the model.
  enum class External : std::uint8_t { beside, inside };
  // The cut as a model. A value that is given has the type that it has in `known`; inputs of the
  // model keep what the model declares. Errors: a value is not known, external data is missing.
  Result<std::string> bytes(const Cut& cut, const KnownValues& known,
                            External external = External::beside) const;

 private:
  SourceModel() = default;
  Status index();
  std::vector<std::string> wanted_by(const Cut& cut) const;
  bool is_shape(const Cut& cut, const std::string& name, const KnownValues& known) const;
  const onnx::GraphProto& graph() const { return proto_.graph.front(); }
  const onnx::ValueInfo* declared(const std::vector<onnx::ValueInfo>& list,
                                  std::string_view name) const;
  Status add_constants(onnx::GraphProto& g, const std::set<std::string_view>& names,
                       External external, std::vector<Tensor>& kept, onnx::TextPool& pool) const;

  std::shared_ptr<const void> owner_;
  std::string folder_;
  onnx::ModelProto proto_;
  std::vector<std::uint32_t> order_;
  std::vector<std::string> inputs_;
  std::set<std::string_view> constants_;
  std::map<std::string_view, std::uint32_t> makers_;
};

// The message that says what the value is.
onnx::TypeProto type_message(const InputValue& value);

}  // namespace quern::tools
