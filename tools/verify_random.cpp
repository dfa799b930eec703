// SPDX-License-Identifier: Apache-2.0
#include "tools/verify_random.h"

#include <algorithm>
#include <tuple>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/plan.h"
#include "tools/children.h"
#include "tools/json.h"
#include "tools/opened.h"
#include "tools/random/check.h"
#include "tools/random/rng.h"
#include "tools/random/shrink.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

using Kind = Verdict::Kind;

// Ways that one process can try.
using Group = std::vector<Levers>;

// Implementations that rules seldom or never take, but a measurement may.
const std::vector<std::string> entries = {
    "onednn", "rows", "depthwise", "winograd", "onednn-winograd", "onednn-apart", "onednn-direct"};

Levers drawn_in_process(Rng& rng) {
  Levers way;
  if (rng.chance(0.5)) way.threads = static_cast<int>(rng.between(1, 2));
  if (rng.chance(0.25)) way.scratch = false;
  if (rng.chance(0.25)) way.order = false;
  if (rng.chance(0.25)) way.alias = false;
  if (rng.chance(0.15)) way.optimize = false;
  if (rng.chance(0.2)) {
    const auto all = strategies();
    way.strategy =
        all[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(all.size())))].name;
    if (way.strategy == "exact") way.strategy.clear();
  }
  if (rng.chance(0.25)) way.pool = static_cast<int>(rng.between(2, 4));
  if (rng.chance(0.3)) way.entry = rng.pick(entries);
  return way;
}

// Selects whether a second process runs with less: without oneDNN or vectors, which only the CPU
// has, or in smaller pieces.
enum class Processes : std::uint8_t { alike, with_less };

// The usual run and two variants, and a second process without oneDNN or vectors, or that cuts work
// where it is small.
std::vector<Group> drawn_groups(std::uint64_t seed, Processes processes) {
  Rng rng(seed ^ 0x6c65766572u);
  std::vector<Group> groups = {{Levers{}, drawn_in_process(rng), drawn_in_process(rng)}};
  if (processes == Processes::alike) {
    Group one = {Levers{}, drawn_in_process(rng)};
    const bool small_cuts = rng.chance(0.3);
    const bool nan_memory = rng.chance(0.5);
    for (Levers& way : one) {
      way.small_cuts = small_cuts;
      way.nan_memory = nan_memory;
    }
    return {one};
  }
  Levers base = drawn_in_process(rng);
  base.onednn = rng.chance(0.4);
  const std::vector<std::string> levels = lower_simd_levels();
  if (!levels.empty() && (base.onednn || rng.chance(0.6))) base.simd = rng.pick(levels);
  base.small_cuts = rng.chance(0.5);
  if (base.small_cuts && rng.chance(0.5)) {
    base.onednn = true;
    base.simd.clear();
  }
  base.nan_memory = rng.chance(0.5);
  groups.push_back({base});
  return groups;
}

std::vector<Group> all_groups(Processes processes) {
  Group each = {Levers{},
                {.threads = 1},
                {.threads = 2},
                {.pool = 3},
                {.scratch = false},
                {.order = false},
                {.alias = false},
                {.optimize = false},
                {.threads = 2, .scratch = false, .order = false, .alias = false}};
  for (const Strategy& s : strategies())
    if (s.name != "exact") each.push_back({.strategy = std::string(s.name)});
  for (const std::string& entry : entries) each.push_back({.entry = entry});
  std::vector<Group> groups = {each};
  std::vector<std::string> levels = lower_simd_levels();
  levels.insert(levels.begin(), "");
  for (const std::string& level : levels) {
    for (const bool onednn : {true, false}) {
      if (processes == Processes::alike || (onednn && level.empty())) continue;
      Group g = each;
      for (Levers& way : g) {
        way.onednn = onednn;
        way.simd = level;
      }
      groups.push_back(std::move(g));
    }
  }
  if (processes == Processes::with_less) {
    Group g = each;
    for (Levers& way : g) way.small_cuts = true;
    groups.push_back(std::move(g));
  }
  for (Levers& way : each) way.nan_memory = true;
  groups.push_back(std::move(each));
  return groups;
}

class RandomVerification {
 public:
  RandomVerification(const VerifyArgs& args, const Console& console)
      : args_(args), console_(console), progress_(console) {}

  Status prepare() {
    QUERN_TRY(parse_node_range(args_.nodes, options_));
    QUERN_ASSIGN(options_.ops, load_ops(args_.ops));
    const bool drawn = args_.levers.empty() || args_.levers == "drawn";
    if (!drawn && args_.levers != "all") {
      QUERN_ASSIGN(only_, parse_levers(args_.levers));
    }
    const Processes processes = args_.device == "cpu" ? Processes::with_less : Processes::alike;
    const auto models = static_cast<std::size_t>(args_.random);
    results_.resize(models);
    left_.resize(models);
    shares_.resize(models);
    for (std::size_t m = 0; m < models; ++m) {
      const std::vector<Group> groups = drawn ? drawn_groups(seed_of(m), processes)
                                        : args_.levers == "all" ? all_groups(processes)
                                                                : std::vector<Group>{{only_}};
      left_[m] = groups.size();
      for (const Group& g : groups) tasks_.push_back({m, g});
    }
    // What one process can do stands together.
    std::ranges::stable_sort(tasks_, {}, [](const Task& task) {
      const Levers& way = task.ways[0];
      return std::tuple(way.onednn, way.simd, way.small_cuts, way.nan_memory);
    });
    return {};
  }

  Result<ExitCode> run() {
    std::size_t next = 0;  // in a child
    const auto ends_child = [&](const std::string& answer) {
      return !Verdict::parse(answer).ok() ||
             (next < tasks_.size() && !tasks_[next - 1].ways[0].same_process(tasks_[next].ways[0]));
    };
    run_in_children(
        tasks_.size(),
        {.jobs = args_.jobs,
         .timeout_s = args_.timeout_s,
         .per_child = per_child(),
         .ends_child = ends_child},
        [&](std::size_t i) {
          const Task& task = tasks_[i];
          next = i + 1;
          task.ways[0].apply_to_process();
          return check_here(model_of(task.model), args_.device, task.ways).serialise();
        },
        [&](std::size_t i, const ChildResult& child) { finish(tasks_[i], child); });
    progress_.clear();
    report();
    if (!args_.write.empty()) QUERN_TRY(shrink_failures());
    print_summary();
    return failed_ ? ExitCode::failed : ExitCode::ok;
  }

 private:
  struct Task {
    std::size_t model;
    Group ways;
  };

  // Models share a process, since the start of one takes longer than small ones, and making the
  // pipelines of a GPU longer than most.
  std::size_t per_child() const {
    const std::size_t shares = 2 * static_cast<std::size_t>(args_.jobs);
    return std::clamp<std::size_t>(tasks_.size() / shares, 1, 64);
  }

  std::uint64_t seed_of(std::size_t m) const { return args_.inputs.seed + m; }
  RandomModel model_of(std::size_t m) const {
    RandomOptions o = options_;
    o.seed = seed_of(m);
    return make_random_model(o);
  }
  std::string replay(std::size_t m, const Verdict& v) const {
    std::string s = cat("quern verify --random 1 --seed ", seed_of(m));
    if (args_.nodes != "20..60") s += cat(" --nodes ", args_.nodes);
    if (args_.device != "cpu") s += cat(" --device ", args_.device);
    for (const std::string& file : args_.ops) s += cat(" --ops ", shown(file));
    if (!v.levers.empty() && v.levers != "default") s += cat(" --levers ", v.levers);
    return s;
  }

  void finish(const Task& task, const ChildResult& child) {
    Verdict v = Verdict::parse(child.answer);
    if (child.how != ChildResult::How::finished) {
      const bool hung = child.how == ChildResult::How::timed_out;
      v = {hung ? Kind::hung : Kind::crashed,
           task.ways[0].text(),
           "",
           hung ? cat("timed out after ", number_text(args_.timeout_s), " s") : child.why,
           {}};
    } else {
      shares_[task.model] = v.share;  // the same in every group
    }
    Verdict& known = results_[task.model];
    if (known.ok()) known = v;
    if (--left_[task.model] > 0) return;
    known.ok() ? ++passed_ : ++failed_;
    if (!known.ok() && !args_.json) {
      progress_.clear();
      tell(task.model, known);
    }
    progress_.update(cat("[", passed_ + failed_, "/", results_.size(), "] ", failed_, " failed"));
  }

  void tell(std::size_t m, const Verdict& v) const {
    print(cat(console_.paint(Colour::red, "FAIL"), "  seed ", seed_of(m), "  ", v.text(),
              "\n        ", replay(m, v), "\n"));
    std::fflush(stdout);
  }

  Status shrink_failures() {
    for (std::size_t m = 0; m < results_.size(); ++m) {
      if (results_[m].ok()) continue;
      const std::string folder = cat(args_.write, "/seed_", seed_of(m));
      QUERN_TRY(shrink_one(m, folder));
    }
    return {};
  }

  Status shrink_one(std::size_t m, const std::string& folder) {
    const Verdict& v = results_[m];
    QUERN_ASSIGN(const Levers way, parse_levers(v.levers.empty() ? "default" : v.levers));
    const double limit = std::min(args_.timeout_s, 20.0);
    const RandomModel small = shrink(
        model_of(m),
        [&](const RandomModel& c) {
          return check_apart(c, args_.device, way, limit).same_failure(v);
        },
        args_.shrink_s);
    QUERN_TRY(write_case(small, folder));
    QUERN_TRY(write_whole_file(folder + "/reason.txt",
                               cat(v.text(), "\n", replay(m, v), "\n",
                                   check_apart(small, args_.device, way, limit).text(), "\n")));
    const std::string levers = v.levers == "default" ? "" : cat(" --levers ", v.levers);
    if (!args_.json)
      print(cat("      seed ", seed_of(m), ": ", count_nodes(small.graph()), " nodes in ", folder,
                "\n        quern verify ", folder, " --device ", args_.device, levers, "\n"));
    return {};
  }

  void report() const {
    if (!args_.json) return;
    Json list = Json::array();
    for (std::size_t m = 0; m < results_.size(); ++m) {
      const Verdict& v = results_[m];
      Json one;
      one["seed"] = static_cast<std::int64_t>(seed_of(m));
      one["outcome"] = v.ok() ? "passed" : "failed";
      if (!v.ok()) {
        one["kind"] = name_of(v.kind);
        one["levers"] = v.levers;
        one["output"] = v.output;
        one["reason"] = v.reason;
        one["replay"] = replay(m, v);
      }
      list.push(std::move(one));
    }
    Json j;
    j["summary"] = summary();
    j["passed"] = passed_;
    j["failed"] = failed_;
    j["skipped"] = 0;
    const Share share = total_share();
    j["oracle"]["elements"] = share.elements;
    j["oracle"]["judged"] = share.elements - share.undetermined;
    j["models"] = std::move(list);
    print(j.document());
  }

  std::string summary() const { return cat(passed_, " passed, ", failed_, " failed, 0 skipped"); }
  void print_summary() const {
    if (args_.json) return;
    const Share share = total_share();
    print(cat("the oracle judged ", share.elements - share.undetermined, " of ", share.elements,
              " rounded elements (", percent_text(share.judged(), 2), ")\n", summary(), "\n"));
  }
  Share total_share() const {
    Share total;
    for (const Share& s : shares_) total += s;
    return total;
  }

  const VerifyArgs& args_;
  const Console& console_;
  RandomOptions options_;
  Levers only_;
  std::vector<Task> tasks_;
  std::vector<Verdict> results_;
  std::vector<std::size_t> left_;  // tasks of a model
  std::vector<Share> shares_;
  Progress progress_;
  int passed_ = 0;
  int failed_ = 0;
};

}  // namespace

Result<ExitCode> verify_random(const VerifyArgs& args, const Console& console) {
  RandomVerification v(args, console);
  QUERN_TRY(v.prepare());
  return v.run();
}

}  // namespace quern::tools
