// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/moves.h"

#include <array>

#include "engine/compile/backend.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/contract/copy.h"

namespace quern::lowering {

Result<Place> Moves::bring(ValueId v, const Layout& layout, Space space, Address address) {
  if (constants_.find(v)) return constants_.bring(v, layout, space, address);
  const auto fits = [&](const Place& p) {
    return same_placement(p.desc.shape, p.desc.layout, layout) && is_aligned(p);
  };
  for (const Place& p : places_.of(v))
    if (unallocated_.space_of(p) == space && fits(p)) return p;
  if (!places_.find(v, space)) QUERN_TRY(transfer(v, space));
  const Place from = *places_.find(v, space);
  if (fits(from)) return from;
  QUERN_ASSIGN(const Place made, reorder(from, whole(v), {from.desc.dtype, from.desc.shape, layout},
                                         graph_.value(v).name));
  places_.put(v, made);
  return made;
}

Result<Place> Moves::bring(Place from, const HeldValue& held, const Layout& layout, Space space) {
  constexpr auto name = "intermediate";
  if (unallocated_.space_of(from) != space) {
    QUERN_ASSIGN(
        from, bring(from, held, Layout::row_major(from.desc.shape), unallocated_.space_of(from)));
    from = append_transfer(from, held, space, name);
  }
  if (same_placement(from.desc.shape, from.desc.layout, layout)) return from;
  return reorder(from, held, {from.desc.dtype, from.desc.shape, layout}, name);
}

Status Moves::transfer(ValueId v, Space space) {
  const Space other = space == Space::host ? Space::device : Space::host;
  // The device lays nothing out anew that it cannot bind: the host does it then.
  if (space == Space::host && places_.type(v).bytes() > backend_->limits().binding) {
    const Place as_it_is = *places_.find(v, other);
    places_.put(v, append_transfer(as_it_is, whole(v), space, graph_.value(v).name));
    return {};
  }
  QUERN_ASSIGN(const Place from, bring(v, Layout::row_major(places_.type(v).shape), other));
  places_.put(v, append_transfer(from, whole(v), space, graph_.value(v).name));
  return {};
}

HeldValue Moves::whole(ValueId v) const {
  const NodeId producer = graph_.value(v).producer;
  const bool is_made = producer != no_node && graph_.value(v).producer_output == 0;
  return {v, is_made ? graph_.node(producer).post_ops.size() : 0};
}

Result<Place> Moves::copy(const Place& from, ValueId v, const std::string& name) {
  QUERN_ASSIGN(KernelChoice choice, select_copy(from.desc, from.desc, target_));
  return append_copy(from, whole(v), from.desc, std::move(choice), {"Copy", name, name});
}

Result<Place> Moves::reorder(const Place& from, const HeldValue& held, const TensorDesc& to,
                             const std::string& node) {
  const Names names{"Reorder", node, node + " (reordered)"};
  if (unallocated_.space_of(from) == Space::host) {
    QUERN_ASSIGN(KernelChoice choice, select_copy(from.desc, to, target_));
    return append_copy(from, held, to, std::move(choice), names);
  }
  const auto skipped =
      static_cast<std::int64_t>(from.offset % backend_->alignment() / size_of(from.desc.dtype));
  QUERN_ASSIGN(auto choice, backend_->copy(from.desc, skipped, to));
  if (choice) return append_copy(from, held, to, std::move(*choice), names);
  // If the device cannot copy the elements, for example because it lacks their type, the host does
  // it between a download and an upload.
  const Place below = append_transfer(from, held, Space::host, node);
  QUERN_ASSIGN(const Place moved, reorder(below, held, to, node));
  return append_transfer(moved, held, Space::device, node);
}

// Kernels of a device need operands at offsets where bindings may begin.
bool Moves::is_aligned(const Place& place) const {
  return unallocated_.space_of(place) == Space::host || place.offset % backend_->alignment() == 0;
}

Result<Place> Moves::append_copy(const Place& from, const HeldValue& held, const TensorDesc& to,
                                 KernelChoice choice, const Names& names) {
  const Place made{unallocated_.add(space_of(choice), to.bytes(), names.result), 0, to};
  QUERN_ASSIGN(auto gpu_constants, constants_.on_device(choice.gpu_constants()));
  Step s = step_of(choice);
  s.gpu_constants = std::move(gpu_constants);
  s.op = names.op;
  s.node = names.node;
  s.shapes = cat(to.shape.text(), " ", from.desc.layout.text(), " -> ", to.layout.text());
  s.cost.bytes = 2.0 * static_cast<double>(to.bytes());
  const std::array inputs = {from};
  const std::array outputs = {made};
  unallocated_.append(std::move(s), inputs, outputs, choice, StepMeaning::of_move(held));
  return made;
}

Place Moves::append_transfer(const Place& from, const HeldValue& held, Space space,
                             const std::string& name) {
  const Place made{unallocated_.add(space, from.desc.bytes(), name), 0, from.desc};
  Step s;
  s.kind = space == Space::host ? Step::Kind::download : Step::Kind::upload;
  s.op = space == Space::host ? "Download" : "Upload";
  s.node = name;
  s.shapes = TensorType{from.desc.dtype, from.desc.shape}.text();
  s.implementation = "copy";
  s.cost.bytes = static_cast<double>(from.desc.bytes());
  const std::array inputs = {from};
  const std::array outputs = {made};
  unallocated_.append(std::move(s), inputs, outputs, {}, StepMeaning::of_move(held));
  return made;
}

}  // namespace quern::lowering
