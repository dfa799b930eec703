// SPDX-License-Identifier: Apache-2.0
// Everything that oneDNN is asked for, against the reference: products of geometries, operands and
// chains of post-ops, by whatever implementation kernels/onednn/trust.cpp lets through.
//
// By default some thousand points of each product. QUERN_SWEEP=20 takes twenty times as many (some
// minutes) and says who computed what; ONEDNN_MAX_CPU_ISA=SSE41, AVX, AVX2 sweeps what other
// machines get. To be run like that, with each, whenever the table or the library changes. Without
// oneDNN the same work is held to the same bounds by the implementations that remain.
#include "graph/ops/binary_kind.h"
#include "graph/ops/cast.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pool.h"
#include "graph/ops/unary.h"
#include "kernels/contract/conv_parts.h"
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_rows.h"
#include "tests/kernels/sweep_post_ops.h"

namespace quern::testing {
namespace {

struct Product {
  Op op;
  std::vector<Tensor> inputs;
};

struct Problem {
  Op op;
  std::vector<Tensor> inputs;  // the op's own
  std::vector<std::size_t> constants;
  std::int64_t length = 1;  // products in each sum
  std::string text;
  Selection (*select)(const KernelRequest&) = nullptr;
  std::optional<Product> in_f32;  // of the same numbers, where the inputs are 16-bit floats
};

// The product of the inputs rounded to bf16 with a result of f32: its sums alone round.
Problem in_bf16(Problem p) {
  p.in_f32 = {p.op, p.inputs};
  if (const auto* conv = p.op.as<Conv>()) {
    p.op = Conv{.window = conv->window, .group = conv->group, .f32_result = true};
  } else {
    MatMul wide = *p.op.as<MatMul>();
    wide.f32_result = true;
    p.op = wide;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    p.inputs[i] = run(Cast{.to = DType::bf16}, {p.inputs[i]});
    p.in_f32->inputs[i] = run(Cast{.to = DType::f32}, {p.inputs[i]});
  }
  p.text += " in bf16";
  return p;
}

// Winograd's transformations add up terms that cancel: some 32 times the rounding of a plain sum.
double growth_of(const std::string& implementation) {
  return implementation.find("wino") != std::string::npos ? 32 : 1;
}

// Runs `problem` with a chain of steps and holds what is computed to its bound.
void expect_right(const Problem& problem, const std::vector<Step>& steps, RandomTensors& random,
                  Tally& tally, SelectedCase how) {
  const Shape dst = *infer(problem.op, problem.inputs).value()[0].shape();
  std::string text = problem.text;
  for (const Step& s : steps) {
    text += cat(" ", text_of(s));
    if (s.unary) {
      how.post_ops.push_back(*s.unary);
      continue;
    }
    const auto at = static_cast<std::uint32_t>(how.operands.size());
    how.post_ops.push_back(BinaryPostOp{s.binary, at, s.swapped});
    if (s.overwritten) how.dying.push_back(problem.inputs.size() + at);
    // Divisors stay away from 0.
    const bool divides = s.binary == BinaryKind::div;
    how.operands.push_back(random.floats(operand_shape(s, dst), divides ? 0.5F : -1.0F, 1.5F));
  }
  SelectedRun got = run_selected(SelectedCase{.op = problem.op,
                                              .inputs = problem.inputs,
                                              .post_ops = how.post_ops,
                                              .operands = how.operands,
                                              .constants = problem.constants,
                                              .dying = how.dying,
                                              .threads = how.threads,
                                              .select = problem.select,
                                              .scratch = how.scratch,
                                              .pool = how.pool});
  tally.add(got);
  if (got.implementation.empty()) return;
  const Product& sum = problem.in_f32 ? *problem.in_f32 : Product{problem.op, problem.inputs};
  const auto sums = bounded_sums(sum.op, sum.inputs, problem.length, growth_of(got.implementation));
  const std::size_t wrong = count_wrong(got, how.post_ops, how.operands, sums);
  EXPECT_EQ(wrong, 0U) << "of " << sums.size() << ": " << text << " by " << got.implementation
                       << ", post-ops " << got.post_ops_taken << ", threads " << how.threads
                       << (how.scratch ? "" : ", no scratch");
}

// The implementation of `op` that is oneDNN's; null without oneDNN.
Selection (*onednn_of(const Op& op))(const KernelRequest&) {
  return implementation_of(op.def(), "onednn");
}

// ---- chains

constexpr double unbounded = std::numeric_limits<double>::infinity();

const std::vector<Step>& unary_steps() {
  static const std::vector<Step> all = [] {
    std::vector<Step> steps;
    for (const Unary& u : {Unary{UnaryKind::relu},
                           {UnaryKind::leaky_relu, 0.1},
                           {UnaryKind::leaky_relu, -0.5},
                           {UnaryKind::elu, 0.7},
                           {UnaryKind::elu, 1.5},
                           {UnaryKind::tanh},
                           {UnaryKind::sigmoid},
                           {UnaryKind::abs},
                           {UnaryKind::sqrt},
                           {UnaryKind::exp},
                           {UnaryKind::gelu},
                           {UnaryKind::gelu_tanh},
                           {UnaryKind::swish, 1},
                           {UnaryKind::swish, 1.7},
                           {UnaryKind::clip, -0.3, 0.6},
                           {UnaryKind::clip, 0, 6},
                           {UnaryKind::clip, 0.1, unbounded},
                           {UnaryKind::neg},
                           {UnaryKind::affine, 0.2, 0.5},
                           {UnaryKind::affine, -1.5, 0.25},
                           {UnaryKind::mish},
                           {UnaryKind::hard_sigmoid, 0.2, 0.5},
                           {UnaryKind::hard_swish},
                           {UnaryKind::reciprocal},
                           {UnaryKind::softplus}}) {
      Step s;
      s.unary = u;
      steps.push_back(s);
    }
    return steps;
  }();
  return all;
}

// Every kind with every shape that broadcasts to a result of this rank.
std::vector<Step> binary_steps(std::size_t rank) {
  std::vector<Step> steps;
  const unsigned full = (1U << rank) - 1;
  for (const BinaryKind kind : {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::div,
                                BinaryKind::min, BinaryKind::max, BinaryKind::prelu})
    for (unsigned spread = 0; spread <= full; ++spread)
      for (const bool trimmed : {false, true})
        for (const bool swapped : {false, true}) {
          if (swapped && kind == BinaryKind::prelu) continue;
          steps.push_back(
              {.binary = kind, .spread = spread, .trimmed = trimmed, .swapped = swapped});
          if (kind != BinaryKind::add || spread != full || trimmed) continue;
          steps.push_back(steps.back());
          steps.back().overwritten = true;
        }
  return steps;
}

// Chains of several steps are made of these: each kind of step once or, where parameters can be
// mixed up, twice.
std::vector<Step> common_steps(std::size_t rank) {
  std::vector<Step> steps;
  const unsigned full = (1U << rank) - 1;
  const unsigned channel = 1U << (rank - 2);
  const auto add = [&](BinaryKind kind, unsigned spread, bool overwritten = false) {
    steps.push_back({.binary = kind, .spread = spread, .overwritten = overwritten});
  };
  add(BinaryKind::add, full, true);
  add(BinaryKind::add, full);
  add(BinaryKind::mul, full);
  add(BinaryKind::add, channel);
  add(BinaryKind::mul, channel);
  add(BinaryKind::mul, 0);
  add(BinaryKind::add, 0);
  add(BinaryKind::add, 1);
  add(BinaryKind::add, full >> 1);
  for (const std::size_t i : {0, 1, 2, 6, 14, 15, 18, 19, 21}) steps.push_back(unary_steps()[i]);
  return steps;
}

// A chain of the rank's steps: none, one of all, or two or three of the common ones.
std::vector<Step> chain_at(Point& point, std::size_t rank) {
  static const std::vector<int> lengths = {1, 2, 3, 2, 3, 3};
  const int length = point.of(lengths);
  if (length == 1) {
    std::vector<Step> all = binary_steps(rank);
    all.insert(all.end(), unary_steps().begin(), unary_steps().end());
    return {point.of(all)};
  }
  std::vector<Step> chain;
  const std::vector<Step> common = common_steps(rank);
  for (int i = 0; i < length; ++i)
    chain.push_back(point.of(i == 0 && length == 2 ? unary_steps() : common));
  // One input holds what is overwritten.
  bool seen = false;
  for (Step& s : chain) {
    if (s.overwritten && seen) s.overwritten = false;
    seen = seen || s.overwritten;
  }
  return chain;
}

// ---- convolutions

struct Channels {
  std::int64_t in, out, group;  // in and out of one group
};

struct Axis {
  std::int64_t size, kernel;
};

struct Pads {
  std::int64_t begin, end;
};

const std::vector<Channels> all_channels = {
    {1, 1, 1}, {3, 4, 1},  {16, 16, 1}, {5, 7, 1}, {17, 20, 1}, {32, 24, 1}, {2, 3, 2}, {16, 16, 2},
    {1, 1, 6}, {1, 1, 16}, {1, 1, 20},  {1, 2, 8}, {3, 16, 1},  {1, 16, 1},  {48, 8, 1}};
const std::vector<Axis> all_axes = {{1, 1}, {1, 2}, {1, 3}, {2, 1},  {2, 3},  {5, 1},
                                    {6, 2}, {7, 3}, {9, 5}, {33, 3}, {18, 1}, {4, 4}};
const std::vector<Pads> all_pads = {{0, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 2}, {2, 1}, {3, 0}, {1, 4}};

// A convolution, transposed or not; nothing where no position is left.
std::optional<Problem> convolution_at(Point& point, bool transposed) {
  static const std::vector<std::size_t> ranks = {2, 1, 3, 2};
  static const std::vector<std::int64_t> batches = {1, 2};
  static const std::vector<std::int64_t> steps = {1, 2, 1, 3};
  static const std::vector<std::int64_t> dilations = {1, 1, 2};
  static const std::vector<bool> yes_no = {true, false};
  static const std::vector<bool> kinds = {true, false, false};
  const std::size_t rank = point.of(ranks);
  const Channels c = point.of(all_channels);
  Shape x = {point.of(batches), c.in * c.group};
  Shape w = transposed ? Shape{c.in * c.group, c.out} : Shape{c.out * c.group, c.in};
  Window window;
  window.pads.resize(2 * rank);
  const bool pointwise = point.of(kinds);
  for (std::size_t d = 0; d < rank; ++d) {
    const Axis axis = point.of(all_axes);
    const Pads pads = pointwise ? Pads{0, 0} : point.of(all_pads);
    x.push_back(axis.size);
    w.push_back(pointwise ? 1 : axis.kernel);
    window.pads[d] = pads.begin;
    window.pads[rank + d] = pads.end;
  }
  const std::int64_t step = point.of(steps);
  window.strides.assign(rank, step);
  if (point.of(yes_no)) window.strides[rank - 1] = 1 + step % 2;
  window.dilations.assign(rank, point.of(dilations));
  const bool has_bias = point.of(yes_no);
  Problem p;
  if (transposed)
    p.op = ConvTranspose{.window = window, .group = c.group};
  else
    p.op = Conv{.window = window, .group = c.group};
  p.length = c.in * w.elements(2);
  p.constants = point.of(yes_no) ? std::vector<std::size_t>{1} : std::vector<std::size_t>{};
  const auto ints = [](const Ints& list) { return Shape(list).text(); };
  p.text = cat(transposed ? "transposed " : "", x.text(), " by ", w.text(), " group ", c.group,
               " strides ", ints(window.strides), " dilations ", ints(window.dilations), " pads ",
               ints(window.pads), has_bias ? " bias" : "",
               p.constants.empty() ? " weights unknown" : "");
  RandomTensors random(static_cast<unsigned>(x.elements() * 31 + w.elements()));
  p.inputs = {random.floats(x), random.floats(w),
              has_bias ? random.floats({c.out * c.group}) : absent()};
  const auto types = infer(p.op, p.inputs);
  if (!types || (*types)[0].shape()->elements() == 0) return std::nullopt;
  return p;
}

TEST(OneDnnSweep, Convolutions) {
  RandomTensors random(1);
  Tally tally("convolutions");
  static const std::vector<int> threads = {1, 2};
  sweep(2500, [&](Point& point) {
    auto p = convolution_at(point, false);
    const int n = point.of(threads);
    if (p) p->select = onednn_of(p->op);
    if (p) expect_right(*p, {}, random, tally, {.op = p->op, .inputs = p->inputs, .threads = n});
  });
}

TEST(OneDnnSweep, TransposedConvolutions) {
  RandomTensors random(2);
  Tally tally("transposed convolutions");
  sweep(1500, [&](Point& point) {
    auto p = convolution_at(point, true);
    if (!p) return;
    p->select = onednn_of(p->op);
    if (p->select) expect_right(*p, {}, random, tally, {.op = p->op, .inputs = p->inputs});
  });
  if (onednn_of(ConvTranspose{})) {
    EXPECT_GT(tally.taken(), 900) << "a name of oneDNN's is missing in the table of trust";
  }
}

struct ConvCase {
  Shape x, w;
  Window window;
  std::int64_t group = 1;
};

// One for each implementation and each way that its loops end.
const std::vector<ConvCase> chained = {
    {{2, 16, 7, 9}, {16, 16, 3, 3}, {.pads = {1, 1, 1, 1}}},
    {{1, 32, 6, 6}, {48, 32, 1, 1}},
    {{2, 5, 7, 6}, {7, 5, 3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}}},
    {{2, 3, 9, 9}, {20, 3, 3, 3}},
    {{2, 16, 7, 5}, {16, 1, 3, 3}, {.pads = {1, 1, 1, 1}}, 16},
    {{2, 6, 5, 7}, {6, 1, 3, 3}, {.pads = {1, 1, 1, 1}}, 6},
    {{1, 8, 5, 5}, {6, 4, 3, 3}, {}, 2},
    {{2, 32, 5, 4}, {32, 16, 3, 3}, {}, 2},
    {{1, 1, 6, 8}, {1, 1, 3, 3}, {.pads = {1, 1, 1, 1}}},
    {{2, 1, 4, 8}, {16, 1, 1, 3}},
    {{2, 16, 9}, {16, 16, 3}, {.pads = {1, 1}}},
    {{2, 3, 12}, {5, 3, 4}, {.strides = {4}}},
    {{2, 16, 3, 4, 5}, {16, 16, 1, 1, 1}},
    {{1, 4, 4, 3, 5}, {6, 4, 3, 3, 3}, {.pads = {1, 1, 1, 1, 1, 1}}},
    {{2, 8, 1, 9}, {12, 8, 1, 3}, {.pads = {0, 1, 0, 1}}},
    {{2, 8, 9, 1}, {12, 8, 3, 1}, {.pads = {1, 0, 1, 0}}},
    {{2, 8, 1, 1}, {8, 8, 1, 1}},
    {{1, 64, 14, 14}, {64, 64, 3, 3}, {.pads = {1, 1, 1, 1}}},
};

TEST(OneDnnSweep, ChainsBehindConvolutions) {
  RandomTensors random(3);
  Tally tally("chains behind convolutions");
  static const std::vector<bool> yes_no = {true, false};
  static const std::vector<int> threads = {1, 2};
  for (const ConvCase& c : chained)
    sweep(110, [&](Point& point) {
      Problem p{.op = Conv{.window = c.window, .group = c.group},
                .inputs = {random.floats(c.x), random.floats(c.w), random.floats({c.w[0]})},
                .constants = {},
                .length = c.w.elements(1),
                .text = cat(c.x.text(), " by ", c.w.text(), " group ", c.group)};
      const std::vector<Step> chain = chain_at(point, c.x.rank());
      if (point.of(yes_no)) p.constants = {1, 2};
      const int n = point.of(threads);
      const bool scratch = point.of(yes_no);
      expect_right(p, chain, random, tally,
                   {.op = p.op, .inputs = p.inputs, .threads = n, .scratch = scratch});
    });
}

// Any geometry: which implementation it gets, and how that lays out its destination, decides what
// becomes of an operand.
void expect_chains_right(const char* name, unsigned seed, std::size_t count,
                         Selection (*select)(const KernelRequest&)) {
  RandomTensors random(seed);
  Tally tally(name);
  static const std::vector<bool> yes_no = {true, false};
  sweep(count, [&](Point& point) {
    auto p = convolution_at(point, false);
    if (!p) return;
    p->select = select;
    const std::vector<Step> chain = chain_at(point, p->inputs[0].shape().rank());
    const bool scratch = point.of(yes_no);
    expect_right(*p, chain, random, tally, {.op = p->op, .inputs = p->inputs, .scratch = scratch});
  });
}

TEST(OneDnnSweep, ChainsBehindAnyConvolution) {
  expect_chains_right("chains behind any convolution", 10, 2000, onednn_of(Conv{}));
}
TEST(OwnSweep, ChainsBehindConvolutions) {
  expect_chains_right("chains behind our convolutions", 16, 1500, select_conv_rows);
}
TEST(OwnSweep, ChainsBehindDepthwiseConvolutions) {
  expect_chains_right("chains behind our depthwise ones", 17, 1500, select_conv_depthwise);
}

// On a CPU without units for bf16 by the kernel for f32.
TEST(OneDnnSweep, ChainsBehindAnyConvolutionInBf16) {
  RandomTensors random(15);
  Tally tally("chains behind any convolution in bf16");
  static const std::vector<bool> yes_no = {true, false};
  sweep(2000, [&](Point& point) {
    auto p = convolution_at(point, false);
    if (!p) return;
    const std::vector<Step> chain = chain_at(point, p->inputs[0].shape().rank());
    const bool scratch = point.of(yes_no);
    const Problem narrow = in_bf16(std::move(*p));
    expect_right(narrow, chain, random, tally,
                 {.op = narrow.op, .inputs = narrow.inputs, .scratch = scratch});
  });
}

// The same with parts of the smallest size, which the threads of a pool compute.
Selection conv_by_pool(const KernelRequest& r) {
  const auto onednn = onednn_of(r.op);
  return onednn ? conv_at_one_time(r, onednn, {.least_work = 1}) : unsupported();
}

TEST(OneDnnSweep, ConvolutionsAtOneTime) {
  RandomTensors random(14);
  Tally tally("convolutions at one time");
  static const std::vector<bool> yes_no = {true, false};
  static const std::vector<int> threads = {2, 3, 5};
  const auto pool = make_thread_pool(3).value();
  sweep(1500, [&](Point& point) {
    auto p = convolution_at(point, false);
    if (!p) return;
    p->select = conv_by_pool;
    const std::vector<Step> chain = chain_at(point, p->inputs[0].shape().rank());
    const int n = point.of(threads);
    const bool scratch = point.of(yes_no);
    expect_right(
        *p, chain, random, tally,
        {.op = p->op, .inputs = p->inputs, .threads = n, .scratch = scratch, .pool = pool.get()});
  });
  if (onednn_of(Conv{})) {
    EXPECT_GT(tally.taken(), 100);
  }
}

// Few channels, of which an implementation may compute a whole block, and operands of any two
// shapes, without their leading ones: of one number as [1, 1] and as [].
TEST(OneDnnSweep, PairsOfOperandsBehindAPointwiseConvolution) {
  RandomTensors random(11);
  Tally tally("pairs of operands");
  static const std::vector<std::int64_t> outs = {1, 2, 5, 8, 9};
  static const std::vector<std::int64_t> ins = {1, 3, 8};
  static const std::vector<Shape> spatial = {{16}, {3, 5}};
  static const std::vector<std::int64_t> strides = {1, 2};
  static const std::vector<bool> yes_no = {true, false};
  sweep(1500, [&](Point& point) {
    Shape x = {4, point.of(ins)};
    Shape w = {point.of(outs), x[1]};
    Window window;
    const Shape sizes = point.of(spatial);
    for (const std::int64_t size : sizes) {
      x.push_back(size);
      w.push_back(1);
      window.strides.push_back(point.of(strides));
    }
    const Problem p{.op = Conv{.window = window},
                    .inputs = {random.floats(x), random.floats(w), random.floats({w[0]})},
                    .constants = {1},
                    .length = x[1],
                    .text = cat(x.text(), " by ", w.text(), " ", Shape(window.strides).text())};
    const std::vector<Step> steps = binary_steps(x.rank());
    const std::vector<Step> chain = {point.of(steps), point.of(steps)};
    if (chain[0].overwritten && chain[1].overwritten) return;
    const bool scratch = point.of(yes_no);
    expect_right(p, chain, random, tally, {.op = p.op, .inputs = p.inputs, .scratch = scratch});
  });
}

// Every kind and every shape of one operand; an implementation by GEMM reads most of them wrongly.
TEST(OneDnnSweep, EveryOperandBehindAConvolution) {
  RandomTensors random(7);
  Tally tally("every operand");
  // Patches, and groups for which GEMM is the best that there is.
  const std::vector<ConvCase> cases = {{{2, 3, 8, 12}, {16, 3, 4, 4}, {.strides = {4, 4}}},
                                       {{2, 8, 4, 5}, {6, 4, 3, 3}, {}, 2}};
  for (const ConvCase& c : cases)
    for (const Step& s : binary_steps(4)) {
      const Problem p{.op = Conv{.window = c.window, .group = c.group},
                      .inputs = {random.floats(c.x), random.floats(c.w), absent()},
                      .constants = {1},
                      .length = c.w.elements(1),
                      .text = cat(c.x.text(), " by ", c.w.text())};
      expect_right(p, {s}, random, tally, {.op = p.op, .inputs = p.inputs});
    }
}

// The only row of taps reads the padding above, never the only row of the picture.
TEST(OneDnnSweep, ARowThatTheWindowMisses) {
  RandomTensors random(8);
  Tally tally("a row that the window misses");
  for (const std::int64_t above : {0, 1}) {
    const Problem p{
        .op = Conv{.window = {.strides = {2, 1}, .pads = {above, 0, 0, 2}}},
        .inputs = {random.floats({2, 3, 1, 4}), random.floats({2, 3, 1, 1}), random.floats({2})},
        .constants = {},
        .length = 3,
        .text = cat("pads above ", above)};
    expect_right(p, {}, random, tally, {.op = p.op, .inputs = p.inputs});
  }
}

// ---- products

// Two elementwise steps of one algorithm, which 2.x computes with the parameters of one of them:
// alpha, a slope and an offset; two clips, of which a hard sigmoid has one.
TEST(OneDnnSweep, RepeatedActivationsBehindAProduct) {
  RandomTensors random(9);
  Tally tally("repeated activations");
  const auto unary = [](UnaryKind kind, double alpha = 0, double beta = 0) {
    Step s;
    s.unary = Unary{kind, alpha, beta};
    return s;
  };
  const Step sigmoid = unary(UnaryKind::hard_sigmoid, 0.2, 0.5);
  const std::vector<std::vector<Step>> chains = {
      {sigmoid},
      {sigmoid, unary(UnaryKind::clip, 0.4, 0.6)},
      {unary(UnaryKind::clip, -1, 6), unary(UnaryKind::clip, -6, 1)},
      {unary(UnaryKind::affine, 2, 1), unary(UnaryKind::affine, -1, 0.5)},
      {unary(UnaryKind::neg), sigmoid},
      {unary(UnaryKind::leaky_relu, 0.1), unary(UnaryKind::relu)},
      {unary(UnaryKind::leaky_relu, 0.5), unary(UnaryKind::leaky_relu, 0.1)},
      {unary(UnaryKind::elu, 0.5), unary(UnaryKind::elu, 2)},
      {unary(UnaryKind::swish, 1), unary(UnaryKind::swish, 3)}};
  for (const float alpha : {1.0F, 0.5F, -1.0F})
    for (const std::vector<Step>& chain : chains) {
      const Problem p{.op = MatMul{.alpha = alpha},
                      .inputs = {random.floats({5, 64}), random.floats({64, 33})},
                      .constants = {1},
                      .length = 64 + 2,
                      .text = cat("alpha ", alpha)};
      expect_right(p, chain, random, tally, {.op = p.op, .inputs = p.inputs});
    }
}

struct Factors {
  Shape a, b;
};

const std::vector<Factors> all_factors = {{{4, 6}, {6, 5}},
                                          {{1, 6}, {6, 5}},
                                          {{4, 6}, {6, 1}},
                                          {{1, 6}, {6, 1}},
                                          {{16, 64}, {64, 32}},
                                          {{5, 17}, {17, 33}},
                                          {{3, 1}, {1, 7}},
                                          {{5, 5}, {5, 5}},
                                          {{1, 64}, {64, 64}},
                                          {{33, 48}, {48, 17}},
                                          {{6}, {6, 5}},
                                          {{4, 6}, {6}},
                                          {{2, 4, 6}, {6}},
                                          {{6}, {2, 6, 5}},
                                          {{2, 4, 6}, {6, 5}},
                                          {{2, 4, 6}, {1, 6, 5}},
                                          {{4, 6}, {2, 6, 5}},
                                          {{2, 4, 6}, {2, 6, 5}},
                                          {{1, 4, 6}, {2, 6, 5}},
                                          {{2, 5, 5}, {5, 5}},
                                          {{2, 3, 4, 6}, {2, 3, 6, 5}},
                                          {{2, 1, 4, 6}, {1, 3, 6, 5}},
                                          {{2, 3, 4, 6}, {3, 6, 5}},
                                          {{3, 4, 6}, {2, 3, 6, 5}},
                                          {{2, 3, 4, 6}, {6, 5}},
                                          {{2, 3, 1, 6}, {2, 3, 6, 1}},
                                          {{2, 3, 4, 6}, {6}},
                                          {{5, 5, 5}, {5, 5, 5}},
                                          {{2, 16, 32}, {2, 32, 16}}};

void transpose_last(Shape& s) {
  if (s.rank() >= 2) std::swap(s[s.rank() - 2], s[s.rank() - 1]);
}

Problem product_at(Point& point, const Factors& f, RandomTensors& random) {
  static const std::vector<bool> yes_no = {true, false};
  static const std::vector<float> alphas = {1, 0.5F, -2};
  const MatMul op{
      .transpose_a = point.of(yes_no), .transpose_b = point.of(yes_no), .alpha = point.of(alphas)};
  Shape a = f.a;
  Shape b = f.b;
  const std::int64_t length = a.back();
  if (op.transpose_a) transpose_last(a);
  if (op.transpose_b) transpose_last(b);
  Problem p{.op = op,
            .inputs = {random.floats(a), random.floats(b)},
            .constants = {},
            .length = length + 2,
            .text = cat(a.text(), op.transpose_a ? "T by " : " by ", b.text(),
                        op.transpose_b ? "T" : "", " alpha ", op.alpha)};
  if (point.of(yes_no)) p.constants = {1};
  return p;
}

void sweep_products(std::uint64_t points, Problem (*form)(Problem), RandomTensors random,
                    Tally& tally) {
  static const std::vector<bool> yes_no = {true, false};
  static const std::vector<int> threads = {1, 2};
  for (const Factors& f : all_factors)
    sweep(points, [&](Point& point) {
      const Problem p = form(product_at(point, f, random));
      const std::size_t rank = infer(p.op, p.inputs).value()[0].shape()->rank();
      const std::vector<Step> chain = rank < 2 ? std::vector<Step>{} : chain_at(point, rank);
      const int n = point.of(threads);
      const bool scratch = point.of(yes_no);
      expect_right(p, chain, random, tally,
                   {.op = p.op, .inputs = p.inputs, .threads = n, .scratch = scratch});
    });
}

TEST(OneDnnSweep, ProductsAndTheirChains) {
  Tally tally("products");
  sweep_products(
      120, [](Problem p) { return p; }, RandomTensors(4), tally);
}

TEST(OneDnnSweep, ProductsInBf16AndTheirChains) {
  Tally tally("products in bf16");
  sweep_products(60, in_bf16, RandomTensors(16), tally);
}

// ---- pooling

TEST(OneDnnSweep, AveragePools) {
  static const std::vector<bool> yes_no = {true, false};
  static const std::vector<std::size_t> ranks = {2, 1, 3};
  static const std::vector<std::int64_t> channels = {1, 3, 8, 16, 17, 32};
  static const std::vector<std::int64_t> steps = {1, 2, 3};
  static const std::vector<int> layouts = {0, 1, 2, 3};
  RandomTensors random(5);
  Tally tally("pools");
  sweep(2000, [&](Point& point) {
    const std::size_t rank = point.of(ranks);
    Pool op{.kind = PoolKind::average};
    Shape x = {2, point.of(channels)};
    op.window.pads.resize(2 * rank);
    for (std::size_t d = 0; d < rank; ++d) {
      const Axis axis = point.of(all_axes);
      const Pads pads = point.of(all_pads);
      x.push_back(axis.size);
      op.window.kernel.push_back(axis.kernel);
      op.window.pads[d] = pads.begin;
      op.window.pads[rank + d] = pads.end;
    }
    op.window.strides.assign(rank, point.of(steps));
    op.window.dilations.assign(rank, point.of(yes_no) ? 1 : 2);
    op.ceil_mode = point.of(yes_no);
    op.count_include_pad = point.of(yes_no);
    const int layout = point.of(layouts);
    const std::vector<Tensor> inputs = {random.floats(x)};
    const auto types = infer(op, inputs);
    if (!types || (*types)[0].shape()->elements() == 0) return;
    const Op as_op = op;
    SelectedCase asked{.op = as_op, .inputs = inputs, .select = onednn_of(as_op)};
    if (layout == 1) asked.layout = Layout::channels_last(x);
    if (layout > 1) asked.layout = Layout::channel_blocked(x, layout == 2 ? 16 : 8);
    const SelectedRun got = run_selected(asked);
    tally.add(got);
    if (got.implementation.empty()) return;
    const Tensor want = run(as_op, inputs);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < want.span<float>().size(); ++i) {
      const float a = got.outputs[0].span<float>()[i];
      const float b = want.span<float>()[i];
      const bool same =
          a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 64 * float_step;
      wrong += same ? 0 : 1;
    }
    const auto ints = [](const Ints& list) { return Shape(list).text(); };
    EXPECT_EQ(wrong, 0U) << "average " << x.text() << " kernel " << ints(op.window.kernel)
                         << " strides " << ints(op.window.strides) << " dilations "
                         << ints(op.window.dilations) << " pads " << ints(op.window.pads)
                         << (op.ceil_mode ? " ceil" : "")
                         << (op.count_include_pad ? " with pads" : "") << " layout " << layout
                         << " by " << got.implementation;
  });
}

// ---- reorders

TEST(OneDnnSweep, Reorders) {
  static const std::vector<std::int64_t> sizes = {1, 2, 3, 7};
  static const std::vector<std::int64_t> channels = {1, 3, 4, 5, 8, 12, 16, 17, 31, 40};
  static const std::vector<std::size_t> ranks = {3, 4, 5};
  static const std::vector<int> blocks = {0, 1, 4, 8, 16};
  RandomTensors random(6);
  sweep(3000, [&](Point& point) {
    const std::size_t rank = point.of(ranks);
    Shape s = {point.of(sizes), point.of(channels)};
    while (s.rank() < rank) s.push_back(point.of(sizes));
    const auto layout_at = [&](int block) {
      return block == 0   ? Layout::row_major(s)
             : block == 1 ? Layout::channels_last(s)
                          : Layout::channel_blocked(s, static_cast<std::uint8_t>(block));
    };
    const TensorDesc from{DType::f32, s, layout_at(point.of(blocks))};
    const TensorDesc to{DType::f32, s, layout_at(point.of(blocks))};
    const TensorDesc plain = TensorDesc::row_major(DType::f32, s);
    const Tensor t = random.floats(s);
    GuardedBytes a(from.bytes());
    GuardedBytes b(to.bytes());
    Tensor back = Tensor::zeros({DType::f32, s}).value();
    detail::move_elements(plain, t.data(), from, a.data());
    detail::move_elements(from, a.data(), to, b.data());
    detail::move_elements(to, b.data(), plain, back.mutable_data());
    EXPECT_TRUE(same_bytes(t, back) && a.is_intact() && b.is_intact())
        << s.text() << " from " << from.layout.text() << " to " << to.layout.text();
  });
}

}  // namespace
}  // namespace quern::testing
