// SPDX-License-Identifier: Apache-2.0
#include "graph/regex/program.h"

#include <utility>

#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/utf8.h"

namespace quern::regex {

using Op = Instruction::Op;

// Writes the instructions of a tree, those of a repeated one again for each time that is counted.
class ProgramWriter {
 public:
  explicit ProgramWriter(Syntax syntax) : syntax_(std::move(syntax)) {}

  Result<Program> run() {
    write(syntax_.root);
    emit({.op = Op::match});
    if (is_too_large_)
      return Status(Code::unsupported, cat("the expression is a program of more than ",
                                           Program::most_instructions, " instructions"));
    program_.sets_ = std::move(syntax_.sets);
    return std::move(program_);
  }

 private:
  // Trees of nothing, repeated, have no instructions: visits are counted as well.
  bool spend() {
    is_too_large_ = is_too_large_ || ++visits_ > 10 * Program::most_instructions ||
                    program_.code_.size() >= Program::most_instructions;
    return !is_too_large_;
  }

  std::uint32_t next() const { return static_cast<std::uint32_t>(program_.code_.size()); }
  std::uint32_t emit(Instruction i) {
    if (!spend()) return 0;
    program_.code_.push_back(i);
    return next() - 1;
  }
  Instruction& at(std::uint32_t i) { return program_.code_[i]; }

  void write(std::uint32_t id) {
    if (!spend()) return;
    const SyntaxNode& n = syntax_.nodes[id];
    switch (n.kind) {
      case SyntaxNode::Kind::empty: return;
      case SyntaxNode::Kind::set: emit({.op = Op::set, .a = n.set}); return;
      case SyntaxNode::Kind::place:
        program_.has_places_ = true;
        emit({.op = Op::place, .place = n.place});
        return;
      case SyntaxNode::Kind::sequence:
        for (const std::uint32_t child : n.children) write(child);
        return;
      case SyntaxNode::Kind::alternatives: return write_alternatives(n);
      case SyntaxNode::Kind::repetition: return write_repetition(n);
    }
  }

  void write_alternatives(const SyntaxNode& n) {
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0; i + 1 < n.children.size() && !is_too_large_; ++i) {
      const std::uint32_t split = emit({.op = Op::split});
      write(n.children[i]);
      ends.push_back(emit({.op = Op::jump}));
      if (is_too_large_) return;
      at(split).a = split + 1;
      at(split).b = next();
    }
    write(n.children.back());
    for (const std::uint32_t jump : ends) at(jump).a = next();
  }

  void write_repetition(const SyntaxNode& n) {
    const std::uint32_t child = n.children.front();
    const bool is_endless = n.most == SyntaxNode::unlimited;
    std::uint32_t last = next();
    for (std::uint32_t i = 0; i < n.least && !is_too_large_; ++i) {
      last = next();
      write(child);
    }
    if (is_endless && n.least > 0) {
      const std::uint32_t split = emit({.op = Op::split, .a = last});
      if (!is_too_large_) at(split).b = next();
      return;
    }
    std::vector<std::uint32_t> splits;
    const std::uint32_t more = is_endless ? 1 : n.most - n.least;
    for (std::uint32_t i = 0; i < more && !is_too_large_; ++i) {
      splits.push_back(emit({.op = Op::split}));
      write(child);
      if (is_endless) emit({.op = Op::jump, .a = splits.front()});
    }
    if (is_too_large_) return;
    for (const std::uint32_t split : splits) {
      at(split).a = split + 1;
      at(split).b = next();
    }
  }

  Syntax syntax_;
  Program program_;
  std::size_t visits_ = 0;
  bool is_too_large_ = false;
};

namespace {}  // namespace

bool holds(Place place, Neighbour before, Neighbour behind) {
  const bool is_edge = (before == Neighbour::word) != (behind == Neighbour::word);
  switch (place) {
    case Place::text_begin: return before == Neighbour::edge;
    case Place::text_end: return behind == Neighbour::edge;
    case Place::line_begin: return before == Neighbour::edge || before == Neighbour::newline;
    case Place::line_end: return behind == Neighbour::edge || behind == Neighbour::newline;
    case Place::word_edge: return is_edge;
    case Place::no_word_edge: return !is_edge;
  }
  return false;
}

Neighbour neighbour_of(char32_t c) {
  return c == '\n' ? Neighbour::newline : is_word(c) ? Neighbour::word : Neighbour::other;
}

Result<Program> Program::compile(std::string_view pattern) {
  QUERN_ASSIGN(Syntax syntax, parse(pattern));
  return ProgramWriter(std::move(syntax)).run();
}

bool Program::advance(const Step& step, const InstructionSet& from, InstructionSet& reached,
                      std::uint32_t* stack, InstructionSet& to) const {
  reached.clear();
  to.clear();
  bool is_at_end = false;
  std::size_t depth = 0;
  const auto follow = [&](std::uint32_t at) {
    if (reached.add(at)) stack[depth++] = at;
  };
  for (const std::uint32_t start : from.items()) {
    follow(start);
    while (depth > 0) {
      const std::uint32_t at = stack[--depth];
      const Instruction& i = code_[at];
      switch (i.op) {
        case Op::set:
          if (step.behind != Neighbour::edge && sets_[i.a].has(step.character)) to.add(at + 1);
          break;
        case Op::place:
          if (holds(i.place, step.before, step.behind)) follow(at + 1);
          break;
        case Op::split: follow(i.a), follow(i.b); break;
        case Op::jump: follow(i.a); break;
        case Op::match: is_at_end = true; break;
      }
    }
  }
  return is_at_end;
}

Simulation::Simulation(const Program& program, std::uint32_t* working) : program_(program) {
  const std::size_t n = program.instructions().size();
  from_ = {working, working + n};
  to_ = {working + 2 * n, working + 3 * n};
  reached_ = {working + 4 * n, working + 5 * n};
  stack_ = working + 6 * n;
}

bool Simulation::matches(std::string_view text, StopCheck& check) {
  const auto cost = static_cast<std::int64_t>(8 * program_.instructions().size());
  from_.clear();
  from_.add(0);
  Neighbour before = Neighbour::edge;
  while (!text.empty() && !from_.items().empty()) {
    const Decoded d = decode_first(text);
    if (!d.is_whole || check.spend(cost)) return false;
    const Neighbour behind = neighbour_of(d.c);
    program_.advance({before, behind, d.c}, from_, reached_, stack_, to_);
    std::swap(from_, to_);
    before = behind;
    text.remove_prefix(d.length);
  }
  return text.empty() &&
         program_.advance({before, Neighbour::edge, 0}, from_, reached_, stack_, to_);
}

}  // namespace quern::regex
