// SPDX-License-Identifier: Apache-2.0
// This file covers operators that read at computed places, their grids, and Fourier transforms.
#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {
namespace {

constexpr FamilyRow samplings[] = {
    {"resize linear",
     R"(input %0 "x": f32[1,2,5,6]
const %1: f32[4] = {1, 1, 1.7, 2.3}
%2: f32[1,2,8,13] = Resize(%0, _, %1) mode=linear
output %2 "y")",
     {-2, 2},
     0.0001},
    {"resize cubic",
     R"(input %0 "x": f32[1,2,5,6]
const %1: f32[4] = {1, 1, 1.7, 2.3}
%2: f32[1,2,8,13] = Resize(%0, _, %1) mode=cubic
output %2 "y")",
     {-2, 2},
     0.0001},
    {"max roi pool",
     R"(input %0 "x": f32[2,3,9,7]
const %1: f32[3,5] = {0, 0, 0, 6, 8, 1, 1.2, 2.4, 5.2, 7.9, 1, -3, 2, 9, 4}
%2: f32[2,3,9,7] = Unary(%0) kind=exp
%3: f32[3,3,2,2] = RoiPool(%2, %1) kind=max height=2 width=2
output %3 "y")",
     {-2, 2},
     0.01},
    {"grid sample",
     R"(input %0 "x": f32[1,2,5,6]
input %1 "g": f32[1,4,4,2]
%2: f32[1,2,4,4] = GridSample(%0, %1)
output %2 "y")",
     {-1, 1},
     0.0005},
    {"deform conv",
     R"(input %0 "x": f32[2,4,5,6]
input %1 "w": f32[6,2,3,3]
input %2 "o": f32[2,36,3,4]
input %3 "b": f32[6]
input %4 "m": f32[2,18,3,4]
%5: f32[2,6,3,4] = DeformConv(%0, %1, %2, %3, %4) group=2 offset_group=2
output %5 "y")",
     {-1, 1},
     0.0001},
    {"affine grid",
     R"(input %0 "t": f32[2,2,3]
const %1: i64[4] = {2, 3, 4, 5}
%2: f32[2,4,5,2] = AffineGrid(%0, %1)
output %2 "y")",
     {-2, 2},
     0.002},
    {"dft",
     R"(input %0 "x": f32[2,12,2]
const %1: i64[] = {1}
%2: f32[2,12,2] = Dft(%0, _, %1)
output %2 "y")",
     {-2, 2},
     0.0005},
    {"stft one frame",
     R"(input %0 "x": f32[2,12,1]
const %1: i64[] = {3}
%2: f32[2,1,7,2] = Stft(%0, %1)
output %2 "y")",
     {-2, 2},
     0.0005},
    {"stft windows",
     R"(input %0 "x": f32[2,12,1]
input %1 "w": f32[5]
const %2: i64[] = {3}
%3: f32[2,3,3,2] = Stft(%0, %2, %1)
output %3 "y")",
     {-2, 2},
     0.0005},
};

}  // namespace

std::vector<Family> sampling_families() {
  return families_of(samplings);
}

}  // namespace quern::testing
