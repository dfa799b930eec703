// SPDX-License-Identifier: Apache-2.0
#include "tools/tuned.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <quern/session.h>

#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

std::string file_of(const DeviceArgs& device) {
  return !device.tuning.empty() ? device.tuning : Tuning::usual_path();
}

std::string outcome(const TuneReport& r, const std::string& file) {
  if (r.measured == 0) return "";
  std::string text = cat(r.measured, r.measured == 1 ? " choice" : " choices", " measured, ",
                         r.changed, " changed");
  if (r.after_us < r.before_us)
    text += cat(", kernels of a run ", time_text(r.before_us / 1e3), " before and ",
                time_text(r.after_us / 1e3), " now");
  if (r.stripes)
    text += cat(", in stripes of rows a run takes ", time_text(r.striped_us / 1e3), " of ",
                time_text(r.whole_us / 1e3), " before");
  return cat(text, r.is_complete ? "" : " (the time was up)", ", kept in ", file);
}

struct Considered {
  const StepInfo* step;
  const Tuning::Row* row;
};

// A work once, at its first step.
std::vector<Considered> considered(const PlanInfo& plan, const Tuning& tuning) {
  std::vector<Considered> list;
  std::set<std::string> seen;
  for (const StepInfo& s : plan.steps) {
    const Tuning::Row* row = s.work.empty() ? nullptr : tuning.find(s.work);
    if (row && row->candidates.size() > 1 && seen.insert(s.work).second) list.push_back({&s, row});
  }
  return list;
}

}  // namespace

Result<std::shared_ptr<const Tuning>> load_tuning(const DeviceArgs& device) {
  if (device.tuning.empty() && !device.tune) return std::shared_ptr<const Tuning>();
  if (file_of(device).empty())
    return Status(Code::invalid_argument,
                  "--tune has no folder to keep what it measures in: --tuning names a file");
  QUERN_ASSIGN(Tuning tuning, Tuning::load(file_of(device)));
  return std::make_shared<const Tuning>(std::move(tuning));
}

Status tune_model(const Model& model, std::span<const InputValue> inputs, const DeviceArgs& device,
                  const Console* console, CompileOptions& options) {
  Tuning tuning = *options.tuning;
  TuneOptions how;
  how.deadline = options.deadline;
  std::optional<Progress> progress;
  if (console) progress.emplace(*console);
  how.progress = [&](std::string_view what) {
    if (progress) progress->update(cat("measuring ", what));
  };
  const auto bind = [&](Session& session) { return bind_inputs(session, inputs); };
  QUERN_ASSIGN(const TuneReport report, tune(model, options, bind, tuning, how));
  progress.reset();
  if (report.measured > 0) QUERN_TRY(tuning.save(file_of(device)));
  const std::string text = outcome(report, file_of(device));
  if (console && !text.empty()) console->note(text);
  options.tuning = std::make_shared<const Tuning>(std::move(tuning));
  return {};
}

std::string considered_text(const PlanInfo& plan, const Tuning& tuning, const Console& console) {
  Table table({{"node", Table::Align::left, 28},
               {"operator", Table::Align::left, 24},
               {"taken", Table::Align::left, 20},
               {"considered, in microseconds", Table::Align::left, 90}});
  for (const auto& [step, row] : considered(plan, tuning)) {
    std::string all;
    for (const Tuning::Candidate& c : row->candidates)
      all += cat(all.empty() ? "" : ", ", shown(c.entry, 20), " ", number_text(c.us));
    table.add({shown(step->node, 28), step->op, step->entry, std::move(all)});
  }
  return table.empty() ? "" : table.text(console);
}

Json considered_json(const PlanInfo& plan, const Tuning& tuning) {
  Json list = Json::array();
  for (const auto& [step, row] : considered(plan, tuning)) {
    Json j;
    j["node"] = step->node;
    j["work"] = step->work;
    j["entry"] = step->entry;
    Json candidates;
    for (const Tuning::Candidate& c : row->candidates) candidates[c.entry] = c.us;
    j["considered_us"] = std::move(candidates);
    list.push(std::move(j));
  }
  return list;
}

}  // namespace quern::tools
