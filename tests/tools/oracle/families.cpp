// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/oracle/families.h"

namespace quern::testing {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"unary abs",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=abs
output %1 "y")",
       {-2, 2, 0},
       0},
      {"unary neg",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=neg
output %1 "y")",
       {-2, 2, 0},
       0},
      {"unary sqrt",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=sqrt
output %1 "y")",
       {0.01, 4, 0},
       0.005},
      {"unary reciprocal",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=reciprocal
output %1 "y")",
       {0.2, 3, 0},
       0.005},
      {"unary exp",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=exp
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary log",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=log
output %1 "y")",
       {0.01, 4, 0},
       0.005},
      {"unary sin",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=sin
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary cos",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=cos
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary tan",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=tan
output %1 "y")",
       {-1.2, 1.2, 0},
       0.005},
      {"unary asin",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=asin
output %1 "y")",
       {-0.9, 0.9, 0},
       0.005},
      {"unary acos",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=acos
output %1 "y")",
       {-0.9, 0.9, 0},
       0.005},
      {"unary atan",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=atan
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"unary sinh",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=sinh
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"unary cosh",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=cosh
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"unary tanh",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=tanh
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"unary asinh",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=asinh
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"unary acosh",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=acosh
output %1 "y")",
       {1.1, 4, 0},
       0.005},
      {"unary atanh",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=atanh
output %1 "y")",
       {-0.9, 0.9, 0},
       0.005},
      {"unary erf",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=erf
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"unary sigmoid",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=sigmoid
output %1 "y")",
       {-8, 8, 0},
       0.005},
      {"unary relu",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=relu
output %1 "y")",
       {-2, 2, 0},
       0},
      {"unary softplus",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=softplus
output %1 "y")",
       {-8, 8, 0},
       0.005},
      {"unary softsign",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=softsign
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"unary mish",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=mish
output %1 "y")",
       {-8, 8, 0},
       0.005},
      {"unary gelu",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=gelu
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary gelu_tanh",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=gelu_tanh
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary hard_swish",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=hard_swish
output %1 "y")",
       {-5, 5, 0},
       0.005},
      {"unary round",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=round
output %1 "y")",
       {-2, 2, 0},
       0},
      {"unary floor",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=floor
output %1 "y")",
       {-2, 2, 0},
       0},
      {"unary ceil",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=ceil
output %1 "y")",
       {-2, 2, 0},
       0},
      {"unary sign",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=sign
output %1 "y")",
       {-2, 2, 0},
       0},
      {"unary leaky_relu",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=leaky_relu alpha=0.1
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary elu",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=elu alpha=1.3
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary selu",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=selu alpha=1.67 beta=1.05
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary celu",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=celu alpha=0.7
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary hard_sigmoid",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=hard_sigmoid alpha=0.2 beta=0.5
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary swish",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=swish alpha=1
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary thresholded_relu",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=thresholded_relu alpha=1
output %1 "y")",
       {-6, 6, 0},
       0},
      {"unary shrink",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=shrink alpha=0.5 beta=0.1
output %1 "y")",
       {-6, 6, 0},
       0.005},
      {"unary clip",
       R"(input %0 "x": f32[4,33]
%1: f32[4,33] = Unary(%0) kind=clip alpha=-1 beta=1.5
output %1 "y")",
       {-6, 6, 0},
       0},
      {"binary add",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=add
output %2 "y")",
       {-2, 2, 0},
       0.05},
      {"binary sub",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=sub
output %2 "y")",
       {-2, 2, 0},
       0.05},
      {"binary mul",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=mul
output %2 "y")",
       {-2, 2, 0},
       0.05},
      {"binary div",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=div
output %2 "y")",
       {0.3, 3, 0},
       0.05},
      {"binary min",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=min
output %2 "y")",
       {-2, 2, 0},
       0},
      {"binary max",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=max
output %2 "y")",
       {-2, 2, 0},
       0},
      {"binary pow",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=pow
output %2 "y")",
       {0.3, 3, 0},
       0.05},
      {"binary mod",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=mod
output %2 "y")",
       {0.3, 3, 0},
       0},
      {"binary fmod",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=fmod
output %2 "y")",
       {0.3, 3, 0},
       0},
      {"binary prelu",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[4,1]
%2: f32[3,4,5] = Binary(%0, %1) kind=prelu
output %2 "y")",
       {-2, 2, 0},
       0.05},
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
       {-2, 2, 0},
       0.01},
      {"conv",
       R"(input %0 "x": f32[2,6,9,11]
input %1 "w": f32[8,3,3,3]
input %2 "b": f32[8]
%3: f32[2,8,5,6] = Conv(%0, %1, %2) strides=[2,2] pads=[1,1,1,1] group=2 kernel=[3,3]
output %3 "y")",
       {-2, 2, 0},
       0.005},
      {"conv transpose",
       R"(input %0 "x": f32[2,4,5,6]
input %1 "w": f32[4,3,3,3]
%3: f32[2,6,11,13] = ConvTranspose(%0, %1) strides=[2,2] group=2 kernel=[3,3]
output %3 "y")",
       {-2, 2, 0},
       0.005},
      {"matmul",
       R"(input %0 "a": f32[3,7,40]
input %1 "b": f32[40,9]
%2: f32[3,7,9] = MatMul(%0, %1) alpha=-1.5
output %2 "y")",
       {-2, 2, 0},
       0.003},
      {"two products",
       R"(input %0 "a": f32[7,40]
input %1 "b": f32[40,9]
input %2 "c": f32[9,5]
%3: f32[7,9] = MatMul(%0, %1)
%4: f32[7,9] = Unary(%3) kind=relu
%5: f32[7,5] = MatMul(%4, %2)
output %5 "y")",
       {-2, 2, 0},
       0.001},
      {"einsum",
       R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[5,4,6]
%2: f32[3,6] = Einsum(%0, %1) equation="abc,cbd->ad"
output %2 "y")",
       {-2, 2, 0},
       0.005},
      {"det",
       R"(input %0 "a": f32[5,3,3]
%1: f32[5] = Det(%0)
output %1 "y")",
       {-2, 2, 0},
       0.0005},
      {"reduce sum",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=sum keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"reduce mean",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=mean keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"reduce max",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=max keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0},
      {"reduce min",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=min keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0},
      {"reduce prod",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=prod keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"reduce l1",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=l1 keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"reduce l2",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=l2 keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"reduce log_sum_exp",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=log_sum_exp keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"reduce sum_square",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=sum_square keepdims=false
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"reduce log_sum",
       R"(input %0 "x": f32[3,17,5]
const %1: i64[1] = {1}
%2: f32[3,5] = Reduce(%0, %1) kind=log_sum keepdims=false
output %2 "y")",
       {0.1, 2, 0},
       0.004},
      {"cumulative sum",
       R"(input %0 "x": f32[3,17]
const %1: i64[] = {1}
%2: f32[3,17] = Cumulative(%0, %1) kind=sum reverse=true
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"cumulative prod",
       R"(input %0 "x": f32[3,17]
const %1: i64[] = {1}
%2: f32[3,17] = Cumulative(%0, %1) kind=prod reverse=true
output %2 "y")",
       {-2, 2, 0},
       0.004},
      {"pool average",
       R"(input %0 "x": f32[2,3,9,9]
%1: f32[2,3,5,5] = Pool(%0) kind=average kernel=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=true
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"pool lp",
       R"(input %0 "x": f32[2,3,9,9]
%1: f32[2,3,5,5] = Pool(%0) kind=lp kernel=[3,3] strides=[2,2] pads=[1,1,1,1] p=2
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"pool max",
       R"(input %0 "x": f32[2,3,9,9]
%1: f32[2,3,5,5] = Pool(%0) kind=max kernel=[3,3] strides=[2,2] pads=[1,1,1,1] 
output %1 "y")",
       {-2, 2, 0},
       0},
      {"softmax",
       R"(input %0 "x": f32[4,23]
%1: f32[4,23] = Softmax(%0) kind=softmax axis=1
output %1 "y")",
       {-5, 5, 0},
       0.005},
      {"log_softmax",
       R"(input %0 "x": f32[4,23]
%1: f32[4,23] = Softmax(%0) kind=log_softmax axis=1
output %1 "y")",
       {-5, 5, 0},
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
       {-2, 2, 0},
       0.0005},
      {"layer norm with a scale for each row",
       R"(input %0 "x": f32[5,24]
input %1 "s": f32[5,24]
input %2 "b": f32[5,1]
%3: f32[5,24] = LayerNorm(%0, %1, %2)
output %3 "y")",
       {-2, 2, 0},
       0.0005},
      {"rms norm",
       R"(input %0 "x": f32[5,24]
input %1 "s": f32[24]
%3: f32[5,24] = LayerNorm(%0, %1) center=false
output %3 "y")",
       {-2, 2, 0},
       0.002},
      {"group norm",
       R"(input %0 "x": f32[2,6,5,5]
input %1 "s": f32[6]
input %2 "b": f32[6]
%3: f32[2,6,5,5] = GroupNorm(%0, %1, %2) groups=2
output %3 "y")",
       {-2, 2, 0},
       0.0002},
      {"batch norm",
       R"(input %0 "x": f32[2,6,5,5]
input %1 "s": f32[6]
input %2 "b": f32[6]
input %3 "m": f32[6]
input %4 "v": f32[6]
%5: f32[2,6,5,5] = BatchNorm(%0, %1, %2, %3, %4)
output %5 "y")",
       {0.1, 2, 0},
       0.01},
      {"lrn",
       R"(input %0 "x": f32[2,8,3,3]
%1: f32[2,8,3,3] = Lrn(%0) size=5 alpha=0.5 beta=0.75 bias=1
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"lp norm 1",
       R"(input %0 "x": f32[4,12]
%1: f32[4,12] = LpNorm(%0) axis=-1 p=1
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"lp norm 2",
       R"(input %0 "x": f32[4,12]
%1: f32[4,12] = LpNorm(%0) axis=-1 p=2
output %1 "y")",
       {-2, 2, 0},
       0.005},
      {"attention",
       R"(input %0 "q": f32[2,4,6,8]
input %1 "k": f32[2,2,10,8]
input %2 "v": f32[2,2,10,5]
input %3 "m": f32[6,10]
%4: f32[2,4,6,5] = Attention(%0, %1, %2, %3) scale=0.35
output %4 "y")",
       {-2, 2, 0},
       0.001},
      {"lstm",
       R"(input %0 "x": f32[5,2,4]
input %1 "w": f32[2,12,4]
input %2 "r": f32[2,12,3]
input %3 "b": f32[2,24]
%4: f32[5,2,2,3], %5: f32[2,2,3] = Rnn(%0, %1, %2, %3) kind=lstm direction=bidirectional hidden_size=3
output %4 "y"
output %5 "h")",
       {-0.8, 0.8, 0},
       0.001},
      {"gru",
       R"(input %0 "x": f32[5,2,4]
input %1 "w": f32[2,9,4]
input %2 "r": f32[2,9,3]
input %3 "b": f32[2,18]
%4: f32[5,2,2,3], %5: f32[2,2,3] = Rnn(%0, %1, %2, %3) kind=gru direction=bidirectional hidden_size=3
output %4 "y"
output %5 "h")",
       {-0.8, 0.8, 0},
       0.001},
      {"rnn",
       R"(input %0 "x": f32[5,2,4]
input %1 "w": f32[2,3,4]
input %2 "r": f32[2,3,3]
input %3 "b": f32[2,6]
%4: f32[5,2,2,3], %5: f32[2,2,3] = Rnn(%0, %1, %2, %3) kind=rnn direction=bidirectional hidden_size=3
output %4 "y"
output %5 "h")",
       {-0.8, 0.8, 0},
       0.001},
      {"resize linear",
       R"(input %0 "x": f32[1,2,5,6]
const %1: f32[4] = {1, 1, 1.7, 2.3}
%2: f32[1,2,8,13] = Resize(%0, _, %1) mode=linear
output %2 "y")",
       {-2, 2, 0},
       0.0001},
      {"resize cubic",
       R"(input %0 "x": f32[1,2,5,6]
const %1: f32[4] = {1, 1, 1.7, 2.3}
%2: f32[1,2,8,13] = Resize(%0, _, %1) mode=cubic
output %2 "y")",
       {-2, 2, 0},
       0.0001},
      {"grid sample",
       R"(input %0 "x": f32[1,2,5,6]
input %1 "g": f32[1,4,4,2]
%2: f32[1,2,4,4] = GridSample(%0, %1)
output %2 "y")",
       {-1, 1, 0},
       0.0005},
      {"deform conv",
       R"(input %0 "x": f32[2,4,5,6]
input %1 "w": f32[6,2,3,3]
input %2 "o": f32[2,36,3,4]
input %3 "b": f32[6]
input %4 "m": f32[2,18,3,4]
%5: f32[2,6,3,4] = DeformConv(%0, %1, %2, %3, %4) group=2 offset_group=2
output %5 "y")",
       {-1, 1, 0},
       0.0001},
      {"affine grid",
       R"(input %0 "t": f32[2,2,3]
const %1: i64[4] = {2, 3, 4, 5}
%2: f32[2,4,5,2] = AffineGrid(%0, %1)
output %2 "y")",
       {-2, 2, 0},
       0.002},
      {"dft",
       R"(input %0 "x": f32[2,12,2]
const %1: i64[] = {1}
%2: f32[2,12,2] = Dft(%0, _, %1)
output %2 "y")",
       {-2, 2, 0},
       0.0005},
      {"half precision",
       R"(input %0 "a": f16[7,40]
input %1 "b": f16[40,9]
%2: f16[7,9] = MatMul(%0, %1)
%3: f16[7,9] = Unary(%2) kind=tanh
%4: f16[7,9] = Binary(%3, %3) kind=mul
output %4 "y")",
       {-0.3, 0.3, 0},
       0.02},
      {"bfloat16",
       R"(input %0 "a": bf16[7,12]
input %1 "b": bf16[12]
%2: bf16[7,12] = Binary(%0, %1) kind=add
%3: bf16[7,12] = Unary(%2) kind=sigmoid
output %3 "y")",
       {-2, 2, 0},
       0.02},
      {"double precision",
       R"(input %0 "a": f64[7,40]
input %1 "b": f64[40,9]
%2: f64[7,9] = MatMul(%0, %1)
%3: f64[7,9] = Unary(%2) kind=sigmoid
output %3 "y")",
       {-2, 2, 0},
       0},
      {"quantize",
       R"(input %0 "x": f32[4,9]
const %1: f32[] = {0.013}
const %2: u8[] = {120}
%3: u8[4,9] = Quantize(%0, %1, %2) to=u8
%4: f32[4,9] = Dequantize(%3, %1, %2)
output %4 "y")",
       {-2, 2, 0},
       0.0},
      {"quantized conv",
       R"(input %0 "x": f32[1,4,6,6]
const %1: f32[] = {0.02}
const %2: u8[] = {128}
const %3: i8[5,4,3,3] = ...
const %4: f32[] = {0.011}
const %5: i8[] = {0}
const %6: f32[5] = {0.3, -0.2, 0.17, 0.41, 0.05}
%7: u8[1,4,6,6] = Quantize(%0, %1, %2) to=u8
%8: f32[1,4,6,6] = Dequantize(%7, %1, %2)
%9: f32[5,4,3,3] = Dequantize(%3, %4, %5)
%10: f32[1,5,4,4] = Conv(%8, %9, %6) kernel=[3,3]
%11: u8[1,5,4,4] = Quantize(%10, %1, %2) to=u8
output %11 "y")",
       {-2, 2, 0},
       0},
      {"dynamic quantize",
       R"(input %0 "x": f32[4,9]
%1: u8[4,9], %2: f32[], %3: u8[] = DynamicQuantize(%0)
output %1 "y"
output %2 "s"
output %3 "z")",
       {-2, 2, 0},
       0},
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
       {-2, 2, 0},
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
       {-2, 2, 0},
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
       {0, 255, 0},
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
       {-2, 2, 0},
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
       {-8, 8, 0},
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
       {9990, 10010, 0},
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
       {-2, 2, 0},
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
       {-6, 6, 0},
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
       {-2, 2, 0},
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
       {-2, 2, 0},
       0.001},
  };
  return all;
}

}  // namespace quern::testing
