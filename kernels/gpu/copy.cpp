// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu/copy.h"

#include <algorithm>
#include <array>

#include "kernels/gpu/grid.h"

namespace quern::gpu {
namespace {

std::string_view shader_for(std::size_t element_size) {
  switch (element_size) {
    case 1: return "copy_8";
    case 2: return "copy_16";
    case 4: return "copy_32";
    case 8: return "copy_64";
    default: return "copy_128";
  }
}

bool can_store(std::size_t element_size, const GpuTarget& target) {
  if (element_size == 1) return target.storage_8bit;
  return element_size != 2 || target.storage_16bit;
}

// Doubles the element size as long as both sides allow it: four floats move as one.
void widen(Loop& loop, std::int64_t& from, std::int64_t& to, std::size_t& size) {
  const auto even = [](const std::vector<std::int64_t>& strides) {
    return strides[0] == 1 &&
           std::all_of(strides.begin() + 1, strides.end(), [](auto s) { return s % 2 == 0; });
  };
  while (size < 16 && loop.dims[0] % 2 == 0 && from % 2 == 0 && to % 2 == 0 &&
         even(loop.strides[0]) && even(loop.strides[1])) {
    loop.dims[0] /= 2;
    for (auto& strides : loop.strides)
      for (std::size_t d = 1; d < strides.size(); ++d) strides[d] /= 2;
    from /= 2;
    to /= 2;
    size *= 2;
  }
}

}  // namespace

std::optional<Dispatch> copy_dispatch(DType dtype, const Shape& shape, const Side& from,
                                      const Side& to, const GpuTarget& target) {
  if (dtype == DType::string || size_of(dtype) > 16) return std::nullopt;
  auto loop =
      make_loop(shape, std::array{from.strides, to.strides}, memory_order(shape, to.strides));
  if (!loop) return std::nullopt;
  std::int64_t from_base = from.offset;
  std::int64_t to_base = to.offset;
  std::size_t size = size_of(dtype);
  widen(*loop, from_base, to_base, size);
  if (!can_store(size, target)) return std::nullopt;

  const std::int64_t run = target.software ? 16 : 1;
  const std::int64_t inner = ceil_div_word(loop->dims[0], run);
  const std::int64_t chunks = inner * (loop->elements() / loop->dims[0]);
  Dispatch d;
  d.shader = shader_for(size);
  const std::uint32_t local = lanes(target);
  d.constants = {local, word(run)};
  d.push = {word(chunks), word(from_base), word(to_base), word(inner)};
  append(d.push, loop->dims, 1);
  append(d.push, loop->strides[0], 0);
  append(d.push, loop->strides[1], 0);
  d.groups = linear_groups(static_cast<std::uint64_t>(chunks), local, target);
  return d;
}

}  // namespace quern::gpu

namespace quern {

Selection select_gpu_copy(const TensorDesc& from, std::int64_t from_offset, const TensorDesc& to,
                          const GpuTarget& target) {
  if (from.layout.block || to.layout.block || from.shape.elements() == 0) return unsupported();
  const auto skipped = static_cast<std::uint64_t>(from_offset) * size_of(from.dtype);
  if (std::max<std::uint64_t>(from.bytes() + skipped, to.bytes()) > target.max_range)
    return unsupported();
  auto dispatch = gpu::copy_dispatch(from.dtype, from.shape, {from.layout.strides, from_offset},
                                     {to.layout.strides}, target);
  if (!dispatch) return unsupported();
  dispatch->buffers = {BufferUse::input(0), BufferUse::output(0)};
  KernelChoice choice;
  choice.implementation = dispatch->shader;
  choice.input_layouts = {from.layout};
  choice.output_layouts = {to.layout};
  choice.on_gpu().dispatches.push_back(std::move(*dispatch));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
