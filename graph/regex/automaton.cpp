// SPDX-License-Identifier: Apache-2.0
#include "graph/regex/automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/vocabulary/utf8.h"

namespace quern::regex {
namespace {

constexpr std::uint16_t nowhere = 0;
constexpr std::uint16_t start = 1;

}  // namespace

Alphabet::Alphabet(const Program& program) {
  firsts_.push_back(0);
  const auto cut = [&](const CharacterSet& set) {
    for (const CodeRange& r : set.ranges()) {
      firsts_.push_back(r.first);
      if (r.last < last_code_point) firsts_.push_back(r.last + 1);
    }
  };
  for (const CharacterSet& set : program.sets()) cut(set);
  if (program.has_places()) {
    cut(*perl_set('w'));
    cut(CharacterSet({{'\n', '\n'}}));
  }
  std::sort(firsts_.begin(), firsts_.end());
  firsts_.erase(std::unique(firsts_.begin(), firsts_.end()), firsts_.end());
  for (char32_t c = 0; c < 0x80; ++c) ascii_[c] = search(c);
}

std::uint32_t Alphabet::search(char32_t c) const {
  const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), c);
  return static_cast<std::uint32_t>(behind - firsts_.begin()) - 1;
}

// Finds the states from the first one on, each by the instructions that wait in it and by the
// character before it.
class AutomatonMaker {
 public:
  explicit AutomatonMaker(const Program& program)
      : program_(program),
        automaton_(Alphabet(program)),
        working_(Simulation::working_size(program)) {
    const std::size_t n = program.instructions().size();
    const auto set = [&](std::size_t i) {
      return InstructionSet(&working_[2 * i * n], &working_[(2 * i + 1) * n]);
    };
    from_ = set(0), to_ = set(1), reached_ = set(2);
  }

  std::optional<Automaton> run() {
    add_state({}, Neighbour::other);
    add_state({0}, Neighbour::edge);
    for (std::size_t state = start; state < states_.size(); ++state)
      if (!leave(state)) return std::nullopt;
    return std::move(automaton_);
  }

 private:
  // The waiting instructions in order, and the kind of neighbour behind them.
  using Key = std::vector<std::uint32_t>;

  std::size_t symbols() const { return automaton_.alphabet_.size(); }

  // The number of the state; it is new where it is the number of states before.
  std::size_t add_state(Key waiting, Neighbour before) {
    const Neighbour told = program_.has_places() && !waiting.empty() ? before : Neighbour::other;
    std::sort(waiting.begin(), waiting.end());
    waiting.push_back(static_cast<std::uint32_t>(told));
    const auto [at, is_new] = numbers_.try_emplace(std::move(waiting), states_.size());
    if (!is_new) return at->second;
    states_.push_back(&at->first);
    automaton_.next_.resize(states_.size() * symbols(), nowhere);
    automaton_.accepts_.push_back(0);
    return at->second;
  }

  bool is_within_limits() const {
    return states_.size() <= Automaton::most_states && work_ <= Automaton::most_work &&
           states_.size() * symbols() <= Automaton::most_transitions;
  }

  // Fills the row of a state. False: a limit is passed.
  bool leave(std::size_t state) {
    const Key& key = *states_[state];
    const auto before = static_cast<Neighbour>(key.back());
    from_.clear();
    for (std::size_t i = 0; i + 1 < key.size(); ++i) from_.add(key[i]);
    automaton_.accepts_[state] = step({before, Neighbour::edge, 0});
    for (std::size_t s = 0; s < symbols(); ++s) {
      if (!is_within_limits()) return false;
      const char32_t c = automaton_.alphabet_.firsts()[s];
      const Neighbour behind = neighbour_of(c);
      step({before, behind, c});
      const auto items = to_.items();
      const std::size_t next = add_state({items.begin(), items.end()}, behind);
      automaton_.next_[state * symbols() + s] = static_cast<std::uint16_t>(next);
    }
    return true;
  }

  bool step(const Program::Step& step) {
    const bool is_at_end =
        program_.advance(step, from_, reached_, &working_[6 * program_.instructions().size()], to_);
    work_ += 16 + reached_.items().size() + 8 * to_.items().size();
    return is_at_end;
  }

  const Program& program_;
  Automaton automaton_;
  std::vector<std::uint32_t> working_;
  InstructionSet from_, to_, reached_;
  std::map<Key, std::size_t> numbers_;
  std::vector<const Key*> states_;
  std::size_t work_ = 0;
};

std::optional<Automaton> Automaton::make(const Program& program) {
  return AutomatonMaker(program).run();
}

bool Automaton::matches(std::string_view text, StopCheck& check) const {
  std::size_t state = start;
  const std::size_t symbols = alphabet_.size();
  while (!text.empty()) {
    const Decoded d = decode_first(text);
    if (!d.is_whole || check.spend(8)) return false;
    state = next_[state * symbols + alphabet_.symbol_of(d.c)];
    if (state == nowhere) return false;
    text.remove_prefix(d.length);
  }
  return accepts_[state] != 0;
}

}  // namespace quern::regex
