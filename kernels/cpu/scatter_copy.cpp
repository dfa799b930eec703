// SPDX-License-Identifier: Apache-2.0
// Scatter nd with constant indices and no reduction: a list of runs to copy, computed when the
// kernel is chosen; in place if the data are not needed afterwards.
#include "kernels/cpu/scatter_copy.h"

#include <cstring>

#include "graph/ops/scatter.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/rows.h"

namespace quern {
namespace {

struct ScatterRun {
  std::size_t to, from, bytes;
};

class ScatterCopy final : public CpuKernel {
 public:
  ScatterCopy(std::size_t bytes, std::vector<ScatterRun> runs)
      : bytes_(bytes), runs_(std::move(runs)) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel&) const override {
    std::byte* y = args.outputs[0];
    StopCheck check(args.stop);
    if (y != args.inputs[0]) copy_bytes(args.inputs[0], bytes_, y, check);
    for (const ScatterRun& r : runs_) copy_bytes(args.inputs[2] + r.from, r.bytes, y + r.to, check);
    return {};
  }

 private:
  std::size_t bytes_;
  std::vector<ScatterRun> runs_;
};

// The runs in the order of the updates, adjacent ones merged; nullopt if an index is out of range.
std::optional<std::vector<ScatterRun>> runs_of(const Shape& data, const Ints& indices,
                                               std::size_t depth, std::size_t element_size) {
  const Shape strides = row_major_strides(data);
  const std::size_t bytes = static_cast<std::size_t>(data.elements(depth)) * element_size;
  std::vector<ScatterRun> runs;
  for (std::size_t row = 0; row * depth < indices.size(); ++row) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      const std::int64_t at = wrapped_index(indices[row * depth + d], data[d]);
      if (at < 0) return std::nullopt;
      offset += at * strides[d];
    }
    const ScatterRun run{static_cast<std::size_t>(offset) * element_size, row * bytes, bytes};
    if (!runs.empty() && runs.back().to + runs.back().bytes == run.to) {
      runs.back().bytes += bytes;
    } else {
      runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace

Selection select_scatter_copy(const KernelRequest& r) {
  const auto& op = r.as<Scatter>();
  const Shape& data = r.shape(0);
  const auto indices = constant_ints(r, 1);
  if (op.kind != ScatterKind::nd || op.reduction != ScatterReduction::none || !indices ||
      data.elements() == 0 || r.shape(2).elements() == 0)
    return unsupported();
  const auto depth = static_cast<std::size_t>(r.shape(1).back());
  auto runs = runs_of(data, *indices, depth, size_of(r.dtype(0)));
  if (!runs) return unsupported();  // the reference reports the error
  KernelChoice choice;
  choice.implementation = "copy";
  choice.sharing = {{0, 0, Alias::may}};
  choice.work = std::make_unique<ScatterCopy>(
      static_cast<std::size_t>(data.elements()) * size_of(r.dtype(0)), std::move(*runs));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
