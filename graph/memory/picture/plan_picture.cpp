// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/picture/plan_picture.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "graph/memory/picture/page.h"

namespace quern {
namespace {

constexpr std::string_view picture_style = R"css(
.plan { font: 12px system-ui, sans-serif; background: #fff; }
.plan text { fill: #333; } .plan .title { font-size: 14px; font-weight: 600; }
.plan rect.b { stroke: #fff; stroke-width: .4; } .plan rect.b:hover, .plan rect.same { stroke: #000; stroke-width: 1.5; }
.plan rect.stays { fill-opacity: .25; }
.plan .grid { stroke: #ddd; } .plan .bound { stroke: #c22; stroke-dasharray: 6 4; }
.plan .name { font-size: 10px; fill: #222; pointer-events: none; }
.plan .live { fill: none; stroke: #222; stroke-width: 1.2; stroke-opacity: .8; }
)css";

// Steps at which something begins or ends, in order.
std::vector<std::int64_t> picture_times(const MemoryProblem& problem) {
  std::vector<std::int64_t> times;
  for (const Piece& p : pieces_of(problem)) {
    times.push_back(p.first);
    times.push_back(p.end);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

// One memory: of all buffers, or of those that lie in a bank.
struct PicturePanel {
  MemoryProblem problem;
  MemoryPlan plan;
  std::vector<std::uint32_t> members;  // the number of each buffer; empty: as they are
  std::string name;
  double top = 0;  // of its picture
};

// Steps stand side by side, however far apart they are.
class PlanChart {
 public:
  static constexpr double width = 1200;
  static constexpr double height = 640;
  static constexpr double left = 84;
  static constexpr double right = 16;
  static constexpr double top = 40;
  static constexpr double bottom = 44;

  PlanChart(const PicturePanel& panel, std::vector<std::int64_t> times)
      : panel_(panel),
        problem_(panel.problem),
        plan_(panel.plan),
        pieces_(pieces_of(panel.problem)),
        times_(std::move(times)) {
    bound_ = lower_bound(problem_);
    most_ = static_cast<double>(std::max<std::uint64_t>({plan_.size, bound_, 1}));
  }

  std::string draw() const { return cat(grid(), buffers(), live_line(), bound_line(), legend()); }

 private:
  double x(std::size_t step) const {
    const auto last = static_cast<double>(std::max<std::size_t>(times_.size(), 2) - 1);
    return left + static_cast<double>(step) / last * (width - left - right);
  }
  double y(double address) const {
    return panel_.top + height - bottom - address / most_ * (height - top - bottom);
  }
  std::size_t step(std::int64_t time) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(times_, time) - times_.begin());
  }

  std::string grid() const {
    std::string s;
    for (int k = 0; k <= 4; ++k) {
      const double address = most_ * k / 4;
      s += cat("<line class=\"grid\" x1=\"", fixed_text(left, 0), "\" x2=\"",
               fixed_text(width - right, 0), "\" y1=\"", fixed_text(y(address), 1), "\" y2=\"",
               fixed_text(y(address), 1), "\"/>", "<text text-anchor=\"end\" x=\"",
               fixed_text(left - 8, 0), "\" y=\"", fixed_text(y(address) + 4, 1), "\">",
               bytes_text(address), "</text>\n");
    }
    const std::size_t labels = std::min<std::size_t>(times_.size(), 11);
    for (std::size_t k = 0; k < labels; ++k) {
      const std::size_t at = labels == 1 ? 0 : k * (times_.size() - 1) / (labels - 1);
      s += cat("<text text-anchor=\"", k + 1 == labels ? "end" : "middle", "\" x=\"",
               fixed_text(x(at), 1), "\" y=\"", fixed_text(panel_.top + height - bottom + 18, 0),
               "\">", times_[at], "</text>\n");
    }
    return s + cat("<text text-anchor=\"middle\" x=\"", fixed_text((left + width - right) / 2, 0),
                   "\" y=\"", fixed_text(panel_.top + height - 8, 0), "\">step</text>\n");
  }

  std::string buffers() const {
    std::string s;
    for (const Piece& p : pieces_) {
      const Interval& i = problem_.intervals[p.interval];
      const auto from = static_cast<double>(plan_.offsets[p.interval] + p.from);
      const auto to = static_cast<double>(plan_.offsets[p.interval] + p.to);
      // Neighbours get hues far apart.
      const std::size_t number = panel_.members.empty() ? p.interval : panel_.members[p.interval];
      const double hue = std::fmod(static_cast<double>(number) * 137.508, 360);
      s += cat("<rect class=\"b\" data-i=\"", number, "\" data-o=\"", plan_.offsets[p.interval],
               "\" x=\"", fixed_text(x(step(p.first)), 2), "\" y=\"", fixed_text(y(to), 2),
               "\" width=\"", fixed_text(x(step(p.end)) - x(step(p.first)), 2), "\" height=\"",
               fixed_text(y(from) - y(to), 2), "\" fill=\"hsl(", fixed_text(hue, 0), ",55%,",
               number % 2 ? "62" : "70", "%)\"><title>", html_text(i.name), ": ", i.size,
               " bytes at ", plan_.offsets[p.interval], ", steps ", i.first, " to ", i.end,
               "</title></rect>\n");
      s += label(i.name, x(step(p.first)), x(step(p.end)), y(to), y(from));
    }
    return s;
  }

  // The name, where the box has room for some letters of it.
  static std::string label(const std::string& name, double first, double end, double over,
                           double under) {
    constexpr double letter = 6;
    constexpr double line = 12;
    const double room = end - first - letter;
    if (under - over < line || room < 4 * letter) return "";
    const std::string text = shown(name, static_cast<std::size_t>(room / letter));
    return cat("<text class=\"name\" x=\"", fixed_text(first + 3, 1), "\" y=\"",
               fixed_text((over + under) / 2 + 3.5, 1), "\">", html_text(text), "</text>\n");
  }

  // In which bank.
  std::string place() const {
    return panel_.name.empty() ? "" : cat(" of ", html_text(panel_.name));
  }

  std::string legend() const {
    const double at = width - right;
    if (!panel_.name.empty())
      return cat("<text class=\"title\" x=\"", fixed_text(left, 0), "\" y=\"",
                 fixed_text(panel_.top + top - 10, 0), "\">", html_text(panel_.name), ": ",
                 bytes_text(static_cast<double>(plan_.size)), "</text>\n");
    return cat("<line class=\"live\" x1=\"", fixed_text(at - 210, 0), "\" x2=\"",
               fixed_text(at - 180, 0), "\" y1=\"20\" y2=\"20\"/><text x=\"",
               fixed_text(at - 175, 0), "\" y=\"24\">live</text><line class=\"bound\" x1=\"",
               fixed_text(at - 130, 0), "\" x2=\"", fixed_text(at - 100, 0),
               "\" y1=\"20\" y2=\"20\"/><text x=\"", fixed_text(at - 95, 0),
               "\" y=\"24\">lower bound</text>\n");
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
      s += cat(fixed_text(x(k), 1), ",", fixed_text(y(now), 1), " ");
      now += live[k];
      s += cat(fixed_text(x(k), 1), ",", fixed_text(y(now), 1), " ");
    }
    return s + "\"><title>bytes that are live</title></polyline>\n";
  }

  std::string bound_line() const {
    const std::string at = fixed_text(y(static_cast<double>(bound_)), 1);
    return cat("<line class=\"bound\" x1=\"", fixed_text(left, 0), "\" x2=\"",
               fixed_text(width - right, 0), "\" y1=\"", at, "\" y2=\"", at,
               "\"><title>lower bound: ", bound_, " bytes</title></line>\n");
  }

  const PicturePanel& panel_;
  const MemoryProblem& problem_;
  const MemoryPlan& plan_;
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> times_;
  std::uint64_t bound_ = 0;
  double most_ = 1;
};

// The whole memory, or the banks, one under the other.
std::vector<PicturePanel> picture_panels(const PlanPicture& p) {
  std::vector<PicturePanel> panels;
  if (p.problem->banks.empty()) {
    panels.push_back({*p.problem, *p.plan, {}, "", 0});
    return panels;
  }
  for (std::uint32_t b = 0; b < p.problem->banks.size(); ++b) {
    PicturePanel panel;
    for (std::uint32_t i = 0; i < p.plan->banks.size(); ++i) {
      if (p.plan->banks[i] != b) continue;
      panel.members.push_back(i);
      panel.plan.offsets.push_back(p.plan->offsets[i]);
    }
    panel.problem = bank_problem(*p.problem, b, panel.members);
    panel.plan.size = p.plan->bank_sizes[b];
    panel.name = cat("bank ", p.problem->banks[b].name);
    panel.top = PlanChart::top + PlanChart::height * b;
    panels.push_back(std::move(panel));
  }
  return panels;
}

std::string svg_element(const PlanPicture& p) {
  const std::vector<PicturePanel> panels = picture_panels(p);
  const std::vector<std::int64_t> times = picture_times(*p.problem);
  std::string charts;
  for (const PicturePanel& panel : panels) charts += PlanChart(panel, times).draw();
  return cat("<svg class=\"plan\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
             fixed_text(PlanChart::width, 0), " ",
             fixed_text(panels.back().top + PlanChart::height, 0), "\">\n<style>", picture_style,
             "</style>\n",
             "<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text "
             "class=\"title\" x=\"",
             fixed_text(PlanChart::left, 0), "\" y=\"24\">", html_text(p.title), "</text>\n",
             charts, "</svg>\n");
}

constexpr std::string_view plan_page_style = R"css(
main { max-width: none; } h1 { margin-bottom: .6rem; }
svg.plan { display: none; } svg.shown { display: block; }
svg.plan .paper { fill: var(--card); } svg.plan text { fill: var(--ink); } svg.plan .grid { stroke: var(--line); }
svg.plan .live { stroke: var(--ink); } svg.plan .name { fill: var(--ink); stroke: var(--card); stroke-width: 2px; stroke-opacity: .6; paint-order: stroke; }
svg.plan .bound { stroke: var(--mark); } svg.plan rect.b { stroke: var(--card); }
svg.plan rect.b:hover, svg.plan rect.same { stroke: var(--ink); }
#hint { min-height: 1.5em; font-weight: 600; margin: .4rem 0; }
.choices { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; } select { max-width: 100%; }
#steps { margin-top: 1rem; } #steps table { min-width: 40rem; }
td, th { padding: 2px 8px; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
td.n { text-align: right; white-space: nowrap; } td.bar { width: 180px; } tr.peak { background: color-mix(in srgb, var(--mark) 18%, transparent); }
td.bar div { background: var(--accent); height: 10px; margin-top: 4px; }
)css";

constexpr std::string_view plan_page_script = R"js(
const plans = [...document.querySelectorAll('svg.plan')], one = document.getElementById('one'),
      other = document.getElementById('other'), moved = document.getElementById('moved');
const boxes = plan => [...plan.querySelectorAll('rect.b')];
const show = () => {
  const shown = [plans[one.selectedIndex], plans[other.selectedIndex - 1]].filter(p => p);
  plans.forEach(p => p.classList.toggle('shown', shown.includes(p)));
  if (shown.length === 2) shown[0].parentNode.append(shown[0], shown[1]);
  const places = shown.map(p => new Map(boxes(p).map(b => [b.dataset.i, b.dataset.o])));
  shown.forEach((p, k) => boxes(p).forEach(b => b.classList.toggle('stays',
    moved.checked && shown.length === 2 && places[1 - k].get(b.dataset.i) === b.dataset.o)));
  window.dispatchEvent(new Event('resize'));
};
one.onchange = other.onchange = moved.onchange = show;
show();
document.onmouseover = e => {
  const box = e.target.closest && e.target.closest('svg.plan') && e.target.querySelector(':scope > title');
  document.getElementById('hint').textContent = box ? box.textContent : '';
  document.querySelectorAll('rect.same').forEach(b => b.classList.remove('same'));
  if (box && e.target.dataset.i)
    document.querySelectorAll(`rect.b[data-i="${e.target.dataset.i}"]`).forEach(b => b.classList.add('same'));
};
)js";

// A table of the buffers that begin, end and are live in every step, with the fullest step marked.
std::string steps_table(const MemoryProblem& problem, const std::vector<std::string>& names) {
  constexpr std::uint64_t most_steps = 5000;
  struct Row {
    std::string begins, ends;
    std::uint64_t live = 0;
  };
  const Peak peak = peak_of(problem);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (const Interval& i : problem.intervals) {
    first = std::min(first, i.first);
    end = std::max(end, i.end);
  }
  if (first >= end ||
      static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(first) > most_steps)
    return "";
  std::vector<Row> rows(static_cast<std::size_t>(end - first));
  const auto row = [&](std::int64_t step) -> Row& {
    return rows[static_cast<std::size_t>(step - first)];
  };
  for (const Interval& i : problem.intervals) {
    if (i.first >= i.end) continue;
    const std::string text =
        cat(html_text(i.name), " (", bytes_text(static_cast<double>(i.size)), ")<br>");
    row(i.first).begins += text;
    row(i.end - 1).ends += text;
  }
  for (const Piece& p : pieces_of(problem))
    for (std::int64_t t = p.first; t < p.end; ++t) row(t).live += p.to - p.from;
  std::string s =
      "<div id=\"steps\" class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"steps\">"
      "<table><tr><th>step</th><th></th><th>live</th><th></th><th>begins</th><th>ends</th></tr>\n";
  for (std::int64_t t = first; t < end; ++t) {
    const auto n = static_cast<std::size_t>(t);
    const double share = static_cast<double>(row(t).live) /
                         static_cast<double>(std::max<std::uint64_t>(peak.bytes, 1));
    s += cat("<tr", t == peak.step ? " class=\"peak\"" : "", "><td class=\"n\">", t, "</td><td>",
             t >= 0 && n < names.size() ? html_text(names[n]) : "", "</td><td class=\"n\">",
             bytes_text(static_cast<double>(row(t).live)),
             "</td><td class=\"bar\"><div style=\"width:", fixed_text(100 * share, 1),
             "%\"></div></td><td>", row(t).begins, "</td><td>", row(t).ends, "</td></tr>\n");
  }
  return s + "</table></div>\n";
}

}  // namespace

std::string plan_svg(const PlanPicture& picture) {
  return svg_element(picture);
}

std::string plan_page(const std::string& title, const std::vector<PlanPicture>& pictures,
                      const std::vector<std::string>& steps) {
  std::string options;
  std::string second = "<option>no second plan</option>";
  std::string plans;
  for (const PlanPicture& p : pictures) {
    options += cat("<option>", html_text(p.title), "</option>");
    const bool chosen = pictures.size() == 2 && &p == &pictures[1];
    second += cat("<option", chosen ? " selected" : "", ">", html_text(p.title), "</option>");
    plans += svg_element(p);
  }
  return cat(page_begin(title, plan_page_style), "<main><h1>", html_text(title),
             "</h1>\n<div class=\"choices\"><select id=\"one\" aria-label=\"a plan\">", options,
             "</select><select id=\"other\" aria-label=\"a second plan\">", second,
             "</select><label><input type=\"checkbox\" id=\"moved\" checked> fade what lies where "
             "it does in the other</label></div>\n<div id=\"hint\" aria-live=\"polite\"></div>\n"
             "<div class=\"zoomed\" data-small=\"2.4\" role=\"region\" aria-label=\"plans\">",
             plans, "</div>\n", pictures.empty() ? "" : steps_table(*pictures[0].problem, steps),
             "</main>\n", page_end(plan_page_script));
}

}  // namespace quern
