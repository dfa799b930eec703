// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/contender.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include <quern/processor_time.h>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"

namespace quern::tools::lab {
namespace {

// Clocks may part by so much over a while.
constexpr double clock_tolerance = 0.01;
// A call that takes so long finds nothing in caches that the call before it left there.
constexpr double slow_us = 50'000;
// Threads of OpenMP may turn for a while after a parallel region.
constexpr auto grace = std::chrono::milliseconds(20);
constexpr auto idle_while = std::chrono::milliseconds(20);
constexpr double most_idle_share = 0.02;  // of a processor, on which others may be, too

// The step of the operator itself, or else the one that takes the longest.
const StepInfo* main_step(const std::vector<Session::Timing>& timings, const auto& counts) {
  const Session::Timing* longest = nullptr;
  for (const Session::Timing& t : timings) {
    if (!counts(t.step)) continue;
    if (t.step.node == "kernel") return &t.step;
    if (!longest || t.end_us - t.begin_us > longest->end_us - longest->begin_us) longest = &t;
  }
  return longest ? &longest->step : nullptr;
}

// Processor time of the process and of the threads of the session, at one moment: read again where
// something was charged to this thread between.
struct Spent {
  double process_us = 0;
  double session_us = 0;
};

double processor_us(const Session& session) {
  return 1e-3 * static_cast<double>(processor_time(session).count());
}

Spent spent(const Clocks& clocks, const Session& session) {
  constexpr int most_tries = 20;
  constexpr double close_us = 5;
  Spent best;
  double least_us = 1e18;
  for (int i = 0; i < most_tries && least_us > close_us; ++i) {
    const double before = processor_us(session);
    const double process = clocks.process();
    const double after = processor_us(session);
    if (after - before >= least_us) continue;
    least_us = after - before;
    best = {process, (before + after) / 2};
  }
  return best;
}

Status not_believed(std::string sentence) {
  return {Code::internal, std::move(sentence)};
}

}  // namespace

LocalContender::LocalContender(const Answers& answers, ContenderOptions options)
    : answers_(answers),
      options_(std::move(options)),
      clocks_(options_.clocks ? *options_.clocks : system_clocks()),
      random_(options_.seed) {}

Result<std::unique_ptr<Contender>> LocalContender::make(const Model& model,
                                                        std::shared_ptr<Device> device,
                                                        const Answers& answers,
                                                        ContenderOptions options) {
  std::unique_ptr<LocalContender> c(new LocalContender(answers, std::move(options)));
  c->info_.name = c->options_.name;
  c->info_.device = device->info().name;
  c->info_.is_on_host = device->info().kind == DeviceInfo::Kind::cpu;
  QUERN_ASSIGN(auto executable,
               Executable::compile(model.clone(), std::move(device), c->options_.compile));
  QUERN_ASSIGN(c->session_, Session::create(std::move(executable)));
  c->info_.threads = c->session_->threads();
  QUERN_TRY(c->bind());
  QUERN_TRY(c->describe());
  return std::unique_ptr<Contender>(std::move(c));
}

Status LocalContender::bind() {
  for (const Tensor& t : answers_.inputs(0)) {
    QUERN_ASSIGN(inputs_.emplace_back(), Tensor::zeros(t.type()));
    QUERN_TRY(session_->set_input(inputs_.size() - 1, inputs_.back().view()));
  }
  for (std::size_t i = 0; i < answers_.outputs(); ++i) {
    QUERN_ASSIGN(outputs_.emplace_back(), Tensor::zeros(answers_.output_type(i)));
    QUERN_ASSIGN(copies_.emplace_back(), Tensor::zeros(answers_.output_type(i)));
    QUERN_TRY(session_->bind_output(i, outputs_[i].mutable_data(), outputs_[i].bytes()));
  }
  return {};
}

bool LocalContender::counts(const StepInfo& step) const {
  const bool is_work = step.lane == StepInfo::Lane::host || step.lane == StepInfo::Lane::device;
  return is_work && (options_.with_reorders || step.op != "Reorder");
}

// What the first call tells of the kernel.
Status LocalContender::describe() {
  load(0);
  QUERN_ASSIGN(const auto timings, session_->profile());
  const auto counted = [&](const StepInfo& s) { return counts(s); };
  const StepInfo* step = main_step(timings, counted);
  if (!step) return {Code::unsupported, "nothing of the operator is left to be run"};
  entries_ = step->entries;
  entry_ = step->entry;
  info_.implementation = step->implementation;
  info_.layouts = step->layouts;
  for (const Session::Timing& t : timings) {
    if (!counts(t.step)) continue;
    info_.flops += t.step.flops;
    info_.bytes += t.step.bytes;
    if (&t.step != step) info_.implementation += cat(" + ", t.step.op, " ", t.step.implementation);
  }
  return {};
}

void LocalContender::load(std::size_t set) {
  const std::vector<Tensor>& numbers = answers_.inputs(set);
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].bytes())
      std::memcpy(inputs_[i].mutable_data(), numbers[i].data(), inputs_[i].bytes());
}

void LocalContender::spoil(std::size_t set) {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    answers_.spoil(set, i, outputs_[i].mutable_data());
}

Result<Sample> LocalContender::call() {
  const std::size_t set = other_set(last_set_);
  if (!options_.evictor && last_us_ < slow_us) {
    load(other_set(set));
    QUERN_TRY(session_->run());
  }
  if (options_.others) {
    const auto own = static_cast<std::size_t>(info_.bytes);
    options_.others->read(options_.between_bytes - std::min(own, options_.between_bytes));
  }
  load(set);
  spoil(set);
  if (options_.evictor) options_.evictor->evict();
  QUERN_ASSIGN(const Sample sample, timed(set));
  last_set_ = set;
  last_us_ = sample.wall_us;
  return sample;
}

// Inputs that are not those of the call before: what it left behind is of no use.
std::size_t LocalContender::other_set(std::size_t set) {
  const std::size_t sets = answers_.sets();
  return (set + 1 + random_() % (sets - 1)) % sets;
}

Result<std::int64_t> LocalContender::repeat(double seconds) {
  const std::size_t set = other_set(last_set_);
  load(set);
  spoil(set);
  std::int64_t calls = 0;
  const double end = clocks_.wall() + 1e6 * seconds;
  for (; calls == 0 || clocks_.wall() < end; ++calls) QUERN_TRY(session_->run());
  keep_answer();
  QUERN_TRY(check_answer(set));
  last_set_ = set;
  return calls;
}

void LocalContender::keep_answer() {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].bytes())
      std::memcpy(copies_[i].mutable_data(), outputs_[i].data(), outputs_[i].bytes());
}

Result<Sample> LocalContender::timed(std::size_t set) {
  const Spent before = spent(clocks_, *session_);
  const Moment begin = moment(clocks_);
  auto timings = session_->profile();
  const Moment end = moment(clocks_);
  keep_answer();  // before a thread may write to it
  const Spent after = spent(clocks_, *session_);
  if (!timings) return std::move(timings).error();
  QUERN_ASSIGN(const Sample sample, kernel_time(*timings));
  QUERN_TRY(check_answer(set));
  QUERN_TRY(check_clocks(begin, end, sample.wall_us));
  QUERN_TRY(
      check_workers(after.process_us - before.process_us, after.session_us - before.session_us));
  return sample;
}

Result<Sample> LocalContender::kernel_time(const std::vector<Session::Timing>& timings) const {
  Sample sample;
  const auto counted = [&](const StepInfo& s) { return counts(s); };
  const StepInfo* step = main_step(timings, counted);
  if (!step) return not_believed("no kernel ran");
  if (!options_.entry.empty() && step->entry != options_.entry)
    return not_believed(cat("this is the time of ", options_.entry, ", but ", step->entry, " ran"));
  for (const Session::Timing& t : timings) {
    if (!counts(t.step)) continue;
    sample.wall_us += t.end_us - t.begin_us;
    sample.processor_us += t.processor_us;
  }
  return sample;
}

Status LocalContender::check_answer(std::size_t set) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    QUERN_ASSIGN(const TensorView y, session_->output(i));
    const std::string wrong = answers_.verdict(set, i, {y.type, copies_[i].data()});
    if (!wrong.empty()) return not_believed(cat("wrong answer: ", wrong));
  }
  const std::vector<Tensor>& numbers = answers_.inputs(set);
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].bytes() &&
        std::memcmp(inputs_[i].data(), numbers[i].data(), inputs_[i].bytes()) != 0)
      return not_believed(cat("the kernel wrote to its input ", i));
  return {};
}

Status LocalContender::check_clocks(const Moment& begin, const Moment& end, double steps_us) {
  const double wall_us = end.wall - begin.wall;
  const double other_us = end.other_wall - begin.other_wall;
  const double slack_us = begin.slack_us + end.slack_us;
  wall_sum_us_ += wall_us;
  other_sum_us_ += other_us;
  slack_sum_us_ += slack_us;
  if (steps_us > other_us * (1 + clock_tolerance) + slack_us)
    return not_believed(cat("clocks disagree: the kernel took ", fixed_text(steps_us, 1),
                            " us of a call of ", fixed_text(other_us, 1), " us"));
  if (std::abs(wall_sum_us_ - other_sum_us_) <= clock_tolerance * other_sum_us_ + slack_sum_us_)
    return {};
  return not_believed(cat("clocks disagree: one says ", fixed_text(wall_sum_us_, 1),
                          " us where the other says ", fixed_text(other_sum_us_, 1)));
}

// Threads of a device's driver are its own affair.
Status LocalContender::check_workers(double process_us, double session_us) {
  constexpr double most_share = 0.1;
  constexpr double most_us = 200;
  session_sum_us_ += session_us;
  hidden_sum_us_ += process_us - session_us;
  if (!info_.is_on_host || hidden_sum_us_ <= most_share * session_sum_us_ + most_us) return {};
  return not_believed(cat("other threads than those of the call took ",
                          fixed_text(hidden_sum_us_, 1), " us of processor time, these ",
                          fixed_text(session_sum_us_, 1)));
}

Status LocalContender::check_idle() {
  if (!info_.is_on_host) return {};
  std::this_thread::sleep_for(grace);
  const double process = clocks_.process();
  const double other = clocks_.other_wall();
  std::this_thread::sleep_for(idle_while);
  const double used = clocks_.process() - process;
  const double passed = clocks_.other_wall() - other;
  if (used <= most_idle_share * passed) return {};
  return not_believed(cat("threads were left that use ", fixed_text(used / passed, 2),
                          " processors while nothing runs"));
}

}  // namespace quern::tools::lab
