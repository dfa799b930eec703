// SPDX-License-Identifier: Apache-2.0
// Compiles the model under limits for its arena, from the smallest that any stripes of rows meet to
// the arena of whole tensors, and measures a run of each plan.
#include "tools/plan_frontier.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/picture/page.h"
#include "tools/measurement.h"
#include "tools/opened.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

struct Point {
  std::size_t limit = 0;  // 0: none
  std::size_t arena = 0;
  std::size_t kernels = 0;
  double compile_ms = 0;
  double run_ms = 0;  // median
};

class Frontier {
 public:
  Frontier(const PlanArgs& args, const Console& console) : args_(args), progress_(console) {}

  // From the smallest arena to that of whole tensors.
  Result<std::vector<Point>> points() {
    constexpr std::size_t steps = 20;
    QUERN_ASSIGN(std::optional<Planned> planned, plan_within(0));
    if (!planned) return Status(Code::out_of_memory, "the model does not fit without a limit");
    QUERN_ASSIGN(const Point whole, measured(*std::move(planned)));
    QUERN_ASSIGN(const Point smallest, smallest_point(whole));
    std::vector<Point> all = {smallest};
    for (std::size_t i = 1; i < steps; ++i) {
      const std::size_t limit = smallest.arena + (whole.arena - smallest.arena) * i / steps;
      if (limit <= all.back().arena) continue;
      QUERN_ASSIGN(planned, plan_within(limit));
      if (!planned) return Status(Code::internal, cat("no plan within ", limit, " bytes"));
      if (planned->point.arena <= all.back().arena) continue;
      QUERN_ASSIGN(const Point next, measured(*std::move(planned)));
      all.push_back(next);
    }
    if (whole.arena > all.back().arena) all.push_back(whole);
    progress_.clear();
    return all;
  }

 private:
  // A point whose runs are not measured yet.
  struct Planned {
    Point point;
    Opened opened;
  };

  // Halves what lies between a limit that no plan meets and one that a plan does.
  Result<Point> smallest_point(const Point& whole) {
    std::optional<Planned> best;
    std::size_t arena = whole.arena;
    std::size_t refused = 0;
    while (arena - refused > std::max<std::size_t>(whole.arena / 256, 64)) {
      const std::size_t limit = refused + (arena - refused) / 2;
      QUERN_ASSIGN(std::optional<Planned> found, plan_within(limit));
      if (!found) {
        refused = limit;
        continue;
      }
      arena = found->point.arena;
      best = std::move(found);
    }
    if (!best) return whole;
    return measured(*std::move(best));
  }

  // Nothing if no plan meets the limit.
  Result<std::optional<Planned>> plan_within(std::size_t limit) {
    progress_.update(limit ? cat("an arena of at most ", bytes_text(static_cast<double>(limit)))
                           : std::string("an arena of whole tensors"));
    DeviceArgs device = args_.device;
    if (device.device.empty()) device.device = "cpu";
    device.arena_limit = limit ? cat(limit) : std::string();
    auto opened = open_model(args_.model, args_.inputs, device,
                             {.order = args_.order == "on", .alias = args_.alias == "on"});
    if (!opened && opened.error().code() == Code::out_of_memory && limit)
      return std::optional<Planned>();
    if (!opened) return std::move(opened).error();
    Session& session = *opened->session;
    QUERN_TRY(session.run());
    const PlanInfo info = session.plan_info();
    const Point point{limit, info.arena_bytes, info.steps.size(),
                      opened->phases.compile_ms + opened->phases.plan_ms};
    return std::optional(Planned{point, *std::move(opened)});
  }

  static Result<Point> measured(Planned planned) {
    QUERN_ASSIGN(planned.point.run_ms, median_run(*planned.opened.session));
    return planned.point;
  }

  static Result<double> median_run(Session& session) {
    constexpr std::size_t fewest = 5;
    constexpr std::size_t most = 200;
    constexpr double enough_ms = 150;
    std::vector<double> samples;
    double total = 0;
    Stopwatch watch;
    while (samples.size() < fewest || (samples.size() < most && total < enough_ms)) {
      watch.lap();
      QUERN_TRY(session.run());
      samples.push_back(watch.lap());
      total += samples.back();
    }
    return distribution(std::move(samples)).median;
  }

  const PlanArgs& args_;
  Progress progress_;
};

double part(double value, double whole) {
  return whole > 0 ? value / whole : 1;
}

void show(const std::vector<Point>& points, const Console& console) {
  const Point& whole = points.back();
  Table t({{"arena", Table::Align::right},
           {"of whole tensors", Table::Align::right},
           {"kernels", Table::Align::right},
           {"compiled in", Table::Align::right},
           {"run", Table::Align::right},
           {"of whole tensors", Table::Align::right}});
  for (const Point& p : points)
    t.add({bytes_text(static_cast<double>(p.arena)),
           percent_text(part(static_cast<double>(p.arena), static_cast<double>(whole.arena))),
           cat(p.kernels), time_text(p.compile_ms), time_text(p.run_ms),
           fixed_text(part(p.run_ms, whole.run_ms), 2)});
  print(t.text(console));
}

Json points_json(const PlanArgs& args, const std::vector<Point>& points) {
  Json j;
  j["model"] = args.model;
  j["frontier"] = Json::array();
  for (const Point& p : points) {
    Json one;
    one["arena_limit"] = p.limit;
    one["arena_bytes"] = p.arena;
    one["kernels"] = p.kernels;
    one["compile_and_plan_ms"] = p.compile_ms;
    one["run_ms"] = p.run_ms;
    j["frontier"].push(std::move(one));
  }
  return j;
}

// ---- the picture -------------------------------------------------------------------------------

// Time upwards, bytes to the right, both from 0.
std::string picture(const std::string& title, const std::vector<Point>& points) {
  constexpr double width = 640;
  constexpr double height = 400;
  constexpr double left = 70;
  constexpr double bottom = 50;
  constexpr double top = 40;
  constexpr double right = 20;
  double slowest = 0;
  for (const Point& p : points) slowest = std::max(slowest, p.run_ms);
  const auto x = [&](double bytes) {
    return left + (width - left - right) * part(bytes, static_cast<double>(points.back().arena));
  };
  const auto y = [&](double ms) {
    return height - bottom - (height - bottom - top) * part(ms, 1.1 * slowest);
  };
  const auto text = [](double at_x, double at_y, std::string_view anchor, std::string_view words) {
    return cat("<text x=\"", fixed_text(at_x, 1), "\" y=\"", fixed_text(at_y, 1),
               "\" text-anchor=\"", anchor, "\">", html_text(words), "</text>\n");
  };
  std::string s = cat("<svg viewBox=\"0 0 ", fixed_text(width, 0), " ", fixed_text(height, 0),
                      "\" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" "
                      "font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                      text(left, 20, "start", title));
  for (int i = 0; i <= 4; ++i) {
    const double bytes = static_cast<double>(points.back().arena) * i / 4;
    const double ms = slowest * i / 4;
    s += cat("<path d=\"M", fixed_text(x(bytes), 1), " ", fixed_text(y(0), 1), "V",
             fixed_text(y(1.1 * slowest), 1), "M", fixed_text(x(0), 1), " ", fixed_text(y(ms), 1),
             "H", fixed_text(width - right, 1), "\" stroke=\"#ddd\" fill=\"none\"/>\n",
             text(x(bytes), height - bottom + 18, "middle", bytes_text(bytes)),
             text(left - 6, y(ms) + 4, "end", time_text(ms)));
  }
  s += text((left + width) / 2, height - 10, "middle", "arena");
  std::string line;
  for (const Point& p : points)
    line += cat(line.empty() ? "M" : "L", fixed_text(x(static_cast<double>(p.arena)), 1), " ",
                fixed_text(y(p.run_ms), 1));
  s += cat("<path d=\"", line, "\" stroke=\"#2266aa\" fill=\"none\"/>\n");
  for (const Point& p : points)
    s += cat("<circle cx=\"", fixed_text(x(static_cast<double>(p.arena)), 1), "\" cy=\"",
             fixed_text(y(p.run_ms), 1), "\" r=\"4\" fill=\"#2266aa\"><title>",
             html_text(cat(bytes_text(static_cast<double>(p.arena)), ", ", time_text(p.run_ms),
                           ", ", p.kernels, " kernels")),
             "</title></circle>\n");
  return s + "</svg>\n";
}

constexpr std::string_view frontier_style = R"css(
main { max-width: 64rem; } svg rect { fill: var(--card); } svg text { fill: var(--ink); }
svg path { stroke: var(--line); } svg path:last-of-type { stroke: var(--accent); } svg circle { fill: var(--accent); }
)css";

std::string page(const std::string& title, const std::string& svg) {
  return cat(page_begin(title, frontier_style),
             "<main><div class=\"zoomed\" role=\"region\" aria-label=\"time over bytes\">", svg,
             "</div></main>\n", page_end(""));
}

}  // namespace

Result<ExitCode> plan_frontier(const PlanArgs& args, const Console& console) {
  QUERN_ASSIGN(const std::vector<Point> points, Frontier(args, console).points());
  const std::string title = cat(model_name(args.model), ": a run over the bytes of its arena");
  if (!args.svg.empty()) QUERN_TRY(write_whole_file(args.svg, picture(title, points)));
  if (!args.html.empty())
    QUERN_TRY(write_whole_file(args.html, page(title, picture(title, points))));
  if (args.json)
    print(points_json(args, points).document());
  else
    show(points, console);
  return ExitCode::ok;
}

}  // namespace quern::tools
