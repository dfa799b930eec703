// SPDX-License-Identifier: Apache-2.0
// What GPUs of paper are told to do for random models: for each operator and device one hash over
// the programs of many models of one node, and one for ten larger models each. Where hosts have
// part in a program, their kernels depend on the machine: then the device's alone are compared. And
// which kernels the CPU takes, without oneDNN and with the loops that every machine has.
//
// Where a difference is wanted, write the hashes anew, and commit them:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R 'Dispatches|CpuKernels'
// To see what has changed, compare what two builds print with QUERN_SHOW_TEXTS=1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <quern/device.h>
#include <quern/session.h>

#include "tests/engine/paper_device.h"
#include "tests/expect.h"
#include "tests/held_texts.h"
#include "tools/random/judge.h"

namespace quern::tools {
namespace {

using testing::NamedTarget;
using Hashes = std::map<std::string, std::uint32_t>;

std::string program_text(const Program& p) {
  const auto is_host = [](const Step& s) { return s.kind == Step::Kind::host; };
  if (std::ranges::none_of(p.steps, is_host)) return testing::text(p);
  std::string text;
  for (const Step& s : p.steps) {
    if (is_host(s)) text += cat("host ", s.op, "\n");
    if (s.kind != Step::Kind::device || s.op == "Reorder") continue;
    text += cat(s.op, "\n");
    for (const Dispatch& d : s.dispatches) text += testing::text(d);
  }
  return text;
}

// Of the first run of the model; what the device cannot run is an error that is of no interest.
std::string dispatch_text(const RandomModel& model, const NamedTarget& target) {
  std::string text;
  const auto device = std::make_shared<testing::PaperDevice>(
      target, [&](const Program& p) { text += program_text(p); });
  const auto executable = compile_random(model, device, {.threads = 1});
  if (!executable) return cat(executable.error().message(), "\n");
  const auto session = Session::create(*executable);
  if (!session) return cat(session.error().message(), "\n");
  (void)run_once(**session, model.runs[0]);
  return text;
}

// The kernels of the CPU in order, with their layouts, and what the plan takes.
std::string kernels_text(const RandomModel& model) {
  const auto device = open_device("cpu");
  const auto executable = compile_random(model, *device, {.threads = 1});
  if (!executable) return cat(executable.error().message(), "\n");
  const auto session = Session::create(*executable);
  if (!session) return cat(session.error().message(), "\n");
  if (const auto outputs = run_once(**session, model.runs[0]); !outputs)
    return cat(outputs.error().message(), "\n");
  const PlanInfo info = (*session)->plan_info();
  std::string text = cat("arena ", info.arena_bytes, ", weights ", info.weight_bytes, "\n");
  for (const StepInfo& s : info.steps)
    text += cat(s.op, " ", s.shapes, " ", s.layouts, " ", s.implementation, "\n");
  return text;
}

void add(Hashes& hashes, const std::string& name, const std::string& text) {
  static const bool show = std::getenv("QUERN_SHOW_TEXTS") != nullptr;
  if (show) std::printf("== %s\n%s", name.c_str(), text.c_str());
  std::uint32_t& hash = hashes[name];
  hash = 31 * hash + testing::stable_hash(text);
}

// Calls visit(NAME, MODEL) for models of one node, named by it, and for larger ones.
template <class F>
void for_each_model(const F& visit) {
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const RandomModel model = make_random_model({.seed = seed, .min_nodes = 1, .max_nodes = 1});
    const onnx::NodeProto& node = model.graph().nodes.back();
    visit(node.domain.empty() ? std::string(node.op_type) : cat(node.domain, ".", node.op_type),
          model);
  }
  for (std::uint64_t seed = 0; seed < 400; ++seed)
    visit(cat("models from ", seed / 10 * 10),
          make_random_model({.seed = seed, .min_nodes = 5, .max_nodes = 15}));
}

void compare_to_file(const Hashes& found, const char* name) {
  testing::expect_held(found, cat(QUERN_SOURCE_DIR "/tests/tools/random/", name));
}

Hashes dispatches_on(const std::vector<NamedTarget>& targets) {
  Hashes found;
  for_each_model([&](const std::string& name, const RandomModel& model) {
    for (const NamedTarget& target : targets)
      if (target.target) add(found, cat(name, " on ", target.name), dispatch_text(model, target));
  });
  return found;
}

TEST(Dispatches, AreAsTheyWere) {
  compare_to_file(dispatches_on(testing::paper_targets()), "dispatches.txt");
}

// What a process may use, which it reads when it chooses its first kernel: what every machine has.
constexpr const char* what_all_have = "QUERN_SIMD=baseline QUERN_ONEDNN=off";
bool uses_what_all_have() {
  const auto is_set = [](const char* name, std::string_view value) {
    const char* found = std::getenv(name);
    return found && found == value;
  };
  return is_set("QUERN_SIMD", "baseline") && is_set("QUERN_ONEDNN", "off");
}

// Hosts take much of what tight devices refuse, with layouts that differ between releases of
// oneDNN.
TEST(Dispatches, OfTightDevicesAreAsTheyWere) {
  if (uses_what_all_have())
    compare_to_file(dispatches_on(testing::tight_targets()), "tight_dispatches.txt");
  else
    testing::expect_passes_with(what_all_have, "Dispatches.OfTightDevicesAreAsTheyWere");
}

TEST(CpuKernels, AreAsTheyWere) {
  if (!uses_what_all_have()) {
    testing::expect_passes_with(what_all_have, "CpuKernels.AreAsTheyWere");
    return;
  }
  Hashes found;
  for_each_model([&](const std::string& name, const RandomModel& model) {
    add(found, name, kernels_text(model));
  });
  compare_to_file(found, "cpu_kernels.txt");
}

}  // namespace
}  // namespace quern::tools
