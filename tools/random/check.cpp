// SPDX-License-Identifier: Apache-2.0
#include "tools/random/check.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "tools/children.h"
#include "tools/compare.h"
#include "tools/console.h"
#include "tools/opened.h"
#include "tools/parse.h"

namespace quern::tools {
namespace {

using Kind = Verdict::Kind;
constexpr std::string_view names[] = {
    "right",    "refused", "error", "wrong",
    "unstable", "crashed", "hung",  "reference outside of the bound"};

Verdict failure(Kind kind, const Levers& way, std::string reason, std::string_view output = "") {
  return {kind, way.text(), std::string(output), std::move(reason), {}};
}

// The runs in turn, and the first one again.
Verdict check_session(const RandomModel& model, const Judge& judge, Session& session,
                      const Levers& way) {
  RunOutputs first;
  for (std::size_t run = 0; run <= model.runs.size(); ++run) {
    const bool again = run == model.runs.size();
    const std::size_t inputs = again ? 0 : run;
    auto got = run_once(session, model.runs[inputs]);
    if (!got) return failure(Kind::error, way, cat("run ", run, ": ", got.error().message()));
    for (std::size_t i = 0; i < got->size(); ++i) {
      const std::string_view name = model.graph().outputs[i].name;
      const std::string wrong = judge.verdict(inputs, i, (*got)[i]);
      if (!wrong.empty()) return failure(Kind::wrong, way, cat("run ", run, ": ", wrong), name);
      for (std::size_t k = 0; again && k < (*got)[i].size(); ++k)
        if (!identical((*got)[i][k].view(), first[i][k].view()))
          return failure(Kind::unstable, way, "other bits than the first time", name);
    }
    if (run == 0) first = std::move(*got);
  }
  return {};
}

// The judges of one model on one device: one for each arithmetic of its ways.
class Judges {
 public:
  Judges(const RandomModel& model, std::string_view device) : model_(model), device_(device) {}
  Result<const Judge*> judge(const Levers& way) {
    const Arithmetic arithmetic = arithmetic_of(device_, way.entry);
    if (const auto found = made_.find(arithmetic); found != made_.end()) return &found->second;
    QUERN_ASSIGN(Judge judge,
                 made_.empty() ? Judge::make(model_, arithmetic)
                               : Judge::make(model_, made_.begin()->second.wanted(), arithmetic));
    return &made_.emplace(arithmetic, std::move(judge)).first->second;
  }

 private:
  const RandomModel& model_;
  std::string_view device_;
  std::map<Arithmetic, Judge> made_;
};

Verdict check_ways(const RandomModel& model, Judges& judges, const std::string& device_name,
                   std::span<const Levers> ways) {
  // One for all models of this process: its pipelines are made once.
  static std::map<std::string, std::shared_ptr<Device>> opened;
  std::shared_ptr<Device>& device = opened[device_name];
  if (!device) {
    auto named = device_named(device_name);
    if (!named) return failure(Kind::error, {}, std::string(named.error().message()));
    device = *std::move(named);
  }
  for (const Levers& way : ways) {
    const auto judge = judges.judge(way);
    if (!judge) return failure(Kind::refused, way, std::string(judge.error().message()));
    const auto executable = compile_random(model, device, way.options(), way);
    if (!executable) return failure(Kind::error, way, std::string(executable.error().message()));
    const auto session = Session::create(*executable);
    if (!session) return failure(Kind::error, way, std::string(session.error().message()));
    Verdict v = check_session(model, **judge, **session, way);
    if (!v.ok()) return v;
  }
  return {};
}

}  // namespace

std::string_view name_of(Kind kind) {
  return names[static_cast<int>(kind)];
}

std::string Verdict::text() const {
  if (ok()) return "right";
  std::string s = cat(name_of(kind), " (", levers, ")");
  if (!output.empty()) s += cat(" output '", shown(output), "'");
  return cat(s, ": ", reason);
}

bool Verdict::same_failure(const Verdict& other) const {
  if (kind != other.kind) return false;
  if (kind != Kind::refused && kind != Kind::error) return true;
  const auto words = [](std::string s) {
    std::erase_if(s, [](char c) { return (c >= '0' && c <= '9') || c == ','; });
    return s.substr(0, 60);
  };
  return words(reason) == words(other.reason);
}

std::string Verdict::serialise() const {
  return cat(static_cast<int>(kind), "\n", levers, "\n", output, "\n", printable(reason, 600), "\n",
             share.elements, "\n", share.undetermined, "\n");
}

Verdict Verdict::parse(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() < 6 || lines[0].size() != 1)
    return {Kind::crashed, "", "", "the process ended without an answer", {}};
  const Share share{parse_integer(lines[4]).value_or(0), parse_integer(lines[5]).value_or(0)};
  return {static_cast<Kind>(lines[0][0] - '0'), lines[1], lines[2], lines[3], share};
}

Verdict blamed(Verdict verdict, const Judge& judge) {
  for (const Judge::Fault& fault : judge.faults()) {
    const bool is_same = verdict.kind == Kind::wrong && verdict.output == fault.output;
    if (verdict.ok() || is_same)
      verdict = failure(Kind::reference_outside, {}, fault.reason, fault.output);
  }
  verdict.share = judge.share();
  return verdict;
}

Verdict check_here(const RandomModel& model, const std::string& device,
                   std::span<const Levers> ways) {
  Judges judges(model, device);
  const auto judge = judges.judge({});
  if (!judge) return failure(Kind::refused, {}, std::string(judge.error().message()));
  return blamed(check_ways(model, judges, device, ways), **judge);
}

Verdict check_apart(const RandomModel& model, const std::string& device, const Levers& way,
                    double timeout_s) {
  Verdict verdict;
  run_in_children(
      1, {.jobs = 1, .timeout_s = timeout_s},
      [&](std::size_t) {
        way.apply_to_process();
        return check_here(model, device, std::span(&way, 1)).serialise();
      },
      [&](std::size_t, const ChildResult& r) {
        verdict = r.how == ChildResult::How::finished  ? Verdict::parse(r.answer)
                  : r.how == ChildResult::How::crashed ? failure(Kind::crashed, way, r.why)
                                                       : failure(Kind::hung, way, "timed out");
      });
  return verdict;
}

}  // namespace quern::tools
