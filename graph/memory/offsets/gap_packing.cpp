// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/offsets/gap_packing.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "graph/memory/problem/stable_sort.h"

namespace quern {
namespace {

constexpr int most_subsets = 3;   // that fill a gap, one after the other
constexpr int most_singles = 12;  // looked at, from the one that fits best
constexpr int most_pairs = 24;
constexpr int most_pairs_of_triple = 6;
constexpr std::size_t most_firsts = 64;  // of triples
constexpr std::size_t most_walk = 32;    // over pairs of which one is taken, for each of them
// A subset with one more member must be better by this many mean sizes.
constexpr double member_cost = 1.0 / 256;
constexpr double waste_loss = 1000;

std::uint32_t distance(std::uint32_t a, std::uint32_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace

Arrivals::Arrivals(std::vector<Buffer> buffers, std::size_t most_in_pairs)
    : buffers_(std::move(buffers)) {
  std::ranges::sort(buffers_, {}, &Buffer::end);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (i == 0 || buffers_[i].end != ends_.back()) ends_.push_back(buffers_[i].end);
    buffers_[i].group = static_cast<std::uint32_t>(ends_.size() - 1);
  }
  std::ranges::sort(buffers_, {}, [](const Buffer& b) { return std::tuple(b.size, b.end, b.id); });
  const std::size_t stride = buffers_.size() / most_in_pairs + 1;
  for (std::uint32_t i = 0; i < buffers_.size(); i += stride)
    for (std::uint32_t j = 0; j < i; j += stride)
      pairs_.push_back({buffers_[i].size + buffers_[j].size, j, i});
  std::ranges::sort(pairs_, {}, [](const Pair& p) { return std::tuple(p.size, p.one, p.other); });
}

std::size_t Arrivals::count_up_to(std::uint64_t size) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(buffers_, size, {}, &Buffer::size) -
                                  buffers_.begin());
}

std::size_t Arrivals::count_pairs_up_to(std::uint64_t size) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(pairs_, size, {}, &Pair::size) -
                                  pairs_.begin());
}

void GapPacker::pack(Packing& packing, const Arrivals& arrivals, std::uint32_t section) {
  std::erase_if(packing.live, [&](const Packing::Block& b) { return b.until <= section; });
  if (arrivals.buffers().empty()) return;
  arrivals_ = &arrivals;
  section_ = section;
  work_ += packing.live.size() + arrivals.buffers().size();
  taken_.assign(arrivals.buffers().size(), 0);
  waiting_ = taken_.size();
  waiting_bytes_ = 0;
  for (const Arrivals::Buffer& b : arrivals.buffers()) waiting_bytes_ += b.size;
  added_.clear();
  collect_gaps(packing);
  if (parameters_.large > 0) place_large(packing);
  // Small gaps first: few subsets fit them.
  sort_stably(gaps_, {}, &Gap::size);
  for (const Gap& gap : gaps_) {
    if (waiting_ == 0 || failed()) break;
    if (&gap == &gaps_.back() && waiting_bytes_ <= gap.size())
      fill_with_rest(gap, packing);
    else
      fill(gap, packing);
  }
  std::ranges::sort(added_, {}, &Packing::Block::begin);
  const auto old = static_cast<std::ptrdiff_t>(packing.live.size());
  packing.live.insert(packing.live.end(), added_.begin(), added_.end());
  std::ranges::inplace_merge(packing.live, packing.live.begin() + old, {}, &Packing::Block::begin);
  for (std::uint32_t i = static_cast<std::uint32_t>(taken_.size());
       waiting_ > 0 && !failed() && i-- > 0;)
    if (!taken_[i]) place_above(i, packing);
}

void GapPacker::collect_gaps(const Packing& packing) {
  gaps_.clear();
  Gap gap{0, 0, nobody, nobody};
  for (const Packing::Block& b : packing.live) {
    gap.end = b.begin;
    gap.right = b.until;
    if (gap.begin < gap.end) gaps_.push_back(gap);
    gap.begin = b.end;
    gap.left = b.until;
  }
  gap.end = height_;
  gap.right = nobody;
  if (gap.begin < gap.end) gaps_.push_back(gap);
}

// Places each large buffer at the side of a gap whose neighbour ends with it, where little room
// remains.
void GapPacker::place_large(Packing& packing) {
  const auto buffers = arrivals_->buffers();
  const double mean = static_cast<double>(waiting_bytes_) / static_cast<double>(buffers.size());
  preferred_ = nobody;
  for (auto i = static_cast<std::uint32_t>(buffers.size()); i-- > 0;) {
    const Arrivals::Buffer& b = buffers[i];
    if (static_cast<double>(b.size) <= parameters_.large * mean || failed()) break;
    work_ += gaps_.size();
    double least = std::numeric_limits<double>::max();
    Gap* best = nullptr;
    bool at_left = true;
    for (Gap& gap : gaps_) {
      if (gap.size() < b.size) continue;
      const double rest = static_cast<double>(gap.size() - b.size);
      double cost = 0.1 * std::min(rest, 4 * mean);
      if (rest == 0)
        cost = -parameters_.mismatch * mean_size_;
      else if (rest < mean / 2)
        cost += parameters_.mismatch * mean_size_;
      for (const bool left : {true, false}) {
        const std::uint32_t side = left ? gap.left : gap.right;
        const double c = cost + mismatch(b.end, {gap.begin, gap.end, side, side});
        if (c >= least) continue;
        least = c;
        best = &gap;
        at_left = left;
      }
    }
    if (best == nullptr) continue;
    taken_[i] = 1;
    if (at_left) {
      put(i, best->begin, packing);
      best->begin += b.size;
      best->left = b.end;
    } else {
      best->end -= b.size;
      put(i, best->end, packing);
      best->right = b.end;
    }
  }
  std::erase_if(gaps_, [](const Gap& g) { return g.size() == 0; });
}

void GapPacker::choose(std::uint32_t member) {
  taken_[member] = 1;
  chosen_.push_back(member);
}

void GapPacker::fill(const Gap& gap, Packing& packing) {
  chosen_.clear();
  preferred_ = nobody;
  std::uint64_t room = take_groups(gap, gap.size());
  work_ += arrivals_->ends().size() + most_firsts;
  mismatches_.clear();
  for (const std::uint32_t end : arrivals_->ends()) mismatches_.push_back(mismatch(end, gap));
  for (int k = 0; k < most_subsets && room > 0; ++k) {
    const Subset subset = best_subset(room);
    if (subset.count == 0) break;
    for (std::uint32_t m = 0; m < subset.count; ++m) choose(subset.members[m]);
    room -= subset.size;
  }
  lay_out(gap, packing);
}

void GapPacker::fill_with_rest(const Gap& gap, Packing& packing) {
  chosen_.clear();
  for (std::uint32_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i]) choose(i);
  lay_out(gap, packing);
}

// Fills a large gap with buffers of one end, then of another, until few more fit; returns the
// remaining room.
std::uint64_t GapPacker::take_groups(const Gap& gap, std::uint64_t room) {
  const double mean = static_cast<double>(waiting_bytes_) / static_cast<double>(waiting_);
  const double small = parameters_.small * std::max(mean, 1.0);
  const auto buffers = arrivals_->buffers();
  for (int k = 0; k < 4 && static_cast<double>(room) > small; ++k) {
    const std::uint32_t group = preferred_group(k == 0 ? gap : Gap{0, 0, nobody, nobody}, room);
    work_ += 2 * arrivals_->buffers().size();
    if (group == nobody) break;
    for (std::size_t i = arrivals_->count_up_to(room); i-- > 0;) {
      if (static_cast<double>(room) <= small) break;
      if (taken_[i] || buffers[i].group != group || buffers[i].size > room) continue;
      preferred_ = buffers[i].end;
      choose(static_cast<std::uint32_t>(i));
      room -= buffers[i].size;
    }
  }
  return room;
}

// The one that ends with a neighbour if it fills half of the room, else the one with the most
// bytes.
std::uint32_t GapPacker::preferred_group(const Gap& gap, std::uint64_t room) {
  const auto buffers = arrivals_->buffers();
  sums_.assign(arrivals_->ends().size(), 0);
  std::uint32_t left = nobody;
  std::uint32_t right = nobody;
  for (std::size_t i = 0, n = arrivals_->count_up_to(room); i < n; ++i) {
    if (taken_[i]) continue;
    const Arrivals::Buffer& b = buffers[i];
    sums_[b.group] += b.size;
    if (b.end == gap.left) left = b.group;
    if (b.end == gap.right) right = b.group;
  }
  for (const std::uint32_t group : {left, right})
    if (group != nobody && sums_[group] >= room / 2) return group;
  const auto most = std::ranges::max_element(sums_);
  return *most == 0 ? nobody : static_cast<std::uint32_t>(most - sums_.begin());
}

GapPacker::Subset GapPacker::best_subset(std::uint64_t room) const {
  Subset best{.cost = static_cast<double>(room)};
  try_singles(room, best);
  try_pairs(room, best);
  try_triples(room, best);
  return best;
}

void GapPacker::try_singles(std::uint64_t room, Subset& best) const {
  const auto buffers = arrivals_->buffers();
  int looked = 0;
  for (std::size_t i = arrivals_->count_up_to(room); i-- > 0 && looked < most_singles;) {
    if (taken_[i]) continue;
    if (static_cast<double>(room - buffers[i].size) >= best.cost) return;
    ++looked;
    const std::uint32_t members[] = {static_cast<std::uint32_t>(i)};
    consider(room, members, best);
  }
}

void GapPacker::try_pairs(std::uint64_t room, Subset& best) const {
  const auto pairs = arrivals_->pairs();
  int looked = 0;
  for (std::size_t i = arrivals_->count_pairs_up_to(room); i-- > 0 && looked < most_pairs;) {
    if (static_cast<double>(room - pairs[i].size) >= best.cost) return;
    if (taken_[pairs[i].one] || taken_[pairs[i].other]) continue;
    ++looked;
    const std::uint32_t members[] = {pairs[i].one, pairs[i].other};
    consider(room, members, best);
  }
}

void GapPacker::try_triples(std::uint64_t room, Subset& best) const {
  const auto buffers = arrivals_->buffers();
  const auto pairs = arrivals_->pairs();
  const std::size_t count = arrivals_->count_up_to(room);
  const std::size_t stride = count / most_firsts + 1;
  for (std::size_t first = 0; first < count; first += stride) {
    const double least = mismatches_[buffers[first].group] + 3 * member_cost * mean_size_;
    if (taken_[first] || least >= best.cost) continue;
    const std::uint64_t rest = room - buffers[first].size;
    int looked = 0;
    const std::size_t below = arrivals_->count_pairs_up_to(rest);
    const std::size_t last = below - std::min(below, most_walk);
    for (std::size_t i = below; i-- > last && looked < most_pairs_of_triple;) {
      if (static_cast<double>(rest - pairs[i].size) + least >= best.cost) break;
      const auto [size, one, other] = pairs[i];
      if (taken_[one] || taken_[other] || one == first || other == first) continue;
      ++looked;
      const std::uint32_t members[] = {static_cast<std::uint32_t>(first), one, other};
      consider(room, members, best);
    }
  }
}

// Buffers of one end lie together: the end counts once.
void GapPacker::consider(std::uint64_t room, std::span<const std::uint32_t> members,
                         Subset& best) const {
  const auto buffers = arrivals_->buffers();
  std::uint64_t size = 0;
  for (std::uint32_t m : members) size += buffers[m].size;
  double cost = static_cast<double>(room - size) +
                member_cost * mean_size_ * static_cast<double>(members.size());
  for (std::size_t k = 0; k < members.size() && cost < best.cost; ++k) {
    const std::uint32_t group = buffers[members[k]].group;
    const bool met = std::ranges::any_of(
        members.first(k), [&](std::uint32_t m) { return buffers[m].group == group; });
    if (!met) cost += mismatches_[group];
  }
  if (cost >= best.cost) return;
  best = {.cost = cost, .size = size, .count = static_cast<std::uint32_t>(members.size())};
  std::ranges::copy(members, best.members);
}

// The cost, in bytes, of a buffer with this end between these neighbours.
double GapPacker::mismatch(std::uint32_t end, const Gap& gap) const {
  if (end == gap.left || end == gap.right || end == preferred_) return 0;
  std::uint32_t nearest = nobody;
  std::uint32_t latest = 0;
  for (const std::uint32_t side : {gap.left, gap.right}) {
    if (side == nobody) continue;
    nearest = std::min(nearest, distance(end, side));
    latest = std::max(latest, side);
  }
  if (preferred_ != nobody) nearest = std::min(nearest, distance(end, preferred_));
  const double life = end - section_;
  const double d = nearest == nobody ? life : nearest;
  double share = 1;
  if (parameters_.distance == PackingParameters::Distance::logarithm)
    share = std::log2(1 + d) / 2;
  else if (parameters_.distance == PackingParameters::Distance::share_of_life)
    share = std::min(1.0, 2 * d / (1 + life));
  return parameters_.mismatch * mean_size_ * share * (end > latest ? parameters_.wall : 1);
}

// Places the chosen buffers in order of their ends, from the neighbour that ends with some of them,
// or ends later.
void GapPacker::lay_out(const Gap& gap, Packing& packing) {
  const auto buffers = arrivals_->buffers();
  const bool falls = gap.left != nobody && gap.left > gap.right;
  const auto key = [&](std::uint32_t m) {
    const std::uint32_t end = buffers[m].end;
    const int side = end == gap.left ? 0 : end == gap.right ? 2 : 1;
    return std::tuple(side, falls ? nobody - end : end);
  };
  sort_stably(chosen_, {}, key);
  std::uint64_t at = gap.begin;
  for (std::uint32_t m : chosen_) {
    put(m, at, packing);
    at += buffers[m].size;
  }
}

void GapPacker::put(std::uint32_t member, std::uint64_t at, Packing& packing) {
  const Arrivals::Buffer& b = arrivals_->buffers()[member];
  --waiting_;
  waiting_bytes_ -= b.size;
  packing.placed.push_back({b.id, at});
  packing.size = std::max(packing.size, at + b.size);
  added_.push_back({at, at + b.size, b.end});
}

void GapPacker::place_above(std::uint32_t member, Packing& packing) {
  const Arrivals::Buffer& b = arrivals_->buffers()[member];
  work_ += packing.live.size();
  std::uint64_t at = 0;
  auto next = packing.live.begin();
  for (; next != packing.live.end() && next->begin < at + b.size; ++next) at = next->end;
  put(member, at, packing);
  packing.live.insert(next, added_.back());
  packing.excess += b.size;
}

double GapPacker::loss(const Packing& packing, std::uint32_t section) const {
  double loss = 0;
  std::uint64_t free_from = 0;
  std::uint32_t before = nobody;
  for (const Packing::Block& b : packing.live) {
    if (before != nobody && before != b.until) loss += std::log2(1.0 + distance(before, b.until));
    if (free_from < b.begin && b.begin <= height_)
      loss += waste_loss * static_cast<double>(b.begin - free_from) / static_cast<double>(height_) *
              std::log2(1.0 + (std::min(before, b.until) - section));
    free_from = b.end;
    before = b.until;
  }
  return loss;
}

}  // namespace quern
