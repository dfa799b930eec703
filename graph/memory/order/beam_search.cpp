// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/order/beam_search.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/packing/random.h"

namespace quern {
namespace {

// Limit on the sum over all kept placements of sections and of buffers that may be placed next.
constexpr std::size_t most_beam_cells = std::size_t{1} << 21;
constexpr std::size_t most_nodes = std::size_t{1} << 22;  // buffers in all that ever were
// The cost of a step in the skyline, as a share of the bound: small enough that waste decides.
constexpr double step_loss = 3e-5;
// Sections this near to the bound count, and count more the higher they are.
constexpr double beam_near_bound = 0.05;

// T holds twice the capacity.
template <class T>
class Beam final : public BeamSearch {
 public:
  Beam(std::span<const SearchBuffer> buffers, std::int32_t sections)
      : sections_(at(sections)), words_(ceil_div(buffers.size(), 64)), members_(at(sections)) {
    total_.resize(sections_);
    for (const SearchBuffer& b : buffers) {
      const auto i = static_cast<std::int32_t>(buffers_.size());
      Buffer c{static_cast<T>(b.size),
               static_cast<T>(b.alignment),
               static_cast<std::int32_t>(ranges_.size()),
               0,
               b.live.front().first,
               b.live.back().end};
      for (const Range& r : b.live) {
        ranges_.push_back(r);
        for (std::int32_t s = r.first; s < r.end; ++s) {
          members_[at(s)].push_back(i);
          total_[at(s)] += c.size;
        }
      }
      c.end_range = static_cast<std::int32_t>(ranges_.size());
      buffers_.push_back(c);
    }
    std::size_t cells = sections_;
    for (const auto& m : members_) cells = std::max(cells, m.size());
    widest_ =
        std::max<std::size_t>(std::min(most_beam_cells / std::max<std::size_t>(cells, 1),
                                       most_nodes / std::max<std::size_t>(buffers_.size(), 1)),
                              1);
  }

  SearchResult run(const BeamStyle& style, SearchBudget budget) override {
    width_ = std::clamp<std::size_t>(style.width, 1, widest_);
    capacity_ = static_cast<T>(style.capacity);
    scale_ = 1 / static_cast<double>(std::max<std::int64_t>(style.bound, 1));
    if (std::ranges::any_of(total_, [&](T t) { return t > capacity_; }))
      return SearchResult::infeasible;
    start();
    const std::int64_t last = steps_ + budget.steps;
    for (std::size_t level = 0; level < buffers_.size(); ++level) {
      children_.clear();
      for (std::size_t k = 0; k < count_; ++k) {
        if (steps_ >= last || budget.is_late()) return SearchResult::out_of_budget;
        branch(k);
      }
      if (children_.empty()) return SearchResult::infeasible;
      keep_best();
    }
    return SearchResult::feasible;
  }

  std::int64_t steps() const override { return steps_; }

  std::vector<std::int64_t> offsets() const override {
    std::vector<std::int64_t> result(buffers_.size());
    for (std::int32_t n = states_.front().node; n >= 0; n = nodes_[at(n)].parent)
      result[at(nodes_[at(n)].buffer)] = static_cast<std::int64_t>(nodes_[at(n)].offset);
    return result;
  }

 private:
  using Range = SearchBuffer::Range;
  struct Buffer {
    T size;
    T alignment;
    std::int32_t first_range, end_range;
    std::int32_t first_section, end_section;
  };
  // A partial placement: a chain of nodes. Its floors, tops and bits are in separate arrays.
  struct State {
    double loss = 0;
    std::int32_t node = -1;
    std::uint64_t hash = 0;  // of its floors
  };
  struct Node {
    std::int32_t parent;
    std::int32_t buffer;
    T offset;
  };
  // A buffer placed in a state.
  struct Child {
    double order;  // what it is chosen by: its loss, and what its neighbourhood will lose
    double loss;
    std::int32_t state;
    std::int32_t buffer;
    T offset;
  };
  struct Candidate {
    std::int32_t buffer;
    T offset;
  };

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  static T align_up(T n, T alignment) { return alignment == 1 ? n : round_up(n, alignment); }
  std::span<const Range> ranges(const Buffer& b) const {
    return {ranges_.data() + b.first_range, ranges_.data() + b.end_range};
  }
  T* floors(std::vector<T>& cells, std::size_t k) const { return cells.data() + 2 * k * sections_; }
  T* tops(std::vector<T>& cells, std::size_t k) const { return floors(cells, k) + sections_; }
  std::uint64_t* placed(std::vector<std::uint64_t>& bits, std::size_t k) const {
    return bits.data() + k * words_;
  }
  static bool has(const std::uint64_t* bits, std::int32_t i) {
    return (bits[at(i) / 64] >> (at(i) % 64) & 1) != 0;
  }

  void start() {
    states_.assign(1, {});
    nodes_.clear();
    count_ = 1;
    cells_.assign(2 * sections_, 0);
    std::ranges::copy(total_, tops(cells_, 0));
    bits_.assign(words_, 0);
  }

  // A section is open while something is still to be placed in it: then its top, what it would
  // reach if nothing more were wasted, lies above its floor.
  std::int32_t choose_section(const T* floor, const T* top) const {
    const auto m = static_cast<std::int32_t>(sections_);
    std::int32_t best = -1;
    for (std::int32_t s = 0; s < m; ++s) {
      if (top[s] <= floor[s]) continue;
      if (best < 0 || floor[s] < floor[best] || (floor[s] == floor[best] && top[s] > top[best]))
        best = s;
    }
    return best;
  }

  // The lowest offset above the skyline.
  T rest(const Buffer& b, const T* floor) const {
    T highest = 0;
    for (const Range& r : ranges(b))
      for (std::int32_t s = r.first; s < r.end; ++s) highest = std::max(highest, floor[s]);
    return align_up(highest, b.alignment);
  }

  void branch(std::size_t k) {
    const T* floor = floors(cells_, k);
    const T* top = tops(cells_, k);
    const std::uint64_t* bits = placed(bits_, k);
    const std::int32_t section = choose_section(floor, top);
    if (section < 0) return;
    candidates_.clear();
    // A buffer at or above the lowest possible end of another would leave that one a place below.
    T lowest_end = std::numeric_limits<T>::max();
    for (std::int32_t i : members_[at(section)]) {
      if (has(bits, i)) continue;
      const T offset = rest(buffers_[at(i)], floor);
      candidates_.push_back({i, offset});
      lowest_end = std::min(lowest_end, offset + buffers_[at(i)].size);
    }
    for (const Candidate& c : candidates_)
      if (c.offset < lowest_end) add_child(k, c);
  }

  // The loss of a section that reaches up to `top`.
  double loss(T top) const {
    const double x = static_cast<double>(top) * scale_ - 1 + beam_near_bound;
    return x > 0 ? x * x : 0;
  }

  void add_child(std::size_t k, const Candidate& c) {
    const T* floor = floors(cells_, k);
    const T* top = tops(cells_, k);
    const Buffer& b = buffers_[at(c.buffer)];
    double more = 0;
    for (const Range& r : ranges(b))
      for (std::int32_t s = r.first; s < r.end; ++s) {
        if (c.offset <= floor[s]) continue;
        const T raised = top[s] + (c.offset - floor[s]);
        if (raised > capacity_) return;
        more += loss(raised) - loss(top[s]);
      }
    const auto m = static_cast<double>(sections_);
    int steps = 0;
    double ahead = 0;
    if (!look_beside(k, c, b.first_section - 1, steps, ahead)) return;
    if (!look_beside(k, c, b.end_section, steps, ahead)) return;
    const double total = states_[k].loss + more / m + step_loss * steps;
    children_.push_back(
        {total + ahead / m, total, static_cast<std::int32_t>(k), c.buffer, c.offset});
  }

  // The effect of a buffer on the section next to it: one step of the skyline more or less and, if
  // a valley remains, the waste expected if too little fits into it. False if it exceeds the
  // capacity.
  bool look_beside(std::size_t k, const Candidate& c, std::int32_t s, int& steps, double& ahead) {
    const auto m = static_cast<std::int32_t>(sections_);
    const T* floor = floors(cells_, k);
    const T* top = tops(cells_, k);
    if (s < 0 || s >= m || top[s] <= floor[s]) return true;
    const Buffer& b = buffers_[at(c.buffer)];
    const T end = c.offset + b.size;
    const T low = floor[s];
    if (low == c.offset) ++steps;
    if (low == end) --steps;
    if (low >= end) return true;
    std::int32_t first = s;
    std::int32_t last = s + 1;
    T wall = end;
    if (s < b.first_section) {
      while (first > 0 && floor[first - 1] <= low) --first;
      if (first > 0) wall = std::min(wall, floor[first - 1]);
    } else {
      while (last < m && floor[last] <= low) ++last;
      if (last < m) wall = std::min(wall, floor[last]);
    }
    const std::uint64_t* bits = placed(bits_, k);
    T filled = 0;
    for (std::int32_t i : members_[at(s)]) {
      const Buffer& other = buffers_[at(i)];
      if (i == c.buffer || other.first_section < first || other.end_section > last || has(bits, i))
        continue;
      filled += other.size;
      if (filled >= wall - low) return true;
    }
    const T raised = top[s] + (wall - low - filled);
    if (raised > capacity_) return false;
    ahead += (loss(raised) - loss(top[s])) * (last - first);
    return true;
  }

  std::uint64_t hash_of(std::int32_t s, T floor) const {
    return mixed(static_cast<std::uint64_t>(floor) * 1000003U + static_cast<std::uint64_t>(s) + 1);
  }

  // Children with the same skyline are as good as each other: the first of them stays.
  void keep_best() {
    const auto order = [](const Child& a, const Child& b) {
      if (a.order != b.order) return a.order < b.order;
      return a.state != b.state ? a.state < b.state : a.buffer < b.buffer;
    };
    const std::size_t most = std::min(children_.size(), 2 * width_);
    if (most < children_.size())
      std::nth_element(children_.begin(), children_.begin() + static_cast<std::ptrdiff_t>(most),
                       children_.end(), order);
    std::sort(children_.begin(), children_.begin() + static_cast<std::ptrdiff_t>(most), order);
    seen_.clear();
    next_states_.clear();
    const std::size_t room = std::min(most, width_);
    next_cells_.resize(2 * sections_ * room);
    next_bits_.resize(words_ * room);
    for (std::size_t c = 0; c < most && next_states_.size() < width_; ++c) make(children_[c]);
    states_.swap(next_states_);
    cells_.swap(next_cells_);
    bits_.swap(next_bits_);
    count_ = states_.size();
    steps_ += static_cast<std::int64_t>(count_);
  }

  void make(const Child& c) {
    const auto from = at(c.state);
    const Buffer& b = buffers_[at(c.buffer)];
    const T* floor = floors(cells_, from);
    const T end = c.offset + b.size;
    std::uint64_t hash = states_[from].hash;
    for (const Range& r : ranges(b))
      for (std::int32_t s = r.first; s < r.end; ++s) {
        if (floor[s] != 0) hash -= hash_of(s, floor[s]);
        hash += hash_of(s, end);
      }
    if (!seen_.insert(hash).second) return;
    const std::size_t to = next_states_.size();
    T* next_floor = floors(next_cells_, to);
    std::copy_n(floor, 2 * sections_, next_floor);
    std::copy_n(placed(bits_, from), words_, placed(next_bits_, to));
    T* next_top = tops(next_cells_, to);
    for (const Range& r : ranges(b))
      for (std::int32_t s = r.first; s < r.end; ++s) {
        next_top[s] += c.offset - floor[s];
        next_floor[s] = end;
      }
    placed(next_bits_, to)[at(c.buffer) / 64] |= std::uint64_t{1} << (at(c.buffer) % 64);
    nodes_.push_back({states_[from].node, c.buffer, c.offset});
    next_states_.push_back({c.loss, static_cast<std::int32_t>(nodes_.size() - 1), hash});
  }

  std::size_t sections_;
  std::size_t words_;  // of 64 bits, one for each buffer
  std::vector<Buffer> buffers_;
  std::vector<Range> ranges_;
  std::vector<std::vector<std::int32_t>> members_;  // of each section
  std::vector<T> total_;                            // of their sizes

  std::size_t widest_ = 1;  // that fits into memory
  std::size_t width_ = 1;
  T capacity_ = 0;
  double scale_ = 1;
  std::int64_t steps_ = 0;

  std::size_t count_ = 0;
  std::vector<State> states_, next_states_;
  std::vector<T> cells_, next_cells_;  // floors and tops of each state
  std::vector<std::uint64_t> bits_, next_bits_;
  std::vector<Node> nodes_;
  std::vector<Child> children_;
  std::vector<Candidate> candidates_;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

std::unique_ptr<BeamSearch> make_beam_search(std::span<const SearchBuffer> buffers,
                                             std::int32_t sections) {
  std::int64_t total = 1;
  for (const SearchBuffer& b : buffers) {
    if (b.fixed >= 0) return nullptr;
    total += b.size + b.alignment;
  }
  if (total < std::numeric_limits<std::int32_t>::max() / 4)
    return std::make_unique<Beam<std::int32_t>>(buffers, sections);
  return std::make_unique<Beam<std::int64_t>>(buffers, sections);
}

}  // namespace quern
