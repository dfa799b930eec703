// SPDX-License-Identifier: Apache-2.0
// The kernels of a model as problems: each distinct one with how often a run calls it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/console.h"
#include "tools/kernel/problem.h"
#include "tools/kernel/statistics.h"
#include "tools/opened.h"
#include "tools/options.h"

namespace quern::tools::lab {

class ModelKernels {
 public:
  // Opens the model on the first device, and makes a problem of each node of its graph that a run
  // calls a kernel for, after the passes, in the shapes of the inputs. Errors: those of opening.
  static Result<ModelKernels> open(const KernelArgs& args, const Console& console);

  const std::string& name() const { return name_; }
  const std::vector<Problem>& problems() const { return problems_; }
  // Kernels that no problem stands for, with the reason.
  const std::vector<std::string>& left_out() const { return left_out_; }

  // Runs the model for so many seconds, beside what was measured before.
  Status time_runs(double seconds);
  MedianInterval wall() const { return median_interval(wall_us_); }
  MedianInterval processor() const { return median_interval(processor_us_); }
  // Of a run: what problems stand for, what brings values into other layouts, and other kernels.
  double covered_us() const { return covered_us_; }
  double reorders_us() const { return reorders_us_; }
  double others_us() const { return others_us_; }
  // The bytes that a run touches, each once: those of its steps, or the weights and the arena where
  // that is less.
  std::size_t touched_bytes() const { return touched_bytes_; }

 private:
  Status collect(const Graph& graph);

  std::string name_;
  Opened opened_;
  std::vector<Problem> problems_;
  std::vector<std::string> left_out_;
  std::vector<double> wall_us_, processor_us_;
  std::size_t touched_bytes_ = 0;
  double covered_us_ = 0, reorders_us_ = 0, others_us_ = 0;
};

// The kernels of a model, each as often as a run calls it.
struct ModelSum {
  double wall_us = 0;
  double processor_us = 0;
  bool is_believed = true;  // all of them
};
std::string model_text(const ModelKernels& model, const ModelSum& sum);
Json model_json(const ModelKernels& model, const ModelSum& sum);

}  // namespace quern::tools::lab
