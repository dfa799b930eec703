// SPDX-License-Identifier: Apache-2.0
// Scatter, GatherND and MaxUnpool, whose destinations are data. Results do not depend on the order
// of invocations: of several updates to one place without reduction only the last is written, and
// with a reduction they apply in order.
#include "graph/ops/scatter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/gather.h"
#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/rows.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/gather.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {
namespace {

bool is_small(const Shape& s) {
  return s.elements() < (std::int64_t{1} << 31);
}
std::uint32_t index_words(DType t) {
  return t == DType::i64 ? 2 : 1;
}

// Coordinates of slices: indices[tuples][depth], over the dimensions [batch, batch + depth) of
// data.
struct Tuples {
  std::int64_t count, depth, batches, slices, run;
};
Tuples tuples_of(const Shape& data, const Shape& indices, std::int64_t batch_dims) {
  const auto b = static_cast<std::size_t>(batch_dims);
  const auto depth = static_cast<std::size_t>(indices.back());
  return {indices.elements(0, indices.rank() - 1), indices.back(), data.elements(0, b),
          data.elements(0, b + depth), data.elements(b + depth)};
}

// The numbers of the slices, as words; nullopt if there are too many coordinates.
std::optional<Dispatch> places_dispatch(const KernelRequest& request, const Tuples& t,
                                        std::int64_t batch_dims, BufferUse to) {
  const Shape& data = request.shape(0);
  if (t.depth < 1 || t.depth > 6 || t.slices >= 0xffffffffLL) return std::nullopt;
  Dispatch d;
  d.shader = "places";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, index_words(request.dtype(1))};
  d.push = {word(t.count), word(t.depth), word(t.count / t.batches), word(t.slices / t.batches)};
  std::vector<std::int64_t> sizes, strides;
  const auto first = static_cast<std::size_t>(batch_dims);
  const std::size_t end = first + static_cast<std::size_t>(t.depth);
  for (std::size_t i = first; i < end; ++i) {
    sizes.push_back(data[i]);
    strides.push_back(data.elements(i + 1, end));
  }
  append(d.push, sizes, 1);
  append(d.push, strides, 0);
  d.buffers = {BufferUse::input(1), to};
  d.groups = linear_groups(static_cast<std::uint64_t>(t.count), local, *request.gpu);
  return d;
}

// Reserves n words in scratch memory at an offset where a binding can begin.
std::uint64_t words(std::int64_t n) {
  return round_up(static_cast<std::uint64_t>(n) * 4, 256);
}

// The last tuple of each place is its owner: the places are in the first words of scratch memory,
// followed by the owners.
void push_owners(KernelChoice& choice, std::int64_t tuples, std::int64_t places,
                 const GpuTarget& target) {
  const std::uint64_t first = words(tuples);
  choice.scratch_bytes = first + words(places);
  const std::uint32_t local = lanes(target);
  for (const bool claim : {false, true}) {
    Dispatch d;
    d.shader = "owners";
    d.constants = {local, claim};
    d.push = {word(claim ? tuples : places)};
    const auto owners = [&](BufferAccess a) { return BufferUse::scratch(first, words(places), a); };
    d.buffers = {
        claim ? BufferUse::scratch(0, first, BufferAccess::read) : owners(BufferAccess::read),
        owners(BufferAccess::write)};
    d.groups = linear_groups(d.push[0], local, target);
    choice.on_gpu().dispatches.push_back(std::move(d));
  }
}

// Copies all of `data` to the result.
std::optional<Dispatch> copy_data(const KernelRequest& request) {
  const Shape& data = request.shape(0);
  const Shape strides = row_major_strides(data);
  auto d = copy_dispatch(request.dtype(0), data, {strides}, {strides}, *request.gpu);
  if (d) d->buffers = {BufferUse::input(0), BufferUse::output(0)};
  return d;
}

// The places of constant tuples, 0xffffffff for those that a later one overwrites; nullopt if they
// are not constant or one is out of range, which the CPU then reports.
std::optional<GpuConstant> known_places(const KernelRequest& request, const Tuples& t) {
  const Shape& data = request.shape(0);
  const auto indices = constant_ints(request, 1);
  if (!indices) return std::nullopt;
  const auto depth = static_cast<std::size_t>(t.depth);
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < indices->size(); i += depth) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      const std::int64_t at = wrapped_index((*indices)[i + d], data[d]);
      if (at < 0) return std::nullopt;
      place = place * data[d] + at;
    }
    places.push_back(word(place));
  }
  std::unordered_set<std::uint32_t> later;
  for (std::size_t k = places.size(); k-- > 0;)
    if (!later.insert(places[k]).second) places[k] = 0xffffffffU;
  GpuConstant c;
  c.key = cat("gpu-places|", data.text(), "|", request.inputs[1].constant->key());
  c.bytes = places.size() * sizeof(std::uint32_t);
  c.fill = [places = std::move(places)](std::byte* to) -> Status {
    std::memcpy(to, places.data(), places.size() * sizeof(std::uint32_t));
    return {};
  };
  return c;
}

bool scatter_nd(const KernelRequest& request, KernelChoice& choice) {
  const auto& op = request.as<Scatter>();
  const GpuTarget& target = *request.gpu;
  const bool reduces = op.reduction != ScatterReduction::none;
  const Tuples t = tuples_of(request.shape(0), request.shape(1), 0);
  if (reduces && !can_loop(t.count, target)) return false;
  auto known = reduces ? std::nullopt : known_places(request, t);
  const bool has_owners = !reduces && !known;
  BufferUse places = BufferUse::constant(0);
  if (known) {
    choice.on_gpu().constants.push_back(*std::move(known));
    choice.packed_inputs = {false, true, false};
  } else {
    choice.scratch_bytes = words(t.count);
    auto find =
        places_dispatch(request, t, 0, BufferUse::scratch(0, words(t.count), BufferAccess::write));
    if (!find) return false;
    choice.on_gpu().dispatches.push_back(std::move(*find));
    if (has_owners) push_owners(choice, t.count, t.slices, target);
    places = BufferUse::scratch(0, words(t.count), BufferAccess::read);
  }
  // Slices move as words.
  const std::int64_t run = t.run * static_cast<std::int64_t>(size_of(request.dtype(0)) / 4);
  const std::int64_t work = reduces ? run : t.count * run;
  Dispatch d;
  d.shader = "scatter_nd";
  const std::uint32_t local = lanes(target);
  d.constants = {local, static_cast<std::uint32_t>(op.reduction), request.dtype(0) == DType::i32,
                 has_owners};
  d.push = {word(work), word(t.count), word(run)};
  d.buffers = {places, BufferUse::input(2), BufferUse::output(0),
               has_owners ? BufferUse::scratch(words(t.count), words(t.slices), BufferAccess::read)
                          : places};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, target);
  choice.on_gpu().dispatches.push_back(std::move(d));
  return true;
}

bool scatter_elements(const KernelRequest& request, KernelChoice& choice) {
  const auto& op = request.as<Scatter>();
  const Shape& data = request.shape(0);
  Shape lines = request.shape(1);
  if (size_of(request.dtype(0)) != 4) return false;
  const std::size_t axis = positive_axis(op.axis, data.rank());
  const std::int64_t count = lines[axis];
  const Shape to = row_major_strides(data);
  const Shape from = row_major_strides(lines);
  lines[axis] = 1;
  const auto loop = make_loop(lines, std::array{to, from}, memory_order(lines, from));
  if (!loop || !can_loop(count, *request.gpu)) return false;
  Dispatch d;
  d.shader = "scatter_elements";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, index_words(request.dtype(1)), static_cast<std::uint32_t>(op.reduction),
                 request.dtype(0) == DType::i32};
  for (std::int64_t v : {lines.elements(), count, data[axis], to[axis], from[axis]})
    d.push.push_back(word(v));
  append(d.push, loop->dims, 1);
  append(d.push, loop->strides[0], 0);
  append(d.push, loop->strides[1], 0);
  d.buffers = {BufferUse::input(1), BufferUse::input(2), BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(lines.elements()), local, *request.gpu);
  choice.on_gpu().dispatches.push_back(std::move(d));
  return true;
}

}  // namespace

Selection select_scatter(const KernelRequest& request) {
  const auto& op = request.as<Scatter>();
  const DType type = request.dtype(0);
  const bool reduces = op.reduction != ScatterReduction::none;
  if (type == DType::string || size_of(type) % 4 != 0 || size_of(type) > 8 ||
      (reduces && type != DType::f32 && type != DType::i32) || request.shape(0).elements() == 0 ||
      !is_small(request.shape(0)) || !is_small(request.shape(1)) || !is_small(request.shape(2)))
    return unsupported();
  KernelChoice choice;
  auto copy = copy_data(request);
  if (!copy) return unsupported();
  choice.on_gpu().dispatches.push_back(std::move(*copy));
  const bool done = request.shape(2).elements() == 0 ||
                    (op.kind == ScatterKind::nd ? scatter_nd(request, choice)
                                                : scatter_elements(request, choice));
  if (!done) return unsupported();
  choice.implementation = "scatter";
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_gather_nd(const KernelRequest& request) {
  const auto& op = request.as<Gather>();
  const std::size_t size = size_of(request.dtype(0));
  if (request.dtype(0) == DType::string || (size != 4 && size != 8) ||
      request.shape(0).elements() == 0 || request.outputs[0].shape.elements() == 0 ||
      !is_small(request.shape(0)) || !is_small(request.outputs[0].shape))
    return unsupported();
  const Tuples t = tuples_of(request.shape(0), request.shape(1), op.batch_dims);
  KernelChoice choice;
  choice.scratch_bytes = words(t.count);
  auto places = places_dispatch(request, t, op.batch_dims,
                                BufferUse::scratch(0, choice.scratch_bytes, BufferAccess::write));
  if (!places) return unsupported();
  choice.on_gpu().dispatches.push_back(std::move(*places));
  choice.on_gpu().dispatches.push_back(gather_rows(
      {.outer = 1, .count = t.count, .size = t.slices, .inner = t.run}, size,
      {BufferUse::input(0), BufferUse::scratch(0, choice.scratch_bytes, BufferAccess::read),
       BufferUse::output(0)},
      *request.gpu));
  choice.implementation = "gather nd";
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_max_unpool(const KernelRequest& request) {
  const TensorType& y = request.outputs[0];
  const Shape& x = request.shape(0);
  const Shape pooled = unpooled_shape(request.as<MaxUnpool>(), x);
  const auto elements = pooled.checked_elements();
  if (request.dtype(0) == DType::string || size_of(y.dtype) != 4 || x.elements() == 0 ||
      y.shape.elements() == 0 || !is_small(x) || !is_small(y.shape) || !elements ||
      !is_small(pooled) || x.rank() > Loop::max_rank)
    return unsupported();
  const GpuTarget& target = *request.gpu;
  const std::int64_t n = x.elements();
  KernelChoice choice;
  enum class Pass : std::uint8_t { places, values };
  const auto add = [&](Pass pass, std::array<BufferUse, 3> buffers) {
    const bool last = pass == Pass::values;
    Dispatch d;
    d.shader = "max_unpool";
    const std::uint32_t local = lanes(target);
    d.constants = {local, last};
    d.push = {word(last ? y.shape.elements() : n), word(*elements)};
    for (const Shape* s : {&pooled, &y.shape}) {
      std::vector<std::int64_t> dims(s->begin(), s->end());
      std::ranges::reverse(dims);
      append(d.push, dims, 1);
    }
    d.buffers.assign(buffers.begin(), buffers.end());
    d.groups = linear_groups(d.push[0], local, target);
    choice.on_gpu().dispatches.push_back(std::move(d));
  };
  add(Pass::places, {BufferUse::input(0), BufferUse::input(1),
                     BufferUse::scratch(0, words(n), BufferAccess::write)});
  push_owners(choice, n, y.shape.elements(), target);
  add(Pass::values, {BufferUse::scratch(words(n), words(y.shape.elements()), BufferAccess::read),
                     BufferUse::input(0), BufferUse::output(0)});
  choice.packed_inputs = {false, false, true};
  choice.packed_inputs.resize(request.inputs.size());
  choice.implementation = "owners";
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
