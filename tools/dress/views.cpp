// SPDX-License-Identifier: Apache-2.0
// Dresses that put views before the inputs, so that kernels find operands with strides and offsets,
// and behind the outputs.
#include <limits>

#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/transpose.h"
#include "tools/dress/dress.h"
#include "tools/dress/rearrange.h"
#include "tools/dress/remake.h"

namespace quern::tools {
namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t to_the_begin = std::numeric_limits<std::int64_t>::min();

ValueId add_ints(Graph& graph, const Ints& ints) {
  return graph.add_constant(Tensor::from_values<std::int64_t>(
      DType::i64, Shape{static_cast<std::int64_t>(ints.size())}, ints));
}

// ---- views of one axis each

struct AxisView {
  std::int64_t start = 0;  // as Slice takes them
  std::int64_t end = to_the_end;
  std::int64_t step = 1;
};

Result<ValueId> add_slice(Graph& graph, ValueId v, const std::vector<AxisView>& views) {
  Ints starts;
  Ints ends;
  Ints axes;
  Ints steps;
  for (std::size_t d = 0; d < views.size(); ++d) {
    starts.push_back(views[d].start);
    ends.push_back(views[d].end);
    axes.push_back(static_cast<std::int64_t>(d));
    steps.push_back(views[d].step);
  }
  return graph.add(Slice{}, {v, add_ints(graph, starts), add_ints(graph, ends),
                             add_ints(graph, axes), add_ints(graph, steps)});
}

// ---- before the inputs ------------------------------------------------------------------------

// The disguised form of an input of shape `shape`, and its inverse.
struct Disguise {
  Dims dims;  // of the new input
  Tensor tensor;
  std::function<Result<ValueId>(Graph&, ValueId)> undo;
};
// `dims`: what is known of the input, of the same rank as the tensor. Nothing: it stays as it is.
using Disguiser = Result<std::optional<Disguise>> (*)(const Tensor&, const Dims& dims);

Result<std::optional<Dressed>> with_inputs(const Plain& plain, Disguiser disguiser) {
  const Graph& old = plain.graph;
  std::vector<InputValue> inputs = copied(plain.inputs);
  bool any = false;
  Remake remake(old);
  QUERN_TRY(remake.run([&](Graph& into, std::size_t i) -> Result<ValueId> {
    const Value& v = old.value(old.inputs()[i]);
    const ValueType type = into.adopt(v.type, old);
    if (!type.is_tensor() || inputs[i].kind != InputValue::Kind::tensor)
      return into.add_input(v.name, type);
    const Tensor& given = plain.inputs[i].tensors[0];
    const Dims dims = type.dims.value_or(Dims(given.shape().rank()));
    QUERN_ASSIGN(auto disguise, disguiser(given, dims));
    if (!disguise) return into.add_input(v.name, type);
    any = true;
    inputs[i].tensors[0] = disguise->tensor;
    const ValueId mine = into.add_input(v.name, ValueType(type.dtype, disguise->dims));
    QUERN_ASSIGN(const ValueId restored, disguise->undo(into, mine));
    if (type.dims) into.set_type(restored, type);
    return restored;
  }));
  if (!any) return std::optional<Dressed>();
  return std::optional(Dressed{remake.finish(), std::move(inputs), plain_outputs(old), {}});
}

Result<std::optional<Disguise>> disguise_transposed(const Tensor& t, const Dims& dims) {
  if (t.shape().rank() < 2) return std::optional<Disguise>();
  const Ints perm = reversed_axes(t.shape().rank());
  QUERN_ASSIGN(Tensor moved, transposed(t.view(), perm));
  return std::optional(
      Disguise{Dims(dims.rbegin(), dims.rend()), std::move(moved),
               [perm](Graph& g, ValueId v) { return g.add(Transpose{perm}, {v}); }});
}

// One element more before and two behind, on every axis.
Result<std::optional<Disguise>> disguise_sliced(const Tensor& t, const Dims& dims) {
  const std::size_t rank = t.shape().rank();
  if (rank == 0) return std::optional<Disguise>();
  Window window{{}, Ints(rank, 1), Ints(rank, 1)};
  Disguise d;
  for (std::size_t a = 0; a < rank; ++a) {
    window.whole.push_back(t.shape()[a] + 3);
    d.dims.push_back(dims[a].known() ? Dim(dims[a].value() + 3) : Dim());
  }
  QUERN_ASSIGN(d.tensor, spread(t.view(), window));
  d.undo = [rank](Graph& g, ValueId v) {
    return add_slice(g, v, std::vector<AxisView>(rank, {1, -2, 1}));
  };
  return std::optional(std::move(d));
}

// The last axis every other element, and of more than one axis the first backwards.
Result<std::optional<Disguise>> disguise_stepped(const Tensor& t, const Dims& dims) {
  const std::size_t rank = t.shape().rank();
  if (rank == 0) return std::optional<Disguise>();
  Window window{t.shape(), Ints(rank, 0), Ints(rank, 1)};
  Disguise d{dims, {}, {}};
  std::vector<AxisView> views(rank);
  const std::size_t last = rank - 1;
  window.whole[last] = 2 * t.shape()[last] + 1;
  window.starts[last] = 1;
  window.steps[last] = 2;
  views[last] = {1, to_the_end, 2};
  d.dims[last] = dims[last].known() ? Dim(2 * dims[last].value() + 1) : Dim();
  if (rank > 1) {
    window.starts[0] = t.shape()[0] - 1;
    window.steps[0] = -1;
    views[0] = {-1, to_the_begin, -1};
  }
  QUERN_ASSIGN(d.tensor, spread(t.view(), window));
  d.undo = [views](Graph& g, ValueId v) { return add_slice(g, v, views); };
  return std::optional(std::move(d));
}

Result<std::optional<Disguise>> disguise_squeezed(const Tensor& t, const Dims& dims) {
  const std::size_t rank = t.shape().rank();
  if (rank + 2 > Shape::max_rank) return std::optional<Disguise>();
  Shape shape = t.shape();
  shape.insert(0, 1);
  shape.push_back(1);
  Disguise d{dims, t.reshaped(shape), {}};
  d.dims.insert(d.dims.begin(), Dim(1));
  d.dims.push_back(Dim(1));
  d.undo = [rank](Graph& g, ValueId v) {
    return g.add(Squeeze{}, {v, add_ints(g, {0, static_cast<std::int64_t>(rank) + 1})});
  };
  return std::optional(std::move(d));
}

Result<std::optional<Disguise>> disguise_reshaped(const Tensor& t, const Dims&) {
  const Shape shape = t.shape();
  if (shape.rank() == 1) return std::optional<Disguise>();
  return std::optional(Disguise{
      {Dim(shape.elements())}, t.reshaped(Shape{shape.elements()}), [shape](Graph& g, ValueId v) {
        return g.add(Reshape{.allow_zero = true}, {v, add_ints(g, {shape.begin(), shape.end()})});
      }});
}

// ---- behind the outputs -----------------------------------------------------------------------

// A view of an output of this type, and the plain elements as they lie in it.
struct Shown {
  ValueId value = no_value;
  std::function<Result<Tensor>(const TensorView&)> rearranged;
};
// Nothing: it stays as it is.
using Shower = Result<std::optional<Shown>> (*)(Graph&, ValueId, const TensorType&);

Result<std::optional<Dressed>> with_outputs(const Plain& plain, Shower shower) {
  Dressed d{plain.graph.clone(), copied(plain.inputs), plain_outputs(plain.graph), {}};
  bool any = false;
  for (std::size_t i = 0; i < plain.outputs.size(); ++i) {
    if (!plain.outputs[i]) continue;
    QUERN_ASSIGN(auto shown, shower(d.graph, d.graph.outputs()[i], *plain.outputs[i]));
    if (!shown) continue;
    any = true;
    d.graph.set_output(i, shown->value);
    d.outputs[i].rearranged = std::move(shown->rearranged);
  }
  if (!any) return std::optional<Dressed>();
  return std::optional(std::move(d));
}

Result<std::optional<Shown>> show_transposed(Graph& g, ValueId v, const TensorType& type) {
  if (type.shape.rank() < 2) return std::optional<Shown>();
  const Ints perm = reversed_axes(type.shape.rank());
  QUERN_ASSIGN(const ValueId view, g.add(Transpose{perm}, {v}));
  return std::optional(Shown{view, [perm](const TensorView& t) { return transposed(t, perm); }});
}

Result<std::optional<Shown>> show_window(Graph& g, ValueId v, const Window& window,
                                         const std::vector<AxisView>& views, const Shape& shape) {
  QUERN_ASSIGN(const ValueId view, add_slice(g, v, views));
  return std::optional(
      Shown{view, [window, shape](const TensorView& t) { return cut(t, window, shape); }});
}

Result<std::optional<Shown>> show_sliced(Graph& g, ValueId v, const TensorType& type) {
  const std::size_t rank = type.shape.rank();
  if (rank == 0) return std::optional<Shown>();
  Window window{type.shape, Ints(rank, 0), Ints(rank, 1)};
  std::vector<AxisView> views(rank);
  Shape shape = type.shape;
  for (std::size_t d = 0; d < rank; ++d) {
    if (shape[d] < 2) continue;  // something has to be left
    window.starts[d] = views[d].start = 1;
    --shape[d];
  }
  return show_window(g, v, window, views, shape);
}

Result<std::optional<Shown>> show_stepped(Graph& g, ValueId v, const TensorType& type) {
  const std::size_t rank = type.shape.rank();
  if (rank == 0) return std::optional<Shown>();
  Window window{type.shape, Ints(rank, 0), Ints(rank, 1)};
  std::vector<AxisView> views(rank);
  Shape shape = type.shape;
  window.steps[rank - 1] = views[rank - 1].step = 2;
  shape[rank - 1] = (shape[rank - 1] + 1) / 2;
  if (rank > 1) {
    window.starts[0] = shape[0] - 1;
    window.steps[0] = -1;
    views[0] = {-1, to_the_begin, -1};
  }
  return show_window(g, v, window, views, shape);
}

Result<std::optional<Shown>> show_reshaped(Graph& g, ValueId v, const TensorType& type) {
  if (type.shape.rank() == 1) return std::optional<Shown>();
  const Shape shape{type.shape.elements()};
  QUERN_ASSIGN(const ValueId view, g.add(Reshape{}, {v, add_ints(g, {-1})}));
  return std::optional(Shown{view, [shape](const TensorView& t) { return reshaped(t, shape); }});
}

}  // namespace

Result<std::optional<Dressed>> dress_transposed_in(const Plain& plain) {
  return with_inputs(plain, disguise_transposed);
}

Result<std::optional<Dressed>> dress_sliced_in(const Plain& plain) {
  return with_inputs(plain, disguise_sliced);
}

Result<std::optional<Dressed>> dress_stepped_in(const Plain& plain) {
  return with_inputs(plain, disguise_stepped);
}

Result<std::optional<Dressed>> dress_squeezed_in(const Plain& plain) {
  return with_inputs(plain, disguise_squeezed);
}

Result<std::optional<Dressed>> dress_reshaped_in(const Plain& plain) {
  return with_inputs(plain, disguise_reshaped);
}

Result<std::optional<Dressed>> dress_transposed_out(const Plain& plain) {
  return with_outputs(plain, show_transposed);
}

Result<std::optional<Dressed>> dress_sliced_out(const Plain& plain) {
  return with_outputs(plain, show_sliced);
}

Result<std::optional<Dressed>> dress_stepped_out(const Plain& plain) {
  return with_outputs(plain, show_stepped);
}

Result<std::optional<Dressed>> dress_reshaped_out(const Plain& plain) {
  return with_outputs(plain, show_reshaped);
}

}  // namespace quern::tools
