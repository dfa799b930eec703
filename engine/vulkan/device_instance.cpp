// SPDX-License-Identifier: Apache-2.0
#include "engine/vulkan/device_instance.h"

#include <algorithm>
#include <cstring>

#include "graph/text_util.h"

namespace quern::vulkan {

using cpu::Operand;
using cpu::Step;

Result<std::unique_ptr<Instance>> DeviceInstance::create(
    std::shared_ptr<Core> core, std::shared_ptr<const cpu::Program> program) {
  std::unique_ptr<DeviceInstance> d(new DeviceInstance(std::move(core), std::move(program)));
  QUERN_ASSIGN(d->host_, cpu::HostInstance::create(d->program_));
  d->cut_batches();
  d->place_transfers();
  QUERN_TRY(d->allocate());
  for (Batch& b : d->batches_) {
    if (d->program_->steps[b.first].kind == Step::Kind::host) continue;
    QUERN_ASSIGN(b.recorder, d->record(b, false));
  }
  QUERN_TRY(d->warm_up());
  QUERN_TRY(d->core_->check_validation());
  return std::unique_ptr<Instance>(std::move(d));
}

// Runs what the driver has not generated code for yet, on zeros, so that the first run is a run.
Status DeviceInstance::warm_up() {
  const bool fresh = std::ranges::any_of(
      batches_, [](const Batch& b) { return b.recorder && b.recorder->is_fresh(); });
  if (!fresh) return {};
  if (up_) std::memset(up_->mapped(), 0, up_->bytes());
  if (up_) QUERN_TRY(up_->flush());
  for (const Batch& b : batches_)
    if (b.recorder) QUERN_TRY(b.recorder->submit());
  core_->mark_warm();
  return {};
}

void DeviceInstance::cut_batches() {
  const auto& steps = program_->steps;
  const auto on_host = [&](std::size_t i) { return steps[i].kind == Step::Kind::host; };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 0 || on_host(i) != on_host(i - 1)) batches_.push_back({.first = i});
    batches_.back().end = i + 1;
  }
}

void DeviceInstance::place_transfers() {
  const std::uint64_t alignment = core_->capabilities().alignment;
  const auto place = [&](std::vector<Transfer>& list, std::size_t step, std::uint64_t& end,
                         std::uint64_t bytes) {
    list.push_back({step, end, bytes});
    end += (bytes + alignment - 1) / alignment * alignment;
  };
  for (Batch& b : batches_) {
    for (std::size_t i = b.first; i < b.end; ++i) {
      const Step& s = program_->steps[i];
      if (s.kind == Step::Kind::upload) place(b.up, i, up_bytes_, s.input_bytes[0]);
      if (s.kind == Step::Kind::download) place(b.down, i, down_bytes_, s.output_bytes[0]);
    }
  }
}

Status DeviceInstance::allocate() {
  QUERN_ASSIGN(arena_, Buffer::create(core_, program_->device_plan.size, Buffer::Use::device));
  if (up_bytes_) {
    QUERN_ASSIGN(up_, Buffer::create(core_, up_bytes_, Buffer::Use::upload));
  }
  if (down_bytes_) {
    QUERN_ASSIGN(down_, Buffer::create(core_, down_bytes_, Buffer::Use::download));
  }
  return {};
}

std::size_t DeviceInstance::resident_bytes() const {
  std::size_t bytes = 0;
  for (const auto* b : {&arena_, &up_, &down_})
    if (*b) bytes += (*b)->bytes();
  return bytes;
}

// ---- recording ---------------------------------------------------------------------------------

Range DeviceInstance::range(const Operand& o, std::uint64_t bytes) const {
  // Shaders read and write in vectors of 16 bytes; every place is padded to more than that.
  const std::uint64_t rounded = std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16);
  if (o.base == Operand::Base::device_arena) return {arena_->handle(), o.offset, rounded};
  const auto* slice = static_cast<const Slice*>(program_->device_constants[o.index].get());
  return {slice->block->handle(), slice->offset + o.offset, rounded};
}

Result<Binding> DeviceInstance::binding(const Step& s, const BufferUse& use) const {
  const auto part = [&](Range whole) {
    whole.offset += use.offset;
    whole.bytes = use.bytes ? (use.bytes + 15) / 16 * 16 : whole.bytes - use.offset;
    return Binding{whole, use.written};
  };
  switch (use.of) {
    case BufferUse::Of::input: return part(range(s.inputs[use.index], s.input_bytes[use.index]));
    case BufferUse::Of::output: return part(range(s.outputs[use.index], s.output_bytes[use.index]));
    case BufferUse::Of::scratch: return part({arena_->handle(), s.scratch_offset, s.scratch_bytes});
    case BufferUse::Of::constant: {
      const auto* slice =
          static_cast<const Slice*>(program_->device_constants[s.gpu_constants[use.index]].get());
      return part({slice->block->handle(), slice->offset, slice->bytes});
    }
  }
  return Status(Code::internal, "a buffer of no kind");
}

Status DeviceInstance::record_step(const Step& s, Recorder& recorder) const {
  for (const Dispatch& d : s.dispatches) {
    std::vector<Binding> bindings;
    for (const BufferUse& use : d.buffers) {
      QUERN_ASSIGN(bindings.emplace_back(), binding(s, use));
    }
    Status recorded = recorder.dispatch(d, bindings);
    if (!recorded.ok())
      return std::move(recorded).in(cat("node '", printable(s.node), "' (", s.op, ")"));
  }
  return {};
}

Result<std::unique_ptr<Recorder>> DeviceInstance::record(const Batch& batch, bool timed) const {
  QUERN_ASSIGN(auto recorder, Recorder::create(core_));
  auto up = batch.up.begin();
  auto down = batch.down.begin();
  if (timed) recorder->timestamp();
  for (std::size_t i = batch.first; i < batch.end; ++i) {
    const Step& s = program_->steps[i];
    if (s.kind == Step::Kind::upload) {
      Range to = range(s.outputs[0], up->bytes);
      to.bytes = up->bytes;
      recorder->copy({up_->handle(), up->staging, up->bytes}, to);
      ++up;
    } else if (s.kind == Step::Kind::download) {
      Range from = range(s.inputs[0], down->bytes);
      from.bytes = down->bytes;
      recorder->copy(from, {down_->handle(), down->staging, down->bytes});
      ++down;
    } else {
      QUERN_TRY(record_step(s, *recorder));
    }
    if (timed) recorder->timestamp();
  }
  QUERN_TRY(recorder->finish());
  return recorder;
}

// ---- running -----------------------------------------------------------------------------------

Status DeviceInstance::run_batch(const Batch& batch, Recorder& recorder) const {
  for (const Transfer& t : batch.up) {
    if (!t.bytes) continue;
    std::memcpy(up_->mapped() + t.staging, host_->input(t.step, 0), t.bytes);
    core_->counts.bytes_up += t.bytes;
  }
  if (up_) QUERN_TRY(up_->flush());
  QUERN_TRY(recorder.submit());
  if (down_) QUERN_TRY(down_->invalidate());
  for (const Transfer& t : batch.down) {
    if (!t.bytes) continue;
    std::memcpy(host_->output(t.step, 0), down_->mapped() + t.staging, t.bytes);
    core_->counts.bytes_down += t.bytes;
  }
  return core_->check_validation();
}

// The same commands with a timestamp after each; recorded anew, for profiles are rare.
Status DeviceInstance::run_timed(const Batch& batch, StepListener& listener) const {
  QUERN_ASSIGN(const auto recorder, record(batch, true));
  const auto begin = std::chrono::steady_clock::now();
  QUERN_TRY(run_batch(batch, *recorder));
  QUERN_ASSIGN(const std::vector<double> ns, recorder->timestamps());
  const auto at = [&](std::size_t i) {
    const double t = i < ns.size() ? ns[i] : 0;
    return begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double, std::nano>(t));
  };
  for (std::size_t i = batch.first; i < batch.end; ++i)
    listener.on_step(program_->steps[i], at(i - batch.first), at(i - batch.first + 1));
  return {};
}

Status DeviceInstance::run(const Call& call) {
  host_->begin(call);
  for (const Batch& b : batches_) {
    if (!b.recorder) {
      QUERN_TRY(host_->run_steps(call, b.first, b.end));
      continue;
    }
    QUERN_TRY(call.stop.check());
    QUERN_TRY(call.listener ? run_timed(b, *call.listener) : run_batch(b, *b.recorder));
  }
  return {};
}

}  // namespace quern::vulkan
