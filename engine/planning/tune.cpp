// SPDX-License-Identifier: Apache-2.0
// Measures implementations in the model that they are for. A first executable is compiled as usual;
// for each name of an implementation another one takes it wherever it can, and both run by turns,
// kernel by kernel. What is faster for a work there is tried together in a third executable, since
// a layout that suits one kernel costs its neighbours a copy; choices that lose there are taken
// back, until the whole run is faster, or nothing is left. Then plans in stripes of rows are tried,
// whose maps stay in the second-level cache.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/executable.h>
#include <quern/model.h>
#include <quern/session.h>
#include <quern/tuning.h>

#include "engine/planning/striped.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double least_gain = 0.02;    // of a work, of its time
constexpr double least_whole = 0.005;  // of the run
constexpr int most_trials = 8;
// Below it all maps of a run are in the second-level cache anyway.
constexpr std::size_t least_arena = std::size_t{1} << 20;
constexpr std::string_view whole_tensors = "whole";

// The least times of several runs, in microseconds: what else the machine does only adds to them.
struct Times {
  std::map<std::string, double> nodes;  // with the copies that bring operands to a node
  double run = std::numeric_limits<double>::infinity();

  void keep_least(const Times& other) {
    run = std::min(run, other.run);
    for (const auto& [node, us] : other.nodes) {
      const auto [at, is_new] = nodes.emplace(node, us);
      if (!is_new) at->second = std::min(at->second, us);
    }
  }
  // The sum of the least times, which is steadier than the least sum.
  double whole() const {
    double sum = 0;
    for (const auto& [node, us] : nodes) sum += us;
    return sum;
  }
  double of(const std::set<std::string>& names) const {
    double sum = 0;
    for (const std::string& name : names)
      if (const auto at = nodes.find(name); at != nodes.end()) sum += at->second;
    return sum;
  }
};

// A model that is compiled and has run once.
class Runner {
 public:
  static Result<Runner> make(const Model& model, const CompileOptions& options,
                             const std::function<Status(Session&)>& bind, Clock::time_point until) {
    Runner r;
    QUERN_ASSIGN(const auto executable, Executable::compile(model.clone(), nullptr, options));
    QUERN_ASSIGN(r.session_, Session::create(executable));
    QUERN_TRY(bind(*r.session_));
    QUERN_TRY(r.session_->run_until(until));
    r.plan_ = r.session_->plan_info();
    return r;
  }

  const std::vector<StepInfo>& steps() const { return plan_.steps; }
  const PlanInfo& plan() const { return plan_; }

  Result<Times> measure(Clock::time_point until) {
    Times times;
    QUERN_ASSIGN(const auto timings, session_->profile(until));
    for (const Session::Timing& t : timings) times.nodes[t.step.node] += t.end_us - t.begin_us;
    if (!timings.empty()) times.run = timings.back().end_us - timings.front().begin_us;
    return times;
  }

 private:
  std::unique_ptr<Session> session_;
  PlanInfo plan_;
};

// By turns, each first in every other round.
Result<std::pair<Times, Times>> side_by_side(Runner& a, Runner& b, const TuneOptions& how) {
  std::pair<Times, Times> least;
  for (int round = 0; round < std::clamp(how.rounds, 1, 1000); ++round) {
    const auto one = [&](Runner& r, Times& times) -> Status {
      QUERN_ASSIGN(const Times t, r.measure(how.deadline));
      times.keep_least(t);
      return {};
    };
    if (round % 2 == 0) QUERN_TRY(one(a, least.first));
    QUERN_TRY(one(b, least.second));
    if (round % 2 != 0) QUERN_TRY(one(a, least.first));
  }
  return least;
}

// One work of the model, and what is known of it.
struct Work {
  std::set<std::string> nodes;
  const StepInfo* usual = nullptr;
  std::map<std::string, double> us;  // by entry
  std::string best;                  // entry; empty: the usual one
  double gain = 0;                   // microseconds of a run
};

using Works = std::map<std::string, Work>;

// The names of a step's implementations but for the reference, which is for comparison.
std::set<std::string> names_of(const StepInfo& step) {
  std::set<std::string> names(step.entries.begin(), step.entries.end());
  names.erase("reference");
  return names;
}

// The works that have a choice and that nothing is known of. A name that several works share says
// nothing of any of them.
Works works_of(const std::vector<StepInfo>& steps, const Tuning& tuning) {
  std::map<std::string, std::set<std::string>> works_of_node;
  for (const StepInfo& s : steps)
    if (!s.work.empty()) works_of_node[s.node].insert(s.work);
  Works works;
  for (const StepInfo& s : steps) {
    if (s.work.empty() || names_of(s).size() < 2 || tuning.find(s.work)) continue;
    if (works_of_node[s.node].size() > 1) continue;
    works[s.work].nodes.insert(s.node);
    works[s.work].usual = &s;
  }
  return works;
}

// The kernels of each node with their layouts, as text.
std::map<std::string, std::string> kernels_of_nodes(const std::vector<StepInfo>& steps) {
  std::map<std::string, std::string> kernels;
  for (const StepInfo& s : steps) kernels[s.node] += cat(s.implementation, " ", s.layouts, "; ");
  return kernels;
}

// The entries that make other kernels of their nodes than the usual ones do, by their work.
std::map<std::string, std::string> changes(const std::vector<StepInfo>& steps,
                                           const std::vector<StepInfo>& usual, const Works& works) {
  const auto kernels = kernels_of_nodes(steps);
  const auto usual_kernels = kernels_of_nodes(usual);
  std::map<std::string, std::string> changed;
  for (const StepInfo& s : steps) {
    const auto at = works.find(s.work);
    if (at == works.end() || s.entry == at->second.usual->entry) continue;
    const auto before = usual_kernels.find(s.node);
    if (before == usual_kernels.end() || kernels.at(s.node) != before->second)
      changed[s.work] = s.entry;
  }
  return changed;
}

class Tuner {
 public:
  Tuner(const Model& model, const CompileOptions& options,
        const std::function<Status(Session&)>& bind, Tuning& tuning, const TuneOptions& how)
      : model_(model), options_(options), bind_(bind), tuning_(tuning), how_(how) {}

  Result<TuneReport> run() {
    QUERN_ASSIGN(Runner usual, runner("", tuning_));
    works_ = works_of(usual.steps(), tuning_);
    report_.measured = works_.size();
    Status s = measure_entries(usual);
    if (s.ok()) s = combine(usual);
    // A deadline that comes first takes back what was not tried in the whole run.
    report_.is_complete = s.code() != Code::timed_out;
    if (!s.ok() && report_.is_complete) return s;
    if (!s.ok()) take_back_all();
    keep();
    if (s.ok()) s = measure_stripes();
    report_.is_complete = s.code() != Code::timed_out;
    if (!s.ok() && report_.is_complete) return s;
    return report_;
  }

 private:
  Result<Runner> runner(const std::string& entry, const Tuning& tuning) const {
    return runner(entry, tuning, options_);
  }
  Result<Runner> runner(const std::string& entry, const Tuning& tuning, CompileOptions o) const {
    if (!entry.empty()) o.implementation = entry;
    o.tuning = std::make_shared<const Tuning>(tuning);
    o.deadline = std::min(o.deadline, how_.deadline);
    return Runner::make(model_, o, bind_, how_.deadline);
  }

  void tell(const std::string& what) const {
    if (how_.progress) how_.progress(what);
  }

  Status measure_entries(Runner& usual) {
    std::set<std::string> names;
    for (const auto& [text, work] : works_) names.merge(names_of(*work.usual));
    for (const std::string& name : names) {
      tell(cat("'", name, "' wherever it can be"));
      QUERN_ASSIGN(Runner other, runner(name, tuning_));
      const auto changed = changes(other.steps(), usual.steps(), works_);
      if (changed.empty()) continue;
      QUERN_ASSIGN(const auto times, side_by_side(usual, other, how_));
      for (const auto& [text, entry] : changed) learn(works_[text], entry, times);
    }
    return {};
  }

  static void learn(Work& work, const std::string& entry, const std::pair<Times, Times>& times) {
    const double before = times.first.of(work.nodes);
    const double after = times.second.of(work.nodes);
    const auto [at, is_new] = work.us.emplace(work.usual->entry, before);
    if (!is_new) at->second = std::min(at->second, before);
    work.us[entry] = after;
    if (before - after <= std::max(work.gain, least_gain * before)) return;
    work.best = entry;
    work.gain = before - after;
  }

  // The tuning with the best entries so far.
  Tuning trial() const {
    Tuning t = tuning_;
    for (const auto& [text, work] : works_)
      if (!work.best.empty()) t.set({text, work.best, {}});
    return t;
  }
  std::size_t chosen() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(works_, [](const auto& w) { return !w.second.best.empty(); }));
  }
  void take_back_all() {
    for (auto& [text, work] : works_) work.best.clear();
  }

  Status combine(Runner& usual) {
    for (int n = 0; n < most_trials && chosen() > 0; ++n) {
      tell(cat(chosen(), " choices together"));
      QUERN_ASSIGN(Runner together, runner("", trial()));
      QUERN_ASSIGN(const auto times, side_by_side(usual, together, how_));
      const auto& [before, after] = times;
      report_.before_us = before.whole();
      report_.after_us = after.whole();
      const bool is_faster = after.whole() < (1 - least_whole) * before.whole();
      if (!take_back_losers(before, after) && is_faster) return {};
      if (!is_faster) take_back_small_ones();
    }
    take_back_all();
    report_.after_us = report_.before_us;
    return {};
  }

  // Returns true if there was one.
  bool take_back_losers(const Times& before, const Times& after) {
    bool any = false;
    for (auto& [text, work] : works_) {
      if (work.best.empty()) continue;
      work.gain = before.of(work.nodes) - after.of(work.nodes);
      if (work.gain > 0) continue;
      work.best.clear();
      any = true;
    }
    return any;
  }

  // The half that gains least.
  void take_back_small_ones() {
    std::vector<Work*> best;
    for (auto& [text, work] : works_)
      if (!work.best.empty()) best.push_back(&work);
    std::ranges::sort(best, {}, &Work::gain);
    for (std::size_t i = 0; i < (best.size() + 1) / 2; ++i) best[i]->best.clear();
  }

  void keep() {
    report_.changed = chosen();
    for (const auto& [text, work] : works_) {
      if (work.us.empty() && !report_.is_complete) continue;
      Tuning::Row row{text, work.best.empty() ? work.usual->entry : work.best, {}};
      for (const auto& [entry, us] : work.us) row.candidates.push_back({entry, us});
      tuning_.set(std::move(row));
    }
  }

  // Plans in stripes of rows, where whole tensors leave the second-level cache of a core. The
  // tuning holds what implementations were chosen.
  Status measure_stripes() {
    CompileOptions in_whole = options_;
    in_whole.stripes = false;
    QUERN_ASSIGN(Runner whole, runner("", tuning_, in_whole));
    const std::string& work = whole.plan().work;
    if (work.empty() || tuning_.find(work) || whole.plan().arena_bytes < least_arena) return {};
    Tuning::Row row{work, std::string(whole_tensors), {}};
    QUERN_ASSIGN(Runner usual, runner("", tuning_));
    if (usual.plan().stripes == Stripes::cache) {
      tell("stripes of rows that stay in the cache");
      QUERN_TRY(compare(whole, usual, std::string(cached_stripes_entry), row));
    }
    for (const unsigned percent : {85U, 70U, 55U, 40U}) {
      tell(cat("stripes of rows in ", percent, " % of the arena"));
      Tuning t = tuning_;
      t.set({work, stripes_entry(percent), {}});
      QUERN_ASSIGN(Runner striped, runner("", t));
      if (striped.plan().arena_bytes >= whole.plan().arena_bytes) break;  // none are so low
      QUERN_TRY(compare(whole, striped, stripes_entry(percent), row));
    }
    if (row.candidates.empty()) return {};
    ++report_.measured;
    report_.changed += report_.stripes ? 1U : 0U;
    tuning_.set(std::move(row));
    return {};
  }

  // Keeps what a plan in stripes takes, and the entry if it gains most so far.
  Status compare(Runner& whole, Runner& striped, const std::string& entry, Tuning::Row& row) {
    QUERN_ASSIGN(const auto times, side_by_side(whole, striped, how_));
    const auto& [before, after] = times;
    if (row.candidates.empty()) row.candidates.push_back({row.entry, before.run});
    row.candidates.push_back({entry, after.run});
    const double most = report_.stripes ? report_.whole_us - report_.striped_us : 0;
    if (before.run - after.run <= std::max(most, least_gain * before.run)) return {};
    row.entry = entry;
    const double share = static_cast<double>(striped.plan().arena_bytes) /
                         static_cast<double>(whole.plan().arena_bytes);
    report_.stripes = static_cast<unsigned>(std::ceil(100 * share));
    report_.whole_us = before.run;
    report_.striped_us = after.run;
    return {};
  }

  const Model& model_;
  const CompileOptions& options_;
  const std::function<Status(Session&)>& bind_;
  Tuning& tuning_;
  const TuneOptions& how_;
  Works works_;
  TuneReport report_;
};

}  // namespace

Result<TuneReport> tune(const Model& model, const CompileOptions& options,
                        const std::function<Status(Session&)>& bind, Tuning& tuning,
                        const TuneOptions& how) {
  return guarded([&] { return Tuner(model, options, bind, tuning, how).run(); });
}

}  // namespace quern
