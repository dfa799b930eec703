// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/offsets/filling.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/vocabulary/multiples.h"

namespace quern {
namespace {

constexpr std::uint64_t no_wall = any_height;
// A tier ends when so little of all is left of it: the last few would stand alone.
constexpr double tier_end = 0.01;
constexpr std::uint32_t widest_choice = 200;  // of a valley in which all lives are compared
constexpr int most_walls = 32;                // that are climbed to see how high a floor must rise
// Sections this near to the bound count in a loss.
constexpr double near_bound = 0.05;
constexpr double wall_loss = 10;
// Work in units of looking at one buffer.
constexpr std::uint64_t step_work = 30;
constexpr std::uint64_t raise_work = 16;

}  // namespace

SharedState::SharedState(const MemoryProblem& problem) : lives(problem), total(lives.totals()) {
  for (std::uint32_t i = 0; i < lives.count(); ++i) area += lives.area(i);
  bound = static_cast<double>(std::max<std::uint64_t>(lower_bound(problem), 1));
}

Filling::Loads::Loads(std::span<const std::uint64_t> loads)
    : leaves_(static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(loads.size(), 1)))),
      most_(std::size_t{2} * leaves_),
      taken_(std::size_t{2} * leaves_) {
  std::ranges::copy(loads, most_.begin() + leaves_);
  for (std::size_t n = leaves_; --n > 0;) most_[n] = std::max(most_[2 * n], most_[2 * n + 1]);
}

void Filling::Loads::take(std::uint32_t first, std::uint32_t end, std::uint64_t bytes) {
  take(1, {0, leaves_}, {first, end}, bytes);
}

void Filling::Loads::take(std::size_t node, Range of, Range r, std::uint64_t bytes) {
  if (r.end <= of.first || of.end <= r.first) return;
  if (r.first <= of.first && of.end <= r.end) {
    most_[node] -= bytes;
    taken_[node] += bytes;
    return;
  }
  const std::uint32_t middle = (of.first + of.end) / 2;
  take(2 * node, {of.first, middle}, r, bytes);
  take(2 * node + 1, {middle, of.end}, r, bytes);
  most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) - taken_[node];
}

Filling::Loads::Most Filling::Loads::most(std::uint32_t first, std::uint32_t end) const {
  Most best{first, 0};
  find(1, {0, leaves_}, {first, end}, 0, best);
  return best;
}

void Filling::Loads::find(std::size_t node, Range of, Range r, std::uint64_t taken,
                          Most& best) const {
  if (r.end <= of.first || of.end <= r.first || most_[node] - taken <= best.bytes) return;
  if (of.end - of.first == 1) {
    best = {of.first, most_[node] - taken};
    return;
  }
  taken += taken_[node];
  const std::uint32_t middle = (of.first + of.end) / 2;
  // The fuller half first: most often the other cannot have more.
  const bool right_first = most_[2 * node + 1] > most_[2 * node];
  if (right_first) find(2 * node + 1, {middle, of.end}, r, taken, best);
  find(2 * node, {of.first, middle}, r, taken, best);
  if (!right_first) find(2 * node + 1, {middle, of.end}, r, taken, best);
}

Filling::Floors::Floors(std::uint32_t sections)
    : leaves_(std::bit_ceil(std::max<std::size_t>(sections, 1))), floor_(2 * leaves_, no_wall) {}

void Filling::Floors::set(std::uint32_t section, std::uint64_t floor) {
  std::size_t node = leaves_ + section;
  floor_[node] = floor;
  while (node > 1) {
    node /= 2;
    const std::uint64_t lowest = std::min(floor_[2 * node], floor_[2 * node + 1]);
    if (floor_[node] == lowest) return;
    floor_[node] = lowest;
  }
}

std::uint32_t Filling::Floors::section() const {
  std::size_t node = 1;
  while (node < leaves_) {
    node *= 2;
    if (floor_[node] != floor_[node / 2]) ++node;
  }
  return static_cast<std::uint32_t>(node - leaves_);
}

Filling::Filling(SharedState& shared, const Tiers& tiers)
    : shared_(&shared),
      main_(shared.lives, tiers.front(), shared.work),
      loads_({}),
      low_(shared.lives.sections),
      end_(shared.lives.sections),
      first_(shared.lives.sections),
      floor_(shared.lives.sections),
      closed_(shared.lives.sections),
      waste_(shared.lives.sections) {
  for (std::size_t k = tiers.size(); --k > 0;)
    fillers_.emplace_back(shared.lives, tiers[k], shared.work);
  if (!end_.empty()) end_.front() = shared.lives.sections;
  start_tier(tiers.front());
}

void Filling::set_parameters(const FillingParameters& parameters, std::uint64_t seed) {
  parameters_ = parameters;
  lots_ = seed;
}

std::uint64_t Filling::lot() {
  lots_ = lots_ * 6364136223846793005U + 1442695040888963407U;
  return lots_ >> 33;
}

bool Filling::run(std::size_t until, std::uint64_t most, std::uint64_t most_work) {
  // Sections are counted with all padding, of which the highest buffer needs none.
  most_ = most == any_height ? most : most + (shared_->lives.unit - 1);
  const std::uint64_t last =
      most_work > any_height - shared_->work ? any_height : shared_->work + most_work;
  while (placed_ < until && step())
    if (shared_->work > last) failed_ = true;
  return !failed_;
}

// False if all buffers are placed or the filling failed.
bool Filling::step() {
  shared_->work += step_work;
  if (failed_) return false;
  while (low_.lowest() == no_wall || (!fillers_.empty() && main_area_ < tier_end * shared_->area))
    if (!next_tier()) return false;
  const std::uint32_t first = low_.section();
  const Valley v{first, end_[first]};
  const std::uint64_t floor = floor_[first];
  const std::uint32_t section = section_of(v);
  if (const Found found = choose(v, section, floor); found.life > 0) {
    main_.take(found.id);
    const auto [from, to] = shared_->lives.span[found.id];
    loads_.take(from, to, shared_->lives.size[found.id]);
    main_area_ -= shared_->lives.area(found.id);
    put(found.id, v, floor);
  } else if (!fill_hole(v, section, floor)) {
    raise(v, section, floor);
  }
  return !failed_;
}

// Merges the rest of the tier with the next one.
bool Filling::next_tier() {
  if (fillers_.empty()) return false;
  std::vector<std::uint32_t> tier = main_.list();
  const std::vector<std::uint32_t> next = fillers_.back().list();
  fillers_.pop_back();
  tier.insert(tier.end(), next.begin(), next.end());
  start_tier(tier);
  return true;
}

void Filling::start_tier(const std::vector<std::uint32_t>& tier) {
  const Lives& lives = shared_->lives;
  main_ = Waiting(lives, tier, shared_->work);
  loads_ = Loads(lives.totals(tier));
  main_area_ = 0;
  for (std::uint32_t id : tier) main_area_ += lives.area(id);
  low_ = Floors(lives.sections);
  std::ranges::fill(closed_, 0);
  for (std::uint32_t first = 0; first < lives.sections;) {
    std::uint32_t end = end_[first];
    while (end < lives.sections && floor_[end] == floor_[first]) end = end_[end];
    open({first, end});
    first = end;
  }
}

void Filling::open(Valley v) {
  end_[v.first] = v.end;
  first_[v.end - 1] = v.first;
  if (loads_.most(v.first, v.end).bytes == 0)
    std::fill(closed_.begin() + v.first, closed_.begin() + v.end, 1);
  else
    low_.set(v.first, floor_[v.first]);
}

// The stretch joins its neighbours where they are as high.
void Filling::set_floor(Valley v, std::uint64_t floor) {
  const Walls w = walls(v);
  if (w.left == floor) {
    v.first = first_[v.first - 1];
    low_.set(v.first, no_wall);
  }
  if (w.right == floor) {
    low_.set(v.end, no_wall);
    v.end = end_[v.end];
  }
  floor_[v.first] = floor;
  open(v);
}

Filling::Walls Filling::walls(Valley v) const {
  const bool left = v.first > 0 && closed_[v.first - 1] == 0;
  const bool right = v.end < closed_.size() && closed_[v.end] == 0;
  return {left ? floor_[first_[v.first - 1]] : no_wall, right ? floor_[v.end] : no_wall};
}

// The section for the next buffer: the one with the most waiting bytes, or a random one.
std::uint32_t Filling::section_of(Valley v) {
  if (parameters_.noise > 0 && v.end - v.first > 1 && lot() % 16 < parameters_.noise) {
    const auto s = static_cast<std::uint32_t>(v.first + lot() % (v.end - v.first));
    if (loads_.most(s, s + 1).bytes > 0) return s;
  }
  return loads_.most(v.first, v.end).section;
}

// The change of walls that a buffer makes, for each byte of its size, and for each section of its
// life.
double Filling::cost(std::uint32_t id, Valley v, std::uint64_t floor, const Walls& w) const {
  const auto [first, end] = shared_->lives.span[id];
  const auto size = static_cast<double>(std::max<std::uint64_t>(shared_->lives.size[id], 1));
  const auto side = [&](std::uint64_t wall) {
    if (wall == no_wall) return 0.0;
    const auto height = static_cast<double>(wall - floor);
    return (std::abs(height - size) - height) / size;
  };
  const double life = static_cast<double>(end - first);
  const double worth = parameters_.life_power == 0.5   ? std::sqrt(life)
                       : parameters_.life_power == 1.5 ? life * std::sqrt(life)
                       : parameters_.life_power == 2   ? life * life
                                                       : life;
  const double left = first == v.first ? side(w.left) : 1;
  const double right = end == v.end ? side(w.right) : 1;
  return (2 + parameters_.base + left + right) / worth;
}

Filling::Found Filling::choose(Valley v, std::uint32_t section, std::uint64_t floor) const {
  const Lives& lives = shared_->lives;
  const Walls w = walls(v);
  Found best = main_.longest(v, section);
  if (best.life == 0) return best;
  if (v.end - v.first <= widest_choice) {
    double least = cost(best.id, v, floor, w);
    const auto consider = [&](std::uint32_t id) {
      const double c = cost(id, v, floor, w);
      if (c >= least) return;
      least = c;
      best = {id, lives.life(id)};
    };
    main_.for_each_life(v, section, [&](std::uint32_t id) {
      consider(id);
      if (lives.span[id].first != v.first && lives.span[id].end != v.end) return;
      for (const std::uint64_t wall : {w.low(), w.high()})
        if (wall != no_wall) consider(main_.as_large(id, wall - floor));
    });
  }
  // One that ends as high as a wall makes a wider valley.
  for (const std::uint64_t wall : {w.low(), w.high()}) {
    if (wall == no_wall) continue;
    const std::uint32_t id = main_.as_large(best.id, wall - floor);
    if (lives.size[id] == wall - floor) return {id, best.life};
  }
  return best;
}

// The floor to which the valley must rise until a buffer fits.
std::uint64_t Filling::next_floor(Valley v, std::uint32_t section) const {
  std::uint64_t floor = walls(v).low();
  for (int k = 0; k < most_walls; ++k) {
    const Walls w = walls(v);
    if (w.low() == no_wall || (k > 0 && main_.longest(v, section).life > 0)) break;
    floor = std::max(floor, w.low());
    if (w.left == w.low()) v.first = first_[v.first - 1];
    if (w.right == w.low()) v.end = end_[v.end];
  }
  return floor;
}

// False if nothing fits.
bool Filling::fill_hole(Valley v, std::uint32_t section, std::uint64_t floor) {
  if (fillers_.empty() || walls(v).low() == no_wall) return false;
  const std::uint64_t room = next_floor(v, section) - floor;
  for (std::size_t k = fillers_.size(); k-- > 0;) {
    const Found found = fillers_[k].longest(v, section, room);
    if (found.life == 0) continue;
    fillers_[k].take(found.id);
    put(found.id, v, floor);
    return true;
  }
  return false;
}

void Filling::put(std::uint32_t id, Valley v, std::uint64_t floor) {
  const Lives& lives = shared_->lives;
  const std::uint64_t alignment = lives.alignment[id];
  const std::uint64_t offset = round_up(floor, alignment);
  const auto [first, end] = lives.span[id];
  if (offset != floor)
    for (std::uint32_t s = first; s < end; ++s) waste(s, offset - floor);
  fresh_.push_back({id, offset});
  ++placed_;
  const std::uint64_t top = offset + lives.size[id];
  if (top > most_) failed_ = true;
  low_.set(v.first, no_wall);
  if (v.first < first) open({v.first, first});
  if (end < v.end) {
    floor_[end] = floor;
    open({end, v.end});
  }
  set_floor({first, end}, top);
}

void Filling::raise(Valley v, std::uint32_t section, std::uint64_t floor) {
  const std::uint64_t wall = walls(v).low();
  if (wall == no_wall) {
    failed_ = true;
    return;
  }
  shared_->work += raise_work;
  waste(section, wall - floor);
  low_.set(v.first, no_wall);
  if (v.first < section) open({v.first, section});
  if (section + 1 < v.end) {
    floor_[section + 1] = floor;
    open({section + 1, v.end});
  }
  set_floor({section, section + 1}, wall);
}

void Filling::waste(std::uint32_t section, std::uint64_t bytes) {
  waste_[section] += bytes;
  if (shared_->total[section] + waste_[section] > most_) failed_ = true;
}

double Filling::loss() const {
  double sum = 0;
  for (std::size_t s = 0; s < waste_.size(); ++s) {
    const double reach = static_cast<double>(shared_->total[s] + waste_[s]) / shared_->bound;
    const double x = (reach - 1 + near_bound) / near_bound;
    if (x <= 0) continue;
    const double x2 = x * x;
    sum += x2 * x2 * x2 * x2;
  }
  double walls = 0;
  for (std::uint32_t s = end_.empty() ? 0 : end_[0]; s < closed_.size(); s = end_[s])
    if (closed_[s] == 0 && closed_[s - 1] == 0)
      walls +=
          std::abs(static_cast<double>(floor_[s]) - static_cast<double>(floor_[first_[s - 1]])) /
          shared_->bound;
  return (sum + wall_loss * walls) / static_cast<double>(std::max<std::size_t>(waste_.size(), 1));
}

void Filling::commit() {
  batch_ = std::make_shared<const Batch>(Batch{batch_, std::move(fresh_)});
  fresh_.clear();
}

}  // namespace quern
