// SPDX-License-Identifier: Apache-2.0
// The structures behind the handles of c/planner.h, and the exception barrier of its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/c/planner.h>
#include <quern/status.h>

#include "engine/c_api/struct_sizes.h"
#include "engine/vocabulary/guarded.h"
#include "graph/memory/problem/plan.h"
#include "graph/memory/problem/trace.h"

namespace quern::c_api {

QUERN_STRUCT_SIZES(quern_planner_buffers, offsetof(quern_planner_buffers, banks));
QUERN_STRUCT_SIZES(quern_planner_options);
QUERN_STRUCT_SIZES(quern_planner_plan_info, offsetof(quern_planner_plan_info, bank_count));
QUERN_STRUCT_SIZES(quern_planner_static_peak);
QUERN_STRUCT_SIZES(quern_planner_pool_options);
QUERN_STRUCT_SIZES(quern_planner_pool_figures);

}  // namespace quern::c_api

namespace quern::planner {

// Keeps the sentence for quern_planner_last_error(); allocates nothing.
quern_planner_status report(const Status& status) noexcept;

// Runs the body of a function that can fail: a lambda that returns a Status.
template <class F>
quern_planner_status entry(const F& body) noexcept {
  return report(guarded(body));
}

Status null_argument(const char* name);
#define QUERN_PLANNER_NOT_NULL(argument) \
  if (!(argument)) return null_argument(#argument)

// The text between `data` and `data + bytes`, which may be null without bytes.
Result<std::string_view> text_of(const char* data, std::size_t bytes, std::string_view name);
// A handle of its own for a text.
quern_planner_text* new_text(std::string text);
// A problem that check() has passed, with its arrays.
Result<quern_planner_problem*> new_problem(MemoryProblem problem);

// Adds the banks of the arrays, and the choices of buffers among them. Errors: those of arrays that
// make no sense; unsupported in a library of one memory.
Status read_banks(const quern_planner_buffers& buffers, MemoryProblem& problem);
// A plan of the caller's places, each bank as large as what lies in it takes, and its cost. Errors:
// invalid_argument.
Result<PlanAnswer> answer_over_banks(const MemoryProblem& problem,
                                     std::span<const std::uint64_t> offsets,
                                     std::span<const std::uint32_t> banks);

// What a call of a strategy needs of the options, checked.
struct Request {
  const Strategy* strategy = nullptr;
  PlanLimits limits;
};
Result<Request> request_of(const quern_planner_options* options);
// `given` or, where it is 0, `otherwise`. Errors: a number that is negative or none.
Result<double> seconds_of(double given, double otherwise);

// A problem that does not change any more, and the same as arrays.
class SharedProblem {
 public:
  explicit SharedProblem(MemoryProblem problem);
  SharedProblem(const SharedProblem&) = delete;
  SharedProblem& operator=(const SharedProblem&) = delete;

  const MemoryProblem& problem() const { return problem_; }
  std::uint64_t bound() const { return bound_; }
  quern_planner_buffers arrays() const;

 private:
  void add(const Interval& interval);
  void add_banks();

  MemoryProblem problem_;
  std::uint64_t bound_;
  std::vector<std::uint64_t> sizes_, alignments_, fixed_offsets_;
  std::vector<std::int64_t> firsts_, ends_;
  std::vector<std::uint8_t> must_be_zero_;
  std::vector<const char*> names_;
  std::vector<quern_planner_gap> gaps_;
  std::vector<quern_planner_bank> banks_;
  std::vector<std::uint64_t> allowed_banks_;
  std::vector<std::uint32_t> separations_, colocations_;
};

}  // namespace quern::planner

struct quern_planner_text {
  std::string text;
};

struct quern_planner_problem {
  std::shared_ptr<const quern::planner::SharedProblem> shared;
};

struct quern_planner_plan {
  std::shared_ptr<const quern::planner::SharedProblem> shared;
  quern::PlanAnswer answer;
  quern::PlanStatus status = quern::PlanStatus::unknown;
};

struct quern_planner_trace {
  quern::MemoryTrace trace;
};
