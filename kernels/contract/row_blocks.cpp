// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/row_blocks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/matmul.h"
#include "kernels/contract/iterate.h"

namespace quern {
namespace {

constexpr std::size_t most_reads = 32;

// How a product is cut: along the first dimension of its result with more than one index, which is
// a batch or the rows.
class Slicing {
 public:
  Slicing(const KernelRequest& r, std::size_t axis) : r_(r), axis_(axis) {}

  std::int64_t size() const { return result()[axis_]; }
  // The dimension of read `i` that is cut; nullopt: the same for all parts.
  std::optional<std::size_t> cut(std::size_t i) const {
    const Shape& s = r_.read(i).desc.shape;
    const bool of_rows = axis_ + 2 == result().rank();
    if (of_rows && i == 1) return std::nullopt;
    const std::size_t missing = result().rank() - s.rank();
    if (s.rank() > result().rank() || axis_ < missing) return std::nullopt;
    const bool is_turned = of_rows && i == 0 && r_.as<MatMul>().transpose_a;
    const std::size_t at = is_turned ? s.rank() - 1 : axis_ - missing;
    return s[at] == size() ? std::optional(at) : std::nullopt;
  }
  Shape part_shape(const Shape& whole, std::size_t at, std::int64_t count) const {
    Shape part = whole;
    part[at] = count;
    return part;
  }
  // Read `i` of a part, as it lies in the whole one.
  TensorDesc part(std::size_t i, std::size_t at, std::int64_t count) const {
    const TensorDesc& t = r_.read(i).desc;
    const Shape shape = part_shape(t.shape, at, count);
    return {t.dtype, shape, {row_major_strides(t.shape)}};
  }
  TensorType result_part(std::int64_t count) const {
    return {r_.outputs[0].dtype, part_shape(result(), axis_, count)};
  }
  std::size_t step(std::size_t i, std::size_t at) const {
    const TensorDesc& t = r_.read(i).desc;
    return static_cast<std::size_t>(t.shape.elements(at + 1)) * size_of(t.dtype);
  }
  std::size_t result_step() const {
    return static_cast<std::size_t>(result().elements(axis_ + 1)) * size_of(r_.outputs[0].dtype);
  }
  const Shape& result() const { return r_.outputs[0].shape; }

 private:
  const KernelRequest& r_;
  std::size_t axis_;
};

// The same request for fewer indices of the axis.
struct Part {
  Part(const KernelRequest& whole, const Slicing& slicing, std::int64_t count) {
    for (std::size_t i = 0; i < whole.read_count(); ++i) {
      KernelInput in = whole.read(i);
      if (const auto at = slicing.cut(i)) {
        in.desc = slicing.part(i, *at, count);
        in.constant = nullptr;
      } else {
        in.is_last_use = false;  // the next part reads it again
      }
      (i < whole.inputs.size() ? inputs : operands).push_back(in);
    }
    outputs.push_back(slicing.result_part(count));
  }
  KernelRequest of(const KernelRequest& whole) const {
    return {whole.op,       whole.name, inputs,       outputs,   whole.wanted,
            whole.post_ops, operands,   whole.target, whole.gpu, whole.half_products};
  }

  std::vector<KernelInput> inputs;
  std::vector<KernelInput> operands;
  std::vector<TensorType> outputs;
};

class RowBlocks final : public CpuKernel {
 public:
  struct Block {
    std::unique_ptr<CpuKernel> kernel;
    std::int64_t rows = 0;
  };
  RowBlocks(Block block, Block rest, std::int64_t blocks, std::vector<std::size_t> steps,
            std::size_t result_step)
      : block_(std::move(block)),
        rest_(std::move(rest)),
        blocks_(blocks),
        steps_(std::move(steps)),
        result_step_(result_step) {}

  Result<std::unique_ptr<KernelState>> make_state() const override {
    auto state = std::make_unique<State>();
    QUERN_ASSIGN(state->block, block_.kernel->make_state());
    if (rest_.kernel) {
      QUERN_ASSIGN(state->rest, rest_.kernel->make_state());
    }
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(const KernelArgs& args, KernelState* kernel_state,
             const Parallel& parallel) const override {
    auto& state = *static_cast<State*>(kernel_state);
    for (std::int64_t b = 0; b < blocks_; ++b) {
      if (args.is_over()) return {};
      QUERN_TRY(run_part(*block_.kernel, args, b * block_.rows, state.block.get(), parallel));
    }
    if (!rest_.kernel) return {};
    return run_part(*rest_.kernel, args, blocks_ * block_.rows, state.rest.get(), parallel);
  }

 private:
  struct State final : KernelState {
    std::size_t calls() const override { return rest ? 2 : 1; }
    std::unique_ptr<KernelState> block, rest;
  };

  Status run_part(const CpuKernel& kernel, const KernelArgs& args, std::int64_t row,
                  KernelState* state, const Parallel& parallel) const {
    const auto at = static_cast<std::size_t>(row);
    std::array<const std::byte*, most_reads> inputs{};
    for (std::size_t i = 0; i < args.inputs.size(); ++i)
      inputs[i] = args.inputs[i] ? args.inputs[i] + at * steps_[i] : nullptr;
    std::byte* output = args.outputs[0] + at * result_step_;
    KernelArgs part = args;
    part.inputs = {inputs.data(), args.inputs.size()};
    part.outputs = {&output, 1};
    return kernel.run(part, state, parallel);
  }

  Block block_;
  Block rest_;
  std::int64_t blocks_;
  std::vector<std::size_t> steps_;  // bytes, by KernelRequest::read; 0: not cut
  std::size_t result_step_;
};

// Returns true if the kernel reads and writes what is cut as it lies.
bool keeps_places(const KernelChoice& choice, const KernelRequest& part, const Slicing& slicing) {
  const auto keeps = [&](const std::vector<Layout>& layouts, std::size_t i, const TensorDesc& t) {
    if (i >= layouts.size() || layouts[i].strides.rank() != t.shape.rank()) return is_row_major(t);
    return same_placement(t.shape, layouts[i], t.layout);
  };
  for (std::size_t i = 0; i < part.read_count(); ++i)
    if (slicing.cut(i) && !keeps(choice.input_layouts, i, part.read(i).desc)) return false;
  const TensorType& out = part.outputs[0];
  return choice.is_on_host() && choice.copies.empty() &&
         keeps(choice.output_layouts, 0, TensorDesc::row_major(out.dtype, out.shape));
}

// Returns true if the kernels for the blocks and for the rest may have the same operands: what is
// packed, what lies in whose place, and the layouts of what is not cut.
bool agree(const KernelChoice& a, const KernelChoice& b, const KernelRequest& request,
           const Slicing& slicing) {
  const auto same_layout = [&](std::size_t i) {
    const bool asked = i < a.input_layouts.size();
    if (asked != (i < b.input_layouts.size())) return false;
    const TensorDesc& t = request.read(i).desc;
    return !asked || slicing.cut(i) ||
           (a.input_layouts[i].strides.rank() == b.input_layouts[i].strides.rank() &&
            same_placement(t.shape, a.input_layouts[i], b.input_layouts[i]));
  };
  for (std::size_t i = 0; i < request.read_count(); ++i)
    if (!same_layout(i)) return false;
  return a.post_ops_taken == b.post_ops_taken && a.packed_inputs == b.packed_inputs &&
         a.sharing == b.sharing;
}

}  // namespace

std::optional<std::size_t> cut_axis(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  if (y.rank() < 2 || request.shape(0).rank() < 2 || request.shape(1).rank() < 2)
    return std::nullopt;
  for (std::size_t d = 0; d + 1 < y.rank(); ++d)
    if (y[d] > 1) return d;
  return std::nullopt;
}

Selection in_row_blocks(const KernelRequest& request, std::int64_t count,
                        Selection (*select)(const KernelRequest&)) {
  const auto axis = cut_axis(request);
  if (!axis || request.read_count() > most_reads) return unsupported();
  const Slicing slicing(request, *axis);
  const std::int64_t all = slicing.size();
  if (count < 1 || count >= all) return unsupported();
  const Part part(request, slicing, count);
  QUERN_ASSIGN(auto choice, select(part.of(request)));
  if (!choice || !keeps_places(*choice, part.of(request), slicing)) return unsupported();
  RowBlocks::Block rest;
  if (all % count != 0) {
    const Part last(request, slicing, all % count);
    QUERN_ASSIGN(auto other, select(last.of(request)));
    if (!other || !keeps_places(*other, last.of(request), slicing) ||
        !agree(*choice, *other, request, slicing))
      return unsupported();
    choice->scratch_bytes = std::max(choice->scratch_bytes, other->scratch_bytes);
    rest = {std::get<std::unique_ptr<CpuKernel>>(std::move(other->work)), all % count};
  }
  std::vector<std::size_t> steps(request.read_count());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto at = slicing.cut(i);
    if (!at) continue;
    steps[i] = slicing.step(i, *at);
    if (i < choice->input_layouts.size())
      choice->input_layouts[i] = Layout::row_major(request.read(i).desc.shape);
  }
  if (!choice->output_layouts.empty())
    choice->output_layouts[0] = Layout::row_major(slicing.result());
  if (!choice->implementation.ends_with(" in rows"))
    choice->implementation = cat(choice->implementation, " in rows");
  RowBlocks::Block block{std::get<std::unique_ptr<CpuKernel>>(std::move(choice->work)), count};
  choice->work = std::make_unique<RowBlocks>(std::move(block), std::move(rest), all / count,
                                             std::move(steps), slicing.result_step());
  return choice;
}

}  // namespace quern
