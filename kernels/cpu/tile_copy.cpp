// SPDX-License-Identifier: Apache-2.0
// Tile as a copy: a dimension that is repeated is two, of which the outer one has a stride of 0 in
// the input.
#include "kernels/cpu/tile_copy.h"

#include "kernels/contract/copy.h"

namespace quern {

Selection select_tile_copy(const KernelRequest& r) {
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  if (y.elements() == 0) return unsupported();
  const Layout in = Layout::row_major(x);
  const Layout out = Layout::row_major(y);
  Shape dims;
  Layout from, to;
  const auto add = [&](std::int64_t n, std::int64_t read, std::int64_t written) {
    dims.push_back(n);
    from.strides.push_back(read);
    to.strides.push_back(written);
  };
  std::size_t repeated = 0;
  for (std::size_t d = 0; d < x.rank(); ++d) repeated += y[d] != x[d];
  if (x.rank() + repeated > Shape::max_rank) return unsupported();
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (y[d] != x[d]) add(y[d] / x[d], 0, x[d] * out.strides[d]);
    add(x[d], in.strides[d], out.strides[d]);
  }
  QUERN_ASSIGN(KernelChoice choice,
               select_copy({r.dtype(0), dims, from}, {r.dtype(0), dims, to}, r.target));
  choice.input_layouts.assign(r.inputs.size(), {});
  choice.input_layouts[0] = in;
  choice.output_layouts = {out};
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
