// SPDX-License-Identifier: Apache-2.0
// Cases of `quern verify`: folders in the layout of the ONNX backend tests, and lists of known
// gaps.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern::tools {

struct Case {
  std::string name;  // path below the folder that was searched
  std::string folder;
  std::vector<std::string> sets;  // folders test_data_set_0, ... in their order
};

// Cases at or below the paths (folders, or a model.onnx), by name. Errors: not_found.
Result<std::vector<Case>> find_cases(const std::vector<std::string>& paths);

// Cases known not to pass: "name<TAB>reason" a line, '#' starts a comment. A name stands for every
// case whose folder ends in it.
class Gaps {
 public:
  // Errors: not_found, invalid_argument for a line without a reason.
  static Result<Gaps> read(const std::string& path);
  // The reason; nothing: it has to pass.
  std::optional<std::string> reason(const Case& c) const;
  // The same list without the entries that these cases match.
  std::string text_without(const std::vector<const Case*>& cases) const;

 private:
  struct Line {
    std::string text;
    std::string name;  // empty: a comment
    std::string reason;
  };
  static bool matches(const Line& line, const Case& c);
  std::vector<Line> lines_;
};

}  // namespace quern::tools
