// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime through the few functions of its C interface that a comparison needs. The library is
// opened at run time; no header of it is used. Its interface is a table of functions whose order never
// changes: the positions below are those of version 1 of the table, which every release serves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

namespace quern::bench {

class OrtSession {
 public:
  // `library`: path of libonnxruntime.so.1.
  static Result<std::unique_ptr<OrtSession>> create(const std::string& library,
                                                    const std::string& model, int threads);
  ~OrtSession();

  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  // Inputs in the order of input_names(); their bytes stay where they are.
  Status set_inputs(const std::vector<Tensor>& inputs);
  Status run();

 private:
  OrtSession();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::bench
