// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/remote.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "engine/vocabulary/text_util.h"

namespace quern::tools::lab {
namespace {

// The right answers of a large problem are found first.
constexpr auto patience = std::chrono::minutes(10);
constexpr std::size_t longest_answer = std::size_t{1} << 20;

std::vector<std::string> words_for(const std::string& problem, const KernelArgs& args,
                                   std::string_view entry) {
  std::vector<std::string> words = {"",
                                    "kernel",
                                    problem,
                                    "--serve",
                                    "--impl",
                                    std::string(entry),
                                    "--math",
                                    args.device.math,
                                    "--denormals",
                                    args.device.denormals,
                                    "--thread-pool",
                                    args.device.thread_pool,
                                    "--seed",
                                    std::to_string(args.seed)};
  if (args.device.threads) {
    words.emplace_back("--threads");
    words.push_back(std::to_string(args.device.threads));
  }
  if (args.cold) words.emplace_back("--cold");
  if (!args.between.empty()) {
    words.emplace_back("--between");
    words.push_back(args.between);
  }
  if (args.with_reorders) words.emplace_back("--reorders");
  for (const std::string& file : args.device.ops) {
    words.emplace_back("--ops");
    words.push_back(file);
  }
  return words;
}

// The level of our loops and of oneDNN under the names of both generations.
std::vector<std::string> variables_for(std::string_view level) {
  const char* isa = level == "avx512" ? "AVX512_CORE" : level == "avx2" ? "AVX2" : "SSE41";
  return {cat("QUERN_SIMD=", level), cat("ONEDNN_MAX_CPU_ISA=", isa),
          cat("DNNL_MAX_CPU_ISA=", isa)};
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

Json calls_json(const Result<std::int64_t>& calls) {
  Json j;
  if (calls)
    j["calls"] = *calls;
  else
    j["error"] = calls.error().message();
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
  std::unique_ptr<RemoteContender> c(new RemoteContender);
  if (!c->process_.start(words_for(problem, args, entry), variables_for(level)))
    return Status(Code::internal, "a process of its own did not start");
  QUERN_ASSIGN(const Json info, c->ask("info\n"));
  QUERN_TRY(c->take_info(info));
  c->info_.name = cat(entry, "@", level);
  c->info_.device = "cpu";
  return std::unique_ptr<Contender>(std::move(c));
}

RemoteContender::~RemoteContender() {
  process_.close_input();
  (void)process_.wait(std::chrono::seconds(2));
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
  QUERN_TRY(move_until(question, [&] { return question.empty(); }));
  QUERN_ASSIGN(const std::string line, read_line());
  QUERN_ASSIGN(Json json, parse_json(line));
  if (const Json* error = json.find("error"))
    return Status(Code::internal, std::string(error->text()));
  return json;
}

// Writes and reads until it `is_done`, as long as the process lives and does not sleep.
template <class IsDone>
Status RemoteContender::move_until(std::string_view& to_write, const IsDone& is_done) {
  using Moved = platform::Program::Moved;
  while (!is_done()) {
    if (unread_.size() > longest_answer) return {Code::internal, "its process says too much"};
    const Moved moved = process_.move(to_write, unread_, patience);
    if (moved == Moved::nothing) return {Code::internal, "its process does not answer"};
    if (moved == Moved::closed) return {Code::internal, "its process has ended"};
  }
  return {};
}

Result<std::string> RemoteContender::read_line() {
  std::string_view nothing;
  QUERN_TRY(move_until(nothing, [&] { return unread_.find('\n') != std::string::npos; }));
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

Result<Sample> RemoteContender::call() {
  QUERN_ASSIGN(const Json json, ask("call\n"));
  return Sample{number_in(json, "wall_us"), number_in(json, "processor_us")};
}

Result<std::int64_t> RemoteContender::repeat(double seconds) {
  QUERN_ASSIGN(const Json json, ask(cat("repeat ", shortest(seconds), "\n")));
  return static_cast<std::int64_t>(number_in(json, "calls"));
}

Status RemoteContender::check_idle() {
  return ask("idle\n").status();
}

void serve(Contender& contender) {
  for (std::string question; std::getline(std::cin, question);) {
    if (question == "info") answer(info_json(contender));
    if (question == "call") answer(sample_json(contender.call()));
    if (question.starts_with("repeat "))
      answer(calls_json(contender.repeat(std::strtod(question.c_str() + 7, nullptr))));
    if (question == "idle") answer(idle_json(contender.check_idle()));
  }
}

}  // namespace quern::tools::lab
