// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/lives.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/problem/stable_sort.h"
#include "graph/memory/problem/sweep.h"

namespace quern {

Lives::Lives(const MemoryProblem& problem) {
  const auto& intervals = problem.intervals;
  const std::vector<Piece> pieces = pieces_of(problem);
  std::vector<Span> spans(intervals.size());
  bool grew = false;
  for (const Event& e : events_of(pieces)) {
    Span& s = spans[pieces[e.piece].interval];
    if (e.begins) {
      if (s.end == 0) s.first = sections;
      s.end = sections + 1;
      grew = true;
      continue;
    }
    if (std::exchange(grew, false)) ++sections;
    s.end = std::max(s.end, sections);
  }
  std::uint64_t common = 0;
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    if (spans[i].end == 0) continue;
    buffer.push_back(i);
    common = std::gcd(common, intervals[i].alignment);
  }
  unit = std::max<std::uint64_t>(common, 1);
  sort_stably(buffer, {}, [&](std::uint32_t i) {
    return std::tuple(spans[i].first, spans[i].end, intervals[i].size);
  });
  begin.resize(std::size_t{sections} + 1);
  for (std::uint32_t i : buffer) {
    const bool same =
        !span.empty() && span.back().first == spans[i].first && span.back().end == spans[i].end;
    group.push_back(same ? group.back() : static_cast<std::uint32_t>(group.size()));
    span.push_back(spans[i]);
    size.push_back(round_up(intervals[i].size, unit));
    alignment.push_back(intervals[i].alignment);
    ++begin[spans[i].first + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
}

std::vector<std::uint64_t> Lives::totals(std::span<const std::uint32_t> some) const {
  std::vector<std::uint64_t> total(std::size_t{sections} + 1);
  for (std::uint32_t i : some) {
    total[span[i].first] += size[i];
    total[span[i].end] -= size[i];
  }
  std::partial_sum(total.begin(), total.end(), total.begin());
  total.pop_back();
  return total;
}

std::vector<std::uint64_t> Lives::totals() const {
  std::vector<std::uint32_t> all(count());
  std::iota(all.begin(), all.end(), 0);
  return totals(all);
}

Waiting::Waiting(const Lives& lives, std::span<const std::uint32_t> some, std::uint64_t& work)
    : lives_(&lives),
      work_(&work),
      leaves_(std::bit_ceil(std::max<std::size_t>(lives.sections, 1))),
      bits_(ceil_div(lives.count(), 64)),
      latest_(2 * leaves_),
      earliest_(2 * leaves_, none) {
  for (std::uint32_t i : some) {
    bits_[i / 64] |= std::uint64_t{1} << (i % 64);
    const auto [first, end] = lives.span[i];
    latest_[leaves_ + first] = std::max(latest_[leaves_ + first], end);
    earliest_[leaves_ + first] = std::min(earliest_[leaves_ + first], end);
  }
  for (std::size_t n = leaves_; --n > 0;) {
    latest_[n] = std::max(latest_[2 * n], latest_[2 * n + 1]);
    earliest_[n] = std::min(earliest_[2 * n], earliest_[2 * n + 1]);
  }
}

std::uint32_t Waiting::last(std::uint32_t first, std::uint32_t end) const {
  if (first >= end) return none;
  std::uint32_t word = (end - 1) / 64;
  std::uint64_t bits = bits_[word] & (~std::uint64_t{0} >> (63 - (end - 1) % 64));
  while (bits == 0) {
    if (word * 64 <= first) return none;
    bits = bits_[--word];
    ++*work_;
  }
  const std::uint32_t i = word * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(bits));
  return i >= first ? i : none;
}

std::uint32_t Waiting::first(std::uint32_t first, std::uint32_t end) const {
  if (first >= end) return none;
  std::uint32_t word = first / 64;
  std::uint64_t bits = bits_[word] & (~std::uint64_t{0} << (first % 64));
  while (bits == 0) {
    if (++word * 64 >= end) return none;
    bits = bits_[word];
  }
  const std::uint32_t i = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  return i < end ? i : none;
}

std::uint32_t Waiting::ending_by(std::uint32_t section, std::uint32_t end) const {
  const std::uint32_t last = lives_->begin[section + 1];
  if (lives_->span[last - 1].end <= end) return last;
  const auto at = [&](std::uint32_t i) { return lives_->span.begin() + i; };
  return static_cast<std::uint32_t>(
      std::upper_bound(at(lives_->begin[section]), at(last), end,
                       [](std::uint32_t e, const Lives::Span& s) { return e < s.end; }) -
      lives_->span.begin());
}

Waiting::Found Waiting::longest(Valley valley, std::uint32_t section, std::uint64_t largest) const {
  Query query{valley, section, largest, {}};
  search(1, 0, static_cast<std::uint32_t>(leaves_), query);
  return query.best;
}

void Waiting::search(std::size_t node, std::uint32_t low, std::uint32_t width, Query& query) const {
  const auto& [valley, section, largest, best] = query;
  if (low > section || low + width <= valley.first) return;
  ++*work_;
  if (latest_[node] <= section || earliest_[node] > valley.end) return;
  if (std::min(latest_[node], valley.end) - std::max(low, valley.first) <= best.life) return;
  if (width == 1) {
    search_section(low, query);
    return;
  }
  search(2 * node, low, width / 2, query);
  search(2 * node + 1, low + width / 2, width / 2, query);
}

void Waiting::search_section(std::uint32_t section, Query& query) const {
  const std::uint32_t begin = lives_->begin[section];
  std::uint32_t end = ending_by(section, query.valley.end);
  for (;;) {
    ++*work_;
    const std::uint32_t id = last(begin, end);
    if (id == none || lives_->span[id].end <= query.section) return;
    const std::uint32_t life = lives_->life(id);
    if (life <= query.best.life) return;
    const std::uint32_t found = as_large(id, query.largest);
    if (lives_->size[found] <= query.largest) {
      query.best = {found, life};
      return;
    }
    end = lives_->group[id];
  }
}

std::uint32_t Waiting::as_large(std::uint32_t id, std::uint64_t largest) const {
  const auto& size = lives_->size;
  if (size[id] <= largest) return id;
  const std::uint32_t begin = lives_->group[id];
  const auto end = std::upper_bound(size.begin() + begin, size.begin() + id, largest);
  const std::uint32_t found = last(begin, static_cast<std::uint32_t>(end - size.begin()));
  return found == none ? id : found;
}

void Waiting::take(std::uint32_t id) {
  bits_[id / 64] &= ~(std::uint64_t{1} << (id % 64));
  const auto [section, end] = lives_->span[id];
  if (latest_[leaves_ + section] == end || earliest_[leaves_ + section] == end) renew(section);
}

void Waiting::renew(std::uint32_t section) {
  const std::uint32_t begin = lives_->begin[section];
  const std::uint32_t end = lives_->begin[section + 1];
  const std::uint32_t high = last(begin, end);
  const std::uint32_t low = first(begin, end);
  std::size_t node = leaves_ + section;
  latest_[node] = high == none ? 0 : lives_->span[high].end;
  earliest_[node] = low == none ? none : lives_->span[low].end;
  while (node > 1) {
    node /= 2;
    const std::uint32_t latest = std::max(latest_[2 * node], latest_[2 * node + 1]);
    const std::uint32_t earliest = std::min(earliest_[2 * node], earliest_[2 * node + 1]);
    if (latest_[node] == latest && earliest_[node] == earliest) return;
    latest_[node] = latest;
    earliest_[node] = earliest;
  }
}

std::vector<std::uint32_t> Waiting::list() const {
  std::vector<std::uint32_t> all;
  for (std::size_t word = 0; word < bits_.size(); ++word)
    for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
      all.push_back(static_cast<std::uint32_t>(word * 64) +
                    static_cast<std::uint32_t>(std::countr_zero(bits)));
  return all;
}

}  // namespace quern
