// SPDX-License-Identifier: Apache-2.0
// quern plan: strategies of placement side by side, for a model's buffers or for those of a file.
#include "graph/memory/plan.h"

#include <algorithm>

#include "graph/memory/csv.h"
#include "graph/text_util.h"
#include "tools/opened.h"
#include "tools/plan_picture.h"
#include "tools/plan_pools.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

// What is placed: an arena per segment of the model, one for a file.
struct Subject {
  std::vector<MemoryProblem> problems;
  PlanInfo model;  // of a file: empty
  double compile_ms = 0;

  std::size_t largest = 0;  // problem, the one that is drawn and written
};

struct Row {
  std::string_view strategy;
  std::vector<MemoryPlan> plans;  // of the problems
  std::uint64_t size = 0;         // of all arenas
  std::uint64_t bound = 0;
  PlanStatus status = PlanStatus::optimal;
  double fragmentation = 0;  // of the largest arena
  double plan_ms = 0;
};

bool is_csv(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".CSV");
}

Result<Subject> read_subject(const PlanArgs& args) {
  QUERN_ASSIGN(const std::string text, read_file(args.model));
  auto problem = read_memory_csv(text);
  if (!problem) return std::move(problem).error().in(shown(args.model));
  Subject s;
  s.problems.push_back(*std::move(problem));
  return s;
}

Result<Subject> compile_subject(const PlanArgs& args, const Console& console) {
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, args.device));
  note_generated(o, console);
  // What depends on data is planned when a run gets there.
  if (const Status status = o.session->run(); !status.ok())
    console.warn(
        cat("the run failed, what depends on its data is not planned: ", status.message()));
  Subject s;
  s.model = o.session->plan_info();
  s.compile_ms = o.phases.compile_ms + o.phases.plan_ms;
  s.problems.resize(std::max<std::size_t>(s.model.segments, 1));
  for (const BufferInfo& b : s.model.buffers)
    s.problems[b.segment].intervals.push_back({.name = b.name,
                                               .size = b.bytes,
                                               .alignment = b.alignment,
                                               .first = b.first,
                                               .end = b.end});
  return s;
}

Result<Subject> subject_of(const PlanArgs& args, const Console& console) {
  QUERN_ASSIGN(Subject s, is_csv(args.model) ? read_subject(args) : compile_subject(args, console));
  for (MemoryProblem& p : s.problems) {
    for (Interval& i : p.intervals)
      if (args.align) i.alignment = args.align;
    QUERN_TRY(check(p));
  }
  const auto bound = [](const MemoryProblem& p) { return lower_bound(p); };
  s.largest = static_cast<std::size_t>(std::ranges::max_element(s.problems, {}, bound) -
                                       s.problems.begin());
  return s;
}

std::uint64_t capacity_of(const PlanArgs& args) {
  return args.capacity ? args.capacity : any_capacity;
}

Result<Row> plan_with(const Strategy& strategy, const PlanArgs& args, const Subject& subject) {
  Row row{.strategy = strategy.name};
  Stopwatch watch;
  for (const MemoryProblem& p : subject.problems) {
    PlanAnswer answer =
        strategy.plan(p, {.capacity = capacity_of(args), .seconds = args.time_limit});
    QUERN_TRY(validate(p, answer.plan));
    row.size += answer.plan.size;
    row.bound += answer.bound;
    row.plans.push_back(std::move(answer.plan));
  }
  row.plan_ms = watch.lap();
  row.status = status_of({{{}, row.size}, row.bound}, capacity_of(args));
  row.fragmentation = fragmentation(subject.problems[subject.largest], row.plans[subject.largest]);
  return row;
}

double ratio(std::uint64_t a, std::uint64_t b) {
  return b ? static_cast<double>(a) / static_cast<double>(b) : 1;
}

std::uint64_t unshared_bytes(const Subject& s) {
  std::uint64_t total = 0;
  for (const MemoryProblem& p : s.problems)
    for (const Interval& i : p.intervals) total += i.size;
  return total;
}

// The best bound that any strategy proved.
std::uint64_t best_bound(const std::vector<Row>& rows) {
  return std::ranges::max_element(rows, {}, &Row::bound)->bound;
}

const Row& best_of(const std::vector<Row>& rows) {
  return *std::ranges::min_element(rows, {}, &Row::size);
}

Json row_json(const Row& r, const Subject& s) {
  Json j;
  j["strategy"] = r.strategy;
  j["arena_bytes"] = r.size;
  j["lower_bound"] = r.bound;
  j["status"] = name_of(r.status);
  j["fragmentation"] = r.fragmentation;
  j["unshared_bytes"] = unshared_bytes(s);
  j["plan_ms"] = r.plan_ms;
  return j;
}

Json peak_json(const MemoryProblem& problem) {
  const Peak peak = peak_of(problem);
  Json j;
  j["bytes"] = peak.bytes;
  j["step"] = peak.step;
  j["buffers"] = Json::array();
  for (std::size_t i : peak.intervals) {
    Json b;
    b["name"] = problem.intervals[i].name;
    b["bytes"] = problem.intervals[i].size;
    j["buffers"].push(std::move(b));
  }
  return j;
}

Json report_json(const PlanArgs& args, const Subject& s, const std::vector<Row>& rows) {
  Json j;
  j["model"] = args.model;
  std::size_t buffers = 0;
  for (const MemoryProblem& p : s.problems) buffers += p.intervals.size();
  j["buffers"] = buffers;
  j["segments"] = s.problems.size();
  j["kernels"] = s.model.steps.size();
  j["compile_and_plan_ms"] = s.compile_ms;
  if (!s.model.steps.empty()) j["memory"] = need_json(s.model.memory);
  j["lower_bound"] = best_bound(rows);
  j["best"] = best_of(rows).strategy;
  j["strategies"] = Json::array();
  for (const Row& r : rows) j["strategies"].push(row_json(r, s));
  j["peak"] = peak_json(s.problems[s.largest]);
  return j;
}

void show_peak(const MemoryProblem& problem, const Console& console) {
  constexpr std::size_t most = 5;
  const Peak peak = peak_of(problem);
  if (peak.intervals.empty()) return;
  Table t(
      {{"live at the peak"}, {"bytes", Table::Align::right}, {"of the peak", Table::Align::right}});
  for (std::size_t k = 0; k < std::min(most, peak.intervals.size()); ++k) {
    const Interval& i = problem.intervals[peak.intervals[k]];
    t.add({shown(i.name), bytes_text(static_cast<double>(i.size)),
           percent_text(ratio(i.size, peak.bytes))});
  }
  const std::size_t rest = peak.intervals.size() - std::min(most, peak.intervals.size());
  print(cat("\n", t.text(console), rest ? cat("and ", rest, " more") : "all", " in step ",
            peak.step, "\n"));
}

void show(const Subject& s, const std::vector<Row>& rows, const Console& console) {
  const auto bytes = [](std::uint64_t n) { return bytes_text(static_cast<double>(n)); };
  const std::uint64_t bound = best_bound(rows);
  Table t({{"strategy"},
           {"arena", Table::Align::right},
           {"over the bound", Table::Align::right},
           {"fragmentation", Table::Align::right},
           {"time", Table::Align::right},
           {"proof"}});
  for (const Row& r : rows)
    t.add({std::string(r.strategy), bytes(r.size), percent_text(ratio(r.size, bound) - 1),
           percent_text(r.fragmentation), time_text(r.plan_ms), std::string(name_of(r.status))});
  std::string line =
      cat(t.text(console), "lower bound ", bytes(bound), ", unshared ", bytes(unshared_bytes(s)));
  if (!s.model.steps.empty())
    line += cat(", weights ", bytes(s.model.weight_bytes), "; ", s.model.steps.size(),
                " kernels in ", s.model.segments, s.model.segments == 1 ? " segment" : " segments",
                "\n", need_text(s.model.memory));
  print(line + "\n");
  show_peak(s.problems[s.largest], console);
}

Status write_files(const PlanArgs& args, const Subject& s, const std::vector<Row>& rows,
                   const Console& console) {
  if (args.svg.empty() && args.html.empty() && args.csv.empty()) return {};
  if (s.problems.size() > 1)
    console.note(cat("the files show the largest of ", s.problems.size(), " arenas"));
  const MemoryProblem& problem = s.problems[s.largest];
  std::vector<PlanPicture> pictures;
  for (const Row& r : rows) {
    const MemoryPlan& plan = r.plans[s.largest];
    pictures.push_back(
        {cat(model_name(args.model), ", ", r.strategy, ": ",
             bytes_text(static_cast<double>(plan.size)), ", ",
             percent_text(ratio(plan.size, lower_bound(problem)) - 1), " over the bound"),
         &problem, &plan});
  }
  const auto best = static_cast<std::size_t>(&best_of(rows) - rows.data());
  if (!args.svg.empty()) QUERN_TRY(write_file(args.svg, plan_svg(pictures[best])));
  if (!args.csv.empty())
    QUERN_TRY(write_file(args.csv, write_memory_csv(problem, pictures[best].plan)));
  std::rotate(pictures.begin(), pictures.begin() + static_cast<std::ptrdiff_t>(best),
              pictures.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  if (!args.html.empty())
    QUERN_TRY(write_file(args.html, plan_page(model_name(args.model), pictures)));
  return {};
}

Result<std::vector<const Strategy*>> chosen(const std::string& name) {
  std::vector<const Strategy*> all;
  for (const Strategy& s : strategies())
    if (name == "all" || name == s.name) all.push_back(&s);
  if (!all.empty()) return all;
  std::string list;
  for (const Strategy& s : strategies()) list += cat("\n  ", s.name, ": ", s.summary);
  return Status(Code::invalid_argument, cat("no strategy '", shown(name), "'; there is:", list));
}

ExitCode verdict(const PlanArgs& args, const Row& best, const Console& console) {
  const std::uint64_t peak = args.assert_peak ? args.assert_peak : any_capacity;
  const std::uint64_t most = std::min(peak, capacity_of(args));
  if (best.size <= most) return ExitCode::ok;
  console.error(cat("the best plan takes ", best.size, " bytes, wanted at most ", most));
  return ExitCode::failed;
}

}  // namespace

Result<ExitCode> plan_verb(const PlanArgs& args, const Console& console) {
  if (wants_pools(args)) return plan_pools(args, console);
  QUERN_ASSIGN(const std::vector<const Strategy*> strategies, chosen(args.strategy));
  QUERN_ASSIGN(const Subject subject, subject_of(args, console));
  std::vector<Row> rows;
  for (const Strategy* s : strategies) {
    QUERN_ASSIGN(rows.emplace_back(), plan_with(*s, args, subject));
  }
  QUERN_TRY(write_files(args, subject, rows, console));
  if (args.json)
    print(report_json(args, subject, rows).dump());
  else
    show(subject, rows, console);
  return verdict(args, best_of(rows), console);
}

}  // namespace quern::tools
