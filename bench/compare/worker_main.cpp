// SPDX-License-Identifier: Apache-2.0
// The worker's side.
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <unistd.h>

#include "bench/compare/message.h"
#include "bench/compare/worker.h"
#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"

namespace quern::bench {
namespace {

using tools::Json;

// The line "name:   1234 kB" of /proc/self/status, in bytes. getrusage() would not do: its peak
// starts with that of the process that forked us.
double status_bytes(const std::string& status, std::string_view name) {
  const std::size_t at = status.find(name);
  return at == std::string::npos ? 0 : 1024 * std::atof(status.c_str() + at + name.size());
}

Json memory_json() {
  std::ifstream file("/proc/self/status");
  const std::string status((std::istreambuf_iterator<char>(file)), {});
  Json j;
  j["peak"] = status_bytes(status, "VmHWM:");
  j["anonymous"] = status_bytes(status, "RssAnon:");
  j["file"] = status_bytes(status, "RssFile:");
  return j;
}

double processor_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value ? std::string(value->text()) : "";
}

class Server {
 public:
  Result<Json> answer(const Json& command) {
    const std::string name = text_of(command, "command");
    if (name == "open") return open(command);
    if (!engine_) return Status(Code::invalid_argument, "no model is open");
    if (name == "run") return run(command.find("ms")->number());
    if (name == "memory") return memory_json();
    if (name == "outputs") return outputs(text_of(command, "folder"));
    return Status(Code::invalid_argument, cat("no command '", name, "'"));
  }

 private:
  Result<Json> open(const Json& command) {
    const Json* spinning = command.find("spinning");
    const EngineOptions options{.engine = text_of(command, "engine"),
                                .library = text_of(command, "library"),
                                .device = text_of(command, "device"),
                                .model = text_of(command, "model"),
                                .threads = static_cast<int>(command.find("threads")->number()),
                                .spinning = std::get<bool>(spinning->value()),
                                .math = text_of(command, "math")};
    std::vector<TensorFile> inputs;
    for (const Json& f : command.find("inputs")->items())
      inputs.push_back({text_of(f, "name"), text_of(f, "path")});
    ColdTimes times;
    QUERN_ASSIGN(engine_, open_engine(options, inputs, times));
    Json j = memory_json();
    j["library_ms"] = times.library_ms;
    j["load_ms"] = times.load_ms;
    j["first_run_ms"] = times.first_run_ms;
    return j;
  }

  Result<Json> run(double ms) {
    times_.clear();
    QUERN_TRY(engine_->run());  // wakes threads and caches after the other engine's round
    const double processor = processor_ms();
    tools::Stopwatch watch;
    for (double spent = 0; spent < ms || times_.empty(); spent += times_.back()) {
      QUERN_TRY(engine_->run());
      times_.push_back(watch.lap());
    }
    Json j;
    j["processor_ms"] = (processor_ms() - processor) / static_cast<double>(times_.size());
    j["times"] = Json::array_of(times_);
    return j;
  }

  Result<Json> outputs(const std::string& folder) {
    QUERN_ASSIGN(const std::vector<NamedTensor> outputs, engine_->outputs());
    Json j;
    j["files"] = Json::array();
    for (const NamedTensor& output : outputs) {
      const TensorFile file{output.name, cat(folder, "/output_", j["files"].items().size(), ".pb")};
      QUERN_TRY(write_tensor(file, output.tensor));
      Json entry;
      entry["name"] = file.name;
      entry["path"] = file.path;
      j["files"].push(std::move(entry));
    }
    return j;
  }

  std::unique_ptr<Engine> engine_;
  std::vector<double> times_;
};

}  // namespace

int serve_worker() {
  // Text that an engine prints goes to stderr, so that it does not get between the answers.
  const int answers = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  Server server;
  while (true) {
    const auto command = receive_message(STDIN_FILENO, std::chrono::hours(24));
    if (!command) return 0;
    auto answer = server.answer(*command);
    if (!answer) {
      Json error;
      error["error"] = answer.error().message();
      answer = std::move(error);
    }
    if (!send_message(answers, *answer).ok()) return 1;
  }
}

}  // namespace quern::bench
