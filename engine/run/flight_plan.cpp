// SPDX-License-Identifier: Apache-2.0
#include "engine/run/flight_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "engine/vocabulary/stop.h"
#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/in_flight.h"

namespace quern {
namespace {

constexpr std::int64_t most_flight_steps = 1 << 16;  // in_flight() leaves none out up to here
constexpr std::int64_t most_range_looks = 1 << 26;   // of the search for waits

struct StepRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

// The steps in which buffers live: those before and after use no memory of the arena.
StepRange steps_with_memory(const MemoryProblem& problem) {
  StepRange r{std::numeric_limits<std::int64_t>::max(), 0};
  for (const Interval& i : problem.intervals) {
    if (i.first >= i.end) continue;
    r.first = std::min(r.first, i.first);
    r.end = std::max(r.end, i.end);
  }
  return r.first < r.end ? r : StepRange{};
}

Status check_can_fly(const Program& p) {
  const auto refuse = [](std::string_view why) {
    return Status(Code::unsupported, cat("runs in flight want a static plan on the CPU; ", why));
  };
  if (p.steps.size() > static_cast<std::size_t>(most_flight_steps))
    return refuse(cat("this one has ", p.steps.size(), " steps, at most ", most_flight_steps,
                      " are possible"));
  for (const Step& s : p.steps) {
    if (s.kind != Step::Kind::host)
      return refuse(cat("node '", printable(s.node), "' is a step of a device"));
    if (s.is_data_dependent)
      return refuse(cat("the shape of what node '", printable(s.node), "' (", s.op,
                        ") makes depends on data"));
  }
  for (const Interval& i : p.memory_problem.intervals)
    if (i.must_be_zero || i.fixed_offset)
      return refuse(cat("buffer '", printable(i.name), "' has a place of its own"));
  return {};
}

// Finds the buffer that has a byte of the program's own arena in a step.
class Owners {
 public:
  explicit Owners(const Program& p) : plan_(p.memory_plan), problem_(p.memory_problem) {
    for (std::size_t n = 0; n < problem_.intervals.size(); ++n)
      first_of_.emplace_back(problem_.intervals[n].first, n);
    std::ranges::sort(first_of_);
  }

  // Goes to this step; steps ascend.
  void go_to(std::int64_t step) {
    for (; next_ < first_of_.size() && first_of_[next_].first <= step; ++next_)
      live_.push_back(first_of_[next_].second);
    std::erase_if(live_, [&](std::size_t n) { return problem_.intervals[n].end <= step; });
    step_ = step;
  }

  std::optional<std::size_t> of(std::uint64_t offset) const {
    std::optional<std::size_t> found;
    for (std::size_t n : live_) {
      const Interval& i = problem_.intervals[n];
      const std::uint64_t at = plan_.offsets[n];
      const bool holds = i.size == 0 ? offset == at : offset >= at && offset - at < i.size;
      if (!holds) continue;
      // An empty buffer may lie where another begins, and a part that is not in use in another.
      if (i.size > 0 && is_used(i, offset - at)) return n;
      if (!found || i.size > 0) found = n;
    }
    return found;
  }

 private:
  bool is_used(const Interval& i, std::uint64_t byte) const {
    return std::ranges::none_of(i.gaps, [&](const Gap& g) {
      return g.first <= step_ && step_ < g.end && (byte < g.from || byte >= g.to);
    });
  }

  const MemoryPlan& plan_;
  const MemoryProblem& problem_;
  std::vector<std::pair<std::int64_t, std::size_t>> first_of_;
  std::vector<std::size_t> live_;
  std::size_t next_ = 0;
  std::int64_t step_ = 0;
};

// An offset of the program's arena: a buffer and a byte in it.
struct BufferByte {
  std::size_t buffer = 0;
  std::uint64_t byte = 0;
  bool in_arena = false;
};

struct ProgramBytes {
  std::vector<BufferByte> inputs, outputs, scratch, results;
};

Result<ProgramBytes> bytes_of_program(const Program& p) {
  ProgramBytes all;
  Owners owners(p);
  std::string_view node;
  const auto find = [&](std::uint64_t offset) -> Result<BufferByte> {
    const auto owner = owners.of(offset);
    if (!owner)
      return Status(Code::internal, cat("node '", printable(node), "': no buffer is live at byte ",
                                        offset, " of the arena"));
    return BufferByte{*owner, offset - p.memory_plan.offsets[*owner], true};
  };
  const auto add = [&](std::span<const Step::Operand> operands,
                       std::vector<BufferByte>& to) -> Status {
    for (const Step::Operand& o : operands) {
      to.emplace_back();
      if (o.base != Step::Operand::Base::arena) continue;
      QUERN_ASSIGN(to.back(), find(o.offset));
    }
    return {};
  };
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    node = s.node;
    owners.go_to(static_cast<std::int64_t>(i));
    QUERN_TRY(add(s.inputs, all.inputs));
    QUERN_TRY(add(s.outputs, all.outputs));
    all.scratch.emplace_back();
    if (s.scratch_bytes) {
      QUERN_ASSIGN(all.scratch.back(), find(s.scratch_offset));
    }
  }
  node = "an output";
  for (std::uint64_t offset : p.output_offsets) {
    all.results.emplace_back();
    if (!p.steps.empty()) {
      QUERN_ASSIGN(all.results.back(), find(offset));
    }
  }
  return all;
}

std::vector<std::uint64_t> placed(const std::vector<BufferByte>& bytes,
                                  std::span<const std::uint64_t> offsets) {
  std::vector<std::uint64_t> to;
  to.reserve(bytes.size());
  for (const BufferByte& b : bytes)
    to.push_back(b.in_arena ? offsets[b.buffer] + b.byte : std::uint64_t{0});
  return to;
}

// Turns of a run's steps since its first one. Steps without memory before the first with memory and
// after the last take their turns.
void set_turns(FlightRun& run, const InFlight& f, std::size_t number, StepRange with_memory,
               std::size_t steps) {
  const auto circle = static_cast<std::int64_t>(f.turns.size());
  const std::int64_t ahead = static_cast<std::int64_t>(number) * f.lag % f.period;
  std::vector<std::int64_t> mine;
  for (std::int64_t t = 0; t < circle; ++t)
    if (f.turns[static_cast<std::size_t>(t)] == number) mine.push_back(t);
  const auto turn_of = [&](std::int64_t step) {
    const std::int64_t since = step - ahead;
    return since >= 0 ? mine[static_cast<std::size_t>(since)]
                      : mine[static_cast<std::size_t>(since + f.period)];
  };
  run.start = turn_of(0);
  for (std::size_t i = 0; i < steps; ++i) {
    const std::int64_t step =
        std::clamp(static_cast<std::int64_t>(i) - with_memory.first, std::int64_t{0}, f.period - 1);
    run.turns.push_back((turn_of(step) - run.start + circle) % circle);
  }
}

// The last time at which a run has each byte, while time goes on.
class LastUse {
 public:
  // The latest turn in [from, to) or nothing; `looks` is lowered by the ranges that were looked at.
  std::optional<std::int64_t> latest(std::uint64_t from, std::uint64_t to,
                                     std::int64_t& looks) const {
    std::optional<std::int64_t> latest;
    for (auto i = first_after(from); i != ranges_.end() && i->first < to && looks > 0; ++i) {
      --looks;
      if (!latest || *latest < i->second.turn) latest = i->second.turn;
    }
    return latest;
  }
  void use(std::uint64_t from, std::uint64_t to, std::int64_t turn) {
    auto i = ranges_.lower_bound(from);
    if (i != ranges_.begin()) {
      const auto before = std::prev(i);
      const Range old = before->second;
      if (old.to > from) before->second.to = from;
      if (old.to > to) ranges_.emplace(to, old);
      i = ranges_.lower_bound(from);
    }
    while (i != ranges_.end() && i->first < to) {
      const Range old = i->second;
      i = ranges_.erase(i);
      if (old.to > to) ranges_.emplace(to, old);
    }
    ranges_[from] = {to, turn};
  }

 private:
  struct Range {
    std::uint64_t to;
    std::int64_t turn;
  };
  std::map<std::uint64_t, Range>::const_iterator first_after(std::uint64_t from) const {
    const auto i = ranges_.upper_bound(from);
    if (i != ranges_.begin() && std::prev(i)->second.to > from) return std::prev(i);
    return i;
  }
  std::map<std::uint64_t, Range> ranges_;
};

// A part of a buffer that one run begins to use.
struct FlightUse {
  std::int64_t first = 0;  // turns; the last may be in the next round
  std::int64_t last = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint32_t run = 0;
  std::uint32_t step = 0;
};

std::vector<FlightUse> uses_in_turns(const MemoryProblem& problem, const MemoryPlan& plan,
                                     const FlightPlan& f) {
  std::vector<FlightUse> uses;
  const std::size_t n = problem.intervals.size();
  for (const Piece& p : pieces_of(problem))
    for (std::size_t run = 0; run < f.runs.size(); ++run) {
      const FlightRun& r = f.runs[run];
      const std::uint64_t at = plan.offsets[run * n + p.interval];
      const auto turn = [&](std::int64_t step) {
        return r.start + r.turns[static_cast<std::size_t>(step)];
      };
      // In the round in which it begins.
      const std::int64_t round = turn(p.first) / f.circle * f.circle;
      uses.push_back({turn(p.first) - round, turn(p.end - 1) - round, at + p.from, at + p.to,
                      static_cast<std::uint32_t>(run), static_cast<std::uint32_t>(p.first)});
    }
  std::ranges::sort(uses, {}, &FlightUse::first);
  return uses;
}

// A buffer's first step waits for what other runs had in its bytes before; so do all its later
// steps, which come after that one. In two rounds each use has met all that may precede it.
Status set_waits(const MemoryProblem& problem, const MemoryPlan& plan, FlightPlan& f,
                 const Stop* stop) {
  const std::size_t runs = f.runs.size();
  const std::size_t steps = f.runs.front().turns.size();
  f.waits.assign(runs * steps * runs, 0);
  const std::vector<FlightUse> uses = uses_in_turns(problem, plan, f);
  std::vector<LastUse> last(runs);
  std::int64_t looks = most_range_looks;
  for (std::int64_t round = 0; round < 2; ++round)
    for (const FlightUse& u : uses) {
      if (stop) QUERN_TRY(stop->check());
      const std::int64_t now = u.first + round * f.circle;
      for (std::size_t other = 0; other < runs; ++other) {
        if (other == u.run) continue;
        std::uint32_t& wait = f.waits[(u.run * steps + u.step) * runs + other];
        const auto latest = last[other].latest(u.from, u.to, looks);
        if (latest && *latest >= now)
          return {Code::internal, "two runs have the same bytes at one time"};
        const std::int64_t turns = looks <= 0 ? 1 : latest ? now - *latest : 0;
        if (turns > 0 && (!wait || turns < wait)) wait = static_cast<std::uint32_t>(turns);
      }
      last[u.run].use(u.from, u.to, u.last + round * f.circle);
    }
  return {};
}

}  // namespace

Result<FlightPlan> plan_flight(const Program& program, std::size_t runs, const Strategy& strategy,
                               const Stop* stop) {
  QUERN_TRY(check_can_fly(program));
  QUERN_ASSIGN(const ProgramBytes bytes, bytes_of_program(program));
  MemoryProblem problem = program.memory_problem;
  for (Interval& i : problem.intervals) i.alignment = std::max<std::uint64_t>(i.alignment, 64);
  const InFlight in_turns = in_flight(problem, runs);
  QUERN_TRY(check(in_turns.problem));
  const PlanAnswer answer = strategy.plan(in_turns.problem, {.stop = stop});
  QUERN_TRY(validate(in_turns.problem, answer.plan));
  if (stop) QUERN_TRY(stop->check());
  FlightPlan f;
  f.circle = static_cast<std::int64_t>(in_turns.turns.size());
  f.arena_bytes = answer.plan.size;
  const StepRange with_memory = steps_with_memory(problem);
  // Outputs are live once more after the last step: that turn goes by as the run ends.
  const std::size_t times =
      std::max(program.steps.size(), static_cast<std::size_t>(with_memory.end));
  const std::size_t n = problem.intervals.size();
  for (std::size_t run = 0; run < runs; ++run) {
    const auto offsets = std::span(answer.plan.offsets).subspan(run * n, n);
    FlightRun& r = f.runs.emplace_back();
    r.places = {placed(bytes.inputs, offsets), placed(bytes.outputs, offsets),
                placed(bytes.scratch, offsets), placed(bytes.results, offsets)};
    set_turns(r, in_turns, run, with_memory, times);
  }
  QUERN_TRY(set_waits(problem, answer.plan, f, stop));
  return f;
}

}  // namespace quern
