// SPDX-License-Identifier: Apache-2.0
#include "engine/artefact/load.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "engine/artefact/format.h"
#include "engine/artefact/signature.h"
#include "engine/compile/executable_impl.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/platform/pages.h"
#include "graph/built.h"
#include "graph/built_for.h"
#include "graph/opened_file.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace quern {
namespace artefact {
namespace {

// Addresses for constants that are left out: pages that nobody reads, and that would be zeros.
Result<std::shared_ptr<const std::byte>> absent_bytes(std::uint64_t bytes) {
  if (bytes == 0) return std::shared_ptr<const std::byte>();
  const std::byte* const p = bytes > SIZE_MAX ? nullptr : platform::take_zeros(bytes);
  if (!p) return Status(Code::out_of_memory, cat("no addresses for ", bytes, " bytes of weights"));
  return std::shared_ptr<const std::byte>(
      p, [bytes](const std::byte* at) { platform::give_zeros(at, bytes); });
}

// The bytes of a file, with its tables.
struct File {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> data;
  Tables tables;
};

Result<File> read_file(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       const LoadOptions& options) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  QUERN_ASSIGN(const Header header, read_header(text));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % item_alignment != 0)
    return Status(Code::invalid_argument, "an artefact in memory begins at a multiple of 64 bytes");
  const auto tables = bytes.subspan(header_bytes, header.table_bytes);
  if (content_hash(tables) != header.table_hash) return invalid("its tables were changed");
  File file{std::move(owner), bytes.subspan(header.data_offset), {}};
  if (options.checks_weights && content_hash(file.data) != header.data_hash)
    return invalid("its weights were changed");
  QUERN_ASSIGN(file.tables, read_tables(text.substr(header_bytes, header.table_bytes)));
  return file;
}

// A range of the data. Offsets and sizes may be any numbers.
Result<const std::byte*> range(const File& file, std::uint64_t offset, std::uint64_t bytes) {
  if (offset % item_alignment != 0 || offset > file.data.size() ||
      bytes > file.data.size() - offset)
    return invalid(cat("a table names ", bytes, " bytes at ", offset, " of ", file.data.size()));
  return file.data.data() + offset;
}

// The constants of the file as tensors that point into it.
class Constants {
 public:
  static Result<Constants> of(const File& file) {
    Constants constants;
    std::uint64_t absent = 0;
    for (const ConstantEntry& e : file.tables.constants)
      if (e.offset == nowhere) absent += round_up(e.type.bytes(), item_alignment);
    QUERN_ASSIGN(const auto room, absent_bytes(absent));
    absent = 0;
    for (const ConstantEntry& e : file.tables.constants) {
      if (e.offset == nowhere) {
        constants.tensors_.emplace_back(e.type, room, room.get() + absent);
        absent += round_up(e.type.bytes(), item_alignment);
        continue;
      }
      QUERN_ASSIGN(const std::byte* const data, range(file, e.offset, e.type.bytes()));
      const auto is_bool = [](std::byte b) { return b <= std::byte{1}; };
      if (e.type.dtype == DType::boolean && !std::all_of(data, data + e.type.bytes(), is_bool))
        return invalid("a constant of bool has other values than 0 and 1");
      constants.tensors_.emplace_back(e.type, file.owner, data);
    }
    return constants;
  }

  const Tensor& operator[](std::size_t i) const { return tensors_[i]; }
  Result<Tensor> at(std::uint64_t number, const TensorType& type) const {
    if (number >= tensors_.size()) return invalid(cat("there is no constant ", number));
    const Tensor& t = tensors_[number];
    if (t.type() == type) return Tensor(t);
    return invalid(
        cat("constant ", number, " is ", t.type().text(), ", a graph wants ", type.text()));
  }

 private:
  std::vector<Tensor> tensors_;
};

// Whether packed weights and plans were made for this library, machine and device.
enum class MadeFor : std::uint8_t { here, elsewhere };

Result<std::shared_ptr<const cpu::PackedWeights>> packed_of(const File& file,
                                                            const Constants& constants,
                                                            MadeFor made_for) {
  auto packed = std::make_shared<cpu::PackedWeights>();
  packed->owner = file.owner;
  for (std::size_t i = 0; i < file.tables.constants.size(); ++i) {
    const ConstantEntry& e = file.tables.constants[i];
    if (e.offset == nowhere) packed->left_out.insert(constants[i].data());
    if (e.number == nowhere || made_for == MadeFor::elsewhere) continue;
    packed->numbers.try_emplace(constants[i].data(), e.number);
    if (e.number >= packed->next_number) packed->next_number = e.number + 1;
  }
  if (made_for == MadeFor::elsewhere)
    return std::shared_ptr<const cpu::PackedWeights>(std::move(packed));
  for (const PackedEntry& e : file.tables.packed) {
    QUERN_ASSIGN(const std::byte* const data, range(file, e.offset, e.bytes));
    // The key begins with the number of bytes that kernels will read.
    if (!e.key.starts_with(cat(e.bytes, "|"))) return invalid("packed weights have another size");
    packed->by_key.try_emplace(e.key, data);
  }
  return std::shared_ptr<const cpu::PackedWeights>(std::move(packed));
}

Result<Graph> graph_of(const std::string& text, const Constants& constants, const OpSet& ops) {
  ReadTextOptions options;
  options.constant_at = [&](std::uint64_t number, const TensorType& type) {
    return constants.at(number, type);
  };
  options.infers = true;
  options.max_constant_bytes = 8 * text.size() + 64;
  auto graph = parse_text(text, ops, options);
  if (!graph && graph.error().code() == Code::unsupported) return std::move(graph).error();
  if (!graph) return invalid(graph.error().message());
  if (!graph->acyclic()) return invalid("a graph has a cycle");
  QUERN_TRY(verify(*graph));
  for (std::uint32_t v = 0; v < graph->value_count(); ++v)
    if (const DType dtype = graph->type(ValueId{v}).dtype; !is_built(dtype))
      return Status(Code::unsupported, cat("it has elements of ", name_of(dtype), built_for()));
  return graph;
}

// The plans of the file, whose graphs are read when they are asked for.
class FilePlans final : public SavedPlans {
 public:
  FilePlans(std::shared_ptr<const File> file, Constants constants, OpSet ops)
      : file_(std::move(file)), constants_(std::move(constants)), ops_(std::move(ops)) {}

  Result<std::optional<SavedPlan>> find(std::span<const std::int64_t> key) const override {
    for (const PlanEntry& plan : file_->tables.plans)
      if (std::ranges::equal(plan.key, key)) return read(plan);
    return std::optional<SavedPlan>();
  }
  bool are_all() const override { return !file_->tables.is_portable; }
  std::string shapes() const override { return printable(file_->tables.shapes, 400); }

 private:
  Result<std::optional<SavedPlan>> read(const PlanEntry& plan) const {
    SavedPlan saved{Segment(ops_), Recipe(ops_)};
    saved.segment.inputs = plan.inputs;
    saved.segment.outputs = plan.outputs;
    saved.segment.slot_count = plan.slot_count;
    for (const SlotRef& ref : plan.results) {
      ResultRef& result = saved.segment.results.emplace_back();
      result.tensors.push_back(ref);
    }
    QUERN_ASSIGN(saved.recipe.graph, graph_of(plan.graph, constants_, ops_));
    for (std::uint32_t i = 0; i < saved.recipe.graph.value_count(); ++i) {
      const Value& v = saved.recipe.graph.value(ValueId{i});
      if ((v.producer != no_node || !v.uses.empty()) && !v.type.fully_known())
        return invalid("a plan has a value whose shape is not known");
    }
    saved.recipe.order = plan.order;
    saved.recipe.scratch = plan.scratch;
    saved.recipe.stripes = plan.stripes;
    saved.recipe.memories = plan.memories;
    return std::optional<SavedPlan>(std::move(saved));
  }

  std::shared_ptr<const File> file_;
  Constants constants_;
  OpSet ops_;
};

// What the model declares of its outputs is shown to users, and nothing rests on it.
Status claim_outputs(Graph& graph, std::span<const ValueSpec> outputs) {
  if (outputs.size() != graph.outputs().size())
    return invalid("its outputs are not those of its graph");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].has_rank) continue;
    Dims dims;
    for (std::size_t d = 0; d < outputs[i].dims.size(); ++d) {
      const bool is_known = outputs[i].dims[d] >= 0;
      const std::string& symbol = outputs[i].symbols[d];
      dims.push_back(is_known         ? Dim(outputs[i].dims[d])
                     : symbol.empty() ? Dim()
                                      : graph.symbol(symbol));
    }
    graph.set_claim(graph.outputs()[i], std::move(dims));
  }
  return {};
}

CompileOptions merged(const CompileOptions& here, const CompileOptions& of_file) {
  CompileOptions o = here;
  if (o.threads <= 0) o.threads = of_file.threads;
  o.strategy = of_file.strategy;
  o.optimize = of_file.optimize;
  o.order = of_file.order;
  o.alias = of_file.alias;
  o.scratch = of_file.scratch;
  o.math = of_file.math;
  o.denormals = of_file.denormals;
  o.implementation = of_file.implementation;
  return o;
}

std::shared_ptr<const Tuning> tuning_of(const std::vector<Choice>& choices) {
  if (choices.empty()) return nullptr;
  auto tuning = std::make_shared<Tuning>();
  for (const auto& [work, entry] : choices) tuning->set({work, entry, {}});
  return tuning;
}

Result<std::shared_ptr<const Executable>> load_bytes(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner,
                                                     std::shared_ptr<Device> device,
                                                     const LoadOptions& options,
                                                     PlanOptionsFn plans) {
  if (!device) {
    QUERN_ASSIGN(device, open_device("cpu"));
  }
  QUERN_ASSIGN(File read, read_file(bytes, std::move(owner), options));
  const auto file = std::make_shared<const File>(std::move(read));
  const Tables& tables = file->tables;
  const std::string other = difference(tables.signature, signature_of(*device));
  if (!other.empty() && !tables.is_portable)
    return Status(Code::unsupported, cat("the artefact was made for ", other,
                                         ": compile the model again, here or with --portable"));
  QUERN_ASSIGN(Constants constants, Constants::of(*file));
  const OpSet ops = builtin_ops(options.ops);
  QUERN_ASSIGN(auto packed,
               packed_of(*file, constants, other.empty() ? MadeFor::here : MadeFor::elsewhere));
  QUERN_ASSIGN(Graph graph, graph_of(tables.graph, constants, ops));
  CompileOptions compile = merged(options.compile, tables.options);
  compile.tuning = tuning_of(tables.choices);
  QUERN_ASSIGN(auto impl,
               begin_executable(Model(std::make_unique<Graph>(std::move(graph)), tables.metadata),
                                std::move(device), compile));
  // After the inputs are listed: an output may be an input, too.
  QUERN_TRY(claim_outputs(impl->model.graph(), tables.outputs));
  impl->outputs = impl->model.outputs();
  QUERN_ASSIGN(PlanOptions plan, plans(compile, impl->device->info()));
  plan.half_products = tables.half_products;
  // Elsewhere their graphs are still right, for those who can make no other plans.
  if (other.empty() || !plan.maker)
    plan.saved = std::make_shared<const FilePlans>(file, std::move(constants), ops);
  return finish_executable(std::move(impl), std::move(plan), std::move(packed));
}

}  // namespace

Result<std::shared_ptr<const Executable>> load(std::span<const std::byte> bytes,
                                               std::shared_ptr<const void> owner,
                                               std::shared_ptr<Device> device,
                                               const LoadOptions& options, PlanOptionsFn plans) {
  return guarded([&] {
    const HostScope scope(options.compile.host);
    return load_bytes(bytes, std::move(owner), std::move(device), options, plans);
  });
}

Result<std::vector<Graph>> graphs_of(std::span<const std::byte> bytes) {
  QUERN_ASSIGN(const File file, read_file(bytes, nullptr, {.checks_weights = false}));
  QUERN_ASSIGN(const Constants constants, Constants::of(file));
  const OpSet ops = builtin_ops();
  std::vector<Graph> graphs;
  QUERN_ASSIGN(graphs.emplace_back(ops), graph_of(file.tables.graph, constants, ops));
  for (const PlanEntry& plan : file.tables.plans) {
    QUERN_ASSIGN(graphs.emplace_back(ops), graph_of(plan.graph, constants, ops));
  }
  return graphs;
}

Result<std::shared_ptr<const Executable>> load_file(const std::string& path,
                                                    std::shared_ptr<Device> device,
                                                    const LoadOptions& options,
                                                    PlanOptionsFn plans) {
  return guarded([&]() -> Result<std::shared_ptr<const Executable>> {
    const HostScope scope(options.compile.host);
    const bool is_mapped = options.files == OnnxOptions::Files::mapped;
    QUERN_ASSIGN(OpenedFile file, open_file(path, is_mapped ? FileBytes::mapped : FileBytes::read));
    return load_bytes(file.bytes, std::move(file.owner), std::move(device), options, plans);
  });
}

}  // namespace artefact

bool is_artefact(std::span<const std::byte> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with(artefact::magic);
}

bool is_artefact_file(const std::string& path) {
  const auto file = guarded([&] { return open_file(path); });
  return file && is_artefact(file->bytes);
}

CompileWork work_of(const Executable& executable) {
  const Executable::Impl& e = executable.impl();
  return {e.plans->work()->graphs, e.plans->work()->searches, e.weights->packings()};
}

}  // namespace quern
