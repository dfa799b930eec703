// SPDX-License-Identifier: Apache-2.0
// RegexFullMatch: whether each string as a whole matches an expression in the syntax of RE2.
//
// ONNX RegexFullMatch (opset 20). A string that is no UTF-8 matches nothing. The expression is
// compiled in each call, which allocates: kernels/cpu/regex_rows.cpp is for runs.
#include <vector>

#include "graph/ops/strings.h"
#include "graph/regex/program.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/regex_rows.h"

namespace quern {
namespace {

// ---- reference

Status regex_full_match_reference(const ReferenceCall& call) {
  QUERN_ASSIGN(const regex::Program program,
               regex::Program::compile(call.as<RegexFullMatch>().pattern));
  std::vector<std::uint32_t> working(regex::Simulation::working_size(program));
  regex::Simulation simulation(program, working.data());
  bool* y = call.outputs[0].as<bool>();
  StopCheck check(call.stop);
  for (const StringRef& text : call.inputs[0].span<StringRef>()) {
    if (check.spend(16)) return {};
    *y++ = simulation.matches(text.view(), check);
  }
  return {};
}

constexpr CpuImplementation regex_implementations[] = {{"rows", select_regex_rows}};

}  // namespace

const OpKernels& RegexFullMatch::kernels() {
  static constexpr OpKernels table{.reference = {regex_full_match_reference},
                                   .cpu = regex_implementations};
  return table;
}

}  // namespace quern
