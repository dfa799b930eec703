// SPDX-License-Identifier: Apache-2.0
// quern plan: strategies of placement side by side, for a model's buffers or for those of a file.
#include "graph/memory/problem/plan.h"

#include <algorithm>
#include <charconv>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/banks/bank_packing.h"
#include "graph/memory/order/step_graph.h"
#include "graph/memory/picture/plan_picture.h"
#include "graph/memory/problem/csv.h"
#include "graph/memory/problem/in_flight.h"
#include "graph/memory/problem/planted.h"
#include "tools/external_strategy.h"
#include "tools/opened.h"
#include "tools/plan_banks.h"
#include "tools/plan_frontier.h"
#include "tools/plan_pools.h"
#include "tools/verbs.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

// The problems to plan: one arena per segment of the model, or one for a file.
struct Subject {
  std::vector<MemoryProblem> problems;
  PlanInfo model;  // of a file: empty
  double compile_ms = 0;
  std::vector<InFlight> in_flight;  // of the problems, when there are several runs
  std::uint64_t bound_of_one = 0;   // run

  std::size_t largest = 0;              // problem, the one that is drawn and written
  std::vector<std::string> step_names;  // of that one, where they are known
};

struct Row {
  std::string strategy;
  std::vector<MemoryPlan> plans;  // of the problems
  PlanAnswer over_banks;          // where there are banks, the answer to the one problem
  std::uint64_t size = 0;         // of all arenas
  std::uint64_t bound = 0;
  PlanStatus status = PlanStatus::optimal;
  double fragmentation = 0;  // of the largest arena
  double plan_ms = 0;
};

constexpr std::string_view planted_prefix = "planted:";

// The alignment of offsets in a buffer of such a device.
struct DeviceAlignment {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr DeviceAlignment alignments[] = {
    {"cpu", 64},      // a line of the cache
    {"vulkan", 256},  // most that minStorageBufferOffsetAlignment may be
    {"webgpu", 256},  // minStorageBufferOffsetAlignment, unless a device promises less
    {"opencl", 128},  // least that CL_DEVICE_MEM_BASE_ADDR_ALIGN may be
    {"page", 4096},
};

const DeviceAlignment* find_alignment(std::string_view device) {
  const std::string_view name = device.substr(0, device.find(':'));
  const auto at = std::ranges::find(alignments, name, &DeviceAlignment::name);
  return at == std::end(alignments) ? nullptr : at;
}

// 0: as the buffers have it.
Result<std::uint64_t> device_alignment(const std::string& device) {
  if (device.empty() || device == "reference") return std::uint64_t{0};
  if (const DeviceAlignment* a = find_alignment(device)) return a->bytes;
  std::string names;
  for (const DeviceAlignment& a : alignments) names += cat(names.empty() ? "" : ", ", a.name);
  return Status(Code::invalid_argument,
                cat("no device '", shown(device), "' whose alignment is known; there is: ", names));
}

// A model is compiled for the device if this machine may have it, else for the CPU.
DeviceArgs compiled_for(DeviceArgs device) {
  const std::vector<DeviceInfo> real = list_devices();
  if (std::ranges::find(real, device.device, &DeviceInfo::name) == real.end() &&
      device.device != "reference")
    device.device = "cpu";
  return device;
}

// "planted:BUFFERS:SEED" or "planted:BUFFERS:SEED:DROP".
Result<Subject> generate_subject(const std::string& text) {
  std::vector<double> numbers;
  std::string_view rest = std::string_view(text).substr(planted_prefix.size());
  while (!rest.empty() && numbers.size() < 4) {
    const std::string_view word = rest.substr(0, rest.find(':'));
    double& n = numbers.emplace_back();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error != std::errc() || end != word.data() + word.size() || n < 0) numbers.resize(4);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  if (numbers.size() < 2 || numbers.size() > 3 || numbers[0] < 1 || numbers[0] > 1e6 ||
      numbers[1] > 1e15 || (numbers.size() == 3 && numbers[2] > 1))
    return Status(Code::invalid_argument,
                  cat("'", shown(text),
                      "': wanted planted:BUFFERS:SEED or planted:BUFFERS:SEED:DROP, "
                      "with 1 to 1000000 buffers and a share of 0 to 1 to drop"));
  Subject s;
  s.problems.push_back(planted_problem({.buffers = static_cast<std::size_t>(numbers[0]),
                                        .seed = static_cast<std::uint64_t>(numbers[1]),
                                        .drop = numbers.size() == 3 ? numbers[2] : 0}));
  return s;
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
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, compiled_for(args.device),
                                    {.order = args.order == "on", .alias = args.alias == "on"}));
  note_assumptions(o, console);
  // Parts whose shapes depend on data are planned during a run.
  if (const Status status = o.session->run(); !status.ok())
    console.warn(
        cat("the run failed, what depends on its data is not planned: ", status.message()));
  Subject s;
  s.model = o.session->plan_info();
  s.compile_ms = o.phases.compile_ms + o.phases.plan_ms;
  s.problems.resize(std::max<std::size_t>(s.model.segments, 1));
  for (const BufferInfo& b : s.model.buffers) {
    Interval i{
        .name = b.name, .size = b.bytes, .alignment = b.alignment, .first = b.first, .end = b.end};
    for (const auto& g : b.gaps) i.gaps.push_back({g.first, g.end, g.from, g.to});
    s.problems[b.segment].intervals.push_back(std::move(i));
  }
  return s;
}

void put_in_flight(Subject& s, std::size_t runs) {
  for (MemoryProblem& p : s.problems) {
    s.bound_of_one += lower_bound(p);
    s.in_flight.push_back(in_flight(p, runs));
    p = s.in_flight.back().problem;
  }
}

bool has_banks(const Subject& s) {
  return !s.problems[0].banks.empty();
}

Status check_use_of_banks(const PlanArgs& args, const Subject& s) {
  if (!has_banks(s)) return {};
  if (s.problems.size() > 1)
    return {Code::invalid_argument,
            cat("this model has ", s.problems.size(), " arenas, with banks wanted 1")};
  if (args.in_flight > 1)
    return {Code::invalid_argument, "--inflight plans one memory, and there are banks"};
  if (args.capacity)
    return {Code::invalid_argument, "--capacity is of one memory; that of a bank is in --bank"};
  return {};
}

Result<Subject> subject_of(const PlanArgs& args, const Console& console) {
  QUERN_ASSIGN(Subject s, args.model.starts_with(planted_prefix) ? generate_subject(args.model)
                          : is_csv(args.model)                   ? read_subject(args)
                                                                 : compile_subject(args, console));
  QUERN_ASSIGN(const std::uint64_t least, device_alignment(args.device.device));
  for (MemoryProblem& p : s.problems) {
    for (Interval& i : p.intervals) {
      if (least) i.alignment = std::max(i.alignment, least);
      if (args.align) i.alignment = args.align;
    }
    QUERN_TRY(set_banks(args.banks, p));
    QUERN_TRY(check(p));
  }
  QUERN_TRY(check_use_of_banks(args, s));
  if (args.in_flight > 1)
    put_in_flight(s, static_cast<std::size_t>(args.in_flight));
  else if (s.problems.size() == 1)
    for (const StepInfo& step : s.model.steps)
      s.step_names.push_back(step.node.empty() ? step.op : step.node);
  const auto bound = [](const MemoryProblem& p) { return lower_bound(p); };
  s.largest = static_cast<std::size_t>(std::ranges::max_element(s.problems, {}, bound) -
                                       s.problems.begin());
  return s;
}

std::uint64_t capacity_of(const PlanArgs& args) {
  return args.capacity ? args.capacity : any_capacity;
}

Result<Row> plan_with(const NamedStrategy& strategy, const PlanArgs& args, const Subject& subject) {
  Row row{.strategy = strategy.name};
  Stopwatch watch;
  for (const MemoryProblem& p : subject.problems) {
    QUERN_ASSIGN(PlanAnswer answer,
                 strategy.plan(p, {.capacity = capacity_of(args), .seconds = args.time_limit}));
    if (answer.found == Found::plan) QUERN_TRY(validate(p, answer.plan));
    if (!p.banks.empty()) row.over_banks = answer;
    row.size += answer.plan.size;
    row.bound += answer.bound;
    row.plans.push_back(std::move(answer.plan));
  }
  row.plan_ms = watch.lap();
  if (has_banks(subject)) {
    row.status = status_of(row.over_banks);
    return row;
  }
  row.status = status_of({{{}, row.size}, row.bound}, capacity_of(args));
  row.fragmentation = fragmentation(subject.problems[subject.largest], row.plans[subject.largest]);
  return row;
}

// The sum of the live bytes at the peak of each problem.
std::uint64_t peaks_bound(const Subject& s) {
  std::uint64_t bound = 0;
  for (const MemoryProblem& p : s.problems) bound += lower_bound(p);
  return bound;
}

// The same without the kernels' scratch memory.
std::uint64_t bound_without_scratch(const Subject& s) {
  std::uint64_t bound = 0;
  for (MemoryProblem p : s.problems) {
    std::erase_if(p.intervals, [](const Interval& i) { return i.name.starts_with(scratch_name); });
    bound += lower_bound(p);
  }
  return bound;
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
  return *std::ranges::min_element(rows, [](const Row& a, const Row& b) {
    const bool either = !a.over_banks.plan.banks.empty() || !b.over_banks.plan.banks.empty();
    return either ? costs_less(a.over_banks, b.over_banks) : a.size < b.size;
  });
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
  if (has_banks(s)) add_banks(j, s.problems[0], r.over_banks);
  return j;
}

// "conv1" of a model's step, else its number.
std::string step_text(const std::vector<std::string>& names, std::int64_t step) {
  const auto n = static_cast<std::size_t>(step);
  return step >= 0 && n < names.size() ? cat(step, " ", shown(names[n], 40)) : cat(step);
}

Json peak_json(const MemoryProblem& problem, const std::vector<std::string>& names) {
  const Peak peak = peak_of(problem);
  Json j;
  j["bytes"] = peak.bytes;
  j["step"] = peak.step;
  j["buffers"] = Json::array();
  for (std::size_t i : peak.intervals) {
    Json b;
    b["name"] = problem.intervals[i].name;
    b["bytes"] = problem.intervals[i].size;
    b["made_in"] = step_text(names, problem.intervals[i].first);
    b["last_used_in"] = step_text(names, problem.intervals[i].end - 1);
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
  j["plain_lower_bound"] = s.model.plain_lower_bound;
  j["order_is_optimal"] = s.model.order_is_optimal;
  j["is_searched"] = s.model.is_searched;
  if (!s.model.steps.empty()) j["memory"] = need_json(s.model.memory);
  j["lower_bound"] = best_bound(rows);
  j["bound_without_scratch"] = bound_without_scratch(s);
  j["best"] = best_of(rows).strategy;
  if (!s.in_flight.empty()) {
    j["lag"] = s.in_flight[s.largest].lag;
    j["period"] = s.in_flight[s.largest].period;
    j["bound_of_one_run"] = s.bound_of_one;
  }
  j["strategies"] = Json::array();
  for (const Row& r : rows) j["strategies"].push(row_json(r, s));
  j["peak"] = peak_json(s.problems[s.largest], s.step_names);
  return j;
}

// Why so much is live at once: who made each buffer and who reads it last.
void show_peak(const MemoryProblem& problem, const std::vector<std::string>& names,
               const Console& console) {
  constexpr std::size_t most = 8;
  const Peak peak = peak_of(problem);
  if (peak.intervals.empty()) return;
  Table t({{"live at the peak"},
           {"bytes", Table::Align::right},
           {"of the peak", Table::Align::right},
           {"made in step"},
           {"last used in"}});
  for (std::size_t k = 0; k < std::min(most, peak.intervals.size()); ++k) {
    const Interval& i = problem.intervals[peak.intervals[k]];
    t.add({shown(i.name), bytes_text(static_cast<double>(i.size)),
           percent_text(ratio(i.size, peak.bytes)), step_text(names, i.first),
           step_text(names, i.end - 1)});
  }
  const std::size_t rest = peak.intervals.size() - std::min(most, peak.intervals.size());
  print(cat("\n", t.text(console), rest ? cat("and ", rest, " more") : "all", " in step ",
            step_text(names, peak.step), "\n"));
}

std::string in_flight_text(const Subject& s, const Row& best) {
  const InFlight& f = s.in_flight[s.largest];
  return cat("runs in flight, each ", f.lag, " of ", f.period,
             " steps behind the one before, take ", fixed_text(ratio(best.size, s.bound_of_one), 3),
             " of the bound of one");
}

void show_banks(const Subject& s, const std::vector<Row>& rows, const Console& console) {
  std::vector<BanksRow> told;
  told.reserve(rows.size());
  for (const Row& r : rows) told.push_back({r.strategy, &r.over_banks, r.plan_ms});
  print(banks_table(s.problems[0], told, console));
  show_peak(s.problems[0], s.step_names, console);
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
  std::string line = cat(t.text(console), "lower bound ", bytes(bound));
  const std::uint64_t peaks = peaks_bound(s);
  if (peaks < bound) line += cat(" (proven by search; ", bytes(peaks), " live at the peak)");
  const std::uint64_t without_scratch = bound_without_scratch(s);
  if (without_scratch < peaks)
    line += cat(" (", bytes(without_scratch), " without the scratch of kernels)");
  line += cat(", unshared ", bytes(unshared_bytes(s)));
  if (!s.model.steps.empty())
    line += cat(", weights ", bytes(s.model.weight_bytes), "; ", s.model.steps.size(),
                " kernels in ", s.model.segments, s.model.segments == 1 ? " segment" : " segments",
                stripes_text(s.model.stripes), "\n", need_text(s.model.memory));
  print(line + "\n");
  if (!s.in_flight.empty()) print(in_flight_text(s, best_of(rows)) + "\n");
  show_peak(s.problems[s.largest], s.step_names, console);
}

Status write_files(const PlanArgs& args, const Subject& s, const std::vector<Row>& rows,
                   const Console& console) {
  if (args.svg.empty() && args.html.empty() && args.csv.empty() && args.problem.empty()) return {};
  if (s.problems.size() > 1)
    console.note(cat("the files show the largest of ", s.problems.size(), " arenas"));
  const MemoryProblem& problem = s.problems[s.largest];
  std::vector<PlanPicture> pictures;
  std::size_t best = 0;
  for (const Row& r : rows) {
    const MemoryPlan& plan = r.plans[s.largest];
    if (plan.offsets.size() != problem.intervals.size()) continue;  // it has none
    if (&r == &best_of(rows)) best = pictures.size();
    pictures.push_back(
        {cat(model_name(args.model), ", ", r.strategy, ": ",
             bytes_text(static_cast<double>(plan.size)), ", ",
             problem.banks.empty()
                 ? cat(percent_text(ratio(plan.size, lower_bound(problem)) - 1), " over the bound")
                 : cat("cost ", r.over_banks.cost)),
         &problem, &plan});
  }
  if (!args.problem.empty())
    QUERN_TRY(write_whole_file(args.problem, write_memory_csv(problem, nullptr)));
  if (pictures.empty()) return {};
  if (!args.svg.empty()) QUERN_TRY(write_whole_file(args.svg, plan_svg(pictures[best])));
  if (!args.csv.empty())
    QUERN_TRY(write_whole_file(args.csv, write_memory_csv(problem, pictures[best].plan)));
  std::rotate(pictures.begin(), pictures.begin() + static_cast<std::ptrdiff_t>(best),
              pictures.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  if (!args.html.empty())
    QUERN_TRY(
        write_whole_file(args.html, plan_page(model_name(args.model), pictures, s.step_names)));
  return {};
}

// "all", or names with commas between them.
Result<std::vector<NamedStrategy>> chosen(std::string_view names) {
  const auto own = [](const Strategy& s) {
    return NamedStrategy{
        std::string(s.name),
        [&s](const MemoryProblem& p, const PlanLimits& limits) -> Result<PlanAnswer> {
          return s.plan(p, limits);
        }};
  };
  std::vector<NamedStrategy> list;
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    const std::string name(names.substr(0, comma));
    names.remove_prefix(comma == names.npos ? names.size() : comma + 1);
    if (is_external(name)) {
      list.push_back(external_strategy(name));
    } else if (const Strategy* s = find_strategy(name)) {
      list.push_back(own(*s));
    } else if (name == "all") {
      for (const Strategy& s : strategies()) list.push_back(own(s));
    } else {
      std::string known;
      for (const Strategy& s : strategies()) known += cat("\n  ", s.name, ": ", s.summary);
      return Status(Code::invalid_argument, cat("no strategy '", shown(name),
                                                "'; there is exec:PROGRAM, so:FILE and", known));
    }
  }
  if (list.empty()) return Status(Code::invalid_argument, "no strategy is named");
  return list;
}

ExitCode verdict(const PlanArgs& args, const Row& best, const Console& console) {
  const std::uint64_t peak = args.assert_peak ? args.assert_peak : any_capacity;
  const std::uint64_t most = std::min(peak, capacity_of(args));
  if (best.over_banks.found != Found::plan) {
    console.error(best.status == PlanStatus::infeasible ? "no plan fits the banks"
                                                        : "no plan was found that fits the banks");
    return ExitCode::failed;
  }
  if (best.size <= most) return ExitCode::ok;
  console.error(cat("the best plan takes ", best.size, " bytes, wanted at most ", most));
  return ExitCode::failed;
}

}  // namespace

Result<ExitCode> plan_verb(const PlanArgs& args, const Console& console) {
  if (wants_pools(args)) return plan_pools(args, console);
  if (args.frontier) return plan_frontier(args, console);
  QUERN_ASSIGN(const std::vector<NamedStrategy> strategies, chosen(args.strategy));
  QUERN_ASSIGN(const Subject subject, subject_of(args, console));
  std::vector<Row> rows;
  for (const NamedStrategy& s : strategies) {
    QUERN_ASSIGN(rows.emplace_back(), plan_with(s, args, subject));
  }
  QUERN_TRY(write_files(args, subject, rows, console));
  if (args.json)
    print(report_json(args, subject, rows).document());
  else if (has_banks(subject))
    show_banks(subject, rows, console);
  else
    show(subject, rows, console);
  return verdict(args, best_of(rows), console);
}

}  // namespace quern::tools
