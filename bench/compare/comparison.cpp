// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/comparison.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "bench/compare/agreement.h"
#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"

namespace quern::bench {
namespace {

namespace fs = std::filesystem;

// A folder of our own, gone at the end.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::string path = (fs::temp_directory_path() / "quern-compare-XXXXXX").string();
    if (!mkdtemp(path.data())) return Status(Code::busy, cat("cannot make the folder ", path));
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  std::string subfolder(const std::string& name) const {
    const fs::path folder = fs::path(path_) / name;
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    return folder.string();
  }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The data set beside the model; "" if there is none, or if other models in the folder may own it.
std::string data_set(const std::string& model) {
  const fs::path parent = fs::path(tools::model_file(model)).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  const auto is_model = [](const auto& entry) { return entry.path().extension() == ".onnx"; };
  std::error_code unreadable;
  if (std::ranges::count_if(fs::directory_iterator(folder, unreadable), is_model) > 1) return "";
  const std::string set = (folder / "test_data_set_0").string();
  return fs::exists(set + "/input_0.pb") ? set : "";
}

// The inputs of the data set, or generated ones that fit the model, as files that both engines
// read.
Result<std::vector<TensorFile>> write_inputs(const std::string& model, const std::string& folder) {
  QUERN_ASSIGN(const tools::Opened opened,
               tools::open_model(model, {.data_set = data_set(model)}, {}));
  const auto& specs = opened.executable->inputs();
  const auto& values = opened.inputs;
  std::vector<TensorFile> files;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (values[i].kind == tools::InputValue::Kind::none) continue;
    if (values[i].kind == tools::InputValue::Kind::sequence)
      return Status(Code::unsupported, cat("input '", specs[i].name, "' is a sequence"));
    files.push_back({specs[i].name, cat(folder, "/input_", i, ".pb")});
    QUERN_TRY(write_tensor(files.back(), values[i].tensors[0]));
  }
  return files;
}

double representative(const Performance& p, Plan::By by) {
  switch (by) {
    case Plan::By::least: return p.run.min;
    case Plan::By::processor: return p.processor_ms;
    case Plan::By::median: break;
  }
  return p.run.median;
}

// A contestant during a comparison.
struct Turn {
  const Contestant& contestant;
  Worker worker;
  std::vector<double> run_ms, processor_ms, cold_ms;
  Performance result;
};

class Match {
 public:
  Match(const std::string& model, int threads, const Plan& plan, const ProgressFn& progress)
      : model_(model), threads_(threads), plan_(plan), progress_(progress) {}

  Status play(const std::vector<Contestant>& contestants, Comparison& result) {
    QUERN_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
    QUERN_ASSIGN(inputs_, write_inputs(model_, folder.subfolder("inputs")));
    for (const Contestant& c : contestants) QUERN_TRY(enter(c));
    for (int i = 1; i < plan_.cold; ++i) QUERN_TRY(start_again(i));
    QUERN_TRY(play_rounds());
    for (Turn& t : turns_) QUERN_TRY(finish(t, result));
    QUERN_TRY(compare_outputs(folder, result));
    return {};
  }

 private:
  Result<Opening> open(const Contestant& contestant, Worker& worker) const {
    EngineOptions options = contestant.engine;
    options.model = tools::model_file(model_);
    options.threads = threads_;
    auto opening = worker.open(options, inputs_);
    if (!opening) return std::move(opening).error().in(contestant.label);
    return opening;
  }

  Status say(std::string_view text) const {
    return progress_(text) ? Status() : Status(Code::busy, "interrupted");
  }

  // The process that all rounds run in; its start is the first cold one.
  Status enter(const Contestant& contestant) {
    QUERN_TRY(say(cat("opening ", contestant.label)));
    QUERN_ASSIGN(Worker worker, Worker::start());
    QUERN_ASSIGN(const Opening opening, open(contestant, worker));
    turns_.push_back({.contestant = contestant, .worker = std::move(worker)});
    Turn& t = turns_.back();
    t.cold_ms.push_back(opening.times.total_ms());
    t.result.label = contestant.label;
    t.result.first = opening.times;
    t.result.first_memory = opening.memory;
    return {};
  }

  Status start_again(int sample) {
    QUERN_TRY(say(cat("cold start ", sample + 1, " of ", plan_.cold)));
    for (Turn& t : turns_) {
      QUERN_ASSIGN(Worker worker, Worker::start());
      QUERN_ASSIGN(const Opening opening, open(t.contestant, worker));
      t.cold_ms.push_back(opening.times.total_ms());
    }
    return {};
  }

  // Long enough that the unmeasured run at its start does not dominate, short enough that a
  // disturbance from outside hits all contestants alike.
  static double round_length(double run_ms) { return std::clamp(5 * run_ms, 10.0, 200.0); }

  Status play_rounds() {
    tools::Stopwatch watch;
    double spent = 0;
    for (int round = 0; round < plan_.rounds; ++round) {
      if (round >= 3 && spent > plan_.time_s * 1e3) break;
      QUERN_TRY(say(cat("round ", round + 1, " of ", plan_.rounds)));
      for (std::size_t i = 0; i < turns_.size(); ++i)  // who begins changes from round to round
        QUERN_TRY(take_turn(turns_[(i + static_cast<std::size_t>(round)) % turns_.size()]));
      spent += watch.lap();
    }
    return {};
  }

  static Status take_turn(Turn& t) {
    auto runs = t.worker.run_for(round_length(t.run_ms.empty() ? 0 : t.run_ms.back()));
    if (!runs) return std::move(runs).error().in(t.contestant.label);
    t.run_ms.insert(t.run_ms.end(), runs->ms.begin(), runs->ms.end());
    t.processor_ms.push_back(runs->processor_ms);
    return {};
  }

  Status finish(Turn& t, Comparison& result) {
    QUERN_ASSIGN(t.result.memory, t.worker.memory());
    t.result.run = tools::distribution(t.run_ms);
    t.result.processor_ms = tools::distribution(t.processor_ms).median;
    t.result.run_ms = representative(t.result, plan_.by);
    t.result.cold = tools::distribution(t.cold_ms);
    result.performances.push_back(t.result);
    return {};
  }

  // This compares the outputs of the first contestant, quern if it takes part, with all others.
  Status compare_outputs(const TemporaryFolder& folder, Comparison& result) {
    std::vector<NamedTensor> wanted;
    for (std::size_t i = turns_.size(); i-- > 0;) {
      QUERN_ASSIGN(const auto files,
                   turns_[i].worker.outputs(folder.subfolder(cat("outputs_", i))));
      std::vector<NamedTensor> outputs;
      for (const TensorFile& f : files) {
        QUERN_ASSIGN(outputs.emplace_back(), read_tensor(f));
      }
      if (i + 1 == turns_.size()) {
        wanted = std::move(outputs);
        continue;
      }
      if (i == 0) result.one_minus_cosine = one_minus_cosine(outputs, wanted);
      const std::string d = disagreement(outputs, wanted, rounding());
      if (!d.empty() && result.disagreement.empty())
        result.disagreement =
            cat(turns_[i].contestant.label, " against ", turns_.back().contestant.label, ": ", d);
    }
    return {};
  }

  // That of ONNX Runtime is always f32.
  Rounding rounding() const {
    const bool bf16 = std::ranges::any_of(
        turns_, [](const Turn& t) { return t.contestant.engine.math == "bf16"; });
    return bf16 ? Rounding::bf16 : Rounding::f32;
  }

  const std::string& model_;
  int threads_;
  const Plan& plan_;
  const ProgressFn& progress_;
  std::vector<TensorFile> inputs_;
  std::vector<Turn> turns_;
};

}  // namespace

std::vector<Contestant> contestants(const Engines& engines, int threads) {
  std::vector<Contestant> all;
  if (engines.only != "ort")
    all.push_back({"quern", {.engine = "quern", .device = engines.device, .math = engines.math}});
  if (engines.only == "quern") return all;
  const EngineOptions ort = {.engine = "ort", .library = engines.ort_library};
  all.push_back({"ort", ort});
  if (threads > 1) {
    all.push_back({"ort-no-spinning", ort});
    all.back().engine.spinning = false;
  }
  return all;
}

std::string_view name_of(Plan::By by) {
  constexpr std::array<std::string_view, 3> names = {"median", "least", "processor"};
  return names[static_cast<std::size_t>(by)];
}

const Performance* Comparison::quern() const {
  const auto it = std::ranges::find(performances, "quern", &Performance::label);
  return it == performances.end() ? nullptr : &*it;
}

const Performance* Comparison::ort() const {
  const Performance* best = nullptr;
  for (const Performance& p : performances)
    if (p.label != "quern" && (!best || p.run_ms < best->run_ms)) best = &p;
  return best;
}

Comparison compare_engines(const std::string& model, int threads,
                           const std::vector<Contestant>& contestants, const Plan& plan,
                           const ProgressFn& progress) {
  Comparison result{.model = tools::model_name(tools::model_file(model)), .threads = threads};
  const std::string where =
      cat(result.model, ", ", threads, threads == 1 ? " thread: " : " threads: ");
  const ProgressFn say = [&](std::string_view text) { return progress(where + std::string(text)); };
  const Status status = Match(model, threads, plan, say).play(contestants, result);
  if (!status.ok()) result.failure = status.message();
  return result;
}

}  // namespace quern::bench
