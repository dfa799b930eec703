// SPDX-License-Identifier: Apache-2.0
// quern kernel: how long single kernels take.
#include <algorithm>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "tools/kernel/from_model.h"
#include "tools/kernel/history.h"
#include "tools/kernel/lab.h"
#include "tools/verbs.h"
#include "tools/whole_file.h"

namespace quern::tools::lab {
namespace {

constexpr std::size_t most_bytes_of_problems = std::size_t{16} << 20;

Result<std::vector<Problem>> problems_asked_for(const KernelArgs& args,
                                                const std::optional<ModelKernels>& model) {
  std::vector<Problem> problems;
  if (model) problems = model->problems();
  for (const std::string& line : args.problems) {
    QUERN_ASSIGN(const std::vector<Problem> some, parse_problems(line));
    problems.insert(problems.end(), some.begin(), some.end());
  }
  if (!args.file.empty()) {
    QUERN_ASSIGN(const std::string text, read_file(args.file, most_bytes_of_problems));
    auto some = parse_problems(text);
    if (!some) return std::move(some.error()).in(printable(args.file));
    problems.insert(problems.end(), some->begin(), some->end());
  }
  if (problems.empty())
    return Status(Code::invalid_argument, "no problem: a line, -f FILE or --from MODEL gives some");
  return problems;
}

Result<ExitCode> compare_files(const KernelArgs& args, const Console& console) {
  if (args.problems.size() != 2)
    return Status(Code::invalid_argument,
                  cat("--compare wants two files of --save, not ", args.problems.size()));
  QUERN_ASSIGN(const std::vector<Record> before, read_records(args.problems[0]));
  QUERN_ASSIGN(const std::vector<Record> after, read_records(args.problems[1]));
  const ComparisonOptions options{.threshold = args.threshold / 100, .by_wall = args.by == "wall"};
  QUERN_ASSIGN(const FileComparison comparison, compare_records(before, after, options));
  print(args.json ? comparison_json(comparison).document()
                  : comparison_text(comparison, options, console));
  return comparison.is_good() ? ExitCode::ok : ExitCode::failed;
}

Result<ExitCode> show_history(const KernelArgs& args, const Console& console) {
  if (args.problems.empty() || args.problems.size() > most_files_of_history)
    return Status(Code::invalid_argument,
                  cat("--history wants files of --save, ", most_files_of_history, " at most, not ",
                      args.problems.size()));
  std::vector<SavedFile> files;
  for (const std::string& path : args.problems) {
    QUERN_ASSIGN(files.emplace_back(), read_saved(path));
  }
  const ComparisonOptions options{.threshold = args.threshold / 100, .by_wall = args.by == "wall"};
  QUERN_ASSIGN(const History history, history_of(std::move(files), options));
  if (!args.html.empty()) QUERN_TRY(write_whole_file(args.html, history_page(history, options)));
  print(args.json ? history_json(history).document() : history_text(history, options, console));
  return ExitCode::ok;
}

Status save_records(const std::string& path, const std::vector<ProblemResult>& results,
                    const ReportContext& context) {
  std::string lines;
  for (const Record& record : records_of(results, context)) lines += record_json(record).line();
  return write_whole_file(path, lines);
}

// The first kernel of each problem, as often as the model calls it.
ModelSum model_sum(const std::vector<ProblemResult>& results) {
  ModelSum sum;
  for (const ProblemResult& r : results) {
    const Measured& m = r.kernels.at(0);
    sum.wall_us += r.problem.weight * m.wall.median;
    sum.processor_us += r.problem.weight * m.processor.median;
    sum.is_believed &= m.is_believed();
  }
  return sum;
}

bool are_believed(const std::vector<ProblemResult>& results) {
  return std::ranges::all_of(results, [](const ProblemResult& r) {
    return std::ranges::all_of(r.kernels, &Measured::is_believed);
  });
}

Result<ExitCode> measure_problems(KernelArgs args, const Console& console) {
  std::optional<ModelKernels> model;
  if (!args.from.empty()) {
    QUERN_ASSIGN(model, ModelKernels::open(args, console));
    if (args.between.empty() && !args.cold) args.between = std::to_string(model->touched_bytes());
  }
  QUERN_ASSIGN(const std::vector<Problem> problems, problems_asked_for(args, model));
  if (args.list) {
    for (const Problem& p : problems) print(p.text + "\n");
    return ExitCode::ok;
  }
  QUERN_ASSIGN(const auto lab, Lab::open(args, console));
  if (args.serve) {
    QUERN_TRY(lab->serve(problems[0]));
    return ExitCode::ok;
  }
  if (model) QUERN_TRY(model->time_runs(args.time_s));
  std::vector<ProblemResult> results;
  for (const Problem& problem : problems) {
    auto result = lab->run(problem);
    if (result) {
      results.push_back(*std::move(result));
    } else if (result.error().code() == Code::unsupported && problems.size() > 1) {
      console.warn(cat("'", shown(problem.text), "' is left out: ", result.error().message()));
    } else {
      return std::move(result).error().in(cat("'", shown(problem.text), "'"));
    }
  }
  if (model) QUERN_TRY(model->time_runs(args.time_s));
  const ReportContext context = lab->context();
  if (!args.save.empty()) QUERN_TRY(save_records(args.save, results, context));
  if (!args.html.empty()) QUERN_TRY(write_whole_file(args.html, results_page(results, context)));
  if (args.json) {
    Json json = results_json(results, context);
    if (model) json["model"] = model_json(*model, model_sum(results));
    print(json.document());
  } else {
    print(results_text(results, context, console));
    if (model) print("\n" + model_text(*model, model_sum(results)));
  }
  return are_believed(results) ? ExitCode::ok : ExitCode::failed;
}

}  // namespace
}  // namespace quern::tools::lab

namespace quern::tools {

Result<ExitCode> kernel_verb(const KernelArgs& args, const Console& console) {
  if (args.history) return lab::show_history(args, console);
  return args.compare ? lab::compare_files(args, console) : lab::measure_problems(args, console);
}

}  // namespace quern::tools
