// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace quern::wasi_nn {
namespace {

constexpr std::array<std::string_view, kind_count> kind_names = {"models", "weights", "tables",
                                                                 "arenas", "tensors"};

// The length of the UTF-8 sequence at the beginning; 0 if there is none.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) {
    return i < s.size() ? static_cast<std::uint8_t>(s[i]) : std::uint8_t{0};
  };
  const auto tails = [&](std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i)
      if (byte(i) >> 6 != 2) return false;
    return true;
  };
  const std::uint8_t first = byte(0);
  const std::uint8_t second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return tails(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool is_shortest = first != 0xe0 || second >= 0xa0;
    const bool is_surrogate = first == 0xed && second >= 0xa0;
    return tails(2) && is_shortest && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool is_in_range = (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90);
    return tails(3) && is_in_range ? 4 : 0;
  }
  return 0;
}

std::string escaped(std::string_view label) {
  std::string s;
  while (!label.empty()) {
    const std::size_t length = utf8_length(label);
    const char c = label[0];
    if (length == 0)
      s += "\xef\xbf\xbd";
    else if (c == '\\' || c == '"')
      (s += '\\') += c;
    else if (c == '\n')
      s += "\\n";
    else
      s += label.substr(0, length);
    label.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return s;
}

std::string seconds(std::chrono::nanoseconds time) {
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  const std::string fraction = std::to_string(ns % 1'000'000'000);
  return sentence(ns / 1'000'000'000, ".", std::string(9 - fraction.size(), '0'), fraction);
}

class Writer {
 public:
  explicit Writer(std::span<const LabelledFigures> tenants) : tenants_(tenants) {
    for (const LabelledFigures& t : tenants) labels_.push_back(escaped(t.label));
  }

  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = sentence("quern_nn_", name);
    text_ += sentence("# HELP ", name_, " ", help, "\n# TYPE ", name_, " ", type, "\n");
  }
  // A sample of each tenant; `label` and `value` are a second label, or empty.
  template <class F>
  void samples(std::string_view label, std::string_view value, const F& of) {
    const std::string more = label.empty() ? "" : sentence(",", label, "=\"", value, "\"");
    for (std::size_t i = 0; i < tenants_.size(); ++i)
      text_ += sentence(name_, "{tenant=\"", labels_[i], "\"", more, "} ", of(tenants_[i].figures),
                        "\n");
  }
  std::string take() { return std::move(text_); }

 private:
  std::span<const LabelledFigures> tenants_;
  std::vector<std::string> labels_;
  std::string name_, text_;
};

struct CountRow {
  std::string_view name, help;
  Resource resource;
};
constexpr CountRow count_rows[] = {
    {"graphs", "Handles of graphs, and named models.", &Counts::graphs},
    {"contexts", "Handles of contexts.", &Counts::contexts},
    {"model_bytes", "Bytes of model files.", &Counts::model_bytes},
    {"tensor_bytes", "Bytes of inputs that contexts hold, and of tensors.", &Counts::tensor_bytes},
    {"parallel_computes", "Computes at this moment.", &Counts::parallel_computes},
};

void write_calls(Writer& writer, Activity::Calls Activity::*calls) {
  struct Row {
    std::string_view result;
    std::uint64_t Activity::Calls::*count;
  };
  constexpr Row rows[] = {{"ok", &Activity::Calls::ok},
                          {"timed_out", &Activity::Calls::timed_out},
                          {"refused", &Activity::Calls::refused},
                          {"failed", &Activity::Calls::failed}};
  for (const Row& row : rows)
    writer.samples("result", row.result,
                   [&](const Figures& f) { return f.activity.*calls.*row.count; });
}

void write_times(Writer& writer) {
  struct Row {
    std::string_view phase;
    std::chrono::nanoseconds Activity::*time;
  };
  constexpr Row rows[] = {{"load", &Activity::load_time},
                          {"compile", &Activity::compile_time},
                          {"compute", &Activity::compute_time}};
  for (const Row& row : rows)
    writer.samples("phase", row.phase,
                   [&](const Figures& f) { return seconds(f.activity.*row.time); });
}

}  // namespace

std::string_view kind_name(Kind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

std::string metrics_text(std::span<const LabelledFigures> tenants) {
  Writer writer(tenants);
  writer.family("resident_bytes", "gauge", "Bytes that are held now, by what they are.");
  for (std::size_t i = 0; i < kind_count; ++i)
    writer.samples("kind", kind_names[i],
                   [&](const Figures& f) { return f.resident[static_cast<Kind>(i)]; });
  writer.family("resident_bytes_peak", "gauge", "The most bytes that were held at one time.");
  writer.samples("", "", [](const Figures& f) { return f.peak.resident_bytes; });
  for (const CountRow& row : count_rows) {
    writer.family(row.name, "gauge", row.help);
    writer.samples("", "", [&](const Figures& f) { return f.used.*row.resource; });
  }
  writer.family("loads_total", "counter", "Models that were loaded, by how that ended.");
  write_calls(writer, &Activity::loads);
  writer.family("computes_total", "counter", "Computes, by how they ended.");
  write_calls(writer, &Activity::computes);
  writer.family("processor_seconds_total", "counter",
                "Processor time of calling threads and of the teams of computes.");
  write_times(writer);
  return writer.take();
}

}  // namespace quern::wasi_nn
