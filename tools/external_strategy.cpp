// SPDX-License-Identifier: Apache-2.0
#include "tools/external_strategy.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include <quern/c/strategy.h>

#include "engine/vocabulary/platform/libraries.h"
#include "engine/vocabulary/platform/programs.h"
#include "engine/vocabulary/text_util.h"
#include "graph/memory/banks/bank_packing.h"
#include "graph/memory/problem/csv.h"
#include "tools/children.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view exec_prefix = "exec:";
constexpr std::string_view so_prefix = "so:";
constexpr double grace_s = 2;  // beyond the time limit

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    if (space != 0) words.emplace_back(text.substr(0, space));
    if (space == text.npos) break;
    text.remove_prefix(space + 1);
  }
  return words;
}

// ---- a program ---------------------------------------------------------------------------------

using platform::Program;

// Feeds it `text` and reads until it closes its output, which may be four times as long.
Result<std::string> talk(Program& program, std::string_view text, Clock::time_point deadline) {
  std::string answer;
  const std::size_t most = 4 * text.size() + (std::size_t{1} << 20);
  while (true) {
    if (text.empty()) program.close_input();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return Status(Code::busy, "it was stopped: its time is over");
    if (program.move(text, answer, left) == Program::Moved::closed) return answer;
    if (answer.size() > most)
      return Status(Code::invalid_argument, cat("its answer is longer than ", most, " bytes"));
  }
}

// After talk().
Status finish(Program& program, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  const auto exit = program.wait(left);
  if (!exit) return {Code::busy, "it was stopped: its time is over"};
  if (exit->how == platform::Exit::How::signalled)
    return {Code::invalid_argument, cat("it ended by ", exit->described)};
  if (exit->code == Program::not_started)
    return {Code::not_found, "it could not be started: is it there, and executable?"};
  if (exit->code != 0) return {Code::invalid_argument, cat("it ended with exit code ", exit->code)};
  return {};
}

// Ids are numbers, as names need not be unique.
std::string csv_of(MemoryProblem problem) {
  for (std::size_t i = 0; i < problem.intervals.size(); ++i)
    problem.intervals[i].name = std::to_string(i);
  return write_memory_csv(problem, nullptr);
}

// The bank of the problem that a row of the answer names.
Result<std::uint32_t> bank_in(const MemoryProblem& problem, const MemoryProblem& answer,
                              std::size_t row) {
  if (answer.choices.empty() || answer.choices[row].banks.size() != 1)
    return Status(Code::invalid_argument,
                  cat("its answer has no bank for buffer ", answer.intervals[row].name));
  const std::string& name = answer.banks[answer.choices[row].banks[0]].name;
  const auto at = std::ranges::find(problem.banks, name, &Bank::name);
  if (at == problem.banks.end())
    return Status(Code::invalid_argument,
                  cat("its answer has a bank '", printable(name), "' that was not given"));
  return static_cast<std::uint32_t>(at - problem.banks.begin());
}

Result<MemoryPlan> plan_from_csv(const MemoryProblem& problem, std::string_view text) {
  QUERN_ASSIGN(const MemoryProblem answer, read_memory_csv(text));
  MemoryPlan plan{std::vector<std::uint64_t>(problem.intervals.size()), 0};
  if (!problem.banks.empty()) plan.banks.resize(problem.intervals.size());
  std::vector<char> placed(plan.offsets.size());
  for (const Interval& i : answer.intervals) {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(i.name.data(), i.name.data() + i.name.size(), n);
    if (error != std::errc() || end != i.name.data() + i.name.size() || n >= placed.size())
      return Status(Code::invalid_argument, cat("its answer has a buffer '", printable(i.name),
                                                "' that was not asked for"));
    if (!i.fixed_offset)
      return Status(Code::invalid_argument, cat("its answer has no offset for buffer ", i.name));
    plan.offsets[n] = *i.fixed_offset;
    placed[n] = 1;
    if (problem.banks.empty()) continue;
    const auto row = static_cast<std::size_t>(&i - answer.intervals.data());
    QUERN_ASSIGN(plan.banks[n], bank_in(problem, answer, row));
  }
  const auto missing = std::ranges::find(placed, 0);
  if (missing != placed.end())
    return Status(Code::invalid_argument,
                  cat("its answer has no buffer ", missing - placed.begin()));
  return plan;
}

Result<MemoryPlan> run_program(const std::string& command, const MemoryProblem& problem,
                               const PlanLimits& limits) {
  std::vector<std::string> words = words_of(command);
  if (words.empty()) return Status(Code::invalid_argument, "no program is named");
  words.push_back(std::to_string(limits.capacity == any_capacity ? 0 : limits.capacity));
  words.push_back(fixed_text(limits.seconds, 3));
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(limits.seconds + grace_s));
  Program program;
  if (!program.start(words)) return Status(Code::internal, "no process could be started");
  QUERN_ASSIGN(const std::string answer, talk(program, csv_of(problem), deadline));
  QUERN_TRY(finish(program, deadline));
  return plan_from_csv(problem, answer);
}

// ---- a shared object ---------------------------------------------------------------------------

struct ForeignProblem {
  std::vector<quern_plan_buffer> buffers;
  std::vector<std::vector<quern_plan_gap>> gaps;

  explicit ForeignProblem(const MemoryProblem& problem) {
    for (const Interval& i : problem.intervals) {
      auto& own = gaps.emplace_back();
      for (const Gap& g : i.gaps) own.push_back({g.first, g.end, g.from, g.to});
      buffers.push_back({i.size, i.alignment, i.first, i.end,
                         i.fixed_offset.value_or(QUERN_PLAN_ANYWHERE), i.must_be_zero ? 1 : 0,
                         own.data(), own.size()});
    }
  }
};

// In the child: the offsets as bytes, or a sentence behind a zero byte.
std::string call(const std::string& file, const MemoryProblem& problem, const PlanLimits& limits) {
  const std::string path = !std::filesystem::path(file).has_parent_path() ? "./" + file : file;
  void* const library = platform::open_library(path.c_str(), platform::Symbols::local);
  if (!library) return cat('\0', "it cannot be loaded: ", platform::library_error());
  const auto plan =
      reinterpret_cast<decltype(&quern_plan)>(platform::find_symbol(library, "quern_plan"));
  if (!plan) return cat('\0', "it has no function quern_plan");
  const ForeignProblem foreign(problem);
  std::vector<std::uint64_t> offsets(foreign.buffers.size());
  const int code = plan(foreign.buffers.data(), foreign.buffers.size(), limits.capacity,
                        limits.seconds, offsets.data());
  if (code != 0) return cat('\0', "quern_plan returned ", code);
  std::string answer = "+";
  answer.append(reinterpret_cast<const char*>(offsets.data()), offsets.size() * 8);
  return answer;
}

Result<MemoryPlan> run_object(const std::string& file, const MemoryProblem& problem,
                              const PlanLimits& limits) {
  if (!problem.banks.empty())
    return Status(Code::unsupported,
                  "quern/c/strategy.h knows no banks; a program (exec:) may be given them");
  ChildResult result;
  run_in_children(
      1, {.jobs = 1, .timeout_s = limits.seconds + grace_s},
      [&](std::size_t) { return call(file, problem, limits); },
      [&](std::size_t, const ChildResult& r) { result = r; });
  if (result.how == ChildResult::How::timed_out)
    return Status(Code::busy, "it was stopped: its time is over");
  if (result.how == ChildResult::How::crashed)
    return Status(Code::invalid_argument, cat("it ended by ", result.why));
  const std::size_t bytes = problem.intervals.size() * 8;
  if (result.answer.empty() || result.answer[0] != '+' || result.answer.size() != 1 + bytes)
    return Status(Code::invalid_argument, result.answer.size() < 2 ? "it ended without an answer"
                                                                   : result.answer.substr(1));
  MemoryPlan plan{std::vector<std::uint64_t>(problem.intervals.size()), 0};
  std::memcpy(plan.offsets.data(), result.answer.data() + 1, bytes);
  return plan;
}

// The arena that the offsets need, if they are a plan.
Result<PlanAnswer> judged(const MemoryProblem& problem, MemoryPlan plan) {
  plan.bank_sizes.resize(problem.banks.size());
  for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
    if (plan.offsets[i] > std::uint64_t{1} << 60)
      return Status(Code::invalid_argument,
                    cat("buffer ", i, " at ", plan.offsets[i], ": too high"));
    std::uint64_t& size = plan.banks.empty() ? plan.size : plan.bank_sizes[plan.banks[i]];
    size = std::max(size, plan.offsets[i] + problem.intervals[i].size);
  }
  for (const std::uint64_t size : plan.bank_sizes) plan.size += size;
  QUERN_TRY(validate(problem, plan));
  if (!problem.banks.empty()) return judged_by_bounds(problem, std::move(plan));
  return PlanAnswer{std::move(plan), lower_bound(problem)};
}

}  // namespace

bool is_external(const std::string& name) {
  return name.starts_with(exec_prefix) || name.starts_with(so_prefix);
}

NamedStrategy external_strategy(const std::string& name) {
  const bool program = name.starts_with(exec_prefix);
  const std::string what = name.substr(program ? exec_prefix.size() : so_prefix.size());
  return {name, [=](const MemoryProblem& p, const PlanLimits& limits) -> Result<PlanAnswer> {
            auto plan = program ? run_program(what, p, limits) : run_object(what, p, limits);
            if (plan) {
              auto answer = judged(p, *std::move(plan));
              if (answer) return answer;
              return std::move(answer).error().in(cat("strategy ", shown(name)));
            }
            return std::move(plan).error().in(cat("strategy ", shown(name)));
          }};
}

}  // namespace quern::tools
