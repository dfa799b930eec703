// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/lower.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "engine/compile/backend.h"
#include "engine/lowering/arenas.h"
#include "engine/lowering/kernel_lowering.h"
#include "engine/lowering/recipe.h"
#include "engine/lowering/views.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/ops/windowed.h"
#include "kernels/contract/layout.h"

namespace quern {
namespace lowering {
namespace {

constexpr std::uint64_t row_alignment = 16;  // rows of an image are rarely multiples of more bytes

// Walks the graph once: inputs, nodes as views or as steps, outputs. Then places all buffers in
// memory.
class Lowering final : public RegionCompiler {
 public:
  Lowering(const Graph& g, const LowerOptions& options, PlaceFn place)
      : g_(g),
        options_(options),
        place_(place),
        places_(g, unallocated_, options.backend ? Space::device : Space::host),
        constants_(g, options, unallocated_, places_),
        moves_(g, cpu_target(options), options.backend, unallocated_, places_, constants_),
        kernels_(g, options, unallocated_, places_, constants_, moves_) {}

  Result<std::unique_ptr<Program>> run() {
    bind_inputs();
    if (options_.backend && !options_.reference_only)
      QUERN_TRY(lower_pieces(*options_.backend));
    else
      for (NodeId id : g_.order())
        if (!is_constant(id)) QUERN_TRY(lower_node(id, nullptr));
    QUERN_TRY(bind_outputs());
    QUERN_TRY(kernels_.selector().check_fallbacks());
    return finish();
  }

 private:
  bool is_constant(NodeId id) const {
    return std::ranges::all_of(g_.node(id).outputs,
                               [&](ValueId v) { return v != no_value && constants_.find(v); });
  }

  void bind_inputs() {
    for (std::uint32_t i = 0; i < g_.inputs().size(); ++i) {
      const ValueId v = g_.inputs()[i];
      const TensorType type = places_.type(v);
      const BufferId buffer = unallocated_.add({.base = Buffer::Base::input,
                                                .index = i,
                                                .bytes = type.bytes(),
                                                .name = g_.value(v).name});
      places_.put(v, {buffer, 0, TensorDesc::row_major(type.dtype, type.shape)});
    }
  }

  // ---- regions

  Status lower_pieces(Backend& backend) {
    QUERN_ASSIGN(std::vector<GraphPiece> pieces, pieces_in_order(g_, backend.partition(g_)));
    for (GraphPiece& piece : pieces) {
      std::erase_if(piece.region.nodes, [&](NodeId id) { return is_constant(id); });
      if (piece.region.nodes.empty()) continue;
      if (!piece.is_region) {
        QUERN_TRY(lower_node(piece.region.nodes[0], nullptr));
        continue;
      }
      nodes_added_ = 0;
      QUERN_TRY(backend.compile(piece.region, *this));
      if (nodes_added_ != piece.region.nodes.size())
        return {Code::internal, cat("a device compiled ", nodes_added_, " of ",
                                    piece.region.nodes.size(), " nodes of a region")};
    }
    return {};
  }

  const Graph& graph() const override { return g_; }
  const ConstantSource* constant(ValueId v) const override { return constants_.find(v); }
  Status add(const Region& region, KernelChoice code) override {
    nodes_added_ += region.nodes.size();
    return kernels_.lower(region, std::move(code));
  }
  Status add_dispatches(NodeId id, const GpuTarget& target) override {
    ++nodes_added_;
    return lower_node(id, &target);
  }
  Status add_on_cpu(NodeId id) override {
    ++nodes_added_;
    return lower_node(id, nullptr);
  }

  // ---- nodes

  // `gpu`: the device that the node is offered to; null: the CPU computes it.
  Status lower_node(NodeId id, const GpuTarget* gpu) {
    if (options_.stop) QUERN_TRY(options_.stop->check());
    const Node& n = g_.node(id);
    const bool is_moved = n.as<Identity>() || g_.def(id).is(OpTrait::view);
    if (!n.inputs.empty() && n.inputs[0] != no_value && !constants_.find(n.inputs[0])) {
      // A value that the device views is uploaded once, as a whole, if it can be bound so.
      const bool is_view =
          is_moved || n.as<Transpose>() || n.as<Slice>() || n.as<Split>() || n.as<Expand>();
      const bool binds = gpu && places_.type(n.inputs[0]).bytes() <= gpu->max_range;
      if (is_view && binds && feeds_nodes(n) && !places_.find(n.inputs[0], Space::device))
        QUERN_TRY(moves_.transfer(n.inputs[0], Space::device));
      if (lower_view(id)) return {};
      if (n.as<Transpose>() && n.post_ops.empty() && !gpu) {
        QUERN_TRY(unblock_for_transpose(n));
        if (lower_view(id)) return {};
      }
    }
    if (is_moved) return lower_moved_view(n);
    QUERN_TRY(kernels_.lower(id, gpu));
    return gpu ? bring_down_updates(n) : Status();
  }

  // An output that a run may make in place comes down at once and not with the others, so that the
  // arena does not hold all of these at the end: they are the caches of a model.
  Status bring_down_updates(const Node& n) {
    if (unallocated_.steps.empty()) return {};
    const std::vector<Update> updates = unallocated_.steps.back().step.updates;
    for (const Update& u : updates) {
      const ValueId v = n.outputs[u.output];
      const bool is_output = std::ranges::find(g_.outputs(), v) != g_.outputs().end();
      if (is_output && !places_.find(v, Space::host)) QUERN_TRY(moves_.transfer(v, Space::host));
    }
    return {};
  }

  // Returns true if a node reads a result of `n`, which is then not only an output of the graph.
  bool feeds_nodes(const Node& n) const {
    return std::ranges::any_of(
        n.outputs, [&](ValueId v) { return v != no_value && !g_.value(v).uses.empty(); });
  }

  // Returns true if the outputs are views of the first input.
  bool lower_view(NodeId id) {
    const ValueId in = g_.node(id).inputs[0];
    const bool is_native = places_.find(in, places_.native());
    for (const Place& p : places_.of(in)) {
      if (is_native && unallocated_.space_of(p) != places_.native()) continue;
      const auto views = views_of(g_, id, p.desc);
      if (!views) continue;
      put_views(g_.node(id), p, *views);
      return true;
    }
    return false;
  }

  // Brings the input, whose channels lie in blocks, where the result of the transpose is a
  // row-major view: one copy, where a kernel would read a row-major copy and make another.
  Status unblock_for_transpose(const Node& n) {
    const Shape shape = places_.type(n.inputs[0]).shape;
    Ints order;
    for (std::size_t i = 0; i < shape.rank(); ++i)
      order.push_back(static_cast<std::int64_t>(source_of(*n.as<Transpose>(), i, shape.rank())));
    return moves_.bring(n.inputs[0], Layout::permuted(shape, order), Space::host).status();
  }

  void put_views(const Node& n, const Place& from, std::span<const View> views) {
    places_.consume(n);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == no_value) continue;
      const TensorType type = places_.type(n.outputs[i]);
      const auto skip = static_cast<std::uint64_t>(views[i].offset) * size_of(type.dtype);
      places_.put(n.outputs[i],
                  {from.buffer, from.offset + skip, {type.dtype, type.shape, views[i].layout}});
    }
  }

  // Lowers a reshape that the layout does not allow as a view, through a copy: row-major, or such
  // that the result has its channels last where those want it who read it (a shuffle of channels is
  // one copy then instead of two).
  Status lower_moved_view(const Node& n) {
    const ValueId in = n.inputs[0];
    const Space space =
        constants_.find(in) ? places_.native() : unallocated_.space_of(places_.best(in));
    const TensorType type = places_.type(n.outputs[0]);
    TensorDesc out = TensorDesc::row_major(type.dtype, type.shape);
    Layout copied = Layout::row_major(places_.type(in).shape);
    if (wants_channels_last(n.outputs[0])) {
      const TensorDesc last{type.dtype, type.shape, Layout::channels_last(type.shape)};
      if (reshape_in_place(last, places_.type(in).shape, copied))
        out = last;
      else
        copied = Layout::row_major(places_.type(in).shape);
    }
    QUERN_ASSIGN(const Place p, moves_.bring(in, copied, space));
    places_.consume(n);
    places_.put(n.outputs[0], {p.buffer, p.offset, out});
    return {};
  }

  // Returns true if the value is an image that windows and nothing else go over.
  bool wants_channels_last(ValueId v) const {
    const auto& uses = g_.value(v).uses;
    const auto is_image = [&](const Use& use) {
      return use.read == 0 && is_conv_or_pool(g_.node(use.node).op);
    };
    return !options_.reference_only && places_.type(v).shape.rank() >= 3 && !uses.empty() &&
           std::ranges::all_of(uses, is_image) &&
           std::ranges::find(g_.outputs(), v) == g_.outputs().end();
  }

  // Gives every output a row-major buffer of its own, which the run may bind to other memory.
  Status bind_outputs() {
    // All downloads come before the steps of the host, so that they are in one submission.
    for (ValueId v : g_.outputs())
      if (!constants_.find(v) && !places_.find(v, Space::host))
        QUERN_TRY(moves_.transfer(v, Space::host));
    for (std::uint32_t i = 0; i < g_.outputs().size(); ++i) QUERN_TRY(bind_output(i));
    return {};
  }

  Status bind_output(std::uint32_t i) {
    const ValueId v = g_.outputs()[i];
    const TensorType type = places_.type(v);
    QUERN_ASSIGN(Place p, moves_.bring(v, Layout::row_major(type.shape), Space::host));
    const Buffer& buffer = unallocated_.buffer(p);
    // A value that is already another output has another base.
    const bool own =
        buffer.base == Buffer::Base::arena && p.offset == 0 && buffer.bytes == type.bytes();
    if (!own) {
      QUERN_ASSIGN(p, moves_.copy(p, v, g_.output_names()[i]));
    }
    unallocated_.buffers[p.buffer].base = Buffer::Base::output;
    unallocated_.buffers[p.buffer].index = i;
    return {};
  }

  Result<std::unique_ptr<Program>> finish() {
    auto program = std::make_unique<Program>();
    program->team = options_.team;
    program->stripes = options_.stripes;
    for (ValueId v : g_.inputs()) program->inputs.push_back(places_.type(v));
    for (ValueId v : g_.outputs()) program->outputs.push_back(places_.type(v));
    program->fallbacks = kernels_.selector().fallbacks();
    program->too_large = kernels_.selector().too_large();
    constants_.hand_over(*program);
    const Backend* backend = options_.backend;
    auto recipe = options_.record ? std::make_shared<Recipe>(g_.ops()) : nullptr;
    ArenaOptions arenas{.strategy = options_.strategy,
                        .order = options_.order,
                        .alias = options_.alias,
                        .inner_alignment = options_.stripes != Stripes::none ? row_alignment : 0,
                        .device_alignment = backend ? backend->alignment() : 0,
                        .place = place_,
                        .stop = options_.stop,
                        .searches = options_.searches};
    if (options_.recipe) arenas.known = options_.recipe->memories;
    if (recipe) arenas.found = &recipe->memories;
    QUERN_ASSIGN(std::vector<StepMeaning> meanings,
                 place_in_arenas(std::move(unallocated_), arenas, *program));
    QUERN_TRY(check_program(g_, *program, meanings));
    if (recipe) {
      recipe->graph = g_.clone();
      recipe->order = options_.order;
      recipe->scratch = options_.scratch;
      recipe->stripes = options_.stripes;
      program->recipe = std::move(recipe);
    }
    if (options_.meanings) *options_.meanings = std::move(meanings);
    return program;
  }

  const Graph& g_;
  const LowerOptions& options_;
  PlaceFn place_;
  UnallocatedProgram unallocated_;
  ValuePlaces places_;
  ConstantPlaces constants_;
  Moves moves_;
  KernelLowering kernels_;
  std::size_t nodes_added_ = 0;  // of the region that is being compiled
};

}  // namespace
}  // namespace lowering

Result<std::unique_ptr<Program>> lower_with(const Graph& graph, const LowerOptions& options,
                                            lowering::PlaceFn place) {
  return lowering::Lowering(graph, options, place).run();
}

}  // namespace quern
