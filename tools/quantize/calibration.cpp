// SPDX-License-Identifier: Apache-2.0
#include "tools/quantize/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <utility>

#include <quern/executable.h>
#include <quern/session.h>

#include "engine/vocabulary/text_util.h"
#include "tools/inputs.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& path) {
  constexpr std::array<std::string_view, 6> kinds = {".jpg", ".jpeg", ".png",
                                                     ".bmp", ".ppm",  ".pgm"};
  return std::ranges::count(kinds, small_letters(path.extension().string())) > 0;
}

// Counts of a value's elements in equal parts of its range.
class Histogram {
 public:
  explicit Histogram(Interval range) : range_(range) {}

  void add(std::span<const float> elements) {
    const float width = range_.high - range_.low;
    if (!(width > 0)) return;
    for (const float v : elements) {
      if (!std::isfinite(v)) continue;
      const float part = (v - range_.low) / width * static_cast<float>(counts_.size());
      const auto at = static_cast<std::int64_t>(part);
      ++counts_[static_cast<std::size_t>(
          std::clamp<std::int64_t>(at, 0, static_cast<std::int64_t>(counts_.size()) - 1))];
    }
  }

  // The shortest range that holds so many percent of the elements and 0, found by dropping parts
  // from whichever end has fewer elements.
  Interval holding(double percent) const {
    const auto all = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
    auto left = static_cast<std::uint64_t>(static_cast<double>(all) * (100 - percent) / 100);
    std::size_t low = 0, high = counts_.size();
    while (low + 1 < high) {
      const bool from_low = counts_[low] <= counts_[high - 1];
      const std::uint64_t dropped = from_low ? counts_[low] : counts_[high - 1];
      if (dropped > left) break;
      left -= dropped;
      from_low ? ++low : --high;
    }
    return {std::min(0.0F, edge(low)), std::max(0.0F, edge(high))};
  }

 private:
  float edge(std::size_t part) const {
    return range_.low + (range_.high - range_.low) * static_cast<float>(part) /
                            static_cast<float>(counts_.size());
  }

  Interval range_;
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(4096);
};

void widen(Interval& range, std::span<const float> elements) {
  for (const float v : elements) {
    if (!std::isfinite(v)) continue;
    range.low = std::min(range.low, v);
    range.high = std::max(range.high, v);
  }
}

// Runs samples on a model that hands out more than it did.
class Observer {
 public:
  static Result<Observer> make(EditedModel& edited, const std::vector<std::string_view>& names,
                               const DeviceArgs& device) {
    auto& outputs = edited.graph().outputs;
    const std::vector<onnx::ValueInfo> own = outputs;
    for (const std::string_view name : names)
      if (std::ranges::find(outputs, name, &onnx::ValueInfo::name) == outputs.end())
        outputs.push_back(
            {name,
             {.kind = onnx::TypeProto::Kind::tensor, .elem_type = 1, .dims = {}, .element = {}}});
    auto model = edited.model();
    outputs = own;
    if (!model) return std::move(model).error();
    Observer o;
    o.fits_ = fits_of(model->graph());
    QUERN_ASSIGN(const CompileOptions options, compile_options(device));
    QUERN_ASSIGN(auto cpu, device_named(device.device));
    QUERN_ASSIGN(o.executable_, Executable::compile(std::move(*model), std::move(cpu), options));
    QUERN_ASSIGN(o.session_, Session::create(o.executable_));
    for (const std::string_view name : names) {
      QUERN_ASSIGN(o.wanted_.emplace_back(), o.session_->output_index(std::string(name)));
    }
    return o;
  }

  // Calls see(i, elements) for each name of f32.
  template <class See>
  Status run(const InputArgs& sample, const See& see) {
    QUERN_ASSIGN(const auto inputs,
                 make_inputs(executable_->inputs(), executable_->metadata(), sample, 1, fits_));
    QUERN_TRY(bind_inputs(*session_, inputs));
    QUERN_TRY(session_->run());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      QUERN_ASSIGN(const TensorView view, session_->output(wanted_[i]));
      if (view.type.dtype == DType::f32) see(i, view.span<float>());
    }
    return {};
  }

 private:
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Session> session_;
  std::vector<std::size_t> wanted_;
  Fits fits_;
};

}  // namespace

Result<std::vector<InputArgs>> find_samples(const std::string& folder, const InputArgs& base,
                                            std::size_t most) {
  std::vector<InputArgs> samples;
  if (folder == "random") {
    for (std::size_t i = 0; i < std::min<std::size_t>(most, 8); ++i) {
      samples.push_back(base);
      samples.back().seed += 1000 * i;
    }
    return samples;
  }
  std::error_code error;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    paths.push_back(entry.path());
  if (error)
    return Status(Code::not_found, cat("--data ", shown(folder, 200), ": ", error.message()));
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    if (samples.size() == most) break;
    InputArgs sample = base;
    if (path.filename().string().starts_with("test_data_set_"))
      sample.data_set = path.string();
    else if (is_picture(path))
      sample.image = path.string();
    else if (small_letters(path.extension().string()) == ".npy")
      sample.inputs = {path.string()};
    else
      continue;
    samples.push_back(std::move(sample));
  }
  if (samples.empty())
    return Status(Code::not_found,
                  cat("--data ", shown(folder, 200),
                      ": no pictures, .npy files or folders test_data_set_N are in there"));
  return samples;
}

Result<Ranges> calibrate(EditedModel& model, const std::vector<std::string_view>& names,
                         const std::vector<InputArgs>& samples, const CalibrationOptions& options,
                         const Console& console) {
  QUERN_ASSIGN(Observer observer, Observer::make(model, names, options.device));
  std::vector<Interval> ranges(names.size());
  Progress progress(console);
  for (std::size_t k = 0; k < samples.size(); ++k) {
    progress.update(cat("sample ", k + 1, " of ", samples.size()));
    QUERN_TRY(observer.run(samples[k], [&](std::size_t i, std::span<const float> elements) {
      widen(ranges[i], elements);
    }));
  }
  if (options.percentile < 100) {
    std::vector<Histogram> histograms(ranges.begin(), ranges.end());
    for (const InputArgs& sample : samples)
      QUERN_TRY(observer.run(sample, [&](std::size_t i, std::span<const float> elements) {
        histograms[i].add(elements);
      }));
    for (std::size_t i = 0; i < names.size(); ++i)
      ranges[i] = histograms[i].holding(options.percentile);
  }
  Ranges by_name;
  for (std::size_t i = 0; i < names.size(); ++i) by_name.emplace(names[i], ranges[i]);
  return by_name;
}

}  // namespace quern::tools
