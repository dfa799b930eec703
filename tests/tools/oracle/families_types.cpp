// SPDX-License-Identifier: Apache-2.0
// Floats of other widths, and what is quantized.
#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {
namespace {

constexpr FamilyRow other_types[] = {
    {"half precision",
     R"(input %0 "a": f16[7,40]
input %1 "b": f16[40,9]
%2: f16[7,9] = MatMul(%0, %1)
%3: f16[7,9] = Unary(%2) kind=tanh
%4: f16[7,9] = Binary(%3, %3) kind=mul
output %4 "y")",
     {-0.3, 0.3},
     0.02},
    {"bfloat16",
     R"(input %0 "a": bf16[7,12]
input %1 "b": bf16[12]
%2: bf16[7,12] = Binary(%0, %1) kind=add
%3: bf16[7,12] = Unary(%2) kind=sigmoid
output %3 "y")",
     {-2, 2},
     0.02},
    {"double precision",
     R"(input %0 "a": f64[7,40]
input %1 "b": f64[40,9]
%2: f64[7,9] = MatMul(%0, %1)
%3: f64[7,9] = Unary(%2) kind=sigmoid
output %3 "y")",
     {-2, 2},
     0},
    {"quantize",
     R"(input %0 "x": f32[4,9]
const %1: f32[] = {0.013}
const %2: u8[] = {120}
%3: u8[4,9] = Quantize(%0, %1, %2) to=u8
%4: f32[4,9] = Dequantize(%3, %1, %2)
output %4 "y")",
     {-2, 2},
     0},
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
     {-2, 2},
     0},
    {"dynamic quantize",
     R"(input %0 "x": f32[4,9]
%1: u8[4,9], %2: f32[], %3: u8[] = DynamicQuantize(%0)
output %1 "y"
output %2 "s"
output %3 "z")",
     {-2, 2},
     0},
};

}  // namespace

std::vector<Family> type_families() {
  return families_of(other_types);
}

}  // namespace quern::testing
