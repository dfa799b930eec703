// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/witx.h"

#include <algorithm>
#include <array>
#include <limits>

#include "frontends/wasi-nn/records.h"

namespace quern::wasi_nn {
namespace witx {
namespace {

using Arguments = const std::uint32_t*;

// ---- numbers of the ABI ------------------------------------------------------------------------

Error read_dtype(std::uint8_t number, DType* dtype) {
  constexpr std::array dtypes = {DType::f16, DType::f32, DType::f64,
                                 DType::u8,  DType::i32, DType::i64};
  if (number >= dtypes.size())
    return {Errno::invalid_argument, sentence("tensor type ", number, "; there is 0 to 5")};
  *dtype = dtypes[number];
  return {};
}

// Guests built before August 2023 number u8 2 and i32 3, without f64 between. The bytes decide
// where the tensor has elements: 2 is f64 or u8, 3 is u8 or i32.
DType resolved(DType dtype, const Shape& shape, std::uint64_t bytes) {
  const auto elements = shape.checked_elements(1);
  if (!elements || *elements == 0) return dtype;
  const auto n = static_cast<std::uint64_t>(*elements);
  if (dtype == DType::f64 && bytes == n) return DType::u8;
  if (dtype == DType::u8 && bytes == 4 * n) return DType::i32;
  return dtype;
}

// ---- records -----------------------------------------------------------------------------------

// Where the dimensions of a tensor are looked at: those of a text are not.
enum class Dims : bool { ignored, read };

// {dims: {ptr @0, count @4}, type: u8 @8, data: {ptr @12, bytes @16}}
Error read_tensor(const GuestMemory& memory, std::uint32_t at, Dims dims, TensorType* type,
                  Bytes* data) {
  const auto record = memory.range(at, 20);
  if (!record) return out_of_bounds("the tensor");
  const auto dims_at = GuestMemory::read<std::uint32_t>(*record, 0);
  const auto rank = GuestMemory::read<std::uint32_t>(*record, 4);
  QUERN_NN_TRY(read_dtype(GuestMemory::read<std::uint8_t>(*record, 8), &type->dtype));
  const auto data_at = GuestMemory::read<std::uint32_t>(*record, 12);
  const auto bytes = GuestMemory::read<std::uint32_t>(*record, 16);

  if (dims == Dims::read) {
    QUERN_NN_TRY(read_shape(memory, dims_at, rank, &type->shape));
    type->dtype = resolved(type->dtype, type->shape, bytes);
  }
  const auto range = memory.range(data_at, bytes);
  if (!range) return out_of_bounds("the tensor's data");
  *data = *range;
  return {};
}

Error out_handle(const GuestMemory& memory, std::uint32_t at, std::span<std::byte>* place) {
  const auto range = memory.range(at, 4);
  if (!range) return out_of_bounds("the place for the handle");
  *place = *range;
  return {};
}

// ---- functions ---------------------------------------------------------------------------------

// builders_ptr, builders_len, encoding, target, out_graph_ptr
Error load(Instance& instance, const GuestMemory& memory, Arguments a) {
  std::span<std::byte> out;
  Encoding encoding{};
  Target target{};
  std::vector<Bytes> parts;
  QUERN_NN_TRY(out_handle(memory, a[4], &out));
  QUERN_NN_TRY(read_encoding(a[2], 5, &encoding));
  QUERN_NN_TRY(read_target(a[3], &target));
  QUERN_NN_TRY(read_parts(memory, a[0], a[1], &parts));
  Handle graph = 0;
  QUERN_NN_TRY(instance.load(parts, encoding, target, &graph));
  GuestMemory::write(out, graph);
  return {};
}

Error load_named(Instance& instance, const GuestMemory& memory, Arguments name_at,
                 std::string_view options, std::uint32_t out_at) {
  std::span<std::byte> out;
  std::string name;
  QUERN_NN_TRY(out_handle(memory, out_at, &out));
  QUERN_NN_TRY(read_name(memory, name_at[0], name_at[1], &name));
  Handle graph = 0;
  QUERN_NN_TRY(instance.load_by_name(name, options, &graph));
  GuestMemory::write(out, graph);
  return {};
}

// name_ptr, name_len, out_graph_ptr
Error load_by_name(Instance& instance, const GuestMemory& memory, Arguments a) {
  return load_named(instance, memory, a, {}, a[2]);
}

// name_ptr, name_len, config_ptr, config_len, out_graph_ptr. The configuration is for language
// models. It is copied, since the guest may change it meanwhile.
Error load_by_name_with_config(Instance& instance, const GuestMemory& memory, Arguments a) {
  constexpr std::size_t longest = 1 << 20;  // beyond what the reader takes
  const auto config = memory.range(a[2], a[3]);
  if (!config) return out_of_bounds("the configuration");
  const std::string copy(reinterpret_cast<const char*>(config->data()),
                         std::min(config->size(), longest));
  return load_named(instance, memory, a, copy, a[4]);
}

// graph, out_context_ptr
Error init_execution_context(Instance& instance, const GuestMemory& memory, Arguments a) {
  std::span<std::byte> out;
  QUERN_NN_TRY(out_handle(memory, a[1], &out));
  Handle context = 0;
  QUERN_NN_TRY(instance.init_execution_context(a[0], std::nullopt, &context));
  GuestMemory::write(out, context);
  return {};
}

// context, index, tensor_ptr
Error set_input(Instance& instance, const GuestMemory& memory, Arguments a) {
  TensorType type;
  Bytes data;
  ContextUse context;
  QUERN_NN_TRY(instance.use(a[0], &context));
  const Dims dims = context.takes_prompts() ? Dims::ignored : Dims::read;
  QUERN_NN_TRY(read_tensor(memory, a[2], dims, &type, &data));
  return context.set_input(a[1], type, data);
}

// context
Error compute(Instance& instance, const GuestMemory&, Arguments a) {
  ContextUse context;
  QUERN_NN_TRY(instance.use(a[0], &context));
  return context.compute();
}

// context. The errors are ends of an answer, too: end_of_sequence, context_full.
Error compute_single(Instance& instance, const GuestMemory&, Arguments a) {
  ContextUse context;
  QUERN_NN_TRY(instance.use(a[0], &context));
  return context.compute_single();
}

// context
Error fini_single(Instance& instance, const GuestMemory&, Arguments a) {
  ContextUse context;
  QUERN_NN_TRY(instance.use(a[0], &context));
  return context.fini_single();
}

// context, index, out_buffer_ptr, out_buffer_max_size, out_bytes_written_ptr. The required size is
// also written with too_large, so that a guest can query it with an empty buffer.
template <Error (ContextUse::*read)(std::size_t, TensorView*) const>
Error get_output(Instance& instance, const GuestMemory& memory, Arguments a) {
  ContextUse context;
  TensorView output;
  QUERN_NN_TRY(instance.use(a[0], &context));
  const auto buffer = memory.range(a[2], a[3]);
  if (!buffer) return out_of_bounds("the output buffer");
  const auto written = memory.range(a[4], 4);
  if (!written) return out_of_bounds("the place for the number of bytes");
  QUERN_NN_TRY((context.*read)(a[1], &output));

  const std::uint64_t size = output.type.bytes();
  if (size > buffer->size()) {
    if (size <= std::numeric_limits<std::uint32_t>::max())
      GuestMemory::write(*written, static_cast<std::uint32_t>(size));
    return {Errno::too_large,
            sentence("output ", a[1], " has ", size, " bytes, the buffer ", buffer->size())};
  }
  if (size > 0) std::memcpy(buffer->data(), output.data, static_cast<std::size_t>(size));
  GuestMemory::write(*written, static_cast<std::uint32_t>(size));
  return {};
}

// graph
Error unload(Instance& instance, const GuestMemory&, Arguments a) {
  return instance.unload(a[0]);
}

// context
Error finalize_execution_context(Instance& instance, const GuestMemory&, Arguments a) {
  return instance.finalize_execution_context(a[0]);
}

// ---- table -------------------------------------------------------------------------------------

using Function = Error (*)(Instance&, const GuestMemory&, Arguments);

std::uint32_t number_of(Errno code) {
  return static_cast<std::uint32_t>(code == Errno::timed_out ? Errno::runtime_error : code);
}

// Small allocations may throw, and so may the host's log.
template <Function function>
std::uint32_t guarded(Instance& instance, Guest& guest, Arguments arguments) noexcept {
  try {
    if (!guest.memory.base)
      return number_of(
          instance.report({Errno::missing_memory, "the guest exports no memory named 'memory'"}));
    return number_of(instance.report(function(instance, GuestMemory(guest.memory), arguments)));
  } catch (...) {
    return number_of(Errno::runtime_error);
  }
}

template <Function function>
constexpr Import row(const char* name, unsigned parameters) {
  return {"wasi_ephemeral_nn", name, parameters, 1, &guarded<function>};
}

constexpr std::array table = {
    row<load>("load", 5),
    row<load_by_name>("load_by_name", 3),
    row<load_by_name_with_config>("load_by_name_with_config", 5),
    row<init_execution_context>("init_execution_context", 2),
    row<set_input>("set_input", 3),
    row<compute>("compute", 1),
    row<get_output<&ContextUse::output>>("get_output", 5),
    row<unload>("unload", 1),
    row<finalize_execution_context>("finalize_execution_context", 1),
    row<compute_single>("compute_single", 1),
    row<get_output<&ContextUse::output_single>>("get_output_single", 5),
    row<fini_single>("fini_single", 1),
};

}  // namespace
}  // namespace witx

std::span<const Import, 12> witx_imports() {
  return witx::table;
}

}  // namespace quern::wasi_nn
