// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/constant_places.h"

#include "engine/compile/backend.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/contract/copy.h"

namespace quern::lowering {

Result<Place> ConstantPlaces::bring(ValueId v, const Layout& layout, Space space, Address address) {
  return space == Space::host ? on_host(v, layout, address) : on_device(v, layout);
}

const Place* ConstantPlaces::find_place(ValueId v, const Layout& layout, Space space) const {
  for (const Place& p : places_.of(v))
    if (unallocated_.space_of(p) == space && same_placement(p.desc.shape, p.desc.layout, layout))
      return &p;
  return nullptr;
}

Result<Place> ConstantPlaces::on_host(ValueId v, const Layout& layout, Address address) {
  QUERN_TRY(pin(v, address));
  if (const Place* p = find_place(v, layout, Space::host)) return *p;
  const Place from = *places_.find(v, Space::host);
  return copy(v, from, {from.desc.dtype, from.desc.shape, layout});
}

// Adds a place with row-major elements at a fixed address.
Status ConstantPlaces::pin(ValueId v, Address address) {
  if (places_.find(v, Space::host)) return {};
  QUERN_ASSIGN(auto pinned, constants_.pin(v, *weights_, address));
  const TensorType type = places_.type(v);
  keep(v, std::move(pinned.owner), pinned.data, TensorDesc::row_major(type.dtype, type.shape));
  return {};
}

Result<Place> ConstantPlaces::copy(ValueId v, const Place& from, const TensorDesc& to) {
  const std::byte* source = unallocated_.buffer(from).constant;
  QUERN_ASSIGN(auto bytes, weights_->find_or_make(
                               cat("layout|", to.layout.text(), "|", constants_.find(v)->key()),
                               to.bytes(), [&](std::byte* dst) -> Status {
                                 copy_elements(from.desc, source, to, dst);
                                 return {};
                               }));
  const std::byte* data = bytes.get();
  return keep(v, std::move(bytes), data, to);
}

Place ConstantPlaces::keep(ValueId v, std::shared_ptr<const void> owner, const std::byte* data,
                           const TensorDesc& desc) {
  kept_.push_back(std::move(owner));
  const Place place{
      unallocated_.add({.base = Buffer::Base::constant, .constant = data, .bytes = desc.bytes()}),
      0, desc};
  places_.put(v, place);
  return place;
}

// The layout is made once, when the constant is uploaded, and not in every run.
Result<Place> ConstantPlaces::on_device(ValueId v, const Layout& layout) {
  if (const Place* p = find_place(v, layout, Space::device)) return *p;
  const ConstantSource& source = *constants_.find(v);
  const TensorDesc from = TensorDesc::row_major(source.type().dtype, source.type().shape);
  const TensorDesc to{from.dtype, from.shape, layout};
  const GpuConstant constant{
      cat("layout|", is_row_major(to) ? "" : layout.text(), "|", source.key()), to.bytes(),
      [&](std::byte* at) -> Status {
        QUERN_ASSIGN(const Tensor t, source.get());
        copy_elements(from, t.data(), to, at);
        return {};
      }};
  QUERN_ASSIGN(const std::uint32_t number, on_device(constant));
  const Place place{
      unallocated_.add(
          {.base = Buffer::Base::device_constant, .index = number, .bytes = to.bytes()}),
      0, to};
  places_.put(v, place);
  return place;
}

Result<std::vector<std::uint32_t>> ConstantPlaces::on_device(
    std::span<const GpuConstant> constants) {
  std::vector<std::uint32_t> numbers;
  for (const GpuConstant& c : constants) {
    QUERN_ASSIGN(numbers.emplace_back(), on_device(c));
  }
  return numbers;
}

Result<std::uint32_t> ConstantPlaces::on_device(const GpuConstant& constant) {
  QUERN_ASSIGN(auto held, backend_->constant(constant));
  device_constants_.push_back(std::move(held));
  return static_cast<std::uint32_t>(device_constants_.size() - 1);
}

void ConstantPlaces::hand_over(Program& program) {
  program.kept = std::move(kept_);
  program.device_constants = std::move(device_constants_);
}

}  // namespace quern::lowering
