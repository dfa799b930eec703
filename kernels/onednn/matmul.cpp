// SPDX-License-Identifier: Apache-2.0
// MatMul by oneDNN. A constant right-hand side is packed once, and the batch of the left one is
// folded into its rows; otherwise both sides are read in place by strides (attention reads its
// heads without a transposition). alpha, a bias and further post-ops are fused.
#include "graph/ops/matmul.h"

#include "graph/ops/products.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/matmul_shape.h"
#include "kernels/contract/openmp.h"
#include "kernels/contract/row_blocks.h"
#include "kernels/onednn/onednn.h"
#include "kernels/onednn/select.h"

namespace quern {
namespace {

using onednn::Md;
using onednn::MdDims;

// Of the factors.
onednn::DataType type_of(const KernelRequest& r) {
  return *onednn::data_type(r.dtype(0));
}

// One side of the product as matrices: batch dimensions, then rows and columns, with strides.
struct Side {
  Shape dims;
  Shape strides;
};

// A vector becomes a row on the left and a column on the right.
Side side_of(const TensorDesc& t, Factor factor, Transposed transposed) {
  Side s{t.shape, t.layout.strides};
  if (s.dims.rank() == 1) {
    const bool is_left = factor == Factor::left;
    const std::size_t at = is_left ? 0 : 1;
    s.dims.insert(at, 1);
    s.strides.insert(at, is_left ? s.dims[1] * s.strides[0] : 1);
    return s;
  }
  const std::size_t r = s.dims.rank();
  if (transposed.of(factor)) {
    std::swap(s.dims[r - 2], s.dims[r - 1]);
    std::swap(s.strides[r - 2], s.strides[r - 1]);
  }
  return s;
}

// oneDNN needs contiguous rows or contiguous columns.
bool is_readable(const TensorDesc& t, const Side& s) {
  if (t.layout.block) return false;
  const std::size_t r = s.dims.rank();
  for (std::size_t i = 0; i < r; ++i)
    if (s.strides[i] <= 0 && s.dims[i] > 1) return false;
  const auto good = [&](std::size_t inner, std::size_t outer) {
    return (s.strides[inner] == 1 || s.dims[inner] == 1) &&
           (s.strides[outer] >= s.dims[inner] || s.dims[outer] == 1);
  };
  return good(r - 1, r - 2) || good(r - 2, r - 1);
}

void pad_rank(Side& s, std::size_t rank) {
  while (s.dims.rank() < rank) {
    s.strides.insert(0, s.dims[0] * std::max<std::int64_t>(s.strides[0], 1));
    s.dims.insert(0, 1);
  }
}

// Dimensions of size 1 get the stride that a dense tensor would have, because oneDNN compares
// strides: where one of a batch lies outside of those before it, brgemm of 3.7 takes the wrong
// matrices. So it does where one lies inside of a batch that is not dense: rows of larger matrices.
void normalise_ones(Side& s) {
  const std::size_t rank = s.dims.rank();
  for (std::size_t i = rank; i-- > 0;) {
    if (s.dims[i] != 1) continue;
    std::int64_t stride = 1;
    for (std::size_t k = i + 2 < rank ? i + 1 : 0; k < rank; ++k)
      if (k != i && s.dims[k] > 1) stride = std::max(stride, s.dims[k] * s.strides[k]);
    for (std::size_t k = 0; i + 2 < rank && k < i; ++k)
      if (s.dims[k] > 1) stride = s.strides[k];
    s.strides[i] = i + 1 == rank ? 1 : stride;
  }
}

Md md_of(onednn::DataType type, Side s) {
  normalise_ones(s);
  return onednn::strided(type, onednn::dims_of(s.dims), onednn::dims_of(s.strides));
}

// Merges the rows of all matrices of a batch into one matrix, if the strides allow it.
bool fold_rows(Side& s) {
  const std::size_t r = s.dims.rank();
  for (std::size_t i = 0; i + 2 < r; ++i) {
    if (s.dims[i] == 1) continue;
    std::size_t next = i + 1;
    while (next + 1 < r && s.dims[next] == 1) ++next;
    if (next + 1 < r && s.strides[i] != s.dims[next] * s.strides[next]) return false;
  }
  std::size_t row = r - 2;  // the innermost dimension of the rows whose size is not 1
  while (row > 0 && s.dims[row] == 1) --row;
  const std::int64_t stride = s.dims[row] == 1 ? s.dims[r - 1] * s.strides[r - 1] : s.strides[row];
  s = {{s.dims.elements(0, r - 1), s.dims[r - 1]}, {stride, s.strides[r - 1]}};
  return true;
}

struct Problem {
  Side a, b;
  Shape dst;
  bool as_matrix = false;
  Layout a_layout, b_layout;  // to request
};

// With `dense`, the sides are requested in row-major order instead of their own layout.
std::optional<Problem> describe(const KernelRequest& r) {
  const Transposed transposed = transposed_in(r.as<MatMul>());
  Problem p;
  const auto take = [&](std::size_t i, Factor factor, Layout& layout) {
    const TensorDesc& lies = r.inputs[i].desc;
    Side s = side_of(lies, factor, transposed);
    if (is_readable(lies, s)) {
      layout = lies.layout;
      return s;
    }
    const TensorDesc dense = TensorDesc::row_major(lies.dtype, lies.shape);
    layout = dense.layout;
    return side_of(dense, factor, transposed);
  };
  p.a = take(0, Factor::left, p.a_layout);
  p.b = take(1, Factor::right, p.b_layout);
  const std::size_t rank = std::max(p.a.dims.rank(), p.b.dims.rank());
  pad_rank(p.a, rank);
  pad_rank(p.b, rank);
  for (std::size_t i = 0; i + 2 < rank; ++i) p.dst.push_back(std::max(p.a.dims[i], p.b.dims[i]));
  p.dst.push_back(p.a.dims[rank - 2]);
  p.dst.push_back(p.b.dims[rank - 1]);
  if (p.b.dims.elements(0, rank - 2) != 1 || rank == 2) {
    p.as_matrix = rank == 2;
    return p;
  }
  // One right-hand side for the whole batch: fold the batch, copying the left side if necessary.
  Side folded = p.a;
  if (!fold_rows(folded)) {
    const TensorDesc dense = TensorDesc::row_major(r.dtype(0), r.shape(0));
    folded = side_of(dense, Factor::left, transposed);
    pad_rank(folded, rank);
    if (!fold_rows(folded)) return p;  // transposed matrices of a batch, read as they lie
    p.a_layout = dense.layout;
  }
  p.a = folded;
  p.b = {{p.b.dims[rank - 2], p.b.dims[rank - 1]}, {p.b.strides[rank - 2], p.b.strides[rank - 1]}};
  p.dst = {folded.dims[0], p.b.dims[1]};
  p.as_matrix = true;
  return p;
}

// A first post-op that adds one number per column.
std::optional<std::uint32_t> bias_input(const KernelRequest& r, std::int64_t columns) {
  const BinaryPostOp* b = r.as<MatMul>().alpha == 1 ? onednn::leading_sum(r) : nullptr;
  if (!b) return std::nullopt;
  const TensorDesc& bias = r.operands[b->operand].desc;
  if (bias.dtype != r.outputs[0].dtype) return std::nullopt;
  const Shape& s = bias.shape;
  if (s.empty() || s.back() != columns || s.elements() != columns) return std::nullopt;
  if (!is_row_major(bias)) return std::nullopt;
  return r.read_of(*b);
}

bool suits_matmul(const KernelRequest& r) {
  if (!r.target.use_onednn || !onednn::available()) return false;
  const DType type = r.dtype(0);
  const bool is_bf16 = type == DType::bf16 && onednn::has_bf16_units() && r.inputs[1].constant;
  if ((type != DType::f32 && !is_bf16) || r.dtype(1) != type) return false;
  return r.shape(0).elements() > 0 && r.shape(1).elements() > 0;
}

// The first `skip` post-ops are handled elsewhere.
onednn::PostOpRules rules_for(const KernelRequest& r, const Problem& p, std::size_t skip) {
  onednn::PostOpRules rules{.as_matrix = p.as_matrix, .scale = r.as<MatMul>().alpha, .skip = skip};
  const Shape& shape = r.outputs[0].shape;
  const bool same_rank = shape.rank() == p.dst.rank();
  if (!same_rank && (!p.as_matrix || shape.rank() < 2)) rules.at_most = 0;
  return rules;
}

Selection build(const KernelRequest& r, const Problem& p) {
  if (p.dst.rank() > DNNL_MAX_NDIMS) return unsupported();
  const std::int64_t columns = p.dst.back();
  const auto bias = bias_input(r, columns);
  std::optional<Md> bias_md;
  if (bias) {
    Shape s = Shape::filled(p.dst.rank(), 1);
    s[p.dst.rank() - 1] = columns;
    bias_md = onednn::md_of(TensorDesc::row_major(r.outputs[0].dtype, s));
  }
  const Md a = md_of(type_of(r), p.a);
  // Constants are packed from f32, whatever their type.
  const Md plain_b = md_of(onednn::DataType::f32, p.b);
  const Md dst = *onednn::md_of(TensorDesc::row_major(r.outputs[0].dtype, p.dst));
  const int threads =
      onednn::threads_for(r, 2.0 * static_cast<double>(p.dst.elements()) *
                                 static_cast<double>(p.a.dims[p.a.dims.rank() - 1]));
  const OpenMpThreads made_by(threads);
  const Md b = r.inputs[1].constant ? onednn::any(type_of(r), onednn::dims_of(p.b.dims)) : plain_b;
  const auto [fused, pd] = onednn::fuse_trusted(
      r, r.outputs[0].shape, rules_for(r, p, bias ? 1 : 0), [&](const onednn::FusedPostOps& f) {
        return onednn::matmul_pd(a, b, bias_md, dst, onednn::make_attr(r, {}, f));
      });
  if (!pd) return unsupported();
  onednn::KernelBuilder builder(r);
  builder.threads(threads);
  builder.input(DNNL_ARG_SRC, 0, a, p.a_layout);
  builder.output(DNNL_ARG_DST, 0, dst, Layout::row_major(r.outputs[0].shape));
  if (r.inputs[1].constant) {
    QUERN_ASSIGN(auto packed,
                 onednn::pack_constant(r, *r.inputs[1].constant, plain_b, pd.weights_desc()));
    builder.packed(DNNL_ARG_WEIGHTS, pd.weights_desc(), std::move(packed));
    builder.mark_packed(1);
  } else {
    builder.input(DNNL_ARG_WEIGHTS, 1, plain_b, p.b_layout);
  }
  if (bias) {
    builder.input(DNNL_ARG_BIAS, *bias, *bias_md, Layout::row_major(r.read(*bias).desc.shape));
    builder.also_taken(1);
  }
  builder.post_ops(fused);
  return builder.finish<dnnl::matmul>(pd);
}

// The part of a batch, or the rows, that one call computes in some 50 ms, where all would take
// longer; 0: all. Memory that is touched for the first time takes longer than the product of small
// matrices.
std::int64_t part_at_once(const KernelRequest& r) {
  const double most_flops = cut_work(4e9);
  const double most_bytes = cut_work(2e7);
  const auto axis = cut_axis(r);
  if (!axis) return 0;
  const auto count = static_cast<double>(r.outputs[0].shape[*axis]);
  const ProductShape p = product_shape(r.shape(0), r.shape(1), transposed_in(r.as<MatMul>()));
  const double flops = 2 * p.multiplications() / count;
  const double bytes = static_cast<double>(r.outputs[0].bytes()) / count;
  if (count * flops <= most_flops && count * bytes <= 8 * most_bytes) return 0;
  return std::max<std::int64_t>(
      static_cast<std::int64_t>(std::min(most_flops / flops, most_bytes / bytes)), 1);
}

}  // namespace

Selection select_matmul_onednn(const KernelRequest& r) {
  // Our own product on all threads takes 1.06 times as long as oneDNN's (whisper-tiny's encoder).
  if (!suits_matmul(r) || r.target.team.calls_library_in_parallel()) return unsupported();
  if (const std::int64_t count = part_at_once(r); count > 0) {
    QUERN_ASSIGN(auto blocks, in_row_blocks(r, count, select_matmul_onednn));
    if (blocks) return blocks;
  }
  return onednn::guard(r, [&]() -> Selection {
    auto p = describe(r);
    if (!p) return unsupported();
    // A constant is packed from its row-major form, whatever its layout in the graph is by now.
    return build(r, *p);
  });
}

}  // namespace quern
