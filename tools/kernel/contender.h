// SPDX-License-Identifier: Apache-2.0
// One way to compute a problem, ready to be called and timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/session.h>
#include <quern/status.h>

#include "tools/kernel/answers.h"
#include "tools/kernel/clocks.h"
#include "tools/kernel/cold.h"

namespace quern::tools::lab {

// The time of the kernel in one call, in microseconds.
struct Sample {
  double wall_us = 0;
  double processor_us = 0;  // of all threads; 0 on a device
};

struct ContenderInfo {
  std::string name;            // "onednn", "rows", "reference"; of a device its name
  std::string device;          // "cpu", "vulkan:0"
  std::string implementation;  // as profiles have it
  std::string layouts;
  int threads = 1;
  bool is_on_host = true;  // the CPU computes it
  double flops = 0;        // of a call
  double bytes = 0;        // inputs, weights and outputs once
};

struct ContenderOptions {
  std::string name;
  std::string entry;  // the implementation that must compute it (StepInfo::entry); "": any
  CompileOptions compile;
  bool with_reorders = false;       // what brings operands into a kernel's layouts counts
  CacheEvictor* evictor = nullptr;  // null: warm
  // Read before the inputs of a call are written, but for as many bytes as the call itself touches;
  // null: nothing is read between calls.
  const OtherMemory* others = nullptr;
  std::size_t between_bytes = 0;   // of `others` and of the call together
  const Clocks* clocks = nullptr;  // null: the system's
  std::uint64_t seed = 1;
};

class Contender {
 public:
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  const ContenderInfo& info() const { return info_; }
  // The names of all implementations of the operator that is measured, and that of this one.
  const std::vector<std::string>& entries() const { return entries_; }
  const std::string& entry() const { return entry_; }

  // One call that is timed and checked, with inputs drawn anew. Warm: behind a call with other
  // inputs, unless a call takes very long. An error is a reason to believe no time of this
  // contender: the answer is wrong, inputs were written, other threads worked, clocks disagree, or
  // another kernel ran than it says.
  virtual Result<Sample> call() = 0;
  // Calls in a row for so many seconds, at least one, with nothing between them; returns how many.
  // The answer of the last one is checked.
  virtual Result<std::int64_t> repeat(double seconds) = 0;
  // Whether threads of its process use the processor while nobody has asked for anything.
  virtual Status check_idle() = 0;

 protected:
  Contender() = default;

  ContenderInfo info_;
  std::vector<std::string> entries_;
  std::string entry_;
};

// A contender in this process.
class LocalContender final : public Contender {
 public:
  // `answers` must outlive it. Errors: those of compiling, and unsupported where passes leave
  // nothing of the operator.
  static Result<std::unique_ptr<Contender>> make(const Model& model, std::shared_ptr<Device> device,
                                                 const Answers& answers, ContenderOptions options);

  Result<Sample> call() override;
  Result<std::int64_t> repeat(double seconds) override;
  Status check_idle() override;

 private:
  LocalContender(const Answers& answers, ContenderOptions options);
  Status bind();
  Status describe();
  std::size_t other_set(std::size_t set);
  void load(std::size_t set);
  void spoil(std::size_t set);
  Status check_clocks(const Moment& begin, const Moment& end, double steps_us);
  Status check_workers(double process_us, double session_us);
  Status check_answer(std::size_t set);
  void keep_answer();
  Result<Sample> timed(std::size_t set);
  Result<Sample> kernel_time(const std::vector<Session::Timing>& timings) const;
  bool counts(const StepInfo& step) const;

  const Answers& answers_;
  ContenderOptions options_;
  const Clocks& clocks_;
  std::mt19937_64 random_;
  std::vector<Tensor> inputs_;   // that are bound; each call has other numbers there
  std::vector<Tensor> outputs_;  // that are bound
  std::vector<Tensor> copies_;   // of outputs, right after the call
  std::unique_ptr<Session> session_;
  std::size_t last_set_ = 0;
  double last_us_ = 0;
  double wall_sum_us_ = 0;
  double other_sum_us_ = 0;
  double slack_sum_us_ = 0;
  double session_sum_us_ = 0;
  double hidden_sum_us_ = 0;
};

}  // namespace quern::tools::lab
