// SPDX-License-Identifier: Apache-2.0
// PairwiseCoupling: probabilities of classes from those of pairs of them.
//
// ONNX: the probabilities of ai.onnx.ml SVMClassifier. With r[i, j] the probability of class i
// where it is i or j, the p that minimises the sum over pairs of (r[j, i] p[i] - r[i, j] p[j])^2
// solves Q p = lambda e; one class after the other is set to what the others ask for, and p scaled
// to a sum of 1, until Q p is the same for all classes up to 0.005 / classes. Wu, Lin, Weng:
// "Probability Estimates for Multi-class Classification by Pairwise Coupling", section 4 (2004);
// LIBSVM and ONNX Runtime stop at the same error. Computed in f64.
#include <algorithm>
#include <cmath>

#include "graph/ops/features.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {

constexpr int passes_max = 100;

class Coupling {
 public:
  Coupling(std::size_t classes, Scratch& scratch, StopCheck& check)
      : k_(classes),
        q_(scratch.take<double>(classes * classes)),
        qp_(scratch.take<double>(classes)),
        p_(scratch.take<double>(classes)),
        check_(check) {}

  const double* solve(const float* pairs) {
    fill(pairs);
    std::fill_n(p_, k_, 1.0 / static_cast<double>(k_));
    for (int pass = 0; pass < passes_max && !check_.is_over(); ++pass) {
      const double pqp = multiply();
      double error = 0;
      for (std::size_t i = 0; i < k_; ++i) error = std::max(error, std::abs(qp_[i] - pqp));
      if (error < 0.005 / static_cast<double>(k_)) break;
      improve(pqp);
    }
    return p_;
  }

 private:
  // Q of the probabilities of pairs (0, 1), (0, 2), ..., (1, 2), ...
  void fill(const float* pairs) {
    std::fill_n(q_, k_ * k_, 0.0);
    for (std::size_t i = 0; i < k_; ++i)
      for (std::size_t j = i + 1; j < k_ && !check_.spend(4); ++j) {
        const double r = *pairs++;
        q_[i * k_ + i] += (1 - r) * (1 - r);
        q_[j * k_ + j] += r * r;
        q_[i * k_ + j] = q_[j * k_ + i] = -r * (1 - r);
      }
  }

  // Q p; returns p Q p.
  double multiply() {
    double pqp = 0;
    for (std::size_t i = 0; i < k_; ++i) {
      qp_[i] = 0;
      for (std::size_t j = 0; j < k_ && !check_.spend(1); ++j) qp_[i] += q_[i * k_ + j] * p_[j];
      pqp += p_[i] * qp_[i];
    }
    return pqp;
  }

  void improve(double pqp) {
    for (std::size_t i = 0; i < k_; ++i) {
      const double diagonal = q_[i * k_ + i];
      const double d = (pqp - qp_[i]) / diagonal;
      const double scale = 1 / (1 + d);
      p_[i] += d;
      pqp = (pqp + d * (d * diagonal + 2 * qp_[i])) * scale * scale;
      for (std::size_t j = 0; j < k_ && !check_.spend(2); ++j) {
        qp_[j] = (qp_[j] + d * q_[i * k_ + j]) * scale;
        p_[j] *= scale;
      }
    }
  }

  std::size_t k_;
  double* q_;
  double* qp_;
  double* p_;
  StopCheck& check_;
};

Status coupling_reference(const ReferenceCall& call) {
  const Shape& y = call.outputs[0].type.shape;
  const std::int64_t pairs = call.inputs[0].type.shape[1];
  StopCheck check(call.stop);
  Coupling coupling(static_cast<std::size_t>(y[1]), call.scratch, check);
  for (std::int64_t row = 0; row < y[0] && !check.spend(16); ++row) {
    const double* p = coupling.solve(call.inputs[0].as<float>() + row * pairs);
    for (std::int64_t i = 0; i < y[1]; ++i)
      call.outputs[0].as<float>()[row * y[1] + i] = static_cast<float>(p[i]);
  }
  return {};
}

std::size_t coupling_scratch(const Op& op, std::span<const TensorType>,
                             std::span<const TensorType>) {
  const auto k = static_cast<std::size_t>(op.as<PairwiseCoupling>()->classes);
  return Scratch::bytes_for<double>(k * k) + 2 * Scratch::bytes_for<double>(k);
}

}  // namespace

const OpKernels& PairwiseCoupling::kernels() {
  static constexpr OpKernels table{.reference = {coupling_reference, coupling_scratch}};
  return table;
}

}  // namespace quern
