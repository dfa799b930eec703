// SPDX-License-Identifier: Apache-2.0
// List heuristics, then a search. Nodes that depend on all others, or all others on them, cut the
// problem into parts that are searched alone: part_search.h. All of it stops where the work is
// spent.
#include "graph/memory/order/order.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <span>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/order/live_bytes.h"
#include "graph/memory/order/node_set.h"
#include "graph/memory/order/part_search.h"

namespace quern {
namespace {

constexpr std::size_t max_nodes = 8192;  // above it, what depends on what is not tabled

// Runs nodes one after the other.
class Walk {
 public:
  Walk(const OrderProblem& p, const std::vector<std::vector<std::uint32_t>>& buffers)
      : p_(p), buffers_(buffers), left_(p.buffers.size()), begun_(p.buffers.size()) {
    for (std::size_t b = 0; b < left_.size(); ++b)
      left_[b] = p.buffers[b].users.size() + (p.buffers[b].live_out ? 1 : 0);
  }

  Effect effect(std::uint32_t node) const {
    return effect_of(
        p_, node, buffers_[node], [&](std::uint32_t b) { return !begun_[b]; },
        [&](std::uint32_t b) { return left_[b] == 1; });
  }
  std::uint64_t transient(std::uint32_t node) const {
    return effect(node).transient(live_, p_.nodes[node].scratch);
  }
  void run(std::uint32_t node) {
    const Effect e = effect(node);
    peak_ = std::max(peak_, e.transient(live_, p_.nodes[node].scratch));
    live_ = e.after(live_);
    for (std::uint32_t b : buffers_[node]) {
      begun_[b] = 1;
      --left_[b];
    }
  }
  std::uint64_t live() const { return live_; }
  std::uint64_t peak() const { return peak_; }

 private:
  const OrderProblem& p_;
  const std::vector<std::vector<std::uint32_t>>& buffers_;
  std::vector<std::size_t> left_;
  std::vector<char> begun_;
  std::uint64_t live_ = 0;
  std::uint64_t peak_ = 0;
};

// ---- list heuristics ---------------------------------------------------------------------------

class ListOrders {
 public:
  ListOrders(const OrderProblem& p, const std::vector<std::vector<std::uint32_t>>& buffers,
             Work& work)
      : p_(p), buffers_(buffers), work_(work), after_(p.nodes.size()) {
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n)
      for (std::uint32_t b : p.nodes[n].before) after_[b].push_back(n);
  }

  // The node that leaves the fewest bytes live, of those that are ready.
  std::vector<std::uint32_t> greedy() const {
    return list([&](const Walk& walk, std::span<const std::uint32_t> ready) {
      return best(ready, [&](std::uint32_t n) { return walk.effect(n).after(walk.live()); });
    });
  }
  // The node that needs the fewest bytes while it runs.
  std::vector<std::uint32_t> cautious() const {
    return list([&](const Walk& walk, std::span<const std::uint32_t> ready) {
      return best(ready, [&](std::uint32_t n) {
        return std::pair(walk.transient(n), walk.effect(n).after(walk.live()));
      });
    });
  }
  // The node that became ready last.
  std::vector<std::uint32_t> depth_first() const {
    return list([](const Walk&, std::span<const std::uint32_t> ready) { return ready.size() - 1; });
  }
  // Greedy, but for one choice in four.
  std::vector<std::uint32_t> randomised(unsigned seed) const {
    std::mt19937 random(seed);
    return list([&](const Walk& walk, std::span<const std::uint32_t> ready) -> std::size_t {
      if (random() % 4 == 0) return random() % ready.size();
      return best(ready, [&](std::uint32_t n) { return walk.effect(n).after(walk.live()); });
    });
  }

 private:
  template <class Key>
  std::size_t best(std::span<const std::uint32_t> ready, const Key& key) const {
    std::size_t at = 0;
    auto least = key(ready[0]);
    for (std::size_t k = 1; k < ready.size(); ++k) {
      if (!work_.spend(cost_of_key + 2 * buffers_[ready[k]].size())) break;
      const auto value = key(ready[k]);
      if (value >= least) continue;
      least = value;
      at = k;
    }
    return at;
  }

  // Returns nothing if the work is spent before the end.
  template <class Choose>
  std::vector<std::uint32_t> list(const Choose& choose) const {
    std::vector<std::size_t> waits(p_.nodes.size());
    std::vector<std::uint32_t> ready;
    for (std::uint32_t n = static_cast<std::uint32_t>(waits.size()); n-- > 0;) {
      waits[n] = p_.nodes[n].before.size();
      if (waits[n] == 0) ready.push_back(n);
    }
    Walk walk(p_, buffers_);
    std::vector<std::uint32_t> order;
    while (!ready.empty()) {
      const std::size_t at = choose(walk, ready);
      const std::uint32_t node = ready[at];
      if (!work_.spend(cost_of_key + 8 * buffers_[node].size() + (ready.size() - at) / 8))
        return {};
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
      walk.run(node);
      order.push_back(node);
      for (auto next = after_[node].rbegin(); next != after_[node].rend(); ++next)
        if (--waits[*next] == 0) ready.push_back(*next);
    }
    return order;
  }

  static constexpr std::uint64_t cost_of_key = 8;

  const OrderProblem& p_;
  const std::vector<std::vector<std::uint32_t>>& buffers_;
  Work& work_;
  std::vector<std::vector<std::uint32_t>> after_;
};

// ---- what depends on what ----------------------------------------------------------------------

// Per node the set of all nodes before it, and of all behind it.
class Reach {
 public:
  explicit Reach(const OrderProblem& p) : words_(ceil_div(p.nodes.size(), 64)) {
    const std::size_t n = p.nodes.size();
    before_.resize(n * words_);
    after_.resize(n * words_);
    for (std::size_t i = 0; i < n; ++i)
      for (std::uint32_t b : p.nodes[i].before) {
        for (std::size_t w = 0; w < words_; ++w) before_[i * words_ + w] |= before_[b * words_ + w];
        add_node(&before_[i * words_], b);
      }
    for (std::size_t i = n; i-- > 0;)
      for (std::uint32_t b : p.nodes[i].before) {
        for (std::size_t w = 0; w < words_; ++w) after_[b * words_ + w] |= after_[i * words_ + w];
        add_node(&after_[b * words_], i);
      }
  }

  // The work of making this table and of finding a bound with it.
  static std::uint64_t cost(const OrderProblem& p) {
    const std::uint64_t words = ceil_div(p.nodes.size(), 64);
    std::uint64_t edges = p.nodes.size() + p.buffers.size();
    for (const OrderProblem::Node& n : p.nodes) edges += n.before.size();
    for (const OrderProblem::Buffer& b : p.buffers) edges += b.users.size();
    return edges * words;
  }

  const std::uint64_t* before(std::size_t node) const { return &before_[node * words_]; }
  const std::uint64_t* after(std::size_t node) const { return &after_[node * words_]; }
  std::size_t words() const { return words_; }
  // Every other node is before or behind it.
  bool cuts(std::size_t node, std::size_t nodes) const {
    std::size_t related = 1;
    for (std::size_t w = 0; w < words_; ++w)
      related +=
          static_cast<std::size_t>(std::popcount(before(node)[w]) + std::popcount(after(node)[w]));
    return related == nodes;
  }

 private:
  std::size_t words_;
  Words before_;
  Words after_;
};

// Charges for each buffer the nodes that it must be live with.
std::uint64_t bound_by_reach(const OrderProblem& p, const Reach& reach, Work& work) {
  std::vector<std::uint64_t> live(p.nodes.size());
  for (std::size_t n = 0; n < live.size(); ++n) live[n] = p.nodes[n].scratch;
  Words behind(reach.words());  // a user of the buffer
  Words ahead(reach.words());   // of one
  for (const OrderProblem::Buffer& b : p.buffers) {
    std::ranges::fill(behind, 0);
    std::ranges::fill(ahead, b.live_out ? ~std::uint64_t{0} : 0);
    for (std::uint32_t u : b.users)
      for (std::size_t w = 0; w < reach.words(); ++w) {
        behind[w] |= reach.after(u)[w];
        ahead[w] |= reach.before(u)[w];
      }
    for (std::size_t w = 0; w < reach.words(); ++w) behind[w] &= ahead[w];
    for (std::uint32_t u : b.users) add_node(behind.data(), u);
    for (std::size_t w = 0; w < reach.words(); ++w) {
      work.spend(static_cast<std::uint64_t>(std::popcount(behind[w])));
      for (std::uint64_t left = behind[w]; left != 0; left &= left - 1)
        live[w * 64 + static_cast<std::size_t>(std::countr_zero(left))] += b.size;
    }
  }
  std::uint64_t bound = 0;
  for (std::size_t n = 0; n < live.size(); ++n) {
    std::uint64_t most_in_place = 0;
    for (const OrderProblem::InPlace& s : p.nodes[n].in_place)
      most_in_place += std::min(p.buffers[s.operand].size, p.buffers[s.result].size);
    bound = std::max(bound, live[n] - std::min(live[n], most_in_place));
  }
  return bound;
}

// ---- parts between cuts ------------------------------------------------------------------------

// Cuts the problem where every order must pass, and puts the parts' orders together.
class Orderer {
 public:
  Orderer(const OrderProblem& p, std::size_t steps, Work& work)
      : p_(p), steps_(steps), work_(work), buffers_(buffers_of_nodes(p)) {}

  OrderAnswer run() {
    answer_.order.resize(p_.nodes.size());
    std::iota(answer_.order.begin(), answer_.order.end(), 0);
    answer_.peak = peak_of(p_, answer_.order);
    if (p_.nodes.size() > max_nodes || !work_.spend(Reach::cost(p_))) return by_lists(0);
    const Reach reach(p_);
    answer_.bound = bound_by_reach(p_, reach, work_);
    if (answer_.optimal()) return std::move(answer_);
    by_lists(answer_.bound);
    if (!answer_.optimal()) by_search(reach);
    return std::move(answer_);
  }

 private:
  OrderAnswer by_lists(std::uint64_t enough) {
    const ListOrders lists(p_, buffers_, work_);
    consider(lists.greedy());
    consider(lists.cautious());
    consider(lists.depth_first());
    const unsigned seeds = p_.nodes.size() > max_nodes ? 2 : 20;
    for (unsigned seed = 1; seed <= seeds && answer_.peak > enough && !work_.is_spent(); ++seed)
      consider(lists.randomised(seed));
    return answer_;
  }

  void consider(std::vector<std::uint32_t> order) {
    if (order.size() != p_.nodes.size()) return;  // the work was spent before its end
    const std::uint64_t peak = peak_of(p_, order);
    if (peak >= answer_.peak) return;
    answer_.order = std::move(order);
    answer_.peak = peak;
  }

  void by_search(const Reach& reach) {
    std::vector<std::vector<std::uint32_t>> parts;  // nodes, by the cut behind them
    bool open = false;
    for (std::uint32_t n : by_depth(reach)) {
      if (!open) parts.emplace_back();
      parts.back().push_back(n);
      open = !reach.cuts(n, p_.nodes.size());
    }
    // Each part looks at all buffers.
    if (!work_.spend(4 * parts.size() * (p_.buffers.size() + p_.nodes.size()))) return;
    std::vector<char> done(p_.nodes.size());
    std::vector<std::uint32_t> order;
    std::uint64_t proven = answer_.bound;
    for (auto& nodes : parts) {
      std::ranges::sort(nodes);
      const OrderPart part = part_of(nodes, done);
      solve(part, proven, order);
      for (std::uint32_t n : nodes) done[n] = 1;
    }
    answer_.bound = std::max(answer_.bound, proven);
    consider(std::move(order));
  }

  // Nodes that cut stand behind all before them.
  std::vector<std::uint32_t> by_depth(const Reach& reach) const {
    std::vector<std::uint32_t> order(p_.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::size_t> depth(order.size());
    for (std::size_t n = 0; n < order.size(); ++n)
      for (std::size_t w = 0; w < reach.words(); ++w)
        depth[n] += static_cast<std::size_t>(std::popcount(reach.before(n)[w]));
    std::ranges::stable_sort(order, {}, [&](std::uint32_t n) { return depth[n]; });
    // A cut with k nodes before it stands at k; others with as many before them cannot exist.
    return order;
  }

  OrderPart part_of(const std::vector<std::uint32_t>& nodes, const std::vector<char>& done) const {
    OrderPart part;
    part.nodes = nodes;
    std::vector<std::uint32_t> local(p_.nodes.size(), 0);
    std::vector<char> inside(p_.nodes.size());
    for (std::uint32_t k = 0; k < nodes.size(); ++k) {
      local[nodes[k]] = k;
      inside[nodes[k]] = 1;
    }
    std::vector<std::uint32_t> local_buffer(p_.buffers.size(), 0);
    for (std::uint32_t b = 0; b < p_.buffers.size(); ++b) {
      const OrderProblem::Buffer& buffer = p_.buffers[b];
      OrderProblem::Buffer own;
      own.size = buffer.size;
      bool begun = false;
      bool outlives = buffer.live_out;
      for (std::uint32_t u : buffer.users) {
        if (inside[u])
          own.users.push_back(local[u]);
        else if (done[u])
          begun = true;
        else
          outlives = true;
      }
      const bool live_before = begun && (outlives || !own.users.empty());
      if (live_before) part.live += buffer.size;
      if (own.users.empty()) continue;
      local_buffer[b] = static_cast<std::uint32_t>(part.problem.buffers.size());
      part.problem.buffers.push_back(std::move(own));
      part.begun.push_back(begun);
      part.outlives.push_back(outlives);
    }
    for (std::uint32_t n : nodes) {
      OrderProblem::Node node;
      node.scratch = p_.nodes[n].scratch;
      for (std::uint32_t b : p_.nodes[n].before)
        if (inside[b]) node.before.push_back(local[b]);
      for (const OrderProblem::InPlace& s : p_.nodes[n].in_place)
        node.in_place.push_back({local_buffer[s.operand], local_buffer[s.result]});
      part.problem.nodes.push_back(std::move(node));
    }
    part.buffers = buffers_of_nodes(part.problem);
    return part;
  }

  // Appends an order of the part. `proven`: a peak below which the whole cannot stay; where the
  // order is the best, it rises to the peak of that.
  void solve(const OrderPart& part, std::uint64_t& proven, std::vector<std::uint32_t>& order) {
    const auto search = make_part_search(part, proven, steps_, work_);
    std::vector<std::uint32_t> known = part_of_best(part);
    const std::uint64_t peak = peak_in(part, known);
    PartSearch::Answer best{known, peak, 0};
    bool exact = peak <= proven;
    if (!exact && steps_ > 0 && !work_.is_spent()) {
      std::size_t share = steps_ / 2;
      const std::size_t kept = steps_ - share;
      steps_ = share;
      PartSearch::Answer found = search->best_first(peak);
      steps_ += kept;
      exact = found.bound >= std::min(found.peak, peak);
      proven = std::max(proven, std::min(found.bound, peak));
      if (found.peak < best.peak) best = std::move(found);
    }
    for (std::size_t width = 4; !exact && steps_ > 0 && best.peak > proven && !work_.is_spent();
         width *= 4) {
      PartSearch::Answer found = search->beam(best.peak, width);
      if (found.peak < best.peak) best = std::move(found);
    }
    for (std::uint32_t n : best.order) order.push_back(part.nodes[n]);
  }

  std::vector<std::uint32_t> part_of_best(const OrderPart& part) const {
    std::vector<std::uint32_t> local(p_.nodes.size(), std::numeric_limits<std::uint32_t>::max());
    for (std::uint32_t k = 0; k < part.nodes.size(); ++k) local[part.nodes[k]] = k;
    std::vector<std::uint32_t> order;
    for (std::uint32_t n : answer_.order)
      if (local[n] < part.nodes.size()) order.push_back(local[n]);
    return order;
  }

  std::uint64_t peak_in(const OrderPart& part, const std::vector<std::uint32_t>& order) const {
    std::vector<std::size_t> left(part.problem.buffers.size());
    std::vector<char> begun(part.begun.begin(), part.begun.end());
    for (std::size_t b = 0; b < left.size(); ++b)
      left[b] = part.problem.buffers[b].users.size() + (part.outlives[b] ? 1 : 0);
    std::uint64_t live = part.live;
    std::uint64_t peak = live;
    for (std::uint32_t n : order) {
      const Effect e = effect_of(
          part.problem, n, part.buffers[n], [&](std::uint32_t b) { return !begun[b]; },
          [&](std::uint32_t b) { return left[b] == 1; });
      peak = std::max(peak, e.transient(live, part.problem.nodes[n].scratch));
      live = e.after(live);
      for (std::uint32_t b : part.buffers[n]) {
        begun[b] = 1;
        --left[b];
      }
    }
    return peak;
  }

  const OrderProblem& p_;
  std::size_t steps_;
  Work& work_;
  std::vector<std::vector<std::uint32_t>> buffers_;
  OrderAnswer answer_;
};

}  // namespace

std::uint64_t peak_of(const OrderProblem& problem, const std::vector<std::uint32_t>& order) {
  const auto buffers = buffers_of_nodes(problem);
  Walk walk(problem, buffers);
  for (std::uint32_t n : order) walk.run(n);
  return walk.peak();
}

std::uint64_t lower_bound(const OrderProblem& problem) {
  Work work;
  return problem.nodes.size() > max_nodes ? 0 : bound_by_reach(problem, Reach(problem), work);
}

OrderAnswer best_order(const OrderProblem& problem, std::size_t steps, Work& work) {
  return Orderer(problem, steps, work).run();
}
OrderAnswer best_order(const OrderProblem& problem, std::size_t steps) {
  Work unlimited;
  return best_order(problem, steps, unlimited);
}

}  // namespace quern
