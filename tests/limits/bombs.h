// SPDX-License-Identifier: Apache-2.0
// Graphs of any number of nodes whose compilation once took the square of it, or more.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "tests/engine/engine_test.h"

namespace quern::testing {

struct Bomb {
  const char* name;
  int nodes_each;  // that a round of `build` adds
  std::function<void(GraphBuilder&, Operand x, int rounds)> build;

  Model make(int rounds) const {
    GraphBuilder g(name);
    build(g, g.input("x", DType::f32, {1, 8}), rounds);
    return must(g.build(), "build");
  }
};
inline void PrintTo(const Bomb& bomb, std::ostream* to) {
  *to << bomb.name;
}

inline const Bomb bombs[] = {
    {"chain", 1,
     [](GraphBuilder& g, Operand x, int n) {
       for (int i = 0; i < n; ++i) x = g.softmax(x);
       g.output("y", x);
     }},
    {"sum_of_many", 3,
     [](GraphBuilder& g, Operand x, int n) {
       Operand sum = x;
       for (int i = 0; i < n; ++i) sum = g.add(sum, g.softmax(g.add(x, g.scalar(i))));
       g.output("y", sum);
     }},
    {"concat_of_many", 2,
     [](GraphBuilder& g, Operand x, int n) {
       Operands parts;
       for (int i = 0; i < n; ++i) parts.push_back(g.softmax(g.add(x, g.scalar(i))));
       g.output("y", g.concat(parts, 1));
     }},
    {"list_that_grows", 3,
     [](GraphBuilder& g, Operand x, int n) {
       Operand list = x;
       for (int i = 0; i < n; ++i) {
         const Operand sum = g.reduce("sum", list, {1}, {.keepdims = true});
         list = g.concat({list, g.softmax(sum)}, 1);
       }
       g.output("y", list);
     }},
    {"many_outputs_of_split", 2,
     [](GraphBuilder& g, Operand, int n) {
       const Operands parts =
           g.ops("Split", {g.input("wide", DType::f32, {1, n})}, "axis=1", static_cast<size_t>(n));
       Operands made;
       for (const Operand& part : parts) made.push_back(g.softmax(part));
       g.output("y", g.concat(made, 1));
     }},
    {"many_inputs", 1,
     [](GraphBuilder& g, Operand x, int n) {
       Operands lists;
       Operands parts = {x};
       for (int i = 0; i < n; ++i) {
         parts.push_back(g.softmax(g.input("x" + std::to_string(i), DType::f32, {1, 8})));
         if (parts.size() < 1000 && i + 1 < n) continue;
         lists.push_back(g.concat(parts, 1));
         parts.clear();
       }
       g.output("y", g.concat(lists, 1));
     }},
    {"many_outputs", 1,
     [](GraphBuilder& g, Operand x, int n) {
       for (int i = 0; i < n; ++i) {
         x = g.softmax(x);
         g.output("y" + std::to_string(i), x);
       }
     }},
    {"sums_of_constants", 2,
     [](GraphBuilder& g, Operand x, int n) {
       Operand c = g.constant(pattern({1, 8}));
       for (int i = 0; i < n; ++i) c = g.add(g.tanh(c), c);
       g.output("y", g.add(x, c));
     }},
};

}  // namespace quern::testing
