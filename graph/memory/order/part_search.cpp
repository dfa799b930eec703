// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/order/part_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/order/live_bytes.h"
#include "graph/memory/order/node_set.h"

namespace quern {
namespace {

class DownSetSearch final : public PartSearch {
 public:
  DownSetSearch(const OrderPart& part, std::uint64_t enough, std::size_t& steps, Work& work)
      : part_(part),
        enough_(enough),
        steps_(steps),
        work_(work),
        words_(ceil_div(part.nodes.size(), 64)) {
    const std::size_t n = part.nodes.size();
    if (!work_.spend((n + part.problem.buffers.size()) * words_)) return;
    before_.assign(n * words_, 0);
    behind_.resize(n);
    users_.assign(part.problem.buffers.size() * words_, 0);
    beside_.assign(n * words_, 0);
    cost_of_effect_.resize(n);
    of_parent_.effects.resize(n);
    of_child_.effects.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      cost_of_effect_[i] =
          (part.buffers[i].size() + part.problem.nodes[i].in_place.size()) * (words_ + 4);
      for (std::uint32_t b : part.problem.nodes[i].before) {
        add_node(&before_[i * words_], b);
        behind_[b].push_back(i);
      }
    }
    for (std::size_t b = 0; b < part.problem.buffers.size(); ++b)
      for (std::uint32_t u : part.problem.buffers[b].users) add_node(&users_[b * words_], u);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t b : part.buffers[i]) add_users(i, b);
      for (const OrderProblem::InPlace& s : part.problem.nodes[i].in_place) {
        add_users(i, s.operand);
        add_users(i, s.result);
      }
    }
  }

  Answer best_first(std::uint64_t limit) override {
    clear();
    if (work_.is_spent()) return {{}, no_peak, enough_};
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
      const std::vector<std::uint32_t> children = expand(s, limit);
      if (work_.is_spent()) return {{}, no_peak, proven};  // some children may be missing
      for (std::uint32_t child : children) push(child);
    }
    return {{}, no_peak, limit};
  }

  Answer beam(std::uint64_t limit, std::size_t width) override {
    clear();
    if (work_.is_spent()) return {};
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
        if (kept++ == width || steps_ == 0 || work_.is_spent()) break;
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
  // What was found out about nodes.
  struct Effects {
    std::vector<Effect> effects;
    Words known;  // the nodes
  };

  // To those whose runs may change the effect of the node.
  void add_users(std::uint32_t node, std::uint32_t buffer) {
    for (std::size_t w = 0; w < words_; ++w)
      beside_[node * words_ + w] |= users_[buffer * words_ + w];
  }

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
    of_parent_.known.assign(words_, 0);
    begin_at(Words(words_, 0), ready_behind(Words(words_, 0)));
    take_free(s);
    return *store(s);
  }

  // The set that is being made, of that of its parent.
  void begin_at(const Words& done, const Words& open) {
    scratch_ = done;
    ready_ = open;
    path_.clear();
    touched_.assign(words_, 0);
    of_child_.known.assign(words_, 0);
  }

  // Of a node that follows scratch_: that of the parent's set, as long as none that uses the same
  // buffers has run since. Whoever asks charges the work, each time as if it were found out anew.
  const Effect& effect(std::uint32_t node) {
    Effects& from = has_node(touched_.data(), node) ? of_child_ : of_parent_;
    if (!has_node(from.known.data(), node)) {
      from.effects[node] = effect_behind(scratch_.data(), node);
      add_node(from.known.data(), node);
    }
    return from.effects[node];
  }
  Effect effect_behind(const std::uint64_t* done, std::uint32_t node) const {
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
    if (has_node(done.data(), node)) return false;
    for (std::size_t w = 0; w < words_; ++w)
      if ((before_[node * words_ + w] & ~done[w]) != 0) return false;
    return true;
  }
  Words ready_behind(const Words& done) const {
    Words all(words_, 0);
    for (std::uint32_t n = 0; n < part_.nodes.size(); ++n)
      if (ready(n, done)) add_node(all.data(), n);
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
    add_node(scratch_.data(), node);
    ready_[node / 64] &= ~(std::uint64_t{1} << (node % 64));
    for (std::size_t w = 0; w < words_; ++w) {
      touched_[w] |= beside_[node * words_ + w];
      of_child_.known[w] &= ~beside_[node * words_ + w];
    }
    for (std::uint32_t n : behind_[node])
      if (ready(n, scratch_)) add_node(ready_.data(), n);
    path_.push_back(node);
  }

  void take_free(State& s) {
    for (bool found = true; found && !work_.is_spent();) {
      found = false;
      std::uint64_t cost = 0;
      each(ready_, [&](std::uint32_t n) {
        cost += cost_of_effect_[n];
        const Effect& e = effect(n);
        if (e.begun > e.ended ||
            e.transient(s.live, part_.problem.nodes[n].scratch) > std::max(s.peak, enough_))
          return;
        run(s, n, e);
        found = true;
      });
      work_.spend(cost);
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
    work_.spend(2 * part_.nodes.size());
    const Words done(set(parent), set(parent) + words_);
    const Words open = ready_behind(done);
    of_parent_.known.assign(words_, 0);
    each(open, [&](std::uint32_t n) {
      if (!work_.spend(cost_of_state * words_)) return;
      State s = states_[parent];
      s.parent = parent;
      begin_at(done, open);
      work_.spend(cost_of_effect_[n]);
      run(s, n, effect(n));
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

  // The work for each word of a set that is kept, which bounds the memory too.
  static constexpr std::uint64_t cost_of_state = 8;

  const OrderPart& part_;
  std::uint64_t enough_;  // no order of the whole has a lower peak
  std::size_t& steps_;
  Work& work_;
  std::size_t words_;
  Words before_;
  std::vector<std::vector<std::uint32_t>> behind_;  // of each node, those that name it in `before`
  Words users_;
  Words beside_;                               // of each node, those that use a buffer of it
  std::vector<std::uint64_t> cost_of_effect_;  // of each node
  std::vector<State> states_;
  Words sets_;
  std::vector<std::uint32_t> paths_;
  std::unordered_map<Key, std::uint32_t, KeyHash> known_;
  Words scratch_;                    // the set that is being made
  Words ready_;                      // what may follow it
  std::vector<std::uint32_t> path_;  // ... and the nodes that made it
  Words touched_;                    // those that use a buffer of these
  Effects of_parent_, of_child_;     // of what is not touched, and of what is
};

}  // namespace

std::unique_ptr<PartSearch> make_part_search(const OrderPart& part, std::uint64_t enough,
                                             std::size_t& steps, Work& work) {
  return std::make_unique<DownSetSearch>(part, enough, steps, work);
}

}  // namespace quern
