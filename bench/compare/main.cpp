// SPDX-License-Identifier: Apache-2.0
// quern-compare: quern and ONNX Runtime on the same models, in turns, each in its own process.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bench/compare/comparison.h"
#include "bench/compare/ort.h"
#include "bench/compare/random.h"
#include "bench/compare/report.h"
#include "engine/vocabulary/text_util.h"
#include "tools/options.h"
#include "tools/parse.h"
#include "tools/summary.h"
#include "tools/whole_file.h"

namespace quern::bench {
namespace {

using tools::Console;
using tools::ExitCode;

struct CompareArgs {
  std::vector<std::string> models;
  std::vector<std::string> folders;
  std::string list = QUERN_SOURCE_DIR "/bench/compare/models.txt";
  Engines engines;
  std::string threads = "1";
  Plan plan;
  std::string by = "median";
  std::string out;
  bool json = false;
  int random = 0;  // made-up models instead
  std::uint64_t seed = 0;
  std::string nodes = "4..12";
  int jobs = 1;
  std::string write;
};

using Rows = std::vector<tools::OptionRow>;

Rows compared_rows(CompareArgs& a) {
  return {{.names = "MODEL",
           .help = "folders with a model.onnx, or files; by default the standard set",
           .target = &a.models},
          {.names = "--models",
           .value = "DIR",
           .help = "where the models of the standard set lie. May be repeated",
           .target = &a.folders},
          {.names = "--list",
           .value = "FILE",
           .help = "another set: names of folders, one a line",
           .target = &a.list},
          {.names = "--ort",
           .value = "LIBRARY",
           .help = "libonnxruntime.so.1; by default what QUERN_ORT_LIBRARY says",
           .target = &a.engines.ort_library},
          {.names = "--only",
           .value = "ENGINE",
           .help = "only quern, or only ort",
           .target = &a.engines.only,
           .choices = {"quern", "ort"}},
          {.names = "-d,--device",
           .value = "NAME",
           .help = "what quern runs on: cpu, or vulkan to hold a GPU to ONNX Runtime on the CPU",
           .target = &a.engines.device},
          {.names = "--math",
           .value = "f32|bf16|bf16x3|auto",
           .help = "the precision of quern's products (`quern bench --help`)",
           .target = &a.engines.math,
           .choices = {"f32", "bf16", "bf16x3", "auto"}},
          {.names = "-t,--threads",
           .value = "LIST",
           .help = "numbers of threads: 1,2. By default 1",
           .target = &a.threads}};
}

Rows timing_rows(CompareArgs& a) {
  return {{.names = "--rounds",
           .value = "N",
           .help = "turns of each engine per model; by default 15",
           .target = &a.plan.rounds,
           .range = {{1, 1e5}}},
          {.names = "--time",
           .value = "S",
           .help = "seconds after which a model's rounds end, once there were three; by default 20",
           .target = &a.plan.time_s,
           .range = {{0, 1e5}}},
          {.names = "--cold",
           .value = "N",
           .help = "cold starts of each engine per model; by default 5",
           .target = &a.plan.cold,
           .range = {{1, 1000}}},
          {.names = "--by",
           .value = "WHAT",
           .help = "what stands for the warm runs: median, least, or processor (time of all "
                   "threads on a processor). The last two are for machines that others use too; "
                   "processor only makes sense with one thread",
           .target = &a.by,
           .choices = {"median", "least", "processor"}}};
}

Rows random_rows(CompareArgs& a) {
  return {{.names = "--random",
           .value = "N",
           .help = "compares the answers to N made-up models; the first is that of --seed S, the "
                   "next that of S + 1",
           .target = &a.random,
           .range = {{1, 1e9}}},
          {.names = "--seed", .value = "S", .help = "of --random", .target = &a.seed},
          {.names = "--nodes",
           .value = "A..B",
           .help = "size of random models; by default 4..12: one operator that ONNX Runtime lacks "
                   "makes it refuse all of the model",
           .target = &a.nodes},
          {.names = "-j,--jobs",
           .value = "N",
           .help = "random models at the same time; by default 1",
           .target = &a.jobs,
           .range = {{1, 1024}}},
          {.names = "--write",
           .value = "DIR",
           .help = "with --random: the smallest model that shows the same as one that failed, in "
                   "DIR/seed_S",
           .target = &a.write}};
}

Rows report_rows(CompareArgs& a) {
  return {
      {.names = "--out", .value = "FILE", .help = "writes the JSON here as well", .target = &a.out},
      {.names = "--json", .help = "one JSON object on stdout instead of text", .target = &a.json}};
}

tools::Verb compare_row(CompareArgs& a) {
  tools::Verb v{
      .name = "compare",
      .program = "quern-compare",
      .summary = "compare quern with ONNX Runtime",
      .about =
          "Each engine runs in a process of its own; they take turns in short rounds, and who is "
          "not on turn is stopped. Shown are medians of single runs, of cold starts (library, "
          "load, compile and first run of a fresh process), and peak resident memory. Ratios are "
          "ONNX Runtime's number by quern's: above 1 quern needs less.\n\n"
          "Inputs are those of test_data_set_0 beside the model, or generated; outputs are "
          "compared. ONNX Runtime uses all graph optimisations; with more than one thread it runs "
          "with and without spinning threads, and the faster counts.\n\n"
          "--random compares answers instead: made-up models, which both engines run on all their "
          "inputs, ONNX Runtime without its optimisations, and both are held to the right answer "
          "as `quern verify --random` does it. Models that ONNX Runtime refuses are counted.\n\n"
          "bench/README.md says more on the method, bench/compare/get-ort fetches ONNX Runtime.",
      .examples = {
          {"quern-compare --ort $(bench/compare/get-ort) models/yolox-nano", "one model"},
          {"quern-compare --ort LIB --threads 1,2 --models models", "the standard set"},
          {"quern-compare --ort LIB --device vulkan models/squeezenet", "a GPU against the CPU"},
          {"quern-compare --ort LIB --random 1000 --seed 7 -j 2", "answers to made-up models"},
          {"quern-compare --only quern --rounds 3 model.onnx", "without ONNX Runtime"}}};
  for (const auto group : {compared_rows, timing_rows, random_rows, report_rows})
    for (tools::OptionRow& row : group(a)) v.options.push_back(std::move(row));
  return v;
}

Result<std::vector<int>> thread_counts(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : tools::split_list(text)) {
    const auto n = tools::parse_integer(part);
    if (!n || *n < 1 || *n > 1024)
      return Status(Code::invalid_argument, cat("--threads: '", printable(part), "' is no number"));
    counts.push_back(static_cast<int>(*n));
  }
  if (counts.empty()) return Status(Code::invalid_argument, "--threads: no number");
  return counts;
}

// This returns the models of the standard set that are in one of the --models folders.
Result<std::vector<std::string>> listed_models(const CompareArgs& args, const Console& console) {
  QUERN_ASSIGN(const std::string text, tools::read_file(args.list));
  std::vector<std::string> found;
  for (const std::string& line : tools::lines_of(text)) {
    if (line.empty() || line[0] == '#') continue;
    const auto folder = std::ranges::find_if(args.folders, [&](const std::string& f) {
      return std::filesystem::exists(cat(f, "/", line, "/model.onnx"));
    });
    if (folder == args.folders.end())
      console.note(cat(printable(line), " is in no --models folder; left out"));
    else
      found.push_back(cat(*folder, "/", line));
  }
  if (found.empty())
    return Status(Code::not_found, "no model: give some, or --models with their folder");
  return found;
}

Plan::By statistic(const std::string& name) {
  for (const Plan::By by : {Plan::By::least, Plan::By::processor})
    if (name == name_of(by)) return by;
  return Plan::By::median;
}

// Opened here too, for its version and so that a mistake is told once.
Result<std::string> ort_version(CompareArgs& args) {
  Engines& e = args.engines;
  if (e.only == "quern") return std::string("-");
  if (const char* path = std::getenv("QUERN_ORT_LIBRARY"); path && *path && e.ort_library.empty())
    e.ort_library = path;
  if (e.ort_library.empty())
    return Status(Code::invalid_argument,
                  "where is ONNX Runtime? Give --ort LIBRARY (bench/compare/get-ort fetches one), "
                  "or --only quern");
  QUERN_ASSIGN(const OrtLibrary library, OrtLibrary::open(e.ort_library));
  return library.version();
}

// Set by Ctrl-C: what is done is shown, and files are removed.
volatile std::sig_atomic_t interrupted = 0;

std::vector<Comparison> compare_models(const CompareArgs& args, const std::vector<int>& counts,
                                       const Console& console) {
  std::vector<Comparison> comparisons;
  tools::Progress progress(console);
  for (const int threads : counts)
    for (const std::string& model : args.models) {
      Comparison c = compare_engines(model, threads, contestants(args.engines, threads), args.plan,
                                     [&](std::string_view text) {
                                       progress.update(text);
                                       return !interrupted;
                                     });
      if (interrupted) return comparisons;
      comparisons.push_back(std::move(c));
    }
  return comparisons;
}

// Random models have no newer opset, which ONNX Runtime would refuse, and no wrong claims about
// shapes, because each runtime may treat those as it likes.
constexpr std::int64_t newest_opset_of_ort = 24;

Result<ExitCode> compare_all(CompareArgs& args, const Console& console) {
  QUERN_ASSIGN(const std::string version, ort_version(args));
  if (args.random > 0) {
    if (!args.engines.only.empty())
      return Status(Code::invalid_argument, "--random compares two engines: leave out --only");
    RandomPlan plan{.library = args.engines.ort_library,
                    .models = args.random,
                    .options = {.seed = args.seed,
                                .most_opset = newest_opset_of_ort,
                                .claims = tools::RandomOptions::Claims::true_ones},
                    .nodes = args.nodes,
                    .jobs = args.jobs,
                    .json = args.json,
                    .write = args.write};
    QUERN_TRY(tools::parse_node_range(args.nodes, plan.options));
    return compare_random(plan, console);
  }
  args.plan.by = statistic(args.by);
  QUERN_ASSIGN(const std::vector<int> counts, thread_counts(args.threads));
  if (args.models.empty()) {
    QUERN_ASSIGN(args.models, listed_models(args, console));
  }
  const std::vector<Comparison> comparisons = compare_models(args, counts, console);
  const std::string json =
      report_json(comparisons, {version, args.engines.device, args.plan}).dump();
  tools::print(args.json ? json : report_text(comparisons, console));
  if (!args.out.empty()) QUERN_TRY(tools::write_whole_file(args.out, json));
  const bool good = std::ranges::all_of(
      comparisons, [](const Comparison& c) { return c.failure.empty() && c.disagreement.empty(); });
  return good && !interrupted ? ExitCode::ok : ExitCode::failed;
}

ExitCode run_main(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_IGN);  // a worker that dies is an error of its model
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const Console console = Console::detect();
  CompareArgs args;
  const tools::Verb verb = compare_row(args);
  if (std::ranges::count(words, "--help") + std::ranges::count(words, "-h") > 0) {
    tools::print(tools::help_text(verb));
    return ExitCode::ok;
  }
  const Status parsed = tools::parse_arguments(verb, words);
  auto result = parsed.ok() ? compare_all(args, console) : Result<ExitCode>(parsed.copy());
  if (result) return *result;
  console.error(cat("quern-compare: ", result.error().message()));
  return ExitCode::usage;
}

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  return static_cast<int>(quern::bench::run_main({argv + 1, argv + argc}));
}
