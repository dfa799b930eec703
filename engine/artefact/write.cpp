// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <numeric>
#include <optional>

#include <quern/artefact.h>

#include "engine/artefact/format.h"
#include "engine/artefact/signature.h"
#include "engine/compile/executable_impl.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/whole_file.h"
#include "engine/vocabulary/zeroed_memory.h"
#include "graph/text.h"

namespace quern {

struct Artefact::Impl {
  std::shared_ptr<const Executable> executable;      // keeps constants
  std::shared_ptr<const cpu::SharedWeights> packed;  // keeps packed weights
  std::vector<Tensor> constants;
  std::vector<std::string> texts;
  std::vector<std::string_view> pieces;
  Contents contents;
  std::vector<std::string> notes;
};

namespace artefact {
namespace {

// Zeros between pieces.
constexpr char zeros[data_alignment] = {};

// The data of a file: pieces at multiples of 64 bytes.
class Data {
 public:
  // Returns the offset.
  std::uint64_t add(const std::byte* bytes, std::uint64_t size) {
    pad(round_up(bytes_, item_alignment));
    const std::uint64_t offset = bytes_;
    pieces_.emplace_back(reinterpret_cast<const char*>(bytes), size);
    bytes_ += size;
    return offset;
  }
  void pad(std::uint64_t end) {
    if (end > bytes_) pieces_.emplace_back(zeros, end - bytes_);
    bytes_ = end;
  }
  std::uint64_t bytes() const { return bytes_; }
  const std::vector<std::string_view>& pieces() const { return pieces_; }

 private:
  std::uint64_t bytes_ = 0;
  std::vector<std::string_view> pieces_;
};

// The constants of all graphs of a file, by their memory and type. Strings stay in the text.
class Constants {
 public:
  std::optional<std::uint64_t> place_of(const Tensor& t) {
    if (t.dtype() == DType::string || t.bytes() == 0) return std::nullopt;
    const auto [at, is_new] = index_.try_emplace(cat(t.type().text(), "@", address(t)),
                                                 static_cast<std::uint64_t>(tensors_.size()));
    if (is_new) tensors_.push_back(t);
    return at->second;
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  static std::uintptr_t address(const Tensor& t) {
    return reinterpret_cast<std::uintptr_t>(t.data());
  }

  std::map<std::string, std::uint64_t> index_;
  std::vector<Tensor> tensors_;
};

// A plan that is one segment of tensors, of which every slot is an input or an output in order.
bool is_simple(const Segment& s, std::size_t inputs) {
  if (s.rest || !s.controls.empty() || !s.unresolved.empty()) return false;
  if (s.slot_count != inputs + s.outputs.size()) return false;
  for (std::size_t i = 0; i < s.outputs.size(); ++i)
    if (s.outputs[i] != inputs + i || s.dynamic_output[i]) return false;
  return std::ranges::all_of(s.results, [](const ResultRef& r) {
    return !r.whole_slot && r.kind == RuntimeValue::Kind::tensor && r.tensors.size() == 1;
  });
}

using Shapes = std::vector<Shape>;

std::string shapes_text(std::span<const ValueSpec> specs, const Shapes& shapes) {
  std::string text;
  for (std::size_t i = 0; i < specs.size(); ++i)
    text += cat(text.empty() ? "" : ", ", printable(specs[i].name), " ",
                TensorType{specs[i].dtype, shapes[i]}.text());
  return text;
}

class Maker {
 public:
  Maker(const Executable& executable, const ArtefactOptions& options)
      : executable_(executable),
        e_(executable.impl()),
        options_(options),
        packed_(std::make_shared<cpu::SharedWeights>()),
        tree_(e_.model.graph(), packed_, recording(e_.plans->options()), std::make_shared<Ledger>(),
              e_.backend) {
    packed_->record();
  }

  Status run(Artefact::Impl& artefact) {
    QUERN_TRY(plan_all());
    is_portable_ = options_.is_portable || tables_.plans.empty() || !notes_.empty();
    fill_tables();
    QUERN_TRY(check_text(tables_.graph, "the graph"));
    for (const PlanEntry& plan : tables_.plans) QUERN_TRY(check_text(plan.graph, "a plan"));
    place_data();
    finish(artefact);
    return {};
  }

 private:
  static PlanOptions recording(PlanOptions options) {
    options.record = true;
    options.saved = nullptr;
    return options;
  }

  std::string text_of(const Graph& graph) {
    return to_text(graph, {.max_elements = std::numeric_limits<std::size_t>::max(),
                           .place_of = [&](const Tensor& t) { return constants_.place_of(t); }});
  }

  // What is written can be read, and is the same graph.
  Status check_text(const std::string& text, std::string_view what) {
    const auto constant_at = [&](std::uint64_t number, const TensorType&) -> Result<Tensor> {
      return Tensor(constants_.tensors()[number]);
    };
    auto read =
        parse_text(text, e_.model.graph().ops(), {.constant_at = constant_at, .infers = true});
    if (!read)
      return {Code::internal, cat(what, " cannot be written as text: ", read.error().message())};
    if (text_of(*read) != text)
      return {Code::internal, cat(what, " is another one when it is read again")};
    return {};
  }

  // ---- plans

  Status plan_all() {
    std::vector<Shapes> all = options_.shapes;
    if (all.empty())
      if (auto declared = declared_shapes()) all.push_back(*std::move(declared));
    if (all.empty())
      notes_.emplace_back(
          "no plan is in the file, since the shapes of inputs are not all numbers: "
          "loading leaves planning and packing to the first run, which libquern_run cannot do; "
          "--dim and --shape give shapes");
    for (const Shapes& shapes : all) QUERN_TRY(plan(shapes));
    return {};
  }

  std::optional<Shapes> declared_shapes() const {
    Shapes shapes;
    for (const ValueId v : e_.model.graph().inputs()) {
      const ValueType& type = e_.model.graph().type(v);
      if (!type.fully_known()) return std::nullopt;
      shapes.push_back(*type.shape());
    }
    return shapes;
  }

  Status plan(const Shapes& shapes) {
    const std::vector<ValueSpec>& specs = executable_.inputs();
    if (shapes.size() != specs.size())
      return {Code::invalid_argument,
              cat("shapes of ", shapes.size(), " inputs are given, the model has ", specs.size())};
    static constexpr std::byte nothing{};  // only shapes are read
    std::vector<RuntimeValue> inputs;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].kind != ValueSpec::Kind::tensor) {
        notes_.push_back(cat("no plan is in the file, since input '", printable(specs[i].name),
                             "' is no tensor: libquern_run cannot run it"));
        return {};
      }
      inputs.emplace_back().tensors.push_back({{specs[i].dtype, shapes[i]}, &nothing});
    }
    std::vector<std::size_t> wanted(executable_.outputs().size());
    std::iota(wanted.begin(), wanted.end(), 0);
    const PlanKey key = root_key(e_.team, wanted, inputs);
    QUERN_ASSIGN(auto node, tree_.root(key, inputs, wanted, e_.team, nullptr));
    const std::string text = shapes_text(specs, shapes);
    if (is_simple(node->segment, inputs.size()) && node->program->recipe)
      keep(*node, {key.begin() + team_words, key.end()}, text);
    else
      notes_.push_back(cat("no plan for ", text,
                           " is in the file, since it depends on what a run computes: the first "
                           "run makes it, where there is more than libquern_run"));
    return {};
  }

  void keep(const PlanNode& node, PlanKey key, const std::string& shapes) {
    const Segment& s = node.segment;
    const Recipe& recipe = *node.program->recipe;
    PlanEntry plan{.key = std::move(key), .inputs = s.inputs, .outputs = s.outputs};
    for (const ResultRef& r : s.results) plan.results.push_back(r.tensors[0]);
    plan.slot_count = static_cast<std::uint32_t>(s.slot_count);
    plan.order = recipe.order;
    plan.scratch = recipe.scratch;
    plan.stripes = recipe.stripes;
    plan.memories = recipe.memories;
    plan.graph = text_of(recipe.graph);
    keep_choices(*node.program);
    tables_.plans.push_back(std::move(plan));
    tables_.shapes += cat(tables_.shapes.empty() ? "" : "; ", shapes);
  }

  // What was measured of the work of these steps.
  void keep_choices(const Program& program) {
    if (!e_.options.tuning) return;
    const auto keep = [&](const std::string& work) {
      const Tuning::Row* row = e_.options.tuning->find(work);
      if (row) choices_.emplace(row->work, row->entry);
    };
    keep(program.work);
    for (const Step& s : program.steps) keep(s.work);
  }

  // ---- tables and data

  void fill_tables() {
    const PlanOptions& plan = e_.plans->options();
    tables_.signature = signature_of(*e_.device);
    tables_.options = e_.options;
    tables_.options.threads = e_.team.threads;
    tables_.choices.assign(choices_.begin(), choices_.end());
    tables_.half_products = plan.half_products;
    tables_.is_portable = is_portable_;
    tables_.metadata = e_.model.metadata();
    tables_.outputs = e_.outputs;
    tables_.graph = text_of(e_.model.graph());
  }

  // Weights that kernels of all plans read in packed layouts only are not written as they are.
  bool is_left_out(const Tensor& t) const {
    constexpr std::size_t small = 64 << 10;
    return !is_portable_ && t.bytes() > small && !packed_->recorded()->read.contains(t.data());
  }

  void place_data() {
    const auto numbers = packed_->numbers();
    std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> written;
    for (const Tensor& t : constants_.tensors()) {
      ConstantEntry entry{.type = t.type()};
      if (const auto number = numbers.find(t.data()); number != numbers.end())
        entry.number = number->second;
      if (!is_left_out(t)) {
        const auto [at, is_new] = written.try_emplace({t.data(), t.bytes()}, 0);
        if (is_new) at->second = data_.add(t.data(), t.bytes());
        entry.offset = at->second;
      }
      tables_.constants.push_back(entry);
    }
    constant_bytes_ = data_.bytes();
    for (const cpu::SharedWeights::Entry& e : packed_->recorded()->packed) {
      tables_.packed.push_back({e.key, data_.add(e.data.get(), e.bytes), e.bytes});
      packed_bytes_ += e.bytes;
    }
    data_.pad(round_up(data_.bytes(), item_alignment));
  }

  void finish(Artefact::Impl& artefact) {
    std::string tables = tables_text(tables_);
    Header header;
    header.table_bytes = tables.size();
    header.data_offset = round_up(header_bytes + tables.size(), data_alignment);
    header.data_bytes = data_.bytes();
    header.table_hash = content_hash(std::as_bytes(std::span(tables)));
    ContentHasher hasher;
    for (const std::string_view piece : data_.pieces()) hasher.add(std::as_bytes(std::span(piece)));
    header.data_hash = hasher.value();
    const std::size_t gap = header.data_offset - header_bytes - tables.size();
    artefact.texts = {header_text(header), std::move(tables)};
    artefact.pieces.assign(artefact.texts.begin(), artefact.texts.end());
    artefact.pieces.emplace_back(zeros, gap);
    artefact.pieces.insert(artefact.pieces.end(), data_.pieces().begin(), data_.pieces().end());
    artefact.packed = packed_;
    artefact.constants = constants_.tensors();
    artefact.notes = notes_;
    artefact.contents = {.bytes = static_cast<std::size_t>(header.data_offset + header.data_bytes),
                         .plans = tables_.plans.size(),
                         .packed_bytes = packed_bytes_,
                         .constant_bytes = constant_bytes_,
                         .is_portable = is_portable_};
  }

  const Executable& executable_;
  const Executable::Impl& e_;
  const ArtefactOptions& options_;
  std::shared_ptr<cpu::SharedWeights> packed_;
  PlanTree tree_;
  Constants constants_;
  Tables tables_;
  std::map<std::string, std::string> choices_;  // Tables::choices
  Data data_;
  bool is_portable_ = false;
  std::size_t constant_bytes_ = 0;
  std::size_t packed_bytes_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace
}  // namespace artefact

Artefact::Artefact(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Artefact::Artefact(Artefact&&) noexcept = default;
Artefact& Artefact::operator=(Artefact&&) noexcept = default;
Artefact::~Artefact() = default;

Result<Artefact> Artefact::make(std::shared_ptr<const Executable> executable,
                                const ArtefactOptions& options) {
  return guarded([&]() -> Result<Artefact> {
    if (!executable) return Status(Code::invalid_argument, "no executable is given");
    auto impl = std::make_unique<Impl>();
    impl->executable = executable;
    QUERN_TRY(artefact::Maker(*executable, options).run(*impl));
    return Artefact(std::move(impl));
  });
}

std::span<const std::string_view> Artefact::pieces() const {
  return impl_->pieces;
}
const Artefact::Contents& Artefact::contents() const {
  return impl_->contents;
}
const std::vector<std::string>& Artefact::notes() const {
  return impl_->notes;
}
Result<std::shared_ptr<std::byte>> Artefact::in_memory() const {
  return guarded([&]() -> Result<std::shared_ptr<std::byte>> {
    static_assert(artefact::item_alignment <= 64);
    std::shared_ptr<std::byte> file = zeroed_memory(impl_->contents.bytes);
    if (!file) return Status::no_memory();
    std::byte* at = file.get();
    for (const std::string_view piece : impl_->pieces)
      at = std::ranges::copy(std::as_bytes(std::span(piece)), at).out;
    return file;
  });
}
Status Artefact::write(const std::string& path) const {
  return guarded([&] { return write_whole_file(path, impl_->pieces, OnSignal::leaves); });
}

}  // namespace quern
