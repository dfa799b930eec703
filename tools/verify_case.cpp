// SPDX-License-Identifier: Apache-2.0
#include "tools/verify_case.h"

#include <filesystem>
#include <memory>

#include <quern/onnx.h>

#include "engine/vocabulary/text_util.h"
#include "tools/compare.h"
#include "tools/console.h"
#include "tools/data_set.h"
#include "tools/dressed_case.h"
#include "tools/opened.h"
#include "tools/optimize/rewriting.h"
#include "tools/parse.h"

namespace quern::tools {
namespace {

class CaseRun {
 public:
  CaseRun(const CaseOptions& options, const Json* model, CaseResult& result)
      : options_(options), model_(model), result_(result) {}

  Status run(const Case& c) {
    QUERN_ASSIGN(const Model model, model_of(c));
    for (int threads : options_.threads) {
      Status status = run_with(c, model, threads);
      if (status.ok()) status = run_dresses(c, model, threads);
      if (!status.ok() && options_.threads.size() > 1)
        return std::move(status).in(cat(threads, " threads"));
      QUERN_TRY(std::move(status));
    }
    return {};
  }

 private:
  Result<Model> model_of(const Case& c) const {
    const std::string path = c.folder + "/model.onnx";
    const std::string& level = options_.levers.rewritten;
    if (level.empty()) return load_onnx(path, {.ops = options_.ops});
    QUERN_ASSIGN(EditedModel model, EditedModel::open(path, options_.ops));
    return rewritten_model(std::move(model), level_named(level));
  }

  Status run_with(const Case& c, const Model& model, int threads) {
    CompileOptions compile_options = options_.levers.options();
    compile_options.threads = threads;
    QUERN_ASSIGN(const auto executable, options_.levers.compile(model.clone(), options_.device,
                                                                compile_options, options_.ops));
    QUERN_ASSIGN(const auto session, Session::create(executable));
    std::vector<DataSet> sets;
    for (const std::string& folder : c.sets) {
      auto set = read_set(folder, executable->inputs(), executable->outputs());
      if (!set) return std::move(set).error().in(std::filesystem::path(folder).filename().string());
      sets.push_back(std::move(*set));
    }
    std::vector<std::vector<Tensor>> first;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      Status status = run_set(*session, sets[i], i);
      if (status.ok() && i == 0) status = keep_outputs(*session, first);
      if (!status.ok())
        return sets.size() > 1 ? std::move(status).in(sets[i].name) : std::move(status);
    }
    return again(*session, sets[0], first).in(cat(sets[0].name, " again"));
  }

  // All of them, so that the report names each that fails; with the first data set.
  Status run_dresses(const Case& c, const Model& model, int threads) {
    if (options_.dresses.empty()) return {};
    QUERN_ASSIGN(const DataSet set, read_set(c.sets[0], model.inputs(), model.outputs()));
    DressedCase dressed{model, set, options_.device, threads, {}};
    for (std::size_t i = 0; i < set.outputs.size(); ++i)
      dressed.criteria.push_back(criterion(0, i));
    Status first;
    for (const Dress* dress : options_.dresses) {
      Status status = run_dressed(*dress, dressed).in(cat("dressed '", dress->name, "'"));
      if (status.ok()) continue;
      result_.dresses.emplace_back(dress->name);
      result_.details.emplace_back(printable(status.message(), 600));
      if (first.ok()) first = std::move(status);
    }
    return first;
  }

  Criterion criterion(std::size_t set, std::size_t output) const {
    return model_ ? criterion_of(*model_, set, output) : Criterion();
  }

  Status run_set(Session& session, const DataSet& set, std::size_t number) {
    QUERN_TRY(bind_inputs(session, set.inputs));
    QUERN_TRY(session.run());
    for (std::size_t i = 0; i < set.outputs.size(); ++i) {
      if (!set.outputs[i]) continue;
      Status status = check_output(session, i, set, number);
      if (!status.ok())
        return std::move(status).in(
            cat("output '", shown(session.executable().outputs()[i].name), "'"));
    }
    return {};
  }

  Status check_output(const Session& session, std::size_t output, const DataSet& set,
                      std::size_t number) {
    QUERN_ASSIGN(const auto got, output_views(session, output));
    const Comparison c =
        compare_lists(got, views_of(set.outputs[output]->tensors), criterion(number, output));
    result_.details.push_back(
        cat(set.name, " ", shown(session.executable().outputs()[output].name), " ",
            got.size() == 1 ? got[0].type.text() : cat("of ", got.size(), " tensors"),
            ": largest difference ", number_text(c.max_abs), ", mean ", number_text(c.mean_abs),
            ", outside ", c.outside));
    return c.ok ? Status() : Status(Code::invalid_argument, c.reason);
  }

  static Status keep_outputs(const Session& session, std::vector<std::vector<Tensor>>& kept) {
    for (std::size_t i = 0; i < session.executable().outputs().size(); ++i) {
      std::vector<Tensor>& tensors = kept.emplace_back();
      QUERN_ASSIGN(const std::size_t count, session.output_count(i));
      for (std::size_t k = 0; k < count; ++k) {
        QUERN_ASSIGN(const TensorView view, session.output_element(i, k));
        // Strings live in the session, which makes them anew: equality with the expected ones is
        // checked anyway.
        if (view.type.dtype == DType::string) continue;
        QUERN_ASSIGN(tensors.emplace_back(),
                     Tensor::copy_of(view.type, {view.data, view.type.bytes()}));
      }
    }
    return {};
  }

  // One input, one output: the same bits, whatever ran in between.
  Status again(Session& session, const DataSet& set,
               const std::vector<std::vector<Tensor>>& first) {
    const std::size_t lines = result_.details.size();
    QUERN_TRY(run_set(session, set, 0));
    result_.details.resize(lines);
    for (std::size_t i = 0; i < first.size(); ++i) {
      for (std::size_t k = 0; k < first[i].size(); ++k) {
        QUERN_ASSIGN(const TensorView view, session.output_element(i, k));
        if (!identical(view, first[i][k].view()))
          return {Code::internal, cat("output '", shown(session.executable().outputs()[i].name),
                                      "' has other bits than the first time")};
      }
    }
    return {};
  }

  const CaseOptions& options_;
  const Json* model_;
  CaseResult& result_;
};

}  // namespace

CaseResult run_case(const Case& c, const CaseOptions& options) {
  CaseResult result;
  if (c.sets.empty())
    return {.outcome = CaseResult::Outcome::skipped, .reason = "no test_data_set_0"};
  Stopwatch watch;
  const Json* model =
      options.index
          ? find_model(*options.index, std::filesystem::path(c.folder).filename().string())
          : nullptr;
  const Status status = CaseRun(options, model, result).run(c);
  result.ms = watch.lap();
  if (status.ok()) return result;
  const CaseResult failed = CaseResult::failure(status);
  result.outcome = failed.outcome;
  result.reason = failed.reason;
  return result;
}

CaseResult CaseResult::failure(const Status& why) {
  return {.outcome = Outcome::failed, .reason = printable(why.message(), 600)};
}

// ---- between processes

std::string CaseResult::serialise() const {
  std::string s = cat(static_cast<int>(outcome), "\n", ms, "\n", printable(reason, 4000), "\n");
  for (const std::string& dress : dresses) s += dress + ",";
  s += "\n";
  for (const std::string& line : details) s += line + "\n";
  return s;
}

CaseResult CaseResult::parse(const std::string& text) {
  CaseResult r{.outcome = Outcome::failed, .reason = "the case's process ended without an answer"};
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() < 4 || lines[0].size() != 1) return r;
  r.outcome = static_cast<Outcome>(lines[0][0] - '0');
  r.ms = std::strtod(lines[1].c_str(), nullptr);
  r.reason = lines[2];
  r.dresses = split_list(lines[3]);
  r.details.assign(lines.begin() + 4, lines.end());
  return r;
}

}  // namespace quern::tools
