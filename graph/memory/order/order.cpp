// SPDX-License-Identifier: Apache-2.0
// List heuristics, then a search over down-sets: sets of nodes that can have run first. What is
// live after a down-set does not depend on the order within it, so a set is searched from once.
//
// Two facts keep the search small. Nodes that depend on all others, or all others on them, cut the
// problem into parts that are solved alone. And live bytes are submodular in the set that has run:
// a step that raises no peak and leaves no more live than before harms no continuation, so it is
// taken at once, without an alternative.
#include "graph/memory/order/order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <span>
#include <unordered_map>

namespace quern {
namespace {

constexpr std::size_t max_nodes = 8192;  // above it, what depends on what is not tabled
constexpr std::uint64_t no_peak = std::numeric_limits<std::uint64_t>::max();

using Words = std::vector<std::uint64_t>;

bool has(const std::uint64_t* set, std::size_t i) {
  return (set[i / 64] >> (i % 64) & 1) != 0;
}
void add(std::uint64_t* set, std::size_t i) {
  set[i / 64] |= std::uint64_t{1} << (i % 64);
}

std::vector<std::vector<std::uint32_t>> buffers_of_nodes(const OrderProblem& p) {
  std::vector<std::vector<std::uint32_t>> used(p.nodes.size());
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b)
    for (std::uint32_t n : p.buffers[b].users) used[n].push_back(b);
  return used;
}

// The effect of running a node on the live bytes.
struct Effect {
  std::uint64_t begun = 0;     // bytes of buffers of which it is the first user
  std::uint64_t ended = 0;     // ... the last
  std::uint64_t in_place = 0;  // begun in the place of ended ones
  std::uint64_t transient(std::uint64_t live, std::uint64_t scratch) const {
    return live + begun + scratch - in_place;
  }
  std::uint64_t after(std::uint64_t live) const { return live + begun - ended; }
};

// `begins` and `ends` say of a buffer whether this node is its first or last user.
template <class Begins, class Ends>
Effect effect_of(const OrderProblem& p, std::uint32_t node,
                 const std::vector<std::uint32_t>& buffers, const Begins& begins,
                 const Ends& ends) {
  Effect e;
  for (std::uint32_t b : buffers) {
    if (begins(b)) e.begun += p.buffers[b].size;
    if (ends(b)) e.ended += p.buffers[b].size;
  }
  const auto& pairs = p.nodes[node].in_place;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto taken = [&](const OrderProblem::InPlace& other) {
      return other.result == pairs[k].result && ends(other.operand);
    };
    if (!ends(pairs[k].operand) || !begins(pairs[k].result)) continue;
    if (std::any_of(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(k), taken)) continue;
    e.in_place += std::min(p.buffers[pairs[k].operand].size, p.buffers[pairs[k].result].size);
  }
  return e;
}

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
  ListOrders(const OrderProblem& p, const std::vector<std::vector<std::uint32_t>>& buffers)
      : p_(p), buffers_(buffers), after_(p.nodes.size()) {
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n)
      for (std::uint32_t b : p.nodes[n].before) after_[b].push_back(n);
  }

  // The node that leaves the fewest bytes live, of those that are ready.
  std::vector<std::uint32_t> greedy() const {
    return list([](const Walk& walk, std::span<const std::uint32_t> ready) {
      return best(ready, [&](std::uint32_t n) { return walk.effect(n).after(walk.live()); });
    });
  }
  // The node that needs the fewest bytes while it runs.
  std::vector<std::uint32_t> cautious() const {
    return list([](const Walk& walk, std::span<const std::uint32_t> ready) {
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
  static std::size_t best(std::span<const std::uint32_t> ready, const Key& key) {
    std::size_t at = 0;
    auto least = key(ready[0]);
    for (std::size_t k = 1; k < ready.size(); ++k) {
      const auto value = key(ready[k]);
      if (value >= least) continue;
      least = value;
      at = k;
    }
    return at;
  }

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
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
      walk.run(node);
      order.push_back(node);
      for (auto next = after_[node].rbegin(); next != after_[node].rend(); ++next)
        if (--waits[*next] == 0) ready.push_back(*next);
    }
    return order;
  }

  const OrderProblem& p_;
  const std::vector<std::vector<std::uint32_t>>& buffers_;
  std::vector<std::vector<std::uint32_t>> after_;
};

// ---- what depends on what ----------------------------------------------------------------------

// Per node the set of all nodes before it, and of all behind it.
class Reach {
 public:
  explicit Reach(const OrderProblem& p) : words_((p.nodes.size() + 63) / 64) {
    const std::size_t n = p.nodes.size();
    before_.resize(n * words_);
    after_.resize(n * words_);
    for (std::size_t i = 0; i < n; ++i)
      for (std::uint32_t b : p.nodes[i].before) {
        for (std::size_t w = 0; w < words_; ++w) before_[i * words_ + w] |= before_[b * words_ + w];
        add(&before_[i * words_], b);
      }
    for (std::size_t i = n; i-- > 0;)
      for (std::uint32_t b : p.nodes[i].before) {
        for (std::size_t w = 0; w < words_; ++w) after_[b * words_ + w] |= after_[i * words_ + w];
        add(&after_[b * words_], i);
      }
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

bool meets(const Words& users, const std::uint64_t* set) {
  for (std::size_t w = 0; w < users.size(); ++w)
    if ((users[w] & set[w]) != 0) return true;
  return false;
}

std::uint64_t bound_by_reach(const OrderProblem& p, const Reach& reach) {
  std::vector<Words> users(p.buffers.size(), Words(reach.words()));
  for (std::size_t b = 0; b < users.size(); ++b)
    for (std::uint32_t n : p.buffers[b].users) add(users[b].data(), n);
  std::uint64_t bound = 0;
  for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
    std::uint64_t live = p.nodes[n].scratch;
    std::uint64_t most_in_place = 0;
    for (std::size_t b = 0; b < users.size(); ++b) {
      const bool used = has(users[b].data(), n);
      const bool around = meets(users[b], reach.before(n)) &&
                          (p.buffers[b].live_out || meets(users[b], reach.after(n)));
      if (used || around) live += p.buffers[b].size;
    }
    for (const OrderProblem::InPlace& s : p.nodes[n].in_place)
      most_in_place += std::min(p.buffers[s.operand].size, p.buffers[s.result].size);
    bound = std::max(bound, live - std::min(live, most_in_place));
  }
  return bound;
}

// ---- search ------------------------------------------------------------------------------------

// The nodes between two cuts as a problem of their own, numbered from 0.
struct Part {
  OrderProblem problem;
  std::vector<std::uint32_t> nodes;                 // in the whole
  std::vector<char> begun, outlives;                // buffers with users before and behind the part
  std::vector<std::vector<std::uint32_t>> buffers;  // of each node
  std::uint64_t base = 0;                           // live throughout, used by no node of the part
  std::uint64_t live = 0;                           // before the first node, with the base
};

class Search {
 public:
  Search(const Part& part, std::uint64_t enough, std::size_t& steps)
      : part_(part), enough_(enough), steps_(steps), words_((part.nodes.size() + 63) / 64) {
    const std::size_t n = part.nodes.size();
    before_.assign(n * words_, 0);
    behind_.resize(n);
    users_.assign(part.problem.buffers.size() * words_, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t b : part.problem.nodes[i].before) {
        add(&before_[i * words_], b);
        behind_[b].push_back(i);
      }
    }
    for (std::size_t b = 0; b < part.problem.buffers.size(); ++b)
      for (std::uint32_t u : part.problem.buffers[b].users) add(&users_[b * words_], u);
  }

  struct Answer {
    std::vector<std::uint32_t> order;  // empty if none below the limit was found
    std::uint64_t peak = no_peak;
    std::uint64_t bound = 0;
  };

  // Orders with a peak below `limit`: the best first, by their bottleneck.
  Answer best_first(std::uint64_t limit) {
    clear();
    using Entry = std::pair<std::array<std::uint64_t, 3>, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const auto push = [&](std::uint32_t s) {
      queue.push({{std::max(states_[s].peak, enough_), part_.nodes.size() - states_[s].count,
                   states_[s].live},
                  s});
    };
    push(root());
    std::uint64_t proven = enough_;
    while (!queue.empty()) {
      const std::uint32_t s = queue.top().second;
      proven = std::max(proven, queue.top().first[0]);
      queue.pop();
      if (states_[s].stale) continue;
      if (states_[s].count == part_.nodes.size())
        return {path(s), states_[s].peak, std::max(states_[s].peak, enough_)};
      if (steps_ == 0) return {{}, no_peak, proven};
      --steps_;
      for (std::uint32_t child : expand(s, limit)) push(child);
    }
    return {{}, no_peak, limit};
  }

  // The best `width` down-sets of each size.
  Answer beam(std::uint64_t limit, std::size_t width) {
    clear();
    std::vector<std::vector<std::uint32_t>> layers(part_.nodes.size() + 1);
    const std::uint32_t first = root();
    layers[states_[first].count].push_back(first);
    const auto better = [&](std::uint32_t a, std::uint32_t b) {
      const auto key = [&](std::uint32_t s) {
        return std::tuple(std::max(states_[s].peak, enough_), states_[s].live, s);
      };
      return key(a) < key(b);
    };
    for (std::size_t count = 0; count < part_.nodes.size(); ++count) {
      auto& layer = layers[count];
      std::ranges::sort(layer, better);
      std::size_t kept = 0;
      for (std::uint32_t s : layer) {
        if (states_[s].stale) continue;
        if (kept++ == width || steps_ == 0) break;
        --steps_;
        for (std::uint32_t child : expand(s, limit)) layers[states_[child].count].push_back(child);
      }
    }
    auto& last = layers.back();
    if (last.empty()) return {};
    const std::uint32_t s = *std::ranges::min_element(last, better);
    return {path(s), states_[s].peak, 0};
  }

 private:
  struct State {
    std::uint64_t live = 0;
    std::uint64_t peak = 0;
    std::uint32_t parent = 0;
    std::uint32_t count = 0;
    std::uint32_t path_begin = 0, path_end = 0;  // nodes since the parent
    bool stale = false;                          // another path to this set is better
  };

  const std::uint64_t* set(std::uint32_t s) const { return &sets_[s * words_]; }

  void clear() {
    states_.clear();
    sets_.clear();
    paths_.clear();
    known_.clear();
  }

  std::uint32_t root() {
    State s;
    s.live = part_.live;
    s.peak = part_.live;
    scratch_.assign(words_, 0);
    ready_ = ready_behind(scratch_);
    path_.clear();
    take_free(s);
    return *store(s);
  }

  Effect effect(std::uint32_t node, const std::uint64_t* done) const {
    const auto used = [&](std::uint32_t b) {
      for (std::size_t w = 0; w < words_; ++w)
        if ((users_[b * words_ + w] & done[w]) != 0) return true;
      return false;
    };
    const auto begins = [&](std::uint32_t b) { return !part_.begun[b] && !used(b); };
    const auto ends = [&](std::uint32_t b) {
      if (part_.outlives[b]) return false;
      for (std::size_t w = 0; w < words_; ++w) {
        const std::uint64_t self =
            node / 64 == w ? std::uint64_t{1} << (node % 64) : std::uint64_t{0};
        if ((users_[b * words_ + w] & ~(done[w] | self)) != 0) return false;
      }
      return true;
    };
    return effect_of(part_.problem, node, part_.buffers[node], begins, ends);
  }

  bool ready(std::uint32_t node, const Words& done) const {
    if (has(done.data(), node)) return false;
    for (std::size_t w = 0; w < words_; ++w)
      if ((before_[node * words_ + w] & ~done[w]) != 0) return false;
    return true;
  }
  Words ready_behind(const Words& done) const {
    Words all(words_, 0);
    for (std::uint32_t n = 0; n < part_.nodes.size(); ++n)
      if (ready(n, done)) add(all.data(), n);
    return all;
  }
  // f(n) for each n of a set in ascending order, also for those above n that f itself adds.
  template <class F>
  void each(const Words& set, F&& f) const {
    for (std::uint32_t w = 0; w < words_; ++w) {
      for (std::uint64_t left = set[w]; left != 0;) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(left));
        f(w * 64 + bit);
        left = bit == 63 ? 0 : set[w] & ~std::uint64_t{0} << (bit + 1);
      }
    }
  }

  // Adds nodes to scratch_ and path_, and to ready_ those that wait for nothing else.
  void run(State& s, std::uint32_t node, const Effect& e) {
    s.peak = std::max(s.peak, e.transient(s.live, part_.problem.nodes[node].scratch));
    s.live = e.after(s.live);
    ++s.count;
    add(scratch_.data(), node);
    ready_[node / 64] &= ~(std::uint64_t{1} << (node % 64));
    for (std::uint32_t n : behind_[node])
      if (ready(n, scratch_)) add(ready_.data(), n);
    path_.push_back(node);
  }

  void take_free(State& s) {
    for (bool found = true; found;) {
      found = false;
      each(ready_, [&](std::uint32_t n) {
        const Effect e = effect(n, scratch_.data());
        if (e.begun > e.ended ||
            e.transient(s.live, part_.problem.nodes[n].scratch) > std::max(s.peak, enough_))
          return;
        run(s, n, e);
        found = true;
      });
    }
  }

  // Returns nothing if the set has been reached with no higher peak.
  std::optional<std::uint32_t> store(State s) {
    const auto [at, fresh] = known_.try_emplace(hash(scratch_), states_.size());
    if (!fresh) {
      if (states_[at->second].peak <= s.peak) return std::nullopt;
      states_[at->second].stale = true;
      at->second = static_cast<std::uint32_t>(states_.size());
    }
    s.path_begin = static_cast<std::uint32_t>(paths_.size());
    paths_.insert(paths_.end(), path_.begin(), path_.end());
    s.path_end = static_cast<std::uint32_t>(paths_.size());
    sets_.insert(sets_.end(), scratch_.begin(), scratch_.end());
    states_.push_back(s);
    return static_cast<std::uint32_t>(states_.size() - 1);
  }

  std::vector<std::uint32_t> expand(std::uint32_t parent, std::uint64_t limit) {
    std::vector<std::uint32_t> children;
    const Words done(set(parent), set(parent) + words_);
    const Words open = ready_behind(done);
    each(open, [&](std::uint32_t n) {
      State s = states_[parent];
      s.parent = parent;
      scratch_ = done;
      ready_ = open;
      path_.clear();
      run(s, n, effect(n, done.data()));
      if (s.peak >= limit) return;
      take_free(s);
      if (const auto child = store(s)) children.push_back(*child);
    });
    return children;
  }

  std::vector<std::uint32_t> path(std::uint32_t s) const {
    std::vector<std::uint32_t> backwards;
    for (;; s = states_[s].parent) {
      for (std::uint32_t k = states_[s].path_end; k-- > states_[s].path_begin;)
        backwards.push_back(paths_[k]);
      if (s == states_[s].parent) break;
    }
    std::ranges::reverse(backwards);
    return backwards;
  }

  struct Key {
    std::uint64_t low, high;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const { return k.low; }
  };
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
    return x ^ (x >> 32);
  }
  static Key hash(const Words& set) {
    Key k{0x9e3779b97f4a7c15U, 0xbf58476d1ce4e5b9U};
    for (const std::uint64_t w : set) {
      k.low = mixed(k.low ^ w);
      k.high = mixed(k.high + w * 0x94d049bb133111ebU + 1);
    }
    return k;
  }

  const Part& part_;
  std::uint64_t enough_;  // no order of the whole has a lower peak
  std::size_t& steps_;
  std::size_t words_;
  Words before_;
  std::vector<std::vector<std::uint32_t>> behind_;  // of each node, those that name it in `before`
  Words users_;
  std::vector<State> states_;
  Words sets_;
  std::vector<std::uint32_t> paths_;
  std::unordered_map<Key, std::uint32_t, KeyHash> known_;
  Words scratch_;                    // the set that is being made
  Words ready_;                      // what may follow it
  std::vector<std::uint32_t> path_;  // ... and the nodes that made it
};

// Cuts the problem where every order must pass, and puts the parts' orders together.
class Orderer {
 public:
  Orderer(const OrderProblem& p, std::size_t steps)
      : p_(p), steps_(steps), buffers_(buffers_of_nodes(p)) {}

  OrderAnswer run() {
    answer_.order.resize(p_.nodes.size());
    std::iota(answer_.order.begin(), answer_.order.end(), 0);
    answer_.peak = peak_of(p_, answer_.order);
    if (p_.nodes.size() > max_nodes) return by_lists(0);
    const Reach reach(p_);
    answer_.bound = bound_by_reach(p_, reach);
    if (answer_.optimal()) return std::move(answer_);
    by_lists(answer_.bound);
    if (!answer_.optimal()) by_search(reach);
    return std::move(answer_);
  }

 private:
  OrderAnswer by_lists(std::uint64_t enough) {
    const ListOrders lists(p_, buffers_);
    consider(lists.greedy());
    consider(lists.cautious());
    consider(lists.depth_first());
    const unsigned seeds = p_.nodes.size() > max_nodes ? 2 : 20;
    for (unsigned seed = 1; seed <= seeds && answer_.peak > enough; ++seed)
      consider(lists.randomised(seed));
    return answer_;
  }

  void consider(std::vector<std::uint32_t> order) {
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
    std::vector<char> done(p_.nodes.size());
    std::vector<std::uint32_t> order;
    std::uint64_t proven = answer_.bound;
    bool exact = true;
    for (auto& nodes : parts) {
      std::ranges::sort(nodes);
      const Part part = part_of(nodes, done);
      exact &= solve(part, proven, order);
      for (std::uint32_t n : nodes) done[n] = 1;
    }
    answer_.bound = std::max(answer_.bound, proven);
    consider(std::move(order));
    if (exact) answer_.bound = std::max(answer_.bound, answer_.peak);
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

  Part part_of(const std::vector<std::uint32_t>& nodes, const std::vector<char>& done) const {
    Part part;
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

  // Appends an order of the part. True when it is the best, or good enough for the whole;
  // `proven`: peak below which the whole cannot stay.
  bool solve(const Part& part, std::uint64_t& proven, std::vector<std::uint32_t>& order) {
    Search search(part, proven, steps_);
    std::vector<std::uint32_t> known = part_of_best(part);
    const std::uint64_t peak = peak_in(part, known);
    Search::Answer best{known, peak, 0};
    bool exact = peak <= proven;
    if (!exact && steps_ > 0) {
      std::size_t share = steps_ / 2;
      const std::size_t kept = steps_ - share;
      steps_ = share;
      Search::Answer found = search.best_first(peak);
      steps_ += kept;
      exact = found.bound >= std::min(found.peak, peak);
      proven = std::max(proven, std::min(found.bound, peak));
      if (found.peak < best.peak) best = std::move(found);
    }
    for (std::size_t width = 4; !exact && steps_ > 0 && best.peak > proven; width *= 4) {
      Search::Answer found = search.beam(best.peak, width);
      if (found.peak < best.peak) best = std::move(found);
    }
    for (std::uint32_t n : best.order) order.push_back(part.nodes[n]);
    return exact || best.peak <= proven;
  }

  std::vector<std::uint32_t> part_of_best(const Part& part) const {
    std::vector<std::uint32_t> local(p_.nodes.size(), std::numeric_limits<std::uint32_t>::max());
    for (std::uint32_t k = 0; k < part.nodes.size(); ++k) local[part.nodes[k]] = k;
    std::vector<std::uint32_t> order;
    for (std::uint32_t n : answer_.order)
      if (local[n] < part.nodes.size()) order.push_back(local[n]);
    return order;
  }

  std::uint64_t peak_in(const Part& part, const std::vector<std::uint32_t>& order) const {
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
  return problem.nodes.size() > max_nodes ? 0 : bound_by_reach(problem, Reach(problem));
}

OrderAnswer best_order(const OrderProblem& problem, std::size_t steps) {
  return Orderer(problem, steps).run();
}

}  // namespace quern
