// SPDX-License-Identifier: Apache-2.0
// quern bench: how long a model takes, warm and cold.
#include <chrono>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "tools/bench_cold.h"
#include "tools/bench_decode.h"
#include "tools/bench_inflight.h"
#include "tools/measurement.h"
#include "tools/opened.h"
#include "tools/record_trace.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

DeviceCounters per_run(const DeviceCounters& before, const DeviceCounters& after,
                       std::size_t runs) {
  DeviceCounters c;
  for (std::uint64_t DeviceCounters::*count :
       {&DeviceCounters::submissions, &DeviceCounters::dispatches, &DeviceCounters::barriers,
        &DeviceCounters::bytes_up, &DeviceCounters::bytes_down})
    c.*count = (after.*count - before.*count) / runs;
  return c;
}

Status time_runs(Session& session, const BenchArgs& args, const Console& console, Measurement& m) {
  Stopwatch watch;
  QUERN_TRY(session.run());
  m.first_run_ms = watch.lap();
  for (int i = 0; i < args.warmup; ++i) QUERN_TRY(session.run());
  std::vector<double> samples;
  samples.reserve(1 << 16);
  Progress progress(console);
  const auto enough = [&](double ms) {
    return args.runs > 0
               ? samples.size() >= static_cast<std::size_t>(args.runs)
               : samples.size() >= 3 && (ms >= args.time_s * 1e3 || samples.size() >= 1'000'000);
  };
  double spent = 0;
  double told = 0;
  const double processor = processor_ms();
  const DeviceCounters before = session.executable().device().counters();
  while (!enough(spent)) {
    watch.lap();
    QUERN_TRY(session.run());
    samples.push_back(watch.lap());
    spent += samples.back();
    if (spent < told + 250) continue;  // often enough for eyes, too seldom to disturb
    told = spent;
    progress.update(cat("run ", samples.size(), ", ", time_text(spent)));
  }
  m.cpu_ms = (processor_ms() - processor) / static_cast<double>(samples.size());
  m.per_run = per_run(before, session.executable().device().counters(), samples.size());
  m.run = distribution(std::move(samples));
  return {};
}

Result<Measurement> measure(const BenchArgs& args, const Console& console) {
  QUERN_ASSIGN(Opened o, open_model(args.model, args.inputs, args.device,
                                    {.pool = args.pool.pool, .console = &console}));
  note_assumptions(o, console);
  Measurement m{.model = model_name(args.model), .device = args.device.device, .phases = o.phases};
  QUERN_TRY(time_runs(*o.session, args, console, m));
  const auto& specs = o.executable->inputs();
  for (std::size_t i = 0; i < specs.size(); ++i)
    m.inputs.push_back(cat(shown(specs[i].name), " ", o.inputs[i].text()));
  const PlanInfo plan = o.session->plan_info();
  m.arena_bytes = plan.arena_bytes;
  m.on_gpu = o.executable->device().info().kind == DeviceInfo::Kind::gpu;
  m.fallbacks = plan.fallbacks;
  QUERN_ASSIGN(const auto timings, o.session->profile());  // bodies of loops included
  for (const Session::Timing& t : timings) {
    m.flops += t.step.flops;
    m.bytes += t.step.bytes;
  }
  m.memory = held_bytes(*o.session);
  m.threads = o.session->threads();
  m.onednn = property_of(described(o.executable->device()), "onednn");
  QUERN_TRY(record_trace(*o.session, args.pool.record_trace, console));
  // Last: its buffers are not the model's memory.
  QUERN_ASSIGN(m.roof, measure_roof(o.executable->device(), m.threads));
  return m;
}

}  // namespace

Result<ExitCode> bench_verb(const BenchArgs& args, const Console& console) {
  if (args.cold_sample) return cold_sample(args);
  if (args.cold && !args.pool.record_trace.empty())
    return Status(Code::invalid_argument, "--record-trace goes with warm runs, not with --cold");
  std::optional<Json> old_result;
  if (!args.compare.empty()) {
    QUERN_ASSIGN(old_result, read_json(args.compare));
  }
  Json result;
  std::string text;
  if (args.inflight && !args.decode) {
    QUERN_ASSIGN(const InflightMeasurement m, measure_inflight(args, console));
    result = inflight_json(m);
    text = inflight_text(m, console);
  } else if (args.decode) {
    QUERN_ASSIGN(const DecodeMeasurement m, measure_decoding(args, console));
    result = decoding_json(m);
    text = decoding_text(m, console);
  } else if (args.cold) {
    QUERN_ASSIGN(ColdMeasurement m, measure_cold(args, console));
    result = cold_json(m);
    text = cold_text(m, console);
  } else {
    QUERN_ASSIGN(const Measurement m, measure(args, console));
    result = measurement_json(m);
    text = measurement_text(m, console);
  }
  if (old_result) {
    QUERN_ASSIGN(const std::string changes, comparison_text(*old_result, result, console));
    text += "\n" + changes;
    result["before"] = *old_result;
  }
  print(args.json ? result.document() : text);
  return ExitCode::ok;
}

}  // namespace quern::tools
