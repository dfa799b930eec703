// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_picture.h"

#include <algorithm>
#include <cmath>

#include "graph/text_util.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

constexpr double width = 1200;
constexpr double height = 640;
constexpr double left = 84;
constexpr double right = 16;
constexpr double top = 40;
constexpr double bottom = 44;

constexpr std::string_view style = R"css(
.plan { font: 12px system-ui, sans-serif; background: #fff; }
.plan text { fill: #333; } .plan .title { font-size: 14px; font-weight: 600; }
.plan rect.b { stroke: #fff; stroke-width: .4; } .plan rect.b:hover { stroke: #000; stroke-width: 1.5; }
.plan .grid { stroke: #ddd; } .plan .bound { stroke: #c22; stroke-dasharray: 6 4; }
.plan .live { fill: none; stroke: #222; stroke-width: 1.2; stroke-opacity: .8; }
)css";

std::string escaped(std::string_view text) {
  std::string s;
  for (char c : shown(text, 200)) {
    switch (c) {
      case '<': s += "&lt;"; break;
      case '>': s += "&gt;"; break;
      case '&': s += "&amp;"; break;
      case '"': s += "&quot;"; break;
      default: s += c;
    }
  }
  return s;
}

// Steps at which something begins or ends stand side by side, however far apart they are.
class Chart {
 public:
  Chart(const MemoryProblem& problem, const MemoryPlan& plan)
      : problem_(problem), plan_(plan), pieces_(pieces_of(problem)) {
    for (const Piece& p : pieces_) {
      times_.push_back(p.first);
      times_.push_back(p.end);
    }
    std::ranges::sort(times_);
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    bound_ = lower_bound(problem);
    most_ = static_cast<double>(std::max<std::uint64_t>({plan.size, bound_, 1}));
  }

  std::string draw() const { return cat(grid(), buffers(), live_line(), bound_line()); }

 private:
  double x(std::size_t step) const {
    const auto last = static_cast<double>(std::max<std::size_t>(times_.size(), 2) - 1);
    return left + static_cast<double>(step) / last * (width - left - right);
  }
  double y(double address) const {
    return height - bottom - address / most_ * (height - top - bottom);
  }
  std::size_t step(std::int64_t time) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(times_, time) - times_.begin());
  }

  std::string grid() const {
    std::string s;
    for (int k = 0; k <= 4; ++k) {
      const double address = most_ * k / 4;
      s += cat("<line class=\"grid\" x1=\"", fixed(left, 0), "\" x2=\"", fixed(width - right, 0),
               "\" y1=\"", fixed(y(address), 1), "\" y2=\"", fixed(y(address), 1), "\"/>",
               "<text text-anchor=\"end\" x=\"", fixed(left - 8, 0), "\" y=\"",
               fixed(y(address) + 4, 1), "\">", bytes_text(address), "</text>\n");
    }
    const std::size_t labels = std::min<std::size_t>(times_.size(), 11);
    for (std::size_t k = 0; k < labels; ++k) {
      const std::size_t at = labels == 1 ? 0 : k * (times_.size() - 1) / (labels - 1);
      s += cat("<text text-anchor=\"", k + 1 == labels ? "end" : "middle", "\" x=\"",
               fixed(x(at), 1), "\" y=\"", fixed(height - bottom + 18, 0), "\">", times_[at],
               "</text>\n");
    }
    return s + cat("<text text-anchor=\"middle\" x=\"", fixed((left + width - right) / 2, 0),
                   "\" y=\"", fixed(height - 8, 0), "\">step</text>\n");
  }

  std::string buffers() const {
    std::string s;
    for (const Piece& p : pieces_) {
      const Interval& i = problem_.intervals[p.interval];
      const auto from = static_cast<double>(plan_.offsets[p.interval] + p.from);
      const auto to = static_cast<double>(plan_.offsets[p.interval] + p.to);
      // Neighbours get hues far apart.
      const double hue = std::fmod(static_cast<double>(p.interval) * 137.508, 360);
      s += cat("<rect class=\"b\" x=\"", fixed(x(step(p.first)), 2), "\" y=\"", fixed(y(to), 2),
               "\" width=\"", fixed(x(step(p.end)) - x(step(p.first)), 2), "\" height=\"",
               fixed(y(from) - y(to), 2), "\" fill=\"hsl(", fixed(hue, 0), ",55%,",
               p.interval % 2 ? "62" : "70", "%)\"><title>", escaped(i.name), ": ", i.size,
               " bytes at ", plan_.offsets[p.interval], ", steps ", i.first, " to ", i.end,
               "</title></rect>\n");
    }
    return s;
  }

  std::string live_line() const {
    std::vector<double> live(times_.size());
    for (const Piece& p : pieces_) {
      live[step(p.first)] += static_cast<double>(p.to - p.from);
      live[step(p.end)] -= static_cast<double>(p.to - p.from);
    }
    std::string s = "<polyline class=\"live\" points=\"";
    double now = 0;
    for (std::size_t k = 0; k < live.size(); ++k) {
      s += cat(fixed(x(k), 1), ",", fixed(y(now), 1), " ");
      now += live[k];
      s += cat(fixed(x(k), 1), ",", fixed(y(now), 1), " ");
    }
    return s + "\"><title>bytes that are live</title></polyline>\n";
  }

  std::string bound_line() const {
    const std::string at = fixed(y(static_cast<double>(bound_)), 1);
    return cat("<line class=\"bound\" x1=\"", fixed(left, 0), "\" x2=\"", fixed(width - right, 0),
               "\" y1=\"", at, "\" y2=\"", at, "\"><title>lower bound: ", bound_,
               " bytes</title></line>\n");
  }

  const MemoryProblem& problem_;
  const MemoryPlan& plan_;
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> times_;
  std::uint64_t bound_ = 0;
  double most_ = 1;
};

std::string svg_element(const PlanPicture& p) {
  return cat("<svg class=\"plan\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
             fixed(width, 0), " ", fixed(height, 0), "\">\n<style>", style, "</style>\n",
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text class=\"title\" x=\"",
             fixed(left, 0), "\" y=\"24\">", escaped(p.title), "</text>\n",
             Chart(*p.problem, *p.plan).draw(), "</svg>\n");
}

constexpr std::string_view page_script = R"html(<script>
const plans = [...document.querySelectorAll('svg.plan')], choice = document.getElementById('choice');
const show = () => plans.forEach((p, i) => { p.style.display = i === choice.selectedIndex ? '' : 'none'; });
choice.onchange = show;
show();
document.onmouseover = e => {
  const title = e.target.querySelector && e.target.closest('svg.plan') && e.target.querySelector(':scope > title');
  document.getElementById('hint').textContent = title ? title.textContent : '';
};
</script>)html";

}  // namespace

std::string plan_svg(const PlanPicture& picture) {
  return svg_element(picture);
}

std::string plan_page(const std::string& title, const std::vector<PlanPicture>& pictures) {
  std::string options;
  std::string plans;
  for (const PlanPicture& p : pictures) {
    options += cat("<option>", escaped(p.title), "</option>");
    plans += svg_element(p);
  }
  return cat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", escaped(title),
      "</title>\n<style>body { font: 14px system-ui, sans-serif; margin: 1rem; } svg { width: "
      "100%; height: auto; max-height: 85vh; } #hint { min-height: 1.5em; }</style></head>"
      "<body>\n<select id=\"choice\">",
      options, "</select>\n<div id=\"hint\"></div>\n", plans, page_script, "</body></html>\n");
}

}  // namespace quern::tools
