// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/program_check.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "engine/compile/element_source.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/fill.h"

namespace quern {
namespace {

using Base = Step::Operand::Base;

// The maximum number of pieces of an operand, written by different steps, that are checked.
constexpr std::size_t most_pieces = 4096;
constexpr std::int64_t elements_between = 8;  // of an operand, besides its edges

// The address of an operand.
struct Address {
  std::size_t region = 0;
  std::uint64_t begin = 0;
};

// The bytes of a memory, each with the last write to it.
class Bytes {
 public:
  struct Piece {
    std::uint64_t end = 0;
    std::uint32_t writing = 0;
  };
  using Pieces = std::map<std::uint64_t, Piece>;

  void write(std::uint64_t begin, std::uint64_t end, std::uint32_t writing) {
    clear(begin, end);
    if (begin < end) pieces_[begin] = {end, writing};
  }
  void clear(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    cut(begin);
    cut(end);
    pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
  }
  // The piece that contains the byte, or the first piece after it.
  Pieces::const_iterator at(std::uint64_t byte) const {
    auto it = pieces_.upper_bound(byte);
    if (it != pieces_.begin() && std::prev(it)->second.end > byte) --it;
    return it;
  }
  const Pieces& all() const { return pieces_; }

 private:
  void cut(std::uint64_t byte) {
    const auto it = at(byte);
    if (it == pieces_.end() || it->first >= byte) return;
    const Piece rest = it->second;
    pieces_[it->first].end = byte;
    pieces_[byte] = rest;
  }

  Pieces pieces_;
};

class Checker {
 public:
  // Outputs are in the arena, or each in memory bound by the run.
  enum class Outputs : std::uint8_t { in_arena, bound };

  Checker(const Graph& graph, const Program& program, std::span<const StepMeaning> meanings,
          const std::vector<bool>& constants, ElementSources& sources, Outputs outputs)
      : graph_(graph),
        program_(program),
        meanings_(meanings),
        constants_(constants),
        sources_(sources),
        outputs_(outputs),
        memory_(2 + program.inputs.size() + program.outputs.size()) {
    sizes_ = {program.arena_bytes, program.device_plan.size};
    for (const TensorType& t : program.inputs) sizes_.push_back(t.bytes());
    for (const TensorType& t : program.outputs) sizes_.push_back(t.bytes());
  }

  Status run() {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const TensorType& t = program_.inputs[i];
      write({2 + i, 0}, whole(graph_.inputs()[i]), TensorDesc::row_major(t.dtype, t.shape));
    }
    for (step_ = 0; step_ < program_.steps.size(); ++step_) QUERN_TRY(play());
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const TensorType& t = program_.outputs[i];
      const Address at = output(static_cast<std::uint32_t>(i), 0);
      QUERN_TRY(read(at, whole(graph_.outputs()[i]), TensorDesc::row_major(t.dtype, t.shape),
                     cat("output ", i)));
    }
    return {};
  }

 private:
  struct Writing {
    HeldValue held;
    TensorDesc desc;
    Address at;
  };
  struct Range {
    Address at;
    std::uint64_t bytes = 0;

    // Ranges without bytes meet none, wherever they begin.
    bool meets(const Range& o) const {
      return bytes > 0 && o.bytes > 0 && at.region == o.at.region &&
             at.begin < o.at.begin + o.bytes && o.at.begin < at.begin + bytes;
    }
  };

  const Step& step() const { return program_.steps[step_]; }
  const StepMeaning& meaning() const { return meanings_[step_]; }

  HeldValue whole(ValueId v) const {
    const Value& value = graph_.value(v);
    const bool has_post_ops = value.producer != no_node && value.producer_output == 0;
    return {v, has_post_ops ? graph_.node(value.producer).post_ops.size() : 0};
  }

  // ---- one step

  Status play() {
    const StepMeaning& m = meaning();
    if (m.inputs.size() != step().inputs.size() || m.outputs.size() != step().outputs.size())
      return wrong(cat("has ", step().inputs.size(), " operands and ", step().outputs.size(),
                       " results, but is said to have ", m.inputs.size(), " and ",
                       m.outputs.size()));
    for (std::size_t i = 0; i < m.inputs.size(); ++i) QUERN_TRY(read_input(i));
    QUERN_TRY(check_overlaps());
    if (step().scratch_bytes) {
      const Range r = scratch();
      memory_[r.at.region].clear(r.at.begin, r.at.begin + r.bytes);
    }
    for (std::size_t i = 0; i < m.outputs.size(); ++i) QUERN_TRY(write_output(i));
    return {};
  }

  Status read_input(std::size_t i) {
    const HeldValue held = operand(i);
    const Step::Operand& o = step().inputs[i];
    if (o.base == Base::none) {
      if (may_be_absent(i)) return {};
      return wrong(cat("is not given ", name(held), ", its operand ", i));
    }
    if (held.value == no_value) return wrong(cat("is given an operand ", i, " that it has not"));
    if (o.base == Base::constant || o.base == Base::device_constant) {
      if (is_constant(held.value)) return {};
      return wrong(cat("is given a constant for ", name(held), ", its operand ", i));
    }
    return read(input_address(i), held, meaning().inputs[i], cat("operand ", i));
  }

  // The value that the step reads there according to the graph.
  HeldValue operand(std::size_t i) const {
    const StepMeaning& m = meaning();
    if (m.kind == StepMeaning::Kind::move) return m.held;
    if (m.kind == StepMeaning::Kind::region)
      return i < m.reads.size() ? whole(m.reads[i]) : HeldValue();
    const Node& n = graph_.node(m.node);
    if (m.kind == StepMeaning::Kind::kernel)
      return i < n.read_count() && n.read(i) != no_value ? whole(n.read(i)) : HeldValue();
    const auto* binary = std::get_if<BinaryPostOp>(&n.post_ops[m.post_ops]);
    const std::size_t self = binary && binary->swapped ? 1 : 0;
    return i == self ? HeldValue{n.outputs[0], m.post_ops} : whole(n.operands[binary->operand]);
  }

  HeldValue result(std::size_t i) const {
    const StepMeaning& m = meaning();
    if (m.kind == StepMeaning::Kind::move) return m.held;
    if (m.kind == StepMeaning::Kind::region) return whole(m.writes[i]);
    const ValueId v = graph_.node(m.node).outputs[i];
    if (v == no_value || i > 0) return {v, 0};
    return {v, m.kind == StepMeaning::Kind::kernel ? m.post_ops : m.post_ops + 1};
  }

  // Returns true if the operand is absent in the model, empty, packed by the kernel, or read by a
  // later post-op.
  bool may_be_absent(std::size_t i) const {
    const StepMeaning& m = meaning();
    const HeldValue held = operand(i);
    if (held.value == no_value) return true;
    if (graph_.type(held.value).shape()->elements() == 0) return true;
    if (i < m.packed_inputs.size() && m.packed_inputs[i]) return is_constant(held.value);
    if (m.kind != StepMeaning::Kind::kernel) return false;
    const Node& n = graph_.node(m.node);
    return i >= n.inputs.size() && is_read_later(n.post_ops, m.post_ops, i - n.inputs.size());
  }

  // Returns true if the value depends on no input of the graph.
  bool is_constant(ValueId v) const { return constants_[index(v)]; }

  Status write_output(std::size_t i) {
    const Step::Operand& o = step().outputs[i];
    if (o.base == Base::none) return {};
    if (o.base != Base::arena && o.base != Base::device_arena && o.base != Base::output)
      return wrong(cat("writes result ", i, " where nothing may be written"));
    const TensorDesc& desc = meaning().outputs[i];
    const Address at = address(o);
    if (ends_past_memory(at, desc))
      return wrong(cat("writes result ", i, " past the end of its memory"));
    write(at, result(i), desc);
    const std::uint64_t end = at.begin + desc.bytes();
    if (step().kind == Step::Kind::device) memory_[at.region].clear(end, whole_vectors(end));
    return {};
  }

  void write(const Address& at, const HeldValue& held, const TensorDesc& desc) {
    writings_.push_back({held, desc, at});
    memory_[at.region].write(at.begin, at.begin + desc.bytes(),
                             static_cast<std::uint32_t>(writings_.size() - 1));
  }

  // ---- where operands lie

  Address output(std::uint32_t i, std::uint64_t offset) const {
    if (outputs_ == Outputs::in_arena) return {0, program_.output_offsets[i] + offset};
    return {2 + program_.inputs.size() + i, offset};
  }
  Address address(const Step::Operand& o) const {
    if (o.base == Base::arena) return {0, o.offset};
    if (o.base == Base::device_arena) return {1, o.offset};
    if (o.base == Base::input) return {2 + o.index, o.offset};
    return output(o.index, o.offset);
  }
  // Operands of a device are aligned down to a valid binding offset; the kernel skips the bytes
  // before the operand.
  Address input_address(std::size_t i) const {
    Address at = address(step().inputs[i]);
    if (step().kind == Step::Kind::device)
      at.begin += step().input_bytes[i] - meaning().inputs[i].bytes();
    return at;
  }
  Range scratch() const {
    const std::size_t region = step().kind == Step::Kind::device ? 1 : 0;
    return {{region, step().scratch_offset}, step().scratch_bytes};
  }
  bool ends_past_memory(const Address& at, const TensorDesc& desc) const {
    return desc.bytes() > sizes_[at.region] || at.begin > sizes_[at.region] - desc.bytes();
  }
  static bool is_in_memory(const Step::Operand& o) {
    return o.base != Base::none && o.base != Base::constant && o.base != Base::device_constant;
  }

  // ---- reads

  // Checks that every sampled element is the element of `held` at that index.
  Status read(const Address& at, const HeldValue& held, const TensorDesc& desc,
              const std::string& what) {
    const std::int64_t count = desc.shape.elements();
    if (count == 0) return {};
    if (ends_past_memory(at, desc))
      return wrong(cat("reads ", what, ", ", name(held), ", past the end of its memory"));
    for (std::int64_t index : edges(desc.shape)) QUERN_TRY(compare(at, held, desc, index, what));
    for (std::int64_t k = 1; k <= elements_between; ++k) {
      const std::int64_t index = count / (elements_between + 1) * k;
      QUERN_TRY(compare(at, held, desc, index, what));
    }
    return compare_pieces(at, held, desc, what);
  }

  // Indices of the first and the last element, and of the second and the last along each dimension.
  static std::vector<std::int64_t> edges(const Shape& shape) {
    std::vector<std::int64_t> found = {0, shape.elements() - 1};
    std::int64_t stride = 1;
    for (std::size_t d = shape.rank(); d-- > 0;) {
      if (shape[d] > 1) {
        found.push_back(stride);
        found.push_back(stride * (shape[d] - 1));
      }
      stride *= shape[d];
    }
    return found;
  }

  // Compares the elements at both ends of each piece that one step wrote, and the first after it.
  Status compare_pieces(const Address& at, const HeldValue& held, const TensorDesc& desc,
                        const std::string& what) {
    const std::uint64_t end = at.begin + desc.bytes();
    const std::uint64_t size = quern::size_of(desc.dtype);
    const Bytes& bytes = memory_[at.region];
    std::size_t pieces = 0;
    for (auto it = bytes.at(at.begin); it != bytes.all().end() && it->first < end; ++it) {
      if (++pieces > most_pieces) break;
      const std::uint64_t first = std::max(it->first, at.begin) - at.begin;
      const std::uint64_t behind = std::min(it->second.end, end) - at.begin;
      for (const std::uint64_t byte : {first, behind - std::min(behind, size), behind}) {
        if (byte >= desc.bytes()) continue;
        const auto index = element_at(desc, byte);
        if (index) QUERN_TRY(compare(at, held, desc, *index, what));
      }
    }
    return {};
  }

  Status compare(const Address& at, const HeldValue& held, const TensorDesc& desc,
                 std::int64_t index, const std::string& what) {
    const std::uint64_t byte = at.begin + byte_of(desc, index);
    const Bytes& bytes = memory_[at.region];
    const auto piece = bytes.at(byte);
    const bool written = piece != bytes.all().end() && piece->first <= byte &&
                         byte + quern::size_of(desc.dtype) <= piece->second.end;
    const Writing* w = written ? &writings_[piece->second.writing] : nullptr;
    // Several elements may lie at one byte: those of an expanded tensor, moved as it is.
    if (w && w->held == held && w->desc.dtype == desc.dtype &&
        byte_of(w->desc, index) == byte - w->at.begin)
      return {};
    const auto found = w ? element_at(w->desc, byte - w->at.begin) : std::nullopt;
    if (found && w->desc.dtype == desc.dtype && is_same(held, index, w->held, *found)) return {};
    std::string there = "nothing that a step has written";
    if (found) there = cat("element ", *found, " of ", name(w->held));
    return wrong(cat("reads ", what, ", ", name(held), ", whose element ", index, " should be at ",
                     place(at.region), " byte ", byte, ", where ", there, " lies"));
  }

  // Returns true if the element that the step reads is the element there, a copy of it, or a copy
  // of the same origin.
  bool is_same(const HeldValue& held, std::int64_t index, const HeldValue& there,
               std::int64_t there_index) {
    if (held.value == there.value) return held == there && index == there_index;
    if (held != whole(held.value) || there != whole(there.value)) return false;
    Element e{held.value, index};
    while (const auto next = sources_.source(e)) {
      e = *next;
      if (e.value == there.value) return e.index == there_index;
    }
    return e == sources_.origin({there.value, there_index});
  }

  // ---- operands of one step

  struct Result {
    Range range;
    std::size_t number = 0;
    std::size_t under = 0;  // operands that it is written over
  };

  // Results are sorted by address and do not meet each other, so that an operand is compared with
  // those alone that it meets.
  Status check_overlaps() {
    const StepMeaning& m = meaning();
    std::vector<Result> results;
    for (std::size_t o = 0; o < m.outputs.size(); ++o) {
      const Step::Operand& place = step().outputs[o];
      if (place.base == Base::none || m.outputs[o].bytes() == 0) continue;
      results.push_back({{address(place), m.outputs[o].bytes()}, o});
      if (step().scratch_bytes && results.back().range.meets(scratch()))
        return wrong(cat("has its scratch where result ", o, " lies"));
    }
    std::ranges::sort(results, is_before);
    for (std::size_t k = 1; k < results.size(); ++k)
      if (results[k].range.meets(results[k - 1].range))
        return wrong(cat("writes result ", results[k].number, " over another"));
    const std::vector<Range> stays = operands_in_place();
    for (std::size_t i = 0; i < m.inputs.size(); ++i) {
      if (!is_in_memory(step().inputs[i])) continue;
      const Range input{input_address(i), m.inputs[i].bytes()};
      if (step().scratch_bytes && scratch().meets(input))
        return wrong(cat("has its scratch where operand ", i, " lies"));
      auto r = std::ranges::upper_bound(results, Result{input}, is_before);
      if (r != results.begin()) --r;
      for (; r != results.end() && !is_behind(r->range, input); ++r)
        if (r->range.meets(input)) QUERN_TRY(check_under(*r, i, input, stays));
    }
    return {};
  }
  static bool is_before(const Result& a, const Result& b) {
    return std::pair(a.range.at.region, a.range.at.begin) <
           std::pair(b.range.at.region, b.range.at.begin);
  }
  // Returns true if `a` and all ranges after it lie behind `b`.
  static bool is_behind(const Range& a, const Range& b) {
    return a.at.region > b.at.region ||
           (a.at.region == b.at.region && a.at.begin >= b.at.begin + b.bytes);
  }

  Status check_under(Result& result, std::size_t i, const Range& input,
                     std::span<const Range> stays) const {
    if (result.number == 0 && is_within(stays, input)) return {};
    if (++result.under == 1 && may_share(result.number, i, result.range, input)) return {};
    return wrong(cat("writes result ", result.number, " where its operand ", i, " lies"));
  }

  // The operands that the kernel finds in place in the first result and leaves there, by address;
  // each reaches at least as far as those before it.
  std::vector<Range> operands_in_place() const {
    std::vector<Range> found;
    for (const CopiedInput& c : meaning().copies) {
      if (!is_in_memory(step().inputs[c.input])) continue;
      const Address at = input_address(c.input);
      const Address result = address(step().outputs[0]);
      if (at.region == result.region && at.begin == result.begin + c.offset)
        found.push_back({at, meaning().inputs[c.input].bytes()});
    }
    std::ranges::sort(found, {}, [](const Range& r) { return r.at.begin; });
    std::uint64_t furthest = 0;
    for (Range& r : found) {
      furthest = std::max(furthest, r.at.begin + r.bytes);
      r.bytes = furthest - r.at.begin;
    }
    return found;
  }
  // Returns true if the operand is one of those, or a copy or a part of one.
  static bool is_within(std::span<const Range> stays, const Range& input) {
    const auto behind = std::ranges::upper_bound(stays, input.at.begin, {},
                                                 [](const Range& r) { return r.at.begin; });
    if (behind == stays.begin()) return false;
    const Range& last = *std::prev(behind);
    return last.at.region == input.at.region &&
           input.at.begin + input.bytes <= last.at.begin + last.bytes;
  }
  bool may_share(std::size_t o, std::size_t i, const Range& result, const Range& input) const {
    return std::ranges::any_of(meaning().sharing, [&](const Sharing& s) {
      return s.output == o && s.input == i && result.at.begin == input.at.begin &&
             result.bytes == input.bytes;
    });
  }

  // ---- messages

  std::string name(const HeldValue& held) const {
    if (held.value == no_value) return "nothing";
    const std::string& text = graph_.value(held.value).name;
    const std::string shown = cat(text.empty() ? cat("%", index(held.value)) : in_quotes(text));
    return held == whole(held.value) ? shown : cat(shown, " after ", held.post_ops, " post-ops");
  }
  std::string place(std::size_t region) const {
    if (region < 2) return region == 0 ? "arena" : "device arena";
    const std::size_t i = region - 2;
    return i < program_.inputs.size() ? cat("input ", i)
                                      : cat("output ", i - program_.inputs.size());
  }
  Status wrong(const std::string& what) const {
    std::string subject = "the end of the program ";
    if (step_ < program_.steps.size())
      subject = cat("step ", step_, ", node '", printable(step().node), "' (", step().op, "), ");
    return {Code::internal, cat("this plan is wrong, which is a defect of quern: ", subject, what)};
  }

  const Graph& graph_;
  const Program& program_;
  std::span<const StepMeaning> meanings_;
  const std::vector<bool>& constants_;  // by value
  ElementSources& sources_;
  Outputs outputs_;
  std::vector<Bytes> memory_;  // the arenas of host and device, inputs, outputs
  std::vector<std::uint64_t> sizes_;
  std::vector<Writing> writings_;
  std::size_t step_ = 0;
};

// Checks that byte offsets in these tensors do not overflow.
Status check_sizes(std::span<const TensorType> types, std::string_view what) {
  for (const TensorType& t : types)
    if (!t.shape.checked_elements(size_of(t.dtype)))
      return {Code::out_of_memory,
              cat("an ", what, " of type ", t.text(), " is larger than memory")};
  return {};
}

// By value: true if the value depends on no input of the graph, so that it is the same in every
// run.
std::vector<bool> constants_of(const Graph& graph) {
  std::vector<bool> constants(graph.value_count());
  for (std::uint32_t i = 0; i < graph.value_count(); ++i)
    constants[i] = graph.value(ValueId{i}).is_constant();
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    const bool constant = std::ranges::all_of(
        n.reads(), [&](ValueId v) { return v == no_value || constants[index(v)]; });
    for (ValueId v : n.outputs)
      if (v != no_value) constants[index(v)] = constant;
  }
  return constants;
}

}  // namespace

Status check_program(const Graph& graph, const Program& program,
                     std::span<const StepMeaning> meanings) {
  if (meanings.size() != program.steps.size())
    return {Code::internal, "a plan does not say what each of its steps is for"};
  QUERN_TRY(check_sizes(program.inputs, "input"));
  QUERN_TRY(check_sizes(program.outputs, "output"));
  const std::vector<bool> constants = constants_of(graph);
  ElementSources sources(graph);
  for (const auto outputs : {Checker::Outputs::in_arena, Checker::Outputs::bound})
    QUERN_TRY(Checker(graph, program, meanings, constants, sources, outputs).run());
  return {};
}

}  // namespace quern
