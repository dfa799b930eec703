// SPDX-License-Identifier: Apache-2.0
// Where a program matches inside of a text: of all matches those that begin first, and of these the
// longest. All beginnings are followed at once, so that the time is at most the length of the text
// times the length of the program.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/vocabulary/stop.h"
#include "graph/regex/program.h"

namespace quern::regex {

// One thread's. It holds the program by reference.
class Search {
 public:
  explicit Search(const Program& program);

  struct Match {
    std::size_t begin, end;
  };
  // The match in `text`, which is UTF-8, that begins at byte `from`, where a character begins, or
  // behind it. What stands before `from` is seen by places. None once `check` is over.
  std::optional<Match> find(std::string_view text, std::size_t from, StopCheck& check);

 private:
  // Instructions, each once, with the beginning of the match that leads to them; the beginnings
  // ascend.
  struct Threads {
    std::vector<std::uint32_t> items, marks;
    std::vector<std::size_t> begins;
    std::uint32_t mark = 0;

    void clear();
    void add(std::uint32_t at, std::size_t begin);
  };

  void follow(std::size_t thread, std::size_t at, const Program::Step& step,
              std::optional<Match>& best);

  const Program& program_;
  Threads now_, next_;
  std::vector<std::uint32_t> reached_, stack_;
  std::uint32_t reached_mark_ = 0;
};

}  // namespace quern::regex
