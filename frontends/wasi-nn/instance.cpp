// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/instance.h"

#include <algorithm>
#include <cstring>

#include <quern/processor_time.h>

#include "frontends/wasi-nn/prompt_options.h"

namespace quern::wasi_nn {
namespace {

std::string_view what(const std::shared_ptr<GraphHandle>&) {
  return "graph";
}
std::string_view what(const std::shared_ptr<ContextHandle>&) {
  return "context";
}

Error find_name(const std::vector<ValueSpec>& specs, std::string_view name, std::string_view kind,
                std::size_t* index) {
  const auto found = std::ranges::find(specs, name, &ValueSpec::name);
  if (found == specs.end())
    return {Errno::not_found, sentence("the model has no ", kind, " ", quoted_name(name))};
  *index = static_cast<std::size_t>(found - specs.begin());
  return {};
}

}  // namespace

// ---- contexts in use ---------------------------------------------------------------------------

Error ContextUse::check_loaded() const {
  if (!handle_->graph->is_unloaded) return {};
  return {Errno::invalid_argument, "the graph of this context was unloaded"};
}

Error ContextUse::check_tensors() const {
  if (!takes_prompts()) return {};
  return {Errno::unsupported_operation,
          "a language model has no tensors: its prompt is input 0 of set_input in witx"};
}

Error ContextUse::place_input(std::size_t index, const TensorType& type, std::byte** place) {
  QUERN_NN_TRY(check_loaded());
  QUERN_NN_TRY(check_tensors());
  return handle_->context->place_input(index, type, place);
}

Error ContextUse::set_input(std::size_t index, const TensorType& type, Bytes bytes) {
  if (takes_prompts()) {
    QUERN_NN_TRY(check_loaded());
    return handle_->prompts->set_input(index, type.dtype, bytes);
  }
  const auto elements = type.shape.checked_elements(size_of(type.dtype));
  if (!elements || type.bytes() != bytes.size() || (!bytes.data() && !bytes.empty()))
    return {Errno::invalid_argument, sentence("input ", index, ": ", type.text(), " does not take ",
                                              bytes.size(), " bytes")};
  std::byte* place = nullptr;
  QUERN_NN_TRY(place_input(index, type, &place));
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
  return {};
}

// `run` gets the deadline and adds the time of processors.
template <class F>
Error ContextUse::compute_noted(const F& run) {
  std::chrono::nanoseconds time{0};
  const auto within_limits = [&]() -> Error {
    QUERN_NN_TRY(check_loaded());
    const auto start = Clock::now();
    const auto limit = account_->deadline();
    Charge running(account_, &Counts::parallel_computes);
    QUERN_NN_TRY(running.set(1));
    return run(limit.count() > 0 ? start + limit : Clock::time_point::max(), &time);
  };
  Error error = within_limits();
  account_->note({.computes = Activity::one(error.code), .compute_time = time});
  return error;
}

Error ContextUse::compute() {
  return compute_noted([this](Clock::time_point deadline, std::chrono::nanoseconds* time) {
    return takes_prompts() ? handle_->prompts->compute(deadline, time)
                           : compute_tensors(deadline, time);
  });
}

Error ContextUse::compute_tensors(Clock::time_point deadline, std::chrono::nanoseconds* time) {
  GraphHandle& graph = *handle_->graph;
  return handle_->context->compute(
      graph.sessions, deadline,
      [&](const KindBytes& bytes) { return graph.charged->charge_compiled(bytes); }, time);
}

Error ContextUse::output(std::size_t index, TensorView* view) const {
  return takes_prompts() ? handle_->prompts->output(index, view)
                         : handle_->context->output(index, view);
}

// ---- language models ---------------------------------------------------------------------------

namespace {
Error no_prompts(std::string_view call) {
  return {Errno::unsupported_operation,
          sentence(call, " is for language models, and this graph is none")};
}
}  // namespace

Error ContextUse::compute_single() {
  if (!takes_prompts()) return no_prompts("compute_single");
  return compute_noted([this](Clock::time_point deadline, std::chrono::nanoseconds* time) {
    return handle_->prompts->compute_single(deadline, time);
  });
}

Error ContextUse::output_single(std::size_t index, TensorView* view) const {
  if (!takes_prompts()) return no_prompts("get_output_single");
  return handle_->prompts->output_single(index, view);
}

Error ContextUse::fini_single() {
  if (!takes_prompts()) return no_prompts("fini_single");
  handle_->prompts->fini_single();
  return {};
}

// ---- by names ----------------------------------------------------------------------------------

void ContextUse::forget_inputs() {
  if (!takes_prompts()) handle_->context->forget_inputs();
}

Error ContextUse::compute(std::span<const NamedTensor> inputs, std::vector<NamedOutput>* outputs) {
  QUERN_NN_TRY(check_tensors());
  forget_inputs();
  Error error = compute_copies(inputs, outputs);
  forget_inputs();
  return error;
}

Error ContextUse::compute_copies(std::span<const NamedTensor> inputs,
                                 std::vector<NamedOutput>* outputs) {
  for (const auto& [name, tensor] : inputs) {
    std::size_t index = 0;
    QUERN_NN_TRY(new_input_index(name, &index));
    QUERN_NN_TRY(set_input(index, tensor.type, {tensor.data, tensor.type.bytes()}));
  }
  QUERN_NN_TRY(compute());
  std::vector<NamedOutput> made;
  for (std::size_t i = 0; i < this->outputs().size(); ++i) {
    TensorView view;
    QUERN_NN_TRY(output(i, &view));
    auto copy = Tensor::copy_of(view.type, {view.data, view.type.bytes()});
    if (!copy) return Error(copy.error());
    made.push_back({this->outputs()[i].name, std::move(*copy)});
  }
  *outputs = std::move(made);
  return {};
}

Error ContextUse::adopt_input(std::string_view name, std::shared_ptr<const HeldTensor> tensor) {
  std::size_t index = 0;
  QUERN_NN_TRY(check_loaded());
  QUERN_NN_TRY(check_tensors());
  QUERN_NN_TRY(new_input_index(name, &index));
  return handle_->context->adopt_input(index, std::move(tensor));
}

Error ContextUse::new_input_index(std::string_view name, std::size_t* index) const {
  QUERN_NN_TRY(input_index(name, index));
  if (!handle_->context->has_input(*index)) return {};
  return {Errno::invalid_argument, sentence("input ", quoted_name(name), " is there twice")};
}

Error ContextUse::input_index(std::string_view name, std::size_t* index) const {
  return find_name(inputs(), name, "input", index);
}

Error ContextUse::output_index(std::string_view name, std::size_t* index) const {
  return find_name(outputs(), name, "output", index);
}

// ---- handles -----------------------------------------------------------------------------------

Instance::Instance(std::shared_ptr<Tenant> tenant, const Limits& limits)
    : tenant_(std::move(tenant)), account_(std::make_shared<Account>(limits, tenant_->account())) {}

std::shared_ptr<Instance> Instance::create(std::shared_ptr<Tenant> tenant, const Limits& limits) {
  return std::shared_ptr<Instance>(new Instance(std::move(tenant), limits));
}

template <class T>
Error Instance::find(Handle handle, std::shared_ptr<T>* entry) const {
  const std::lock_guard lock(mutex_);
  return find_locked(handle, entry);
}

template <class T>
Error Instance::find_locked(Handle handle, std::shared_ptr<T>* entry) const {
  const auto found = entries_.find(handle);
  const auto* held =
      found == entries_.end() ? nullptr : std::get_if<std::shared_ptr<T>>(&found->second);
  if (!held) return {Errno::invalid_argument, sentence("no ", what(*entry), " ", handle)};
  *entry = *held;
  return {};
}

template <class T>
Error Instance::take(Handle handle, std::shared_ptr<T>* entry) {
  const std::lock_guard lock(mutex_);
  QUERN_NN_TRY(find_locked(handle, entry));
  entries_.erase(handle);
  return {};
}

Error Instance::insert(Entry entry, Handle* handle) {
  const std::lock_guard lock(mutex_);
  if (next_ > std::numeric_limits<Handle>::max())
    return {Errno::too_large, "this instance has had all handles that there are"};
  const auto number = static_cast<Handle>(next_);
  entries_.emplace(number, std::move(entry));
  ++next_;
  *handle = number;
  return {};
}

Error Instance::insert_graph(std::shared_ptr<ChargedGraph> graph, std::optional<ModelCharges> own,
                             Handle* handle, PromptOptions options) {
  constexpr std::uint64_t handle_bytes = 256;  // with its place in the table
  auto entry = std::make_shared<GraphHandle>(std::move(graph), std::move(own),
                                             Charge(account_, &Counts::graphs),
                                             ResidentCharge(account_), tenant_->session_options());
  QUERN_NN_TRY(entry->count.set(1));
  QUERN_NN_TRY(entry->memory.set({Kind::tables, handle_bytes}));
  entry->options = std::move(options);
  return insert(std::move(entry), handle);
}

// ---- graphs ------------------------------------------------------------------------------------

Error Instance::load(std::span<const Bytes> parts, Encoding encoding, Target wanted,
                     Handle* graph) {
  const auto began = processor_time();
  Error error = load_model(parts, encoding, wanted, graph);
  account_->note({.loads = Activity::one(error.code), .load_time = processor_time() - began});
  return error;
}

Error Instance::load_model(std::span<const Bytes> parts, Encoding encoding, Target wanted,
                           Handle* graph) {
  const Target target = tenant_->target(wanted);
  if (encoding == Encoding::other && !tenant_->options().any_encoding)
    return {Errno::invalid_encoding, "the encoding is not onnx"};
  if (account_->names_only())
    return {Errno::unsupported_operation, "only named models may be used here"};
  if (!account_->allows(target))
    return {Errno::unsupported_operation, "this target may not be used here"};
  std::uint64_t size = 0;
  for (const Bytes& part : parts) size += part.size();
  if (tenant_->options().share_graphs) return load_shared(parts, size, target, graph);
  ModelCharges charges(account_);
  QUERN_NN_TRY(charges.begin(size));

  auto loaded = SharedGraph::load(
      parts, tenant_->graph_options(target, account_->headroom(&Counts::resident_bytes),
                                    Tenant::Source::guest));
  if (!loaded) return Error(loaded.error());
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(ChargedGraph::create(std::move(*loaded), std::move(charges), nullptr, &charged));
  return insert_graph(std::move(charged), std::nullopt, graph);
}

// The tenant is charged once for all that share a graph, and each instance for its own handles.
Error Instance::load_shared(std::span<const Bytes> parts, std::uint64_t size, Target target,
                            Handle* graph) {
  ModelCharges own(account_, Reach::own);
  QUERN_NN_TRY(own.begin(size));
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(tenant_->share(parts, target, Tenant::Source::guest, &charged));
  QUERN_NN_TRY(own.resident_bytes.set({Kind::models, charged->graph().held_bytes()}));
  return insert_graph(std::move(charged), std::move(own), graph);
}

Error Instance::load_by_name(std::string_view name, Handle* graph) {
  return load_by_name(name, {}, graph);
}

Error Instance::load_by_name(std::string_view name, std::string_view options, Handle* graph) {
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(tenant_->find(name, &charged));
  if (!charged->prompts()) {
    if (!options.empty()) tenant_->log("load_by_name: the options have no effect on this model");
    return insert_graph(std::move(charged), std::nullopt, graph);
  }
  if (find_loaded(name, *charged, graph)) return {};
  PromptOptions read;
  const auto log = [this](std::string_view text) { tenant_->log(text); };
  if (!options.empty()) QUERN_NN_TRY(read_prompt_options(options, log, &read));
  QUERN_NN_TRY(insert_graph(std::move(charged), std::nullopt, graph, std::move(read)));
  const std::lock_guard lock(mutex_);
  language_models_.insert_or_assign(std::string(name), *graph);
  return {};
}

// A name may have come to mean another model meanwhile.
bool Instance::find_loaded(std::string_view name, const ChargedGraph& charged,
                           Handle* graph) const {
  const std::lock_guard lock(mutex_);
  const auto named = language_models_.find(name);
  std::shared_ptr<GraphHandle> held;
  if (named == language_models_.end() || !find_locked(named->second, &held).ok()) return false;
  if (held->charged.get() != &charged) return false;
  *graph = named->second;
  return true;
}

Error Instance::unload(Handle graph) {
  std::shared_ptr<GraphHandle> entry;
  QUERN_NN_TRY(take(graph, &entry));
  entry->is_unloaded = true;
  return entry->count.set(0);
}

Error Instance::drop_graph(Handle graph) {
  std::shared_ptr<GraphHandle> entry;
  QUERN_NN_TRY(take(graph, &entry));
  return entry->count.set(0);
}

Error Instance::drop_context(Handle context) {
  std::shared_ptr<ContextHandle> entry;
  return take(context, &entry);
}

Error Instance::graph(Handle handle, std::shared_ptr<ChargedGraph>* graph) const {
  std::shared_ptr<GraphHandle> entry;
  QUERN_NN_TRY(find(handle, &entry));
  *graph = entry->charged;
  return {};
}

// ---- contexts ----------------------------------------------------------------------------------

Error Instance::make_context(std::shared_ptr<GraphHandle> graph, std::optional<Target> target,
                             std::shared_ptr<ContextHandle>* context) {
  const Target wanted = tenant_->target(target.value_or(graph->charged->graph().target()));
  if (!account_->allows(wanted))
    return {Errno::unsupported_operation, "this target may not be used here"};
  Charge count(account_, &Counts::contexts);
  QUERN_NN_TRY(count.set(1));
  if (graph->charged->prompts()) {
    *context = std::make_shared<ContextHandle>(graph, std::move(count));
    (*context)->prompts = std::make_unique<PromptContext>(prompt_host(*graph), graph->options);
    return {};
  }
  std::shared_ptr<const Executable> executable;
  QUERN_NN_TRY(tenant_->compile(graph->charged->graph(), wanted, &executable));
  QUERN_NN_TRY(graph->charged->charge_compiled({Kind::tables, executable->table_bytes()}));
  std::unique_ptr<Context> made;
  QUERN_NN_TRY(Context::create(std::move(executable), account_, &made));
  *context = std::make_shared<ContextHandle>(std::move(graph), std::move(count));
  (*context)->context = std::move(made);
  return {};
}

PromptContext::Host Instance::prompt_host(const GraphHandle& graph) const {
  return {
      .model = graph.charged->prompts(),
      .account = account_,
      .session = tenant_->session_options(),
      .charge_compiled = [charged = graph.charged](
                             const KindBytes& bytes) { return charged->charge_compiled(bytes); },
      .log = [tenant = tenant_](std::string_view text) { tenant->log(text); }};
}

Error Instance::init_execution_context(Handle graph, std::optional<Target> target,
                                       Handle* context) {
  std::shared_ptr<GraphHandle> entry;
  QUERN_NN_TRY(find(graph, &entry));
  std::shared_ptr<ContextHandle> made;
  QUERN_NN_TRY(make_context(std::move(entry), target, &made));
  return insert(std::move(made), context);
}

Error Instance::use(Handle context, ContextUse* use) {
  std::shared_ptr<ContextHandle> entry;
  QUERN_NN_TRY(find(context, &entry));
  std::unique_lock lock(entry->in_use, std::try_to_lock);
  if (!lock) return {Errno::busy, sentence("context ", context, " is used by another thread")};
  if (entry->is_finalized) return {Errno::invalid_argument, sentence("no context ", context)};
  use->account_ = account_;
  use->handle_ = std::move(entry);
  use->lock_ = std::move(lock);
  return {};
}

Error Instance::finalize_execution_context(Handle context) {
  ContextUse used;
  QUERN_NN_TRY(use(context, &used));
  used.handle_->is_finalized = true;
  const std::lock_guard lock(mutex_);
  entries_.erase(context);
  return {};
}

Error Instance::compute(Handle graph, std::span<const NamedTensor> inputs,
                        std::vector<NamedOutput>* outputs) {
  std::shared_ptr<GraphHandle> entry;
  QUERN_NN_TRY(find(graph, &entry));
  ContextUse used;
  QUERN_NN_TRY(make_context(std::move(entry), std::nullopt, &used.handle_));
  used.account_ = account_;
  return used.compute(inputs, outputs);
}

// ---- errors ------------------------------------------------------------------------------------

Errno Instance::report(Error error) {
  if (error.ok()) return error.code;
  // An answer that ends is no news.
  if (error.code != Errno::end_of_sequence) tenant_->log(error.text);
  const std::lock_guard lock(mutex_);
  last_error_ = std::move(error.text);
  return error.code;
}

std::string Instance::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace quern::wasi_nn
