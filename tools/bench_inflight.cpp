// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_inflight.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <system_error>
#include <thread>

#include <quern/run_group.h>

#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"
#include "tools/start_line.h"

namespace quern::tools {
namespace {

constexpr std::size_t usual_rounds = 15;  // short ones: other load of the machine comes and goes

// What a thread did with its session.
struct Lane {
  Session* session = nullptr;
  std::size_t runs = 0;
  double ms = 0;
  Status status;
};

// One way of running, with what its rounds gave.
struct Way {
  std::vector<Session*> sessions;
  std::vector<double> rates, times, processor;
};

// Runs all sessions at the same time for `seconds`, or `runs` times each, at least once.
Status round_of(Way& way, double seconds, int runs) {
  using Clock = std::chrono::steady_clock;
  std::vector<Lane> lanes(way.sessions.size());
  StartLine ready(lanes.size());
  std::atomic<bool> failed = false;
  const auto work = [&](Lane& lane) {
    ready.arrive_and_wait();
    const auto begin = Clock::now();
    do {
      lane.status = lane.session->run();
      if (!lane.status.ok()) failed = true;
      ++lane.runs;
      lane.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    } while (!failed &&
             (runs > 0 ? lane.runs < static_cast<std::size_t>(runs) : lane.ms < seconds * 1e3));
  };
  const double processor = processor_ms();
  {
    std::vector<std::jthread> threads;
    threads.reserve(lanes.size());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].session = way.sessions[i];
      if (i > 0) threads.emplace_back(work, std::ref(lanes[i]));
    }
    work(lanes[0]);
  }
  const double used = processor_ms() - processor;
  std::size_t done = 0;
  double rate = 0;
  double ms = 0;
  for (Lane& lane : lanes) {
    QUERN_TRY(std::move(lane.status));
    done += lane.runs;
    rate += 1e3 * static_cast<double>(lane.runs) / lane.ms;
    ms += lane.ms / static_cast<double>(lane.runs) / static_cast<double>(lanes.size());
  }
  way.rates.push_back(rate);
  way.times.push_back(ms);
  way.processor.push_back(used / static_cast<double>(done));
  return {};
}

Throughput throughput(const Way& way, std::size_t arena_bytes, std::size_t held) {
  return {way.sessions.size(),
          distribution(way.rates).median,
          distribution(way.times).median,
          distribution(way.processor).median,
          arena_bytes,
          held};
}

// Tensors alone: a group has types of no other inputs.
std::vector<TensorType> types_of(const std::vector<InputValue>& inputs) {
  std::vector<TensorType> types;
  for (const InputValue& v : inputs)
    if (v.kind == InputValue::Kind::tensor) types.push_back(v.tensors[0].type());
  return types;
}

Status check_arguments(const BenchArgs& args) {
  const auto refuse = [](const char* option) {
    return Status(Code::invalid_argument,
                  cat(option, " is for one run at a time, not for --inflight"));
  };
  if (args.cold) return refuse("--cold");
  if (!args.pool.record_trace.empty()) return refuse("--record-trace");
  return {};
}

}  // namespace

Result<InflightMeasurement> measure_inflight(const BenchArgs& args, const Console& console) {
  QUERN_TRY(check_arguments(args));
  QUERN_ASSIGN(Opened o,
               open_model(args.model, args.inputs, args.device, {.pool = args.pool.pool}));
  note_assumptions(o, console);
  const auto runs = static_cast<std::size_t>(args.inflight);
  QUERN_ASSIGN(const auto group,
               RunGroup::create(o.executable, runs, {.inputs = types_of(o.inputs)}));
  std::vector<std::unique_ptr<Session>> sessions;
  std::array<Way, 3> ways;  // together, apart, one
  for (std::size_t i = 0; i < runs; ++i) {
    ways[0].sessions.push_back(&group->session(i));
    QUERN_ASSIGN(sessions.emplace_back(), Session::create(o.executable));
    ways[1].sessions.push_back(sessions.back().get());
  }
  ways[2].sessions.push_back(o.session.get());
  for (Way& way : ways) {
    for (Session* s : way.sessions) QUERN_TRY(bind_inputs(*s, o.inputs));
    QUERN_TRY(round_of(way, 0, args.warmup));
    way = {.sessions = std::move(way.sessions)};
  }
  Progress progress(console);
  const RunGroupCounters before = group->counters();
  InflightMeasurement m{.model = model_name(args.model),
                        .device = args.device.device,
                        .threads = o.session->threads(),
                        .on_pool = o.session->thread_pool() != nullptr};
  for (; m.rounds < usual_rounds; ++m.rounds) {
    progress.update(cat("round ", m.rounds + 1, " of ", usual_rounds));
    for (Way& way : ways)
      QUERN_TRY(round_of(way, args.time_s / static_cast<double>(usual_rounds), args.runs));
  }
  const RunGroupCounters after = group->counters();
  const auto done = static_cast<double>(after.runs - before.runs);
  m.waits = static_cast<double>(after.waits - before.waits) / done;
  m.wait_ms = 1e-6 * static_cast<double>(after.wait_ns - before.wait_ns) / done;
  const std::size_t arena = o.session->plan_info().arena_bytes;
  const std::size_t held = o.session->resident_bytes();
  m.together = throughput(ways[0], group->arena_bytes(), group->resident_bytes());
  m.apart = throughput(ways[1], runs * arena, runs * held);
  m.one = throughput(ways[2], arena, held);
  return m;
}

namespace {

std::array<std::pair<std::string, const Throughput*>, 3> rows_of(const InflightMeasurement& m) {
  return {{{cat(m.together.sessions, " in one arena"), &m.together},
           {cat(m.apart.sessions, " sessions"), &m.apart},
           {"one session", &m.one}}};
}

}  // namespace

std::string inflight_text(const InflightMeasurement& m, const Console& console) {
  Table t({{cat(shown(m.model), " on ", m.device)},
           {"runs a second", Table::Align::right},
           {"a run", Table::Align::right},
           {"processor", Table::Align::right},
           {"arenas", Table::Align::right},
           {"held", Table::Align::right}});
  for (const auto& [name, w] : rows_of(m))
    t.add({name, fixed_text(w->runs_per_second, 1), time_text(w->run_ms), time_text(w->cpu_ms),
           bytes_text(static_cast<double>(w->arena_bytes)),
           bytes_text(static_cast<double>(w->held_bytes))});
  const auto ratio = [](double a, double b) { return fixed_text(b > 0 ? a / b : 0, 2); };
  return cat(
      t.text(console), "in one arena: ", ratio(m.together.runs_per_second, m.apart.runs_per_second),
      " of the speed and ",
      ratio(static_cast<double>(m.together.arena_bytes), static_cast<double>(m.apart.arena_bytes)),
      " of the arenas of ", m.apart.sessions, " sessions; a run waits ", fixed_text(m.waits, 1),
      " times, ", time_text(m.wait_ms), " in all\n", m.threads,
      m.threads == 1 ? " thread" : " threads", " a run", m.on_pool ? ", of one pool" : "",
      "; medians of ", m.rounds, " rounds in turns\n");
}

Json inflight_json(const InflightMeasurement& m) {
  Json j;
  j["context"]["executable"] = "quern";
  j["context"]["device"] = m.device;
  j["context"]["num_threads"] = m.threads;
  j["context"]["thread_pool"] = m.on_pool;
  j["context"]["rounds"] = m.rounds;
  const std::array<const char*, 3> names = {"inflight", "sessions", "session"};
  const auto rows = rows_of(m);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Throughput& w = *rows[i].second;
    Json row;
    row["name"] = cat(m.model, "/", m.device, "/t", m.threads, "/", names[i], w.sessions);
    row["run_type"] = "iteration";
    row["real_time"] = w.run_ms;
    row["cpu_time"] = w.cpu_ms;
    row["time_unit"] = "ms";
    row["runs_per_second"] = w.runs_per_second;
    row["arena_bytes"] = w.arena_bytes;
    row["session_bytes"] = w.held_bytes;
    if (i == 0) {
      row["waits"] = m.waits;
      row["wait_ms"] = m.wait_ms;
    }
    j["benchmarks"].push(std::move(row));
  }
  return j;
}

}  // namespace quern::tools
