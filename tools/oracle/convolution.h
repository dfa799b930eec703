// SPDX-License-Identifier: Apache-2.0
// The convolution of f64 that the oracle computes itself: line by line, where the operator's
// reference goes tap by tap and takes minutes for the layers of a real model.
#pragma once

#include <span>

#include <quern/tensor.h>

namespace quern {
struct Conv;  // graph/ops/conv.h
}  // namespace quern

namespace quern::tools {

// Tells whether all operands that are there are f64, as convolve_f64() wants them.
bool are_f64(std::span<const Tensor> operands);

// ONNX Conv of x [N, C, ...] by w [M, C / group, ...] and, where it is there, a bias [M]. Fills `y`
// [N, M, ...], whose shape inference has found. Terms are added in the order of the reference.
void convolve_f64(const Conv& op, std::span<const Tensor> operands, Tensor& y);

}  // namespace quern::tools
