// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/wit.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frontends/wasi-nn/records.h"

namespace quern::wasi_nn {
namespace wit {
namespace {

using Arguments = const std::uint32_t*;
using TensorPtr = std::shared_ptr<HeldTensor>;

// ---- numbers of the interface ------------------------------------------------------------------

std::uint32_t error_code(Errno code) {
  switch (code) {
    case Errno::invalid_argument: return 0;
    case Errno::invalid_encoding: return 1;
    case Errno::timed_out: return 2;
    case Errno::missing_memory:
    case Errno::busy:
    case Errno::end_of_sequence:  // of prompts, which WIT has no calls for
    case Errno::context_full:
    case Errno::prompt_too_long:
    case Errno::runtime_error: return 3;
    case Errno::unsupported_operation: return 4;
    case Errno::too_large: return 5;
    case Errno::model_not_found:
    case Errno::not_found: return 6;
    case Errno::success: break;
  }
  return 8;  // unknown
}

constexpr std::array tensor_types = {DType::f16, DType::f32, DType::f64, DType::bf16,
                                     DType::u8,  DType::i32, DType::i64};

Error read_dtype(std::uint32_t number, DType* dtype) {
  if (number >= tensor_types.size())
    return {Errno::invalid_argument, sentence("tensor type ", number, "; there is 0 to 6")};
  *dtype = tensor_types[number];
  return {};
}

// Outputs of types that WIT does not have are returned as a WIT type of the same size.
Error carrier_of(DType dtype, DType* carrier) {
  switch (dtype) {
    case DType::boolean:
    case DType::i8: *carrier = DType::u8; return {};
    case DType::u32: *carrier = DType::i32; return {};
    case DType::u64: *carrier = DType::i64; return {};
    default: *carrier = dtype;
  }
  if (std::ranges::find(tensor_types, dtype) != tensor_types.end()) return {};
  return {Errno::unsupported_operation, sentence("WIT has no tensor of ", name_of(dtype))};
}

// The length of the UTF-8 sequence that begins with this byte; 0 if none does.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead >= 0xf5) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// Returns true if `text` is one whole UTF-8 sequence: no overlong encoding, no surrogate, nothing
// beyond 0x10ffff.
bool is_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty() || text.size() != sequence_length(byte(0))) return false;
  for (std::size_t i = 1; i < text.size(); ++i)
    if ((byte(i) & 0xc0) != 0x80) return false;
  switch (byte(0)) {
    case 0xe0: return byte(1) >= 0xa0;
    case 0xed: return byte(1) <= 0x9f;
    case 0xf0: return byte(1) >= 0x90;
    case 0xf4: return byte(1) <= 0x8f;
    default: return true;
  }
}

// A WIT string is UTF-8, but names in a model may be any bytes. Bytes that are not part of a valid
// sequence become question marks.
std::string valid_utf8(std::string_view text) {
  std::string s;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view next =
        text.substr(i, sequence_length(static_cast<unsigned char>(text[i])));
    const bool good = is_sequence(next);
    s += good ? next : std::string_view("?");
    i += good ? next.size() : 1;
  }
  return s;
}

// ---- room in the guest -------------------------------------------------------------------------

// Allocates `bytes` bytes in the guest's memory, which may move: earlier pointers are invalid.
Error make_room(Guest& guest, std::uint32_t alignment, std::uint64_t bytes, std::uint32_t* at) {
  *at = alignment;  // an aligned address for empty lists
  if (bytes == 0) return {};
  if (bytes > std::numeric_limits<std::uint32_t>::max())
    return {Errno::too_large, sentence(bytes, " bytes do not fit in the guest's memory")};
  if (!guest.make_room || !guest.make_room(guest, alignment, static_cast<std::uint32_t>(bytes), at))
    return {Errno::runtime_error, sentence("the guest's cabi_realloc gave no ", bytes, " bytes")};
  if (GuestMemory(guest.memory).range(*at, bytes)) return {};
  return out_of_bounds("what cabi_realloc returned");
}

Error put_bytes(Guest& guest, std::uint32_t alignment, Bytes bytes, std::uint32_t* at) {
  QUERN_NN_TRY(make_room(guest, alignment, bytes.size(), at));
  if (!bytes.empty())
    std::memcpy(GuestMemory(guest.memory).range(*at, bytes.size())->data(), bytes.data(),
                bytes.size());
  return {};
}

// Writes {ptr @0, count @4} of a list that is a function's result; writes nothing on an error.
Error put_list(Guest& guest, std::uint32_t ret, std::uint32_t element_size, Bytes bytes) {
  if (!GuestMemory(guest.memory).range(ret, 8)) return out_of_bounds("the place for a list");
  std::uint32_t at = 0;
  QUERN_NN_TRY(put_bytes(guest, element_size, bytes, &at));
  const auto place = GuestMemory(guest.memory).range(ret, 8);
  if (!place) return out_of_bounds("the place for a list");
  GuestMemory::write(*place, at);
  GuestMemory::write(place->subspan(4), static_cast<std::uint32_t>(bytes.size() / element_size));
  return {};
}

// ---- results -----------------------------------------------------------------------------------

// {discriminant u8 @0; handle u32 @4}
enum class Outcome : std::uint8_t { ok = 0, error = 1 };
void put_result(std::span<std::byte> place, Outcome outcome, std::uint32_t word) {
  place[0] = static_cast<std::byte>(outcome);
  GuestMemory::write(place.subspan(4), word);
}

// Returns an error resource to the guest and the message to the host. Looks the result address up
// again.
void put_error(Instance& instance, Guest& guest, std::uint32_t ret, Error error) {
  const auto place = GuestMemory(guest.memory).range(ret, 8);
  if (place) put_result(*place, Outcome::error, instance.resources().insert(error));
  (void)instance.report(std::move(error));
}

// ---- interface graph ---------------------------------------------------------------------------

using Maker = Error (*)(Instance&, const GuestMemory&, Arguments, Handle*);

// A function that makes a handle: its last argument, number `ret`, is the address of the result.
template <Maker make, unsigned ret>
std::uint32_t making(Instance& instance, Guest& guest, Arguments a) {
  const GuestMemory memory(guest.memory);
  const auto place = memory.range(a[ret], 8);
  Handle handle = 0;
  Error error =
      place ? make(instance, memory, a, &handle) : out_of_bounds("the place for a result");
  if (error.ok())
    put_result(*place, Outcome::ok, handle);
  else
    put_error(instance, guest, a[ret], std::move(error));
  return 0;
}

// builders_ptr, builders_len, encoding, target, ret
Error load(Instance& instance, const GuestMemory& memory, Arguments a, Handle* graph) {
  Encoding encoding{};
  Target target{};
  std::vector<Bytes> parts;
  QUERN_NN_TRY(read_encoding(a[2], 6, &encoding));
  QUERN_NN_TRY(read_target(a[3], &target));
  QUERN_NN_TRY(read_parts(memory, a[0], a[1], &parts));
  return instance.load(parts, encoding, target, graph);
}

// name_ptr, name_len, ret
Error load_by_name(Instance& instance, const GuestMemory& memory, Arguments a, Handle* graph) {
  std::string name;
  QUERN_NN_TRY(read_name(memory, a[0], a[1], &name));
  return instance.load_by_name(name, graph);
}

// self, ret
Error init_execution_context(Instance& instance, const GuestMemory&, Arguments a, Handle* context) {
  return instance.init_execution_context(a[0], std::nullopt, context);
}

// self. Contexts of the graph stay valid.
std::uint32_t drop_graph(Instance& instance, Guest&, Arguments a) {
  (void)instance.report(instance.drop_graph(a[0]));
  return 0;
}

// ---- interface tensor --------------------------------------------------------------------------

Error find_tensor(Instance& instance, Handle handle, TensorPtr* tensor) {
  auto entry = instance.resources().find(handle);
  if (!entry) return {Errno::invalid_argument, sentence("no tensor ", handle)};
  if (auto* error = std::get_if<Error>(&*entry)) return std::move(*error);
  *tensor = std::get<TensorPtr>(std::move(*entry));
  return {};
}

// dims_ptr, dims_len, type, data_ptr, data_len
Error make_tensor(Instance& instance, const GuestMemory& memory, Arguments a, TensorPtr* tensor) {
  TensorType type;
  QUERN_NN_TRY(read_dtype(a[2], &type.dtype));
  QUERN_NN_TRY(read_shape(memory, a[0], a[1], &type.shape));
  const auto data = memory.range(a[3], a[4]);
  if (!data) return out_of_bounds("the tensor's data");
  if (!type.shape.checked_elements(size_of(type.dtype)) || type.bytes() != data->size())
    return {Errno::invalid_argument,
            sentence("a tensor of ", data->size(), " bytes is no ", type.text())};
  QUERN_NN_TRY(HeldTensor::create(instance.account(), type, tensor));
  if (!data->empty()) std::memcpy((*tensor)->data(), data->data(), data->size());
  return {};
}

std::uint32_t tensor_constructor(Instance& instance, Guest& guest, Arguments a) {
  TensorPtr tensor;
  Error error = make_tensor(instance, GuestMemory(guest.memory), a, &tensor);
  if (error.ok()) return instance.resources().insert(std::move(tensor));
  const std::uint32_t handle = instance.resources().insert(error);
  (void)instance.report(std::move(error));
  return handle;
}

// self, ret: a list of u32
std::uint32_t tensor_dimensions(Instance& instance, Guest& guest, Arguments a) {
  TensorPtr tensor;
  Error error = find_tensor(instance, a[0], &tensor);
  std::vector<std::uint32_t> dims;
  if (error.ok()) {
    const Shape& shape = tensor->type().shape;
    dims.assign(shape.begin(), shape.end());
  }
  Error put = put_list(guest, a[1], 4, std::as_bytes(std::span(dims)));
  (void)instance.report(error.ok() ? std::move(put) : std::move(error));
  return 0;
}

// self, ret: a list of u8
std::uint32_t tensor_data(Instance& instance, Guest& guest, Arguments a) {
  TensorPtr tensor;
  Error error = find_tensor(instance, a[0], &tensor);
  Error put = put_list(guest, a[1], 1, error.ok() ? tensor->bytes() : Bytes());
  (void)instance.report(error.ok() ? std::move(put) : std::move(error));
  return 0;
}

// self
std::uint32_t tensor_type(Instance& instance, Guest&, Arguments a) {
  TensorPtr tensor;
  if (Error error = find_tensor(instance, a[0], &tensor); !error.ok()) {
    (void)instance.report(std::move(error));
    return 0;
  }
  const auto found = std::ranges::find(tensor_types, tensor->type().dtype);
  return static_cast<std::uint32_t>(found - tensor_types.begin());
}

// self
std::uint32_t drop_resource(Instance& instance, Guest&, Arguments a) {
  if (!instance.resources().take(a[0]))
    (void)instance.report({Errno::invalid_argument, sentence("no tensor or error ", a[0])});
  return 0;
}

// ---- interface inference -----------------------------------------------------------------------

constexpr std::uint32_t pair_size = 12;  // {name ptr @0, len @4, tensor @8}

struct GivenTensor {
  std::uint32_t name_at, name_size;
  TensorPtr tensor;
};

// Takes ownership of the tensors of the list, even if the call fails.
Error take_inputs(Instance& instance, const GuestMemory& memory, std::uint32_t at,
                  std::uint32_t count, std::vector<GivenTensor>* inputs) {
  constexpr std::uint32_t most = 4096;
  if (count > most)
    return {Errno::invalid_argument, sentence(count, " inputs, at most ", most, " are possible")};
  const auto list = memory.range(at, count, pair_size);
  if (!list) return out_of_bounds("the list of inputs");
  Error first;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::span<const std::byte> pair = list->subspan(std::size_t{pair_size} * i, pair_size);
    const auto handle = GuestMemory::read<std::uint32_t>(pair, 8);
    auto entry = instance.resources().take(handle);
    if (!entry) entry = Error(Errno::invalid_argument, sentence("no tensor ", handle));
    if (auto* tensor = std::get_if<TensorPtr>(&*entry))
      inputs->push_back({GuestMemory::read<std::uint32_t>(pair, 0),
                         GuestMemory::read<std::uint32_t>(pair, 4), std::move(*tensor)});
    else if (first.ok())
      first = std::get<Error>(std::move(*entry));
  }
  return first;
}

// Reads a name, truncated if it is longer than that of any input and than an error message shows.
Error read_input_name(const GuestMemory& memory, const GivenTensor& input,
                      const std::vector<ValueSpec>& specs, std::string* name) {
  const auto range = memory.range(input.name_at, input.name_size);
  if (!range) return out_of_bounds("the name of an input");
  std::size_t longest = 80;
  for (const ValueSpec& spec : specs) longest = std::max(longest, spec.name.size());
  const auto bytes = range->first(std::min(range->size(), longest + 1));
  name->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Error set_inputs(ContextUse& context, const GuestMemory& memory, std::vector<GivenTensor>& inputs) {
  for (GivenTensor& input : inputs) {
    std::string name;
    QUERN_NN_TRY(read_input_name(memory, input, context.inputs(), &name));
    QUERN_NN_TRY(context.adopt_input(name, std::move(input.tensor)));
  }
  return {};
}

struct MadeTensor {
  std::string name;
  TensorPtr tensor;
};

Error copy_outputs(Instance& instance, const ContextUse& context,
                   std::vector<MadeTensor>* outputs) {
  for (std::size_t i = 0; i < context.outputs().size(); ++i) {
    TensorView view;
    QUERN_NN_TRY(context.output(i, &view));
    TensorType type = view.type;
    QUERN_NN_TRY(carrier_of(view.type.dtype, &type.dtype));
    MadeTensor made{valid_utf8(context.outputs()[i].name), nullptr};
    QUERN_NN_TRY(HeldTensor::create(instance.account(), type, &made.tensor));
    if (type.bytes() > 0) std::memcpy(made.tensor->data(), view.data, type.bytes());
    outputs->push_back(std::move(made));
  }
  return {};
}

// The context is in use only during this function, so that the guest may call again from
// cabi_realloc.
Error run(Instance& instance, const GuestMemory& memory, Arguments a,
          std::vector<MadeTensor>* outputs) {
  std::vector<GivenTensor> inputs;
  QUERN_NN_TRY(take_inputs(instance, memory, a[1], a[2], &inputs));
  ContextUse context;
  QUERN_NN_TRY(instance.use(a[0], &context));
  context.forget_inputs();
  Error error = set_inputs(context, memory, inputs);
  if (error.ok()) error = context.compute();
  if (error.ok()) error = copy_outputs(instance, context, outputs);
  context.forget_inputs();
  return error;
}

// New handles for the guest's list, released if the list is not delivered.
class NewHandles {
 public:
  explicit NewHandles(Resources& resources) : resources_(resources) {}
  ~NewHandles() {
    for (const std::uint32_t handle : handles_) (void)resources_.take(handle);
  }
  std::uint32_t add(TensorPtr tensor) {
    handles_.push_back(0);
    return handles_.back() = resources_.insert(std::move(tensor));
  }
  void keep() { handles_.clear(); }

 private:
  Resources& resources_;
  std::vector<std::uint32_t> handles_;
};

Error put_outputs(Instance& instance, Guest& guest, std::uint32_t ret,
                  std::vector<MadeTensor>& outputs) {
  NewHandles handles(instance.resources());
  std::vector<std::uint32_t> words;
  for (MadeTensor& output : outputs) {
    std::uint32_t name_at = 0;
    QUERN_NN_TRY(put_bytes(guest, 1, std::as_bytes(std::span(output.name)), &name_at));
    words.insert(words.end(), {name_at, static_cast<std::uint32_t>(output.name.size()),
                               handles.add(std::move(output.tensor))});
  }
  std::uint32_t list = 0;
  QUERN_NN_TRY(put_bytes(guest, 4, std::as_bytes(std::span(words)), &list));
  const auto place = GuestMemory(guest.memory).range(ret, 12);
  if (!place) return out_of_bounds("the place for a result");
  put_result(*place, Outcome::ok, list);
  GuestMemory::write(place->subspan(8), static_cast<std::uint32_t>(outputs.size()));
  handles.keep();
  return {};
}

// self, inputs_ptr, inputs_len, ret
std::uint32_t compute(Instance& instance, Guest& guest, Arguments a) {
  const GuestMemory memory(guest.memory);
  std::vector<MadeTensor> outputs;
  Error error = run(instance, memory, a, &outputs);
  if (error.ok()) error = put_outputs(instance, guest, a[3], outputs);
  if (!error.ok()) put_error(instance, guest, a[3], std::move(error));
  return 0;
}

// self
std::uint32_t drop_context(Instance& instance, Guest&, Arguments a) {
  (void)instance.report(instance.drop_context(a[0]));
  return 0;
}

// ---- interface errors --------------------------------------------------------------------------

Error find_error(Instance& instance, Handle handle) {
  auto entry = instance.resources().find(handle);
  if (Error* error = entry ? std::get_if<Error>(&*entry) : nullptr) return std::move(*error);
  return {};
}

// self
std::uint32_t error_code_of(Instance& instance, Guest&, Arguments a) {
  return error_code(find_error(instance, a[0]).code);
}

// self, ret: a string
std::uint32_t error_data(Instance& instance, Guest& guest, Arguments a) {
  const std::string text = valid_utf8(find_error(instance, a[0]).text);
  (void)instance.report(put_list(guest, a[1], 1, std::as_bytes(std::span(text))));
  return 0;
}

// ---- table -------------------------------------------------------------------------------------

using Function = std::uint32_t (*)(Instance&, Guest&, Arguments);

// Small allocations may throw, and so may the host's log.
template <Function function>
std::uint32_t guarded(Instance& instance, Guest& guest, Arguments arguments) noexcept {
  try {
    if (guest.memory.base) return function(instance, guest, arguments);
    (void)instance.report({Errno::missing_memory, "the guest exports no memory named 'memory'"});
  } catch (...) {  // without memory no message can be made
  }
  return 0;
}

template <Function function>
constexpr Import row(const char* module, const char* name, unsigned parameters,
                     unsigned results = 0) {
  return {module, name, parameters, results, &guarded<function>};
}

constexpr const char* graph = "wasi:nn/graph@0.2.0-rc-2024-10-28";
constexpr const char* tensor = "wasi:nn/tensor@0.2.0-rc-2024-10-28";
constexpr const char* inference = "wasi:nn/inference@0.2.0-rc-2024-10-28";
constexpr const char* errors = "wasi:nn/errors@0.2.0-rc-2024-10-28";

constexpr std::array table = {
    row<making<load, 4>>(graph, "load", 5),
    row<making<load_by_name, 2>>(graph, "load-by-name", 3),
    row<making<init_execution_context, 1>>(graph, "[method]graph.init-execution-context", 2),
    row<drop_graph>(graph, "[resource-drop]graph", 1),
    row<tensor_constructor>(tensor, "[constructor]tensor", 5, 1),
    row<tensor_dimensions>(tensor, "[method]tensor.dimensions", 2),
    row<tensor_type>(tensor, "[method]tensor.ty", 1, 1),
    row<tensor_data>(tensor, "[method]tensor.data", 2),
    row<drop_resource>(tensor, "[resource-drop]tensor", 1),
    row<compute>(inference, "[method]graph-execution-context.compute", 4),
    row<drop_context>(inference, "[resource-drop]graph-execution-context", 1),
    row<error_code_of>(errors, "[method]error.code", 1, 1),
    row<error_data>(errors, "[method]error.data", 2),
    row<drop_resource>(errors, "[resource-drop]error", 1),
};

}  // namespace
}  // namespace wit

std::span<const Import, 14> wit_imports() {
  return wit::table;
}

}  // namespace quern::wasi_nn
