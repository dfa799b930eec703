// SPDX-License-Identifier: Apache-2.0
// Builds a plan section by section: the buffers that begin in a section are packed into the gaps
// between the buffers that are still live there, so that sizes (subset sums) and ends match.
//
// A gap becomes free again when its buffers end, and merges with free neighbours. Buffers are
// therefore placed next to others that end with them, or not much later: then gaps stay few and
// large, and with many buffers to choose from they can be filled to the last byte.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "graph/memory/problem/lives.h"

namespace quern {

// The buffers that begin in a section, with data shared by all packings of them.
class Arrivals {
 public:
  struct Buffer {
    std::uint64_t size;
    std::uint32_t end;        // of its life: a section
    std::uint32_t id;         // in `Lives`
    std::uint32_t group = 0;  // index of the group that ends with it
  };
  struct Pair {
    std::uint64_t size;  // sum of both
    std::uint32_t one, other;
  };

  // Lists the pairs of about `most_in_pairs` buffers, drawn evenly from all.
  explicit Arrivals(std::vector<Buffer> buffers, std::size_t most_in_pairs = 256);

  std::span<const Buffer> buffers() const { return buffers_; }  // in order of size
  std::span<const Pair> pairs() const { return pairs_; }        // likewise; maybe a sample
  // The ends of the groups, in ascending order.
  std::span<const std::uint32_t> ends() const { return ends_; }
  // Number of buffers (pairs) that are not larger than `size`.
  std::size_t count_up_to(std::uint64_t size) const;
  std::size_t count_pairs_up_to(std::uint64_t size) const;

 private:
  std::vector<Buffer> buffers_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> ends_;
};

// Parameters for choosing buffers for a gap. Sizes are multiples of a mean buffer size.
struct PackingParameters {
  enum class Distance : std::uint8_t { logarithm, share_of_life, none };

  double mismatch = 0.33;                   // cost of an end that differs from the neighbour's
  Distance distance = Distance::logarithm;  // dependence of that on the difference
  double wall = 1;   // factor on it if the buffer outlives both neighbours, splitting a gap
  double small = 4;  // gaps up to this size are filled by the best subset of few buffers
  double large = 0;  // buffers above this size choose their gaps first; 0: none do
};

// A packing up to some section: a value whose copies can be continued in different ways.
struct Packing {
  struct Block {
    std::uint64_t begin, end;
    std::uint32_t until;  // first section in which it is free
  };
  std::vector<Block> live;    // in order of address
  std::vector<Place> placed;  // since this was emptied
  std::uint64_t size = 0;     // of the arena
  std::uint64_t excess = 0;   // total size of buffers that found no gap below the height
};

class GapPacker {
 public:
  // `mean_size`: the mean size of live buffers. Fails after looking at buffers and gaps `most_work`
  // times.
  GapPacker(std::uint64_t height, double mean_size, std::uint64_t most_work)
      : height_(height), mean_size_(mean_size), most_work_(most_work) {}

  void set_parameters(const PackingParameters& parameters) { parameters_ = parameters; }
  // Packs the buffers that begin in `section`; buffers that have ended by then are removed. A
  // buffer that finds no gap below the height goes into the lowest gap above it.
  void pack(Packing& packing, const Arrivals& arrivals, std::uint32_t section);
  // True if the work limit was exceeded; packings made since then are incomplete.
  bool failed() const { return work_ > most_work_; }
  std::uint64_t work() const { return work_; }
  // Rates how fragmented the gaps of later sections will be and how much memory lies in gaps.
  double loss(const Packing& packing, std::uint32_t section) const;

 private:
  static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
  struct Gap {
    std::uint64_t begin, end;
    std::uint32_t left, right;  // ends of the neighbours
    std::uint64_t size() const { return end - begin; }
  };
  struct Subset {
    double cost;
    std::uint64_t size = 0;
    std::uint32_t count = 0;
    std::uint32_t members[3] = {};
  };

  void collect_gaps(const Packing& packing);
  void place_large(Packing& packing);
  void fill(const Gap& gap, Packing& packing);
  void fill_with_rest(const Gap& gap, Packing& packing);
  std::uint64_t take_groups(const Gap& gap, std::uint64_t room);
  std::uint32_t preferred_group(const Gap& gap, std::uint64_t room);
  Subset best_subset(std::uint64_t room) const;
  void try_singles(std::uint64_t room, Subset& best) const;
  void try_pairs(std::uint64_t room, Subset& best) const;
  void try_triples(std::uint64_t room, Subset& best) const;
  void consider(std::uint64_t room, std::span<const std::uint32_t> members, Subset& best) const;
  double mismatch(std::uint32_t end, const Gap& gap) const;
  void lay_out(const Gap& gap, Packing& packing);
  void put(std::uint32_t member, std::uint64_t at, Packing& packing);
  void place_above(std::uint32_t member, Packing& packing);
  void choose(std::uint32_t member);

  std::uint64_t height_;
  double mean_size_;
  std::uint64_t most_work_;
  std::uint64_t work_ = 0;
  PackingParameters parameters_;
  // State of the section being packed.
  const Arrivals* arrivals_ = nullptr;
  std::uint32_t section_ = 0;
  std::vector<char> taken_;
  std::size_t waiting_ = 0;  // number of buffers not taken
  std::uint64_t waiting_bytes_ = 0;
  std::vector<Gap> gaps_;
  std::vector<Packing::Block> added_;
  std::vector<std::uint32_t> chosen_;  // for the gap being filled
  std::uint32_t preferred_ = nobody;   // end of the buffers that fill most of it
  std::vector<std::uint64_t> sums_;    // of groups
  std::vector<double> mismatches_;     // likewise, in the gap being filled
};

}  // namespace quern
