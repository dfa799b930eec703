// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/random.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <quern/device.h>

#include "bench/compare/ort.h"
#include "engine/vocabulary/text_util.h"
#include "tools/children.h"
#include "tools/json.h"
#include "tools/random/judge.h"
#include "tools/random/shrink.h"
#include "tools/whole_file.h"

namespace quern::bench {
namespace {

using tools::ExitCode;
using tools::Judge;
using tools::RandomModel;

struct Finding {
  enum class Kind : std::uint8_t {
    agree,
    refused,      // by ONNX Runtime
    ort_differs,  // from the right answer, and quern does not
    quern_wrong,
    no_judge,  // quern's reference refuses the model
    crashed,
  };
  Kind kind = Kind::agree;
  std::string text;

  bool is_failure() const { return kind != Kind::agree && kind != Kind::refused; }
};
constexpr std::string_view names[] = {
    "agree",          "refused by ONNX Runtime",  "ONNX Runtime differs",
    "quern is wrong", "refused by the reference", "crashed"};

// The model as both take it: no value is handed out twice under one name, and nothing but tensors
// goes in and out.
Status simplify(RandomModel& model) {
  onnx::GraphProto& g = model.graph();
  std::set<std::string_view> seen;
  std::erase_if(g.outputs, [&](const onnx::ValueInfo& o) {
    return model.structured.contains(o.name) || !seen.insert(o.name).second;
  });
  if (g.outputs.empty()) return {Code::unsupported, "hands out no tensor"};
  for (const onnx::ValueInfo& in : g.inputs)
    if (in.type.kind != onnx::TypeProto::Kind::tensor)
      return {Code::unsupported, "an input is no tensor"};
  return {};
}

// This says what is wrong with the outputs of a run; it is "" when nothing is.
std::string verdict(const Judge& judge, const RandomModel& model, std::size_t run,
                    const tools::RunOutputs& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string wrong = judge.verdict(run, i, outputs[i]);
    if (!wrong.empty())
      return cat("run ", run, ", output '", model.graph().outputs[i].name, "': ", wrong);
  }
  return {};
}

Result<std::vector<tools::RunOutputs>> on_ort(const std::string& library, const RandomModel& model,
                                              const std::string& bytes) {
  QUERN_ASSIGN(const OrtLibrary ort, OrtLibrary::open(library));
  const OrtOptions options{.optimisations = OrtOptions::Optimisations::none};
  QUERN_ASSIGN(const auto session, OrtSession::create_from_bytes(ort, bytes, options));
  std::vector<tools::RunOutputs> all;
  for (const auto& run : model.runs) {
    std::vector<NamedTensor> inputs;
    for (const tools::RandomInput& in : run) inputs.push_back({in.name, in.tensor});
    QUERN_TRY(session->set_inputs(std::move(inputs)));
    QUERN_TRY(session->run());
    QUERN_ASSIGN(std::vector<NamedTensor> outputs, session->outputs());
    tools::RunOutputs& kept = all.emplace_back();
    for (NamedTensor& o : outputs) kept.push_back({std::move(o.tensor)});
  }
  return all;
}

// "" when quern is right.
std::string quern_verdict(const Judge& judge, const RandomModel& model) {
  const auto device = open_device("cpu");
  if (!device) return std::string(device.error().message());
  const auto executable = tools::compile_random(model, *device, {});
  if (!executable) return std::string(executable.error().message());
  const auto session = Session::create(*executable);
  if (!session) return std::string(session.error().message());
  for (std::size_t run = 0; run < model.runs.size(); ++run) {
    const auto outputs = tools::run_once(**session, model.runs[run]);
    if (!outputs) return std::string(outputs.error().message());
    std::string wrong = verdict(judge, model, run, *outputs);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

// Models whose numbers each runtime draws for itself.
bool is_drawn(const onnx::GraphProto& graph) {
  return std::ranges::any_of(graph.nodes, [](const onnx::NodeProto& n) {
    if (n.op_type.starts_with("Random") || n.op_type == "Bernoulli" || n.op_type == "Multinomial")
      return true;
    return std::ranges::any_of(n.attributes, [](const onnx::AttributeProto& a) {
      return std::ranges::any_of(a.g, is_drawn);
    });
  });
}

Finding compare_one(const std::string& library, RandomModel model) {
  using Kind = Finding::Kind;
  if (is_drawn(model.graph())) return {Kind::refused, "numbers are drawn"};
  const Status simple = simplify(model);
  if (!simple.ok()) return {Kind::refused, std::string(simple.message())};
  const auto judge = Judge::make(model);
  if (!judge) return {Kind::no_judge, std::string(judge.error().message())};
  std::string wrong = quern_verdict(*judge, model);
  if (!wrong.empty()) return {Kind::quern_wrong, std::move(wrong)};
  if (!judge->faults().empty())
    return {Kind::quern_wrong, cat("the reference itself: ", judge->faults()[0].reason)};
  const auto outputs = on_ort(library, model, onnx::write_model(model.model));
  if (!outputs) return {Kind::refused, std::string(outputs.error().message())};
  for (std::size_t run = 0; run < outputs->size(); ++run) {
    wrong = verdict(*judge, model, run, (*outputs)[run]);
    if (!wrong.empty()) return {Kind::ort_differs, std::move(wrong)};
  }
  return {};
}

// The names of a small model's nodes, in order.
std::string operators(const onnx::GraphProto& graph) {
  constexpr std::size_t most = 20;
  std::string s;
  for (std::size_t i = 0; i < std::min(graph.nodes.size(), most); ++i)
    s += cat(i ? " " : "", graph.nodes[i].op_type);
  return s + (graph.nodes.size() > most ? " ..." : "");
}

class RandomComparison {
 public:
  RandomComparison(const RandomPlan& plan, const tools::Console& console)
      : plan_(plan), console_(console), progress_(console) {}

  Result<ExitCode> run() {
    findings_.resize(static_cast<std::size_t>(plan_.models));
    tools::run_in_children(
        findings_.size(), {.jobs = plan_.jobs}, [&](std::size_t i) { return answer(model_of(i)); },
        [&](std::size_t i, const tools::ChildResult& child) { finish(i, parsed(child)); });
    progress_.clear();
    report();
    if (!plan_.write.empty()) QUERN_TRY(write_failures());
    return std::ranges::any_of(findings_, &Finding::is_failure) ? ExitCode::failed : ExitCode::ok;
  }

 private:
  RandomModel model_of(std::size_t i) const {
    tools::RandomOptions options = plan_.options;
    options.seed += i;
    return tools::make_random_model(options);
  }
  std::string replay(std::size_t i) const {
    return cat("quern-compare --random 1 --seed ", plan_.options.seed + i, " --nodes ",
               plan_.nodes);
  }

  // A child sends this answer, and its parent parses it.
  std::string answer(const RandomModel& model) const {
    const Finding f = compare_one(plan_.library, model);
    return cat(static_cast<int>(f.kind), f.text);
  }
  static Finding parsed(const tools::ChildResult& child) {
    if (child.how == tools::ChildResult::How::finished && !child.answer.empty())
      return {static_cast<Finding::Kind>(child.answer[0] - '0'), child.answer.substr(1)};
    return {Finding::Kind::crashed, child.why.empty() ? "it hung" : child.why};
  }
  Finding apart(const RandomModel& model) const {
    Finding f;
    tools::run_in_children(
        1, {}, [&](std::size_t) { return answer(model); },
        [&](std::size_t, const tools::ChildResult& child) { f = parsed(child); });
    return f;
  }

  Status write_failures() const {
    constexpr double seconds = 60;
    for (std::size_t i = 0; i < findings_.size(); ++i) {
      if (!findings_[i].is_failure()) continue;
      const RandomModel small = tools::shrink(
          model_of(i), [&](const RandomModel& m) { return apart(m).kind == findings_[i].kind; },
          seconds);
      const std::string folder = cat(plan_.write, "/seed_", plan_.options.seed + i);
      QUERN_TRY(tools::write_case(small, folder));
      QUERN_TRY(tools::write_whole_file(folder + "/reason.txt", cat(apart(small).text, "\n")));
    }
    return {};
  }

  void finish(std::size_t i, Finding finding) {
    Finding& f = findings_[i];
    f = std::move(finding);
    ++done_;
    if (f.is_failure() && !plan_.json) {
      progress_.clear();
      tools::print(cat(console_.paint(tools::Colour::red, "FAIL"), "  seed ",
                       plan_.options.seed + i, "  ", name(f), ": ", printable(f.text, 600),
                       "\n        ", operators(model_of(i).graph()), "\n        ", replay(i),
                       "\n"));
    }
    progress_.update(cat("[", done_, "/", findings_.size(), "]"));
  }

  static std::string_view name(const Finding& f) { return names[static_cast<int>(f.kind)]; }
  std::int64_t count(Finding::Kind kind) const {
    return std::ranges::count(findings_, kind, &Finding::kind);
  }

  // Why models were refused, the most frequent reasons first; names and numbers of a model apart.
  std::vector<std::pair<std::int64_t, std::string>> reasons() const {
    std::map<std::string, std::int64_t> counts;
    for (const Finding& f : findings_) {
      if (f.kind != Finding::Kind::refused) continue;
      std::string text = printable(f.text, 160);
      std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
      ++counts[text];
    }
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (const auto& [text, n] : counts) all.emplace_back(n, text);
    std::ranges::sort(all, std::greater());
    return all;
  }

  void report() const {
    const std::int64_t refused = count(Finding::Kind::refused);
    const std::int64_t agree = count(Finding::Kind::agree);
    const auto failed = static_cast<std::int64_t>(findings_.size()) - refused - agree;
    if (plan_.json) {
      tools::Json list = tools::Json::array();
      for (std::size_t i = 0; i < findings_.size(); ++i) {
        tools::Json one;
        one["seed"] = static_cast<std::int64_t>(plan_.options.seed + i);
        one["outcome"] = name(findings_[i]);
        if (!findings_[i].text.empty()) one["reason"] = findings_[i].text;
        list.push(std::move(one));
      }
      tools::Json j;
      j["agree"] = agree;
      j["failed"] = failed;
      j["refused"] = refused;
      j["models"] = std::move(list);
      return tools::print(j.dump());
    }
    constexpr std::size_t most_reasons = 15;
    const auto all = reasons();
    for (std::size_t i = 0; i < std::min(all.size(), most_reasons); ++i)
      tools::print(cat("refused ", all[i].first, " times: ", all[i].second, "\n"));
    tools::print(
        cat(agree, " agree, ", failed, " failed, ", refused, " refused by ONNX Runtime\n"));
  }

  const RandomPlan& plan_;
  const tools::Console& console_;
  tools::Progress progress_;
  std::vector<Finding> findings_;
  std::size_t done_ = 0;
};

}  // namespace

Result<ExitCode> compare_random(const RandomPlan& plan, const tools::Console& console) {
  return RandomComparison(plan, console).run();
}

}  // namespace quern::bench
