// SPDX-License-Identifier: Apache-2.0
#include "tools/profile_data.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::string>;

Key key_of(const StepInfo& s) {
  return {s.node, s.op, s.shapes, s.implementation};
}

double median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

struct Run {
  double ms = 0;
  std::vector<Session::Timing> timings;
};

// Per kernel: executions and time of one run.
struct Sum {
  std::size_t calls = 0;
  double ms = 0;
};

std::map<Key, Sum> sums_of(const Run& run) {
  std::map<Key, Sum> sums;
  for (const Session::Timing& t : run.timings) {
    Sum& s = sums[key_of(t.step)];
    ++s.calls;
    s.ms += 1e-3 * (t.end_us - t.begin_us);
  }
  return sums;
}

}  // namespace

double Profile::kernel_ms() const {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double n, const ProfiledStep& s) { return n + s.ms; });
}

double Profile::lane_ms(StepInfo::Lane lane) const {
  double ms = 0;
  for (const Session::Timing& t : timeline)
    if (t.step.lane == lane) ms += 1e-3 * (t.end_us - t.begin_us);
  return ms;
}

double Profile::gaps_ms() const {
  double ms = 0;
  for (std::size_t i = 1; i < timeline.size(); ++i) {
    const auto on_device = [&](std::size_t k) {
      return timeline[k].step.lane == StepInfo::Lane::device;
    };
    if (on_device(i - 1) && on_device(i))
      ms += 1e-3 * std::max(timeline[i].begin_us - timeline[i - 1].end_us, 0.0);
  }
  return ms;
}

double Profile::roof_share(const ProfiledStep& s) const {
  if (roof.gflops <= 0 || roof.copy_gbytes <= 0) return 0;
  return std::max(s.gflops() / roof.gflops, s.gbytes() / roof.copy_gbytes);
}

Result<Profile> take_profile(Session& session, int runs) {
  QUERN_TRY(session.run());
  QUERN_TRY(session.profile().status());  // warm, with the clock's own code
  std::vector<Run> all;
  Stopwatch watch;
  for (int i = 0; i < runs; ++i) {
    watch.lap();
    QUERN_ASSIGN(auto timings, session.profile());
    all.push_back({watch.lap(), std::move(timings)});
  }
  std::ranges::sort(all, {}, &Run::ms);
  Run& typical = all[all.size() / 2];
  std::map<Key, std::vector<double>> samples;
  for (const Run& run : all)
    for (const auto& [key, sum] : sums_of(run)) samples[key].push_back(sum.ms);
  const auto calls = sums_of(typical);
  Profile p{.threads = session.threads(), .runs = runs, .run_ms = typical.ms};
  std::map<Key, std::size_t> seen;
  for (const Session::Timing& t : typical.timings) {
    const Key key = key_of(t.step);
    if (!seen.emplace(key, p.steps.size()).second) continue;
    p.steps.push_back({t.step, calls.at(key).calls, median(samples[key]), 1e-3 * t.begin_us});
  }
  p.timeline = std::move(typical.timings);
  return p;
}

std::vector<ProfiledStep> by_operator(const Profile& profile) {
  std::map<std::string, ProfiledStep> groups;
  for (const ProfiledStep& s : profile.steps) {
    ProfiledStep& g = groups[s.step.op];
    g.step.op = s.step.op;
    g.step.flops += s.flops();
    g.step.bytes += s.bytes();
    g.ms += s.ms;
    g.calls += s.calls;
  }
  std::vector<ProfiledStep> list;
  for (auto& [name, g] : groups) {
    // One "execution" each, so that flops() and bytes() are the sums.
    g.step.flops /= static_cast<double>(g.calls);
    g.step.bytes /= static_cast<double>(g.calls);
    list.push_back(std::move(g));
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &ProfiledStep::ms);
  return list;
}

namespace {

constexpr std::array all_lanes = {StepInfo::Lane::host, StepInfo::Lane::device,
                                  StepInfo::Lane::upload, StepInfo::Lane::download};

const char* lane_name(StepInfo::Lane lane) {
  switch (lane) {
    case StepInfo::Lane::host: return "host";
    case StepInfo::Lane::device: return "device";
    case StepInfo::Lane::upload: return "upload";
    case StepInfo::Lane::download: return "download";
  }
  return "";
}

Json step_json(const ProfiledStep& s) {
  Json j;
  j["node"] = s.step.node;
  j["op"] = s.step.op;
  j["shapes"] = s.step.shapes;
  j["layouts"] = s.step.layouts;
  j["implementation"] = s.step.implementation;
  j["lane"] = lane_name(s.step.lane);
  j["calls"] = s.calls;
  j["ms"] = s.ms;
  j["begin_ms"] = s.begin_ms;
  j["flops"] = s.flops();
  j["bytes"] = s.bytes();
  j["gflops_per_second"] = s.gflops();
  j["gbytes_per_second"] = s.gbytes();
  return j;
}

}  // namespace

Json profile_json(const Profile& profile) {
  Json j;
  j["model"] = profile.model;
  j["device"] = profile.device;
  j["threads"] = profile.threads;
  j["runs"] = profile.runs;
  j["run_ms"] = profile.run_ms;
  j["kernels_ms"] = profile.kernel_ms();
  for (const StepInfo::Lane lane : all_lanes)
    j["lanes_ms"][lane_name(lane)] = profile.lane_ms(lane);
  j["gaps_ms"] = profile.gaps_ms();
  j["roof"]["gflops_per_second"] = profile.roof.gflops;
  j["roof"]["copy_gbytes_per_second"] = profile.roof.copy_gbytes;
  j["roof"]["cache_gbytes_per_second"] = profile.roof.cache_gbytes;
  j["roof"]["instructions"] = profile.roof.instructions;
  j["steps"] = Json::array();
  for (const ProfiledStep& s : profile.steps) {
    Json step = step_json(s);
    step["roof_share"] = profile.roof_share(s);
    j["steps"].push(std::move(step));
  }
  j["operators"] = Json::array();
  for (const ProfiledStep& s : by_operator(profile)) {
    Json o;
    o["op"] = s.step.op;
    o["calls"] = s.calls;
    o["ms"] = s.ms;
    o["flops"] = s.flops();
    o["bytes"] = s.bytes();
    j["operators"].push(std::move(o));
  }
  return j;
}

// Format: "Trace Event Format", complete events ("ph": "X"), microseconds.
std::string chrome_trace(const Profile& profile) {
  Json events = Json::array();
  Json name;
  name["name"] = "process_name";
  name["ph"] = "M";
  name["pid"] = 1;
  name["args"]["name"] =
      cat("quern ", profile.model, " on ", profile.device, ", ", profile.threads, " threads");
  events.push(std::move(name));
  for (const StepInfo::Lane lane : all_lanes) {
    if (profile.lane_ms(lane) <= 0) continue;
    Json thread;
    thread["name"] = "thread_name";
    thread["ph"] = "M";
    thread["pid"] = 1;
    thread["tid"] = static_cast<int>(lane) + 1;
    thread["args"]["name"] = lane_name(lane);
    events.push(std::move(thread));
  }
  for (const Session::Timing& t : profile.timeline) {
    const double us = t.end_us - t.begin_us;
    Json e;
    e["name"] = t.step.op;
    e["cat"] = t.step.op.substr(0, t.step.op.find('.'));
    e["ph"] = "X";
    e["ts"] = t.begin_us;
    e["dur"] = us;
    e["pid"] = 1;
    e["tid"] = static_cast<int>(t.step.lane) + 1;
    e["args"]["node"] = t.step.node;
    e["args"]["kernel"] = t.step.implementation;
    e["args"]["inputs"] = t.step.shapes;
    if (!t.step.layouts.empty()) e["args"]["layouts"] = t.step.layouts;
    e["args"]["GFLOP/s"] = us > 0 ? 1e-3 * t.step.flops / us : 0.0;
    e["args"]["GB/s"] = us > 0 ? 1e-3 * t.step.bytes / us : 0.0;
    events.push(std::move(e));
  }
  Json j;
  j["displayTimeUnit"] = "ms";
  j["traceEvents"] = std::move(events);
  return j.dump();
}

}  // namespace quern::tools
