// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/instance.h"

#include <algorithm>
#include <cstring>

#include <quern/processor_time.h>

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

Error ContextUse::place_input(std::size_t index, const TensorType& type, std::byte** place) {
  QUERN_NN_TRY(check_loaded());
  return handle_->context->place_input(index, type, place);
}

Error ContextUse::set_input(std::size_t index, const TensorType& type, Bytes bytes) {
  const auto elements = type.shape.checked_elements(size_of(type.dtype));
  if (!elements || type.bytes() != bytes.size() || (!bytes.data() && !bytes.empty()))
    return {Errno::invalid_argument, sentence("input ", index, ": ", type.text(), " does not take ",
                                              bytes.size(), " bytes")};
  std::byte* place = nullptr;
  QUERN_NN_TRY(place_input(index, type, &place));
  if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
  return {};
}

Error ContextUse::compute() {
  std::chrono::nanoseconds time{0};
  Error error = compute_within_limits(&time);
  account_->note({.computes = Activity::one(error.code), .compute_time = time});
  return error;
}

Error ContextUse::compute_within_limits(std::chrono::nanoseconds* time) {
  QUERN_NN_TRY(check_loaded());
  const auto start = Clock::now();
  const auto limit = account_->deadline();
  Charge running(account_, &Counts::parallel_computes);
  QUERN_NN_TRY(running.set(1));
  GraphHandle& graph = *handle_->graph;
  return handle_->context->compute(
      graph.sessions, limit.count() > 0 ? start + limit : Clock::time_point::max(),
      [&](const KindBytes& bytes) { return graph.charged->charge_compiled(bytes); }, time);
}

Error ContextUse::output(std::size_t index, TensorView* view) const {
  return handle_->context->output(index, view);
}

Error ContextUse::compute(std::span<const NamedTensor> inputs, std::vector<NamedOutput>* outputs) {
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
                             Handle* handle) {
  constexpr std::uint64_t handle_bytes = 256;  // with its place in the table
  auto entry = std::make_shared<GraphHandle>(std::move(graph), std::move(own),
                                             Charge(account_, &Counts::graphs),
                                             ResidentCharge(account_), tenant_->session_options());
  QUERN_NN_TRY(entry->count.set(1));
  QUERN_NN_TRY(entry->memory.set({Kind::tables, handle_bytes}));
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
      parts, tenant_->graph_options(target, account_->headroom(&Counts::resident_bytes)));
  if (!loaded) return Error(loaded.error());
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(ChargedGraph::create(std::move(*loaded), std::move(charges), &charged));
  return insert_graph(std::move(charged), std::nullopt, graph);
}

// The tenant is charged once for all that share a graph, and each instance for its own handles.
Error Instance::load_shared(std::span<const Bytes> parts, std::uint64_t size, Target target,
                            Handle* graph) {
  ModelCharges own(account_, Reach::own);
  QUERN_NN_TRY(own.begin(size));
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(tenant_->share(parts, target, &charged));
  QUERN_NN_TRY(own.resident_bytes.set({Kind::models, charged->graph().held_bytes()}));
  return insert_graph(std::move(charged), std::move(own), graph);
}

Error Instance::load_by_name(std::string_view name, Handle* graph) {
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(tenant_->find(name, &charged));
  return insert_graph(std::move(charged), std::nullopt, graph);
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
  std::shared_ptr<const Executable> executable;
  QUERN_NN_TRY(tenant_->compile(graph->charged->graph(), wanted, &executable));
  QUERN_NN_TRY(graph->charged->charge_compiled({Kind::tables, executable->table_bytes()}));
  std::unique_ptr<Context> made;
  QUERN_NN_TRY(Context::create(std::move(executable), account_, &made));
  *context = std::make_shared<ContextHandle>(std::move(graph), std::move(made), std::move(count));
  return {};
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
  tenant_->log(error.text);
  const std::lock_guard lock(mutex_);
  last_error_ = std::move(error.text);
  return error.code;
}

std::string Instance::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace quern::wasi_nn
