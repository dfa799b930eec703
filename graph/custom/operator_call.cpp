// SPDX-License-Identifier: Apache-2.0
#include "graph/custom/operator_call.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr std::size_t most_sentence = 500;
// More than any machine has: what a plan adds to it does not overflow.
constexpr std::size_t most_workspace = std::size_t{1} << (sizeof(std::size_t) > 4 ? 46 : 30);

// A dimension as functions see it: names are numbers below -1.
std::int64_t shown(Dim d) {
  if (d.known()) return d.value();
  return d.is_symbol() ? -2 - static_cast<std::int64_t>(d.symbol_id()) : -1;
}

bool is_dtype(quern_dtype dtype) {
  return dtype >= 0 && static_cast<std::size_t>(dtype) < dtype_count;
}

Code code_of(quern_status status) {
  const bool is_error = status > QUERN_OK && status <= QUERN_TIMED_OUT;
  return is_error ? static_cast<Code>(status) : Code::invalid_argument;
}

std::string sentence_of(const char* text) {
  return printable(std::string_view(text, ::strnlen(text, most_sentence)), most_sentence);
}

}  // namespace

void OperatorHost::parallel_for(std::int64_t count, std::int64_t, quern_op_body body,
                                void* data) const {
  if (count > 0) body(data, 0, count);
}

Result<const void*> OperatorHost::constant(std::size_t) const {
  return static_cast<const void*>(nullptr);
}

// ---- the table of functions --------------------------------------------------------------------

// The argument is the base of an OperatorCall, which its function may change; no exception goes
// through the host's code.
struct OperatorCall::Functions {
  static OperatorCall& of(const quern_op_call* call) {
    return const_cast<OperatorCall&>(static_cast<const OperatorCall&>(*call));
  }

  static quern_status set_output(const quern_op_call* call, std::size_t output, quern_dtype dtype,
                                 std::int32_t rank, const std::int64_t* dims) noexcept {
    OperatorCall& c = of(call);
    Status status = guarded([&] { return c.set_type(output, dtype, rank, dims); });
    const auto code = static_cast<quern_status>(status.code());
    c.fail(std::move(status));
    return code;
  }
  template <class T>
  static const T* get(const quern_op_call* call, const char* attribute,
                      const char* wanted) noexcept {
    const T* value = nullptr;
    Status status = guarded([&]() -> Status {
      value = of(call).get<T>(attribute, wanted);
      return {};
    });
    of(call).fail(std::move(status));
    return value;
  }
  static std::int64_t get_int(const quern_op_call* call, const char* attribute,
                              std::int64_t fallback) noexcept {
    const auto* v = get<std::int64_t>(call, attribute, "an int");
    return v ? *v : fallback;
  }
  static float get_float(const quern_op_call* call, const char* attribute,
                         float fallback) noexcept {
    const auto* v = get<float>(call, attribute, "a float");
    return v ? *v : fallback;
  }
  static const char* get_text(const quern_op_call* call, const char* attribute,
                              const char* fallback) noexcept {
    const auto* v = get<std::string>(call, attribute, "a string");
    return v ? v->c_str() : fallback;
  }
  template <class T>
  static const T* get_list(const quern_op_call* call, const char* attribute, std::size_t* count,
                           const char* wanted) noexcept {
    const auto* v = get<std::vector<T>>(call, attribute, wanted);
    if (count) *count = v ? v->size() : 0;
    return v ? v->data() : nullptr;
  }
  static const std::int64_t* get_ints(const quern_op_call* call, const char* attribute,
                                      std::size_t* count) noexcept {
    return get_list<std::int64_t>(call, attribute, count, "ints");
  }
  static const float* get_floats(const quern_op_call* call, const char* attribute,
                                 std::size_t* count) noexcept {
    return get_list<float>(call, attribute, count, "floats");
  }
  static quern_status fail(const quern_op_call* call, quern_status status,
                           const char* sentence) noexcept {
    const Code code = code_of(status);
    of(call).fail(guarded([&]() -> Status {
      return {code, sentence && *sentence ? sentence_of(sentence) : "it gives no reason"};
    }));
    return static_cast<quern_status>(code);
  }
  static const void* constant(const quern_op_call* call, std::size_t input) noexcept {
    OperatorCall& c = of(call);
    if (c.stage_ != Stage::prepare || input >= c.inputs_.size() || !c.inputs_[input].is_present)
      return nullptr;
    const void* data = nullptr;
    c.fail(guarded([&]() -> Status {
      QUERN_ASSIGN(data, c.host_->constant(input));
      return {};
    }));
    return data;
  }
  static void parallel_for(const quern_op_call* call, std::int64_t count, std::int64_t grain,
                           quern_op_body body, void* data) noexcept {
    if (body) of(call).host_->parallel_for(count, std::max<std::int64_t>(grain, 1), body, data);
  }
  static std::int32_t is_over(const quern_op_call* call) noexcept {
    return of(call).host_->is_over() ? 1 : 0;
  }
};

const quern_op_api OperatorCall::functions_of_engine = {
    sizeof(quern_op_api), Functions::set_output,   Functions::get_int,    Functions::get_float,
    Functions::get_text,  Functions::get_ints,     Functions::get_floats, Functions::fail,
    Functions::constant,  Functions::parallel_for, Functions::is_over};

// ---- what is shown -----------------------------------------------------------------------------

OperatorCall::OperatorCall(const BoundOperator& op, std::size_t inputs, std::size_t outputs)
    : quern_op_call{},
      op_(op),
      inputs_(inputs),
      outputs_(outputs),
      input_dims_(inputs),
      output_dims_(outputs),
      types_(outputs) {
  quern_op_call& base = *this;
  base.struct_size = sizeof(quern_op_call);
  base.api = &functions_of_engine;
  base.context = op.functions().context;
  base.input_count = inputs;
  base.inputs = inputs_.data();
  base.output_count = outputs;
  base.outputs = outputs_.data();
  base.threads = 1;
  for (quern_op_output& output : outputs_) output.is_wanted = 1;
}

void OperatorCall::show_input(std::size_t i, const ValueType& type, const void* data) {
  quern_op_input& in = inputs_[i];
  in = {1, static_cast<quern_dtype>(type.dtype), -1, nullptr, data};
  if (!type.dims) return;
  input_dims_[i].clear();
  for (Dim d : *type.dims) input_dims_[i].push_back(shown(d));
  in.rank = static_cast<std::int32_t>(input_dims_[i].size());
  in.dims = input_dims_[i].data();
}

void OperatorCall::show_input(std::size_t i, const TensorType& type) {
  show_input(i, ValueType(type), nullptr);
}

void OperatorCall::show_output(std::size_t i, const TensorType& type) {
  output_dims_[i].assign(type.shape.begin(), type.shape.end());
  outputs_[i] = {1, static_cast<quern_dtype>(type.dtype),
                 static_cast<std::int32_t>(type.shape.rank()), output_dims_[i].data(), nullptr};
}

void OperatorCall::set_output_data(std::size_t i, void* data) {
  outputs_[i].data = data;
  outputs_[i].is_wanted = data ? 1 : 0;
}

void OperatorCall::set_work(void* state_of_kernel, void* memory, std::size_t bytes,
                            int threads_allowed) {
  state = state_of_kernel;
  workspace = memory;
  workspace_bytes = bytes;
  threads = threads_allowed;
}

// ---- answers -----------------------------------------------------------------------------------

void OperatorCall::fail(Status status) {
  if (status.ok()) return;
  const std::scoped_lock lock(error_mutex_);
  if (error_.ok()) error_ = std::move(status);
}

const CustomAttribute* OperatorCall::find(const char* attribute) {
  return attribute ? op_.find(attribute) : nullptr;
}

template <class T>
const T* OperatorCall::get(const char* attribute, const char* wanted) {
  const CustomAttribute* const a = find(attribute);
  if (!a) return nullptr;
  if (const T* value = std::get_if<T>(&a->value)) return value;
  fail({Code::invalid_model,
        cat("attribute '", a->name, "' is ", a->kind_name(), ", wants ", wanted)});
  return nullptr;
}

Result<Dim> OperatorCall::dim_of(std::size_t output, std::size_t axis, std::int64_t dim) const {
  if (dim >= -1) return Dim(dim);
  const auto has = [&](const std::vector<std::int64_t>& dims) {
    return std::ranges::find(dims, dim) != dims.end();
  };
  if (std::ranges::any_of(input_dims_, has))
    return Dim::symbol(static_cast<std::uint32_t>(-2 - dim));
  return Status(Code::invalid_model,
                cat("its inference gives output ", output, " the dimension ", dim, " at axis ",
                    axis, ", wants a number of at least 0, -1, or a dimension of an input"));
}

Status OperatorCall::set_type(std::size_t output, quern_dtype dtype, std::int32_t rank,
                              const std::int64_t* dims) {
  const auto wrong = [&](const auto&... what) {
    return Status(Code::invalid_model, cat("its inference gives output ", output, " ", what...));
  };
  if (stage_ != Stage::infer)
    return {Code::invalid_argument, "it sets the type of an output outside of its inference"};
  if (output >= types_.size()) return wrong("a type, the node has ", types_.size(), " outputs");
  if (!is_dtype(dtype)) return wrong("the element type ", dtype, ", which is none");
  if (dtype == QUERN_STRING) return wrong("strings, which only operators of the engine make");
  if (rank < -1 || rank > static_cast<std::int32_t>(Shape::max_rank))
    return wrong("rank ", rank, ", wants -1 to ", Shape::max_rank);
  if (rank > 0 && !dims) return wrong("rank ", rank, " without dimensions");
  ValueType type(static_cast<DType>(dtype), std::nullopt);
  if (rank >= 0) type.dims.emplace();
  for (std::int32_t i = 0; i < rank; ++i) {
    QUERN_ASSIGN(type.dims->emplace_back(), dim_of(output, static_cast<std::size_t>(i), dims[i]));
  }
  if (const auto shape = type.shape(); shape && !shape->checked_elements(size_of(type.dtype)))
    return wrong("the shape ", shape->text(), ", which is too large");
  types_[output] = std::move(type);
  return {};
}

// ---- calls -------------------------------------------------------------------------------------

template <class F>
Status OperatorCall::call(Stage stage, const char* name, const OperatorHost& host, const F& f) {
  stage_ = stage;
  host_ = &host;
  error_ = {};
  const quern_status answer = f(static_cast<const quern_op_call*>(this));
  stage_ = Stage::none;
  if (!error_.ok()) return std::move(error_);
  if (answer == QUERN_OK) return {};
  return {code_of(answer), cat("its function '", name, "' gives status ", answer, " (",
                               code_name(code_of(answer)), ") and no reason")};
}

Status OperatorCall::infer() {
  std::ranges::fill(types_, std::nullopt);
  QUERN_TRY(call(Stage::infer, "infer", OperatorHost(), op_.functions().infer));
  const auto unset = std::ranges::find_if(types_, [](const auto& type) { return !type; });
  if (unset == types_.end()) return {};
  return {Code::invalid_model,
          cat("its inference gives output ", unset - types_.begin(), " no type")};
}

Status OperatorCall::prepare(quern_op_kernel& kernel, const OperatorHost& host) {
  kernel = {};
  kernel.struct_size = sizeof kernel;
  const auto prepare = op_.functions().prepare;
  if (!prepare) return {};
  return call(Stage::prepare, "prepare", host,
              [&](const quern_op_call* c) { return prepare(c, &kernel); });
}

Status OperatorCall::run(Function function, const OperatorHost& host) {
  const char* const name = function == op_.functions().run ? "run" : "reference";
  return call(Stage::run, name, host, function);
}

Result<PreparedOperator> PreparedOperator::make(std::shared_ptr<const BoundOperator> op,
                                                OperatorCall& call, const OperatorHost& host) {
  quern_op_kernel kernel;
  Status status = call.prepare(kernel, host);
  PreparedOperator made(std::move(op), kernel);  // destroys the state of a failed call, too
  QUERN_TRY(std::move(status));
  if (made.workspace_bytes() > most_workspace)
    return Status(Code::out_of_memory,
                  cat("it wants a workspace of ", made.workspace_bytes(), " bytes"));
  return made;
}

}  // namespace quern
