// SPDX-License-Identifier: Apache-2.0
// A history for people: a table with small bars in it, and a page of small pictures.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/picture/page.h"
#include "tools/kernel/history.h"

namespace quern::tools::lab {
namespace {

using Verdict = ComparedKernel::Verdict;

struct TimeRange {
  double least = 0, most = 0;
};

// Of the medians of a line; nothing where none is believed.
std::optional<TimeRange> medians_of(const HistoryLine& line) {
  std::optional<TimeRange> range;
  for (const HistoryPoint& p : line.points) {
    if (!p.refused.empty()) continue;
    if (!range) range = {p.time.median, p.time.median};
    range->least = std::min(range->least, p.time.median);
    range->most = std::max(range->most, p.time.median);
  }
  return range;
}

// A range that holds `least` and `most` and is not so narrow that noise looks like a change.
TimeRange scale_of(double least, double most) {
  constexpr double narrowest = 0.1;
  const double more = std::max(0.0, (narrowest * most - (most - least)) / 2);
  return {least - more, most + more};
}

// By file: the line's point there, or null.
std::vector<const HistoryPoint*> by_file(const HistoryLine& line, std::size_t files) {
  std::vector<const HistoryPoint*> points(files);
  for (const HistoryPoint& p : line.points) points[p.file] = &p;
  return points;
}

// A bar for each of the last files, higher for longer; 'x' for what was not believed.
std::string bars_of(const HistoryLine& line, std::size_t files) {
  constexpr std::array<std::string_view, 8> heights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t most = 40;
  const auto points = by_file(line, files);
  const auto range = medians_of(line);
  const TimeRange scale = range ? scale_of(range->least, range->most) : TimeRange{0, 1};
  std::string bars = files > most ? "…" : "";
  for (std::size_t i = files > most ? files - most : 0; i < files; ++i) {
    if (!points[i]) {
      bars += " ";
    } else if (!points[i]->refused.empty()) {
      bars += "x";
    } else {
      const double share = (points[i]->time.median - scale.least) / (scale.most - scale.least);
      bars +=
          heights[std::min(heights.size() - 1, static_cast<std::size_t>(std::max(0.0, 8 * share)))];
    }
  }
  return bars;
}

std::string time_of(const HistoryPoint& p) {
  return p.refused.empty() ? time_text(1e-3 * p.time.median) : "not believed";
}

// What lines of one problem and kernel may still differ in.
std::string setting_of(const Record& r) {
  return cat(r.device, ", ", r.threads, r.threads == 1 ? " thread, " : " threads, ", r.mode, ", ",
             r.math);
}

bool have_one_setting(const History& history) {
  std::set<std::string> settings;
  for (const HistoryLine& line : history.lines) settings.insert(setting_of(line.record));
  return settings.size() <= 1;
}

// From the first file to the last; "" where there is nothing to compare.
std::string change_text(const HistoryLine& line) {
  if (line.points.size() < 2 || line.overall.verdict == Verdict::not_believed) return "";
  const double change = line.overall.change();
  return cat(change >= 0 ? "+" : "", percent_text(change));
}

std::string rule_text(const History& history, const ComparisonOptions& options) {
  return cat("slower or faster, from the first file to the last: the rank test says so (p below ",
             number_text(options.p), " divided by ", history.lines.size(),
             ") and the median moved by more than ", percent_text(options.threshold));
}

// ---- the page

constexpr std::string_view history_style = R"css(
.lines { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 260px), 1fr)); gap: .8rem; }
figure { margin: 0; padding: .5rem; border: 1px solid var(--line); border-radius: 6px; background: var(--card); min-width: 0; }
figcaption { overflow-wrap: anywhere; } figcaption b { display: block; font-weight: 600; }
figure svg { display: block; width: 100%; height: auto; } svg text { font-size: 10px; fill: var(--soft); }
.median { fill: none; stroke: var(--accent); stroke-width: 1.5; } .interval { stroke: var(--accent); opacity: .5; }
circle { fill: var(--accent); } .refused { stroke: var(--ink); } .machine { stroke: var(--line); stroke-dasharray: 3 3; }
)css";

class LinePicture {
 public:
  LinePicture(const History& history, const HistoryLine& line)
      : history_(history), points_(by_file(line, history.files.size())) {
    double least = 0, most = 0;
    bool is_first = true;
    for (const HistoryPoint& p : line.points) {
      if (!p.refused.empty()) continue;
      least = is_first ? p.time.low : std::min(least, p.time.low);
      most = is_first ? p.time.high : std::max(most, p.time.high);
      is_first = false;
    }
    least_ = least;
    most_ = most;
    scale_ = scale_of(least, most);
    if (!(scale_.most > scale_.least)) scale_ = {0, 1};
  }

  std::string svg() const {
    std::string s = cat("<svg viewBox=\"0 0 ", fixed_text(width, 0), " ", fixed_text(height, 0),
                        "\" role=\"img\" aria-label=\"time by file\">");
    for (std::size_t i = 0; i < history_.files.size(); ++i)
      if (history_.files[i].is_other_machine) s += machine_line(i);
    s += median_path();
    for (const HistoryPoint* p : points_)
      if (p) s += mark_of(*p);
    return cat(s, label(left, top - 6, "start", time_text(1e-3 * most_)),
               label(left, height - 5, "start", day_of(history_.files.front().date)),
               label(width - right, height - 5, "end", day_of(history_.files.back().date)),
               "</svg>");
  }

 private:
  static constexpr double width = 280, height = 96, left = 8, right = 8, top = 18, bottom = 18;

  double x(std::size_t file) const {
    const auto last = static_cast<double>(history_.files.size() - 1);
    const double share = last > 0 ? static_cast<double>(file) / last : 0.5;
    return left + share * (width - left - right);
  }
  double y(double us) const {
    const double share = (us - scale_.least) / (scale_.most - scale_.least);
    return height - bottom - share * (height - top - bottom);
  }
  static std::string at(double number) { return fixed_text(number, 1); }
  static std::string_view day_of(std::string_view date) { return date.substr(0, 10); }

  static std::string label(double at_x, double at_y, std::string_view anchor,
                           std::string_view text) {
    return cat("<text x=\"", at(at_x), "\" y=\"", at(at_y), "\" text-anchor=\"", anchor, "\">",
               html_text(text), "</text>");
  }

  std::string machine_line(std::size_t file) const {
    const double between = (x(file - 1) + x(file)) / 2;
    return cat("<path class=\"machine\" d=\"M", at(between), " ", at(top), "V", at(height - bottom),
               "\"><title>another machine or build</title></path>");
  }

  // Broken where a file has no time.
  std::string median_path() const {
    std::string d;
    bool is_open = false;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const bool has_time = points_[i] && points_[i]->refused.empty();
      if (has_time) d += cat(is_open ? "L" : "M", at(x(i)), " ", at(y(points_[i]->time.median)));
      is_open = has_time;
    }
    return d.empty() ? "" : cat("<path class=\"median\" d=\"", d, "\"/>");
  }

  std::string mark_of(const HistoryPoint& p) const {
    const History::File& file = history_.files[p.file];
    const std::string title = cat("<title>",
                                  html_text(cat(file.date, ", ", file.path, ": ",
                                                p.refused.empty() ? time_of(p) : p.refused)),
                                  "</title>");
    const double middle = x(p.file);
    if (!p.refused.empty()) {
      const double low = height - bottom;
      return cat("<path class=\"refused\" d=\"M", at(middle - 3), " ", at(low - 3), "L",
                 at(middle + 3), " ", at(low + 3), "M", at(middle - 3), " ", at(low + 3), "L",
                 at(middle + 3), " ", at(low - 3), "\">", title, "</path>");
    }
    return cat("<path class=\"interval\" d=\"M", at(middle), " ", at(y(p.time.low)), "V",
               at(y(p.time.high)), "\"/><circle cx=\"", at(middle), "\" cy=\"",
               at(y(p.time.median)), "\" r=\"2.5\">", title, "</circle>");
  }

  const History& history_;
  std::vector<const HistoryPoint*> points_;
  double least_ = 0, most_ = 0;
  TimeRange scale_;
};

// `setting` stands behind the name of the kernel.
std::string figure_of(const History& history, const HistoryLine& line, const std::string& setting) {
  const Record& r = line.record;
  const std::string_view verdict = verdict_name(line.overall.verdict);
  std::string last = cat(r.kernel, setting, ": ", time_of(line.points.back()));
  if (line.points.size() > 1) {
    const std::string change = change_text(line);
    last += cat(change.empty() ? "" : ", ", change, ", ", verdict);
  }
  return cat("<figure data-verdict=\"", verdict, "\"><figcaption><b>", html_text(r.problem), "</b>",
             html_text(last), "</figcaption>", LinePicture(history, line).svg(), "</figure>\n");
}

}  // namespace

std::string history_text(const History& history, const ComparisonOptions& options,
                         const Console& console) {
  using Align = Table::Align;
  const bool with_setting = !have_one_setting(history);
  std::vector<Table::Column> columns = {{"problem", Align::left, 70}, {"kernel", Align::left, 28}};
  if (with_setting) columns.push_back({"setting", Align::left, 40});
  columns.insert(columns.end(), {{"first", Align::right},
                                 {"least", Align::right},
                                 {"last", Align::right},
                                 {"change", Align::right},
                                 {"verdict"},
                                 {"by file"}});
  Table t(std::move(columns));
  for (const HistoryLine& line : history.lines) {
    const auto range = medians_of(line);
    std::vector<std::string> cells = {shown(line.record.problem, 70), shown(line.record.kernel)};
    if (with_setting) cells.push_back(shown(setting_of(line.record)));
    const bool has_change = line.points.size() > 1;
    for (std::string cell :
         {time_of(line.points.front()), range ? time_text(1e-3 * range->least) : std::string(),
          time_of(line.points.back()), change_text(line),
          std::string(has_change ? verdict_name(line.overall.verdict) : ""),
          bars_of(line, history.files.size())})
      cells.push_back(std::move(cell));
    const Verdict verdict = line.overall.verdict;
    const bool is_bad = verdict == Verdict::slower || verdict == Verdict::not_believed;
    t.add(std::move(cells), is_bad                       ? Colour::red
                            : verdict == Verdict::faster ? Colour::green
                                                         : Colour::none);
  }
  std::string text =
      cat(t.text(console), history.files.size(), " files, ", history.files.front().date, " to ",
          history.files.back().date, "; ", rule_text(history, options), "\n");
  for (const History::File& f : history.files)
    if (f.is_other_machine)
      text += cat(shown(f.path, 160), " is of another machine or build than the one before\n");
  return text;
}

std::string history_page(const History& history, const ComparisonOptions& options) {
  constexpr std::size_t most = 2000;
  const bool with_setting = !have_one_setting(history);
  const std::size_t drawn = std::min(most, history.lines.size());
  std::string s =
      cat(page_begin("Kernels over time", history_style), "<main>\n<h1>Kernels over time</h1>\n<p>",
          history.files.size(), " files, ", html_text(history.files.front().date), " to ",
          html_text(history.files.back().date),
          "</p>\n<p class=\"quiet\">Each picture has a scale "
          "of its own, a tenth of its times at least; a dot is the median in a file, the line "
          "through it its "
          "interval, a cross what was not believed, a dashed line another machine or build. ",
          html_text(rule_text(history, options), 400), ".</p>\n");
  if (drawn < history.lines.size())
    s += cat("<p>The first ", drawn, " of ", history.lines.size(), " lines are drawn.</p>\n");
  s += "<div class=\"lines\">\n";
  for (std::size_t i = 0; i < drawn; ++i) {
    const HistoryLine& line = history.lines[i];
    s += figure_of(history, line, with_setting ? cat(", ", setting_of(line.record)) : "");
  }
  return cat(s, "</div>\n</main>\n", page_end(""));
}

}  // namespace quern::tools::lab
