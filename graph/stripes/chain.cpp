// SPDX-License-Identifier: Apache-2.0
#include "graph/stripes/chain.h"

#include <algorithm>

namespace quern::stripes {
namespace {

std::int64_t round_up(std::int64_t v, std::int64_t unit) {
  return (v + unit - 1) / unit * unit;
}

}  // namespace

std::optional<ChainModel> ChainModel::make(const RowGraph& graph, std::size_t first,
                                           std::size_t last) {
  ChainModel model(graph, first, last);
  if (!model.fill()) return std::nullopt;
  return model;
}

const ChainModel::Inside* ChainModel::inside_of(ValueId v) const {
  const auto at = std::ranges::lower_bound(inside_, index(v), {},
                                           [](const Inside& i) { return index(i.value); });
  return at != inside_.end() && at->value == v ? &*at : nullptr;
}

bool ChainModel::fill() {
  for (std::size_t k = 0; first_ + k < last_; ++k) {
    if (!graph_.rule(first_ + k)) return false;
    for (ValueId v : node(k).outputs) {
      const ValueType& known = graph_.graph().type(v);
      const TensorType type{known.dtype, *known.shape()};
      const std::int64_t height = rule(k).height;
      inside_.push_back(
          {v, k, height, type.bytes() / static_cast<std::uint64_t>(height), false, {}});
    }
  }
  std::ranges::sort(inside_, {}, [](const Inside& i) { return index(i.value); });
  for (std::size_t k = 0; first_ + k < last_; ++k)
    if (!add_reads(k)) return false;
  std::int64_t lowest = 0;
  for (Inside& i : inside_) {
    const auto& uses = graph_.graph().value(i.value).uses;
    const auto is_behind = [&](const Use& use) { return graph_.position(use.node) >= last_; };
    const bool is_output = graph_.graph().is_output(i.value);  // the caller's memory
    i.is_whole = is_output || std::ranges::any_of(uses, is_behind);
    if (i.is_whole && !is_output)
      whole_bytes_ += i.row_bytes * static_cast<std::uint64_t>(i.height);
    lowest = lowest == 0 ? i.height : std::min(lowest, i.height);
  }
  most_steps_ = lowest;
  return true;
}

// A value of the chain that a node reads as a whole would be needed at once.
bool ChainModel::add_reads(std::size_t k) {
  const Node& n = node(k);
  for (std::size_t i = 0; i < n.read_count(); ++i) {
    if (n.read(i) == no_value) continue;
    const Inside* inside = inside_of(n.read(i));
    if (!inside) continue;
    const auto& read = rule(k).reads[i];
    if (!read || read->axis != rule(inside->producer).axis) return false;
    inside_[static_cast<std::size_t>(inside - inside_.data())].readers.push_back({k, read->map});
  }
  return true;
}

// ---- what is done, in order --------------------------------------------------------------------

class ChainModel::Walk {
 public:
  Walk(const ChainModel& model, std::int64_t steps)
      : m_(model),
        steps_(steps),
        front_(model.last_ - model.first_, 0),
        held_(model.inside_.size()) {}

  std::vector<Action> all() {
    for (std::int64_t step = 1; step <= steps_; ++step) {
      const std::vector<std::int64_t> need = needed(step);
      for (std::size_t k = 0; k < front_.size(); ++k)
        if (need[k] > front_[k]) compute(k, {front_[k], need[k]});
    }
    return std::move(actions_);
  }

 private:
  // The rows of each node that are there after a step: those that its readers want, or a share of
  // all.
  std::vector<std::int64_t> needed(std::int64_t step) const {
    std::vector<std::int64_t> need = front_;
    for (std::size_t k = front_.size(); k-- > 0;) {
      const RowRule& rule = m_.rule(k);
      std::int64_t rows = 0;
      bool is_read = false;
      for (ValueId v : m_.node(k).outputs)
        for (const Reader& r : m_.inside_of(v)->readers) {
          is_read = true;
          if (need[r.node] > 0) rows = std::max(rows, r.map.end_of(need[r.node]));
        }
      if (!is_read) rows = (rule.height * step + steps_ - 1) / steps_;
      if (step == steps_) rows = rule.height;
      need[k] = std::max(need[k], std::min(rule.height, round_up(rows, rule.unit)));
    }
    return need;
  }

  void compute(std::size_t k, const Rows& rows) {
    const Node& n = m_.node(k);
    const RowRule& rule = m_.rule(k);
    for (std::size_t i = 0; i < n.read_count(); ++i)
      if (const Inside* in = n.read(i) == no_value ? nullptr : m_.inside_of(n.read(i)))
        hold_as_one(*in, rule.reads[i]->map.of(rows, in->height));
    actions_.push_back({Action::Kind::compute, m_.first_ + k, no_value, rows});
    front_[k] = rows.end;
    for (ValueId v : n.outputs) held(*m_.inside_of(v)).push_back(rows);
    for (std::size_t i = 0; i < n.read_count(); ++i)
      if (const Inside* in = n.read(i) == no_value ? nullptr : m_.inside_of(n.read(i)))
        forget(*in, k);
  }

  std::vector<Rows>& held(const Inside& in) {
    return held_[static_cast<std::size_t>(&in - m_.inside_.data())];
  }

  void hold_as_one(const Inside& in, const Rows& rows) {
    std::vector<Rows>& pieces = held(in);
    const bool is_one =
        std::ranges::any_of(pieces, [&](const Rows& p) { return p.contains(rows); });
    if (is_one || pieces.empty()) return;
    const Rows all{pieces.front().begin, pieces.back().end};
    actions_.push_back({Action::Kind::join, 0, in.value, all});
    pieces.assign(1, all);
  }

  // After its last reader of a step has run, only the rows of a value stay that a later step reads.
  void forget(const Inside& in, std::size_t reader) {
    std::int64_t low = in.height;
    for (const Reader& r : in.readers) {
      if (r.node > reader) return;
      const std::int64_t height = m_.rule(r.node).height;
      if (front_[r.node] < height)
        low = std::min(low, std::max<std::int64_t>(r.map.begin_of(front_[r.node]), 0));
    }
    std::vector<Rows>& pieces = held(in);
    if (std::erase_if(pieces, [&](const Rows& p) { return p.end <= low; }) > 0) {
      const std::int64_t end = front_[in.producer];
      const Rows left{pieces.empty() ? end : pieces.front().begin, end};
      actions_.push_back({Action::Kind::drop, 0, in.value, left});
    }
    if (pieces.size() != 1 || pieces.front().begin >= low) return;
    pieces.front().begin = low;
    actions_.push_back({Action::Kind::trim, 0, in.value, pieces.front()});
  }

  const ChainModel& m_;
  std::int64_t steps_;
  std::vector<std::int64_t> front_;      // by node: rows that are there
  std::vector<std::vector<Rows>> held_;  // by value of the chain: ranges that are there
  std::vector<Action> actions_;
};

std::vector<Action> ChainModel::actions(std::int64_t steps) const {
  return Walk(*this, steps).all();
}

// The bytes of the largest operand from outside of the chain, of which a node reads rows for `rows`
// of its results.
std::uint64_t ChainModel::most_read(std::size_t k, const Rows& rows) const {
  const Node& n = node(k);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < n.read_count(); ++i) {
    const ValueId v = n.read(i);
    if (v == no_value || graph_.is_constant(v) || inside_of(v)) continue;
    const ValueType& known = graph_.graph().type(v);
    const TensorType type{known.dtype, *known.shape()};
    std::uint64_t bytes = type.bytes();
    if (const auto& read = rule(k).reads[i]) {
      const std::int64_t height = type.shape[read->axis];
      bytes = bytes / static_cast<std::uint64_t>(std::max<std::int64_t>(height, 1)) *
              static_cast<std::uint64_t>(read->map.of(rows, height).size());
    }
    most = std::max(most, bytes);
  }
  return most;
}

ChainCost ChainModel::cost(std::int64_t steps) const {
  constexpr double call = 1.5e-6;       // seconds of a kernel beside its arithmetic
  constexpr double copied = 1.0 / 8e9;  // seconds of a byte
  const auto number = [&](ValueId v) {
    return static_cast<std::size_t>(inside_of(v) - inside_.data());
  };
  const auto bytes_of = [&](std::size_t i, const Rows& rows) {
    return inside_[i].row_bytes * static_cast<std::uint64_t>(rows.size());
  };
  // What is held of a value: results as they were made, which lie in the joined range from the
  // start, and copies.
  struct Held {
    std::uint64_t made = 0;
    std::uint64_t copied = 0;
  };
  ChainCost cost{whole_bytes_, 0};
  std::uint64_t live = whole_bytes_;
  std::vector<Held> held(inside_.size());
  for (const Action& a : actions(steps)) {
    if (a.kind == Action::Kind::compute) {
      cost.seconds += call;
      cost.largest = std::max(cost.largest, most_read(a.node - first_, a.rows));
      for (ValueId v : graph_.node(a.node).outputs) {
        const std::size_t i = number(v);
        cost.largest = std::max(cost.largest, bytes_of(i, a.rows));
        const std::uint64_t made = inside_[i].is_whole ? 0 : bytes_of(i, a.rows);
        held[i].made += made;
        live += made;
      }
      cost.peak = std::max(cost.peak, live);
      continue;
    }
    const std::size_t i = number(a.value);
    Held& h = held[i];
    const std::uint64_t now = bytes_of(i, a.rows);
    cost.largest = std::max(cost.largest, now);
    const bool copies = a.kind != Action::Kind::drop;
    if (copies) {
      const std::uint64_t moved = a.kind == Action::Kind::join ? now - h.made : now;
      cost.seconds += call + static_cast<double>(moved) * copied;
      cost.peak = std::max(cost.peak, live + moved);
    }
    live -= h.made + h.copied;
    if (copies)
      h = {.made = 0, .copied = now};
    else
      h = {.made = inside_[i].is_whole ? 0 : now, .copied = 0};
    live += h.made + h.copied;
  }
  return cost;
}

}  // namespace quern::stripes
