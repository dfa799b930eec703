// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: search, random numbers, spectra.
#include "engine/builder/graph_builder_impl.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/random.h"

namespace quern {

std::array<Operand, 2> GraphBuilder::top_k(Operand x, Integers k, std::int64_t axis,
                                           const TopKOptions& o) {
  const Operands y = impl_->emit(TopK{axis, o.largest, o.sorted}, {x, impl_->integers(k)}, 2);
  return {y[0], y[1]};
}
Operand GraphBuilder::non_zero(Operand x) {
  return impl_->emit(NonZero{}, {x});
}
std::array<Operand, 4> GraphBuilder::unique(Operand x, const UniqueOptions& o) {
  Unique op{.sorted = o.sorted};
  if (!o.flat) op.axis = o.axis;
  const Operands y = impl_->emit(op, {x}, 4);
  return {y[0], y[1], y[2], y[3]};
}
Operand GraphBuilder::compress(Operand x, Operand condition) {
  return impl_->emit(Compress{}, {x, condition});
}
Operand GraphBuilder::compress(Operand x, Operand condition, std::int64_t axis) {
  return impl_->emit(Compress{axis}, {x, condition});
}
Operand GraphBuilder::non_max_suppression(Operand boxes, Operand scores,
                                          const NonMaxSuppressionOptions& o) {
  return impl_->emit(NonMaxSuppression{o.center_point_box},
                     {boxes, scores, o.max_output_boxes, o.iou_threshold, o.score_threshold});
}
Operand GraphBuilder::random_uniform(Integers shape, float low, float high, std::uint64_t seed) {
  shape.given = true;
  return impl_->emit(Random{.low_or_mean = low, .high_or_scale = high, .seed = seed},
                     {impl_->integers(shape)});
}
Operand GraphBuilder::random_normal(Integers shape, float mean, float scale, std::uint64_t seed) {
  shape.given = true;
  return impl_->emit(
      Random{.kind = RandomKind::normal, .low_or_mean = mean, .high_or_scale = scale, .seed = seed},
      {impl_->integers(shape)});
}
Operand GraphBuilder::multinomial(Operand log_probabilities, std::int64_t samples,
                                  std::uint64_t seed) {
  return impl_->emit(Multinomial{.sample_size = samples, .seed = seed}, {log_probabilities});
}
Operand GraphBuilder::dft(Operand x, Integers length, std::int64_t axis, const DftOptions& o) {
  // ONNX wants the length as a scalar.
  const Operand n = length.operand.present() || length.list.size() != 1
                        ? impl_->integers(length)
                        : scalar(static_cast<double>(length.list[0]), DType::i64);
  return impl_->emit(Dft{o.inverse, o.onesided},
                     {x, n, scalar(static_cast<double>(axis), DType::i64)});
}
Operand GraphBuilder::stft(Operand signal, Operand frame_step, Operand window, Operand frame_length,
                           const StftOptions& o) {
  return impl_->emit(Stft{o.onesided}, {signal, frame_step, window, frame_length});
}
Operand GraphBuilder::mel_weight_matrix(Operand bins, Operand dft_length, Operand sample_rate,
                                        Operand lower_hertz, Operand upper_hertz) {
  return impl_->emit(MelWeightMatrix{}, {bins, dft_length, sample_rate, lower_hertz, upper_hertz});
}

}  // namespace quern
