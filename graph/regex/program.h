// SPDX-License-Identifier: Apache-2.0
// An expression as a program for Thompson's simulation (Regular expression search algorithm;
// CACM 11, 1968): a set of instructions advances with each character, so that the time is at most
// the length of the text times the length of the program, whatever the expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "engine/vocabulary/stop.h"
#include "graph/regex/syntax.h"

namespace quern::regex {

struct Instruction {
  enum class Op : std::uint8_t { set, place, split, jump, match };
  Op op;
  Place place = Place::text_begin;
  std::uint32_t a = 0;  // a set; a target of a split or jump
  std::uint32_t b = 0;  // the other target
};

// The kind of a character, as places ask for it. `edge`: there is none, at the ends of the text.
enum class Neighbour : std::uint8_t { other, word, newline, edge };
Neighbour neighbour_of(char32_t c);
bool holds(Place place, Neighbour before, Neighbour behind);

// The instructions of a simulation that wait for a character, each once. The memory is the
// caller's.
class InstructionSet {
 public:
  InstructionSet() = default;
  // `marks` are zeros; both have the length of the program.
  InstructionSet(std::uint32_t* items, std::uint32_t* marks) : items_(items), marks_(marks) {}

  void clear() { size_ = 0, ++mark_; }
  bool add(std::uint32_t at) {
    if (marks_[at] == mark_) return false;
    marks_[at] = mark_;
    items_[size_++] = at;
    return true;
  }
  std::span<std::uint32_t> items() const { return {items_, size_}; }

 private:
  std::uint32_t* items_ = nullptr;
  std::uint32_t* marks_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t mark_ = 1;
};

// Immutable.
class Program {
 public:
  static constexpr std::size_t most_instructions = 20'000;

  // Errors: those of parse(), and unsupported for more than most_instructions.
  static Result<Program> compile(std::string_view pattern);

  std::span<const Instruction> instructions() const { return code_; }
  std::span<const CharacterSet> sets() const { return sets_; }
  bool has_places() const { return has_places_; }

  // Follows the instructions in `from` to those that wait for a character, between two neighbours,
  // and moves these over the one behind (none at the edge) into `to`. Returns whether the end of
  // the program was reached before it. `reached` and `stack`, of the program's length, are working
  // memory.
  struct Step {
    Neighbour before, behind;
    char32_t character;
  };
  bool advance(const Step& step, const InstructionSet& from, InstructionSet& reached,
               std::uint32_t* stack, InstructionSet& to) const;

 private:
  friend class ProgramWriter;
  std::vector<Instruction> code_;
  std::vector<CharacterSet> sets_;
  bool has_places_ = false;
};

// Runs a program over texts, one after the other, in the caller's memory. One thread's.
class Simulation {
 public:
  // Elements of 4 bytes that it works in; `working` is zeros at first.
  static std::size_t working_size(const Program& program) {
    return 7 * program.instructions().size();
  }
  Simulation(const Program& program, std::uint32_t* working);

  // Whether the whole text matches; text that is no UTF-8 does not. Anything once `check` is over.
  bool matches(std::string_view text, StopCheck& check);

 private:
  const Program& program_;
  InstructionSet from_, to_, reached_;
  std::uint32_t* stack_;
};

}  // namespace quern::regex
