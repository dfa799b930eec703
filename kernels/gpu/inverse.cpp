// SPDX-License-Identifier: Apache-2.0
// Inverse and Det of matrices that fit in an invocation's registers. Larger ones are few: the
// CPU's.
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {
namespace {

constexpr std::int64_t most_rows = 8;

}  // namespace

Selection select_inverse(const KernelRequest& request) {
  const Shape& x = request.shape(0);
  const std::int64_t n = x.back();
  if (request.dtype(0) != DType::f32 || n < 1 || n > most_rows || x.elements() == 0 ||
      x.elements() >= std::int64_t{1} << 31)
    return unsupported();
  const std::int64_t columns = x.elements() / n;
  const std::uint32_t local = lanes(*request.gpu);
  Dispatch d;
  d.shader = "inverse";
  d.constants = {local, word(n)};
  d.push = {word(columns)};
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(columns), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "elimination";
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_det(const KernelRequest& request) {
  const Shape& x = request.shape(0);
  const std::int64_t n = x.back();
  const bool doubles = request.dtype(0) == DType::f64;
  if ((request.dtype(0) != DType::f32 && !doubles) || !request.gpu->float64 || n < 1 ||
      n > most_rows || x.elements() == 0 || x.elements() >= std::int64_t{1} << 31)
    return unsupported();
  const std::int64_t matrices = x.elements() / (n * n);
  const std::uint32_t local = lanes(*request.gpu);
  Dispatch d;
  d.shader = "determinant";
  d.constants = {local, word(n), doubles};
  d.push = {word(matrices)};
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(matrices), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "elimination";
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
