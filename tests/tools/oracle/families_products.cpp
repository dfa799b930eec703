// SPDX-License-Identifier: Apache-2.0
// Sums of products: convolutions, matrix products, determinants and inverses.
#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {
namespace {

constexpr FamilyRow products[] = {
    {"conv",
     R"(input %0 "x": f32[2,6,9,11]
input %1 "w": f32[8,3,3,3]
input %2 "b": f32[8]
%3: f32[2,8,5,6] = Conv(%0, %1, %2) strides=[2,2] pads=[1,1,1,1] group=2 kernel=[3,3]
output %3 "y")",
     {-2, 2},
     0.005},
    {"conv transpose",
     R"(input %0 "x": f32[2,4,5,6]
input %1 "w": f32[4,3,3,3]
%3: f32[2,6,11,13] = ConvTranspose(%0, %1) strides=[2,2] group=2 kernel=[3,3]
output %3 "y")",
     {-2, 2},
     0.005},
    {"matmul",
     R"(input %0 "a": f32[3,7,40]
input %1 "b": f32[40,9]
%2: f32[3,7,9] = MatMul(%0, %1) alpha=-1.5
output %2 "y")",
     {-2, 2},
     0.003},
    {"block quantised matmul",
     R"(input %0 "x": f32[3,75]
const %1: u8[18,5,8] = ...
const %2: f32[18,5] = ...
input %3 "b": f32[18]
%4: f32[3,18] = BlockQuantizedMatMul(%0, %1, %2, _, %3) bits=4 block_size=16
output %4 "y")",
     {-2, 2},
     0.003},
    {"block quantised matmul of bytes",
     R"(input %0 "x": f32[3,75]
const %1: u8[18,3,8] = ...
const %2: f32[18,3] = ...
const %3: u8[18,1] = {158, 27, 3, 45, 99, 81, 17, 250, 201, 143, 8, 5, 77, 54, 120, 12, 33, 200}
%4: f32[3,18] = BlockQuantizedMatMul(%0, %1, %2, %3) bits=2 block_size=32 quantize_x=true
output %4 "y")",
     {-2, 2},
     0.003},
    {"two products",
     R"(input %0 "a": f32[7,40]
input %1 "b": f32[40,9]
input %2 "c": f32[9,5]
%3: f32[7,9] = MatMul(%0, %1)
%4: f32[7,9] = Unary(%3) kind=relu
%5: f32[7,5] = MatMul(%4, %2)
output %5 "y")",
     {-2, 2},
     0.001},
    {"einsum",
     R"(input %0 "a": f32[3,4,5]
input %1 "b": f32[5,4,6]
%2: f32[3,6] = Einsum(%0, %1) equation="abc,cbd->ad"
output %2 "y")",
     {-2, 2},
     0.005},
    {"det",
     R"(input %0 "a": f32[5,3,3]
%1: f32[5] = Det(%0)
output %1 "y")",
     {-2, 2},
     0.0005},
    {"inverse",
     R"(input %0 "a": f32[5,3,3]
%1: f32[5,3,3] = Inverse(%0)
output %1 "y")",
     {-2, 2},
     0.001},
};

}  // namespace

std::vector<Family> product_families() {
  return families_of(products);
}

}  // namespace quern::testing
