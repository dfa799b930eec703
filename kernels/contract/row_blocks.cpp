// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/row_blocks.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr std::size_t most_reads = 32;

bool is_cut(const TensorDesc& t, std::int64_t rows) {
  return t.shape.rank() == 2 && t.shape[0] == rows && is_row_major(t);
}
std::size_t row_bytes(const TensorDesc& t) {
  return static_cast<std::size_t>(t.shape[1]) * size_of(t.dtype);
}

// The same request for fewer rows.
struct Part {
  Part(const KernelRequest& whole, std::int64_t rows) {
    const std::int64_t all = whole.outputs[0].shape[0];
    const auto cut = [&](const KernelInput& in) {
      KernelInput part = in;
      if (is_cut(in.desc, all))
        part.desc = TensorDesc::row_major(in.desc.dtype, {rows, in.desc.shape[1]});
      return part;
    };
    inputs.push_back(cut(whole.inputs[0]));
    for (std::size_t i = 1; i < whole.inputs.size(); ++i) inputs.push_back(whole.inputs[i]);
    for (const KernelInput& in : whole.operands) operands.push_back(cut(in));
    outputs.push_back({whole.outputs[0].dtype, {rows, whole.outputs[0].shape[1]}});
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
  std::vector<std::size_t> steps_;  // bytes of a row, by KernelRequest::read; 0: not cut
  std::size_t result_step_;
};

// Returns true if the kernel reads and writes what is cut in rows as they lie.
bool keeps_rows(const KernelChoice& choice, const KernelRequest& part, std::int64_t rows) {
  const auto keeps = [&](const std::vector<Layout>& layouts, std::size_t i, const TensorDesc& t) {
    return i >= layouts.size() || layouts[i].strides.rank() != t.shape.rank() ||
           same_placement(t.shape, layouts[i], Layout::row_major(t.shape));
  };
  for (std::size_t i = 0; i < part.read_count(); ++i)
    if (is_cut(part.read(i).desc, rows) && !keeps(choice.input_layouts, i, part.read(i).desc))
      return false;
  const TensorType& out = part.outputs[0];
  return choice.is_on_host() && choice.copies.empty() &&
         keeps(choice.output_layouts, 0, TensorDesc::row_major(out.dtype, out.shape));
}

// Returns true if the kernels for the blocks and for the rest may have the same operands: what is
// packed, what lies in whose place, and the layouts of what is not cut.
bool agree(const KernelChoice& a, const KernelChoice& b, const KernelRequest& request) {
  const auto same_layout = [&](std::size_t i) {
    const bool asked = i < a.input_layouts.size();
    if (asked != (i < b.input_layouts.size())) return false;
    const TensorDesc& t = request.read(i).desc;
    return !asked || is_cut(t, request.outputs[0].shape[0]) ||
           (a.input_layouts[i].strides.rank() == b.input_layouts[i].strides.rank() &&
            same_placement(t.shape, a.input_layouts[i], b.input_layouts[i]));
  };
  for (std::size_t i = 0; i < request.read_count(); ++i)
    if (!same_layout(i)) return false;
  return a.post_ops_taken == b.post_ops_taken && a.packed_inputs == b.packed_inputs &&
         a.sharing == b.sharing;
}

}  // namespace

Selection in_row_blocks(const KernelRequest& request, std::int64_t rows,
                        Selection (*select)(const KernelRequest&)) {
  const std::int64_t all = request.outputs[0].shape[0];
  if (rows < 1 || rows >= all || request.read_count() > most_reads ||
      !is_cut(request.inputs[0].desc, all))
    return unsupported();
  const Part part(request, rows);
  QUERN_ASSIGN(auto choice, select(part.of(request)));
  if (!choice || !keeps_rows(*choice, part.of(request), rows)) return unsupported();
  RowBlocks::Block rest;
  if (all % rows != 0) {
    const Part last(request, all % rows);
    QUERN_ASSIGN(auto other, select(last.of(request)));
    if (!other || !keeps_rows(*other, last.of(request), all % rows) ||
        !agree(*choice, *other, request))
      return unsupported();
    choice->scratch_bytes = std::max(choice->scratch_bytes, other->scratch_bytes);
    rest = {std::get<std::unique_ptr<CpuKernel>>(std::move(other->work)), all % rows};
  }
  std::vector<std::size_t> steps(request.read_count());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TensorDesc& t = request.read(i).desc;
    const bool may_be_cut = i == 0 || i >= request.inputs.size();
    if (!may_be_cut || !is_cut(t, all)) continue;
    steps[i] = row_bytes(t);
    if (i < choice->input_layouts.size()) choice->input_layouts[i] = Layout::row_major(t.shape);
  }
  const TensorType& out = request.outputs[0];
  const TensorDesc result = TensorDesc::row_major(out.dtype, out.shape);
  if (!choice->output_layouts.empty()) choice->output_layouts[0] = result.layout;
  choice->implementation = cat(choice->implementation, " in rows");
  RowBlocks::Block block{std::get<std::unique_ptr<CpuKernel>>(std::move(choice->work)), rows};
  choice->work = std::make_unique<RowBlocks>(std::move(block), std::move(rest), all / rows,
                                             std::move(steps), row_bytes(result));
  return choice;
}

}  // namespace quern
