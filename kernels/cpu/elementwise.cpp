// SPDX-License-Identifier: Apache-2.0
// Unary, Binary and their post-ops in f32 as one kernel: the tensors are cut into chunks that stay
// in the first-level cache, and the whole chain runs over a chunk before the next one is read.
//
// The result has the layout of the first operand of its shape; operands of the full shape are
// requested in that layout, broadcast ones are read in place by strides. Rows of a few elements are
// not worth a call each: there broadcast operands are gathered for a whole chunk of the result.
#include "kernels/cpu/elementwise.h"

#include <algorithm>
#include <array>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/binary.h"
#include "graph/ops/unary.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::size_t max_operands = 12;
constexpr std::int64_t chunk = 2048;      // elements: two operands and a result fill 24 KiB
constexpr std::int64_t max_period = 512;  // below it, operands of short rows are written out
constexpr std::size_t max_repeated = 4;
constexpr std::int64_t short_row = 16;  // elements: from there on a call a row is faster (AVX2)
constexpr std::int64_t min_parallel = 32768;  // elements that make another thread worth waking

// One function of the chain: applied to the running value and, if binary, to an operand.
struct Link {
  bool is_binary = false;
  bool swapped = false;
  Unary unary;
  BinaryKind binary = BinaryKind::add;
  std::uint8_t operand = 0;
};

// The iteration space after merging: inner elements are contiguous in the result.
struct Loops {
  Shape outer;  // dimensions
  std::int64_t inner = 1;
  std::array<Shape, max_operands + 1> strides;  // per operand over `outer`; the result's last
  std::array<std::int64_t, max_operands + 1> inner_stride{};
  std::size_t operands = 0;
  std::int64_t step = chunk;  // elements at a time
  // Operands that repeat every `period` elements (a bias per channel, channels last), each with its
  // index among them; -1 for the others. A step has whole periods.
  std::int64_t period = 0;
  std::array<std::int8_t, max_operands + 1> repeated = not_repeated();
  // Where rows are short, everything is one row, and `strides` of the operands that are gathered go
  // over these dimensions instead.
  Shape walk;
  std::array<bool, max_operands + 1> is_walked{};

  static constexpr std::array<std::int8_t, max_operands + 1> not_repeated() {
    std::array<std::int8_t, max_operands + 1> none{};
    none.fill(-1);
    return none;
  }
};

class ElementwiseKernel final : public CpuKernel {
 public:
  ElementwiseKernel(const Loops& loops, std::vector<Link> links, std::vector<std::uint8_t> inputs)
      : loops_(loops), links_(std::move(links)), inputs_(std::move(inputs)) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::int64_t pieces = ceil_div(loops_.inner, loops_.step);
    const std::int64_t units = loops_.outer.elements() * pieces;
    if (loops_.inner == 0) return {};
    const std::int64_t unit = std::min(loops_.inner, loops_.step);
    parallel(units,
             std::max<std::int64_t>(1, cut_size(min_parallel) / std::max<std::int64_t>(unit, 1)),
             [&](std::int64_t begin, std::int64_t end) { run_units(args, pieces, begin, end); });
    return {};
  }

 private:
  // Repeated operands, expanded for one step, and their sources.
  struct Repeated {
    alignas(64) float rows[max_repeated][chunk];
    const float* from[max_repeated];
  };

  void run_units(const KernelArgs& args, std::int64_t pieces, std::int64_t begin,
                 std::int64_t end) const {
    const SimdSet& s = simd();
    Repeated repeated;
    std::fill_n(repeated.from, max_repeated, nullptr);
    std::int64_t piece = begin % pieces;
    std::int64_t left = end - begin;
    const std::int64_t row_begin = begin / pieces;
    const std::int64_t row_end = ceil_div(end, pieces);
    for_each_offset(loops_.outer, loops_.strides, row_begin, row_end, [&](const auto& at) {
      for (; piece < pieces && left > 0; ++piece, --left) {
        const std::int64_t from = piece * loops_.step;
        run_chunk(s, args, at, from, std::min(loops_.step, loops_.inner - from), repeated);
      }
      piece = 0;
    });
  }

  template <class Offsets>
  void run_chunk(const SimdSet& s, const KernelArgs& args, const Offsets& at, std::int64_t from,
                 std::int64_t n, Repeated& repeated) const {
    alignas(64) float gathered[chunk];
    // The first operand if it is gathered, then what all links but the last one give, so that the
    // result may lie where any operand does.
    alignas(64) float partial[chunk];
    auto* y = reinterpret_cast<float*>(args.outputs[0]) + at[loops_.operands] + from;
    const auto operand = [&](std::size_t k, float* buffer) -> SimdOperand {
      const auto* p = reinterpret_cast<const float*>(args.inputs[inputs_[k]]) + at[k];
      const std::int64_t stride = loops_.inner_stride[k];
      if (loops_.repeated[k] >= 0) return {written_out(p, k, repeated), false};
      if (loops_.is_walked[k]) return {walk(p, k, from, n, buffer), false};
      if (stride == 0) return {p, true};
      if (stride == 1) return {p + from, false};
      for (std::int64_t i = 0; i < n; ++i) buffer[i] = p[(from + i) * stride];
      return {buffer, false};
    };
    SimdOperand value = operand(0, partial);
    for (const Link& link : links_) {
      float* to = &link == &links_.back() ? y : partial;
      if (link.is_binary)
        apply_binary(s, link, value, operand(link.operand, gathered), to, n);
      else
        apply_unary(s, link.unary, value, to, n);
      value = {to, false};
    }
  }

  static void apply_binary(const SimdSet& s, const Link& link, SimdOperand value, SimdOperand other,
                           float* to, std::int64_t n) {
    if (link.swapped) {
      s.binary(link.binary, other, value, to, n);
    } else {
      s.binary(link.binary, value, other, to, n);
    }
  }

  // Elements [from, from + n) of an operand, in the order of the result.
  const float* walk(const float* p, std::size_t k, std::int64_t from, std::int64_t n,
                    float* to) const {
    float* next = to;
    for_each_offset(loops_.walk, std::array{loops_.strides[k]}, from, from + n,
                    [&](const auto& at) { *next++ = p[at[0]]; });
    return to;
  }

  const float* written_out(const float* p, std::size_t k, Repeated& repeated) const {
    const auto slot = static_cast<std::size_t>(loops_.repeated[k]);
    float* row = repeated.rows[slot];
    if (repeated.from[slot] == p) return row;
    for (std::int64_t i = 0; i < std::min(loops_.step, loops_.inner); i += loops_.period)
      std::copy_n(p, loops_.period, row + i);
    repeated.from[slot] = p;
    return row;
  }

  static void apply_unary(const SimdSet& s, const Unary& u, SimdOperand x, float* y,
                          std::int64_t n) {
    if (!x.is_scalar) return s.unary(u, x.data, y, n);
    s.unary(u, x.data, y, 1);
    std::fill(y + 1, y + n, y[0]);
  }

  Loops loops_;
  std::vector<Link> links_;
  std::vector<std::uint8_t> inputs_;  // input of the node, by operand
};

// ---- choosing ----------------------------------------------------------------------------------

struct Chain {
  std::vector<Link> links;
  std::vector<std::uint8_t> inputs;  // operands in order of first use; 0 is the running value
  std::size_t post_ops = 0;
};

std::uint8_t operand_for(Chain& chain, std::uint32_t input) {
  chain.inputs.push_back(static_cast<std::uint8_t>(input));
  return static_cast<std::uint8_t>(chain.inputs.size() - 1);
}

bool is_f32(const KernelRequest& r, std::uint32_t input) {
  return r.has(input) && r.dtype(input) == DType::f32;
}

// The op and the longest prefix of post-ops that are supported; nullopt if the op itself is not.
std::optional<Chain> chain_of(const KernelRequest& r) {
  Chain chain;
  if (!is_f32(r, 0) || r.outputs[0].dtype != DType::f32) return std::nullopt;
  const std::uint8_t first = operand_for(chain, 0);
  if (const auto* u = r.op.as<Unary>()) {
    if (!simd().has_unary(u->kind)) return std::nullopt;
    chain.links.push_back({.unary = *u, .operand = first});
  } else {
    const BinaryKind kind = r.as<Binary>().kind;
    if (!simd().has_binary(kind) || !is_f32(r, 1)) return std::nullopt;
    const std::uint8_t second = operand_for(chain, 1);
    chain.links.push_back({.is_binary = true, .binary = kind, .operand = second});
  }
  for (const PostOp& p : r.post_ops) {
    if (const Unary* u = unary_of(p)) {
      if (!simd().has_unary(u->kind)) break;
      chain.links.push_back({.unary = *u});
    } else {
      const auto& b = *std::get_if<BinaryPostOp>(&p);
      if (!simd().has_binary(b.kind) || r.operands[b.operand].desc.dtype != DType::f32 ||
          chain.inputs.size() >= max_operands)
        break;
      const std::uint8_t operand = operand_for(chain, r.read_of(b));
      chain.links.push_back(
          {.is_binary = true, .swapped = b.swapped, .binary = b.kind, .operand = operand});
    }
    ++chain.post_ops;
  }
  return chain;
}

// The layout of the first operand with the result's shape and no holes.
Layout result_layout(const KernelRequest& r, const Chain& chain) {
  const Shape& shape = r.outputs[0].shape;
  for (std::uint8_t i : chain.inputs) {
    const TensorDesc& d = r.read(i).desc;
    if (d.shape == shape && !r.read(i).constant && is_dense(d)) return d.layout;
  }
  return Layout::row_major(shape);
}

// Dimensions of the result in memory order, outermost first, with a blocked channel split in two.
struct PhysicalDim {
  std::int64_t size;
  std::array<std::int64_t, max_operands + 1> stride;
};

std::vector<PhysicalDim> physical_dims(const Shape& shape, const Layout& layout,
                                       std::span<const Shape> strides, std::span<const char> full) {
  std::vector<PhysicalDim> dims;
  const auto result = strides.size();
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    PhysicalDim p{shape[d], {}};
    for (std::size_t k = 0; k < strides.size(); ++k) p.stride[k] = strides[k][d];
    p.stride[result] = layout.strides[d];
    if (!layout.block || d != 1) {
      dims.push_back(p);
      continue;
    }
    const std::int64_t block = layout.block;
    PhysicalDim blocks = p;
    blocks.size /= block;
    PhysicalDim lane = p;
    lane.size = block;
    for (std::size_t k = 0; k <= result; ++k) {
      if (k == result || full[k]) {
        lane.stride[k] = 1;
      } else {
        blocks.stride[k] *= block;
      }
    }
    dims.push_back(blocks);
    dims.push_back(lane);
  }
  std::erase_if(dims, [](const PhysicalDim& d) { return d.size == 1; });
  std::ranges::stable_sort(dims, [&](const PhysicalDim& a, const PhysicalDim& b) {
    return a.stride[result] > b.stride[result];
  });
  return dims;
}

bool mergeable(const PhysicalDim& outer, const PhysicalDim& inner, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    if (outer.stride[k] != inner.stride[k] * inner.size) return false;
  return true;
}

// Merges the two innermost dimensions if the inner one is short and every operand that is not laid
// out like the result is constant along the outer one.
void join_periods(std::vector<PhysicalDim>& dims, std::size_t operands, Loops& loops) {
  if (dims.size() < 2 || dims.back().size > max_period) return;
  const PhysicalDim& inner = dims.back();
  const PhysicalDim& outer = dims[dims.size() - 2];
  std::int8_t repeated = 0;
  auto places = Loops::not_repeated();
  for (std::size_t k = 0; k <= operands; ++k) {
    const bool is_scalar = inner.stride[k] == 0 && outer.stride[k] == 0;
    const bool is_full = inner.stride[k] == 1 && outer.stride[k] == inner.size;
    const bool repeats = inner.stride[k] == 1 && outer.stride[k] == 0;
    if (!is_scalar && !is_full && !repeats) return;
    if (repeats) places[k] = repeated++;
  }
  if (repeated > static_cast<std::int8_t>(max_repeated) || places[operands] >= 0) return;
  loops.repeated = places;
  loops.period = inner.size;
  loops.step = chunk / inner.size * inner.size;
  PhysicalDim joined = inner;
  joined.size *= outer.size;
  dims.pop_back();
  dims.back() = joined;
}

// Everything as one row, which the result is, since it has no holes.
Loops walk_all(std::span<const PhysicalDim> dims, std::size_t operands) {
  Loops loops;
  loops.operands = operands;
  for (const PhysicalDim& d : dims) {
    loops.inner *= d.size;
    loops.walk.push_back(d.size);
  }
  for (std::size_t k = 0; k <= operands; ++k) {
    bool is_scalar = true;
    bool is_full = true;
    for (const PhysicalDim& d : dims) {
      is_scalar &= d.stride[k] == 0;
      is_full &= d.stride[k] == d.stride[operands];
      loops.strides[k].push_back(d.stride[k]);
    }
    loops.inner_stride[k] = is_scalar ? 0 : 1;
    loops.is_walked[k] = !is_scalar && !is_full;
  }
  return loops;
}

// nullopt if more dimensions remain than a Shape can hold.
std::optional<Loops> plan_loops(const Shape& shape, const Layout& layout,
                                std::span<const Shape> strides, std::span<const char> full) {
  std::vector<PhysicalDim> dims = physical_dims(shape, layout, strides, full);
  const std::size_t count = strides.size() + 1;
  for (std::size_t i = dims.size(); i-- > 1;) {
    if (!mergeable(dims[i - 1], dims[i], count)) continue;
    dims[i - 1].stride = dims[i].stride;
    dims[i - 1].size *= dims[i].size;
    dims.erase(dims.begin() + static_cast<long>(i));
  }
  Loops loops;
  loops.operands = strides.size();
  const std::vector<PhysicalDim> apart = dims;
  join_periods(dims, strides.size(), loops);
  const bool is_walk = dims.size() > 1 && dims.back().size < short_row && shape.elements() > 0 &&
                       apart.size() <= Shape::max_rank;
  if (is_walk) return walk_all(apart, strides.size());
  if (!dims.empty()) {
    loops.inner = dims.back().size;
    loops.inner_stride = dims.back().stride;
    dims.pop_back();
  }
  if (shape.elements() == 0) loops.inner = 0;
  if (dims.size() > Shape::max_rank) return std::nullopt;
  for (const PhysicalDim& d : dims) {
    loops.outer.push_back(d.size);
    for (std::size_t k = 0; k < count; ++k) loops.strides[k].push_back(d.stride[k]);
  }
  for (std::size_t k = count; k < loops.strides.size(); ++k)
    loops.strides[k] = Shape::filled(loops.outer.rank(), 0);
  return loops;
}

}  // namespace

std::size_t leading_functions(const PostOps& post_ops) {
  const auto end = std::ranges::find_if(post_ops, [](const PostOp& p) {
    const Unary* u = unary_of(p);
    return !u || !simd().has_unary(u->kind);
  });
  return static_cast<std::size_t>(end - post_ops.begin());
}

void apply_functions(const PostOps& functions, float* y, std::int64_t n) {
  for (const PostOp& f : functions) simd().unary(*unary_of(f), y, y, n);
}

std::optional<FloatRange> leading_range(const PostOps& post_ops) {
  const Unary* u = post_ops.empty() ? nullptr : unary_of(post_ops.front());
  if (u && u->kind == UnaryKind::relu) return FloatRange{.low = 0};
  if (!u || u->kind != UnaryKind::clip) return std::nullopt;
  return FloatRange{static_cast<float>(u->alpha), static_cast<float>(u->beta)};
}

bool begins_with_exponential(const PostOps& post_ops) {
  const Unary* u = post_ops.empty() ? nullptr : unary_of(post_ops.front());
  if (!u) return false;
  switch (u->kind) {
    case UnaryKind::exp:
    case UnaryKind::sigmoid:
    case UnaryKind::swish:
    case UnaryKind::tanh:
    case UnaryKind::elu:
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh:
    case UnaryKind::mish:
    case UnaryKind::softplus: return true;
    default: return false;
  }
}

std::optional<std::uint32_t> added_operand(const KernelRequest& r) {
  const auto* add = r.post_ops.empty() ? nullptr : std::get_if<BinaryPostOp>(&r.post_ops.front());
  if (!add || add->kind != BinaryKind::add) return std::nullopt;
  const TensorDesc& operand = r.operands[add->operand].desc;
  if (operand.dtype != DType::f32 || operand.shape != r.outputs[0].shape) return std::nullopt;
  return r.read_of(*add);
}

Selection select_elementwise(const KernelRequest& r) {
  auto chain = chain_of(r);
  if (!chain) return unsupported();
  const Shape& shape = r.outputs[0].shape;
  const Layout layout = result_layout(r, *chain);
  KernelChoice choice;
  choice.input_layouts.resize(r.read_count());
  choice.output_layouts = {layout};
  std::vector<Shape> strides;
  std::vector<char> full;
  for (std::uint8_t i : chain->inputs) {
    const TensorDesc& d = r.read(i).desc;
    full.push_back(d.shape == shape);
    // The result of a chunk is written after all operands of the chunk are read.
    const Sharing over{0, i, Alias::may};
    if (full.back() && std::ranges::find(choice.sharing, over) == choice.sharing.end())
      choice.sharing.push_back(over);
    // A blocked operand that is broadcast cannot be read by strides.
    const Layout asked = full.back()      ? layout
                         : d.layout.block ? Layout::row_major(d.shape)
                                          : d.layout;
    choice.input_layouts[i] = asked;
    strides.push_back(full.back() ? layout.strides
                                  : broadcast_strides(d.shape, asked.strides, shape));
  }
  auto loops = plan_loops(shape, layout, strides, full);
  if (!loops) return unsupported();
  choice.implementation = std::string("elementwise ") + simd().name;
  choice.post_ops_taken = chain->post_ops;
  choice.work = std::make_unique<ElementwiseKernel>(*loops, std::move(chain->links),
                                                    std::move(chain->inputs));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
