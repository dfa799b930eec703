// SPDX-License-Identifier: Apache-2.0
// The results of an investigation, as text and as JSON.
#include <algorithm>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "tools/against/against.h"

namespace quern::tools {
namespace {

std::string plural(std::size_t n, std::string_view one) {
  return cat(n, " ", one, n == 1 ? "" : "s");
}

std::string kernel_text(const StepInfo& s) {
  return cat(s.op, " of ", s.shapes, " by ", s.implementation,
             s.layouts.empty() ? "" : cat(", ", s.layouts));
}

// The steps that came of a node, by its name or that of a value it makes.
std::vector<const StepInfo*> steps_of(const SourceModel& model, std::uint32_t node,
                                      const std::vector<StepInfo>& steps) {
  std::vector<const StepInfo*> found;
  const auto made = model.makes(node);
  for (const StepInfo& s : steps)
    if ((!s.node.empty() && s.node == model.node(node).name) ||
        std::ranges::find(made, s.node) != made.end())
      found.push_back(&s);
  return found;
}

class Report {
 public:
  Report(const Investigation& what, const Finding& finding, const Console& console)
      : what_(what), f_(finding), console_(console) {}

  std::string text() {
    s_ = cat(what_.tested.name, " against ", what_.judge.name, ", ", f_.inputs,
             "; an element may differ by ", criterion_text(what_.criterion), "\n");
    outputs();
    values();
    cut();
    return std::move(s_) + "\n";
  }

 private:
  void line(std::string_view title, std::string_view text) {
    s_ += cat(title, std::string(10 - std::min<std::size_t>(title.size(), 9), ' '), text, "\n");
  }

  std::string spot(const Spot& p, const std::string& distance) const {
    return cat("at ", p.at, " ", what_.tested.name, " has ", p.got, ", ", what_.judge.name, " ",
               p.wanted, " (", distance, ")");
  }

  void difference(const Divergence& d) {
    if (!d.mismatch.empty()) return line("", d.mismatch);
    line("", cat(count(d.outside), " of ", count(d.elements), " elements differ"));
    line("", "most       " + spot(d.largest, number_text(d.largest.by) + " apart"));
    if (!d.relative.at.empty() && d.relative.at != d.largest.at)
      line("", "relatively " + spot(d.relative, number_text(100 * d.relative.by) + " % off"));
  }

  static std::string count(std::int64_t n) { return std::to_string(n); }

  void outputs() {
    const std::size_t n = f_.outputs.values.size();
    const PartingValue* first = f_.outputs.first();
    if (!first)
      return line("outputs", console_.paint(Colour::green, n == 1 ? "the output agrees"
                                                                  : cat("all ", n, " agree")));
    const std::string value = cat("'", shown(first->name), "' ", first->difference.type);
    line("outputs", console_.paint(Colour::red,
                                   n == 1 ? cat(value, " parts")
                                          : cat(parted(f_.outputs), " of ", n, ", first ", value)));
    difference(first->difference);
  }

  // "1 parts", "3 part"
  static std::string parted(const Trial& trial) {
    return cat(trial.parted(), trial.parted() == 1 ? " parts" : " part");
  }

  void values() {
    if (!f_.values_refused.empty())
      return line("values", "cannot all be handed out: " + f_.values_refused);
    const std::size_t n = f_.values.values.size();
    const PartingValue* first = f_.values.first();
    if (!first && !f_.parts())
      return line("values", cat(plural(n, "value"), " agree, by at most ", agreement(n)));
    if (!first)
      return line("values", cat("with all ", n,
                                " handed out none parts: it shows only where nodes run together",
                                what_.bisect == Bisect::yes ? "" : "; --bisect finds which"));
    const auto before = static_cast<std::size_t>(first - f_.values.values.data());
    if (n > 1)
      line("values", cat("with all ", n, " handed out ", parted(f_.values),
                         before == 0 ? ""
                                     : cat("; the ", before, " before agree by at most ",
                                           agreement(before))));
    const std::uint32_t at = *what_.model.maker(first->name);
    node("first", at);
    first_ = block(steps_of(what_.model, at, f_.values.steps), *first);
    s_ += first_;
  }

  // The kernels, what they make, and how it differs.
  std::string block(const std::vector<const StepInfo*>& steps, const PartingValue& value) {
    const std::string before = std::exchange(s_, {});
    for (const StepInfo* s : steps) line("", "kernel " + kernel_text(*s));
    if (steps.empty()) line("", "kernel none of its own: folded, inlined or part of another");
    line("", cat("makes  '", shown(value.name), "' ", value.difference.type));
    difference(value.difference);
    return std::exchange(s_, before);
  }

  // The agreement of the first n values.
  std::string agreement(std::size_t n) const {
    double most = 0;
    for (std::size_t i = 0; i < n; ++i)
      most = std::max(most, f_.values.values[i].difference.agreement);
    return number_text(most);
  }

  std::string type_of(const std::string& value) const {
    const auto it = f_.types.find(value);
    return it == f_.types.end() ? "" : it->second;
  }

  void node(std::string_view title, std::uint32_t at) {
    line(title, console_.paint(Colour::bold, cat("node ", at + 1, " of ", what_.model.node_count(),
                                                 ": ", what_.model.label(at))));
    for (const std::string& name : what_.model.reads(at))
      line("", cat("reads  '", shown(name), "' ", type_of(name)));
  }

  void cut() {
    if (what_.bisect == Bisect::no || !f_.parts()) return;
    if (!f_.cut)
      return line("bisect", cat("no part of the graph shows it, in ", plural(f_.runs, "run")));
    const std::size_t n = f_.cut->nodes.size();
    line("bisect", cat(n == 1 ? std::string("this node by itself shows it")
                              : cat("these ", n, " nodes together show it, no fewer do"),
                       " (", plural(f_.runs, "run"), f_.out_of_time ? ", then time was up)" : ")"));
    for (std::uint32_t at : f_.cut->nodes)
      line("", console_.paint(Colour::bold, cat("node ", at + 1, ": ", what_.model.label(at))));
    std::vector<const StepInfo*> steps;
    for (const StepInfo& s : f_.cut_trial.steps) steps.push_back(&s);
    if (const std::string shows = block(steps, *f_.cut_trial.first()); shows != first_) s_ += shows;
    if (!f_.written.empty())
      line("written", cat(f_.written, ": `quern verify ", f_.written, " --device ",
                          what_.tested.name, "` replays it"));
  }

  const Investigation& what_;
  const Finding& f_;
  const Console& console_;
  std::string first_;  // what was said of the first node
  std::string s_;
};

Json steps_json(const std::vector<const StepInfo*>& steps) {
  Json list = Json::array();
  for (const StepInfo* s : steps) {
    Json j;
    j["node"] = s->node;
    j["op"] = s->op;
    j["shapes"] = s->shapes;
    j["layouts"] = s->layouts;
    j["implementation"] = s->implementation;
    list.push(std::move(j));
  }
  return list;
}

Json node_json(const SourceModel& model, std::uint32_t at) {
  Json j;
  j["index"] = at;
  j["name"] = model.node(at).name;
  j["op"] = model.node(at).op_type;
  j["reads"] = Json::array_of(model.reads(at));
  j["makes"] = Json::array_of(model.makes(at));
  return j;
}

Json value_json(const PartingValue& v) {
  Json j = difference_json(v.difference);
  j["value"] = v.name;
  return j;
}

}  // namespace

std::string finding_text(const Investigation& what, const Finding& finding,
                         const Console& console) {
  return Report(what, finding, console).text();
}

Json finding_json(const Investigation& what, const Finding& f) {
  Json j;
  j["inputs"] = f.inputs;
  j["agree"] = !f.parts();
  j["nodes"] = what.model.node_count();
  j["outputs"] = Json::array();
  for (const PartingValue& v : f.outputs.values) j["outputs"].push(value_json(v));
  j["values"] = f.values.values.size();
  j["values_parted"] = f.values.parted();
  if (!f.values_refused.empty()) j["values_refused"] = f.values_refused;
  if (const PartingValue* first = f.values.first()) {
    const std::uint32_t at = *what.model.maker(first->name);
    j["first"] = node_json(what.model, at);
    j["first"]["difference"] = value_json(*first);
    j["first"]["kernels"] = steps_json(steps_of(what.model, at, f.values.steps));
  }
  if (!f.cut) return j;
  Json& cut = j["bisect"];
  cut["runs"] = f.runs;
  cut["complete"] = !f.out_of_time;
  cut["nodes"] = Json::array();
  for (std::uint32_t at : f.cut->nodes) cut["nodes"].push(node_json(what.model, at));
  cut["inputs"] = Json::array_of(f.cut_inputs);
  cut["outputs"] = Json::array();
  for (const PartingValue& v : f.cut_trial.values) cut["outputs"].push(value_json(v));
  std::vector<const StepInfo*> steps;
  for (const StepInfo& s : f.cut_trial.steps) steps.push_back(&s);
  cut["kernels"] = steps_json(steps);
  if (!f.written.empty()) cut["written"] = f.written;
  return j;
}

}  // namespace quern::tools
