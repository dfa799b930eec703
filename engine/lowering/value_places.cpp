// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/value_places.h"

namespace quern::lowering {

ValuePlaces::ValuePlaces(const Graph& graph, const UnallocatedProgram& unallocated, Space native)
    : graph_(graph), unallocated_(unallocated), native_(native), places_(graph.value_count()) {
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const Value& v = graph.value(ValueId{i});
    readers_.push_back(static_cast<std::int64_t>(v.uses.size()) + v.handed_out);
  }
}

const Place* ValuePlaces::find(ValueId v, Space space) const {
  for (const Place& p : of(v))
    if (unallocated_.space_of(p) == space) return &p;
  return nullptr;
}

const Place& ValuePlaces::best(ValueId v) const {
  const Place* p = find(v, native_);
  return p ? *p : of(v).front();
}

void ValuePlaces::put(ValueId v, const Place& place) {
  if (place.buffer >= buffer_readers_.size())
    buffer_readers_.resize(unallocated_.buffers.size(), 0);
  buffer_readers_[place.buffer] += readers_[index(v)];
  places_[index(v)].push_back(place);
}

void ValuePlaces::consume(const Node& node) {
  for (ValueId v : node.reads()) {
    if (v == no_value) continue;
    --readers_[index(v)];
    for (const Place& p : of(v)) --buffer_readers_[p.buffer];
  }
}

bool ValuePlaces::is_read_last(ValueId v) const {
  const Place& p = best(v);
  return unallocated_.buffer(p).in_arena() && readers_of(p.buffer) == 1;
}

}  // namespace quern::lowering
