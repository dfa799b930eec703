// SPDX-License-Identifier: Apache-2.0
#include "tools/cases.h"

#include <algorithm>
#include <filesystem>

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"
#include "tools/json.h"
#include "tools/parse.h"
#include "tools/summary.h"

namespace quern::tools {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view set_prefix = "test_data_set_";

std::vector<std::string> data_sets(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(set_prefix)) continue;
    const auto number = parse_integer(std::string_view(name).substr(set_prefix.size()));
    if (number) found.emplace_back(*number, entry.path().string());
  }
  std::ranges::sort(found);
  std::vector<std::string> sets;
  sets.reserve(found.size());
  for (auto& [number, path] : found) sets.push_back(std::move(path));
  return sets;
}

void search(const fs::path& folder, const fs::path& root, int depth, std::vector<Case>& cases) {
  std::error_code error;
  if (fs::exists(folder / "model.onnx", error)) {
    std::string name = folder.lexically_relative(root).string();
    if (name == "." || name.empty()) name = folder.filename().string();
    cases.push_back({name, folder.string(), data_sets(folder)});
    return;
  }
  if (depth == 0) return;
  std::vector<fs::path> inside;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error)) inside.push_back(entry.path());
  std::ranges::sort(inside);
  for (const fs::path& path : inside) search(path, root, depth - 1, cases);
}

}  // namespace

Result<std::vector<Case>> find_cases(const std::vector<std::string>& paths) {
  std::vector<Case> cases;
  for (const std::string& text : paths) {
    std::error_code error;
    fs::path path = fs::absolute(text, error).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    if (!fs::exists(path, error))
      return Status(Code::not_found, cat("no such folder '", shown(text, 200), "'"));
    if (path.filename() == "model.onnx") path = path.parent_path();
    search(path, path, 8, cases);
  }
  if (cases.empty())
    return Status(Code::not_found,
                  "no case found: a case is a folder with model.onnx and test_data_set_0");
  return cases;
}

Result<Gaps> Gaps::read(const std::string& path) {
  QUERN_ASSIGN(const std::string text, read_file(path, std::size_t{16} << 20));
  Gaps gaps;
  for (const std::string& line : lines_of(text)) {
    Line& l = gaps.lines_.emplace_back(Line{line, {}, {}});
    if (line.empty() || line[0] == '#') continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size())
      return Status(Code::invalid_argument, cat(shown(path, 200), ":", gaps.lines_.size(),
                                                ": wanted a name, a tab and a reason"));
    l.name = line.substr(0, tab);
    l.reason = line.substr(tab + 1);
  }
  return gaps;
}

bool Gaps::matches(const Line& line, const Case& c) {
  return !line.name.empty() && (c.folder == line.name || c.folder.ends_with("/" + line.name));
}

std::optional<std::string> Gaps::reason(const Case& c) const {
  for (const Line& line : lines_)
    if (matches(line, c)) return line.reason;
  return std::nullopt;
}

std::string Gaps::text_without(const std::vector<const Case*>& cases) const {
  std::string text;
  for (const Line& line : lines_) {
    const bool gone = std::ranges::any_of(cases, [&](const Case* c) { return matches(line, *c); });
    if (!gone) text += line.text + "\n";
  }
  return text;
}

}  // namespace quern::tools
