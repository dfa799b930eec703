// SPDX-License-Identifier: Apache-2.0
// A skyline that is being built, for valleys.h: a value, of which copies go on in different ways.
#pragma once

#include <memory>

#include "graph/memory/problem/lives.h"

namespace quern {

// What the fillings of a problem share.
struct SharedState {
  explicit SharedState(const MemoryProblem& problem);

  Lives lives;
  std::vector<std::uint64_t> total;  // bytes live in each section
  double area = 0;                   // size x life of all
  double bound = 1;
  std::uint64_t work = 0;
};

// Buffers of which each tier is placed after those before it, or into holes that they leave.
using Tiers = std::vector<std::vector<std::uint32_t>>;

// How the next buffer is chosen.
struct FillingParameters {
  unsigned noise = 0;     // of 16 choices by lot where in a valley
  double life_power = 1;  // how much a long life is worth
  double base = 0.1;      // and how little what walls gain
};

class Filling {
 public:
  Filling(SharedState& shared, const Tiers& tiers);

  void set_parameters(const FillingParameters& parameters, std::uint64_t seed);
  // Until so many are placed. False: it would pass `most` bytes, or cost more than `most_work`.
  bool run(std::size_t until, std::uint64_t most, std::uint64_t most_work);
  std::size_t placed() const { return placed_; }
  // Of what is placed: waste counts the more the higher a section will reach, and walls count.
  double loss() const;
  // What was placed last becomes a part that copies share.
  void commit();
  template <class F>
  void for_each_place(F f) const {
    for (const Place& p : fresh_) f(p);
    for (const Batch* b = batch_.get(); b != nullptr; b = b->before.get())
      for (const Place& p : b->places) f(p);
  }

 private:
  using Valley = Waiting::Valley;
  using Found = Waiting::Found;
  struct Batch {
    std::shared_ptr<const Batch> before;
    std::vector<Place> places;
  };
  // Bytes that wait in each section; the most in a range.
  class Loads {
   public:
    explicit Loads(std::span<const std::uint64_t> loads);
    void take(std::uint32_t first, std::uint32_t end, std::uint64_t bytes);
    struct Most {
      std::uint32_t section;
      std::uint64_t bytes;
    };
    Most most(std::uint32_t first, std::uint32_t end) const;

   private:
    struct Range {
      std::uint32_t first, end;
    };
    void take(std::size_t node, Range of, Range r, std::uint64_t bytes);
    void find(std::size_t node, Range of, Range r, std::uint64_t taken, Most& best) const;
    std::uint32_t leaves_;
    std::vector<std::uint64_t> most_;   // below a node, but for what is taken from above it
    std::vector<std::uint64_t> taken_;  // from all below a node
  };
  // The lowest of the floors.
  class Floors {
   public:
    explicit Floors(std::uint32_t sections);
    void set(std::uint32_t section, std::uint64_t floor);
    std::uint64_t lowest() const { return floor_[1]; }
    std::uint32_t section() const;

   private:
    std::size_t leaves_;
    std::vector<std::uint64_t> floor_;
  };
  struct Walls {
    std::uint64_t left, right;
    std::uint64_t low() const { return left < right ? left : right; }
    std::uint64_t high() const { return left < right ? right : left; }
  };

  bool step();
  bool next_tier();
  void start_tier(const std::vector<std::uint32_t>& tier);
  void open(Valley v);
  void set_floor(Valley v, std::uint64_t floor);
  Walls walls(Valley v) const;
  std::uint32_t section_of(Valley v);
  Found choose(Valley v, std::uint32_t section, std::uint64_t floor) const;
  double cost(std::uint32_t id, Valley v, std::uint64_t floor, const Walls& w) const;
  bool fill_hole(Valley v, std::uint32_t section, std::uint64_t floor);
  std::uint64_t next_floor(Valley v, std::uint32_t section) const;
  void put(std::uint32_t id, Valley v, std::uint64_t floor);
  void raise(Valley v, std::uint32_t section, std::uint64_t floor);
  void waste(std::uint32_t section, std::uint64_t bytes);
  std::uint64_t lot();

  SharedState* shared_;
  Waiting main_;                  // of the tier that is placed
  std::vector<Waiting> fillers_;  // of those after it, the next one last
  double main_area_ = 0;
  Loads loads_;
  Floors low_;
  // Stretches of one floor: of each its end and floor, by its first section, and its first section,
  // by its last.
  std::vector<std::uint32_t> end_, first_;
  std::vector<std::uint64_t> floor_;
  std::vector<char> closed_;  // nothing of the tier waits in a stretch
  std::vector<std::uint64_t> waste_;
  std::size_t placed_ = 0;
  std::vector<Place> fresh_;
  std::shared_ptr<const Batch> batch_;
  FillingParameters parameters_;
  std::uint64_t lots_ = 1;
  std::uint64_t most_ = any_height;
  bool failed_ = false;
};

}  // namespace quern
