// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/vulkan_context.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/devices/vulkan/arena_touches.h"
#include "engine/devices/vulkan/submission_work.h"
#include "engine/run/unwritten.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/fill.h"

namespace quern::vulkan {

using Operand = Step::Operand;

namespace {
// The number of tensor sets whose commands are kept: enough for double buffering with a few
// tensors.
constexpr std::size_t most_recordings = 8;
// To find where a step's transfer goes, in nanoseconds: some lookups in what was touched before.
constexpr std::int64_t cost_of_step = 1000;
}  // namespace

Result<std::unique_ptr<ExecutionContext>> VulkanContext::create(
    std::shared_ptr<Core> core, std::shared_ptr<const Program> program,
    std::shared_ptr<Arena> arena, const Stop* stop) {
  std::unique_ptr<VulkanContext> d(
      new VulkanContext(std::move(core), std::move(program), std::move(arena)));
  QUERN_ASSIGN(d->host_, cpu::HostContext::create(d->program_));
  if (stop) QUERN_TRY(stop->check());
  d->cut_batches();
  d->find_direct_operands();
  QUERN_TRY(d->take_room(stop));
  if (d->core_->options().tune_ms) QUERN_TRY(d->tune());
  QUERN_TRY(d->make_pipelines(stop));
  QUERN_TRY(d->use_recording(stop));
  if (stop) QUERN_TRY(stop->check());
  QUERN_TRY(d->warm_up());
  QUERN_TRY(d->core_->check_validation());
  return std::unique_ptr<ExecutionContext>(std::move(d));
}

VulkanContext::~VulkanContext() {
  recordings_.clear();
  for (const PipelineRef& p : pipelines_) --p->plans;
  pipelines_.clear();
  core_->trim_pipelines();
}

// All at once, for drivers that compile while they create them.
Status VulkanContext::make_pipelines(const Stop* stop) {
  std::vector<PipelineOf> wanted;
  for (const Step& s : program_->steps) {
    const Base base = base_of(s);
    for (const Dispatch& d : s.dispatches) wanted.push_back({&core_->candidate_of(d), base});
  }
  QUERN_ASSIGN(pipelines_, core_->make_pipelines(wanted, stop));
  for (const PipelineRef& p : pipelines_) ++p->plans;
  return {};
}

// Runs a workgroup of each dispatch on zeros if there are commands for which the driver has not
// generated code yet, so that the first run does not pay for code generation.
Status VulkanContext::warm_up() const {
  const auto& commands = recordings_[current_].commands;
  const bool fresh =
      std::ranges::any_of(commands, [](const auto& c) { return c && c->is_fresh(); });
  if (!fresh) return {};
  QUERN_ASSIGN(const auto recorder, Recorder::create(core_));
  recorder->clear(
      {arena().handle(), 0, std::max<std::uint64_t>(round_up(program_->device_plan.size, 16), 16)});
  for (const Step& s : program_->steps) {
    const Base base = base_of(s);
    for (const Dispatch& d : s.dispatches) {
      QUERN_ASSIGN(const std::vector<Binding> bindings, bindings_of(s, d));
      QUERN_TRY(recorder->dispatch_one(core_->candidate_of(d), bindings, base));
    }
  }
  QUERN_TRY(recorder->finish());
  QUERN_TRY(recorder->submit());
  core_->mark_warm();
  return {};
}

void VulkanContext::cut_batches() {
  const auto& steps = program_->steps;
  const auto on_host = [&](std::size_t i) { return steps[i].kind == Step::Kind::host; };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!on_host(i))
      work_ += work_of(steps[i], *program_) +
               start_of(*core_) * static_cast<double>(steps[i].dispatches.size());
    if (i == 0 || on_host(i) != on_host(i - 1))
      batches_.push_back({.first = i, .on_host = on_host(i)});
    batches_.back().end = i + 1;
  }
}

void VulkanContext::place_transfers(StopCheck& check) {
  const std::uint64_t alignment = core_->capabilities().alignment;
  const std::vector<bool> reached = reached_by_host(check);
  up_bytes_ = down_bytes_ = 0;
  for (Batch& b : batches_) {
    b.up.clear();
    b.down.clear();
    const auto place = [&](std::vector<Transfer>& list, std::size_t step, std::uint64_t& end,
                           std::uint64_t bytes) {
      list.push_back({step, bytes, std::nullopt});
      if (bytes == 0 || reached[step]) return;  // there may be no staging buffer
      list.back().staging = end;
      end += round_up(bytes, alignment);
    };
    for (std::size_t i = b.first; i < b.end && !check.spend(cost_of_step); ++i) {
      const Step& s = program_->steps[i];
      if (s.kind == Step::Kind::upload) place(b.up, i, up_bytes_, s.input_bytes[0]);
      if (s.kind == Step::Kind::download) place(b.down, i, down_bytes_, s.output_bytes[0]);
    }
  }
}

// The bytes of the arena that a step accesses.
template <class F>
void VulkanContext::for_each_touched(const Step& s, F&& f) const {
  const auto all = [&](std::span<const Operand> operands, std::span<const std::uint64_t> bytes) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].base != Operand::Base::device_arena) continue;
      const Range r = range(operands[i], bytes[i]);
      f(r.offset, r.bytes);
    }
  };
  all(s.inputs, s.input_bytes);
  all(s.outputs, s.output_bytes);
  if (s.scratch_bytes) f(s.scratch_offset, s.scratch_bytes);
}

// The transfers for which the host accesses the arena directly, to write an upload before its batch
// or to read a download after it, by their steps: the arena is mapped, and no step in between uses
// those bytes.
std::vector<bool> VulkanContext::reached_by_host(StopCheck& check) const {
  const auto& steps = program_->steps;
  std::vector<bool> reached(steps.size());
  if (!arena().mapped()) return reached;
  ArenaTouches before;
  for (const Batch& b : batches_)
    for (std::size_t i = b.first; i < b.end && !check.spend(cost_of_step); ++i) {
      const Step& s = steps[i];
      if (s.kind == Step::Kind::upload) {
        const Range to = range(s.outputs[0], s.input_bytes[0]);
        const auto last = before.last(to.offset, to.bytes);
        reached[i] = !last || *last < b.first;
      }
      for_each_touched(s, [&](auto offset, auto bytes) { before.touch(offset, bytes, i); });
    }
  if (!arena().is_cached()) return reached;
  ArenaTouches after;  // counts steps from the end
  for (auto b = batches_.rbegin(); b != batches_.rend(); ++b)
    for (std::size_t i = b->end; i-- > b->first && !check.spend(cost_of_step);) {
      const Step& s = steps[i];
      if (s.kind == Step::Kind::download && s.inputs[0].base == Operand::Base::device_arena) {
        const Range from = range(s.inputs[0], s.output_bytes[0]);
        const auto next = after.last(from.offset, from.bytes);
        reached[i] = !next || steps.size() - *next >= b->end;
      }
      for_each_touched(
          s, [&](auto offset, auto bytes) { after.touch(offset, bytes, steps.size() - i); });
    }
  return reached;
}

// The address where the host writes an upload or reads a download.
std::byte* VulkanContext::host_place(const Transfer& t) const {
  const Step& s = program_->steps[t.step];
  if (t.staging) return staging(s).mapped() + *t.staging;
  return arena().mapped() + (s.kind == Step::Kind::upload ? s.outputs[0] : s.inputs[0]).offset;
}

const Buffer& VulkanContext::staging(const Step& s) const {
  return *arena_->buffer(s.kind == Step::Kind::upload ? Buffer::Use::upload
                                                      : Buffer::Use::download);
}

// Finds the inputs and outputs that can be device tensors without passing through the host.
void VulkanContext::find_direct_operands() {
  host_reads_.resize(program_->inputs.size());
  is_sent_.resize(program_->inputs.size());
  comes_from_device_.resize(program_->outputs.size());
  tensors_.resize(program_->inputs.size() + program_->outputs.size());
  std::vector<bool> on_host(program_->outputs.size());
  for (const Step& s : program_->steps) {
    for (const Operand& o : s.inputs) {
      if (o.base == Operand::Base::input)
        (s.kind == Step::Kind::upload ? is_sent_ : host_reads_)[o.index] = true;
      if (o.base == Operand::Base::output) on_host[o.index] = true;
    }
    for (std::size_t i = 0; i < s.outputs.size(); ++i) {
      const Operand& o = s.outputs[i];
      if (o.base != Operand::Base::output) continue;
      const bool whole = s.kind == Step::Kind::download && o.offset == 0 &&
                         s.output_bytes[i] == program_->outputs[o.index].bytes();
      (whole ? comes_from_device_ : on_host)[o.index] = true;
    }
  }
  for (std::size_t i = 0; i < on_host.size(); ++i)
    comes_from_device_[i] = comes_from_device_[i] && !on_host[i];
}

Status VulkanContext::take_room(const Stop* stop) {
  QUERN_TRY(
      arena_->reserve(Buffer::Use::device, std::max<std::uint64_t>(program_->device_plan.size, 1)));
  StopCheck check(stop);
  place_transfers(check);
  if (check.is_over()) return stop->check();
  QUERN_TRY(arena_->reserve(Buffer::Use::upload, up_bytes_));
  QUERN_TRY(arena_->reserve(Buffer::Use::download, down_bytes_));
  generation_ = arena_->generation();
  return {};
}

// The kind of memory may be another than before, so that transfers are placed anew, too.
Status VulkanContext::settle(const Stop* stop) {
  if (generation_ == arena_->generation()) return {};
  QUERN_TRY(take_room(stop));
  return record_again(stop);
}

std::size_t VulkanContext::table_bytes() const {
  constexpr std::size_t dispatch_bytes = 2 << 10;  // its commands and descriptors in a recording
  std::size_t dispatches = 0;
  for (const Step& s : program_->steps) dispatches += s.dispatches.size();
  std::size_t pipelines = 0;  // those that plans share, each in its share
  for (const PipelineRef& p : pipelines_)
    pipelines += core_->pipeline_bytes() / std::max(p->plans.load(), 1U);
  return host_->table_bytes() + pipelines +
         std::max<std::size_t>(recordings_.size(), 1) * dispatches * dispatch_bytes;
}

// ---- recording ---------------------------------------------------------------------------------

bool VulkanContext::is_in_place(std::size_t output, std::span<const VkBuffer> tensors) const {
  if (tensors.empty()) return false;
  const VkBuffer bound = tensors[program_->inputs.size() + output];
  return bound && std::ranges::any_of(program_->updates, [&](const Update& u) {
           return u.output == output && tensors[u.input] == bound;
         });
}

Range VulkanContext::range(const Operand& o, std::uint64_t bytes,
                           std::span<const VkBuffer> tensors) const {
  // Shaders read and write vectors of 16 bytes; every buffer is padded to at least that.
  const std::uint64_t rounded = std::max<std::uint64_t>(round_up(bytes, 16), 16);
  if (o.update && is_in_place(o.update - 1, tensors))
    return {tensors[program_->inputs.size() + o.update - 1],
            o.offset - program_->update_offsets[o.update - 1], rounded};
  if (o.base == Operand::Base::device_arena) return {arena().handle(), o.offset, rounded};
  const auto* slice = static_cast<const Slice*>(program_->device_constants[o.index].get());
  return {slice->block->handle(), slice->offset + o.offset, rounded};
}

Result<Binding> VulkanContext::binding(const Step& s, const BufferUse& use,
                                       std::span<const VkBuffer> tensors) const {
  const auto part = [&](Range whole) {
    whole.offset += use.offset;
    whole.bytes = use.bytes ? round_up(use.bytes, 16) : whole.bytes - use.offset;
    return Binding{whole, use.written};
  };
  switch (use.of) {
    case BufferUse::Of::input:
      return part(range(s.inputs[use.index], s.input_bytes[use.index], tensors));
    case BufferUse::Of::output:
      return part(range(s.outputs[use.index], s.output_bytes[use.index], tensors));
    case BufferUse::Of::scratch: return part({arena().handle(), s.scratch_offset, s.scratch_bytes});
    case BufferUse::Of::constant: {
      const auto* slice =
          static_cast<const Slice*>(program_->device_constants[s.gpu_constants[use.index]].get());
      return part({slice->block->handle(), slice->offset, slice->bytes});
    }
  }
  return Status(Code::internal, "a buffer of no kind");
}

Result<std::vector<Binding>> VulkanContext::bindings_of(const Step& s, const Dispatch& d,
                                                        std::span<const VkBuffer> tensors) const {
  std::vector<Binding> bindings;
  for (const BufferUse& use : d.buffers) {
    QUERN_ASSIGN(bindings.emplace_back(), binding(s, use, tensors));
  }
  return bindings;
}

bool VulkanContext::is_left_out(const Step& s, const Dispatch& d,
                                std::span<const VkBuffer> tensors) const {
  return std::ranges::any_of(s.updates, [&](const Update& u) {
    const std::uint32_t update = s.outputs[u.output].update;
    return update && is_in_place(update - 1, tensors) &&
           std::ranges::find(d.buffers, BufferUse::input(u.input)) != d.buffers.end();
  });
}

Status VulkanContext::record_step(const Step& s, std::span<const VkBuffer> tensors,
                                  Recorder& recorder, std::uint32_t parts) const {
  const Base base = base_of(s);
  bool is_first = true;
  for (const Dispatch& d : s.dispatches) {
    if (is_left_out(s, d, tensors)) continue;
    if (parts > 1 && !is_first) QUERN_TRY(recorder.cut());
    is_first = false;
    QUERN_ASSIGN(const std::vector<Binding> bindings, bindings_of(s, d, tensors));
    Status recorded = recorder.dispatch(core_->candidate_of(d), bindings, base, parts);
    if (!recorded.ok())
      return std::move(recorded).in(cat("node '", printable(s.node), "' (", s.op, ")"));
  }
  return {};
}

std::optional<std::size_t> VulkanContext::tensor_number(const Transfer& t) const {
  const Step& s = program_->steps[t.step];
  if (s.kind == Step::Kind::upload) {
    const bool is_input = s.inputs[0].base == Operand::Base::input;
    return is_input ? std::optional<std::size_t>(s.inputs[0].index) : std::nullopt;
  }
  const Operand& o = s.outputs[0];
  const bool direct = o.base == Operand::Base::output && comes_from_device_[o.index];
  return direct ? std::optional(program_->inputs.size() + o.index) : std::nullopt;
}

std::vector<VkBuffer> VulkanContext::tensor_buffers() const {
  std::vector<VkBuffer> buffers;
  for (const auto* t : tensors_) buffers.push_back(t ? t->buffer()->handle() : VK_NULL_HANDLE);
  return buffers;
}

bool VulkanContext::is_left_out(const Transfer& t, std::span<const VkBuffer> tensors) const {
  const auto number = tensor_number(t);
  if (!number || tensors.empty()) return false;
  const std::size_t inputs = program_->inputs.size();
  if (*number >= inputs) return is_in_place(*number - inputs, tensors);
  return std::ranges::any_of(program_->updates, [&](const Update& u) {
    return u.input == *number && is_in_place(u.output, tensors);
  });
}

void VulkanContext::record_upload(const Transfer& t, std::span<const VkBuffer> tensors,
                                  Recorder& recorder) const {
  if (is_left_out(t, tensors)) return;
  const auto number = tensor_number(t);
  const VkBuffer tensor = number ? tensors[*number] : VK_NULL_HANDLE;
  const Step& s = program_->steps[t.step];
  Range to = range(s.outputs[0], t.bytes);
  to.bytes = t.bytes;
  if (tensor)
    recorder.copy({tensor, s.inputs[0].offset, t.bytes}, to);
  else if (t.staging)
    recorder.copy({staging(s).handle(), *t.staging, t.bytes}, to);
}

void VulkanContext::record_download(const Transfer& t, std::span<const VkBuffer> tensors,
                                    Recorder& recorder) const {
  if (is_left_out(t, tensors)) return;
  const auto number = tensor_number(t);
  const VkBuffer tensor = number ? tensors[*number] : VK_NULL_HANDLE;
  const Step& s = program_->steps[t.step];
  Range from = range(s.inputs[0], t.bytes);
  from.bytes = t.bytes;
  if (tensor)
    recorder.copy(from, {tensor, 0, t.bytes});
  else if (t.staging)
    recorder.copy(from, {staging(s).handle(), *t.staging, t.bytes});
}

Result<std::unique_ptr<Recorder>> VulkanContext::record(const Batch& batch, Cutting cutting,
                                                        std::span<const VkBuffer> tensors,
                                                        std::vector<std::uint32_t>* ends,
                                                        const Stop* stop) const {
  const double piece = piece_of(*core_);
  const double start = start_of(*core_);
  double recorded = 0;  // work since the last cut
  std::size_t most = 0;
  for (std::size_t i = batch.first; ends && i < batch.end; ++i)
    most += std::max<std::size_t>(program_->steps[i].dispatches.size(), 1);
  QUERN_ASSIGN(auto recorder, Recorder::create(core_, static_cast<std::uint32_t>(most)));
  auto up = batch.up.begin();
  auto down = batch.down.begin();
  if (std::ranges::any_of(tensors, [](VkBuffer t) { return t != VK_NULL_HANDLE; }))
    recorder->acquire();  // other runs wrote them, or still read them
  for (std::size_t i = batch.first; i < batch.end; ++i) {
    const Step& s = program_->steps[i];
    if (stop) QUERN_TRY(stop->check());
    if (s.kind == Step::Kind::upload) {
      record_upload(*up, tensors, *recorder);
      ++up;
    } else if (s.kind == Step::Kind::download) {
      record_download(*down, tensors, *recorder);
      ++down;
    } else {
      const std::uint32_t parts = cutting == Cutting::pieces ? most_parts(s) : 1;
      const double work =
          work_of(s, *program_) / parts + start * static_cast<double>(s.dispatches.size());
      const bool cuts = cutting == Cutting::pieces && recorded > 0 && recorded + work > piece;
      if (cuts) QUERN_TRY(recorder->cut());
      QUERN_TRY(record_step(s, tensors, *recorder, parts));
      recorded = cuts || parts > 1 ? work : recorded + work;
    }
    if (ends) ends->push_back(recorder->commands_recorded());
  }
  QUERN_TRY(recorder->finish());
  return recorder;
}

VulkanContext::Cutting VulkanContext::cutting_for(const Stop* stop) const {
  const double piece = piece_of(*core_);
  const bool may_end_early = stop && stop->has_deadline();
  return work_ > piece && (may_end_early || work_ > longest_whole(*core_)) ? Cutting::pieces
                                                                           : Cutting::whole;
}

std::uint32_t VulkanContext::most_parts(const Step& s) const {
  constexpr double most = 4096;
  const double pieces = std::ceil(work_of(s, *program_) / piece_of(*core_));
  return static_cast<std::uint32_t>(std::clamp(pieces, 1.0, most));
}

// The same for both cuttings, so that they share pipelines.
Base VulkanContext::base_of(const Step& s) const {
  return most_parts(s) > 1 ? Base::any : Base::zero;
}

// Selects the commands for the current tensors, and records them if these tensors are new.
Status VulkanContext::use_recording(const Stop* stop) {
  const Cutting cutting = cutting_for(stop);
  key_.clear();
  for (const auto* t : tensors_) key_.push_back(t ? t->id() : 0);
  key_.push_back(static_cast<std::uint64_t>(cutting));
  const auto known = std::ranges::find(recordings_, key_, &Recording::key);
  current_ = static_cast<std::size_t>(known - recordings_.begin());
  if (known == recordings_.end()) {
    Recording made{.key = key_, .cutting = cutting};
    for (const auto* t : tensors_)
      made.tensors.push_back(t ? std::weak_ptr(t->buffer()) : std::weak_ptr<Buffer>());
    QUERN_TRY(record_batches(made, stop));
    if (recordings_.size() < most_recordings) {
      recordings_.push_back(std::move(made));
    } else {
      const auto oldest = std::ranges::min_element(recordings_, {}, &Recording::used);
      current_ = static_cast<std::size_t>(oldest - recordings_.begin());
      *oldest = std::move(made);
    }
  }
  recordings_[current_].used = ++clock_;
  return {};
}

Status VulkanContext::record_batches(Recording& recording, const Stop* stop) const {
  std::vector<std::shared_ptr<Buffer>> held;
  std::vector<VkBuffer> tensors;
  for (const auto& t : recording.tensors) {
    held.push_back(t.lock());
    tensors.push_back(held.back() ? held.back()->handle() : VK_NULL_HANDLE);
  }
  recording.commands.clear();
  for (const Batch& b : batches_) {
    recording.commands.emplace_back();
    if (b.on_host) continue;
    QUERN_ASSIGN(recording.commands.back(), record(b, recording.cutting, tensors, nullptr, stop));
  }
  return {};
}

// Records anew what names an arena that is gone. A recording whose tensors are gone goes, too: no
// call will ask for it. What an error leaves out is recorded by the runs that want it.
Status VulkanContext::record_again(const Stop* stop) {
  std::vector<Recording> before = std::exchange(recordings_, {});
  for (Recording& r : before) {
    const auto is_gone = [&](std::size_t i) { return r.key[i] != 0 && r.tensors[i].expired(); };
    bool is_needed = true;
    for (std::size_t i = 0; i < r.tensors.size(); ++i) is_needed = is_needed && !is_gone(i);
    if (!is_needed) continue;
    QUERN_TRY(record_batches(r, stop));
    recordings_.push_back(std::move(r));
  }
  return {};
}

// ---- tuning ------------------------------------------------------------------------------------

// Measures dispatches that have candidates and have not been measured, until the time is up.
Status VulkanContext::tune() const {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(core_->options().tune_ms);
  for (const Step& s : program_->steps) {
    for (const Dispatch& d : s.dispatches) {
      if (d.candidates.empty() || core_->tuning().knows(d)) continue;
      if (std::chrono::steady_clock::now() > end) return {};
      QUERN_ASSIGN(const std::uint32_t candidate, fastest_candidate(s, d));
      core_->tuning().learn(d, candidate);
    }
  }
  return {};
}

Result<std::uint32_t> VulkanContext::fastest_candidate(const Step& s, const Dispatch& d) const {
  // Another candidate has to be faster by more than measurements vary.
  constexpr double gain = 0.97;
  QUERN_ASSIGN(double best_time, time_of(s, d, d));
  std::uint32_t best = 0;
  for (std::uint32_t i = 0; i < d.candidates.size(); ++i) {
    QUERN_ASSIGN(const double time, time_of(s, d, d.candidates[i]));
    if (time >= gain * best_time) continue;
    best_time = time;
    best = i + 1;
  }
  return best;
}

// The time of one dispatch in nanoseconds, with the current contents of the buffers: the minimum of
// several runs.
Result<double> VulkanContext::time_of(const Step& s, const Dispatch& d,
                                      const Dispatch& candidate) const {
  constexpr int repeats = 4;
  QUERN_ASSIGN(const std::vector<Binding> bindings, bindings_of(s, d));
  QUERN_ASSIGN(const auto recorder, Recorder::create(core_, repeats));
  recorder->acquire();
  for (int i = 0; i < repeats; ++i) QUERN_TRY(recorder->dispatch(candidate, bindings));
  QUERN_TRY(recorder->finish());
  QUERN_TRY(recorder->submit());  // generates the code
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 2; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    QUERN_TRY(recorder->submit());
    const std::chrono::duration<double, std::nano> all = std::chrono::steady_clock::now() - begin;
    QUERN_ASSIGN(const auto intervals, recorder->intervals());
    if (intervals.empty()) least = std::min(least, all.count() / repeats);  // it has no clock
    for (const auto& i : intervals) least = std::min(least, i.end - i.begin);
  }
  return least;
}

// ---- running -----------------------------------------------------------------------------------

void VulkanContext::take_tensors(const Call& call) {
  std::ranges::fill(tensors_, nullptr);
  const auto take = [&](std::span<TensorMemory* const> from, std::size_t first) {
    for (std::size_t i = 0; i < from.size(); ++i)
      tensors_[first + i] = static_cast<BufferTensorMemory*>(from[i]);
  };
  take(call.device_inputs, 0);
  take(call.device_outputs, program_->inputs.size());
}

// Brings every tensor to where it is read, and selects the commands for the tensors.
Status VulkanContext::prepare(const Call& call) {
  QUERN_TRY(settle(call.stop));  // nothing to do, unless that failed when plans were made
  host_->begin(call);
  take_tensors(call);
  for (std::size_t i = 0; i < program_->inputs.size(); ++i) {
    if (!tensors_[i]) continue;
    if (host_reads_[i]) QUERN_TRY(tensors_[i]->fetch());
    if (is_sent_[i]) QUERN_TRY(tensors_[i]->send());
  }
  QUERN_TRY(use_recording(call.stop));
  const Buffer* const arena = arena_->buffer(Buffer::Use::device);
  if (arena && arena->mapped()) mark_unwritten({arena->mapped(), arena->bytes()});
  return {};
}

// Marks the tensors that the device writes. Other outputs are written to the tensor's copy on the
// host.
void VulkanContext::mark_written() {
  for (std::size_t i = 0; i < program_->outputs.size(); ++i)
    if (auto* tensor = tensors_[program_->inputs.size() + i]; tensor && comes_from_device_[i])
      tensor->written_on_device();
}

// Records the time of a copy by the host for a transfer without device commands.
class VulkanContext::HostCopy {
 public:
  HostCopy(const Transfer& transfer, HostCopies* copies)
      : step_(transfer.step), copies_(transfer.staging ? nullptr : copies) {
    if (copies_) begin_ = Clock::now();
  }
  ~HostCopy() {
    if (copies_) copies_->push_back({step_, begin_, Clock::now()});
  }

 private:
  std::size_t step_;
  HostCopies* copies_;
  Clock::time_point begin_;
};

Status VulkanContext::send(const Batch& batch, HostCopies* copies) const {
  for (const Transfer& t : batch.up) {
    if (!t.bytes || is_of_tensor(t)) continue;
    const HostCopy copy(t, copies);
    std::memcpy(host_place(t), host_->input(t.step, 0), t.bytes);
    core_->counts.bytes_up += t.bytes;
  }
  return up_bytes_ ? arena_->buffer(Buffer::Use::upload)->flush() : Status();
}

Status VulkanContext::fetch(const Batch& batch, HostCopies* copies) const {
  if (down_bytes_) QUERN_TRY(arena_->buffer(Buffer::Use::download)->invalidate());
  for (const Transfer& t : batch.down) {
    if (!t.bytes || is_of_tensor(t)) continue;
    const HostCopy copy(t, copies);
    std::memcpy(host_->output(t.step, 0), host_place(t), t.bytes);
    core_->counts.bytes_down += t.bytes;
  }
  return core_->check_validation();
}

Status VulkanContext::run_batch(const Batch& batch, Recorder& recorder, const Stop* stop) const {
  QUERN_TRY(send(batch));
  QUERN_TRY(stop ? recorder.submit_in_pieces(*stop) : recorder.submit());
  return fetch(batch);
}

// Runs the same commands with timestamps around each; they are recorded again, since profiles are
// rare.
Status VulkanContext::run_timed(const Batch& batch, StepListener& listener) const {
  std::vector<std::uint32_t> ends;
  QUERN_ASSIGN(const auto recorder,
               record(batch, Cutting::whole, tensor_buffers(), &ends, nullptr));
  HostCopies copies;
  QUERN_TRY(send(batch, &copies));
  // The device's clock has another origin: it is assumed to start when the commands are submitted.
  const auto begin = Clock::now();
  QUERN_TRY(recorder->submit());
  QUERN_TRY(fetch(batch, &copies));
  QUERN_ASSIGN(const auto intervals, recorder->intervals());
  const auto at = [&](double ns) {
    return begin + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double, std::nano>(ns));
  };
  double last = 0;  // where a step without commands stands
  std::size_t first = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Step& s = program_->steps[batch.first + i];
    const std::size_t end = std::min<std::size_t>(ends[i], intervals.size());
    const double from = first < end ? intervals[first].begin : last;
    if (first < end) last = intervals[end - 1].end;
    first = end;
    const auto copied = std::ranges::find(copies, batch.first + i, &Copied::step);
    if (copied != copies.end())
      listener.on_step(s, copied->begin, copied->end);
    else
      listener.on_step(s, at(from), at(last));
  }
  return {};
}

Status VulkanContext::run(const Call& call) {
  QUERN_TRY(prepare(call));
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    const Batch& b = batches_[i];
    if (b.on_host) {
      QUERN_TRY(host_->run_steps(call, b.first, b.end));
      continue;
    }
    if (call.stop) QUERN_TRY(call.stop->check());
    const Recording& recording = recordings_[current_];
    const Stop* stop = recording.cutting == Cutting::pieces ? call.stop : nullptr;
    QUERN_TRY(call.listener ? run_timed(b, *call.listener)
                            : run_batch(b, *recording.commands[i], stop));
  }
  mark_written();
  return {};
}

// ---- without waiting ---------------------------------------------------------------------------

// What goes out in pieces needs somebody who waits for each.
bool VulkanContext::can_start() const {
  return batches_.size() == 1 && !batches_[0].on_host && cutting_for(nullptr) == Cutting::whole;
}

Status VulkanContext::start(const Call& call) {
  QUERN_TRY(prepare(call));
  if (call.stop) QUERN_TRY(call.stop->check());
  QUERN_TRY(send(batches_[0]));
  QUERN_TRY(recordings_[current_].commands[0]->start());
  mark_written();  // for later submissions to the device
  return {};
}

bool VulkanContext::is_done_within(std::chrono::nanoseconds time) {
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  return recordings_[current_].commands[0]->wait(ns).code() != Code::busy;
}

Status VulkanContext::finish(const Call&) {
  QUERN_TRY(recordings_[current_].commands[0]->wait());
  return fetch(batches_[0]);
}

}  // namespace quern::vulkan
