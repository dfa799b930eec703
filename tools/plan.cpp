// SPDX-License-Identifier: Apache-2.0
// quern plan: bytes of intermediate results per strategy of placement.
#include "graph/memory/plan.h"

#include "graph/text_util.h"
#include "tools/opened.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

struct Row {
  std::string strategy;
  PlanInfo plan;
  double plan_ms = 0;
};

Result<Row> plan_with(const PlanArgs& args, std::string_view strategy, const Console& console,
                      bool first) {
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, args.device,
                                    {.strategy = std::string(strategy)}));
  if (first) note_generated(o, console);
  Row row{std::string(strategy), o.session->plan_info(), o.phases.compile_ms + o.phases.plan_ms};
  // What depends on data is planned when a run gets there.
  if (const Status status = o.session->run(); status.ok()) {
    row.plan = o.session->plan_info();
  } else if (first) {
    console.warn(
        cat("the run failed, what depends on its data is not planned: ", status.message()));
  }
  return row;
}

Json row_json(const Row& r) {
  Json j;
  j["strategy"] = r.strategy;
  j["arena_bytes"] = r.plan.arena_bytes;
  j["lower_bound"] = r.plan.arena_lower_bound;
  j["unshared_bytes"] = r.plan.unshared_bytes;
  j["segments"] = r.plan.segments;
  j["kernels"] = r.plan.steps.size();
  j["compile_and_plan_ms"] = r.plan_ms;
  return j;
}

double ratio(std::size_t a, std::size_t b) {
  return b ? static_cast<double>(a) / static_cast<double>(b) : 1;
}

void show(const std::vector<Row>& rows, const Console& console) {
  const auto bytes = [](std::size_t n) { return bytes_text(static_cast<double>(n)); };
  Table t({{"strategy"},
           {"arena", Table::Align::right},
           {"over the bound", Table::Align::right},
           {"of unshared", Table::Align::right},
           {"compile + plan", Table::Align::right}});
  for (const Row& r : rows)
    t.add({r.strategy, bytes(r.plan.arena_bytes),
           percent_text(ratio(r.plan.arena_bytes, r.plan.arena_lower_bound) - 1),
           percent_text(ratio(r.plan.arena_bytes, r.plan.unshared_bytes)), time_text(r.plan_ms)});
  const PlanInfo& p = rows[0].plan;
  print(cat(t.text(console), "lower bound ", bytes(p.arena_lower_bound), ", unshared ",
            bytes(p.unshared_bytes), ", weights ", bytes(p.weight_bytes), "; ", p.steps.size(),
            " kernels in ", p.segments, p.segments == 1 ? " segment\n" : " segments\n"));
}

}  // namespace

Result<ExitCode> plan_verb(const PlanArgs& args, const Console& console) {
  std::vector<std::string_view> names;
  for (const Strategy& s : strategies())
    if (args.strategy == "all" || args.strategy == s.name) names.push_back(s.name);
  if (names.empty()) {
    std::string list;
    for (const Strategy& s : strategies()) list += cat("\n  ", s.name, ": ", s.summary);
    return Status(Code::invalid_argument,
                  cat("no strategy '", shown(args.strategy), "'; there is:", list));
  }
  std::vector<Row> rows;
  for (std::string_view name : names) {
    QUERN_ASSIGN(rows.emplace_back(), plan_with(args, name, console, rows.empty()));
  }
  if (!args.json) {
    show(rows, console);
    return ExitCode::ok;
  }
  Json j;
  j["model"] = args.model;
  j["strategies"] = Json::array();
  for (const Row& r : rows) j["strategies"].push(row_json(r));
  print(j.dump());
  return ExitCode::ok;
}

}  // namespace quern::tools
