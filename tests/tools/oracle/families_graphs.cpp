// SPDX-License-Identifier: Apache-2.0
// A loop, and graphs that the passes rewrite.
#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {
namespace {

constexpr FamilyRow graphs[] = {
    {"loop",
     R"(input %0 "x": f32[4]
const %1: i64[] = {5}
const %2: bool[] = {true}
%3: f32[4], %4: f32[?,4] = Loop(%1, %2, %0) carried=1 {
  graph "body" {
    input %0 "i": i64[]
    input %1 "c": bool[]
    input %2 "x": f32[4]
    %3: f32[4] = Unary(%2) kind=tanh
    %4: f32[4] = Binary(%3, %2) kind=mul
    output %1 "c"
    output %3 "x"
    output %4 "s"
  }
}
output %3 "y"
output %4 "s")",
     {-2, 2},
     0.005},
    {"conv and batch norm",
     R"(input %0 "x": f32[1,6,9,9]
const %1: f32[8,6,3,3] = ...
const %2: f32[8] = {0.3, -0.2, 0.17, 0.41, 0.05, 1, 2, 3}
const %3: f32[8] = {1.3, 0.2, 1.7, 0.4, 5, -1, 2, 0.3}
const %4: f32[8] = {0.3, -0.7, 0.17, 100, 0.05, 1, -50, 3}
const %5: f32[8] = {0.3, 0.2, 0.17, 0.41, 0.05, 1, 2, 3}
%6: f32[1,8,7,7] = Conv(%0, %1, %2) kernel=[3,3]
%7: f32[1,8,7,7] = BatchNorm(%6, %3, %2, %4, %5)
%8: f32[1,8,7,7] = Unary(%7) kind=relu
output %8 "y")",
     {-2, 2},
     0.001},
    {"shifted and scaled conv",
     R"(input %0 "x": f32[1,3,9,9]
const %1: f32[4,3,3,3] = ...
const %2: f32[3,1,1] = {123.675, 116.28, 103.53}
const %3: f32[3,1,1] = {58.4, 57.1, 57.4}
%4: f32[1,3,9,9] = Binary(%0, %2) kind=sub
%5: f32[1,3,9,9] = Binary(%4, %3) kind=div
%6: f32[1,4,7,7] = Conv(%5, %1) kernel=[3,3]
output %6 "y")",
     {0, 255},
     0.001},
    {"scaled matmul with bias",
     R"(input %0 "x": f32[5,12]
const %1: f32[12,4] = ...
const %2: f32[4] = {0.3, -0.2, 100, 0.41}
const %3: f32[4] = {1.3, 0.2, 1.7, 0.4}
%4: f32[5,4] = MatMul(%0, %1)
%5: f32[5,4] = Binary(%4, %2) kind=add
%6: f32[5,4] = Binary(%5, %3) kind=mul
%7: f32[5,4] = Unary(%6) kind=gelu
output %7 "y")",
     {-2, 2},
     0.001},
    {"spelled softmax",
     R"(input %0 "x": f32[5,12]
const %1: i64[1] = {1}
%2: f32[5,1] = Reduce(%0, %1) kind=max
%3: f32[5,12] = Binary(%0, %2) kind=sub
%4: f32[5,12] = Unary(%3) kind=exp
%5: f32[5,1] = Reduce(%4, %1) kind=sum
%6: f32[5,12] = Binary(%4, %5) kind=div
output %6 "y")",
     {-8, 8},
     0.001},
    {"spelled log softmax of large numbers",
     R"(input %0 "x": f32[5,12]
const %1: i64[1] = {1}
%2: f32[5,1] = Reduce(%0, %1) kind=max
%3: f32[5,12] = Binary(%0, %2) kind=sub
%4: f32[5,12] = Unary(%3) kind=exp
%5: f32[5,1] = Reduce(%4, %1) kind=sum
%6: f32[5,1] = Unary(%5) kind=log
%7: f32[5,12] = Binary(%3, %6) kind=sub
output %7 "y")",
     {9990, 10010},
     0.001},
    {"spelled layer norm",
     R"(input %0 "x": f32[5,12]
const %1: i64[1] = {1}
const %2: f32[] = {0.00001}
const %3: f32[] = {2}
const %4: f32[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
%5: f32[5,1] = Reduce(%0, %1) kind=mean
%6: f32[5,12] = Binary(%0, %5) kind=sub
%7: f32[5,12] = Binary(%6, %3) kind=pow
%8: f32[5,1] = Reduce(%7, %1) kind=mean
%9: f32[5,1] = Binary(%8, %2) kind=add
%10: f32[5,1] = Unary(%9) kind=sqrt
%11: f32[5,12] = Binary(%6, %10) kind=div
%12: f32[5,12] = Binary(%11, %4) kind=mul
%13: f32[5,12] = Binary(%12, %4) kind=add
output %13 "y")",
     {-2, 2},
     0.001},
    {"spelled gelu",
     R"(input %0 "x": f32[5,12]
const %1: f32[] = {1.4142135}
const %2: f32[] = {1}
const %3: f32[] = {0.5}
%4: f32[5,12] = Binary(%0, %1) kind=div
%5: f32[5,12] = Unary(%4) kind=erf
%6: f32[5,12] = Binary(%5, %2) kind=add
%7: f32[5,12] = Binary(%0, %6) kind=mul
%8: f32[5,12] = Binary(%7, %3) kind=mul
output %8 "y")",
     {-6, 6},
     0.001},
    {"spelled attention",
     R"(input %0 "q": f32[2,6,8]
input %1 "k": f32[2,10,8]
input %2 "v": f32[2,10,5]
const %3: f32[] = {0.35}
%4: f32[2,6,10] = MatMul(%0, %1) transpose_b=true
%5: f32[2,6,10] = Binary(%4, %3) kind=mul
%6: f32[2,6,10] = Softmax(%5) axis=-1
%7: f32[2,6,5] = MatMul(%6, %2)
output %7 "y")",
     {-2, 2},
     0.001},
    {"residual of convs",
     R"(input %0 "x": f32[1,4,8,8]
const %1: f32[4,4,3,3] = ...
%2: f32[1,4,8,8] = Conv(%0, %1) kernel=[3,3] pads=[1,1,1,1]
%3: f32[1,4,8,8] = Binary(%2, %0) kind=add
%4: f32[1,4,8,8] = Unary(%3) kind=swish alpha=1
%5: f32[1,4,8,8] = Conv(%4, %1) kernel=[3,3] pads=[1,1,1,1]
%6: f32[1,4,8,8] = Binary(%5, %4) kind=add
output %6 "y"
output %3 "z")",
     {-2, 2},
     0.001},
};

}  // namespace

std::vector<Family> graph_families() {
  return families_of(graphs);
}

}  // namespace quern::testing
