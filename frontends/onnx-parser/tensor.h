// SPDX-License-Identifier: Apache-2.0
// ONNX tensors as quern tensors. Raw and external payloads are aliased, whatever their alignment;
// typed fields, elements smaller than a byte and sparse tensors are decoded into memory of their
// own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <quern/status.h>
#include <quern/tensor.h>

#include "frontends/onnx-parser/file.h"
#include "frontends/onnx-parser/proto.h"
#include "graph/type.h"

namespace quern::onnx {

// Converts TensorProto.DataType 1, 2, ... to DType. Errors: unsupported for complex numbers and
// unknown types.
Result<DType> dtype_of(std::int64_t onnx_type);
std::int32_t onnx_type_of(DType dtype);

// Memory that one import may take beyond the file itself.
class MemoryBudget {
 public:
  // Selects whether files of external data raise the limit.
  enum class Kind : std::uint8_t { raised_by_files, fixed };
  // `stop` (it may be null) ends what charges with its error.
  explicit MemoryBudget(std::size_t bytes, Kind kind = Kind::raised_by_files,
                        const Stop* stop = nullptr)
      : left_(bytes), limit_(bytes), kind_(kind), stop_(stop), check_(stop) {}
  void add_file(std::size_t file_bytes) {
    if (kind_ == Kind::fixed) return;
    const std::size_t bytes = 8 * file_bytes;
    left_ += bytes;
    limit_ += bytes;
  }
  Status charge(std::uint64_t bytes);
  std::size_t charged() const { return limit_ - left_; }

 private:
  std::size_t left_;
  std::size_t limit_;
  Kind kind_;
  const Stop* stop_;
  StopCheck check_;
};

class TensorDecoder {
 public:
  // Tensors keep `owner` alive, which holds the bytes that the messages view.
  TensorDecoder(std::shared_ptr<const void> owner, ConfinedFolder folder, MemoryBudget& budget)
      : owner_(std::move(owner)), folder_(std::move(folder)), budget_(budget) {}

  Result<Tensor> decode(const TensorProto& proto);
  // Returns the dense form, with zeros for elements that are not given.
  Result<Tensor> decode(const SparseTensorProto& proto);

 private:
  struct Header {
    TensorType type;
    std::int64_t elements = 0;
  };
  Result<Header> header(const TensorProto& proto) const;
  Result<Tensor> decode_checked(const TensorProto& proto);
  Result<Tensor> decode_bytes(const Header& h, std::string_view bytes,
                              const std::shared_ptr<const void>& owner);
  Result<Tensor> decode_external(const Header& h, const TensorProto& proto);
  Result<Tensor> decode_fields(const Header& h, const TensorProto& proto);
  Result<Tensor> decode_strings(const Header& h, const TensorProto& proto);
  Result<Tensor> decode_sparse(const SparseTensorProto& proto);
  Result<Tensor> room(const TensorType& type);

  std::shared_ptr<const void> owner_;
  ConfinedFolder folder_;
  MemoryBudget& budget_;
};

}  // namespace quern::onnx
