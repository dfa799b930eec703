// SPDX-License-Identifier: Apache-2.0
// Places for the nodes of an acyclic graph, in rows from top to bottom. Sugiyama, Tagawa, Toda:
// "Methods for visual understanding of hierarchical system structures", IEEE Transactions on
// Systems, Man, and Cybernetics 11(2), 1981, with the steps below.
//
//   rows       the longest path to a node; nodes that read little come down to their readers
//   wires      one line for each value from row to row, from which its readers branch off
//   order      barycentres, eight sweeps at most, of which the one with the fewest crossings stays
//   abscissas  Brandes, Köpf: "Fast and simple horizontal coordinate assignment", GD 2001, with a
//              compaction by longest paths; a path of nodes is straight where its value is read
//              once
//
// Time and memory are about linear in nodes, wires and the rows that wires pass, and the last are
// bounded: the longest wires end in stubs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern::tools {

// A value and the nodes that read it, as numbers of nodes. Readers come after the node that makes
// it, each once.
struct LayoutWire {
  std::uint32_t from = 0;
  std::vector<std::uint32_t> to;
};

// In pixels at a scale of 1.
struct LayoutSizes {
  double node = 148;  // width
  double gap = 18;    // between two nodes, or a node and a wire
  double wire = 10;   // between two wires
  // Rows that all wires together may pass, for each node; wires beyond that are stubs.
  std::size_t passed_rows = 8;
};

struct Layout {
  std::size_t rows = 0;
  double width = 0;
  std::vector<std::uint32_t> row;       // by node
  std::vector<double> x;                // by node: its middle, from 0 to `width`
  std::vector<std::vector<double>> at;  // by wire: its x in the rows after its node's, in order, up
                                        // to the row above its last reader; a stub has none
  std::vector<bool> is_stub;            // by wire: readers in the next row are connected all the
                                        // same
};

Layout layered_layout(std::size_t nodes, const std::vector<LayoutWire>& wires,
                      const LayoutSizes& sizes = {});

// What layered_layout() does one after the other, over vertices: the nodes, then a vertex for each
// row that a wire passes.
struct LayeredGraph {
  std::size_t nodes = 0;
  std::vector<std::vector<std::uint32_t>> rows;   // vertices from left to right
  std::vector<std::uint32_t> row;                 // by vertex
  std::vector<std::uint32_t> place;               // by vertex: within its row
  std::vector<std::vector<std::uint32_t>> above;  // by vertex: neighbours in the row above
  std::vector<std::vector<std::uint32_t>> below;

  std::size_t size() const { return row.size(); }
  bool is_node(std::uint32_t vertex) const { return vertex < nodes; }
};

// The row of each node.
std::vector<std::uint32_t> rows_of(std::size_t nodes, const std::vector<LayoutWire>& wires);
// Orders each row so that few links cross.
void reduce_crossings(LayeredGraph& graph);
// The number of pairs of links between neighbouring rows that cross.
std::uint64_t crossings(const LayeredGraph& graph);
// The middle of each vertex, the leftmost edge of a node at 0.
std::vector<double> abscissas(const LayeredGraph& graph, const LayoutSizes& sizes);

}  // namespace quern::tools
