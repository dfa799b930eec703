// SPDX-License-Identifier: Apache-2.0
#include "graph/regex/search.h"

#include <utility>

#include "engine/vocabulary/utf8.h"

namespace quern::regex {
namespace {

// The kind of the character that ends at byte `at`.
Neighbour neighbour_before(std::string_view text, std::size_t at) {
  if (at == 0) return Neighbour::edge;
  std::size_t begin = at - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return neighbour_of(decode_first(text.substr(begin)).c);
}

}  // namespace

void Search::Threads::clear() {
  items.clear();
  begins.clear();
  ++mark;
}

void Search::Threads::add(std::uint32_t at, std::size_t begin) {
  if (marks[at] == mark) return;
  marks[at] = mark;
  items.push_back(at);
  begins.push_back(begin);
}

Search::Search(const Program& program) : program_(program) {
  const std::size_t n = program.instructions().size();
  for (Threads* t : {&now_, &next_}) {
    t->marks.resize(n, 0);
    t->items.reserve(n);
    t->begins.reserve(n);
  }
  reached_.resize(n, 0);
  stack_.reserve(n);
}

void Search::follow(std::size_t thread, std::size_t at, const Program::Step& step,
                    std::optional<Match>& best) {
  const std::size_t begin = now_.begins[thread];
  const auto reach = [&](std::uint32_t to) {
    if (reached_[to] == reached_mark_) return;
    reached_[to] = reached_mark_;
    stack_.push_back(to);
  };
  reach(now_.items[thread]);
  while (!stack_.empty()) {
    const std::uint32_t here = stack_.back();
    stack_.pop_back();
    const Instruction& i = program_.instructions()[here];
    switch (i.op) {
      case Instruction::Op::set:
        if (step.behind != Neighbour::edge && program_.sets()[i.a].has(step.character))
          next_.add(here + 1, begin);
        break;
      case Instruction::Op::place:
        if (holds(i.place, step.before, step.behind)) reach(here + 1);
        break;
      case Instruction::Op::split: reach(i.a), reach(i.b); break;
      case Instruction::Op::jump: reach(i.a); break;
      case Instruction::Op::match:
        if (!best || begin <= best->begin) best = Match{begin, at};
        break;
    }
  }
}

std::optional<Search::Match> Search::find(std::string_view text, std::size_t from,
                                          StopCheck& check) {
  const auto cost = static_cast<std::int64_t>(8 * program_.instructions().size());
  std::optional<Match> best;
  now_.clear();
  Neighbour before = neighbour_before(text, from);
  for (std::size_t at = from; at <= text.size();) {
    if (!best) now_.add(0, at);
    if (now_.items.empty()) break;
    if (check.spend(cost)) return std::nullopt;
    const bool is_end = at == text.size();
    const Decoded d = is_end ? Decoded{1, 0, true, false} : decode_first(text.substr(at));
    const Neighbour behind = is_end ? Neighbour::edge : neighbour_of(d.c);
    next_.clear();
    ++reached_mark_;
    for (std::size_t i = 0; i < now_.items.size(); ++i)
      if (!best || now_.begins[i] <= best->begin) follow(i, at, {before, behind, d.c}, best);
    std::swap(now_, next_);
    before = behind;
    at += d.length;
  }
  return best;
}

}  // namespace quern::regex
