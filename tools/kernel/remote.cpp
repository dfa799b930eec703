// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/remote.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "engine/vocabulary/text_util.h"

extern char** environ;

namespace quern::tools::lab {
namespace {

// The right answers of a large problem are found first.
constexpr int patience_ms = 600'000;
constexpr std::size_t longest_answer = std::size_t{1} << 20;

std::vector<std::string> words_for(const std::string& problem, const KernelArgs& args,
                                   std::string_view entry) {
  std::vector<std::string> words = {"quern",         "kernel",
                                    problem,         "--serve",
                                    "--impl",        std::string(entry),
                                    "--math",        args.device.math,
                                    "--denormals",   args.device.denormals,
                                    "--thread-pool", args.device.thread_pool,
                                    "--seed",        std::to_string(args.seed)};
  if (args.device.threads) {
    words.emplace_back("--threads");
    words.push_back(std::to_string(args.device.threads));
  }
  if (args.cold) words.emplace_back("--cold");
  if (args.with_reorders) words.emplace_back("--reorders");
  for (const std::string& file : args.device.ops) {
    words.emplace_back("--ops");
    words.push_back(file);
  }
  return words;
}

// This process's, with the level of our loops and of oneDNN under the names of both generations.
std::vector<std::string> environment_for(std::string_view level) {
  const char* isa = level == "avx512" ? "AVX512_CORE" : level == "avx2" ? "AVX2" : "SSE41";
  std::vector<std::string> all = {cat("QUERN_SIMD=", level), cat("ONEDNN_MAX_CPU_ISA=", isa),
                                  cat("DNNL_MAX_CPU_ISA=", isa)};
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("QUERN_SIMD=") && !text.starts_with("ONEDNN_MAX_CPU_ISA=") &&
        !text.starts_with("DNNL_MAX_CPU_ISA="))
      all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The process with `socket` for its standard input and output; -1: it did not start.
pid_t spawn_with(int socket, std::vector<std::string> words, std::vector<std::string> environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                pointers_to(words).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

double number_in(const Json& json, std::string_view name) {
  const Json* member = json.find(name);
  return member ? member->number() : 0;
}

std::string text_in(const Json& json, std::string_view name) {
  const Json* member = json.find(name);
  return member ? std::string(member->text()) : "";
}

Json info_json(const Contender& c) {
  Json j;
  j["entry"] = c.entry();
  j["entries"] = Json::array_of(c.entries());
  j["implementation"] = c.info().implementation;
  j["layouts"] = c.info().layouts;
  j["threads"] = c.info().threads;
  j["flops"] = c.info().flops;
  j["bytes"] = c.info().bytes;
  return j;
}

Json sample_json(const Result<Sample>& sample) {
  Json j;
  if (!sample) {
    j["error"] = sample.error().message();
    return j;
  }
  j["wall_us"] = sample->wall_us;
  j["processor_us"] = sample->processor_us;
  return j;
}

Json idle_json(const Status& status) {
  Json j = Json::object();
  if (!status.ok()) j["error"] = status.message();
  return j;
}

void answer(const Json& json) {
  const std::string line = json.line();
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

LeveledName parse_leveled(std::string_view name) {
  const std::size_t at = name.find('@');
  if (at == name.npos) return {std::string(name), ""};
  return {std::string(name.substr(0, at)), std::string(name.substr(at + 1))};
}

Result<std::unique_ptr<Contender>> RemoteContender::start(const std::string& problem,
                                                          const KernelArgs& args,
                                                          std::string_view entry,
                                                          std::string_view level) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Status(Code::internal, "no socket for a process of its own");
  const pid_t pid = spawn_with(ends[1], words_for(problem, args, entry), environment_for(level));
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return Status(Code::internal, "a process of its own did not start");
  }
  std::unique_ptr<RemoteContender> c(new RemoteContender(ends[0], pid));
  QUERN_ASSIGN(const Json info, c->ask("info\n"));
  QUERN_TRY(c->take_info(info));
  c->info_.name = cat(entry, "@", level);
  c->info_.device = "cpu";
  return std::unique_ptr<Contender>(std::move(c));
}

// It ends when nobody can ask it any more.
RemoteContender::~RemoteContender() {
  close(socket_);
  int status = 0;
  for (int i = 0; i < 200; ++i) {
    if (waitpid(process_, &status, WNOHANG) != 0) return;
    usleep(10'000);
  }
  kill(process_, SIGKILL);
  waitpid(process_, &status, 0);
}

Status RemoteContender::take_info(const Json& answer) {
  entry_ = text_in(answer, "entry");
  if (const Json* entries = answer.find("entries"))
    for (const Json& name : entries->items()) entries_.emplace_back(name.text());
  info_.implementation = text_in(answer, "implementation");
  info_.layouts = text_in(answer, "layouts");
  info_.threads = static_cast<int>(number_in(answer, "threads"));
  info_.flops = number_in(answer, "flops");
  info_.bytes = number_in(answer, "bytes");
  return {};
}

Result<Json> RemoteContender::ask(std::string_view question) {
  while (!question.empty()) {
    const ssize_t n = send(socket_, question.data(), question.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status(Code::internal, "its process has ended");
    question.remove_prefix(static_cast<std::size_t>(n));
  }
  QUERN_ASSIGN(const std::string line, read_line());
  QUERN_ASSIGN(Json json, parse_json(line));
  if (const Json* error = json.find("error"))
    return Status(Code::internal, std::string(error->text()));
  return json;
}

Result<std::string> RemoteContender::read_line() {
  char buffer[4096];
  while (unread_.find('\n') == std::string::npos) {
    if (unread_.size() > longest_answer) return Status(Code::internal, "its process says too much");
    pollfd ready{socket_, POLLIN, 0};
    const int count = poll(&ready, 1, patience_ms);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Status(Code::internal, "its process does not answer");
    const ssize_t n = read(socket_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status(Code::internal, "its process has ended");
    unread_.append(buffer, static_cast<std::size_t>(n));
  }
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

Result<Sample> RemoteContender::call() {
  QUERN_ASSIGN(const Json json, ask("call\n"));
  return Sample{number_in(json, "wall_us"), number_in(json, "processor_us")};
}

Status RemoteContender::check_idle() {
  return ask("idle\n").status();
}

void serve(Contender& contender) {
  for (std::string question; std::getline(std::cin, question);) {
    if (question == "info") answer(info_json(contender));
    if (question == "call") answer(sample_json(contender.call()));
    if (question == "idle") answer(idle_json(contender.check_idle()));
  }
}

}  // namespace quern::tools::lab
