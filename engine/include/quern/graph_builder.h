// SPDX-License-Identifier: Apache-2.0
// Builds graphs in code:
//
//   GraphBuilder g("classifier");
//   const Operand x = g.input("image", DType::f32, {"N", 3, 32, 32});
//   const Operand features = g.relu(g.conv(x, g.constant(w), g.constant(b), {.pads = {1, 1, 1,
//   1}})); g.output("probs", g.softmax(g.reshape(g.global_average_pool(features), {0, -1})));
//   Result<Model> model = g.build();
//
// No call reports an error by itself: the builder keeps the first error, ignores all later calls,
// and build() returns the error. Operators have the semantics of the ONNX operators of these names;
// op() gives access to families and attributes that have no method: by name, or by the struct of
// <quern/ops/...>, which the compiler checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/dtype.h>
#include <quern/model.h>
#include <quern/operand.h>
#include <quern/status.h>
#include <quern/tensor.h>

namespace quern {

class Op;  // <quern/ops/op.h>

// Builds one graph. One thread at a time; movable.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "graph");
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;
  ~GraphBuilder();

  // ---- in and out
  Operand input(std::string name, DType dtype, const std::vector<Dimension>& dims);
  Operand input_of_any_rank(std::string name, DType dtype);
  Operand constant(Tensor tensor);  // shares the bytes
  Operand scalar(double value, DType dtype = DType::f32);
  Operand integers(const IntList& list);  // i64 [n]
  void output(std::string name, Operand value);
  // Sets the name of the operation that made `value`, for errors and profiles.
  Operand named(std::string name, Operand value);
  // The first error so far.
  const Status& status() const;
  // Returns the graph and leaves the builder empty. Errors: the first error of any call, with the
  // name of its operation; invalid_argument if the graph has no output.
  Result<Model> build();

  // ---- every operator
  // Adds an operator by the name of its family in docs/operators.md, with attributes as `quern
  // inspect --text` shows them: op("Pool", {x}, "kind=average kernel=[3,3] strides=[2,2]").
  Operand op(std::string_view family, const Operands& operands, std::string_view attributes = {});
  Operands ops(std::string_view family, const Operands& operands, std::string_view attributes,
               std::size_t outputs);
  // Adds an operator with the attributes of its struct, all of which have defaults:
  // op(Trilu{.upper = false}, {x}), with <quern/ops/rearrange.h>. Structs may gain attributes.
  Operand op(Op op, const Operands& operands);
  Operands ops(Op op, const Operands& operands, std::size_t outputs);

  // ---- elementwise
  Operand abs(Operand x), neg(Operand x), sign(Operand x), ceil(Operand x), floor(Operand x),
      round(Operand x), sqrt(Operand x), reciprocal(Operand x), exp(Operand x), log(Operand x),
      sin(Operand x), cos(Operand x), tan(Operand x), asin(Operand x), acos(Operand x),
      atan(Operand x), sinh(Operand x), cosh(Operand x), tanh(Operand x), asinh(Operand x),
      acosh(Operand x), atanh(Operand x), erf(Operand x), sigmoid(Operand x), relu(Operand x),
      hard_swish(Operand x), softplus(Operand x), softsign(Operand x), mish(Operand x),
      gelu(Operand x), gelu_tanh(Operand x), is_nan(Operand x), logical_not(Operand x),
      bitwise_not(Operand x);
  Operand leaky_relu(Operand x, double slope = 0.01), elu(Operand x, double alpha = 1),
      celu(Operand x, double alpha = 1), swish(Operand x, double alpha = 1),
      thresholded_relu(Operand x, double alpha = 1);
  Operand selu(Operand x, double alpha = 1.67326319217681884765625,
               double gamma = 1.05070102214813232421875);
  Operand hard_sigmoid(Operand x, double slope = 0.2, double offset = 0.5);
  Operand shrink(Operand x, double lambd = 0.5, double bias = 0);
  Operand clip(Operand x, double low, double high);
  Operand is_inf(Operand x, const IsInfOptions& options = {});
  // numpy broadcasting.
  Operand add(Operand a, Operand b), sub(Operand a, Operand b), mul(Operand a, Operand b),
      div(Operand a, Operand b), pow(Operand a, Operand b), mod(Operand a, Operand b),
      fmod(Operand a, Operand b), min(Operand a, Operand b), max(Operand a, Operand b),
      prelu(Operand a, Operand b), logical_and(Operand a, Operand b),
      logical_or(Operand a, Operand b), logical_xor(Operand a, Operand b),
      bitwise_and(Operand a, Operand b), bitwise_or(Operand a, Operand b),
      bitwise_xor(Operand a, Operand b), shift_left(Operand a, Operand b),
      shift_right(Operand a, Operand b), equal(Operand a, Operand b), less(Operand a, Operand b),
      less_equal(Operand a, Operand b), greater(Operand a, Operand b),
      greater_equal(Operand a, Operand b);
  Operand where(Operand condition, Operand x, Operand y);
  Operand cast(Operand x, DType to);
  Operand bit_cast(Operand x, DType to);

  // ---- reduction
  // sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square. Without axes, all axes are
  // reduced.
  Operand reduce(std::string_view kind, Operand x, Integers axes = {},
                 const ReduceOptions& options = {});
  Operand argmax(Operand x, std::int64_t axis = 0, const ReduceOptions& options = {});
  Operand argmin(Operand x, std::int64_t axis = 0, const ReduceOptions& options = {});
  Operand cumsum(Operand x, std::int64_t axis, const CumulativeOptions& options = {});
  Operand cumprod(Operand x, std::int64_t axis, const CumulativeOptions& options = {});

  // ---- matrix products
  Operand matmul(Operand a, Operand b, const MatMulOptions& options = {});
  Operand einsum(std::string equation, Operands operands);
  Operand det(Operand x);
  // q, k, v: [..., heads, rows, width]
  Operand attention(Operand q, Operand k, Operand v, const AttentionOptions& options = {});

  // ---- convolution and pooling: x is [N, C, spatial...]
  Operand conv(Operand x, Operand w, Operand bias = {}, const ConvOptions& options = {});
  Operand conv_transpose(Operand x, Operand w, Operand bias = {},
                         const ConvTransposeOptions& options = {});
  Operand deform_conv(Operand x, Operand w, Operand offset, Operand bias = {}, Operand mask = {},
                      const DeformConvOptions& options = {});
  Operand col2im(Operand columns, Integers image_shape, Integers block_shape,
                 const ConvOptions& options = {});
  Operand max_pool(Operand x, IntList kernel, const PoolOptions& options = {});
  // Returns the maxima and the index of each.
  Operands max_pool_indices(Operand x, IntList kernel, const PoolOptions& options = {});
  Operand average_pool(Operand x, IntList kernel, const PoolOptions& options = {});
  Operand lp_pool(Operand x, IntList kernel, std::int64_t p = 2, const PoolOptions& options = {});
  Operand global_max_pool(Operand x), global_average_pool(Operand x);
  Operand max_unpool(Operand x, Operand indices, IntList kernel, const UnpoolOptions& options = {});
  Operand roi_align(Operand x, Operand rois, Operand batch_indices,
                    const RoiAlignOptions& options = {});
  Operand max_roi_pool(Operand x, Operand rois, std::int64_t height, std::int64_t width,
                       float spatial_scale = 1);

  // ---- normalisation
  Operand batch_norm(Operand x, Operand scale, Operand bias, Operand mean, Operand variance,
                     float epsilon = 1e-5F);
  Operand layer_norm(Operand x, Operand scale = {}, Operand bias = {}, std::int64_t axis = -1,
                     float epsilon = 1e-5F);
  Operand rms_norm(Operand x, Operand scale, std::int64_t axis = -1, float epsilon = 1e-5F);
  Operand group_norm(Operand x, Operand scale, Operand bias, std::int64_t groups,
                     float epsilon = 1e-5F);
  Operand instance_norm(Operand x, Operand scale, Operand bias, float epsilon = 1e-5F);
  Operand lrn(Operand x, std::int64_t size, const LrnOptions& options = {});
  Operand lp_norm(Operand x, std::int64_t axis = -1, std::int64_t p = 2);
  Operand softmax(Operand x, std::int64_t axis = -1),
      log_softmax(Operand x, std::int64_t axis = -1), hardmax(Operand x, std::int64_t axis = -1);

  // ---- quantised
  Operand quantize(Operand x, Operand scale, Operand zero_point = {},
                   const QuantizeOptions& options = {});
  Operand dequantize(Operand x, Operand scale, Operand zero_point = {}, std::int64_t axis = 1,
                     std::int64_t block_size = 0);
  std::array<Operand, 3> dynamic_quantize(Operand x);  // u8 values, scale, zero point
  Operand conv_integer(Operand x, Operand w, Operand x_zero_point = {}, Operand w_zero_point = {},
                       const ConvOptions& options = {});
  Operand matmul_integer(Operand a, Operand b, Operand a_zero_point = {},
                         Operand b_zero_point = {});
  // (x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias?)
  Operand qlinear_conv(Operands operands, const ConvOptions& options = {});
  // (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
  Operand qlinear_matmul(Operands operands);

  // ---- shape and movement
  Operand identity(Operand x);
  Operand reshape(Operand x, Integers shape, const ReshapeOptions& options = {});
  Operand squeeze(Operand x, Integers axes = {});
  Operand unsqueeze(Operand x, Integers axes);
  Operand flatten(Operand x, std::int64_t axis = 1);
  Operand shape_of(Operand x);
  Operand size_of(Operand x);
  Operand fill(Integers shape, double value, DType dtype = DType::f32);
  Operand range(Operand start, Operand limit, Operand delta);
  Operand transpose(Operand x, IntList perm = {});
  Operand concat(Operands parts, std::int64_t axis);
  // Splits into parts of these sizes, which must be numbers, or into `parts` equal parts.
  Operands split(Operand x, IntList sizes, std::int64_t axis = 0);
  Operands split_equal(Operand x, std::size_t parts, std::int64_t axis = 0);
  Operand slice(Operand x, Integers starts, Integers ends, const SliceOptions& options = {});
  Operand pad(Operand x, Integers pads, const PadOptions& options = {});
  Operand expand(Operand x, Integers shape);
  Operand tile(Operand x, Integers repeats);
  Operand gather(Operand x, Operand indices, std::int64_t axis = 0),
      gather_elements(Operand x, Operand indices, std::int64_t axis = 0),
      gather_nd(Operand x, Operand indices, std::int64_t batch_dims = 0);
  // reduction: none, add, mul, max, min
  Operand scatter_elements(Operand x, Operand indices, Operand updates, std::int64_t axis = 0,
                           std::string_view reduction = "none");
  Operand scatter_nd(Operand x, Operand indices, Operand updates,
                     std::string_view reduction = "none");
  Operand depth_to_space(Operand x, std::int64_t block, const DepthToSpaceOptions& options = {});
  Operand space_to_depth(Operand x, std::int64_t block);
  Operand eye_like(Operand x, std::int64_t k = 0);
  Operand one_hot(Operand indices, Operand depth, Operand off_on, std::int64_t axis = -1);
  Operand triu(Operand x, std::int64_t k = 0), tril(Operand x, std::int64_t k = 0);
  Operand reverse_sequence(Operand x, Operand lengths, std::int64_t batch_axis = 1,
                           std::int64_t time_axis = 0);

  // ---- resampling
  Operand resize(Operand x, const ResizeOptions& options);
  Operand grid_sample(Operand x, Operand grid, const GridSampleOptions& options = {});
  Operand affine_grid(Operand theta, Integers size, const AffineGridOptions& options = {});

  // ---- recurrent: x [time, batch, in], w [directions, gates * hidden, in], r [directions,
  // gates * hidden, hidden]; y [time, directions, batch, hidden], the last h, the last c (LSTM)
  std::array<Operand, 2> rnn(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                             const RnnOptions& options = {});
  std::array<Operand, 2> gru(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                             const RnnOptions& options = {});
  std::array<Operand, 3> lstm(Operand x, Operand w, Operand r, std::int64_t hidden_size,
                              const RnnOptions& options = {});

  // ---- search, random, spectral
  // Returns values and indices.
  std::array<Operand, 2> top_k(Operand x, Integers k, std::int64_t axis = -1,
                               const TopKOptions& options = {});
  Operand non_zero(Operand x);
  std::array<Operand, 4> unique(Operand x, const UniqueOptions& options = {});
  Operand compress(Operand x, Operand condition);
  Operand compress(Operand x, Operand condition, std::int64_t axis);
  Operand non_max_suppression(Operand boxes, Operand scores,
                              const NonMaxSuppressionOptions& options = {});
  Operand random_uniform(Integers shape, float low = 0, float high = 1, std::uint64_t seed = 0);
  Operand random_normal(Integers shape, float mean = 0, float scale = 1, std::uint64_t seed = 0);
  Operand multinomial(Operand log_probabilities, std::int64_t samples, std::uint64_t seed = 0);
  Operand dft(Operand x, Integers length = {}, std::int64_t axis = -2,
              const DftOptions& options = {});
  Operand stft(Operand signal, Operand frame_step, Operand window = {}, Operand frame_length = {},
               const StftOptions& options = {});
  Operand mel_weight_matrix(Operand bins, Operand dft_length, Operand sample_rate,
                            Operand lower_hertz, Operand upper_hertz);

  // ---- control flow
  // A function that builds a body from its inputs in a builder of its own. It may use values of the
  // outer graph only through `captures`, and may be called more than once.
  using Body = std::function<Operands(GraphBuilder& g, std::span<const Operand> inputs)>;
  // Both bodies: (captures...) -> (results...).
  Operands if_(Operand condition, const Body& then_body, const Body& else_body,
               Operands captures = {});
  // Body: (iteration, condition, carried..., captures...) -> (condition, carried..., collected...).
  // Returns (carried..., collected...). Either limit may be left out.
  Operands loop(Operand trips, Operand condition, Operands carried, const Body& body,
                Operands captures = {});
  // Body: (states..., elements..., captures...) -> (states..., elements...).
  Operands scan(Operands states, Operands scanned, const Body& body,
                const ScanOptions& options = {}, Operands captures = {});

  // ---- sequences, optionals
  Operand sequence(Operands elements);
  Operand sequence_empty(DType dtype = DType::f32);
  Operand sequence_at(Operand sequence, Operand position);
  Operand sequence_insert(Operand sequence, Operand element, Operand position = {});
  Operand sequence_erase(Operand sequence, Operand position = {});
  Operand sequence_length(Operand sequence);
  Operand split_to_sequence(Operand x, Operand split = {}, std::int64_t axis = 0,
                            const SplitToSequenceOptions& options = {});
  Operand concat_from_sequence(Operand sequence, std::int64_t axis,
                               const ConcatFromSequenceOptions& options = {});
  // Body: (elements of each sequence or a tensor..., captures...) -> (results...). Returns
  // sequences.
  Operands sequence_map(Operands inputs, const Body& body, Operands captures = {});
  Operand optional(Operand x);
  Operand optional_has_element(Operand x), optional_get_element(Operand x);

  struct Impl;  // engine/builder/graph_builder_impl.h

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
