// SPDX-License-Identifier: Apache-2.0
// Whole layers of networks: softmax, norms, attention and recurrent ones.
#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {
namespace {

constexpr FamilyRow layers[] = {
    {"softmax",
     R"(input %0 "x": f32[4,23]
%1: f32[4,23] = Softmax(%0) kind=softmax axis=1
output %1 "y")",
     {-5, 5},
     0.005},
    {"log_softmax",
     R"(input %0 "x": f32[4,23]
%1: f32[4,23] = Softmax(%0) kind=log_softmax axis=1
output %1 "y")",
     {-5, 5},
     0.005},
    {"log_softmax of large numbers",
     R"(input %0 "x": f32[4,23]
const %1: f32[] = {10000}
%2: f32[4,23] = Binary(%0, %1) kind=add
%3: f32[4,23] = Softmax(%2) kind=log_softmax axis=1
output %3 "y")",
     {-5, 5, 0.5},
     0.005},
    {"layer norm",
     R"(input %0 "x": f32[5,24]
input %1 "s": f32[24]
input %2 "b": f32[24]
%3: f32[5,24] = LayerNorm(%0, %1, %2)
output %3 "y")",
     {-2, 2},
     0.0005},
    {"layer norm with a scale for each row",
     R"(input %0 "x": f32[5,24]
input %1 "s": f32[5,24]
input %2 "b": f32[5,1]
%3: f32[5,24] = LayerNorm(%0, %1, %2)
output %3 "y")",
     {-2, 2},
     0.0005},
    {"rms norm",
     R"(input %0 "x": f32[5,24]
input %1 "s": f32[24]
%3: f32[5,24] = LayerNorm(%0, %1) center=false
output %3 "y")",
     {-2, 2},
     0.002},
    {"group norm",
     R"(input %0 "x": f32[2,6,5,5]
input %1 "s": f32[6]
input %2 "b": f32[6]
%3: f32[2,6,5,5] = GroupNorm(%0, %1, %2) groups=2
output %3 "y")",
     {-2, 2},
     0.0002},
    {"batch norm",
     R"(input %0 "x": f32[2,6,5,5]
input %1 "s": f32[6]
input %2 "b": f32[6]
input %3 "m": f32[6]
input %4 "v": f32[6]
%5: f32[2,6,5,5] = BatchNorm(%0, %1, %2, %3, %4)
output %5 "y")",
     {0.1, 2},
     0.01},
    {"lrn",
     R"(input %0 "x": f32[2,8,3,3]
%1: f32[2,8,3,3] = Lrn(%0) size=5 alpha=0.5 beta=0.75 bias=1
output %1 "y")",
     {-2, 2},
     0.005},
    {"lp norm 1",
     R"(input %0 "x": f32[4,12]
%1: f32[4,12] = LpNorm(%0) axis=-1 p=1
output %1 "y")",
     {-2, 2},
     0.005},
    {"lp norm 2",
     R"(input %0 "x": f32[4,12]
%1: f32[4,12] = LpNorm(%0) axis=-1 p=2
output %1 "y")",
     {-2, 2},
     0.005},
    {"attention",
     R"(input %0 "q": f32[2,4,6,8]
input %1 "k": f32[2,2,10,8]
input %2 "v": f32[2,2,10,5]
input %3 "m": f32[6,10]
%4: f32[2,4,6,5] = Attention(%0, %1, %2, %3) scale=0.35
output %4 "y")",
     {-2, 2},
     0.001},
    {"attention to a cache",
     R"(input %0 "q": f32[2,4,3,8]
input %1 "past": f32[2,2,10,8]
input %2 "k": f32[2,2,3,8]
input %3 "v": f32[2,2,10,5]
input %4 "bias": f32[3,10]
input %5 "sink": f32[4]
const %6: i64[2] = {5, 2}
const %7: i64[1] = {10}
%8: f32[2,2,10,8] = CacheAppend(%1, %2, %6, %7)
%9: f32[2,4,3,5] = CachedAttention(%0, %8, %3, %6, %4, %5) scale=0.35 softcap=3 window=4
output %8 "present"
output %9 "y")",
     {-2, 2},
     0.001},
    {"lstm",
     R"(input %0 "x": f32[5,2,4]
input %1 "w": f32[2,12,4]
input %2 "r": f32[2,12,3]
input %3 "b": f32[2,24]
%4: f32[5,2,2,3], %5: f32[2,2,3] = Rnn(%0, %1, %2, %3) kind=lstm direction=bidirectional hidden_size=3
output %4 "y"
output %5 "h")",
     {-0.8, 0.8},
     0.001},
    {"gru",
     R"(input %0 "x": f32[5,2,4]
input %1 "w": f32[2,9,4]
input %2 "r": f32[2,9,3]
input %3 "b": f32[2,18]
%4: f32[5,2,2,3], %5: f32[2,2,3] = Rnn(%0, %1, %2, %3) kind=gru direction=bidirectional hidden_size=3
output %4 "y"
output %5 "h")",
     {-0.8, 0.8},
     0.001},
    {"rnn",
     R"(input %0 "x": f32[5,2,4]
input %1 "w": f32[2,3,4]
input %2 "r": f32[2,3,3]
input %3 "b": f32[2,6]
%4: f32[5,2,2,3], %5: f32[2,2,3] = Rnn(%0, %1, %2, %3) kind=rnn direction=bidirectional hidden_size=3
output %4 "y"
output %5 "h")",
     {-0.8, 0.8},
     0.001},
};

}  // namespace

std::vector<Family> layer_families() {
  return families_of(layers);
}

}  // namespace quern::testing
