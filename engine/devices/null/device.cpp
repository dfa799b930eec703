// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/null/device.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/compile/backend.h"
#include "engine/compile/dispatch_check.h"
#include "engine/devices/cpu/host_context.h"
#include "engine/run/device_arena.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/gpu/copy.h"

namespace quern::null {
namespace {

constexpr std::uint64_t alignment = 256;

GpuTarget target() {
  GpuTarget t;
  t.software = false;
  t.subgroup_size = 32;
  t.shared_bytes = 32 << 10;
  t.units = 32;
  t.max_iterations = 0;
  t.storage_8bit = t.storage_16bit = t.int64 = t.float64 = t.integer_dot = true;
  return t;
}

// A constant in device memory.
struct Constant {
  std::unique_ptr<std::byte[]> data;
  std::size_t bytes = 0;
};

// Counts of the work of all contexts of a device.
struct Counts {
  std::atomic<std::uint64_t> submissions = 0;
  std::atomic<std::uint64_t> dispatches = 0;
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::uint64_t> bytes_up = 0;
  std::atomic<std::uint64_t> bytes_down = 0;
};

// Host steps run as they do on any device; uploaded bytes stay in the arena until they are
// overwritten; a dispatch writes zeros to its results.
class NullContext final : public ExecutionContext {
 public:
  // Errors: internal for a program that reads or writes outside of an operand; out_of_memory.
  static Result<std::unique_ptr<ExecutionContext>> create(std::shared_ptr<Counts> counts,
                                                          std::shared_ptr<const Program> program,
                                                          std::shared_ptr<DeviceArena> arena);

  Status run(const Call& call) override;
  MutableTensorView output(std::size_t i) const override { return host_->output(i); }
  std::size_t table_bytes() const override { return host_->table_bytes(); }

 private:
  NullContext(std::shared_ptr<Counts> counts, std::shared_ptr<const Program> program,
              std::shared_ptr<DeviceArena> arena)
      : counts_(std::move(counts)),
        program_(std::move(program)),
        arena_(std::static_pointer_cast<HostDeviceArena>(std::move(arena))) {}
  Status make_room();
  void upload(std::size_t step);
  void download(std::size_t step);
  void dispatch(const Step& step);
  // The bytes of an operand in device memory.
  const std::byte* place(const Step::Operand& operand) const;
  std::byte* result(const Step::Operand& operand) const { return arena_->data() + operand.offset; }

  std::shared_ptr<Counts> counts_;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<cpu::HostContext> host_;
  std::shared_ptr<HostDeviceArena> arena_;
};

Result<std::unique_ptr<ExecutionContext>> NullContext::create(
    std::shared_ptr<Counts> counts, std::shared_ptr<const Program> program,
    std::shared_ptr<DeviceArena> arena) {
  const auto bytes_of = [](const void* held) {
    return std::uint64_t{static_cast<const Constant*>(held)->bytes};
  };
  QUERN_TRY(check_dispatches(*program, {target(), alignment, bytes_of}));
  std::unique_ptr<NullContext> c(
      new NullContext(std::move(counts), std::move(program), std::move(arena)));
  QUERN_ASSIGN(c->host_, cpu::HostContext::create(c->program_));
  QUERN_TRY(c->make_room());
  return std::unique_ptr<ExecutionContext>(std::move(c));
}

Status NullContext::make_room() {
  const std::uint64_t bytes = program_->device_plan.size;
  const std::uint64_t before = arena_->generation();
  if (!arena_->reserve(bytes))
    return {Code::out_of_memory, cat("no ", bytes, " bytes for the null device")};
  if (arena_->generation() == before) return {};
  std::memset(arena_->data(), 0, arena_->arena_bytes());
  ++counts_->allocations;
  return {};
}

Status NullContext::run(const Call& call) {
  QUERN_TRY(make_room());  // there is, unless it was given back
  host_->begin(call);
  bool is_submitted = false;  // consecutive device steps are one submission
  for (std::size_t i = 0; i < program_->steps.size(); ++i) {
    const Step& step = program_->steps[i];
    const bool on_host = step.kind == Step::Kind::host;
    if (!on_host && !is_submitted) ++counts_->submissions;
    is_submitted = !on_host;
    if (on_host) {
      QUERN_TRY(host_->run_steps(call, i, i + 1));
      continue;
    }
    if (call.stop) QUERN_TRY(call.stop->check());
    const auto begin = std::chrono::steady_clock::now();
    if (step.kind == Step::Kind::upload) upload(i);
    if (step.kind == Step::Kind::download) download(i);
    if (step.kind == Step::Kind::device) dispatch(step);
    if (call.listener) call.listener->on_step(step, begin, std::chrono::steady_clock::now());
  }
  return {};
}

void NullContext::upload(std::size_t i) {
  const Step& step = program_->steps[i];
  if (step.input_bytes[0] == 0) return;
  std::memcpy(result(step.outputs[0]), host_->input(i, 0), step.input_bytes[0]);
  counts_->bytes_up += step.input_bytes[0];
}

void NullContext::download(std::size_t i) {
  const Step& step = program_->steps[i];
  if (step.output_bytes[0] == 0) return;
  std::memcpy(host_->output(i, 0), place(step.inputs[0]), step.output_bytes[0]);
  counts_->bytes_down += step.output_bytes[0];
}

void NullContext::dispatch(const Step& step) {
  counts_->dispatches += step.code ? 1 : step.dispatches.size();
  for (std::size_t k = 0; k < step.outputs.size(); ++k)
    if (step.outputs[k].base == Step::Operand::Base::device_arena)
      std::memset(result(step.outputs[k]), 0, step.output_bytes[k]);
}

const std::byte* NullContext::place(const Step::Operand& operand) const {
  if (operand.base == Step::Operand::Base::device_arena) return result(operand);
  const auto& held = program_->device_constants[operand.index];
  return static_cast<const Constant*>(held.get())->data.get() + operand.offset;
}

// The code of a region. It is empty: answering zeros needs none.
class NullCode final : public DeviceCode {};

// How regions are compiled.
enum class Regions : std::uint8_t { by_node, whole };

// The constants of one compiled model; constants with equal keys share their bytes while they are
// held.
class NullBackend final : public Backend {
 public:
  NullBackend(std::shared_ptr<Counts> counts, Regions regions)
      : target_(null::target()), counts_(std::move(counts)), regions_(regions) {}

  std::vector<Region> partition(const Graph& graph) const override {
    return convex_regions(graph, [&](NodeId id) {
      return regions_ == Regions::by_node || fits_in_region(graph, id);
    });
  }
  Status compile(const Region& region, RegionCompiler& compiler) override {
    if (regions_ == Regions::whole)
      return compiler.add(region, {.implementation = "null", .work = std::make_shared<NullCode>()});
    return add_node_by_node(region, target_, compiler);
  }
  Selection copy(const TensorDesc& from, std::int64_t skipped,
                 const TensorDesc& to) const override {
    return select_gpu_copy(from, skipped, to, target_);
  }
  std::uint64_t alignment() const override { return null::alignment; }

  Result<std::shared_ptr<const void>> constant(const GpuConstant& wanted) override {
    const std::scoped_lock lock(mutex_);
    std::weak_ptr<const Constant>& known = constants_[wanted.key];
    if (auto held = known.lock()) return std::shared_ptr<const void>(std::move(held));
    auto made = std::make_shared<Constant>();
    made->data.reset(new (std::nothrow) std::byte[wanted.bytes]());
    if (!made->data) return Status(Code::out_of_memory, cat("no ", wanted.bytes, " bytes"));
    made->bytes = wanted.bytes;
    QUERN_TRY(wanted.fill(made->data.get()));
    ++counts_->allocations;
    counts_->bytes_up += wanted.bytes;
    known = made;
    return std::shared_ptr<const void>(std::move(made));
  }

  std::size_t constant_bytes() const override {
    const std::scoped_lock lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& [key, known] : constants_)
      if (const auto held = known.lock()) bytes += held->bytes;
    return bytes;
  }

  std::shared_ptr<DeviceArena> make_arena(DeviceArena::Growth growth) override {
    return std::make_shared<HostDeviceArena>(growth);
  }
  Result<std::unique_ptr<ExecutionContext>> make_context(std::shared_ptr<const Program> program,
                                                         std::shared_ptr<DeviceArena> arena,
                                                         const Stop* /*stop*/) override {
    return NullContext::create(counts_, std::move(program), std::move(arena));
  }

 private:
  GpuTarget target_;
  std::shared_ptr<Counts> counts_;
  Regions regions_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Constant>> constants_;
};

class NullDevice final : public BackendDevice {
 public:
  NullDevice(DeviceInfo info, Regions regions)
      : BackendDevice(std::move(info)), regions_(regions) {}

  Result<std::shared_ptr<Backend>> make_backend() override {
    return std::shared_ptr<Backend>(std::make_shared<NullBackend>(counts_, regions_));
  }
  // No context writes tensors on the device, so their copy on the host is the only one.
  Result<std::unique_ptr<TensorMemory>> make_tensor_memory(std::size_t bytes) override {
    return make_host_tensor_memory(bytes);
  }
  DeviceCounters counters() const override {
    return {.submissions = counts_->submissions,
            .dispatches = counts_->dispatches,
            .allocations = counts_->allocations,
            .bytes_up = counts_->bytes_up,
            .bytes_down = counts_->bytes_down};
  }

 private:
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  Regions regions_;
};

}  // namespace

Result<std::shared_ptr<Device>> open(std::string_view name) {
  const Regions regions = name == "null,regions" ? Regions::whole : Regions::by_node;
  if (name != "null" && regions == Regions::by_node)
    return Status(Code::not_found,
                  cat("no device '", printable(name), "'; there is: null, null,regions"));
  DeviceInfo info;
  info.kind = DeviceInfo::Kind::gpu;
  info.build = DeviceInfo::Build::software;
  info.name = name;
  info.title = "no device: checks and counts what a GPU would be told to do, and answers zeros";
  return std::shared_ptr<Device>(std::make_shared<NullDevice>(std::move(info), regions));
}

}  // namespace quern::null
