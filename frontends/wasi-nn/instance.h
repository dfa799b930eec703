// SPDX-License-Identifier: Apache-2.0
// What one wasm instance holds of a tenant: handles of graphs and contexts. Everything ends with
// it. Out-parameters are written on success only.
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
#include "frontends/wasi-nn/resources.h"
#include "frontends/wasi-nn/tenant.h"

namespace quern::wasi_nn {

// From 1, graphs and contexts in one number space, none given twice.
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
  GraphHandle(std::shared_ptr<ChargedGraph> g, Charge c)
      : charged(std::move(g)), count(std::move(c)) {}

  std::shared_ptr<ChargedGraph> charged;
  Charge count;
  std::atomic<bool> is_unloaded = false;
};

struct ContextHandle {
  ContextHandle(std::shared_ptr<GraphHandle> g, std::unique_ptr<Context> made, Charge c)
      : graph(std::move(g)), context(std::move(made)), count(std::move(c)) {}

  std::shared_ptr<GraphHandle> graph;
  std::unique_ptr<Context> context;
  Charge count;
  std::mutex in_use;
  bool is_finalized = false;  // under in_use
};

// A context for one thread: others that want it meanwhile are told that it is busy.
class ContextUse {
 public:
  // After its graph was unloaded a context takes no input and computes no more (invalid_argument),
  // but its outputs can be read.
  Error place_input(std::size_t index, const TensorType& type, std::byte** place);
  // `bytes` as many as the type takes, of any alignment; copied once, here.
  Error set_input(std::size_t index, const TensorType& type, Bytes bytes);
  Error compute();
  // Borrowed until the next compute.
  Error output(std::size_t index, TensorView* view) const;
  // All inputs and all outputs at once, by name; inputs of earlier calls do not count, and none is
  // kept. Errors: those of set_input(), not_found.
  Error compute(std::span<const NamedTensor> inputs, std::vector<NamedOutput>* outputs);

  // Steps of the same for tensors that the context takes over instead of a copy.
  Error adopt_input(std::string_view name, std::shared_ptr<const HeldTensor> tensor);
  void forget_inputs() { handle_->context->forget_inputs(); }

  const std::vector<ValueSpec>& inputs() const { return handle_->context->executable().inputs(); }
  const std::vector<ValueSpec>& outputs() const { return handle_->context->executable().outputs(); }
  // Errors: not_found.
  Error input_index(std::string_view name, std::size_t* index) const;
  Error output_index(std::string_view name, std::size_t* index) const;

 private:
  friend class Instance;
  Error check_loaded() const;
  Error new_input_index(std::string_view name, std::size_t* index) const;
  Error compute_copies(std::span<const NamedTensor> inputs, std::vector<NamedOutput>* outputs);

  std::shared_ptr<Account> account_;
  std::shared_ptr<ContextHandle> handle_;
  std::unique_lock<std::mutex> lock_;  // before handle_ goes
};

// Any thread, until the end of the instance.
class Instance {
 public:
  static std::shared_ptr<Instance> create(std::shared_ptr<Tenant> tenant,
                                          const Limits& limits = {});

  Error load(std::span<const Bytes> parts, Encoding encoding, Target target, Handle* graph);
  Error load_by_name(std::string_view name, Handle* graph);
  // Its contexts compute no more.
  Error unload(Handle graph);
  // Without that: only the handle goes. A context may be in use.
  Error drop_graph(Handle graph);
  Error drop_context(Handle context);
  // By the graph's target, or another one.
  Error init_execution_context(Handle graph, std::optional<Target> target, Handle* context);
  Error finalize_execution_context(Handle context);
  Error use(Handle context, ContextUse* use);
  // Without a context that stays.
  Error compute(Handle graph, std::span<const NamedTensor> inputs,
                std::vector<NamedOutput>* outputs);
  // The graph's inputs and outputs stay as long as `graph` does.
  Error graph(Handle handle, std::shared_ptr<ChargedGraph>* graph) const;

  Counts usage() const { return account_->usage(); }
  const std::shared_ptr<Account>& account() const { return account_; }
  Resources& resources() { return resources_; }
  Tenant& tenant() const { return *tenant_; }

  // Keeps the sentence for last_error(), tells the log, returns the number.
  Errno report(Error error);
  std::string last_error() const;

 private:
  using Entry = std::variant<std::shared_ptr<GraphHandle>, std::shared_ptr<ContextHandle>>;

  Instance(std::shared_ptr<Tenant> tenant, const Limits& limits);
  template <class T>
  Error find(Handle handle, std::shared_ptr<T>* entry) const;
  // The handle is none from here on.
  template <class T>
  Error take(Handle handle, std::shared_ptr<T>* entry);
  Error insert(Entry entry, Handle* handle);
  Error insert_graph(std::shared_ptr<ChargedGraph> graph, Handle* handle);
  Error make_context(std::shared_ptr<GraphHandle> graph, std::optional<Target> target,
                     std::shared_ptr<ContextHandle>* context);

  const std::shared_ptr<Tenant> tenant_;
  const std::shared_ptr<Account> account_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<Handle, Entry> entries_;
  Resources resources_;
  std::string last_error_;
};

}  // namespace quern::wasi_nn
