// SPDX-License-Identifier: Apache-2.0
// quern profile: where the time goes.
#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"
#include "tools/profile_data.h"
#include "tools/tuned.h"
#include "tools/verbs.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

using Align = Table::Align;

std::vector<std::string> number_cells(const ProfiledStep& s, const Profile& p) {
  const double total_ms = p.kernel_ms();
  const double share = p.roof_share(s);
  return {time_text(s.ms),
          percent_text(total_ms > 0 ? s.ms / total_ms : 0),
          bytes_text(s.bytes()),
          s.flops() > 0 ? count_text(s.flops()) : "",
          s.flops() > 0 ? fixed_text(s.gflops(), 1) : "",
          fixed_text(s.gbytes(), 1),
          share > 0 ? percent_text(share) : ""};
}

std::vector<Table::Column> with_numbers(std::vector<Table::Column> columns) {
  for (const char* title : {"time", "share", "bytes", "FLOP", "GFLOP/s", "GB/s", "of roof"})
    columns.push_back({title, Align::right});
  return columns;
}

Colour colour_of(const StepInfo& s) {
  return s.implementation == "reference" ? Colour::yellow : Colour::none;
}

void show_steps(const Profile& p, int rows, const Console& console) {
  std::vector<ProfiledStep> steps = p.steps;
  std::ranges::stable_sort(steps, std::ranges::greater(), &ProfiledStep::ms);
  const std::size_t count =
      rows > 0 ? std::min(steps.size(), static_cast<std::size_t>(rows)) : steps.size();
  auto columns = with_numbers({{"node", Align::left, 28},
                               {"operator", Align::left, 24},
                               {"inputs", Align::left, 40},
                               {"calls", Align::right}});
  columns.push_back({"kernel", Align::left, 40});
  Table t(columns);
  for (std::size_t i = 0; i < count; ++i) {
    const ProfiledStep& s = steps[i];
    std::vector<std::string> cells = {shown(s.step.node, 28), s.step.op, s.step.shapes,
                                      cat(s.calls)};
    for (std::string& c : number_cells(s, p)) cells.push_back(std::move(c));
    cells.push_back(s.step.implementation);
    t.add(std::move(cells), colour_of(s.step));
  }
  print(t.text(console));
  if (count < steps.size())
    print(
        console.paint(Colour::dim, cat(steps.size() - count, " more kernels; --rows 0 shows all")) +
        "\n");
}

void show_operators(const Profile& p, const Console& console) {
  Table t(with_numbers({{"operator"}, {"calls", Align::right}}));
  for (const ProfiledStep& s : by_operator(p)) {
    std::vector<std::string> cells = {s.step.op, cat(s.calls)};
    for (std::string& c : number_cells(s, p)) cells.push_back(std::move(c));
    t.add(std::move(cells));
  }
  print("\n" + t.text(console));
}

// Describes the time of a run that is not spent in kernels.
std::string rest_text(const Profile& p) {
  const double rest = std::max(p.run_ms - p.kernel_ms(), 0.0);
  if (p.lane_ms(StepInfo::Lane::device) <= 0) return cat("between them ", time_text(rest));
  std::string text;
  const auto add = [&](std::string_view name, double ms) {
    if (ms > 0) text += cat(text.empty() ? "" : ", ", name, " ", time_text(ms));
  };
  add("of them on the device", p.lane_ms(StepInfo::Lane::device));
  add("up", p.lane_ms(StepInfo::Lane::upload));
  add("down", p.lane_ms(StepInfo::Lane::download));
  add("on the host", p.lane_ms(StepInfo::Lane::host));
  add("gaps of the device", p.gaps_ms());
  add("else", rest - p.gaps_ms());
  return text;
}

std::string total_line(const Profile& p, Stripes stripes) {
  return cat("run ", time_text(p.run_ms), " (median of ", p.runs, ", ", p.threads,
             p.threads == 1 ? " thread" : " threads", "), kernels ", time_text(p.kernel_ms()), ", ",
             rest_text(p), stripes_text(stripes), "\nroof ", fixed_text(p.roof.gflops, 1),
             " GFLOP/s (", p.roof.instructions, "), copy ", fixed_text(p.roof.copy_gbytes, 1),
             " GB/s\n");
}

}  // namespace

Result<ExitCode> profile_verb(const ProfileArgs& args, const Console& console) {
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, args.device, {.console = &console}));
  note_assumptions(o, console);
  QUERN_ASSIGN(Profile p, take_profile(*o.session, args.runs));
  p.model = model_name(args.model);
  p.device = args.device.device;
  QUERN_ASSIGN(p.roof, measure_roof(o.executable->device(), p.threads));
  if (!args.trace.empty()) QUERN_TRY(write_whole_file(args.trace, chrome_trace(p)));
  if (!args.html.empty()) QUERN_TRY(write_whole_file(args.html, html_page(p)));
  if (args.json) {
    Json j = profile_json(p);
    if (o.tuning) j["considered"] = considered_json(o.session->plan_info(), *o.tuning);
    print(j.document());
    return ExitCode::ok;
  }
  show_steps(p, args.rows, console);
  if (o.tuning) print(considered_text(o.session->plan_info(), *o.tuning, console));
  show_operators(p, console);
  print("\n" + total_line(p, o.session->plan_info().stripes));
  if (!args.trace.empty()) print(cat("wrote ", args.trace, ": open it at ui.perfetto.dev\n"));
  if (!args.html.empty()) print(cat("wrote ", args.html, "\n"));
  return ExitCode::ok;
}

}  // namespace quern::tools
