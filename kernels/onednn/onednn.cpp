// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/onednn.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/text.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/float_state.h"
#include "kernels/contract/openmp.h"

namespace quern::onednn {

using dnnl::algorithm;

const dnnl::engine& engine() {
  static const dnnl::engine e = [] {
    dnnl_set_primitive_cache_capacity(0);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return e;
}

namespace {

// The exception that is being handled, as an answer.
Selection refusal(const KernelRequest& request) {
  try {
    throw;
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments) return unsupported();
    const Code code = e.status == dnnl_out_of_memory ? Code::out_of_memory : Code::internal;
    return Status(code, cat(request.description(), ": oneDNN: ", e.what()));
  } catch (...) {
    return status_of_exception().in(request.description());
  }
}

}  // namespace

Selection guard(const KernelRequest& request, const std::function<Selection()>& f) noexcept {
  return guarded([&]() -> Selection {
    try {
      return outside_of_team([&] {
        const OpenMpThreads threads(request.target.team.threads_of_library());
        return f();
      });
    } catch (...) {
      return refusal(request);
    }
  });
}

// ---- descriptors -------------------------------------------------------------------------------

std::optional<DataType> data_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return DataType::f32;
    case DType::bf16: return DataType::bf16;
    case DType::f16: return DataType::f16;
    case DType::i32: return DataType::s32;
    case DType::i8: return DataType::s8;
    case DType::u8: return DataType::u8;
    default: return std::nullopt;
  }
}

MdDims dims_of(const Shape& shape) {
  return MdDims(shape.begin(), shape.end());
}
Md md(DataType type, const MdDims& dims, Tag tag) {
  return Md(dims, type, tag);
}
Md any(DataType type, const MdDims& dims) {
  return Md(dims, type, Tag::any);
}
Md strided(DataType type, const MdDims& dims, const MdDims& strides) {
  return Md(dims, type, strides);
}

namespace {

std::optional<Tag> blocked_tag(std::size_t rank, int block) {
  if (rank == 3) return block == 16 ? Tag::aBc16b : block == 8 ? Tag::aBc8b : Tag::aBc4b;
  if (rank == 4) return block == 16 ? Tag::aBcd16b : block == 8 ? Tag::aBcd8b : Tag::aBcd4b;
  if (rank == 5) return block == 16 ? Tag::aBcde16b : block == 8 ? Tag::aBcde8b : Tag::aBcde4b;
  return std::nullopt;
}

}  // namespace

std::optional<Md> md_of(const TensorDesc& desc) {
  const auto type = data_type(desc.dtype);
  if (!type || desc.shape.rank() > DNNL_MAX_NDIMS) return std::nullopt;
  if (desc.layout.block) {
    const auto tag = blocked_tag(desc.shape.rank(), desc.layout.block);
    return tag ? std::optional(md(*type, dims_of(desc.shape), *tag)) : std::nullopt;
  }
  if (desc.shape.empty()) return md(*type, {1}, Tag::a);
  return strided(*type, dims_of(desc.shape), dims_of(desc.layout.strides));
}

std::optional<Layout> layout_of(const Md& m, const Shape& shape) {
  const TensorDesc probe{DType::f32, shape, {}};
  const auto same = [&](const Layout& l) {
    const auto candidate = md_of({probe.dtype, shape, l});
    if (!candidate) return false;
#if QUERN_ONEDNN_3
    return Md(*candidate).get_strides() == m.get_strides() &&
           candidate->get_inner_blks() == m.get_inner_blks() &&
           candidate->get_inner_idxs() == m.get_inner_idxs() &&
           m.get_format_kind() == dnnl::memory::format_kind::blocked;
#else
    const auto& a = candidate->data;
    const auto& b = m.data;
    if (b.format_kind != dnnl_blocked || b.extra.flags != 0) return false;
    const auto& x = a.format_desc.blocking;
    const auto& y = b.format_desc.blocking;
    return x.inner_nblks == y.inner_nblks &&
           std::equal(x.inner_blks, x.inner_blks + x.inner_nblks, y.inner_blks) &&
           std::equal(x.inner_idxs, x.inner_idxs + x.inner_nblks, y.inner_idxs) &&
           std::equal(x.strides, x.strides + a.ndims, y.strides);
#endif
  };
  for (const Layout& l : {Layout::channels_last(shape), Layout::row_major(shape)})
    if (same(l)) return l;
  if (shape.rank() >= 3)
    for (std::uint8_t block : {16, 8, 4})
      if (const Layout l = Layout::channel_blocked(shape, block); same(l)) return l;
  return std::nullopt;
}

MdDims md_dims(const Md& m) {
#if QUERN_ONEDNN_3
  return m.get_dims();
#else
  return m.dims();
#endif
}

std::string format_key(const Md& m) {
#if QUERN_ONEDNN_3
  std::string key =
      cat(static_cast<int>(m.get_data_type()), ":", static_cast<int>(m.get_format_kind()), ":");
  for (auto v : m.get_padded_dims()) key += cat(v, ",");
  if (m.get_format_kind() == dnnl::memory::format_kind::blocked) {
    for (auto v : m.get_strides()) key += cat(v, ",");
    for (auto v : m.get_inner_blks()) key += cat("b", v);
    for (auto v : m.get_inner_idxs()) key += cat("i", v);
  }
  return key + cat(":", m.get_size());
#else
  // A plain struct: its bytes serve as its name.
  return {reinterpret_cast<const char*>(&m.data), sizeof m.data};
#endif
}

// ---- the kernel --------------------------------------------------------------------------------

class OneDnnKernel final : public CpuKernel {
 public:
  using Arg = KernelBuilder::Arg;

  OneDnnKernel(std::shared_ptr<const dnnl::primitive> primitive, std::vector<Arg> args, int threads)
      : primitive_(std::move(primitive)), args_(std::move(args)), threads_(threads) {}

  Result<std::unique_ptr<KernelState>> make_state() const override {
    return guarded([&]() -> Result<std::unique_ptr<KernelState>> {
      auto state = std::make_unique<State>();
      state->memories.reserve(args_.size());
      for (const Arg& a : args_) {
        void* handle = const_cast<std::byte*>(a.bytes.get());
        if (!handle) handle = DNNL_MEMORY_NONE;
        state->memories.emplace_back(a.md, engine(), handle);
        state->args.push_back({a.id, state->memories.back().get()});
        state->handles.push_back(handle);
      }
      return std::unique_ptr<KernelState>(std::move(state));
    });
  }

  Status run(const KernelArgs& args, KernelState* kernel_state, const Parallel&) const override {
    auto& state = *static_cast<State*>(kernel_state);
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const Arg& a = args_[i];
      if (a.source == Arg::Source::packed) continue;
      void* p = a.source == Arg::Source::scratch  ? args.scratch
                : a.source == Arg::Source::output ? args.outputs[a.index]
                                                  : const_cast<std::byte*>(args.inputs[a.index]);
      if (p == state.handles[i]) continue;
      state.handles[i] = p;
      dnnl_memory_set_data_handle(state.args[i].memory, p);
    }
    const OpenMpThreads threads(threads_);
    const FloatStateScope on_all_threads(host_float_state);
    const auto status =
        dnnl_primitive_execute(primitive_->get(), state.stream.get(),
                               static_cast<int>(state.args.size()), state.args.data());
    if (status == dnnl_success) return {};
    return {status == dnnl_out_of_memory ? Code::out_of_memory : Code::internal,
            cat("oneDNN could not execute: status ", static_cast<int>(status))};
  }

 private:
  struct State final : KernelState {
    dnnl::stream stream{engine()};
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> args;
    std::vector<void*> handles;
  };

  std::shared_ptr<const dnnl::primitive> primitive_;
  std::vector<Arg> args_;
  int threads_;
};

KernelBuilder::KernelBuilder(const KernelRequest& request)
    : request_(request), threads_(request.target.team.threads_of_library()) {
  choice_.input_layouts.resize(request.read_count());
  choice_.packed_inputs.resize(request.read_count());
  choice_.output_layouts.resize(request.outputs.size());
}

void KernelBuilder::input(int arg, std::uint32_t index, const Md& md, const Layout& layout) {
  args_.push_back({Arg::Source::input, arg, index, md, nullptr});
  choice_.input_layouts[index] = layout;
}

void KernelBuilder::output(int arg, std::uint32_t index, const Md& md, const Layout& layout) {
  args_.push_back({Arg::Source::output, arg, index, md, nullptr});
  choice_.output_layouts[index] = layout;
}

void KernelBuilder::packed(int arg, const Md& md, std::shared_ptr<const std::byte> bytes) {
  args_.push_back({Arg::Source::packed, arg, 0, md, std::move(bytes)});
}

void KernelBuilder::post_ops(const FusedPostOps& fused) {
  choice_.post_ops_taken = also_taken_ + fused.taken;
  for (const auto& o : fused.operands) {
    if (o.position < 0) {
      choice_.input_layouts[o.input] = o.layout;
      choice_.sharing.push_back({0, o.input, Alias::must});
    } else {
      input(DNNL_ARG_ATTR_MULTIPLE_POST_OP(o.position) | DNNL_ARG_SRC_1, o.input, o.md, o.layout);
    }
  }
}

std::shared_ptr<const dnnl::primitive> shared_primitive(
    WeightStore* store, const std::string& key, const std::function<dnnl::primitive()>& generate) {
  const auto make = [&] { return std::make_shared<const dnnl::primitive>(generate()); };
  if (!store) return make();
  return std::static_pointer_cast<const dnnl::primitive>(store->find_or_make_code(key, make));
}

// The primitive is a function of these: operator, shapes, post-ops, threads, the implementation,
// and the arguments in their formats. A residual that is summed in place is none of the arguments.
std::string KernelBuilder::code_key(const std::string& implementation) const {
  const KernelRequest& r = request_;
  std::string key = cat("onednn|", implementation, "|", r.def().name, " ", attributes_text(r.op));
  if (choice_.post_ops_taken > 0)
    key += cat(post_ops_text(r.post_ops, [](std::uint32_t i) { return cat(i); }), "|",
               choice_.post_ops_taken, "|", choice_.sharing.size());
  key += cat("|", threads_, "|", r.target.team.threads_of_library());
  for (std::size_t i = 0; i < r.inputs.size(); ++i)
    if (r.has(i)) key += cat("|", r.shape(i).text());
  key += r.outputs[0].shape.text();
  for (const Arg& a : args_)
    key += cat("|", static_cast<int>(a.source), ",", a.id, ",", a.index, ":", format_key(a.md));
  return key;
}

Selection KernelBuilder::finish(const std::string& implementation, const Md& scratchpad,
                                const std::function<dnnl::primitive()>& generate) {
  choice_.scratch_bytes = scratchpad.get_size();
  if (choice_.scratch_bytes)
    args_.push_back({Arg::Source::scratch, DNNL_ARG_SCRATCHPAD, 0, scratchpad, nullptr});
  choice_.implementation = "onednn " + implementation;
  auto primitive = shared_primitive(request_.target.weights, code_key(implementation), generate);
  choice_.work = std::make_unique<OneDnnKernel>(std::move(primitive), std::move(args_), threads_);
  return std::optional<KernelChoice>(std::move(choice_));
}

Attributes fastest_attr(Traits traits, const FusedPostOps& fused) {
  Attributes a;
  a.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (fused.ops.len() > 0) a.attr.set_post_ops(fused.ops);
  a.traits = traits;
  a.traits.add(fused.traits);
  return a;
}

Attributes make_attr(const KernelRequest& request, Traits traits, const FusedPostOps& fused) {
  Attributes a = fastest_attr(traits, fused);
  a.scratch = request.target.scratch;
  return a;
}

int threads_for(const KernelRequest& request, double flops) {
  // Waking a parked team costs some 5 us, in which one core does about 300 kFLOP.
  const double flops_per_thread = cut_work(400e3);
  const double useful = std::max(1.0, flops / flops_per_thread);
  return static_cast<int>(std::min<double>(request.target.team.threads_of_library(), useful));
}

// ---- primitive descriptors ---------------------------------------------------------------------

// Implementations for SSE4.1 and in plain C++ take several times as long as the best; those by GEMM
// allocate from the heap if they have no scratchpad.
bool may_stand_for(std::string_view name, std::string_view best) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  return name == best ||
         !(has("simple") || has("sse41") || has(":gemm:") || name.starts_with("gemm:"));
}

namespace {

constexpr auto inference = dnnl::prop_kind::forward_inference;

// Advances from the current implementation to the first one that the table trusts. Returns an empty
// descriptor if there is none.
template <class PrimitiveDesc>
PrimitiveDesc first_trusted(PrimitiveDesc pd, Work work, Traits traits) {
  while (pd && !is_trusted(work, pd.impl_info_str(), traits))
    if (!pd.next_impl()) return {};
  return pd;
}

// Looks from `pd` on at trusted implementations that may stand for the best one, and returns the
// first without a scratchpad, or else the one with the smallest.
template <class PrimitiveDesc>
PrimitiveDesc with_least_scratch(PrimitiveDesc pd, Work work, Traits traits) {
  const std::string best = pd.impl_info_str();
  PrimitiveDesc chosen;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  do {
    const std::size_t bytes = pd.scratchpad_desc().get_size();
    const std::string name = pd.impl_info_str();
    if (bytes >= least || !is_trusted(work, name, traits) || !may_stand_for(name, best)) continue;
    least = bytes;
    // Advancing modifies this descriptor, and 3.x does not copy it by itself.
    dnnl_primitive_desc_t copy = nullptr;
    dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&copy, pd.get()), "no memory");
    chosen = pd;
    chosen.reset(copy);
  } while (least > 0 && pd.next_impl());
  return chosen;
}

// Makes a primitive descriptor from the arguments that a descriptor of 2.x and a primitive
// descriptor of 3.x have in common.
template <class Primitive, class... Args>
typename Primitive::primitive_desc make_pd(Work work, const Attributes& a, const Args&... args) {
  using Pd = typename Primitive::primitive_desc;
#if QUERN_ONEDNN_3
  Pd pd(engine(), args..., a.attr, true);
#else
  const typename Primitive::desc desc(args...);  // read at each advance to the next implementation
  Pd pd(desc, a.attr, engine(), true);
#endif
  pd = first_trusted(std::move(pd), work, a.traits);
  if (a.scratch || !pd) return pd;
  return with_least_scratch(std::move(pd), work, a.traits);
}

}  // namespace

ConvGeometry geometry_of(const ResolvedWindow& window, const Shape& slid, const Shape& positions) {
  ConvGeometry g;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    g.strides.push_back(window.strides[i]);
    g.dilations.push_back(window.dilations[i] - 1);
    g.pads_begin.push_back(window.pads_begin[i]);
    g.pads_end.push_back((positions[2 + i] - 1) * window.strides[i] + window.extent(i) -
                         slid[2 + i] - window.pads_begin[i]);
  }
  return g;
}

// Measured with 2.6: code takes 3.5 us and 1.4 KB for an element of a window's reach, and 100 us
// and more for one of the padding where taps are many; 2 us and 1 KB for one of a picture's line,
// and 40 us for one of a volume's. A padding of 2^30, and lines of 2^31, divide by zero.
bool has_short_code(const ResolvedWindow& window, const ConvGeometry& g, const Shape& slid,
                    const Shape& positions) {
  constexpr std::int64_t most_reach = 4096;
  constexpr std::int64_t most_padding = 512;
  constexpr std::array<std::int64_t, 3> most_width{max_extent, 8192, 1024};  // by rank
  for (std::size_t i = 0; i < window.rank(); ++i)
    if (window.extent(i) > most_reach) return false;
  const auto is_long = [](std::int64_t n) { return n > most_padding; };
  return std::ranges::none_of(g.pads_begin, is_long) && std::ranges::none_of(g.pads_end, is_long) &&
         std::max(slid.back(), positions.back()) <= most_width[window.rank() - 1];
}

// NOLINTNEXTLINE(readability-function-size): the arguments of oneDNN's descriptor
dnnl::convolution_forward::primitive_desc conv_pd(algorithm a, const Md& src, const Md& weights,
                                                  const std::optional<Md>& bias, const Md& dst,
                                                  const ConvGeometry& g, const Attributes& attr) {
  return make_pd<dnnl::convolution_forward>(Work::convolution, attr, inference, a, src, weights,
                                            bias.value_or(Md()), dst, g.strides, g.dilations,
                                            g.pads_begin, g.pads_end);
}

dnnl::deconvolution_forward::primitive_desc deconv_pd(const Md& src, const Md& weights,
                                                      const std::optional<Md>& bias, const Md& dst,
                                                      const ConvGeometry& g,
                                                      const Attributes& attr) {
  return make_pd<dnnl::deconvolution_forward>(
      Work::deconvolution, attr, inference, algorithm::deconvolution_direct, src, weights,
      bias.value_or(Md()), dst, g.strides, g.dilations, g.pads_begin, g.pads_end);
}

dnnl::matmul::primitive_desc matmul_pd(const Md& a, const Md& b, const std::optional<Md>& bias,
                                       const Md& dst, const Attributes& attr) {
  return bias ? make_pd<dnnl::matmul>(Work::matmul, attr, a, b, *bias, dst)
              : make_pd<dnnl::matmul>(Work::matmul, attr, a, b, dst);
}

PoolPrimitive::primitive_desc pool_pd(algorithm a, const Md& src, const Md& dst,
                                      const MdDims& kernel, const ConvGeometry& g,
                                      const Attributes& attr) {
  return make_pd<PoolPrimitive>(Work::pooling, attr, inference, a, src, dst, g.strides, kernel,
                                g.dilations, g.pads_begin, g.pads_end);
}

dnnl::reorder::primitive_desc reorder_pd(const Md& from, const Md& to, const Attributes& attr) {
  dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, attr.attr, true);
  if (pd && !is_trusted(Work::reorder, pd.impl_info_str(), attr.traits)) return {};
  return pd;
}

}  // namespace quern::onednn
