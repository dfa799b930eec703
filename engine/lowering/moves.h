// SPDX-License-Identifier: Apache-2.0
// Brings tensors to a requested layout and memory: reorders, uploads and downloads, which are
// ordinary steps.
#pragma once

#include <string>

#include "engine/lowering/constant_places.h"

namespace quern::lowering {

class Moves {
 public:
  // `backend` may be null; all other arguments must outlive this object.
  Moves(const Graph& graph, const CpuTarget& target, Backend* backend,
        UnallocatedProgram& unallocated, ValuePlaces& places, ConstantPlaces& constants)
      : graph_(graph),
        target_(target),
        backend_(backend),
        unallocated_(unallocated),
        places_(places),
        constants_(constants) {}

  // Returns the value in this layout and memory: an existing place, or a new copy, which is then
  // one of the value's places. `address`: see ConstantPlaces.
  Result<Place> bring(ValueId v, const Layout& layout, Space space,
                      Address address = Address::aligned);
  // The same for an intermediate result that holds `held`.
  Result<Place> bring(Place from, const HeldValue& held, const Layout& layout, Space space);
  // Copies a value that depends on inputs to this memory, where it has no place yet, in row-major
  // order.
  Status transfer(ValueId v, Space space);
  // Copies the elements to a new buffer in the same memory, in the layout of `to`. `node` is a name
  // for display.
  Result<Place> reorder(const Place& from, const HeldValue& held, const TensorDesc& to,
                        const std::string& node);
  // Copies a value on the host without a change of layout. `name` names the step and its buffer.
  Result<Place> copy(const Place& from, ValueId v, const std::string& name);
  // The value as its readers see it, after all post-ops.
  HeldValue whole(ValueId v) const;

 private:
  // The names of a step and of its result.
  struct Names {
    std::string op;
    std::string node;
    std::string result;
  };

  bool is_aligned(const Place& place) const;
  Result<Place> append_copy(const Place& from, const HeldValue& held, const TensorDesc& to,
                            KernelChoice choice, const Names& names);
  Place append_transfer(const Place& from, const HeldValue& held, Space space,
                        const std::string& name);

  const Graph& graph_;
  CpuTarget target_;
  Backend* backend_;
  UnallocatedProgram& unallocated_;
  ValuePlaces& places_;
  ConstantPlaces& constants_;
};

}  // namespace quern::lowering
