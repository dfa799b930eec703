// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_cold.h"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include <quern/device.h>

#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/platform/programs.h"
#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

constexpr int usual_samples = 11;

void append(std::vector<std::string>& words, std::string_view flag, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(flag);
  words.push_back(value);
}

// The command line of one sample.
std::vector<std::string> sample_words(const BenchArgs& args) {
  std::vector<std::string> words = {"",         "bench",           args.model, "--cold-sample",
                                    "--device", args.device.device};
  if (args.device.threads) append(words, "--threads", std::to_string(args.device.threads));
  append(words, "--thread-pool", args.device.thread_pool);
  for (const std::string& file : args.device.ops) append(words, "--ops", file);
  append(words, "--data-set", args.inputs.data_set);
  for (const std::string& s : args.inputs.inputs) append(words, "--input", s);
  for (const std::string& s : args.inputs.shapes) append(words, "--shape", s);
  for (const std::string& s : args.inputs.dims) append(words, "--dim", s);
  append(words, "--seed", std::to_string(args.inputs.seed));
  return words;
}

// A folder for caches, and the variables by which quern and drivers find it; gone in the end.
class CacheFolder {
 public:
  static Result<CacheFolder> create() {
    const auto prefix = std::filesystem::temp_directory_path() / "quern-cold-";
    std::string name = platform::make_private_folder(prefix.string());
    if (name.empty()) return Status(Code::internal, "no folder for caches");
    return CacheFolder(std::move(name));
  }
  CacheFolder(CacheFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  CacheFolder& operator=(CacheFolder&&) = delete;
  ~CacheFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

 private:
  explicit CacheFolder(std::string path) : path_(std::move(path)) {
    for (const char* name :
         {"XDG_CACHE_HOME", "MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH"})
      platform::set_variable(name, path_.c_str());
  }
  std::string path_;
};

struct Sample {
  Json numbers;
  double total_ms = 0;
};

Result<Sample> take_sample(const std::vector<std::string>& words) {
  Stopwatch watch;
  platform::Program process;
  if (!process.start(words)) return Status(Code::internal, "no process for a sample");
  process.close_input();
  std::string output;
  std::string_view nothing;
  constexpr auto long_time = std::chrono::hours(1);
  while (process.move(nothing, output, long_time) != platform::Program::Moved::closed) {
  }
  const auto exit = process.wait(long_time);
  Sample s{.total_ms = watch.lap()};
  if (!exit || !exit->is_success())
    return Status(Code::busy, "a sample's process failed; its message stands above");
  QUERN_ASSIGN(s.numbers, parse_json(output));
  return s;
}

double number(const Json& j, std::string_view key) {
  const Json* v = j.find(key);
  return v ? v->number() : 0;
}

constexpr std::array<const char*, 5> keys = {"load", "compile", "plan", "first_run", "second_run"};

Result<std::optional<CacheFolder>> caches_for(const std::string& device) {
  QUERN_ASSIGN(const auto opened, open_device(device));
  if (opened->info().kind == DeviceInfo::Kind::cpu) return std::optional<CacheFolder>();
  QUERN_ASSIGN(CacheFolder folder, CacheFolder::create());
  return std::optional<CacheFolder>(std::move(folder));
}

}  // namespace

Result<ExitCode> cold_sample(const BenchArgs& args) {
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, args.device));
  Stopwatch watch;
  QUERN_TRY(o.session->run());
  const double first = watch.lap();
  QUERN_TRY(o.session->run());
  const double second = watch.lap();
  Json j = phases_json(o.phases);
  j["first_run"] = first;
  j["second_run"] = second;
  j["threads"] = o.session->threads();
  j["peak_process"] = platform::peak_resident_bytes();
  print(j.document());
  return ExitCode::ok;
}

Result<ColdMeasurement> measure_cold(const BenchArgs& args, const Console& console) {
  const int count = args.runs > 0 ? args.runs : usual_samples;
  const auto words = sample_words(args);
  std::array<std::vector<double>, keys.size()> samples;
  std::vector<double> totals;
  ColdMeasurement m{.model = model_name(args.model), .device = args.device.device};
  QUERN_ASSIGN(const std::optional<CacheFolder> caches, caches_for(args.device.device));
  Progress progress(console);
  if (caches) {
    progress.update("a process without caches");
    QUERN_ASSIGN(const Sample s, take_sample(words));
    for (const char* key : keys) m.empty_caches.push_back(number(s.numbers, key));
    m.empty_caches.push_back(s.total_ms);
  }
  for (int i = 0; i < count; ++i) {
    progress.update(cat("process ", i + 1, " of ", count));
    QUERN_ASSIGN(const Sample s, take_sample(words));
    for (std::size_t k = 0; k < keys.size(); ++k) samples[k].push_back(number(s.numbers, keys[k]));
    totals.push_back(s.total_ms);
    m.threads = static_cast<int>(number(s.numbers, "threads"));
    m.peak_process_bytes = std::max(m.peak_process_bytes, number(s.numbers, "peak_process"));
  }
  const std::array<Distribution*, keys.size()> targets = {&m.load, &m.compile, &m.plan,
                                                          &m.first_run, &m.second_run};
  for (std::size_t k = 0; k < keys.size(); ++k) *targets[k] = distribution(samples[k]);
  m.total = distribution(totals);
  return m;
}

std::string cold_text(const ColdMeasurement& m, const Console& console) {
  Table t({{"phase"},
           {"median", Table::Align::right},
           {"min", Table::Align::right},
           {"p90", Table::Align::right},
           {m.empty_caches.empty() ? "" : "caches empty", Table::Align::right}});
  std::size_t phase = 0;
  const auto row = [&](const char* name, const Distribution& d, Colour colour = Colour::none) {
    const std::string empty = m.empty_caches.empty() ? "" : time_text(m.empty_caches[phase++]);
    t.add({name, time_text(d.median), time_text(d.min), time_text(d.p90), empty}, colour);
  };
  row("load", m.load);
  row("compile", m.compile);
  row("plan", m.plan);
  row("first run", m.first_run);
  row("second run", m.second_run);
  row("whole process", m.total, Colour::bold);
  return cat(shown(m.model), " on ", m.device, ", ", m.threads,
             m.threads == 1 ? " thread" : " threads", "; ", m.total.count, " processes, at most ",
             bytes_text(m.peak_process_bytes), "\n", t.text(console));
}

Json cold_json(const ColdMeasurement& m) {
  Json run;
  run["name"] = cat(m.model, "/", m.device, "/t", m.threads, "/cold");
  run["run_type"] = "iteration";
  run["iterations"] = m.total.count;
  run["real_time"] = m.total.median;
  run["cpu_time"] = m.total.median;
  run["time_unit"] = "ms";
  run["load_ms"] = m.load.median;
  run["compile_ms"] = m.compile.median;
  run["plan_ms"] = m.plan.median;
  run["first_run_ms"] = m.first_run.median;
  run["second_run_ms"] = m.second_run.median;
  run["total_ms"] = m.total.median;
  run["peak_process_bytes"] = m.peak_process_bytes;
  for (std::size_t k = 0; k < m.empty_caches.size(); ++k)
    run["empty_caches"][k < keys.size() ? cat(keys[k], "_ms") : "total_ms"] = m.empty_caches[k];
  Json j;
  j["context"]["executable"] = "quern";
  j["context"]["num_threads"] = m.threads;
  j["benchmarks"].push(std::move(run));
  return j;
}

}  // namespace quern::tools
