// SPDX-License-Identifier: Apache-2.0
#include "engine/artefact/format.h"

#include <array>
#include <span>
#include <utility>

namespace quern::artefact {
namespace {

constexpr std::uint64_t longest_data = std::uint64_t{1} << 62;

// Each visit() says the fields of one structure in their order, for a ByteWriter or a ByteReader.

template <class Io>
void visit(Io& io, Header& h) {
  io.number(h.version);
  io.number(h.flags);
  io.number(h.table_bytes);
  io.number(h.data_offset);
  io.number(h.data_bytes);
  for (std::uint64_t& word : h.table_hash) io.number(word);
  for (std::uint64_t& word : h.data_hash) io.number(word);
}

// Of texts: a Signature, and choices.
template <class Io>
void visit(Io& io, std::vector<std::pair<std::string, std::string>>& pairs) {
  io.list(pairs, 16, [&](auto& row) {
    io.text(row.first);
    io.text(row.second);
  });
}

template <class Io>
void visit(Io& io, CompileOptions& o) {
  io.number(o.threads);
  io.text(o.strategy);
  io.flag(o.optimize);
  io.flag(o.order);
  io.flag(o.alias);
  io.flag(o.scratch);
  io.flag(o.stripes);
  io.choice(o.math, static_cast<unsigned>(Math::automatic) + 1, "math");
  io.choice(o.denormals, static_cast<unsigned>(Denormals::keep) + 1, "denormals");
  io.text(o.implementation);
}

template <class Io>
void visit(Io& io, ModelMetadata& m) {
  io.number(m.ir_version);
  io.number(m.model_version);
  for (std::string* text :
       {&m.producer_name, &m.producer_version, &m.domain, &m.description, &m.graph_name})
    io.text(*text);
  io.list(m.opsets, 16, [&](auto& row) {
    io.text(row.first);
    io.number(row.second);
  });
  io.list(m.properties, 16, [&](auto& row) {
    io.text(row.first);
    io.text(row.second);
  });
}

template <class Io>
void visit(Io& io, ValueSpec& spec) {
  io.flag(spec.has_rank);
  io.list(spec.dims, 8, [&](std::int64_t& d) { io.number(d); });
  io.list(spec.symbols, 8, [&](std::string& s) { io.text(s); });
  if (spec.dims.size() != spec.symbols.size()) io.fail("an output has a dimension without a name");
}

template <class Io>
void visit(Io& io, TensorType& type) {
  io.choice(type.dtype, dtype_count, "an element type");
  if (type.dtype == DType::string) io.fail("a constant has strings, which the graphs hold");
  std::vector<std::int64_t> dims(type.shape.begin(), type.shape.end());
  io.list(dims, 8, [&](std::int64_t& d) { io.number(d); });
  if (dims.size() > Shape::max_rank) io.fail("a constant has too many dimensions");
  type.shape = Shape(dims);
  if (!type.shape.checked_elements(size_of(type.dtype))) io.fail("a constant is too large");
}

template <class Io>
void visit(Io& io, ConstantEntry& constant) {
  visit(io, constant.type);
  io.number(constant.offset);
  io.number(constant.number);
}

template <class Io>
void visit(Io& io, PackedEntry& packed) {
  io.text(packed.key);
  io.number(packed.offset);
  io.number(packed.bytes);
}

template <class Io>
void visit(Io& io, SlotRef& ref) {
  io.number(ref.slot);
  io.number(ref.element);
}

template <class Io>
void visit(Io& io, lowering::MemoryChoice& choice) {
  io.list(choice.schedule.order, 4, [&](std::uint32_t& step) { io.number(step); });
  io.list(choice.schedule.aliases, 12, [&](Schedule::Alias& alias) {
    io.number(alias.root);
    io.number(alias.offset);
  });
  io.list(choice.offsets, 8, [&](std::uint64_t& offset) { io.number(offset); });
  io.number(choice.size);
  io.number(choice.plain_bound);
  io.number(choice.bound);
  io.flag(choice.order_is_optimal);
  io.flag(choice.is_searched);
}

template <class Io>
void visit(Io& io, PlanEntry& plan) {
  io.list(plan.key, 8, [&](std::int64_t& word) { io.number(word); });
  io.list(plan.inputs, 8, [&](SlotRef& ref) { visit(io, ref); });
  io.list(plan.outputs, 4, [&](Slot& slot) { io.number(slot); });
  io.list(plan.results, 8, [&](SlotRef& ref) { visit(io, ref); });
  io.number(plan.slot_count);
  io.flag(plan.order);
  io.flag(plan.scratch);
  io.choice(plan.stripes, static_cast<unsigned>(Stripes::cache) + 1, "stripes");
  io.text(plan.graph);
  io.list(plan.memories, 50, [&](lowering::MemoryChoice& choice) { visit(io, choice); });
}

template <class Io>
void visit(Io& io, Tables& t) {
  visit(io, t.signature);
  visit(io, t.options);
  visit(io, t.choices);
  io.flag(t.half_products);
  io.flag(t.is_portable);
  visit(io, t.metadata);
  io.text(t.shapes);
  io.list(t.outputs, 17, [&](ValueSpec& spec) { visit(io, spec); });
  io.text(t.graph);
  io.list(t.constants, 25, [&](ConstantEntry& constant) { visit(io, constant); });
  io.list(t.packed, 24, [&](PackedEntry& packed) { visit(io, packed); });
  io.list(t.plans, 55, [&](PlanEntry& plan) { visit(io, plan); });
}

}  // namespace

Status invalid(std::string_view why) {
  return {Code::invalid_model, cat("artefact: ", why)};
}

std::string header_text(const Header& header) {
  ByteWriter io;
  Header h = header;
  visit(io, h);
  return cat(magic, io.take());
}

Result<Header> read_header(std::string_view file) {
  if (!file.starts_with(magic)) return invalid("the file does not begin as one");
  if (file.size() < header_bytes)
    return invalid(cat("the file has ", file.size(), " bytes, less than a header"));
  Header h;
  ByteReader io(file.substr(magic.size(), header_bytes - magic.size()));
  visit(io, h);
  if (h.version != format_version)
    return invalid(cat("it has version ", h.version, " of the format, this quern reads version ",
                       format_version, ": compile the model again"));
  if (h.flags != 0) return invalid("it has flags that this version does not know");
  const std::uint64_t room = file.size() - header_bytes;
  const std::uint64_t wanted_end = h.data_bytes < longest_data && h.data_offset < longest_data
                                       ? h.data_offset + h.data_bytes
                                       : nowhere;
  if (h.table_bytes > room || wanted_end != file.size() ||
      h.data_offset < header_bytes + h.table_bytes || h.data_offset % data_alignment != 0)
    return invalid(cat("it has ", file.size(), " bytes, its header wants ", wanted_end,
                       ": it is truncated or changed"));
  return h;
}

std::string difference(const Signature& made_for, const Signature& here) {
  std::string text;
  for (const auto& [name, now] : here) {
    std::string then = "nothing";
    for (const auto& [n, value] : made_for)
      if (n == name) then = value;
    if (then != now)
      text += cat(text.empty() ? "" : "; ", name, " ", printable(then), ", here ", now);
  }
  return text;
}

std::string tables_text(Tables& tables) {
  ByteWriter io;
  visit(io, tables);
  return io.take();
}

Result<Tables> read_tables(std::string_view bytes) {
  ByteReader io(bytes);
  Tables tables;
  visit(io, tables);
  if (io.status().ok() && !io.is_at_end()) io.fail("there are bytes behind the last table");
  QUERN_TRY(io.take_status());
  return tables;
}

}  // namespace quern::artefact
