// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/floor.h"

#include <algorithm>

#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "graph/text.h"

namespace quern::tools::lab {
namespace {

constexpr double most_beyond = 0.03;
constexpr int most_measurements = 3;
// Below, a loop that writes shows the cost of calls.
constexpr std::size_t least_written = std::size_t{64} << 10;

// Winograd's F(4x4, 3x3) has a quarter of the multiplications.
constexpr double winograd_factor = 4;

// How many taps of all results along one axis lie on the picture and not on its padding.
double taps_on_picture(std::int64_t size, std::int64_t results, std::int64_t kernel,
                       std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
  double taps = 0;
  for (std::int64_t at = 0; at < results; ++at)
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t x = at * stride - pad + k * dilation;
      taps += x >= 0 && x < size ? 1 : 0;
    }
  return taps;
}

double conv_flops(const Conv& conv, const Shape& x, const Shape& w, const Shape& y) {
  const Window& window = conv.window;
  if (window.auto_pad != AutoPad::notset) return 0;
  double taps = 1;
  for (std::size_t d = 0; d + 2 < x.rank(); ++d) {
    const auto at = [&](const Ints& list, std::int64_t otherwise) {
      return d < list.size() ? list[d] : otherwise;
    };
    constexpr std::int64_t quick = 1 << 22;
    if (y[d + 2] * w[d + 2] > quick) return 0;
    taps *= taps_on_picture(x[d + 2], y[d + 2], w[d + 2], at(window.strides, 1),
                            at(window.dilations, 1), at(window.pads, 0));
  }
  return 2 * taps * static_cast<double>(y[0] * y[1]) * static_cast<double>(w[1]);
}

double product_flops(const MatMul& op, const Shape& a, const Shape& y) {
  if (a.rank() < 2 || y.rank() < 2) return 0;
  const std::int64_t k = a[a.rank() - (op.transpose_a ? 2 : 1)];
  return 2 * static_cast<double>(y.elements()) * static_cast<double>(k);
}

}  // namespace

LeastWork least_work(const Problem& problem, const Model& model, Math math) {
  LeastWork work;
  const Graph& graph = model.graph();
  for (const ValueId v : graph.outputs()) {
    const auto shape = graph.type(v).shape();
    if (shape) work.written_bytes += TensorType{graph.type(v).dtype, *shape}.bytes();
  }
  const auto op = make_op(problem.op, problem.attributes);
  const bool is_f32 = !problem.operands.empty() && problem.operands[0].type.dtype == DType::f32;
  if (!op || !is_f32 || math != Math::f32 || problem.operands.size() < 2) return work;
  const auto y = graph.type(graph.outputs()[0]).shape();
  const Shape& a = problem.operands[0].type.shape;
  if (const auto* conv = op->as<Conv>(); conv && y)
    work.flops = conv_flops(*conv, a, problem.operands[1].type.shape, *y);
  if (const auto* product = op->as<MatMul>(); product && y)
    work.flops = product_flops(*product, a, *y);
  // Bytes, to which x may be rounded, are multiplied by other units.
  if (const auto* product = op->as<BlockQuantizedMatMul>(); product && y && !product->quantize_x)
    work.flops = product_flops({}, a, *y);
  return work;
}

Result<Roof> Roofs::of(const Device& device, int threads) {
  const std::pair<std::string, int> key{device.info().name, threads};
  if (const auto found = roofs_.find(key); found != roofs_.end()) return found->second;
  QUERN_ASSIGN(const Roof roof, measure_roof(device, threads));
  roofs_.emplace(key, roof);
  return roof;
}

double Roofs::write_gbytes(int threads, std::size_t bytes) {
  const auto [at, is_new] = writes_.try_emplace({threads, bytes});
  if (is_new) at->second = measure_write_gbytes(threads, bytes);
  return at->second;
}

Status Roofs::improve(const Device& device, int threads) {
  QUERN_ASSIGN(const Roof more, measure_roof(device, threads));
  Roof& roof = roofs_[{device.info().name, threads}];
  for (double Roof::*figure : {&Roof::gflops, &Roof::copy_gbytes, &Roof::cache_gbytes})
    roof.*figure = std::max(roof.*figure, more.*figure);
  for (auto& [key, gbytes] : writes_)
    if (key.first == threads) gbytes = std::max(gbytes, measure_write_gbytes(threads, key.second));
  return {};
}

double floor_us(const LeastWork& work, std::string_view implementation, const Roof& roof,
                double write_gbytes) {
  const bool is_winograd = implementation.find("wino") != implementation.npos;
  const double flops = work.flops / (is_winograd ? winograd_factor : 1);
  const double by_flops = roof.gflops > 0 ? 1e-3 * flops / roof.gflops : 0;
  const double by_bytes =
      write_gbytes > 0 ? 1e-3 * static_cast<double>(work.written_bytes) / write_gbytes : 0;
  return std::max(by_flops, by_bytes);
}

Status refuse_impossible(Measured& m, const LeastWork& work, const Device& device, Roofs& roofs) {
  if (!m.is_believed()) return {};
  const bool is_host = device.info().kind == DeviceInfo::Kind::cpu;
  for (int i = 0; i <= most_measurements; ++i) {
    if (i > 0) QUERN_TRY(roofs.improve(device, m.info.threads));
    QUERN_ASSIGN(const Roof roof, roofs.of(device, m.info.threads));
    const bool writes = is_host && work.written_bytes >= least_written;
    const double gbytes = writes ? roofs.write_gbytes(m.info.threads, work.written_bytes) : 0;
    const double least = floor_us(work, m.info.implementation, roof, gbytes);
    m.refused.clear();
    if (m.wall.median * (1 + most_beyond) >= least) return {};
    m.refused = cat("impossible: ", time_text(1e-3 * m.wall.median), ", where this machine takes ",
                    time_text(1e-3 * least), " at least");
  }
  return {};
}

double roof_share(const Measured& m, const Roof& roof, Caches caches) {
  if (m.wall.median <= 0 || roof.gflops <= 0 || roof.copy_gbytes <= 0) return 0;
  const std::size_t second_level = platform::second_level_cache();
  const bool in_cache = caches == Caches::warm && roof.cache_gbytes > 0 &&
                        m.info.bytes <= static_cast<double>(second_level);
  const double gflops = 1e-3 * m.info.flops / m.wall.median;
  const double gbytes = 1e-3 * m.info.bytes / m.wall.median;
  return std::max(gflops / roof.gflops, gbytes / (in_cache ? roof.cache_gbytes : roof.copy_gbytes));
}

}  // namespace quern::tools::lab
