// SPDX-License-Identifier: Apache-2.0
// Any bytes as an expression, with a text for it behind a zero byte: an error with a sentence, or
// an automaton that answers as the simulation does.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "graph/regex/automaton.h"
#include "graph/regex/program.h"

namespace {

using namespace quern;         // NOLINT
using namespace quern::regex;  // NOLINT

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = all.find('\0');
  const auto program = Program::compile(all.substr(0, zero));
  if (!program) {
    const Code code = program.error().code();
    require(code == Code::invalid_argument || code == Code::unsupported, "another error");
    require(program.error().message().size() > 20, "no sentence");
    return 0;
  }
  // Long texts and programs take their time, and show nothing more.
  const std::string_view text = zero == all.npos ? "" : all.substr(zero + 1, 200);
  std::vector<std::uint32_t> working(Simulation::working_size(*program));
  Simulation simulation(*program, working.data());
  StopCheck check(nullptr);
  const bool matches = simulation.matches(text, check);
  require(simulation.matches(text, check) == matches, "another answer the second time");
  const auto automaton = Automaton::make(*program);
  require(!automaton || automaton->matches(text, check) == matches, "another answer of the table");
  return 0;
}
