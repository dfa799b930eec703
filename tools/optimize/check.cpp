// SPDX-License-Identifier: Apache-2.0
#include "tools/optimize/check.h"

#include <algorithm>
#include <utility>

#include <quern/executable.h>
#include <quern/session.h>

#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"
#include "tools/against/difference.h"
#include "tools/inputs.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

bool draws_numbers(const Graph& g) {
  return std::ranges::any_of(g.order(), [&](NodeId id) {
    return g.def(id).is(OpTrait::random) || std::ranges::any_of(g.node(id).bodies, draws_numbers);
  });
}

Result<std::unique_ptr<Session>> session_of(Model model, const DeviceArgs& args) {
  QUERN_ASSIGN(CompileOptions options, compile_options(args));
  options.optimize = false;
  QUERN_ASSIGN(auto device, device_named(args.device));
  QUERN_ASSIGN(const auto executable,
               Executable::compile(std::move(model), std::move(device), options));
  return Session::create(executable);
}

Status run_on(Session& session, std::span<const InputValue> inputs) {
  QUERN_TRY(bind_inputs(session, inputs));
  return session.run();
}

// Inputs that the session has run on. Free dimensions that do not fit are guessed again.
Result<std::vector<InputValue>> run_on_some(Session& session, const InputArgs& args,
                                            const Fits& fits) {
  const Executable& executable = session.executable();
  QUERN_ASSIGN(auto inputs, make_inputs(executable.inputs(), executable.metadata(), args, 1, fits));
  const Status first = run_on(session, inputs);
  if (first.ok()) return inputs;
  for (const InputArgs& other : other_guesses(args, executable.inputs(), inputs)) {
    auto more = make_inputs(executable.inputs(), executable.metadata(), other, 1, fits);
    if (more && run_on(session, *more).ok()) return more;
  }
  return Status(first.code(), std::string(first.message())).in("the original, on generated inputs");
}

Result<InputValue> output_of(const Session& session, std::size_t i) {
  const bool is_sequence = session.executable().outputs()[i].is_sequence();
  InputValue value{.kind = is_sequence ? InputValue::Kind::sequence : InputValue::Kind::tensor};
  QUERN_ASSIGN(const std::size_t count, session.output_count(i));
  for (std::size_t k = 0; k < count; ++k) {
    QUERN_ASSIGN(const TensorView view, session.output_element(i, k));
    value.tensors.emplace_back(view.type, nullptr, view.data);
  }
  if (count == 0 && !is_sequence) value.kind = InputValue::Kind::none;
  return value;
}

bool have_one_type(const InputValue& a, const InputValue& b) {
  return a.kind == b.kind &&
         std::ranges::equal(a.tensors, b.tensors, {}, &Tensor::dtype, &Tensor::dtype);
}

std::string mismatch_of(const Divergence& d) {
  if (!d.parts) return "";
  if (!d.mismatch.empty()) return d.mismatch;
  return cat(d.outside, " of ", d.elements, " elements differ, at ", d.largest.at, " ",
             d.largest.got, " where the original has ", d.largest.wanted);
}

}  // namespace

double ModelCheck::largest_difference() const {
  double largest = 0;
  for (const OutputCheck& o : outputs) largest = std::max(largest, o.largest_difference);
  return largest;
}
const OutputCheck* ModelCheck::mismatch() const {
  const auto at =
      std::ranges::find_if(outputs, [](const OutputCheck& o) { return !o.mismatch.empty(); });
  return at == outputs.end() ? nullptr : &*at;
}

Result<ModelCheck> check_model(Model before, Model after, const InputArgs& args,
                               const DeviceArgs& device, const Criterion& criterion) {
  ModelCheck check{.is_random = draws_numbers(before.graph())};
  const Fits fits = fits_of(before.graph());
  QUERN_ASSIGN(const auto first, session_of(std::move(before), device));
  QUERN_ASSIGN(const auto inputs, run_on_some(*first, args, fits));
  auto second = session_of(std::move(after), device);
  if (!second) return std::move(second).error().in("the rewritten model");
  if (Status ran = run_on(**second, inputs); !ran.ok())
    return std::move(ran).in("the rewritten model");
  for (std::size_t i = 0; i < first->executable().outputs().size(); ++i) {
    QUERN_ASSIGN(const InputValue wanted, output_of(*first, i));
    QUERN_ASSIGN(const InputValue got, output_of(**second, i));
    OutputCheck& output = check.outputs.emplace_back();
    output.name = first->executable().outputs()[i].name;
    if (check.is_random) {
      if (!have_one_type(got, wanted)) output.mismatch = "another type";
      continue;
    }
    const Divergence d = difference_of(got, wanted, criterion);
    output.largest_difference = d.agreement;
    output.mismatch = mismatch_of(d);
  }
  return check;
}

}  // namespace quern::tools
