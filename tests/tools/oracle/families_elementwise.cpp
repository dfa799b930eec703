// SPDX-License-Identifier: Apache-2.0
// Unary and binary operators of every kind, and a chain of them.
#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {
namespace {

constexpr std::string_view unary_graph = R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=$
output %1 "y")";
constexpr KindRow unary_kinds[] = {
    {"abs", {-2, 2}, 0},
    {"neg", {-2, 2}, 0},
    {"sqrt", {0.01, 4}, 0.005},
    {"reciprocal", {0.2, 3}, 0.005},
    {"exp", {-6, 6}, 0.005},
    {"log", {0.01, 4}, 0.005},
    {"sin", {-6, 6}, 0.005},
    {"cos", {-6, 6}, 0.005},
    {"tan", {-1.2, 1.2}, 0.005},
    {"asin", {-0.9, 0.9}, 0.005},
    {"acos", {-0.9, 0.9}, 0.005},
    {"atan", {-2, 2}, 0.005},
    {"sinh", {-2, 2}, 0.005},
    {"cosh", {-2, 2}, 0.005},
    {"tanh", {-2, 2}, 0.005},
    {"asinh", {-2, 2}, 0.005},
    {"acosh", {1.1, 4}, 0.005},
    {"atanh", {-0.9, 0.9}, 0.005},
    {"erf", {-2, 2}, 0.005},
    {"sigmoid", {-8, 8}, 0.005},
    {"relu", {-2, 2}, 0},
    {"softplus", {-8, 8}, 0.005},
    {"softsign", {-2, 2}, 0.005},
    {"mish", {-8, 8}, 0.005},
    {"gelu", {-6, 6}, 0.005},
    {"gelu_tanh", {-6, 6}, 0.005},
    {"hard_swish", {-5, 5}, 0.005},
    {"round", {-2, 2}, 0},
    {"floor", {-2, 2}, 0},
    {"ceil", {-2, 2}, 0},
    {"sign", {-2, 2}, 0},
    {"leaky_relu alpha=0.1", {-6, 6}, 0.005},
    {"elu alpha=1.3", {-6, 6}, 0.005},
    {"selu alpha=1.67 beta=1.05", {-6, 6}, 0.005},
    {"celu alpha=0.7", {-6, 6}, 0.005},
    {"hard_sigmoid alpha=0.2 beta=0.5", {-6, 6}, 0.005},
    {"swish alpha=1", {-6, 6}, 0.005},
    {"thresholded_relu alpha=1", {-6, 6}, 0},
    {"shrink alpha=0.5 beta=0.1", {-6, 6}, 0.005},
    {"clip alpha=-1 beta=1.5", {-6, 6}, 0},
};

constexpr std::string_view binary_graph = R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=$
output %2 "y")";
constexpr KindRow binary_kinds[] = {
    {"add", {-2, 2}, 0.05},   {"sub", {-2, 2}, 0.05}, {"mul", {-2, 2}, 0.05},
    {"div", {0.3, 3}, 0.05},  {"min", {-2, 2}, 0},    {"max", {-2, 2}, 0},
    {"pow", {0.3, 3}, 0.05},  {"mod", {0.3, 3}, 0},   {"fmod", {0.3, 3}, 0},
    {"prelu", {-2, 2}, 0.05},
};

constexpr FamilyRow chains[] = {
    {"chain of elementwise",
     R"(input %0 "a": f32[4,32]
input %1 "b": f32[32]
%2: f32[4,32] = Binary(%0, %1) kind=mul
%3: f32[4,32] = Unary(%2) kind=tanh
%4: f32[4,32] = Binary(%3, %0) kind=add
%5: f32[4,32] = Unary(%4) kind=exp
%6: f32[4,32] = Binary(%5, %1) kind=sub
%7: f32[4,32] = Unary(%6) kind=swish alpha=1
output %7 "y")",
     {-2, 2},
     0.01},
};

}  // namespace

std::vector<Family> elementwise_families() {
  return joined({families_of_kinds("unary", unary_graph, unary_kinds),
                 families_of_kinds("binary", binary_graph, binary_kinds), families_of(chains)});
}

}  // namespace quern::testing
