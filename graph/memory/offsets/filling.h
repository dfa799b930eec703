// SPDX-License-Identifier: Apache-2.0
// A partly built skyline, for valleys.h: a value whose copies can be continued in different ways.
#pragma once

#include <memory>

#include "graph/memory/problem/lives.h"

namespace quern {

// State shared by all fillings of a problem.
struct SharedState {
  explicit SharedState(const MemoryProblem& problem);

  Lives lives;
  std::vector<std::uint64_t> total;  // bytes live in each section
  double area = 0;                   // sum of size x life
  double bound = 1;
  std::uint64_t work = 0;
};

// Buffers in tiers: each tier is placed after the previous ones, or into the holes that they leave.
using Tiers = std::vector<std::vector<std::uint32_t>>;

// Parameters for choosing the next buffer.
struct FillingParameters {
  unsigned noise = 0;     // of 16 choices, those at a random place in the valley
  double life_power = 1;  // exponent of the life in a buffer's worth
  double base = 0.1;      // added to the cost: reduces the weight of the walls
};

class Filling {
 public:
  Filling(SharedState& shared, const Tiers& tiers);

  void set_parameters(const FillingParameters& parameters, std::uint64_t seed);
  // Runs until `until` buffers are placed. False if the plan would exceed `most` bytes or the run
  // would cost more than `most_work`.
  bool run(std::size_t until, std::uint64_t most, std::uint64_t most_work);
  std::size_t placed() const { return placed_; }
  // Rates the placed buffers: waste counts more the higher its section will reach, and walls count.
  double loss() const;
  // Moves the latest placements into a batch that copies share.
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
  // Waiting bytes per section, with queries for the maximum of a range.
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
    std::vector<std::uint64_t> most_;   // maximum below a node, less what is taken above it
    std::vector<std::uint64_t> taken_;  // from all sections below a node
  };
  // The floors of the sections, with a query for the lowest.
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
  Waiting main_;                  // the tier being placed
  std::vector<Waiting> fillers_;  // the tiers after it, the next one last
  double main_area_ = 0;
  Loads loads_;
  Floors low_;
  // Stretches of equal floor: end_ and floor_ are indexed by the first section, first_ by the last.
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
