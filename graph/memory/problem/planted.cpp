// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/planted.h"

#include <algorithm>
#include <random>

namespace quern {
namespace {

struct Area {
  std::int64_t first, end;
  std::uint64_t size;

  double extent() const { return static_cast<double>(end - first) * static_cast<double>(size); }
};

// std::uniform_int_distribution is not the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  double share() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

// False if there is nothing to cut along the chosen side.
bool cut(std::vector<Area>& areas, std::size_t at, Random& random) {
  Area& a = areas[at];
  Area rest = a;
  const auto life = static_cast<std::uint64_t>(a.end - a.first);
  if (random.below(2) == 0) {
    if (life < 2) return false;
    rest.first = a.end = a.first + 1 + static_cast<std::int64_t>(random.below(life - 1));
  } else {
    if (a.size < 2) return false;
    const std::uint64_t lower = 1 + random.below(a.size - 1);
    rest.size = a.size - lower;
    a.size = lower;
  }
  areas.push_back(rest);
  return true;
}

}  // namespace

MemoryProblem planted_problem(const Planted& wanted) {
  Random random(wanted.seed);
  std::vector<Area> areas = {{0, wanted.steps, wanted.capacity}};
  // Unit areas cannot be cut: an end to asking for more of them.
  for (std::size_t failures = 0; areas.size() < wanted.buffers && failures < 1000;) {
    const std::size_t one = random.below(areas.size());
    const std::size_t other = random.below(areas.size());
    const std::size_t larger = areas[one].extent() < areas[other].extent() ? other : one;
    failures = cut(areas, larger, random) ? 0 : failures + 1;
  }
  const auto full =
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(wanted.steps)));
  std::erase_if(areas, [&](const Area& a) {
    const bool lives = a.first <= full && full < a.end;
    return random.share() < wanted.drop && !lives;
  });
  for (std::size_t i = areas.size(); i > 1; --i) std::swap(areas[i - 1], areas[random.below(i)]);
  MemoryProblem problem;
  for (const Area& a : areas) {
    Interval i;
    i.name = std::to_string(problem.intervals.size());
    i.size = a.size;
    i.alignment = 1;
    i.first = a.first;
    i.end = a.end;
    problem.intervals.push_back(std::move(i));
  }
  return problem;
}

}  // namespace quern
