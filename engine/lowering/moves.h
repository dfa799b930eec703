// SPDX-License-Identifier: Apache-2.0
// Brings tensors to the layout and the memory that somebody wants them in: reorders, uploads and
// downloads, which are steps like any other.
#pragma once

#include <string>

#include "engine/lowering/constant_places.h"

namespace quern::lowering {

class Moves {
 public:
  // `backend` may be null; all others outlive this.
  Moves(const Graph& graph, const CpuTarget& target, Backend* backend,
        UnallocatedProgram& unallocated, ValuePlaces& places, ConstantPlaces& constants)
      : graph_(graph),
        target_(target),
        backend_(backend),
        unallocated_(unallocated),
        places_(places),
        constants_(constants) {}

  // The value in this layout and memory: a place that it has, or a new copy, which is one of its
  // places from then on. `address`: see ConstantPlaces.
  Result<Place> bring(ValueId v, const Layout& layout, Space space,
                      Address address = Address::aligned);
  // An intermediate result, which is `held`.
  Result<Place> bring(Place from, const HeldValue& held, const Layout& layout, Space space);
  // The bytes of a value that depends on inputs to this memory, where it has no place, row-major.
  Status transfer(ValueId v, Space space);
  // New bytes in the same memory with the same elements, in the layout of `to`. `node` is for
  // people.
  Result<Place> reorder(const Place& from, const HeldValue& held, const TensorDesc& to,
                        const std::string& node);
  // A value in the layout that it has, of what lies on the host; its buffer has the name, too.
  Result<Place> copy(const Place& from, ValueId v, const std::string& name);
  // The value as its readers see it.
  HeldValue whole(ValueId v) const;

 private:
  // What a step and its result are called.
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
