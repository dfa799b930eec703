// SPDX-License-Identifier: Apache-2.0
// A program as a table: a state for each set of instructions that a text can lead to, and where
// each kind of character leads from it. Most expressions have few states; the others are simulated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/vocabulary/stop.h"
#include "graph/regex/program.h"

namespace quern::regex {

// Characters that no set and no place of a program tells apart, as one symbol.
class Alphabet {
 public:
  explicit Alphabet(const Program& program);

  std::size_t size() const { return firsts_.size(); }
  // The first character of each symbol's range; a symbol is its place here.
  const std::vector<char32_t>& firsts() const { return firsts_; }
  std::uint32_t symbol_of(char32_t c) const { return c < 0x80 ? ascii_[c] : search(c); }

 private:
  std::uint32_t search(char32_t c) const;

  std::vector<char32_t> firsts_;
  std::array<std::uint32_t, 0x80> ascii_{};
};

// Immutable.
class Automaton {
 public:
  static constexpr std::size_t most_states = 4096;
  static constexpr std::size_t most_transitions = std::size_t{1} << 17;  // of 2 bytes
  static constexpr std::size_t most_work = 20'000'000;                   // instructions followed

  // None: it would pass one of the limits.
  static std::optional<Automaton> make(const Program& program);

  std::size_t states() const { return accepts_.size(); }
  // As Simulation::matches().
  bool matches(std::string_view text, StopCheck& check) const;

 private:
  friend class AutomatonMaker;
  explicit Automaton(Alphabet alphabet) : alphabet_(std::move(alphabet)) {}

  Alphabet alphabet_;
  std::vector<std::uint16_t> next_;    // [state][symbol]; state 0 leads nowhere, 1 is the first
  std::vector<std::uint8_t> accepts_;  // the text may end in the state
};

}  // namespace quern::regex
