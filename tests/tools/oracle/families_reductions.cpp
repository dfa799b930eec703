// SPDX-License-Identifier: Apache-2.0
// Reductions, running sums and products, and pools.
#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {
namespace {

constexpr std::string_view reduce_graph = R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=$ keepdims=false
output %2 "y")";
constexpr KindRow reduce_kinds[] = {
    {"sum", {-2, 2}, 0.004},      {"mean", {-2, 2}, 0.004},        {"max", {-2, 2}, 0},
    {"min", {-2, 2}, 0},          {"prod", {-2, 2}, 0.004},        {"l1", {-2, 2}, 0.004},
    {"l2", {-2, 2}, 0.004},       {"log_sum_exp", {-2, 2}, 0.004}, {"sum_square", {-2, 2}, 0.004},
    {"log_sum", {0.1, 2}, 0.004},
};

constexpr std::string_view cumulative_graph = R"(input %0 "x": f32[3,17]
const %1: i64[] = {1}
%2: f32[3,17] = Cumulative(%0, %1) kind=$ reverse=true
output %2 "y")";
constexpr KindRow cumulative_kinds[] = {
    {"sum", {-2, 2}, 0.004},
    {"prod", {-2, 2}, 0.004},
};

constexpr FamilyRow pools[] = {
    {"pool average",
     R"(input %0 "x": f32[2,3,9,9]
%1: f32[2,3,5,5] = Pool(%0) kind=average kernel=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=true
output %1 "y")",
     {-2, 2},
     0.005},
    {"pool lp",
     R"(input %0 "x": f32[2,3,9,9]
%1: f32[2,3,5,5] = Pool(%0) kind=lp kernel=[3,3] strides=[2,2] pads=[1,1,1,1] p=2
output %1 "y")",
     {-2, 2},
     0.005},
    {"pool max",
     R"(input %0 "x": f32[2,3,9,9]
%1: f32[2,3,5,5] = Pool(%0) kind=max kernel=[3,3] strides=[2,2] pads=[1,1,1,1] 
output %1 "y")",
     {-2, 2},
     0},
};

}  // namespace

std::vector<Family> reduction_families() {
  return joined({families_of_kinds("reduce", reduce_graph, reduce_kinds),
                 families_of_kinds("cumulative", cumulative_graph, cumulative_kinds),
                 families_of(pools)});
}

}  // namespace quern::testing
