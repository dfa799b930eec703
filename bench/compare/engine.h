// SPDX-License-Identifier: Apache-2.0
// An engine has one model open; the engines that are compared share this interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

namespace quern::bench {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// A tensor as a file of the ONNX test data.
struct TensorFile {
  std::string name, path;
};

struct EngineOptions {
  std::string engine = "quern";  // or "ort"
  std::string library;           // ONNX Runtime's
  std::string device = "cpu";    // quern's; ONNX Runtime runs on the CPU
  std::string model;
  int threads = 1;
  bool spinning = true;      // ONNX Runtime's pool
  std::string math = "f32";  // quern's (CompileOptions::math)
};

// These times pass before the first answer is there, in milliseconds.
struct ColdTimes {
  double library_ms = 0;  // to open the engine's own library; quern is linked into the program
  double load_ms = 0;     // from the model's file to something that runs
  double first_run_ms = 0;

  double total_ms() const { return library_ms + load_ms + first_run_ms; }
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Status run() = 0;
  virtual Result<std::vector<NamedTensor>> outputs() = 0;  // of the last run
};

// Loads the model, binds the inputs and runs once.
Result<std::unique_ptr<Engine>> open_engine(const EngineOptions& options,
                                            const std::vector<TensorFile>& inputs,
                                            ColdTimes& times);

Result<NamedTensor> read_tensor(const TensorFile& file);
Status write_tensor(const TensorFile& file, const Tensor& tensor);

}  // namespace quern::bench
