// SPDX-License-Identifier: Apache-2.0
// Problems from arrays and from CSV, and back.
#include <string>

#include "engine/vocabulary/text_util.h"
#include "frontends/planner/handles.h"
#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/csv.h"

namespace quern::planner {
namespace {

// As in CSV, so that differences of steps fit into 64 bits.
constexpr std::int64_t latest_step = std::int64_t{1} << 60;

Status check_steps(std::string_view name, std::int64_t first, std::int64_t end) {
  for (const std::int64_t step : {first, end})
    if (step < -latest_step || step > latest_step)
      return {Code::invalid_argument, cat("buffer '", printable(name), "': step ", step,
                                          ", wanted one from -2^60 to 2^60")};
  return {};
}

Result<Interval> interval_at(const quern_planner_buffers& b, std::size_t i) {
  if (b.names && !b.names[i])
    return Status(Code::invalid_argument, cat("the name of buffer ", i, " is null"));
  Interval interval{.name = b.names ? std::string(b.names[i]) : std::to_string(i),
                    .size = b.sizes[i],
                    .alignment = b.alignments ? b.alignments[i] : 1,
                    .first = b.firsts[i],
                    .end = b.ends[i],
                    .must_be_zero = b.must_be_zero && b.must_be_zero[i] != 0};
  QUERN_TRY(check_steps(interval.name, interval.first, interval.end));
  if (b.fixed_offsets && b.fixed_offsets[i] != QUERN_PLANNER_ANYWHERE)
    interval.fixed_offset = b.fixed_offsets[i];
  return interval;
}

Status add_gaps(const quern_planner_buffers& b, MemoryProblem& problem) {
  for (std::size_t k = 0; k < b.gap_count; ++k) {
    const quern_planner_gap& g = b.gaps[k];
    if (g.buffer >= b.count)
      return {Code::invalid_argument,
              cat("gap ", k, " is of buffer ", g.buffer, ", there are ", b.count)};
    Interval& interval = problem.intervals[g.buffer];
    QUERN_TRY(check_steps(interval.name, g.first, g.end));
    interval.gaps.push_back({g.first, g.end, g.from, g.to});
  }
  return {};
}

Result<MemoryProblem> problem_of(const quern_planner_buffers& b) {
  const struct {
    const void* array;
    std::string_view name;
    std::size_t count;
  } needed[] = {{b.sizes, "sizes", b.count},
                {b.firsts, "firsts", b.count},
                {b.ends, "ends", b.count},
                {b.gaps, "gaps", b.gap_count},
                {b.banks, "banks", b.bank_count}};
  for (const auto& n : needed)
    if (!n.array && n.count > 0)
      return Status(Code::invalid_argument, cat(n.name, " is null, with ", n.count, " elements"));
  MemoryProblem problem;
  problem.intervals.reserve(b.count);
  for (std::size_t i = 0; i < b.count; ++i) {
    QUERN_ASSIGN(Interval interval, interval_at(b, i));
    problem.intervals.push_back(std::move(interval));
  }
  QUERN_TRY(add_gaps(b, problem));
  QUERN_TRY(read_banks(b, problem));
  return problem;
}

}  // namespace

SharedProblem::SharedProblem(MemoryProblem problem)
    : problem_(std::move(problem)), bound_(lower_bound(problem_)) {
  for (const Interval& i : problem_.intervals) add(i);
  if (!problem_.banks.empty()) add_banks();
}

void SharedProblem::add_banks() {
  for (const Bank& b : problem_.banks)
    banks_.push_back({b.name.c_str(), b.capacity, b.alignment, b.cost, b.reuse});
  for (std::size_t i = 0; i < problem_.intervals.size(); ++i) {
    const BankChoice& choice = choice_of(problem_, i);
    std::uint64_t allowed = 0;
    for (const std::uint32_t b : choice.banks) allowed |= std::uint64_t{1} << b;
    allowed_banks_.push_back(allowed);
    separations_.push_back(choice.separation);
    colocations_.push_back(choice.colocation);
  }
}

void SharedProblem::add(const Interval& interval) {
  for (const Gap& g : interval.gaps) gaps_.push_back({sizes_.size(), g.first, g.end, g.from, g.to});
  sizes_.push_back(interval.size);
  alignments_.push_back(interval.alignment);
  fixed_offsets_.push_back(interval.fixed_offset.value_or(QUERN_PLANNER_ANYWHERE));
  firsts_.push_back(interval.first);
  ends_.push_back(interval.end);
  must_be_zero_.push_back(interval.must_be_zero ? 1 : 0);
  names_.push_back(interval.name.c_str());
}

quern_planner_buffers SharedProblem::arrays() const {
  return {.struct_size = sizeof(quern_planner_buffers),
          .count = sizes_.size(),
          .sizes = sizes_.data(),
          .firsts = firsts_.data(),
          .ends = ends_.data(),
          .alignments = alignments_.data(),
          .fixed_offsets = fixed_offsets_.data(),
          .must_be_zero = must_be_zero_.data(),
          .names = names_.data(),
          .gaps = gaps_.data(),
          .gap_count = gaps_.size(),
          .banks = banks_.data(),
          .bank_count = banks_.size(),
          .allowed_banks = allowed_banks_.data(),
          .separations = separations_.data(),
          .colocations = colocations_.data()};
}

Result<quern_planner_problem*> new_problem(MemoryProblem problem) {
  QUERN_TRY(check(problem));
  return new quern_planner_problem{std::make_shared<const SharedProblem>(std::move(problem))};
}

}  // namespace quern::planner

using namespace quern;           // NOLINT
using namespace quern::planner;  // NOLINT

quern_planner_status quern_planner_problem_create(const quern_planner_buffers* buffers,
                                                  quern_planner_problem** problem) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(buffers);
    QUERN_PLANNER_NOT_NULL(problem);
    quern_planner_buffers arrays{};
    QUERN_TRY(c_api::read_fields(buffers, &arrays));
    QUERN_ASSIGN(MemoryProblem made, problem_of(arrays));
    QUERN_ASSIGN(*problem, new_problem(std::move(made)));
    return {};
  });
}

quern_planner_status quern_planner_problem_read_csv(const char* csv, size_t bytes,
                                                    quern_planner_problem** problem) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(problem);
    QUERN_ASSIGN(const std::string_view text, text_of(csv, bytes, "csv"));
    QUERN_ASSIGN(MemoryProblem read, read_memory_csv(text));
    QUERN_ASSIGN(*problem, new_problem(std::move(read)));
    return {};
  });
}

void quern_planner_problem_destroy(quern_planner_problem* problem) {
  delete problem;
}

quern_planner_status quern_planner_problem_buffers(const quern_planner_problem* problem,
                                                   quern_planner_buffers* buffers) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(problem);
    QUERN_PLANNER_NOT_NULL(buffers);
    return c_api::write_struct(buffers, problem->shared->arrays());
  });
}

uint64_t quern_planner_problem_lower_bound(const quern_planner_problem* problem) {
  return problem ? problem->shared->bound() : 0;
}

quern_planner_status quern_planner_problem_write_csv(const quern_planner_problem* problem,
                                                     quern_planner_text** csv) {
  return entry([&]() -> Status {
    QUERN_PLANNER_NOT_NULL(problem);
    QUERN_PLANNER_NOT_NULL(csv);
    *csv = new_text(write_memory_csv(problem->shared->problem(), nullptr));
    return {};
  });
}
