// SPDX-License-Identifier: Apache-2.0
// The objects of a tenant that one wasm instance holds: handles of graphs and contexts. All of them
// end with the instance. Out-parameters are written on success only.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontends/wasi-nn/context.h"
#include "frontends/wasi-nn/prompt_context.h"
#include "frontends/wasi-nn/resources.h"
#include "frontends/wasi-nn/tenant.h"

namespace quern::wasi_nn {

// Handles count from 1. Graphs and contexts share one number space, and no handle is reused.
using Handle = std::uint32_t;

enum class Encoding : std::uint8_t { onnx, autodetect, other };

struct NamedTensor {
  std::string name;
  TensorView tensor;
};
struct NamedOutput {
  std::string name;
  Tensor tensor;
};

struct GraphHandle {
  GraphHandle(std::shared_ptr<ChargedGraph> g, std::optional<ModelCharges> o, Charge c,
              ResidentCharge m, SessionOptions options)
      : charged(std::move(g)),
        own(std::move(o)),
        count(std::move(c)),
        memory(std::move(m)),
        sessions(std::move(options)) {}

  std::shared_ptr<ChargedGraph> charged;
  std::optional<ModelCharges> own;  // the instance's, of a graph that is charged to the tenant
  Charge count;
  ResidentCharge memory;
  std::atomic<bool> is_unloaded = false;
  std::atomic<int> contexts = 0;
  SessionPool sessions;   // of the contexts
  PromptOptions options;  // of a language model, as it was loaded
};

struct ContextHandle {
  ContextHandle(std::shared_ptr<GraphHandle> g, Charge c)
      : graph(std::move(g)), count(std::move(c)) {
    ++graph->contexts;
  }
  // The last one takes the sessions along.
  ~ContextHandle() {
    if (--graph->contexts == 0) graph->sessions.drop_all();
  }
  ContextHandle(const ContextHandle&) = delete;
  ContextHandle& operator=(const ContextHandle&) = delete;

  std::shared_ptr<GraphHandle> graph;
  std::unique_ptr<Context> context;        // of tensors,
  std::unique_ptr<PromptContext> prompts;  // or of a language model
  Charge count;
  std::mutex in_use;
  bool is_finalized = false;  // under in_use
};

// Exclusive use of a context by one thread: other threads get busy meanwhile. That of a language
// model has input 0, the prompt, and 1, options, set by set_input() alone; other calls for inputs,
// and those by name, are unsupported_operation for it.
class ContextUse {
 public:
  // After its graph was unloaded, a context accepts no inputs and no longer computes
  // (invalid_argument), but its outputs can be read.
  Error place_input(std::size_t index, const TensorType& type, std::byte** place);
  // `bytes` must have the size of the type and may have any alignment; they are copied once, here.
  Error set_input(std::size_t index, const TensorType& type, Bytes bytes);
  Error compute();
  // The view is borrowed until the next compute.
  Error output(std::size_t index, TensorView* view) const;
  // For a language model alone: docs/wasi-nn.md. Errors: unsupported_operation, and those of
  // PromptContext.
  bool takes_prompts() const { return handle_->prompts != nullptr; }
  Error compute_single();
  Error output_single(std::size_t index, TensorView* view) const;
  Error fini_single();
  // Takes all inputs and returns all outputs by name; inputs of earlier calls are ignored, and none
  // is kept. Errors: those of set_input(), not_found.
  Error compute(std::span<const NamedTensor> inputs, std::vector<NamedOutput>* outputs);

  // The steps of that compute() for tensors that the context shares instead of copying.
  Error adopt_input(std::string_view name, std::shared_ptr<const HeldTensor> tensor);
  void forget_inputs();

  const std::vector<ValueSpec>& inputs() const { return handle_->graph->charged->graph().inputs(); }
  const std::vector<ValueSpec>& outputs() const {
    return handle_->graph->charged->graph().outputs();
  }
  // Errors: not_found.
  Error input_index(std::string_view name, std::size_t* index) const;
  Error output_index(std::string_view name, std::size_t* index) const;

 private:
  friend class Instance;
  Error check_loaded() const;
  Error check_tensors() const;
  template <class F>
  Error compute_noted(const F& run);
  Error compute_tensors(Clock::time_point deadline, std::chrono::nanoseconds* time);
  Error new_input_index(std::string_view name, std::size_t* index) const;
  Error compute_copies(std::span<const NamedTensor> inputs, std::vector<NamedOutput>* outputs);

  std::shared_ptr<Account> account_;
  std::shared_ptr<ContextHandle> handle_;
  std::unique_lock<std::mutex> lock_;  // released before handle_
};

// May be used from any thread.
class Instance {
 public:
  static std::shared_ptr<Instance> create(std::shared_ptr<Tenant> tenant,
                                          const Limits& limits = {});

  Error load(std::span<const Bytes> parts, Encoding encoding, Target target, Handle* graph);
  Error load_by_name(std::string_view name, Handle* graph);
  // With options for a language model as JSON, "" for none; for another graph they have no effect.
  // Errors: also those of read_prompt_options(). The first load of a language model has its
  // options: later ones of its name give the same handle, until that is unloaded.
  Error load_by_name(std::string_view name, std::string_view options, Handle* graph);
  // Removes the handle; contexts of the graph no longer compute.
  Error unload(Handle graph);
  // Removes only the handle; contexts go on. A context may be in use.
  Error drop_graph(Handle graph);
  Error drop_context(Handle context);
  // `target` overrides the graph's target.
  Error init_execution_context(Handle graph, std::optional<Target> target, Handle* context);
  Error finalize_execution_context(Handle context);
  Error use(Handle context, ContextUse* use);
  // Computes in a temporary context.
  Error compute(Handle graph, std::span<const NamedTensor> inputs,
                std::vector<NamedOutput>* outputs);
  // The descriptions of inputs and outputs are valid as long as `graph` is held.
  Error graph(Handle handle, std::shared_ptr<ChargedGraph>* graph) const;

  Counts usage() const { return account_->usage(); }
  const std::shared_ptr<Account>& account() const { return account_; }
  Resources& resources() { return resources_; }
  Tenant& tenant() const { return *tenant_; }

  // Stores the message for last_error(), writes it to the log, and returns the error number.
  Errno report(Error error);
  std::string last_error() const;

 private:
  using Entry = std::variant<std::shared_ptr<GraphHandle>, std::shared_ptr<ContextHandle>>;

  Instance(std::shared_ptr<Tenant> tenant, const Limits& limits);
  template <class T>
  Error find(Handle handle, std::shared_ptr<T>* entry) const;
  template <class T>
  Error find_locked(Handle handle, std::shared_ptr<T>* entry) const;  // under mutex_
  // The handle is invalid afterwards.
  template <class T>
  Error take(Handle handle, std::shared_ptr<T>* entry);
  Error insert(Entry entry, Handle* handle);
  bool find_loaded(std::string_view name, const ChargedGraph& charged, Handle* graph) const;
  Error insert_graph(std::shared_ptr<ChargedGraph> graph, std::optional<ModelCharges> own,
                     Handle* handle, PromptOptions options = {});
  Error load_shared(std::span<const Bytes> parts, std::uint64_t size, Target target, Handle* graph);
  Error load_model(std::span<const Bytes> parts, Encoding encoding, Target target, Handle* graph);
  Error make_context(std::shared_ptr<GraphHandle> graph, std::optional<Target> target,
                     std::shared_ptr<ContextHandle>* context);
  PromptContext::Host prompt_host(const GraphHandle& graph) const;

  const std::shared_ptr<Tenant> tenant_;
  const std::shared_ptr<Account> account_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<Handle, Entry> entries_;
  std::map<std::string, Handle, std::less<>> language_models_;  // by the name that was loaded
  Resources resources_;
  std::string last_error_;
};

}  // namespace quern::wasi_nn
