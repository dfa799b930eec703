// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include <quern/processor_time.h>

#include "engine/compile/executable_impl.h"
#include "engine/compile/memory_need.h"
#include "engine/run/flight.h"
#include "engine/run/plan_warning.h"
#include "engine/run/session_impl.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/contract/worker_pool.h"

namespace quern {

using Clock = std::chrono::steady_clock;

namespace {

alignas(64) constexpr std::byte empty_tensor[64] = {};  // the data of tensors without elements

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
  if (*elements == 0) return {};
  if (!t.data)
    return {Code::invalid_argument, cat("input '", printable(spec.name), "' has no data")};
  if (reinterpret_cast<std::uintptr_t>(t.data) % std::min<std::size_t>(size_of(t.type.dtype), 8) !=
      0)
    return {Code::invalid_argument,
            cat("input '", printable(spec.name), "' is not aligned to its element, ",
                size_of(t.type.dtype), " bytes")};
  return {};
}

TensorView with_address(TensorView t) {
  if (t.type.shape.elements() == 0) t.data = empty_tensor;
  return t;
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() {
  if (impl_->flight != Impl::Flight::none) (void)impl_->wait();
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Executable> executable,
                                                 const SessionOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Session>> {
    if (!executable) return Status(Code::invalid_argument, "a session wants an executable");
    const HostScope scope(executable->impl().options.host);
    auto impl = std::make_unique<Impl>(std::move(executable), options);
    impl->take_device_arena();
    impl->inputs.resize(impl->executable->inputs().size());
    impl->is_set.resize(impl->inputs.size());
    impl->bound.resize(impl->executable->outputs().size());
    impl->input_tensors.resize(impl->inputs.size());
    impl->output_tensors.resize(impl->bound.size());
    std::unique_ptr<Session> session(new Session(std::move(impl)));
    QUERN_TRY(session->request_outputs({}));
    return session;
  });
}

const Executable& Session::executable() const {
  return *impl_->executable;
}

int Session::threads() const {
  return impl_->team.threads;
}
const ThreadPool* Session::thread_pool() const {
  return impl_->thread_pool.get();
}

Result<std::size_t> Session::input_index(std::string_view name) const {
  return guarded(
      [&]() -> Result<std::size_t> { return find(impl_->executable->inputs(), name, "input"); });
}
Result<std::size_t> Session::output_index(std::string_view name) const {
  return guarded(
      [&]() -> Result<std::size_t> { return find(impl_->executable->outputs(), name, "output"); });
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
  return guarded([&]() -> Status {
    QUERN_TRY(impl_->check_idle());
    QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->inputs(), index, "input"));
    if (spec->is_sequence())
      return {Code::invalid_argument, cat("input '", printable(spec->name), "' is a sequence")};
    QUERN_TRY(check_tensor(*spec, tensor));
    impl_->inputs[index].tensors.assign(1, with_address(tensor));
    impl_->note_input(index, RuntimeValue::Kind::tensor);
    return {};
  });
}

namespace {

Status check_same_device(const Device& tensors, const Device& ours, std::string_view what) {
  const bool both_on_host =
      tensors.info().kind == DeviceInfo::Kind::cpu && ours.info().kind == DeviceInfo::Kind::cpu;
  if (&tensors == &ours || both_on_host) return {};
  return {Code::invalid_argument, cat("the tensor for ", what, " was made on ", tensors.info().name,
                                      ", the executable on another device, ", ours.info().name)};
}

}  // namespace

Status Session::set_input(std::size_t index, std::shared_ptr<DeviceTensor> tensor) {
  return guarded([&]() -> Status {
    if (!tensor) return {Code::invalid_argument, cat("input ", index, ": no tensor")};
    QUERN_TRY(check_same_device(tensor->device(), impl_->executable->device(), "an input"));
    QUERN_TRY(set_input(index, TensorView{tensor->type(), tensor->impl().memory->host()}));
    impl_->input_tensors[index] = std::move(tensor);
    return {};
  });
}

Status Session::set_input_sequence(std::size_t index, std::span<const TensorView> tensors) {
  return guarded([&]() -> Status {
    QUERN_TRY(impl_->check_idle());
    QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->inputs(), index, "input"));
    if (!spec->is_sequence())
      return {Code::invalid_argument, cat("input '", printable(spec->name), "' is no sequence")};
    for (const TensorView& t : tensors) QUERN_TRY(check_tensor(*spec, t));
    std::vector<TensorView> views(tensors.begin(), tensors.end());
    std::ranges::transform(views, views.begin(), with_address);
    impl_->inputs[index].tensors = std::move(views);
    impl_->note_input(index, RuntimeValue::Kind::sequence);
    return {};
  });
}

Status Session::set_input_none(std::size_t index) {
  return guarded([&]() -> Status {
    QUERN_TRY(impl_->check_idle());
    QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->inputs(), index, "input"));
    if (!spec->is_optional())
      return {Code::invalid_argument, cat("input '", printable(spec->name), "' is not optional")};
    impl_->inputs[index].tensors.clear();
    impl_->note_input(index, RuntimeValue::Kind::none);
    return {};
  });
}

Status Session::bind_output(std::size_t index, std::byte* data, std::size_t capacity) {
  return guarded([&]() -> Status {
    QUERN_TRY(impl_->check_idle());
    QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->outputs(), index, "output"));
    if (reinterpret_cast<std::uintptr_t>(data) % std::min<std::size_t>(size_of(spec->dtype), 8) !=
        0)
      return {Code::invalid_argument,
              cat("the place for output '", printable(spec->name), "' is not aligned")};
    impl_->bound[index] = {data, data ? capacity : 0};
    impl_->output_tensors[index] = nullptr;
    return {};
  });
}

Status Session::bind_output(std::size_t index, std::shared_ptr<DeviceTensor> tensor) {
  return guarded([&]() -> Status {
    if (!tensor) return bind_output(index, nullptr, 0);
    QUERN_TRY(check_same_device(tensor->device(), impl_->executable->device(), "an output"));
    QUERN_TRY(bind_output(index, tensor->impl().memory->host(), tensor->capacity()));
    impl_->output_tensors[index] = std::move(tensor);
    return {};
  });
}

Status Session::request_outputs(std::span<const std::size_t> indices) {
  return guarded([&]() -> Status {
    QUERN_TRY(impl_->check_idle());
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
    impl_->has_run = false;  // what follows may end for want of memory
    impl_->bound_wanted.resize(wanted.size());
    impl_->device_outputs.resize(wanted.size());
    impl_->planned_types.resize(wanted.size());
    impl_->wanted = std::move(wanted);
    return {};
  });
}

// ---- running -----------------------------------------------------------------------------------

Status Session::Impl::check_inputs() const {
  for (std::size_t i = 0; i < is_set.size(); ++i)
    if (!is_set[i])
      return {Code::invalid_argument,
              cat("input '", printable(executable->inputs()[i].name), "' is not set")};
  return {};
}

Status Session::Impl::check_idle() const {
  if (flight == Flight::none) return {};
  return {Code::busy, "a run was submitted; wait() for it first"};
}

// Device tensors have the shape of the last write, so it is checked for each run.
Status Session::Impl::take_device_inputs() {
  device_inputs.assign(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    DeviceTensor* tensor = input_tensors[i].get();
    if (!tensor) continue;
    const TensorView view{tensor->type(), tensor->impl().memory->host()};
    QUERN_TRY(check_tensor(executable->inputs()[i], view));
    inputs[i].tensors.assign(1, view);
    device_inputs[i] = tensor->impl().memory.get();
  }
  return {};
}

void Session::Impl::take_device_outputs() {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& tensor = output_tensors[wanted[i]];
    device_outputs[i] = tensor ? tensor->impl().memory.get() : nullptr;
    const bool is_input = std::ranges::find(input_tensors, tensor) != input_tensors.end();
    if (tensor && !is_input) device_outputs[i]->written_on_host();  // unless the device will
  }
}

// Waits for runs of other sessions that use the tensors. Runs on the device need no wait if this
// run is on the device too.
void Session::Impl::join_tensors(NextUser next) {
  for (const auto* tensors : {&input_tensors, &output_tensors})
    for (const auto& t : *tensors)
      if (t) t->impl().memory->join_pending(next);
}

void Session::Impl::set_pending(const std::shared_ptr<PendingRun>& run) {
  for (const auto* tensors : {&input_tensors, &output_tensors})
    for (const auto& t : *tensors)
      if (t) t->impl().memory->set_pending(run);
}

void Session::Impl::clear_pending(const PendingRun* run) {
  for (const auto* tensors : {&input_tensors, &output_tensors})
    for (const auto& t : *tensors)
      if (t) t->impl().memory->clear_pending(run);
}

// Where memory is limited, no more than plans need, which are held to the limit.
void Session::Impl::take_device_arena() {
  const Executable::Impl& e = executable->impl();
  if (!e.backend) return;
  const bool is_limited = e.options.memory_limit || e.options.arena_limit;
  const auto growth = is_limited ? DeviceArena::Growth::exact : DeviceArena::Growth::ahead;
  const auto make = [&] { return e.backend->make_arena(growth); };
  memory.device = arena ? arena->impl().on_device(e.device, make) : make();
}

Status Session::Impl::take_arena() {
  if (!arena) return {};
  use_of_arena.emplace(arena->impl());
  if (use_of_arena->taken()) return {};
  use_of_arena.reset();
  return {Code::busy, "another session runs in the arena that this one shares with it"};
}

Status Session::Impl::begin(NextUser next) {
  QUERN_TRY(check_idle());
  QUERN_TRY(check_inputs());
  join_tensors(next);
  QUERN_TRY(take_device_inputs());
  has_run = false;
  QUERN_TRY(take_arena());
  if (arena) run_in_arena = ++arena->impl().runs;
  take_device_outputs();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    bound_wanted[i] = bound[wanted[i]];
    // Another run of the group may write to the arena as soon as this one has ended.
    if (flight_group && !bound_wanted[i].data)
      bound_wanted[i] = {own_outputs[wanted[i]].data(), own_outputs[wanted[i]].size()};
  }
  return {};
}

RunOptions Session::Impl::options(Clock::time_point deadline, StepListener* listener) {
  stop.emplace(StopSignals{&cancelled, deadline});
  RunOptions o{&*stop, listener, thread_pool.get()};
  o.detach_results = true;
  o.device_inputs = device_inputs;
  o.device_outputs = device_outputs;
  o.memory_limit = memory_limit;
  if (const std::size_t limit = executable->impl().options.memory_limit)
    o.memory_limit =
        std::min(memory_limit, limit - std::min(limit, executable->impl().weights->bytes()));
  return o;
}

Status Session::Impl::end(Status status) {
  use_of_arena.reset();
  QUERN_TRY(std::move(status));
  has_run = true;
  return {};
}

// Sets the types of the tensors that outputs are bound to.
void Session::Impl::set_types() {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (const auto& t = output_tensors[wanted[i]]; t && runner.results()[i].tensors.size() == 1)
      t->impl().type = runner.results()[i].tensor().type;
}

Status Session::Impl::run_on_this_thread(const RunOptions& o) {
  const PoolCaller caller(o.pool);
  return runner.run(inputs, wanted, bound_wanted, o);
}

Status Session::Impl::run(Clock::time_point deadline, StepListener* listener) {
  const HostScope scope(executable->impl().options.host);
  QUERN_TRY(guarded([&] { return begin(NextUser::host); }));
  return end(guarded([&]() -> Status {
    QUERN_TRY(run_on_this_thread(options(deadline, listener)));
    QUERN_TRY(stop->check());
    set_types();
    return {};
  }));
}

// ---- running without waiting -------------------------------------------------------------------

Status Session::Impl::submit() {
  const HostScope scope(executable->impl().options.host);
  QUERN_TRY(guarded([&] { return begin(NextUser::same_device); }));
  Status started = guarded([&]() -> Status {
    flight_options = options(Clock::time_point::max(), nullptr);
    QUERN_ASSIGN(const bool on_device, runner.start(inputs, wanted, bound_wanted, flight_options));
    for (std::size_t i = 0; i < wanted.size(); ++i) planned_types[i] = runner.planned_type(i);
    return on_device ? follow_device() : start_worker();
  });
  return started.ok() ? Status() : end(std::move(started));
}

Status Session::Impl::follow_device() {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (const auto& t = output_tensors[wanted[i]]; t && planned_types[i])
      t->impl().type = *planned_types[i];
  if (!device_run) device_run = std::make_shared<DeviceRun>(runner);
  set_pending(device_run);
  flight = Flight::device;
  return {};
}

Status Session::Impl::start_worker() {
  join_tensors(NextUser::host);
  if (!worker || !worker->is_of_this_process())
    worker = std::make_shared<Worker>([this] { return run_on_worker(); });
  set_pending(worker);
  flight = Flight::worker;
  worker->start();
  return {};
}

Status Session::Impl::run_on_worker() {
  const HostScope scope(executable->impl().options.host);
  return guarded([&]() -> Status {
    QUERN_TRY(run_on_this_thread(flight_options));
    set_types();
    return {};
  });
}

Status Session::Impl::wait() {
  const HostScope scope(executable->impl().options.host);
  const Flight was = flight;
  if (was == Flight::none) return {Code::invalid_argument, "no run was submitted"};
  Status status = guarded([&] {
    return was == Flight::worker ? worker->wait()
                                 : runner.finish(inputs, bound_wanted, flight_options);
  });
  flight = Flight::none;
  clear_pending(was == Flight::worker ? static_cast<PendingRun*>(worker.get()) : device_run.get());
  return end(std::move(status));
}

bool Session::Impl::is_done_by(Clock::time_point deadline) {
  if (flight == Flight::none) return true;
  if (flight == Flight::worker) return worker->is_done_by(deadline);
  return runner.is_done_within(deadline - Clock::now());
}

Status Session::submit() {
  return impl_->submit();
}
Status Session::wait() {
  return impl_->wait();
}
Status Session::wait_until(Clock::time_point deadline) {
  if (!impl_->is_done_by(deadline)) return {Code::busy, "the run is not done yet"};
  return impl_->wait();
}
bool Session::is_done() const {
  return impl_->is_done_by(Clock::now());
}

Status Session::run() {
  return impl_->run(Clock::time_point::max(), nullptr);
}
Status Session::run_until(Clock::time_point deadline) {
  return impl_->run(deadline, nullptr);
}

Status Session::prepare(Clock::time_point deadline) {
  const HostScope scope(executable().impl().options.host);
  return guarded([&]() -> Status {
    QUERN_TRY(impl_->check_idle());
    QUERN_TRY(impl_->check_inputs());
    QUERN_TRY(impl_->take_device_inputs());
    const Stop stop({&impl_->cancelled, deadline});
    if (impl_->memory.device) QUERN_TRY(impl_->take_arena());  // the plan may move it
    Status prepared = impl_->runner.prepare(impl_->inputs, impl_->wanted, &stop);
    impl_->use_of_arena.reset();
    return prepared;
  });
}

void Session::cancel() {
  impl_->cancelled.store(true, std::memory_order_relaxed);
}
void Session::clear_cancel() {
  impl_->cancelled.store(false, std::memory_order_relaxed);
}

// ---- results -----------------------------------------------------------------------------------

Result<std::size_t> Session::Impl::wanted_index(std::size_t index) const {
  const auto at = std::ranges::lower_bound(wanted, index);
  if (at == wanted.end() || *at != index)
    return Status(Code::not_found, cat("output ", index, " was not requested"));
  return static_cast<std::size_t>(at - wanted.begin());
}

Result<const RuntimeValue*> Session::Impl::result(std::size_t index) const {
  QUERN_ASSIGN(const std::size_t at, wanted_index(index));
  QUERN_TRY(check_idle());
  if (!has_run) return Status(Code::invalid_argument, "no run has given outputs yet");
  if (arena && arena->impl().runs != run_in_arena)
    return Status(Code::busy, "another session has run in the shared arena since");
  return &runner.results()[at];
}

Result<TensorType> Session::output_type(std::size_t index) const {
  return guarded([&]() -> Result<TensorType> {
    QUERN_ASSIGN(const std::size_t at, impl_->wanted_index(index));
    if (impl_->flight == Impl::Flight::none) {
      QUERN_ASSIGN(const RuntimeValue* v, impl_->result(index));
      if (const auto& tensor = impl_->output_tensors[index]) return tensor->type();
      if (!v->tensors.empty()) return v->tensors[0].type;
      return Status(Code::not_found, cat("output ", index, " holds no tensor"));
    }
    if (const auto& type = impl_->planned_types[at]) return *type;
    return Status(Code::busy,
                  cat("the shape of output ", index, " depends on data: the run tells it"));
  });
}

Result<TensorView> Session::output(std::size_t index) const {
  return output_element(index, 0);
}

Result<std::size_t> Session::output_count(std::size_t index) const {
  return guarded([&]() -> Result<std::size_t> {
    QUERN_ASSIGN(const RuntimeValue* v, impl_->result(index));
    return v->tensors.size();
  });
}

Result<TensorView> Session::output_element(std::size_t index, std::size_t element) const {
  return guarded([&]() -> Result<TensorView> {
    QUERN_ASSIGN(const RuntimeValue* v, impl_->result(index));
    if (element >= v->tensors.size())
      return Status(Code::not_found,
                    cat("output ", index, " holds ", v->tensors.size(), " tensors"));
    if (const auto& tensor = impl_->output_tensors[index]) return tensor->read();
    return v->tensors[element];
  });
}

Result<Session::MapView> Session::output_map(std::size_t index, std::size_t row) const {
  return guarded([&]() -> Result<MapView> {
    QUERN_ASSIGN(const ValueSpec* spec, spec_of(impl_->executable->outputs(), index, "output"));
    if (!spec->is_map()) return Status(Code::invalid_argument, cat("output ", index, " is no map"));
    QUERN_ASSIGN(const TensorView keys, output(spec->keys));
    QUERN_ASSIGN(TensorView values, output(index));
    const auto rows = values.type.shape.rank() < 2 ? std::size_t{1}
                                                   : static_cast<std::size_t>(values.type.shape[0]);
    if (row >= rows)
      return Status(Code::invalid_argument, cat("output ", index, " holds ", rows, " maps"));
    const Shape one{values.type.shape.back()};
    values.type.shape = one;
    if (values.data) values.data += row * values.type.bytes();
    return MapView{keys, values};
  });
}

namespace {

StepInfo::Lane lane_of(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::host: return StepInfo::Lane::host;
    case Step::Kind::device: return StepInfo::Lane::device;
    case Step::Kind::upload: return StepInfo::Lane::upload;
    case Step::Kind::download: return StepInfo::Lane::download;
  }
  return StepInfo::Lane::host;
}

StepInfo describe(const Step& s) {
  StepInfo info{s.node,       s.op,         s.shapes,  s.implementation,
                s.cost.flops, s.cost.bytes, s.layouts, lane_of(s.kind)};
  if (s.entry.empty()) return info;
  for (const CpuImplementation& entry : s.entries) info.entries.emplace_back(entry.name);
  info.entries.emplace_back("reference");
  info.entry = s.entry;
  info.work = s.work;
  return info;
}

void describe_arena(const MemoryProblem& problem, const MemoryPlan& plan, std::size_t segment,
                    PlanInfo& info) {
  for (std::size_t n = 0; n < problem.intervals.size(); ++n) {
    const Interval& i = problem.intervals[n];
    info.unshared_bytes += i.size;
    const auto bytes = [](std::uint64_t number) { return static_cast<std::size_t>(number); };
    BufferInfo b{i.name, bytes(i.size), bytes(i.alignment), bytes(plan.offsets[n])};
    b.first = i.first, b.end = i.end, b.segment = segment;
    for (const Gap& g : i.gaps) b.gaps.push_back({g.first, g.end, g.from, g.to});
    info.buffers.push_back(std::move(b));
  }
  info.arena_bytes += plan.size;
  info.arena_lower_bound += lower_bound(problem);
}

}  // namespace

PlanInfo Session::plan_info() const {
  impl_->settle();
  PlanInfo info;
  info.segments = impl_->runner.partition().size();
  std::size_t segment = 0;
  for (const auto& node : impl_->runner.partition()) {
    const Program& p = *node->program;
    for (const Step& s : p.steps) info.steps.push_back(describe(s));
    // For a device its own arena counts; the host's arena holds only transfers.
    const bool on_device = impl_->executable->impl().backend != nullptr;
    describe_arena(on_device ? p.device_problem : p.memory_problem,
                   on_device ? p.device_plan : p.memory_plan, segment++, info);
    info.fallbacks.insert(info.fallbacks.end(), p.fallbacks.begin(), p.fallbacks.end());
    info.plain_lower_bound += p.plain_bound;
    info.order_is_optimal &= p.order_is_optimal;
    info.is_searched &= p.is_searched;
    info.stripes = std::max(info.stripes, p.stripes);
    if (info.segments == 1) info.work = p.work;
  }
  const auto& impl = impl_->executable->impl();
  info.weight_bytes = impl.weight_bytes();
  HeldMemory held{.arena = impl_->runner.arena_bytes()};  // for earlier shapes, until trim()
  if (const auto& flight = impl_->flight_group) held.arena = flight->arena.size();
  if (const DeviceArena* device = impl_->own_device_arena()) {
    held.device_arena = device->arena_bytes();
    held.staging = device->staging_bytes();
  }
  info.memory =
      memory_need(impl_->runner.partition(), impl_->inputs, info.weight_bytes, impl.pool, held);
  info.memory.pool = std::max(info.memory.pool, impl_->memory.peak_bytes());
  info.warning = plan_warning(info.steps);
  return info;
}

std::size_t Session::resident_bytes() const {
  impl_->settle();
  const DeviceArena* const device = impl_->own_device_arena();
  return impl_->runner.arena_bytes() + (device ? device->bytes() : 0) +
         impl_->memory.reserved_bytes();
}

std::size_t Session::table_bytes() const {
  impl_->settle();
  return sizeof(Impl) + impl_->runner.table_bytes();
}

void Session::limit_memory(std::size_t bytes) {
  impl_->memory_limit = bytes ? bytes : std::numeric_limits<std::size_t>::max();
}

void Session::trim() {
  if (impl_->flight != Impl::Flight::none) (void)impl_->wait();
  impl_->runner.trim();
  impl_->memory.trim();
  if (DeviceArena* const device = impl_->own_device_arena()) device->release();
  impl_->has_run = false;
}

namespace {

class Recorder final : public StepListener {
 public:
  explicit Recorder(const Session& session)
      : session_(session), processor_(processor_time(session)), begin_(Clock::now()) {}
  void on_step(const Step& step, Clock::time_point begin, Clock::time_point end) override {
    const auto us = [&](auto time) {
      return std::chrono::duration<double, std::micro>(time).count();
    };
    const auto spent = processor_time(session_) - processor_;
    const bool is_on_host = lane_of(step.kind) == StepInfo::Lane::host;
    timings.push_back(
        {describe(step), us(begin - begin_), us(end - begin_), is_on_host ? us(spent) : 0});
    processor_ = processor_time(session_);  // what stands above is of no step
  }
  std::vector<Session::Timing> timings;

 private:
  const Session& session_;
  std::chrono::nanoseconds processor_;
  Clock::time_point begin_;
};

}  // namespace

Result<std::vector<Session::Timing>> Session::profile(Clock::time_point deadline) {
  return guarded([&]() -> Result<std::vector<Session::Timing>> {
    Recorder recorder(*this);
    QUERN_TRY(impl_->run(deadline, &recorder));
    return std::move(recorder.timings);
  });
}

Result<std::vector<Session::MemoryEvent>> Session::trace_memory() {
  return guarded([&]() -> Result<std::vector<Session::MemoryEvent>> {
    QUERN_TRY(impl_->check_idle());
    trim();  // memory that is held already would not be recorded
    MemoryRecorder recorder;
    impl_->memory.recorder = &recorder;
    Status status = run();  // throws nothing
    impl_->memory.recorder = nullptr;
    QUERN_TRY(std::move(status));
    return recorder.finish();
  });
}

}  // namespace quern
