// SPDX-License-Identifier: Apache-2.0
// The roofline of a profile as SVG. Williams, Waterman, Patterson: "Roofline: an insightful visual
// performance model", CACM 52(4), 2009.
#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"
#include "tools/profile_data.h"

namespace quern::tools {
namespace {

// Powers of ten that an axis spans.
struct Axis {
  double low, high;  // exponents
  double from, to;   // pixels
  double at(double v) const { return from + (std::log10(v) - low) / (high - low) * (to - from); }
};

std::string line(double x1, double y1, double x2, double y2, std::string_view css) {
  return cat("<line class=\"", css, "\" x1=\"", fixed_text(x1, 1), "\" y1=\"", fixed_text(y1, 1),
             "\" x2=\"", fixed_text(x2, 1), "\" y2=\"", fixed_text(y2, 1), "\"/>\n");
}

std::string label(double x, double y, std::string_view anchor, std::string_view text) {
  return cat("<text x=\"", fixed_text(x, 1), "\" y=\"", fixed_text(y, 1), "\" text-anchor=\"",
             anchor, "\">", html_text(text), "</text>\n");
}

std::string grid(const Axis& x, const Axis& y) {
  std::string s;
  for (int e = static_cast<int>(x.low); e <= static_cast<int>(x.high); ++e) {
    const double v = std::pow(10, e);
    s += line(x.at(v), y.from, x.at(v), y.to, "grid") +
         label(x.at(v), y.from + 16, "middle", number_text(v));
  }
  for (int e = static_cast<int>(y.low); e <= static_cast<int>(y.high); ++e) {
    const double v = std::pow(10, e);
    s += line(x.from, y.at(v), x.to, y.at(v), "grid") +
         label(x.from - 6, y.at(v) + 4, "end", number_text(v));
  }
  s += label((x.from + x.to) / 2, y.from + 36, "middle",
             "FLOP per byte (inputs, weights and outputs once)");
  return s + label(x.from, y.to - 6, "start", "GFLOP/s");
}

// The slope of one memory up to the flat roof.
std::string roof_line(const Axis& x, const Axis& y, double gflops, double gbytes,
                      std::string_view name) {
  if (gbytes <= 0 || gflops <= 0) return "";
  const double ridge = gflops / gbytes;
  const double begin = std::max(std::pow(10, x.low), std::pow(10, y.low) / gbytes);
  const double end = std::clamp(ridge, begin, std::pow(10, x.high));
  return line(x.at(begin), y.at(begin * gbytes), x.at(end), y.at(end * gbytes), "roof") +
         label(x.at(begin) + 8, y.at(begin * gbytes) - 8, "start",
               cat(name, " ", fixed_text(gbytes, 1), " GB/s"));
}

bool has_dot(const ProfiledStep& s) {
  return s.flops() > 0 && s.bytes() > 0 && s.ms > 0;
}

Axis spanning(double least, double most, double from, double to) {
  const double low = std::floor(std::log10(std::max(least, 1e-6)));
  return {low, std::max(std::ceil(std::log10(std::max(most, 1e-6))), low + 1), from, to};
}

}  // namespace

std::string roofline_svg(const Profile& profile) {
  double least_x = 0.1, most_x = 100, least_y = 1, most_y = std::max(profile.roof.gflops, 10.0);
  for (const ProfiledStep& s : profile.steps) {
    if (!has_dot(s)) continue;
    least_x = std::min(least_x, s.flops() / s.bytes());
    most_x = std::max(most_x, s.flops() / s.bytes());
    least_y = std::min(least_y, std::max(s.gflops(), 1e-3));
    most_y = std::max(most_y, s.gflops());
  }
  constexpr double width = 860, height = 420, left = 60, right = 20, top = 20, bottom = 46;
  const Axis x = spanning(least_x, most_x, left, width - right);
  const Axis y = spanning(least_y, most_y, height - bottom, top);
  std::string s = cat("<svg viewBox=\"0 0 ", fixed_text(width, 0), " ", fixed_text(height, 0),
                      "\" xmlns=\"http://www.w3.org/2000/svg\">\n", grid(x, y));
  const Roof& roof = profile.roof;
  s += roof_line(x, y, roof.gflops, roof.cache_gbytes, "cache");
  s += roof_line(x, y, roof.gflops, roof.copy_gbytes, "memory");
  if (roof.gflops > 0) {
    s += line(x.from, y.at(roof.gflops), x.to, y.at(roof.gflops), "roof");
    s += label(x.to - 4, y.at(roof.gflops) - 6, "end",
               cat(fixed_text(roof.gflops, 1), " GFLOP/s (", roof.instructions, ")"));
  }
  const double total = std::max(profile.kernel_ms(), 1e-9);
  for (const ProfiledStep& p : profile.steps) {
    if (!has_dot(p)) continue;
    const double radius = std::max(2.0, 40 * std::sqrt(p.ms / total));
    s += cat("<circle cx=\"", fixed_text(x.at(p.flops() / p.bytes()), 1), "\" cy=\"",
             fixed_text(y.at(std::max(p.gflops(), 1e-3)), 1), "\" r=\"", fixed_text(radius, 1),
             "\"><title>", html_text(p.step.op), " ", html_text(p.step.node), ": ", time_text(p.ms),
             ", ", fixed_text(p.gflops(), 1), " GFLOP/s</title></circle>\n");
  }
  return s + "</svg>\n";
}

}  // namespace quern::tools
