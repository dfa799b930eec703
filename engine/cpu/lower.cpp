// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/lower.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/backend.h"
#include "engine/cpu/constants.h"
#include "engine/cpu/views.h"
#include "graph/memory/step_graph.h"
#include "graph/text.h"
#include "graph/text_util.h"
#include "kernels/copy.h"
#include "kernels/gpu/copy.h"

namespace quern::cpu {
namespace {

using BufferId = std::uint32_t;
constexpr BufferId no_buffer = 0xffffffff;

// Whose memory: that of the host, or of the device that the program is for.
enum class Space : std::uint8_t { host, device };

// Bytes with one owner: a piece of an arena, an input, or a constant.
struct Buffer {
  Operand::Base base = Operand::Base::arena;
  std::uint32_t index = 0;  // of an input, an output or a device constant
  const std::byte* constant = nullptr;
  std::size_t bytes = 0;
  std::int64_t readers = 0;  // uses still to come of all values that lie here
  std::string name;

  Space space() const {
    return base == Operand::Base::device_arena || base == Operand::Base::device_constant
               ? Space::device
               : Space::host;
  }
  bool in_arena() const {
    return base == Operand::Base::arena || base == Operand::Base::device_arena;
  }
};

// A value in one layout; without a buffer: no operand.
struct Place {
  BufferId buffer = no_buffer;
  std::uint64_t offset = 0;  // bytes
  TensorDesc desc;

  bool present() const { return buffer != no_buffer; }
};

// A step's operands and what its kernel allows of them, until buffers have places.
struct Pending {
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  std::vector<StepGraph::Share> shares;
  bool only_copies = false;
};

// "c16" for blocks of channels, "channels last", "" for row-major; for people.
std::string layout_name(const TensorDesc& t) {
  if (is_row_major(t)) return "";
  if (t.layout.block) return cat("c", static_cast<int>(t.layout.block));
  const std::size_t rank = t.shape.rank();
  const bool last =
      rank >= 3 && t.layout.strides[1] == 1 && t.layout.strides[rank - 1] == t.shape[1];
  return last ? std::string("channels last") : cat("strides ", t.layout.strides.text());
}

class Lowering {
 public:
  Lowering(const Graph& g, const LowerOptions& options)
      : g_(g),
        options_(options),
        constants_(g),
        target_{options.threads, options.use_onednn && !options.reference_only, options.weights,
                options.scratch},
        native_(options.backend ? Space::device : Space::host),
        program_(std::make_unique<Program>()),
        places_(g.value_count()),
        readers_(g.value_count(), 0) {
    program_->threads = options.threads;
  }

  Result<std::unique_ptr<Program>> run() {
    for (std::uint32_t i = 0; i < g_.value_count(); ++i)
      readers_[i] = static_cast<std::int64_t>(g_.value(ValueId{i}).uses.size()) +
                    g_.value(ValueId{i}).handed_out;
    bind_inputs();
    for (NodeId id : g_.order()) {
      if (is_constant(id)) continue;
      QUERN_TRY(lower_node(id));
    }
    QUERN_TRY(bind_outputs());
    QUERN_TRY(check_fallbacks());
    return plan_memory();
  }

 private:
  // ---- buffers and places

  BufferId new_buffer(std::size_t bytes, std::string name, Space space = Space::host) {
    buffers_.push_back(
        {.base = space == Space::host ? Operand::Base::arena : Operand::Base::device_arena,
         .bytes = bytes,
         .name = std::move(name)});
    return static_cast<BufferId>(buffers_.size() - 1);
  }
  Space space_of(const Place& p) const { return buffers_[p.buffer].space(); }
  // Where a value lies in this space; null: nowhere yet.
  const Place* find_place(ValueId v, Space space) const {
    for (const Place& p : places_[index(v)])
      if (space_of(p) == space) return &p;
    return nullptr;
  }
  // The place that a kernel of the device would start from, or whichever there is.
  const Place& best_place(ValueId v) const {
    const Place* p = find_place(v, native_);
    return p ? *p : places_[index(v)].front();
  }
  std::vector<Place>& places(ValueId v) { return places_[index(v)]; }
  TensorType type_of(ValueId v) const { return {g_.type(v).dtype, *g_.type(v).shape()}; }

  bool is_constant(NodeId id) const {
    const auto& outputs = g_.node(id).outputs;
    return std::all_of(outputs.begin(), outputs.end(),
                       [&](ValueId v) { return v != no_value && constants_.find(v); });
  }

  void bind_inputs() {
    for (std::uint32_t i = 0; i < g_.inputs().size(); ++i) {
      const ValueId v = g_.inputs()[i];
      const TensorType type = type_of(v);
      program_->inputs.push_back(type);
      buffers_.push_back({.base = Operand::Base::input,
                          .index = i,
                          .bytes = type.bytes(),
                          .readers = readers_[index(v)],
                          .name = g_.value(v).name});
      places(v).push_back({static_cast<BufferId>(buffers_.size() - 1), 0,
                           TensorDesc::row_major(type.dtype, type.shape)});
    }
  }

  // Row-major elements of a constant, which stay where they are.
  Status pin_constant(ValueId v, bool at_any_address) {
    if (find_place(v, Space::host)) return {};
    QUERN_ASSIGN(auto pinned, constants_.pin(v, *options_.weights, at_any_address));
    const TensorType type = type_of(v);
    buffers_.push_back({.base = Operand::Base::constant,
                        .constant = pinned.data,
                        .bytes = type.bytes(),
                        .readers = 1 << 30});
    program_->kept.push_back(std::move(pinned.owner));
    places(v).push_back({static_cast<BufferId>(buffers_.size() - 1), 0,
                         TensorDesc::row_major(type.dtype, type.shape)});
    return {};
  }

  // The same in the memory of the device, in any layout: moved when it is made, not in every run.
  Result<Place> device_constant_in(ValueId v, const Layout& layout) {
    for (const Place& p : places(v))
      if (space_of(p) == Space::device && same_placement(p.desc.shape, p.desc.layout, layout))
        return p;
    const ConstantSource& source = *constants_.find(v);
    const TensorDesc from = TensorDesc::row_major(source.type().dtype, source.type().shape);
    const TensorDesc to{from.dtype, from.shape, layout};
    const GpuConstant constant{
        cat("layout|", is_row_major(to) ? "" : layout.text(), "|", source.key()), to.bytes(),
        [&](std::byte* at) -> Status {
          QUERN_ASSIGN(const Tensor t, source.get());
          copy_elements(from, t.data(), to, at);
          return {};
        }};
    QUERN_ASSIGN(const std::uint32_t number, device_constant(constant));
    buffers_.push_back({.base = Operand::Base::device_constant,
                        .index = number,
                        .bytes = to.bytes(),
                        .readers = 1 << 30});
    places(v).push_back({static_cast<BufferId>(buffers_.size() - 1), 0, to});
    return places(v).back();
  }

  // Its number among the program's.
  Result<std::uint32_t> device_constant(const GpuConstant& constant) {
    QUERN_ASSIGN(auto held, options_.backend->constant(constant));
    program_->device_constants.push_back(std::move(held));
    return static_cast<std::uint32_t>(program_->device_constants.size() - 1);
  }

  Result<Place> place_in(ValueId v, const Layout& layout, bool at_any_address = false) {
    return place_in(v, layout, Space::host, at_any_address);
  }

  // The value in this layout and space: a place that it has, or a new copy.
  Result<Place> place_in(ValueId v, const Layout& layout, Space space,
                         bool at_any_address = false) {
    if (constants_.find(v)) {
      if (space == Space::device) return device_constant_in(v, layout);
      QUERN_TRY(pin_constant(v, at_any_address));
    }
    for (const Place& p : places(v))
      if (space_of(p) == space && same_placement(p.desc.shape, p.desc.layout, layout) &&
          is_aligned(p))
        return p;
    if (!find_place(v, space)) QUERN_TRY(transfer(v, space));
    const Place from = *find_place(v, space);
    if (same_placement(from.desc.shape, from.desc.layout, layout) && is_aligned(from)) return from;
    const TensorDesc to{from.desc.dtype, from.desc.shape, layout};
    if (constants_.find(v)) return constant_copy(v, from, to);
    QUERN_ASSIGN(const Place copy, append_reorder(from, to, g_.value(v).name));
    buffers_[copy.buffer].readers = readers_[index(v)];
    places(v).push_back(copy);
    return copy;
  }

  // Kernels of a device read and write where bindings may begin.
  bool is_aligned(const Place& p) const {
    return space_of(p) == Space::host || p.offset % options_.backend->alignment() == 0;
  }

  // The bytes of a value to the other space, row-major.
  Status transfer(ValueId v, Space space) {
    const Space other = space == Space::host ? Space::device : Space::host;
    const TensorType type = type_of(v);
    QUERN_ASSIGN(const Place from, place_in(v, Layout::row_major(type.shape), other));
    const Place copy = append_transfer(from, space, g_.value(v).name);
    buffers_[copy.buffer].readers = readers_[index(v)];
    places(v).push_back(copy);
    return {};
  }

  Place append_transfer(const Place& from, Space space, const std::string& name) {
    const Place copy{new_buffer(from.desc.bytes(), name, space), 0, from.desc};
    Step s;
    s.kind = space == Space::host ? Step::Kind::download : Step::Kind::upload;
    s.op = space == Space::host ? "Download" : "Upload";
    s.node = name;
    s.shapes = TensorType{from.desc.dtype, from.desc.shape}.text();
    s.implementation = "copy";
    s.cost.bytes = static_cast<double>(from.desc.bytes());
    const std::array inputs = {from};
    const std::array outputs = {copy};
    append(std::move(s), inputs, outputs, {});
    return copy;
  }

  Result<Place> append_reorder(const Place& from, const TensorDesc& to, const std::string& name) {
    const Space space = space_of(from);
    KernelChoice choice;
    if (space == Space::host) {
      QUERN_ASSIGN(choice, select_copy(from.desc, to, target_));
    } else {
      const auto skipped = static_cast<std::int64_t>(from.offset % options_.backend->alignment() /
                                                     size_of(from.desc.dtype));
      QUERN_ASSIGN(auto on_device,
                   select_gpu_copy(from.desc, skipped, to, options_.backend->target()));
      if (!on_device) return reorder_on_host(from, to, name);
      choice = std::move(*on_device);
    }
    const Place copy{new_buffer(to.bytes(), name + " (reordered)", space), 0, to};
    Step s;
    s.op = "Reorder";
    s.node = name;
    s.shapes = cat(to.shape.text(), " ", from.desc.layout.text(), " -> ", to.layout.text());
    s.cost.bytes = 2.0 * static_cast<double>(to.bytes());
    const std::array inputs = {from};
    const std::array outputs = {copy};
    QUERN_TRY(take(choice, s));
    append(std::move(s), inputs, outputs, choice);
    return copy;
  }

  // What the device cannot move, as elements of a type that it does not have: down, and up again.
  Result<Place> reorder_on_host(const Place& from, const TensorDesc& to, const std::string& name) {
    QUERN_ASSIGN(const Place moved,
                 append_reorder(append_transfer(from, Space::host, name), to, name));
    return append_transfer(moved, Space::device, name);
  }

  // The work of a kernel becomes that of the step.
  Status take(KernelChoice& choice, Step& s) {
    s.implementation = std::move(choice.implementation);
    s.kernel = std::move(choice.kernel);
    s.scratch_bytes = choice.scratch_bytes;
    if (s.kernel) return {};
    s.kind = Step::Kind::device;
    s.dispatches = std::move(choice.gpu.dispatches);
    for (const GpuConstant& c : choice.gpu.constants) {
      QUERN_ASSIGN(s.gpu_constants.emplace_back(), device_constant(c));
    }
    return {};
  }

  Result<Place> constant_copy(ValueId v, const Place& from, const TensorDesc& to) {
    const std::byte* source = buffers_[from.buffer].constant;
    QUERN_ASSIGN(auto bytes, options_.weights->find_or_make(
                                 cat("layout|", to.layout.text(), "|", constants_.find(v)->key()),
                                 to.bytes(), [&](std::byte* dst) -> Status {
                                   copy_elements(from.desc, source, to, dst);
                                   return {};
                                 }));
    buffers_.push_back({.base = Operand::Base::constant,
                        .constant = bytes.get(),
                        .bytes = to.bytes(),
                        .readers = 1 << 30});
    program_->kept.push_back(std::move(bytes));
    places(v).push_back({static_cast<BufferId>(buffers_.size() - 1), 0, to});
    return places(v).back();
  }

  // ---- steps

  // Of the first operand and the first result, when one of them is not row-major.
  static std::string layouts_text(std::span<const Place> inputs, std::span<const Place> outputs) {
    const auto name = [](std::span<const Place> places) {
      const auto first = std::ranges::find_if(places, &Place::present);
      return first == places.end() ? std::string() : layout_name(first->desc);
    };
    const std::string in = name(inputs);
    const std::string out = name(outputs);
    if (in.empty() && out.empty()) return "";
    return cat(in.empty() ? "row-major" : in, " -> ", out.empty() ? "row-major" : out);
  }

  // Buffers are resolved to operands once all are known; until then offsets wait in pending_.
  void append(Step s, std::span<const Place> inputs, std::span<const Place> outputs,
              const KernelChoice& choice) {
    s.layouts = layouts_text(inputs, outputs);
    Pending p{{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, {}, false};
    for (const Sharing& share : choice.sharing)
      if (may_lie_over(p, share))
        p.shares.push_back(
            {p.inputs[share.input].buffer, p.outputs[share.output].buffer, false, 0});
    for (const CopiedInput& copy : choice.copies)
      if (is_whole(p.inputs[copy.input]))
        p.shares.push_back({p.inputs[copy.input].buffer, p.outputs[0].buffer, true, copy.offset});
    p.only_copies = !choice.copies.empty();
    program_->steps.push_back(std::move(s));
    pending_.push_back(std::move(p));
  }

  // The place is all of a buffer in the arena.
  bool is_whole(const Place& place) const {
    if (!place.present()) return false;
    const Buffer& b = buffers_[place.buffer];
    return b.in_arena() && place.offset == 0 && place.desc.bytes() == b.bytes;
  }
  // One buffer is both where the kernel demands it.
  bool may_lie_over(const Pending& p, const Sharing& share) const {
    const Place& in = p.inputs[share.input];
    const Place& out = p.outputs[share.output];
    return !share.required && out.present() && is_whole(in) && in.buffer != out.buffer &&
           in.desc.bytes() == buffers_[out.buffer].bytes;
  }

  // Whether kernels, and not only whoever asked for outputs, see what the node makes.
  bool feeds_nodes(const Node& n) const {
    return std::ranges::any_of(
        n.outputs, [&](ValueId v) { return v != no_value && !g_.value(v).uses.empty(); });
  }

  Status lower_node(NodeId id) {
    const Node& n = g_.node(id);
    if (!n.inputs.empty() && n.inputs[0] != no_value && !constants_.find(n.inputs[0])) {
      // What the device has a look at goes up once, as a whole.
      const bool is_view = n.as<Identity>() || n.as<Transpose>() || n.as<Slice>() ||
                           n.as<Split>() || n.as<Expand>() || g_.def(id).is(OpTrait::view);
      if (is_view && native_ == Space::device && feeds_nodes(n) &&
          !find_place(n.inputs[0], Space::device))
        QUERN_TRY(transfer(n.inputs[0], Space::device));
      if (lower_view(id)) return {};
    }
    if (n.as<Identity>() || g_.def(id).is(OpTrait::view)) return lower_moved_view(id);
    QUERN_TRY(lower_kernel(id));
    return {};
  }

  // True when the outputs are just other looks at the first input.
  bool lower_view(NodeId id) {
    const Node& n = g_.node(id);
    const ValueId in = n.inputs[0];
    for (const Place& p : places(in)) {
      if (space_of(p) != native_ && find_place(in, native_)) continue;
      const auto views = views_of(g_, id, p.desc);
      if (!views) continue;
      const Place from = p;
      consume(id);
      for (std::size_t i = 0; i < n.outputs.size(); ++i) {
        if (n.outputs[i] == no_value) continue;
        const TensorType type = type_of(n.outputs[i]);
        const View& view = (*views)[i];
        const auto skip = static_cast<std::uint64_t>(view.offset) * size_of(type.dtype);
        places(n.outputs[i])
            .push_back({from.buffer, from.offset + skip, {type.dtype, type.shape, view.layout}});
        buffers_[from.buffer].readers += readers_[index(n.outputs[i])];
      }
      return true;
    }
    return false;
  }

  // A reshape that the layout does not allow: through a row-major copy.
  Status lower_moved_view(NodeId id) {
    const Node& n = g_.node(id);
    const TensorType from = type_of(n.inputs[0]);
    const Space space = constants_.find(n.inputs[0]) ? native_ : space_of(best_place(n.inputs[0]));
    QUERN_ASSIGN(const Place p, place_in(n.inputs[0], Layout::row_major(from.shape), space));
    consume(id);
    const TensorType type = type_of(n.outputs[0]);
    places(n.outputs[0])
        .push_back({p.buffer, p.offset, TensorDesc::row_major(type.dtype, type.shape)});
    buffers_[p.buffer].readers += readers_[index(n.outputs[0])];
    return {};
  }

  // The node has read its inputs.
  void consume(NodeId id) {
    for (ValueId v : g_.node(id).inputs) {
      if (v == no_value || constants_.find(v)) continue;
      --readers_[index(v)];
      for (const Place& p : places(v)) --buffers_[p.buffer].readers;
    }
  }

  // Whether this operand of this node is the last to read the bytes of `v`. One that the node reads
  // twice does not die: in place over one operand would be seen through the other.
  bool dies(ValueId v) {
    if (constants_.find(v)) return false;
    const Buffer& buffer = buffers_[best_place(v).buffer];
    return buffer.in_arena() && buffer.readers == 1 && readers_[index(v)] == 1;
  }

  std::vector<KernelInput> kernel_inputs(NodeId id, std::size_t count) {
    std::vector<KernelInput> inputs;
    const Node& n = g_.node(id);
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId v = n.inputs[i];
      if (v == no_value) {
        inputs.emplace_back();
        continue;
      }
      KernelInput in{.present = true, .constant = constants_.find(v)};
      if (places(v).empty()) {
        const TensorType type = type_of(v);
        in.desc = TensorDesc::row_major(type.dtype, type.shape);
      } else {
        in.desc = best_place(v).desc;
      }
      in.dies_here = dies(v);
      inputs.push_back(std::move(in));
    }
    return inputs;
  }

  // An output that nobody wants has its type all the same: kernels read the shapes of their work
  // off any of them.
  Result<std::vector<TensorType>> output_types(NodeId id) const {
    const Node& n = g_.node(id);
    std::vector<TensorType> types;
    for (ValueId v : n.outputs)
      types.push_back(v == no_value ? TensorType{DType::f32, {0}} : type_of(v));
    if (std::ranges::find(n.outputs, no_value) == n.outputs.end()) return types;
    QUERN_ASSIGN(const auto inferred, g_.infer(n.op, own_inputs(n), n.outputs.size(), n.name));
    for (std::size_t i = 0; i < types.size(); ++i)
      if (n.outputs[i] == no_value)
        types[i] = {inferred[i].dtype, inferred[i].shape().value_or(Shape{0})};
    return types;
  }

  // Operands of post-ops come last.
  static std::span<const ValueId> own_inputs(const Node& n) {
    std::size_t own = n.inputs.size();
    for (const PostOp& p : n.post_ops)
      if (const auto* b = std::get_if<BinaryPostOp>(&p))
        own = std::min<std::size_t>(own, b->operand);
    return {n.inputs.data(), own};
  }

  Status lower_kernel(NodeId id) {
    const Node& n = g_.node(id);
    const OpDef& def = g_.def(id);
    std::vector<KernelInput> inputs = kernel_inputs(id, n.inputs.size());
    QUERN_ASSIGN(const std::vector<TensorType> outputs, output_types(id));
    const std::unique_ptr<bool[]> wanted(new bool[outputs.size()]);
    for (std::size_t i = 0; i < outputs.size(); ++i) wanted[i] = n.outputs[i] != no_value;
    KernelRequest request{
        n.op, def, n.name, inputs, outputs, {wanted.get(), outputs.size()}, n.post_ops, target_};
    QUERN_ASSIGN(KernelChoice choice, select(request));
    return add_kernel(id, request, std::move(choice));
  }

  // A kernel of the device if there is one, else of the CPU.
  Result<KernelChoice> select(KernelRequest& request) {
    if (options_.reference_only) return reference(request);
    if (options_.backend) {
      request.gpu = &options_.backend->target();
      request.half_products = options_.half_products || request.gpu->half_products;
      if (!options_.backend->leaves_to_cpu(request.def.name) && can_bind(request)) {
        QUERN_ASSIGN(auto choice, select_gpu_kernel(request));
        if (choice && choice->scratch_bytes <= request.gpu->max_range) return std::move(*choice);
      }
      program_->fallbacks.push_back(
          cat("'", printable(request.name), "' (", request.def.name, ")"));
    }
    return select_cpu_kernel(request);
  }

  Status check_fallbacks() const {
    if (program_->fallbacks.empty() || !options_.backend->is_strict()) return {};
    std::string list;
    for (const std::string& node : program_->fallbacks) list += cat(list.empty() ? "" : ", ", node);
    return {Code::unsupported,
            cat(program_->fallbacks.size(), " nodes have no form for the device: ", list)};
  }

  // Whether each operand fits a binding of the device.
  static bool can_bind(const KernelRequest& request) {
    const auto fits = [&](std::size_t bytes) { return bytes <= request.gpu->max_range; };
    return std::ranges::all_of(request.inputs,
                               [&](const KernelInput& i) { return fits(i.desc.bytes()); }) &&
           std::ranges::all_of(request.outputs,
                               [&](const TensorType& t) { return fits(t.bytes()); });
  }

  static Result<KernelChoice> reference(const KernelRequest& request) {
    QUERN_ASSIGN(std::optional<KernelChoice> choice, select_reference(request));
    if (choice) return std::move(*choice);
    return Status(Code::unsupported, cat(request.def.name, " has no reference"));
  }

  Status add_kernel(NodeId id, const KernelRequest& request, KernelChoice choice) {
    const Node& n = g_.node(id);
    const Space space = choice.kernel ? Space::host : Space::device;
    std::vector<Place> inputs;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const bool packed = i < choice.packed_inputs.size() && choice.packed_inputs[i];
      const bool later = is_later_operand(n, choice, i);
      if (n.inputs[i] == no_value || packed || later) {
        inputs.emplace_back();
        continue;
      }
      const Shape& shape = request.inputs[i].desc.shape;
      const bool asked =
          i < choice.input_layouts.size() && choice.input_layouts[i].strides.rank() == shape.rank();
      QUERN_ASSIGN(inputs.emplace_back(),
                   place_in(n.inputs[i], asked ? choice.input_layouts[i] : Layout::row_major(shape),
                            space, at_any_address(id, i)));
    }
    for (const Sharing& s : choice.sharing) {
      Place& in = inputs[s.input];
      const Buffer& buffer = buffers_[in.buffer];
      if (!s.required || (buffer.in_arena() && in.offset == 0 && !read_elsewhere(in))) continue;
      QUERN_ASSIGN(in, append_reorder(in, in.desc, buffer.name));
    }
    std::vector<Place> outputs;
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == no_value) {
        outputs.emplace_back();
        continue;
      }
      const TensorType& type = request.outputs[i];
      const bool asked = i < choice.output_layouts.size() &&
                         choice.output_layouts[i].strides.rank() == type.shape.rank();
      const TensorDesc desc{type.dtype, type.shape,
                            asked ? choice.output_layouts[i] : Layout::row_major(type.shape)};
      outputs.push_back({output_buffer(id, choice, i, inputs, desc), 0, desc});
    }
    const std::size_t post_ops_taken = choice.post_ops_taken;
    Step s = describe(id, request);
    QUERN_TRY(take(choice, s));
    if (g_.def(id).is(OpTrait::data_dependent)) mark_dynamic(n, s);
    append(std::move(s), inputs, outputs, choice);
    Place result = outputs.empty() ? Place() : outputs[0];
    for (std::size_t k = post_ops_taken; k < n.post_ops.size(); ++k)
      QUERN_TRY(lower_post_op(id, n.post_ops[k], result));
    consume(id);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == no_value) continue;
      const Place& p = i == 0 ? result : outputs[i];
      places(n.outputs[i]).push_back(p);
      buffers_[p.buffer].readers += readers_[index(n.outputs[i])];
    }
    return {};
  }

  // Whether a constant may be read where the model's file has it: nobody else reads it, who could
  // need its elements aligned.
  bool at_any_address(NodeId id, std::size_t input) const {
    return input == 0 && g_.def(id).is(OpTrait::any_address) &&
           readers_[index(g_.node(id).inputs[0])] == 1;
  }

  // Operands of post-ops that the kernel has not taken are read by steps of their own.
  static bool is_later_operand(const Node& n, const KernelChoice& choice, std::size_t input) {
    for (std::size_t k = 0; k < n.post_ops.size(); ++k)
      if (const auto* b = std::get_if<BinaryPostOp>(&n.post_ops[k]); b && b->operand == input)
        return k >= choice.post_ops_taken;
    return false;
  }

  // Whether anything but one operand of the current node still reads these bytes.
  bool read_elsewhere(const Place& place) const { return buffers_[place.buffer].readers > 1; }

  // The bytes of an input where the kernel demands it, else new ones.
  BufferId output_buffer(NodeId id, const KernelChoice& choice, std::size_t output,
                         std::span<const Place> inputs, const TensorDesc& desc) {
    for (const Sharing& s : choice.sharing)
      if (s.output == output && s.required) return inputs[s.input].buffer;
    return new_buffer(desc.bytes(), g_.value(g_.node(id).outputs[output]).name,
                      choice.kernel ? Space::host : Space::device);
  }

  // y = f(y) or y = f(y, operand) on the result of the kernel, in place where it can be.
  Status lower_post_op(NodeId id, const PostOp& post_op, Place& result) {
    const Node& n = g_.node(id);
    const auto* binary = std::get_if<BinaryPostOp>(&post_op);
    const Op op = binary ? Op(Binary{binary->kind}) : Op(*std::get_if<Unary>(&post_op));
    const OpDef& def = g_.def(op);
    const KernelInput self{.present = true, .desc = result.desc, .dies_here = true};
    std::vector<KernelInput> inputs = {self};
    ValueId operand = no_value;
    if (binary) {
      operand = n.inputs[binary->operand];
      KernelInput other{.present = true, .constant = constants_.find(operand)};
      const TensorType type = type_of(operand);
      other.desc = places(operand).empty() ? TensorDesc::row_major(type.dtype, type.shape)
                                           : best_place(operand).desc;
      inputs.insert(binary->swapped ? inputs.begin() : inputs.end(), other);
    }
    const TensorType out{result.desc.dtype, result.desc.shape};
    const bool wanted = true;
    const PostOps none;
    KernelRequest request{op, def, n.name, inputs, {&out, 1}, {&wanted, 1}, none, target_};
    QUERN_ASSIGN(KernelChoice choice, select(request));
    const Space space = choice.kernel ? Space::host : Space::device;
    std::vector<Place> in;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_self = !binary || i == (binary->swapped ? 1U : 0U);
      const Shape& shape = inputs[i].desc.shape;
      const Layout layout =
          i < choice.input_layouts.size() && choice.input_layouts[i].strides.rank() == shape.rank()
              ? choice.input_layouts[i]
              : Layout::row_major(shape);
      if (is_self) {
        QUERN_ASSIGN(in.emplace_back(), relayout(result, layout, space));
      } else {
        QUERN_ASSIGN(in.emplace_back(), place_in(operand, layout, space));
      }
    }
    const bool asked = !choice.output_layouts.empty() &&
                       choice.output_layouts[0].strides.rank() == out.shape.rank();
    const TensorDesc desc{out.dtype, out.shape,
                          asked ? choice.output_layouts[0] : Layout::row_major(out.shape)};
    const Place made{output_buffer(id, choice, 0, in, desc), 0, desc};
    Step s = describe(id, request);
    QUERN_TRY(take(choice, s));
    const std::array outputs = {made};
    append(std::move(s), in, outputs, choice);
    result = made;
    return {};
  }

  // An intermediate result that no value names yet, in another layout.
  Result<Place> relayout(Place from, const Layout& layout, Space space) {
    if (space_of(from) != space) {
      const Layout row_major = Layout::row_major(from.desc.shape);
      QUERN_ASSIGN(from, relayout(from, row_major, space_of(from)));
      from = append_transfer(from, space, "intermediate");
    }
    if (same_placement(from.desc.shape, from.desc.layout, layout)) return from;
    return append_reorder(from, {from.desc.dtype, from.desc.shape, layout}, "intermediate");
  }

  Step describe(NodeId id, const KernelRequest& request) const {
    const Node& n = g_.node(id);
    Step s;
    s.node = n.name;
    s.op = std::string(request.def.name);
    if (const std::string attributes = attributes_text(request.op);
        attributes.rfind("kind=", 0) == 0)
      s.op += "." + attributes.substr(5, attributes.find(' ') - 5);
    std::vector<TensorType> inputs;
    for (const KernelInput& in : request.inputs) {
      inputs.push_back({in.desc.dtype, in.desc.shape});
      if (!in.present) inputs.back().shape = {0};
      if (in.present && !in.constant)
        s.shapes += (s.shapes.empty() ? "" : " ") + inputs.back().text();
    }
    s.cost = cost_of(request.def, request.op, inputs, request.outputs);
    return s;
  }

  void mark_dynamic(const Node& n, Step& s) const {
    for (ValueId v : n.outputs) {
      std::int32_t at = -1;
      for (std::size_t i = 0; i < g_.outputs().size(); ++i)
        if (g_.outputs()[i] == v && i < options_.dynamic_outputs.size() &&
            options_.dynamic_outputs[i])
          at = static_cast<std::int32_t>(i);
      s.dynamic_outputs.push_back(at);
    }
  }

  // ---- the end

  // Every output gets a row-major place of its own, which the run may bind elsewhere.
  Status bind_outputs() {
    // All that comes down, before the host does anything: one submission.
    for (ValueId v : g_.outputs())
      if (!constants_.find(v) && !find_place(v, Space::host)) QUERN_TRY(transfer(v, Space::host));
    std::vector<bool> taken(buffers_.size(), false);
    for (std::uint32_t i = 0; i < g_.outputs().size(); ++i) {
      const ValueId v = g_.outputs()[i];
      const TensorType type = type_of(v);
      program_->outputs.push_back(type);
      QUERN_ASSIGN(Place p, place_in(v, Layout::row_major(type.shape), Space::host));
      taken.resize(buffers_.size(), false);
      const Buffer& buffer = buffers_[p.buffer];
      const bool own = buffer.base == Operand::Base::arena && !taken[p.buffer] && p.offset == 0 &&
                       buffer.bytes == type.bytes();
      if (!own) {
        QUERN_ASSIGN(p, append_copy(p, g_.output_names()[i]));
        taken.resize(buffers_.size(), false);
      }
      taken[p.buffer] = true;
      buffers_[p.buffer].base = Operand::Base::output;
      buffers_[p.buffer].index = i;
    }
    return {};
  }

  // On the host.
  Result<Place> append_copy(const Place& from, const std::string& name) {
    QUERN_ASSIGN(const Place copy, append_reorder(from, from.desc, name));
    buffers_[copy.buffer].name = name;
    program_->steps.back().op = "Copy";
    return copy;
  }

  bool is_planned(BufferId b, Space space) const {
    const Buffer& buffer = buffers_[b];
    return buffer.space() == space && (buffer.in_arena() || buffer.base == Operand::Base::output);
  }

  std::uint64_t alignment(Space space) const {
    return space == Space::host ? 64 : options_.backend->alignment();
  }
  // A device's kernels write whole vectors: the last may be partly padding.
  std::uint64_t padded(std::uint64_t bytes, Space space) const {
    if (space == Space::host) return bytes;
    const std::uint64_t step = alignment(space);
    return (bytes + step - 1) / step * step;
  }
  static Space scratch_space(const Step& s) {
    return s.kind == Step::Kind::device ? Space::device : Space::host;
  }

  // What the steps do with the buffers that are planned in this space; other places are not its
  // business.
  StepGraph step_graph(Space space) const {
    StepGraph g;
    g.scratch_alignment = alignment(space);
    for (BufferId b = 0; b < buffers_.size(); ++b) {
      StepGraph::Buffer& buffer = g.buffers.emplace_back();
      if (!is_planned(b, space)) continue;
      buffer.name = buffers_[b].name;
      buffer.size = padded(buffers_[b].bytes, space);
      buffer.alignment = alignment(space);
      buffer.kept = buffers_[b].base == Operand::Base::output;
    }
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Step& own = program_->steps[i];
      StepGraph::Step& step = g.steps.emplace_back();
      step.name = own.node;
      if (scratch_space(own) == space) step.scratch = padded(own.scratch_bytes, space);
      for (const StepGraph::Share& share : pending_[i].shares)
        if (is_planned(share.operand, space) && is_planned(share.result, space))
          step.shares.push_back(share);
      step.only_copies = pending_[i].only_copies;
      for (const Place& p : pending_[i].inputs)
        if (p.present() && is_planned(p.buffer, space)) step.reads.push_back(p.buffer);
      for (const Place& p : pending_[i].outputs)
        if (p.present() && is_planned(p.buffer, space)) step.writes.push_back(p.buffer);
      const auto operands = std::ranges::count_if(pending_[i].inputs, &Place::present);
      if (static_cast<std::size_t>(operands) != step.reads.size()) step.only_copies = false;
    }
    return g;
  }

  struct Placed {
    ScheduleAnswer answer;
    ScheduledMemory memory;
    MemoryPlan plan;
  };

  Result<Placed> place(const StepGraph& graph, const ScheduleOptions& options) const {
    Placed p;
    p.answer = best_schedule(graph, options);
    p.memory = memory_of(graph, p.answer.schedule);
    QUERN_TRY(check(p.memory.problem));
    const Strategy& strategy = options_.strategy ? *options_.strategy : default_strategy();
    // Steps, not time, end a search, so that a model has the same plan everywhere.
    constexpr PlanLimits limits{.seconds = 0.5, .steps = 20000};
    p.plan = strategy.plan(p.memory.problem, limits).plan;
    QUERN_TRY(validate(p.memory.problem, p.plan));
    return p;
  }

  Result<std::unique_ptr<Program>> plan_memory() {
    if (options_.backend) return plan_both_memories();
    const StepGraph graph = step_graph(Space::host);
    QUERN_ASSIGN(Placed p, place(graph, {.order = options_.order, .alias = options_.alias}));
    // What has a smaller bound may be harder to place.
    if (options_.alias && p.plan.size > p.answer.bound) {
      QUERN_ASSIGN(Placed plain, place(graph, {.order = options_.order, .alias = false}));
      if (plain.plan.size < p.plan.size) p = std::move(plain);
    }
    keep_plan(p);
    resolve_operands(p, p);
    keep_steps(p.memory.steps);
    return std::move(program_);
  }

  // Both memories see the steps in one order, that of the graph, and all of them: results in place,
  // no copies spared.
  Result<std::unique_ptr<Program>> plan_both_memories() {
    constexpr ScheduleOptions in_order{.order = false, .alias = false};
    QUERN_ASSIGN(Placed host, place(step_graph(Space::host), in_order));
    QUERN_ASSIGN(Placed device, place(step_graph(Space::device), in_order));
    keep_plan(host);
    program_->plain_bound = device.answer.plain_bound;
    program_->order_is_optimal = device.answer.order_is_optimal;
    program_->device_problem = device.memory.problem;
    program_->device_plan = device.plan;
    resolve_operands(host, device);
    return std::move(program_);
  }

  void keep_plan(const Placed& p) {
    program_->memory_problem = p.memory.problem;
    program_->memory_plan = p.plan;
    program_->arena_bytes = p.plan.size;
    program_->plain_bound = p.answer.plain_bound;
    program_->order_is_optimal = p.answer.order_is_optimal;
  }

  void resolve_operands(const Placed& host, const Placed& device) {
    const auto placed = [&](Space space) -> const Placed& {
      return space == Space::host ? host : device;
    };
    const auto operand = [&](const Place& p) {
      if (!p.present()) return Operand{};
      const Placed& in = placed(space_of(p));
      const Schedule::Lie lie = in.answer.schedule.lies[p.buffer];
      const Buffer& b = buffers_[lie.root];
      Operand o{b.base, b.index, p.offset + lie.offset, nullptr};
      if (b.in_arena()) o.offset += in.plan.offsets[in.memory.interval_of[lie.root]];
      if (b.base == Operand::Base::constant) o.constant = b.constant + p.offset;
      return o;
    };
    const auto bytes = [&](const Place& p) { return p.present() ? p.desc.bytes() : 0; };
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      Step& s = program_->steps[i];
      const bool on_host = s.kind == Step::Kind::host;
      for (const Place& p : pending_[i].inputs) {
        s.inputs.push_back(operand(p));
        if (!on_host) s.input_bytes.push_back(bytes(p));
        if (s.kind == Step::Kind::device) align_down(s.inputs.back(), s.input_bytes.back());
      }
      for (const Place& p : pending_[i].outputs) {
        s.outputs.push_back(operand(p));
        if (!on_host) s.output_bytes.push_back(bytes(p));
      }
      const Placed& in = placed(scratch_space(s));
      if (s.scratch_bytes) s.scratch_offset = in.plan.offsets[in.memory.scratch_of[i]];
    }
    program_->output_offsets.resize(g_.outputs().size());
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (buffers_[i].base == Operand::Base::output)
        program_->output_offsets[buffers_[i].index] = host.plan.offsets[host.memory.interval_of[i]];
  }

  // To where a binding may begin.
  void align_down(Operand& o, std::uint64_t& bytes) const {
    const std::uint64_t skipped = o.offset % options_.backend->alignment();
    o.offset -= skipped;
    bytes += skipped;
  }

  // In this order; the others have nothing to do.
  void keep_steps(std::span<const std::uint32_t> order) {
    std::vector<Step> steps;
    for (std::uint32_t i : order) steps.push_back(std::move(program_->steps[i]));
    program_->steps = std::move(steps);
  }

  const Graph& g_;
  const LowerOptions& options_;
  GraphConstants constants_;
  CpuTarget target_;
  Space native_;  // where kernels find their operands, if they can
  std::unique_ptr<Program> program_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<Place>> places_;
  std::vector<std::int64_t> readers_;
  std::vector<Pending> pending_;
};

}  // namespace

Result<std::unique_ptr<Program>> lower(const Graph& graph, const LowerOptions& options) {
  return Lowering(graph, options).run();
}

}  // namespace quern::cpu
