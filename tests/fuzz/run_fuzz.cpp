// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model, to its answer: the plainest loop of each operator on
// the graph as it is
// ("reference"), and the best ones on the graph as it is rewritten ("cpu"),
// agree. Both give outputs of the same bytes and shapes, but for rounding, or
// both refuse. In bounded memory, soon after the deadline. Another device than
// "cpu" is held to the reference where QUERN_FUZZ_DEVICE names it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <quern/onnx.h>

#include "tests/fuzz/compare_answers.h"
#include "tests/fuzz/model_run.h"
#include "tests/fuzz/onnx_mutator.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/refusals.h"

namespace {

using namespace quern;        // NOLINT
using namespace quern::fuzz;  // NOLINT

[[noreturn]] void found(const Model& model, int round, const std::string& what) {
  std::fprintf(stderr, "FOUND in round %d: %s\n%s\n", round, what.c_str(), model.text(64).c_str());
  std::abort();
}

bool was_too_much(const Answer& a) {
  return a.code == Code::busy || a.code == Code::timed_out || a.code == Code::out_of_memory;
}

std::string told(const Answer& a) {
  return a.code == Code::ok ? "gives outputs" : "refuses: " + a.message;
}

void compare(const Model& model, int round, const Answer& wanted, const Answer& given,
             const CompileOptions& plain) {
  if (was_too_much(wanted) || was_too_much(given)) return;
  for (const Answer* a : {&wanted, &given})
    if (a->code == Code::internal) found(model, round, "an internal error: " + a->message);
  if ((wanted.code == Code::ok) != (given.code == Code::ok)) {
    if (is_known_refusal(wanted, given)) return;
    if (given.code == Code::ok && is_of_a_type_alone(model.graph(), wanted.message)) return;
    found(model, round, "reference " + told(wanted) + "\n, " + tested_device() + " " + told(given));
  }
  if (wanted.code != Code::ok || is_same(wanted, given)) return;
  if (const auto what = outside_of_bounds(model, round, given)) {
    if (!what->empty()) found(model, round, *what);
    return;
  }
  const double rounding = coarsest_rounding(model);
  if (difference(wanted, given, nullptr, rounding).empty()) return;
  // Where outputs follow a small change of the inputs far, so may they follow
  // rounding.
  const std::vector<Answer> moved = run_model(model, "reference", plain, Inputs::moved);
  const std::string what =
      difference(wanted, given, &moved[static_cast<std::size_t>(round)], rounding);
  if (!what.empty()) found(model, round, what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto model = parse_onnx(bytes, nullptr, "", {.max_bytes = 4 << 20});
  if (!model) return 0;
  CompileOptions plain;
  plain.threads = 1;
  plain.optimize = plain.order = plain.alias = false;
  // The levers are the model's own: the same each time that it comes.
  fuzz::Random random(size > 0 ? size * 256 + data[size / 2] : 0);
  CompileOptions best;
  best.threads = 1 + static_cast<int>(random.below(2));
  best.order = !random.one_in(4);
  best.alias = !random.one_in(4);
  best.scratch = !random.one_in(4);
  const std::vector<Answer> wanted = run_model(*model, "reference", plain, Inputs::plain);
  const std::vector<Answer> given = run_model(*model, tested_device(), best, Inputs::plain);
  for (int round = 0; round < rounds; ++round) {
    const auto i = static_cast<std::size_t>(round);
    compare(*model, round, wanted[i], given[i], plain);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  const std::string changed = mutate_model({reinterpret_cast<const char*>(data), size}, seed);
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
