// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <numeric>

#include <quern/session.h>

#include "engine/executable_impl.h"
#include "engine/memory_need.h"
#include "engine/runner.h"
#include "graph/text_util.h"

namespace quern {

using Clock = std::chrono::steady_clock;

struct Session::Impl {
  Impl(std::shared_ptr<const Executable> e, int t)
      : executable(std::move(e)),
        threads(t),
        memory(executable->impl().pool),
        runner(executable->impl().plans, t, memory, Runner::Graphs::session) {}

  std::shared_ptr<const Executable> executable;
  int threads;
  RunMemory memory;
  Runner runner;
  std::vector<RuntimeValue> inputs;
  std::vector<bool> is_set;
  std::vector<BoundOutput> bound;   // by output of the model
  std::vector<std::size_t> wanted;  // ascending
  std::vector<BoundOutput> bound_wanted;
  std::atomic<bool> cancelled = false;
  bool has_run = false;

  Status check_inputs() const;
  Status run(Clock::time_point deadline, cpu::StepListener* listener);
  Result<const RuntimeValue*> result(std::size_t index) const;
};

namespace {

constexpr std::byte empty_tensor[64] = {};  // where a tensor without elements may point

std::string name_list(const std::vector<ValueSpec>& specs) {
  std::string s;
  for (const ValueSpec& v : specs) s += cat(s.empty() ? "'" : ", '", printable(v.name, 60), "'");
  return s.empty() ? "none" : s.substr(0, 1000);
}

Result<std::size_t> find(const std::vector<ValueSpec>& specs, std::string_view name,
                         std::string_view what) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name == name) return i;
  return Status(Code::not_found,
                cat("no ", what, " '", printable(name), "'; the model has: ", name_list(specs)));
}

std::string wanted_text(const ValueSpec& spec) {
  std::string s(name_of(spec.dtype));
  if (!spec.has_rank) return s + " of any shape";
  s += '[';
  for (std::size_t i = 0; i < spec.dims.size(); ++i)
    s += cat(i ? "," : "", spec.dims[i] >= 0         ? cat(spec.dims[i])
                           : spec.symbols[i].empty() ? std::string("?")
                                                     : printable(spec.symbols[i], 40));
  return s + "]";
}

Status check_tensor(const ValueSpec& spec, const TensorView& t) {
  const auto elements = t.type.shape.checked_elements(size_of(t.type.dtype));
  bool fits = elements && spec.dtype == t.type.dtype;
  if (spec.has_rank) {
    fits = fits && spec.dims.size() == t.type.shape.rank();
    for (std::size_t i = 0; fits && i < spec.dims.size(); ++i)
      fits = spec.dims[i] < 0 || spec.dims[i] == t.type.shape[i];
  }
  if (!fits)
    return {Code::invalid_argument, cat("input '", printable(spec.name), "' is ", t.type.text(),
                                        ", the model wants ", wanted_text(spec))};
  if (!t.data && *elements > 0)
    return {Code::invalid_argument, cat("input '", printable(spec.name), "' has no data")};
  if (reinterpret_cast<std::uintptr_t>(t.data) % std::min<std::size_t>(size_of(t.type.dtype), 8) !=
      0)
    return {Code::invalid_argument,
            cat("input '", printable(spec.name), "' is not aligned to its element, ",
                size_of(t.type.dtype), " bytes")};
  return {};
}

TensorView with_address(TensorView t) {
  if (!t.data) t.data = empty_tensor;
  return t;
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Executable> executable,
                                                 const SessionOptions& options) {
  if (!executable) return Status(Code::invalid_argument, "a session wants an executable");
  const int threads = options.threads > 0 ? options.threads : executable->impl().threads;
  auto impl = std::make_unique<Impl>(std::move(executable), threads);
  impl->inputs.resize(impl->executable->inputs().size());
  impl->is_set.resize(impl->inputs.size());
  impl->bound.resize(impl->executable->outputs().size());
  std::unique_ptr<Session> session(new Session(std::move(impl)));
  QUERN_TRY(session->request_outputs({}));
  return session;
}

const Executable& Session::executable() const {
  return *impl_->executable;
}

int Session::threads() const {
  return impl_->threads;
}

Result<std::size_t> Session::input_index(std::string_view name) const {
  return find(impl_->executable->inputs(), name, "input");
}
Result<std::size_t> Session::output_index(std::string_view name) const {
  return find(impl_->executable->outputs(), name, "output");
}

// ---- binding -----------------------------------------------------------------------------------

namespace {

Result<const ValueSpec*> spec_of(const std::vector<ValueSpec>& specs, std::size_t index,
                                 std::string_view what) {
  if (index < specs.size()) return &specs[index];
  return Status(Code::invalid_argument, cat(what, " ", index, ": the model has ", specs.size()));
}

}  // namespace

Status Session::set_input(std::size_t index, const TensorView& tensor) {
  QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->inputs(), index, "input"));
  if (spec->kind == ValueSpec::Kind::sequence || spec->kind == ValueSpec::Kind::optional_sequence)
    return {Code::invalid_argument, cat("input '", printable(spec->name), "' is a sequence")};
  QUERN_TRY(check_tensor(*spec, tensor));
  impl_->inputs[index].kind = RuntimeValue::Kind::tensor;
  impl_->inputs[index].tensors.assign(1, with_address(tensor));
  impl_->is_set[index] = true;
  return {};
}

Status Session::set_input_sequence(std::size_t index, std::span<const TensorView> tensors) {
  QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->inputs(), index, "input"));
  if (spec->kind != ValueSpec::Kind::sequence && spec->kind != ValueSpec::Kind::optional_sequence)
    return {Code::invalid_argument, cat("input '", printable(spec->name), "' is no sequence")};
  for (const TensorView& t : tensors) QUERN_TRY(check_tensor(*spec, t));
  impl_->inputs[index].kind = RuntimeValue::Kind::sequence;
  impl_->inputs[index].tensors.clear();
  for (const TensorView& t : tensors) impl_->inputs[index].tensors.push_back(with_address(t));
  impl_->is_set[index] = true;
  return {};
}

Status Session::set_input_none(std::size_t index) {
  QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->inputs(), index, "input"));
  if (spec->kind != ValueSpec::Kind::optional_tensor &&
      spec->kind != ValueSpec::Kind::optional_sequence)
    return {Code::invalid_argument, cat("input '", printable(spec->name), "' is not optional")};
  impl_->inputs[index].kind = RuntimeValue::Kind::none;
  impl_->inputs[index].tensors.clear();
  impl_->is_set[index] = true;
  return {};
}

Status Session::bind_output(std::size_t index, std::byte* data, std::size_t capacity) {
  QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->outputs(), index, "output"));
  if (reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(size_of(spec->dtype), 8) != 0)
    return {Code::invalid_argument,
            cat("the place for output '", printable(spec->name), "' is not aligned")};
  impl_->bound[index] = {data, data ? capacity : 0};
  return {};
}

Status Session::request_outputs(std::span<const std::size_t> indices) {
  const std::size_t count = impl_->executable->outputs().size();
  std::vector<std::size_t> wanted(indices.begin(), indices.end());
  for (std::size_t i : wanted)
    QUERN_TRY(spec_of(impl_->executable->outputs(), i, "output").status());
  if (wanted.empty()) {
    wanted.resize(count);
    std::iota(wanted.begin(), wanted.end(), 0);
  }
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  impl_->wanted = std::move(wanted);
  impl_->bound_wanted.resize(impl_->wanted.size());
  impl_->has_run = false;
  return {};
}

// ---- running -----------------------------------------------------------------------------------

Status Session::Impl::check_inputs() const {
  for (std::size_t i = 0; i < is_set.size(); ++i)
    if (!is_set[i])
      return {Code::invalid_argument,
              cat("input '", printable(executable->inputs()[i].name), "' is not set")};
  return {};
}

Status Session::Impl::run(Clock::time_point deadline, cpu::StepListener* listener) {
  QUERN_TRY(check_inputs());
  has_run = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) bound_wanted[i] = bound[wanted[i]];
  RunOptions options{{&cancelled, deadline}, listener};
  options.detach_results = true;
  if (const std::size_t limit = executable->impl().options.memory_limit)
    options.memory_limit = limit - std::min(limit, executable->impl().weights->bytes());
  QUERN_TRY(runner.run(inputs, wanted, bound_wanted, options));
  has_run = true;
  return {};
}

Status Session::run() {
  return impl_->run(Clock::time_point::max(), nullptr);
}
Status Session::run_until(Clock::time_point deadline) {
  return impl_->run(deadline, nullptr);
}

Status Session::prepare() {
  QUERN_TRY(impl_->check_inputs());
  return impl_->runner.prepare(impl_->inputs, impl_->wanted);
}

void Session::cancel() {
  impl_->cancelled.store(true, std::memory_order_relaxed);
}
void Session::clear_cancel() {
  impl_->cancelled.store(false, std::memory_order_relaxed);
}

// ---- results -----------------------------------------------------------------------------------

Result<const RuntimeValue*> Session::Impl::result(std::size_t index) const {
  const auto at = std::ranges::lower_bound(wanted, index);
  if (at == wanted.end() || *at != index)
    return Status(Code::not_found, cat("output ", index, " was not requested"));
  if (!has_run) return Status(Code::invalid_argument, "no run has given outputs yet");
  return &runner.results()[static_cast<std::size_t>(at - wanted.begin())];
}

Result<TensorView> Session::output(std::size_t index) const {
  return output_element(index, 0);
}

Result<std::size_t> Session::output_count(std::size_t index) const {
  QUERN_ASSIGN(const RuntimeValue* v, impl_->result(index));
  return v->tensors.size();
}

Result<TensorView> Session::output_element(std::size_t index, std::size_t element) const {
  QUERN_ASSIGN(const RuntimeValue* v, impl_->result(index));
  if (element >= v->tensors.size())
    return Status(Code::not_found, cat("output ", index, " holds ", v->tensors.size(), " tensors"));
  return v->tensors[element];
}

namespace {

StepInfo describe(const cpu::Step& s) {
  return {s.node, s.op, s.shapes, s.implementation, s.cost.flops, s.cost.bytes, s.layouts};
}

void describe_buffers(const cpu::Program& p, std::size_t segment, PlanInfo& info) {
  for (std::size_t n = 0; n < p.memory_problem.intervals.size(); ++n) {
    const Interval& i = p.memory_problem.intervals[n];
    info.unshared_bytes += i.size;
    info.buffers.push_back(
        {i.name, i.size, i.alignment, p.memory_plan.offsets[n], i.first, i.end, segment});
  }
}

}  // namespace

PlanInfo Session::plan_info() const {
  PlanInfo info;
  info.segments = impl_->runner.chain().size();
  std::size_t segment = 0;
  for (const auto& node : impl_->runner.chain()) {
    const cpu::Program& p = *node->program;
    for (const cpu::Step& s : p.steps) info.steps.push_back(describe(s));
    info.arena_bytes += p.arena_bytes;
    info.arena_lower_bound += lower_bound(p.memory_problem);
    describe_buffers(p, segment++, info);
  }
  info.weight_bytes = impl_->executable->impl().weights->bytes();
  info.memory = memory_need(impl_->runner.chain(), impl_->inputs, info.weight_bytes,
                            impl_->executable->impl().pool);
  // What earlier shapes needed stays until it is trimmed.
  info.memory.arena = std::max(info.memory.arena, impl_->runner.arena_bytes());
  info.memory.pool = std::max(info.memory.pool, impl_->memory.peak_bytes());
  return info;
}

std::size_t Session::resident_bytes() const {
  return impl_->runner.arena_bytes() + impl_->memory.reserved_bytes();
}

void Session::trim() {
  impl_->runner.trim();
  impl_->memory.trim();
  impl_->has_run = false;
}

namespace {

class Recorder final : public cpu::StepListener {
 public:
  explicit Recorder(Clock::time_point begin) : begin_(begin) {}
  void on_step(const cpu::Step& step, Clock::time_point begin, Clock::time_point end) override {
    const auto us = [&](Clock::time_point t) {
      return std::chrono::duration<double, std::micro>(t - begin_).count();
    };
    timings.push_back({describe(step), us(begin), us(end)});
  }
  std::vector<Session::Timing> timings;

 private:
  Clock::time_point begin_;
};

}  // namespace

Result<std::vector<Session::Timing>> Session::profile(Clock::time_point deadline) {
  Recorder recorder(Clock::now());
  QUERN_TRY(impl_->run(deadline, &recorder));
  return std::move(recorder.timings);
}

Result<std::vector<Session::MemoryEvent>> Session::trace_memory() {
  trim();  // what is held would not be asked for
  MemoryRecorder recorder;
  impl_->memory.recorder = &recorder;
  Status status = run();
  impl_->memory.recorder = nullptr;
  QUERN_TRY(std::move(status));
  return recorder.finish();
}

}  // namespace quern
