// SPDX-License-Identifier: Apache-2.0
// Plans by name, plans of the caller's, and pictures of both.
#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "engine/vocabulary/text_util.h"
#include "frontends/planner/handles.h"
#include "graph/memory/picture/plan_picture.h"
#include "graph/memory/problem/csv.h"

namespace quern::planner {
namespace {

Result<const Strategy*> strategy_named(const char* name) {
  if (!name) return &default_strategy();
  if (const Strategy* s = find_strategy(name)) return s;
  std::string known;
  for (const Strategy& s : strategies()) known += cat(known.empty() ? "" : ", ", s.name);
  return Status(Code::not_found, cat("no strategy '", printable(name, 60), "'; there is: ", known));
}

// Where the highest buffer ends.
std::uint64_t end_of(const MemoryProblem& problem, std::span<const std::uint64_t> offsets) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::uint64_t size = problem.intervals[i].size;
    // One that ends beyond all numbers is outside of every arena.
    if (size <= std::numeric_limits<std::uint64_t>::max() - offsets[i])
      end = std::max(end, offsets[i] + size);
  }
  return end;
}

// An arena of 0 bytes: as many as they take.
Result<MemoryPlan> plan_of(const MemoryProblem& problem, std::span<const std::uint64_t> offsets,
                           std::uint64_t bytes) {
  if (offsets.size() != problem.intervals.size())
    return Status(Code::invalid_argument, cat(offsets.size(), " offsets, there are ",
                                              problem.intervals.size(), " buffers"));
  MemoryPlan plan;
  plan.size = bytes ? bytes : end_of(problem, offsets);
  plan.offsets.assign(offsets.begin(), offsets.end());
  if (const Status s = validate(problem, plan); !s.ok())
    return Status(Code::invalid_argument, std::string(s.message()));
  return plan;
}

quern_planner_plan_info info_of(const quern_planner_plan& plan) {
  const MemoryProblem& problem = plan.shared->problem();
  std::uint64_t unshared = 0;
  for (const Interval& i : problem.intervals) unshared += i.size;
  return {.struct_size = sizeof(quern_planner_plan_info),
          .count = plan.answer.plan.offsets.size(),
          .bytes = plan.answer.plan.size,
          .lower_bound = plan.answer.bound,
          .unshared_bytes = unshared,
          .fragmentation = fragmentation(problem, plan.answer.plan),
          .proof = static_cast<quern_planner_proof>(plan.status),
          .bank_count = plan.answer.plan.bank_sizes.size(),
          .cost = plan.answer.cost,
          .cost_bound = plan.answer.cost_bound};
}

PlanPicture picture_of(const quern_planner_plan& plan, const char* title) {
  return {title ? title : "", &plan.shared->problem(), &plan.answer.plan};
}

Result<std::vector<PlanPicture>> pictures_of(const quern_planner_plan* const* plans,
                                             const char* const* titles, std::size_t count) {
  if (count == 0) return Status(Code::invalid_argument, "a page of 0 plans, wanted at least 1");
  std::vector<PlanPicture> pictures;
  for (std::size_t i = 0; i < count; ++i) {
    if (!plans[i]) return Status(Code::invalid_argument, cat("plan ", i, " is null"));
    if (plans[i]->shared != plans[0]->shared)
      return Status(Code::invalid_argument, cat("plan ", i, " is of another problem than plan 0"));
    pictures.push_back(picture_of(*plans[i], titles ? titles[i] : nullptr));
  }
  return pictures;
}

}  // namespace

Result<double> seconds_of(double given, double otherwise) {
  if (given >= 0) return given == 0 ? otherwise : given;
  return Status(Code::invalid_argument,
                cat("seconds is ", given, ", wanted a number that is not negative"));
}

Result<Request> request_of(const quern_planner_options* options) {
  quern_planner_options o{};
  QUERN_TRY(c_api::read_fields(options, &o));
  Request request;
  QUERN_ASSIGN(request.strategy, strategy_named(o.strategy));
  QUERN_ASSIGN(request.limits.seconds, seconds_of(o.seconds, 1));
  if (o.capacity) request.limits.capacity = o.capacity;
  if (o.steps) request.limits.steps = o.steps;
  return request;
}

}  // namespace quern::planner

using namespace quern;           // NOLINT
using namespace quern::planner;  // NOLINT

quern_planner_status quern_planner_solve(const quern_planner_problem* problem,
                                         const quern_planner_options* options,
                                         quern_planner_plan** plan) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(problem);
    QUERN_PLANNER_NOT_NULL(plan);
    QUERN_ASSIGN(const Request request, request_of(options));
    const MemoryProblem& p = problem->shared->problem();
    PlanAnswer answer = request.strategy->plan(p, request.limits);
    if (answer.found == Found::no_plans)
      return {Code::out_of_memory, "no plan fits the banks; give one of them a larger capacity"};
    if (answer.found == Found::nothing)
      return {
          Code::out_of_memory,
          "no plan was found that fits the banks; another strategy, or more seconds, may find one"};
    QUERN_TRY(validate(p, answer.plan));
    const PlanStatus status = status_of(answer, request.limits.capacity);
    *plan = new quern_planner_plan{problem->shared, std::move(answer), status};
    return {};
  });
}

quern_planner_status quern_planner_plan_from_offsets(const quern_planner_problem* problem,
                                                     const uint64_t* offsets, size_t count,
                                                     uint64_t bytes, quern_planner_plan** plan) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(problem);
    QUERN_PLANNER_NOT_NULL(plan);
    if (!offsets && count > 0)
      return {Code::invalid_argument, cat("offsets is null, with ", count, " elements")};
    QUERN_ASSIGN(MemoryPlan made, plan_of(problem->shared->problem(), {offsets, count}, bytes));
    PlanAnswer answer{std::move(made), problem->shared->bound()};
    const PlanStatus status = status_of(answer);
    *plan = new quern_planner_plan{problem->shared, std::move(answer), status};
    return {};
  });
}

quern_planner_status quern_planner_plan_from_places(const quern_planner_problem* problem,
                                                    const uint64_t* offsets, const uint32_t* banks,
                                                    size_t count, quern_planner_plan** plan) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(problem);
    QUERN_PLANNER_NOT_NULL(plan);
    if ((!offsets || !banks) && count > 0)
      return {Code::invalid_argument,
              cat(offsets ? "banks" : "offsets", " is null, with ", count, " elements")};
    const MemoryProblem& p = problem->shared->problem();
    if (p.banks.empty())
      return {Code::invalid_argument, "banks of buffers, and the problem has none"};
    QUERN_ASSIGN(PlanAnswer answer, answer_over_banks(p, {offsets, count}, {banks, count}));
    const PlanStatus status = status_of(answer);
    *plan = new quern_planner_plan{problem->shared, std::move(answer), status};
    return {};
  });
}

void quern_planner_plan_destroy(quern_planner_plan* plan) {
  delete plan;
}

quern_planner_status quern_planner_plan_get_info(const quern_planner_plan* plan,
                                                 quern_planner_plan_info* info) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(plan);
    QUERN_PLANNER_NOT_NULL(info);
    return c_api::write_struct(info, info_of(*plan));
  });
}

const uint64_t* quern_planner_plan_offsets(const quern_planner_plan* plan) {
  return plan ? plan->answer.plan.offsets.data() : nullptr;
}

const uint32_t* quern_planner_plan_banks(const quern_planner_plan* plan) {
  return plan && !plan->answer.plan.banks.empty() ? plan->answer.plan.banks.data() : nullptr;
}
const uint64_t* quern_planner_plan_bank_sizes(const quern_planner_plan* plan) {
  return plan && !plan->answer.plan.banks.empty() ? plan->answer.plan.bank_sizes.data() : nullptr;
}

quern_planner_status quern_planner_plan_write_csv(const quern_planner_plan* plan,
                                                  quern_planner_text** csv) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(plan);
    QUERN_PLANNER_NOT_NULL(csv);
    *csv = new_text(write_memory_csv(plan->shared->problem(), &plan->answer.plan));
    return {};
  });
}

quern_planner_status quern_planner_plan_draw_svg(const quern_planner_plan* plan, const char* title,
                                                 quern_planner_text** svg) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(plan);
    QUERN_PLANNER_NOT_NULL(svg);
    *svg = new_text(plan_svg(picture_of(*plan, title)));
    return {};
  });
}

quern_planner_status quern_planner_draw_page(const char* title,
                                             const quern_planner_plan* const* plans,
                                             const char* const* titles, size_t count,
                                             quern_planner_text** html) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(plans);
    QUERN_PLANNER_NOT_NULL(html);
    QUERN_ASSIGN(const std::vector<PlanPicture> pictures, pictures_of(plans, titles, count));
    *html = new_text(plan_page(title ? title : "", pictures, {}));
    return {};
  });
}
