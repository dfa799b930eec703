// SPDX-License-Identifier: Apache-2.0
#include "tools/quantize/assessment.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <quern/executable.h>
#include <quern/session.h>

#include "engine/vocabulary/text_util.h"
#include "tools/inputs.h"
#include "tools/measurement.h"
#include "tools/opened.h"
#include "tools/summary.h"

namespace quern::tools {
namespace {

class Side {
 public:
  static Result<Side> make(Model model, const DeviceArgs& device) {
    Side s;
    s.fits_ = fits_of(model.graph());
    QUERN_ASSIGN(const CompileOptions options, compile_options(device));
    QUERN_ASSIGN(auto opened, device_named(device.device));
    QUERN_ASSIGN(s.executable_, Executable::compile(std::move(model), std::move(opened), options));
    QUERN_ASSIGN(s.session_, Session::create(s.executable_));
    return s;
  }

  Result<std::vector<InputValue>> inputs(const InputArgs& sample) const {
    return make_inputs(executable_->inputs(), executable_->metadata(), sample, 1, fits_);
  }
  Status run(const std::vector<InputValue>& inputs) {
    QUERN_TRY(bind_inputs(*session_, inputs));
    return session_->run();
  }
  // Once more, with the same inputs.
  Status time() {
    Stopwatch watch;
    QUERN_TRY(session_->run());
    times_.push_back(watch.lap());
    return {};
  }
  Result<TensorView> output(std::size_t i) const { return session_->output(i); }
  const std::vector<ValueSpec>& outputs() const { return executable_->outputs(); }
  double median_ms() const { return distribution(times_).median; }

 private:
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Session> session_;
  Fits fits_;
  std::vector<double> times_;
};

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  if (aa == 0 && bb == 0) return 1;
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

void add_classes(const TensorView& before, const TensorView& after, OutputLoss& loss) {
  const auto rows = score_rows(before);
  if (!rows || after.type.shape != before.type.shape) return;
  for (std::int64_t row = 0; row < *rows; ++row) {
    const auto best = [&](const TensorView& t) {
      return rank_classes(t, row, *rows, 1).classes.at(0).index;
    };
    ++loss.rows;
    loss.same_class += best(before) == best(after) ? 1 : 0;
  }
}

class Comparer {
 public:
  Comparer(Side before, Side after) : before_(std::move(before)), after_(std::move(after)) {
    for (const ValueSpec& spec : before_.outputs())
      losses_.push_back({.name = spec.name, .least_cosine = 1});
  }

  Status add(const InputArgs& sample) {
    QUERN_ASSIGN(inputs_, before_.inputs(sample));
    QUERN_TRY(before_.run(inputs_));
    QUERN_TRY(after_.run(inputs_));
    ++samples_;
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      if (before_.outputs()[i].kind != ValueSpec::Kind::tensor) continue;
      QUERN_ASSIGN(const TensorView before, before_.output(i));
      QUERN_ASSIGN(const TensorView after, after_.output(i));
      if (before.type.dtype != DType::f32 || after.type.dtype != DType::f32) continue;
      const double c = cosine(before.span<float>(), after.span<float>());
      losses_[i].mean_cosine += c;
      losses_[i].least_cosine = std::min(losses_[i].least_cosine, c);
      add_classes(before, after, losses_[i]);
    }
    return {};
  }

  // In turns, on the inputs of the last sample.
  Status time(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      QUERN_TRY(before_.time());
      QUERN_TRY(after_.time());
    }
    return {};
  }

  Assessment result() const {
    Assessment a{
        .outputs = losses_, .before_ms = before_.median_ms(), .after_ms = after_.median_ms()};
    for (OutputLoss& loss : a.outputs)
      loss.mean_cosine /= static_cast<double>(std::max<std::size_t>(samples_, 1));
    return a;
  }

 private:
  Side before_, after_;
  std::vector<InputValue> inputs_;  // bound to both
  std::vector<OutputLoss> losses_;
  std::size_t samples_ = 0;
};

}  // namespace

Result<Assessment> assess(Model before, Model after, const std::vector<InputArgs>& samples,
                          const DeviceArgs& device, const Console& console) {
  QUERN_ASSIGN(Side first, Side::make(std::move(before), device));
  QUERN_ASSIGN(Side second, Side::make(std::move(after), device));
  Comparer comparer(std::move(first), std::move(second));
  Progress progress(console);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    progress.update(cat("comparing ", i + 1, " of ", samples.size()));
    QUERN_TRY(comparer.add(samples[i]));
  }
  constexpr int rounds = 15;
  QUERN_TRY(comparer.time(rounds));
  return comparer.result();
}

}  // namespace quern::tools
