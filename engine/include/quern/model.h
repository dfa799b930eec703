// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <quern/dtype.h>
#include <quern/status.h>

namespace quern {

class Graph;

// One input or output of a model, as the model declares it.
struct ValueSpec {
  enum class Kind : std::uint8_t { tensor, sequence, optional_tensor, optional_sequence };

  std::string name;
  Kind kind = Kind::tensor;
  DType dtype = DType::f32;
  bool has_rank = true;              // false: the rank is open and `dims` is empty
  std::vector<std::int64_t> dims;    // -1: free
  std::vector<std::string> symbols;  // one per dimension; "" for numbers and unnamed free ones

  // A map is two tensors: this one holds the values, and the input or output of the index `keys`
  // the key of each, in the same order ([n], integers or strings). Values [n] are one map, values
  // [rows, n] one for each row, with the same keys. Behind those that the model names. no_keys:
  // this is no map's values.
  static constexpr std::size_t no_keys = static_cast<std::size_t>(-1);
  std::size_t keys = no_keys;

  bool is_map() const { return keys != no_keys; }
  bool is_sequence() const { return kind == Kind::sequence || kind == Kind::optional_sequence; }
  bool is_optional() const {
    return kind == Kind::optional_tensor || kind == Kind::optional_sequence;
  }
};

struct ModelMetadata {
  std::int64_t ir_version = 0;
  std::string producer_name, producer_version, domain, description, graph_name;
  std::int64_t model_version = 0;
  std::vector<std::pair<std::string, std::int64_t>> opsets;     // domain, version
  std::vector<std::pair<std::string, std::string>> properties;  // metadata_props
};

// A model that is not yet compiled for a device. load_onnx() and GraphBuilder make one, and
// compile() consumes it. Movable; one thread at a time.
class Model {
 public:
  // `bytes`: what reading the graph took, for bytes().
  Model(std::unique_ptr<Graph> graph, ModelMetadata metadata, std::size_t bytes = 0);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  std::vector<ValueSpec> inputs() const;
  std::vector<ValueSpec> outputs() const;
  const ModelMetadata& metadata() const { return metadata_; }
  // The graph as text; constants with more than `max_elements` elements are left out.
  std::string text(std::size_t max_elements = 16) const;
  Model clone() const;
  // The bytes of the graph with the constants that were decoded, but not of the file; 0 if the
  // graph was built.
  std::size_t bytes() const { return bytes_; }

  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }

 private:
  std::unique_ptr<Graph> graph_;
  ModelMetadata metadata_;
  std::size_t bytes_ = 0;
};

}  // namespace quern
