// SPDX-License-Identifier: Apache-2.0
// Products of matrices: MatMul, Gemm in all its forms, Einsum.
#include <array>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

Extent some_extent(Builder& b) {
  const Extent e = b.random_extent();
  return least(e) == 0 && b.rng.chance(0.7) ? fixed(3) : e;
}

bool matmul(Builder& b) {
  const bool whole = b.rng.chance(0.08);
  const DType type =
      whole ? b.rng.pick(std::vector<DType>{DType::i32, DType::i64, DType::u32, DType::u64})
            : some_float(b);
  const DrawnValue a = b.take({.types = {type}, .least_rank = 1, .most_rank = 4});
  const Extent depth = a.dims.back();
  Extents bd;
  if (a.rank() > 2 && b.rng.chance(0.5)) bd.assign(a.dims.begin(), a.dims.end() - 2);
  for (Extent& e : bd)
    if (b.rng.chance(0.2)) e = fixed(1);
  while (!bd.empty() && b.rng.chance(0.2)) bd.erase(bd.begin());
  bd.push_back(depth);
  const bool vector = bd.size() == 1 && b.rng.chance(0.15);
  const Extent columns = some_extent(b);
  if (!vector) bd.push_back(columns);
  const DrawnValue w = b.take_like(type, bd);
  Extents out = a.dims;
  out.pop_back();
  if (!vector) out.push_back(columns);
  if (!b.fits(out) || !b.fits(bd)) return false;
  const double most = a.most * w.most * static_cast<double>(tools::most(depth) + 1);
  b.add("MatMul", {a, w}, {}, {type, out, most});
  return true;
}

bool gemm(Builder& b) {
  const DType type = b.rng.chance(0.9) ? (b.main_type() == DType::bf16 ? DType::f32 : b.main_type())
                                       : b.rng.pick(ordinary_floats());
  const DrawnValue a = b.take({.types = {type}, .least_rank = 2, .most_rank = 2});
  const bool ta = b.rng.chance(0.3);
  const bool tb = b.rng.chance(0.5);
  const Extent rows = a.dims[ta ? 1 : 0];
  const Extent depth = a.dims[ta ? 0 : 1];
  const Extent columns = some_extent(b);
  const Extents dims = {rows, columns};
  if (!b.fits(dims) || !b.fits({depth, columns})) return false;
  const DrawnValue w = b.take_like(type, tb ? Extents{columns, depth} : Extents{depth, columns});
  Values in = {a, w};
  if (b.rng.chance(0.75)) {
    const std::vector<Extents> forms = {
        dims,       {columns}, {columns},           {fixed(1), columns}, {rows, fixed(1)},
        {fixed(1)}, {},        {fixed(1), fixed(1)}};
    in.push_back(b.take_like(type, b.rng.pick(forms)));
  }
  Attributes at;
  if (b.rng.chance(0.35)) at.push_back(b.number("alpha", b.rng.real(-2, 2)));
  if (b.rng.chance(0.35))
    at.push_back(b.number("beta", b.rng.chance(0.2) ? 0.0 : b.rng.real(-2, 2)));
  if (ta) at.push_back(Builder::integer("transA", 1));
  if (tb || b.rng.chance(0.1)) at.push_back(Builder::integer("transB", tb));
  const double most = 2 * a.most * w.most * static_cast<double>(tools::most(depth) + 1) +
                      (in.size() > 2 ? 2 * in[2].most : 0);
  b.add("Gemm", in, at, {type, dims, most});
  return true;
}

// Letters with their extents, an equation drawn from a list.
bool einsum(Builder& b) {
  struct Row {
    std::string_view equation;
    std::vector<std::string_view> in;
    std::string_view out;
  };
  static const std::vector<Row> rows = {{"ij,jk->ik", {"ij", "jk"}, "ik"},
                                        {"bij,bjk->bik", {"bij", "bjk"}, "bik"},
                                        {"ij->ji", {"ij"}, "ji"},
                                        {"ij->i", {"ij"}, "i"},
                                        {"i,j->ij", {"i", "j"}, "ij"},
                                        {"bhid,bhjd->bhij", {"bhid", "bhjd"}, "bhij"},
                                        {"bhij,bhjd->bihd", {"bhij", "bhjd"}, "bihd"},
                                        {"ij,ij->", {"ij", "ij"}, ""},
                                        {"ijk,k->ij", {"ijk", "k"}, "ij"},
                                        {"ii->i", {"ii"}, "i"}};
  const Row& row = b.rng.pick(rows);
  const DType type = b.rng.pick(std::vector<DType>{DType::f32, DType::f32, DType::f64});
  std::map<char, Extent> size;
  for (const char c : std::string("ijkbhd")) size[c] = fixed(b.rng.between(1, 5));
  if (b.rng.chance(0.3)) size['i'] = some_extent(b);
  const auto dims = [&](std::string_view letters) {
    Extents e;
    for (const char c : letters) e.push_back(size[c]);
    return e;
  };
  Values in;
  double most = 300;
  for (const std::string_view operand : row.in) {
    if (!b.fits(dims(operand))) return false;
    in.push_back(b.take_like(type, dims(operand)));
    most *= in.back().most;
  }
  b.add("Einsum", in, {Builder::text("equation", row.equation)}, {type, dims(row.out), most});
  return true;
}

constexpr std::array matrix_table = {
    Family{"matmul", 5, matmul},
    Family{"gemm", 4, gemm},
    Family{"einsum", 1, einsum},
};

}  // namespace

std::span<const Family> matrix_families() {
  return matrix_table;
}

}  // namespace quern::tools
