// SPDX-License-Identifier: Apache-2.0
#include "tools/dressed_case.h"

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

// Tolerance relative to the largest element: values without a chosen criterion are intermediate
// ones, in which large numbers may have cancelled. Sums of some thousand products in f32 round by
// less.
constexpr double value_rounding = 1e-5;

std::vector<std::optional<TensorType>> expected_types(const DataSet& set) {
  std::vector<std::optional<TensorType>> types;
  for (const auto& expected : set.outputs) {
    auto& type = types.emplace_back();
    if (expected && expected->kind == InputValue::Kind::tensor) type = expected->tensors[0].type();
  }
  return types;
}

// The graph as it stands, on the device that knows no rewrite.
Result<std::unique_ptr<Session>> reference_session(const Graph& graph) {
  QUERN_ASSIGN(auto device, device_named("reference"));
  Model model(std::make_unique<Graph>(graph.clone()), {});
  QUERN_ASSIGN(
      const auto executable,
      Executable::compile(std::move(model), std::move(device),
                          {.threads = 1, .optimize = false, .order = false, .alias = false}));
  return Session::create(executable);
}

class DressedRun {
 public:
  DressedRun(const DressedCase& c, Dressed dressed) : case_(c), dressed_(std::move(dressed)) {}

  Status run() {
    Model model(std::make_unique<Graph>(dressed_.graph.clone()), {});
    QUERN_ASSIGN(const auto executable,
                 Executable::compile(std::move(model), case_.device, {.threads = case_.threads}));
    QUERN_ASSIGN(session_, Session::create(executable));
    QUERN_TRY(run_own());
    if (dressed_.between.empty()) return {};
    QUERN_TRY(run_between());
    return run_own().in("the case's own inputs once more");
  }

 private:
  Status run_own() {
    QUERN_TRY(bind_inputs(*session_, dressed_.inputs));
    QUERN_TRY(session_->run());
    for (std::size_t i = 0; i < dressed_.outputs.size(); ++i) {
      Status status = dressed_.outputs[i].plain ? check_plain(i) : check_added(i);
      if (!status.ok()) return std::move(status).in(output_text(i));
    }
    return {};
  }

  // The inputs are generated: a device need not accept what the reference rejects.
  Status run_between() {
    QUERN_TRY(ask_reference(dressed_.between));
    if (!asked_.ok()) {
      QUERN_TRY(bind_inputs(*session_, dressed_.between));
      const Status ignored = session_->run();
      return {};
    }
    Status status = bind_inputs(*session_, dressed_.between);
    if (status.ok()) status = session_->run();
    for (std::size_t i = 0; i < dressed_.outputs.size() && status.ok(); ++i) {
      status = check_reference(i);
      if (!status.ok()) status = std::move(status).in(output_text(i));
    }
    return std::move(status).in("the run with other inputs");
  }

  std::string output_text(std::size_t i) const {
    return cat("output '", shown(dressed_.graph.output_names()[i]), "'");
  }

  Status check_plain(std::size_t i) const {
    const DressedOutput& output = dressed_.outputs[i];
    const auto& expected = case_.set.outputs[*output.plain];
    if (!expected) return {};
    std::vector<Tensor> wanted = expected->tensors;
    if (output.rearranged)
      for (Tensor& t : wanted) {
        QUERN_ASSIGN(t, output.rearranged(t.view()));
      }
    return check(i, views_of(wanted), case_.criteria[*output.plain]);
  }

  Status check_added(std::size_t i) {
    if (!reference_) {
      QUERN_TRY(ask_reference(dressed_.inputs));
      if (!asked_.ok()) return std::move(asked_).in("reference");
    }
    return check_reference(i);
  }

  Status check_reference(std::size_t i) const {
    QUERN_ASSIGN(const auto wanted, output_views(*reference_, i));
    return check(i, wanted, {.of_largest = value_rounding});
  }

  Status check(std::size_t i, std::span<const TensorView> wanted,
               const Criterion& criterion) const {
    QUERN_ASSIGN(const auto got, output_views(*session_, i));
    const Comparison c = compare_lists(got, wanted, criterion);
    return c.ok ? Status() : Status(Code::invalid_argument, c.reason);
  }

  // The reference's status for these inputs is in `asked_`.
  Status ask_reference(std::span<const InputValue> inputs) {
    QUERN_ASSIGN(reference_, reference_session(dressed_.graph));
    asked_ = bind_inputs(*reference_, inputs);
    if (asked_.ok()) asked_ = reference_->run();
    return {};
  }

  const DressedCase& case_;
  Dressed dressed_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> reference_;
  Status asked_;
};

}  // namespace

Status run_dressed(const Dress& dress, const DressedCase& c) {
  const auto types = expected_types(c.set);
  QUERN_ASSIGN(auto dressed, dress.put_on({c.model.graph(), c.set.inputs, types}));
  if (!dressed) return {};
  return DressedRun(c, *std::move(dressed)).run();
}

}  // namespace quern::tools
