// SPDX-License-Identifier: Apache-2.0
// quern-kernel-bench: single kernels through the engine, on each of its devices, against what the
// machine was measured to do. Names: kernel/shape/device/threads:N.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include <benchmark/benchmark.h>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/session.h>

#include "bench/kernels/kernels.h"
#include "engine/vocabulary/text_util.h"
#include "tools/inputs.h"
#include "tools/roof.h"

namespace quern::bench {
namespace {

struct Place {
  std::string device;
  int threads = 1;
};

// Work and time of one run, in the kernels that count.
struct Work {
  double flops = 0, bytes = 0, seconds = 0;
};

struct Prepared {
  std::vector<tools::InputValue> inputs;
  std::unique_ptr<Session> session;
};

Result<Prepared> prepare(const Kernel& kernel, const Place& place) {
  GraphMaker maker;
  const ValueId output = kernel.build(maker);
  QUERN_ASSIGN(Model model, std::move(maker).finish(output));
  QUERN_ASSIGN(auto device, open_device(place.device));
  Prepared p;
  QUERN_ASSIGN(p.inputs, tools::make_inputs(model.inputs(), {}, {}));
  QUERN_ASSIGN(auto executable, Executable::compile(std::move(model), std::move(device),
                                                    {.threads = place.threads}));
  QUERN_ASSIGN(p.session, Session::create(std::move(executable)));
  QUERN_TRY(tools::bind_inputs(*p.session, p.inputs));
  QUERN_TRY(p.session->run());
  return p;
}

bool counts(const StepInfo& step, Kernel::Timed timed) {
  if (timed == Kernel::Timed::everything) return true;
  return (step.op == "Reorder") == (timed == Kernel::Timed::reorders);
}

Result<Work> run_once(Session& session, Kernel::Timed timed) {
  QUERN_ASSIGN(const auto timings, session.profile());
  Work work;
  for (const Session::Timing& t : timings) {
    if (!counts(t.step, timed)) continue;
    work.flops += t.step.flops;
    work.bytes += t.step.bytes;
    work.seconds += 1e-6 * (t.end_us - t.begin_us);
  }
  return work;
}

// Nothing known (zeros) where it cannot be measured.
const tools::Roof& roof(const Device& device, int threads) {
  static std::map<std::pair<std::string, int>, tools::Roof> roofs;
  const auto [it, is_new] = roofs.try_emplace({device.info().name, threads});
  if (is_new)
    if (auto measured = tools::measure_roof(device, threads)) it->second = *measured;
  return it->second;
}

double second_level_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<double>(bytes) : 1 << 20;
}

// The time that nobody could beat who computes and moves this much, by the rates measured.
double least_seconds(const Work& work, const tools::Roof& roof) {
  const bool in_cache = roof.cache_gbytes > 0 && work.bytes <= second_level_bytes();
  const double gbytes = in_cache ? roof.cache_gbytes : roof.copy_gbytes;
  return 1e-9 * std::max(work.flops / roof.gflops, work.bytes / gbytes);
}

void report(benchmark::State& state, const Work& once, double mean_seconds,
            const tools::Roof& roof) {
  using benchmark::Counter;
  state.counters["FLOP/s"] = Counter(once.flops, Counter::kIsIterationInvariantRate);
  state.counters["B/s"] = Counter(once.bytes, Counter::kIsIterationInvariantRate);
  if (roof.gflops > 0 && mean_seconds > 0)
    state.counters["roof"] = least_seconds(once, roof) / mean_seconds;
}

void time_kernel(benchmark::State& state, const Kernel& kernel, const Place& place) {
  auto prepared = prepare(kernel, place);
  if (!prepared) return state.SkipWithError(std::string(prepared.error().message()).c_str());
  Work once;
  double seconds = 0;
  for (auto _ : state) {
    const auto work = run_once(*prepared->session, kernel.timed);
    if (!work) return state.SkipWithError(std::string(work.error().message()).c_str());
    if (work->seconds <= 0) return state.SkipWithError("this device has no such kernel");
    state.SetIterationTime(work->seconds);
    seconds += work->seconds;
    once = *work;
  }
  report(state, once, seconds / static_cast<double>(state.iterations()),
         roof(prepared->session->executable().device(), place.threads));
}

void copy_memory(benchmark::State& state, std::size_t bytes) {
  const std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.counters["B/s"] = benchmark::Counter(2.0 * static_cast<double>(bytes),
                                             benchmark::Counter::kIsIterationInvariantRate);
}

std::vector<Place> places() {
  std::set<std::string> names = {"reference"};
  for (const DeviceInfo& d : list_devices()) names.insert(d.name);
  std::vector<Place> all;
  for (const std::string& name : names) {
    all.push_back({name, 1});
    const int most = static_cast<int>(std::thread::hardware_concurrency());
    if (name == "cpu" && most > 1) all.push_back({name, most});
  }
  return all;
}

void register_kernels(const std::vector<Kernel>& kernels, const std::vector<Place>& places) {
  for (const Kernel& kernel : kernels)
    for (const Place& place : places) {
      if (place.device == "reference" && kernel.timed == Kernel::Timed::reorders) continue;
      benchmark::RegisterBenchmark(
          cat(kernel.name, "/", place.device, "/threads:", place.threads).c_str(),
          [kernel, place](benchmark::State& state) { time_kernel(state, kernel, place); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
    }
}

void register_all() {
  const std::vector<Place> all = places();
  for (const auto family : {matmul_kernels, conv_kernels, pool_kernels, elementwise_kernels,
                            normalise_kernels, movement_kernels})
    register_kernels(family(), all);
  for (const std::size_t kib : {64, 1024, 65536})
    benchmark::RegisterBenchmark(cat("memcpy/", kib, "KiB").c_str(), [kib](
                                                                         benchmark::State& state) {
      copy_memory(state, kib << 10);
    })->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  quern::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
