// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/roof.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/devices/vulkan/recorder.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/grid.h"

namespace quern::vulkan {
namespace {

constexpr int repeats = 4;  // of a command in a submission; the fastest counts
constexpr std::uint32_t rounds = 4096;
constexpr double flops_a_round = 3 * 4 * 2;  // per invocation, as in roof.comp
constexpr std::uint64_t most_copied = std::uint64_t{128} << 20;

// The time in seconds of the fastest of the recorder's timed commands, after a warm-up.
Result<double> least_seconds(Recorder& recorder) {
  QUERN_TRY(recorder.finish());
  QUERN_TRY(recorder.submit());
  const auto begin = std::chrono::steady_clock::now();
  QUERN_TRY(recorder.submit());
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  QUERN_ASSIGN(const auto intervals, recorder.intervals());
  double least = all.count() / repeats;  // it has no clock
  for (const auto& i : intervals) least = std::min(least, 1e-9 * (i.end - i.begin));
  return std::max(least, 1e-9);
}

// Doubles the work until it takes long enough to be measured.
Result<double> gflops(const std::shared_ptr<Core>& core) {
  constexpr double long_enough = 5e-3;
  const GpuTarget target = core->capabilities().target();
  double best = 0;
  for (std::uint64_t groups = 64; groups <= std::min(target.max_groups, 32768u); groups *= 2) {
    const Dispatch work = roof_dispatch(static_cast<std::uint32_t>(groups), target);
    const std::uint64_t invocations = groups * work.constants[0];
    QUERN_ASSIGN(const auto sums, Buffer::create(core, 4 * invocations, Buffer::Use::device));
    const Binding written[] = {{{sums->handle(), 0, sums->bytes()}, true}};
    QUERN_ASSIGN(const auto recorder, Recorder::create(core, repeats));
    for (int i = 0; i < repeats; ++i) QUERN_TRY(recorder->dispatch(work, written));
    QUERN_ASSIGN(const double seconds, least_seconds(*recorder));
    best =
        std::max(best, 1e-9 * flops_a_round * rounds * static_cast<double>(invocations) / seconds);
    if (seconds > long_enough) break;
  }
  return best;
}

// The bytes per second that go through the device's memory, read or written, in the faster of two
// ways: its command for copies, which on an H200 has a fifth of the other's rate, and a shader.
Result<double> copy_gbytes(const std::shared_ptr<Core>& core) {
  const Capabilities& c = core->capabilities();
  const std::uint64_t bytes =
      std::min({most_copied, c.max_allocation, c.max_range, c.device_memory / 8}) / 256 * 256;
  QUERN_ASSIGN(const auto from, Buffer::create(core, bytes, Buffer::Use::device));
  QUERN_ASSIGN(const auto to, Buffer::create(core, bytes, Buffer::Use::device));
  QUERN_ASSIGN(const auto recorder, Recorder::create(core, repeats));
  for (int i = 0; i < repeats; ++i)
    recorder->copy({from->handle(), 0, bytes}, {to->handle(), 0, bytes});
  QUERN_ASSIGN(double seconds, least_seconds(*recorder));
  const Shape shape = {static_cast<std::int64_t>(bytes / sizeof(float))};
  if (auto work = gpu::copy_dispatch(DType::f32, shape, {{1}}, {{1}}, c.target())) {
    work->buffers = {BufferUse::input(0), BufferUse::output(0)};
    const Binding buffers[] = {{{from->handle(), 0, bytes}, false},
                               {{to->handle(), 0, bytes}, true}};
    QUERN_ASSIGN(const auto shaders, Recorder::create(core, repeats));
    for (int i = 0; i < repeats; ++i) QUERN_TRY(shaders->dispatch(*work, buffers));
    QUERN_ASSIGN(const double by_shader, least_seconds(*shaders));
    seconds = std::min(seconds, by_shader);
  }
  return 2e-9 * static_cast<double>(bytes) / seconds;
}

}  // namespace

Dispatch roof_dispatch(std::uint32_t groups, const GpuTarget& target) {
  Dispatch d;
  d.shader = "roof";
  d.constants = {gpu::lanes(target)};
  d.push = {rounds, gpu::word(0.999F), gpu::word(0.001F)};
  d.buffers = {BufferUse::output(0)};
  d.groups = {groups, 1, 1};
  return d;
}

Result<DeviceRoof> measure_roof(const std::shared_ptr<Core>& core) {
  if (core->lost()) return core->lost_error();
  DeviceRoof roof;
  QUERN_ASSIGN(roof.gflops, gflops(core));
  QUERN_ASSIGN(roof.copy_gbytes, copy_gbytes(core));
  QUERN_TRY(core->check_validation());
  return roof;
}

}  // namespace quern::vulkan
