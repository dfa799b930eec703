// SPDX-License-Identifier: Apache-2.0
// Constants of a graph as operands: in place, or copied to another layout or memory. A copy is made
// once for all plans and kept as long as a program points at it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/lowering/constants.h"
#include "engine/lowering/lower.h"
#include "engine/lowering/value_places.h"

namespace quern {
class Backend;
}

namespace quern::lowering {

class ConstantPlaces {
 public:
  // All arguments but `options` must outlive this object.
  ConstantPlaces(const Graph& graph, const LowerOptions& options, UnallocatedProgram& unallocated,
                 ValuePlaces& places)
      : constants_(graph, options.memory_limit, options.stop, options.weights),
        weights_(options.weights),
        backend_(options.backend),
        unallocated_(unallocated),
        places_(places) {}

  // Returns null if the value depends on inputs.
  const ConstantSource* find(ValueId v) const { return constants_.find(v); }

  // Brings a constant to this layout and memory. Address::any is allowed only if the constant has a
  // single reader.
  Result<Place> bring(ValueId v, const Layout& layout, Space space, Address address);
  // Makes the constants that a kernel of the device asks for. Returns their indices in
  // Program::device_constants.
  Result<std::vector<std::uint32_t>> on_device(std::span<const GpuConstant> constants);

  // Moves the constants that the program must keep alive to `program`.
  void hand_over(Program& program);

 private:
  const Place* find_place(ValueId v, const Layout& layout, Space space) const;
  Result<Place> on_host(ValueId v, const Layout& layout, Address address);
  Result<Place> on_device(ValueId v, const Layout& layout);
  Status pin(ValueId v, Address address);
  Result<Place> copy(ValueId v, const Place& from, const TensorDesc& to);
  Result<std::uint32_t> on_device(const GpuConstant& constant);
  Place keep(ValueId v, std::shared_ptr<const void> owner, const std::byte* data,
             const TensorDesc& desc);

  GraphConstants constants_;
  WeightStore* weights_;
  Backend* backend_;
  UnallocatedProgram& unallocated_;
  ValuePlaces& places_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::vector<std::shared_ptr<const void>> device_constants_;
};

}  // namespace quern::lowering
