// SPDX-License-Identifier: Apache-2.0
// Implementations of operators that are chosen by measuring: which is the fastest for which work
// on this machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern {

class Model;
class Session;
struct CompileOptions;

// Immutable once it is shared; then any thread.
class Tuning {
 public:
  struct Candidate {
    std::string entry;  // the name of an implementation: StepInfo::entries
    double us = 0;      // microseconds in the model, with what its layouts cost
  };
  struct Row {
    std::string work;                   // StepInfo::work
    std::string entry;                  // the one that is taken
    std::vector<Candidate> candidates;  // in the order of their names
  };

  Tuning();
  Tuning(const Tuning&);
  Tuning(Tuning&&) noexcept;
  Tuning& operator=(Tuning&&) noexcept;
  ~Tuning();

  // Reads what save() wrote. A file that is not there, and one of another machine, another oneDNN
  // or another version of quern, give an empty tuning. Errors: invalid_argument, if it is
  // no such file, with the line.
  static Result<Tuning> load(const std::string& path);
  // Replaces the file as a whole. Errors: invalid_argument, with the system's reason.
  Status save(const std::string& path) const;
  // $XDG_CACHE_HOME/quern/cpu-tuning.txt, or below ~/.cache, on Windows below %LOCALAPPDATA%;
  // empty: there is no such folder.
  static std::string usual_path();

  std::size_t size() const;
  // Null: the work was not measured. Valid until the next set().
  const Row* find(std::string_view work) const;
  // Replaces what is known of the same work. At most 100,000 works are kept; later ones are not.
  void set(Row row);

  struct Impl;

 private:
  friend const Impl& impl_of(const Tuning& tuning);
  std::unique_ptr<Impl> impl_;
};

struct TuneOptions {
  // Work that is not measured by then keeps the implementation that it has.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  int rounds = 15;  // in each of which a model runs once with every implementation; 1 to 1,000
  // Called before each model that is measured, with what it is, for whoever waits; may be empty.
  std::function<void(std::string_view)> progress;
};

struct TuneReport {
  std::size_t measured = 0;  // works that had a choice and were not known yet, the plan among them
  std::size_t changed = 0;   // of these, with another implementation than without tuning
  // The sum of the least times of all kernels, in microseconds, as it was and as it is now.
  double before_us = 0;
  double after_us = 0;
  bool is_complete = true;  // false: the deadline came first
  // Not 0: the plan is faster in stripes of rows, in at most so many percent of the arena of whole
  // tensors. Least times of a run by whole tensors and in these stripes, in microseconds.
  unsigned stripes = 0;
  double whole_us = 0;
  double striped_us = 0;
};

// Measures the implementations that the operators of a model have on the CPU, in the model itself,
// as one that is compiled with `options` runs them, and adds the fastest to `tuning`. `bind` sets
// the inputs of a session; their bytes stay until tune() has returned. Each choice that does not
// make the whole run faster is taken back. A plan of one segment whose arena is at least 1 MiB is
// tried in stripes of rows, too (CompileOptions::arena_limit), which may take seconds to plan, here
// and whenever the model is compiled with this tuning. Works that `tuning` knows are not measured
// again. Results may differ in their last digits between implementations. Takes as long as some
// hundred runs, and the memory of two executables. One thread at a time, on a machine that does
// little else. Errors: those of compile(), of `bind` and of run().
Result<TuneReport> tune(const Model& model, const CompileOptions& options,
                        const std::function<Status(Session&)>& bind, Tuning& tuning,
                        const TuneOptions& how = {});

}  // namespace quern
