// SPDX-License-Identifier: Apache-2.0
// The parent's side.
#include "bench/compare/worker.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "bench/compare/message.h"
#include "engine/vocabulary/text_util.h"

namespace quern::bench {
namespace {

using tools::Json;

constexpr std::chrono::minutes patience{10};
constexpr const char* worker_name = "quern-compare-worker";

double number(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value ? value->number() : 0;
}

Memory memory_of(const Json& j) {
  return {
      .peak = number(j, "peak"), .anonymous = number(j, "anonymous"), .file = number(j, "file")};
}

struct Pipe {
  int read_end = -1, write_end = -1;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status(Code::out_of_memory, "no pipe for a process");
  return Pipe{ends[0], ends[1]};
}

// The program beside this one.
std::filesystem::path worker_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).replace_filename(worker_name);
}

[[noreturn]] void become_worker(const char* program, const Pipe& commands, const Pipe& answers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(commands.read_end, STDIN_FILENO);
  dup2(answers.write_end, STDOUT_FILENO);
  execl(program, worker_name, nullptr);
  _exit(127);
}

}  // namespace

Worker::Worker(pid_t pid, int commands, int answers)
    : pid_(pid), commands_(commands), answers_(answers) {}

Worker::Worker(Worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      commands_(std::exchange(other.commands_, -1)),
      answers_(std::exchange(other.answers_, -1)) {}

Worker::~Worker() {
  if (pid_ <= 0) return;
  close(commands_);
  close(answers_);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Worker> Worker::start() {
  const std::string program = worker_program().string();
  if (access(program.c_str(), X_OK) != 0)
    return Status(Code::not_found, cat("no program ", program, ": build the target quern_compare"));
  QUERN_ASSIGN(const Pipe commands, make_pipe());
  QUERN_ASSIGN(const Pipe answers, make_pipe());
  const pid_t pid = fork();
  if (pid == 0) become_worker(program.c_str(), commands, answers);
  close(commands.read_end);
  close(answers.write_end);
  Worker worker(pid, commands.write_end, answers.read_end);
  if (pid < 0) return Status(Code::out_of_memory, "no process could be started");
  return worker;
}

Result<Json> Worker::call(const Json& command) {
  kill(pid_, SIGCONT);
  QUERN_TRY(send_message(commands_, command));
  QUERN_ASSIGN(Json answer, receive_message(answers_, patience));
  kill(pid_, SIGSTOP);
  if (const Json* error = answer.find("error"))
    return Status(Code::internal, std::string(error->text()));
  return answer;
}

Result<Opening> Worker::open(const EngineOptions& options, const std::vector<TensorFile>& inputs) {
  Json command;
  command["command"] = "open";
  command["engine"] = options.engine;
  command["library"] = options.library;
  command["model"] = options.model;
  command["device"] = options.device;
  command["threads"] = options.threads;
  command["spinning"] = options.spinning;
  command["math"] = options.math;
  command["inputs"] = Json::array();
  for (const TensorFile& f : inputs) {
    Json file;
    file["name"] = f.name;
    file["path"] = f.path;
    command["inputs"].push(std::move(file));
  }
  QUERN_ASSIGN(const Json answer, call(command));
  return Opening{.times = {.library_ms = number(answer, "library_ms"),
                           .load_ms = number(answer, "load_ms"),
                           .first_run_ms = number(answer, "first_run_ms")},
                 .memory = memory_of(answer)};
}

Result<Runs> Worker::run_for(double ms) {
  Json command;
  command["command"] = "run";
  command["ms"] = ms;
  QUERN_ASSIGN(const Json answer, call(command));
  Runs runs{.processor_ms = number(answer, "processor_ms")};
  if (const Json* list = answer.find("times"))
    for (const Json& t : list->items()) runs.ms.push_back(t.number());
  return runs;
}

Result<Memory> Worker::memory() {
  Json command;
  command["command"] = "memory";
  QUERN_ASSIGN(const Json answer, call(command));
  return memory_of(answer);
}

Result<std::vector<TensorFile>> Worker::outputs(const std::string& folder) {
  Json command;
  command["command"] = "outputs";
  command["folder"] = folder;
  QUERN_ASSIGN(const Json answer, call(command));
  std::vector<TensorFile> files;
  if (const Json* list = answer.find("files"))
    for (const Json& f : list->items())
      files.push_back({std::string(f.find("name")->text()), std::string(f.find("path")->text())});
  return files;
}

}  // namespace quern::bench
