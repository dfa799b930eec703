// SPDX-License-Identifier: Apache-2.0
// RegexFullMatch: the expression is compiled once, to a table of states if it has few of them.
#include "kernels/cpu/regex_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/strings.h"
#include "graph/regex/automaton.h"
#include "graph/regex/program.h"

namespace quern {
namespace {

class RegexRows final : public CpuKernel {
 public:
  RegexRows(const KernelRequest& r, regex::Program program)
      : program_(std::move(program)),
        automaton_(regex::Automaton::make(program_)),
        texts_(r.shape(0).elements()),
        threads_(r.target.team.threads) {}

  std::size_t scratch_bytes() const {
    return automaton_ ? 0 : static_cast<std::size_t>(slots()) * working_bytes();
  }
  const char* name() const { return automaton_ ? "table of states" : "sets of states"; }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const StringRef*>(args.inputs[0]);
    auto* y = reinterpret_cast<bool*>(args.outputs[0]);
    const std::int64_t parts = parts_of(x);
    parallel(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t part = begin; part < end && !check.is_over(); ++part) {
        const std::int64_t from = texts_ * part / parts;
        const std::int64_t to = texts_ * (part + 1) / parts;
        if (automaton_)
          match(*automaton_, x + from, to - from, y + from, check);
        else
          simulate(args.scratch + static_cast<std::size_t>(part) * working_bytes(), x + from,
                   to - from, y + from, check);
      }
    });
    return {};
  }

 private:
  std::size_t working_bytes() const {
    return round_up(sizeof(std::uint32_t) * regex::Simulation::working_size(program_), 64);
  }
  std::int64_t slots() const { return Parallel::slots(texts_, threads_); }

  // Threads are worth some 20 us.
  std::int64_t parts_of(const StringRef* x) const {
    constexpr std::int64_t bytes_for_thread = 10'000;
    std::int64_t bytes = texts_;
    for (std::int64_t i = 0; i < texts_; ++i) bytes += static_cast<std::int64_t>(x[i].size);
    return std::clamp<std::int64_t>(bytes / bytes_for_thread, 1, slots());
  }

  template <class Matcher>
  static void match(Matcher& matcher, const StringRef* x, std::int64_t n, bool* y,
                    StopCheck& check) {
    for (std::int64_t i = 0; i < n && !check.spend(16); ++i)
      y[i] = matcher.matches(x[i].view(), check);
  }

  void simulate(std::byte* scratch, const StringRef* x, std::int64_t n, bool* y,
                StopCheck& check) const {
    std::memset(scratch, 0, working_bytes());
    regex::Simulation simulation(program_, reinterpret_cast<std::uint32_t*>(scratch));
    match(simulation, x, n, y, check);
  }

  regex::Program program_;
  std::optional<regex::Automaton> automaton_;
  std::int64_t texts_;
  int threads_;
};

}  // namespace

Selection select_regex_rows(const KernelRequest& r) {
  if (r.shape(0).elements() == 0) return unsupported();
  QUERN_ASSIGN(regex::Program program, regex::Program::compile(r.as<RegexFullMatch>().pattern));
  auto kernel = std::make_unique<RegexRows>(r, std::move(program));
  KernelChoice choice;
  choice.implementation = cat("rows ", kernel->name());
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
