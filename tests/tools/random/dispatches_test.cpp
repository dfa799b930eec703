// SPDX-License-Identifier: Apache-2.0
// What GPUs of paper are told to do for random models: for each operator and device one hash over
// the programs of many models of one node, and one for each of some larger models. Where hosts have
// part in a program, their kernels depend on the machine: then the device's alone are compared.
//
// Where a difference is wanted, write the hashes anew, and commit them:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R Dispatches
// To see what has changed, compare what two builds print with QUERN_SHOW_TEXTS=1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <quern/session.h>

#include "tests/engine/paper_device.h"
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

void add(Hashes& hashes, const std::string& name, const RandomModel& model) {
  static const bool show = std::getenv("QUERN_SHOW_TEXTS") != nullptr;
  for (const NamedTarget& target : testing::paper_targets()) {
    if (!target.target) continue;
    const std::string text = dispatch_text(model, target);
    if (show) std::printf("== %s on %s\n%s", name.c_str(), target.name, text.c_str());
    std::uint32_t& hash = hashes[cat(name, " on ", target.name)];
    hash = 31 * hash + testing::hash(text);
  }
}

Hashes found_hashes() {
  Hashes hashes;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomModel model = make_random_model({.seed = seed, .min_nodes = 1, .max_nodes = 1});
    const onnx::NodeProto& node = model.graph().nodes.back();
    add(hashes,
        node.domain.empty() ? std::string(node.op_type) : cat(node.domain, ".", node.op_type),
        model);
  }
  for (std::uint64_t seed = 0; seed < 150; ++seed)
    add(hashes, cat("model ", seed),
        make_random_model({.seed = seed, .min_nodes = 5, .max_nodes = 15}));
  return hashes;
}

TEST(Dispatches, AreAsTheyWere) {
  const std::string path = QUERN_SOURCE_DIR "/tests/tools/random/dispatches.txt";
  const Hashes found = found_hashes();
  if (std::getenv("QUERN_WRITE_TEXTS")) {
    std::ofstream file(path);
    for (const auto& [name, hash] : found) file << hash << ' ' << name << '\n';
  }
  Hashes wanted;
  std::ifstream file(path);
  std::uint32_t hash = 0;
  for (std::string line; file >> hash && std::getline(file, line);) wanted[line.substr(1)] = hash;
  EXPECT_EQ(found.size(), wanted.size());
  for (const auto& [name, of_program] : found) EXPECT_EQ(of_program, wanted[name]) << name;
}

}  // namespace
}  // namespace quern::tools
