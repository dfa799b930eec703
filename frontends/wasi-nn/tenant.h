// SPDX-License-Identifier: Apache-2.0
// One customer of a host: its named models, limits and usage. Guests reach it only through an
// Instance (instance.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quern/session.h>

#include "frontends/wasi-nn/graph.h"
#include "frontends/wasi-nn/prompt_model.h"

namespace quern::wasi_nn {

// The charges of a model to an account. Those of a guest's model begin with its bytes, before they
// are copied or read.
struct ModelCharges {
  explicit ModelCharges(const std::shared_ptr<Account>& account, Reach reach = Reach::all)
      : model_bytes(account, &Counts::model_bytes, reach), resident_bytes(account, reach) {}
  // Errors: too_large.
  Error begin(std::uint64_t file_bytes);

  Charge model_bytes;
  ResidentCharge resident_bytes;
};

// A graph and its charges to the account that loaded it; handles and contexts share it. Any thread.
class ChargedGraph {
 public:
  // `prompts`: the language model whose decoder the graph is, or null. Errors: too_large.
  static Error create(std::shared_ptr<SharedGraph> graph, ModelCharges charges,
                      std::shared_ptr<const PromptModel> prompts,
                      std::shared_ptr<ChargedGraph>* charged);

  SharedGraph& graph() const { return *graph_; }
  const std::shared_ptr<SharedGraph>& shared() const { return graph_; }
  // Null for a graph of tensors.
  const std::shared_ptr<const PromptModel>& prompts() const { return prompts_; }
  // `bytes` are weights and tables: weights are packed and plans are made when a context runs;
  // others share them. The charge is that of the most of each that there was.
  Error charge_compiled(const KindBytes& bytes);

 private:
  ChargedGraph(std::shared_ptr<SharedGraph> graph, ModelCharges charges,
               std::shared_ptr<const PromptModel> prompts);

  const std::shared_ptr<SharedGraph> graph_;
  const std::shared_ptr<const PromptModel> prompts_;
  std::mutex mutex_;
  ModelCharges charges_;
};

struct TenantOptions {
  Limits limits = usual_limits();
  int threads = 0;                   // of a compute; 0, or too many: the usable CPUs
  bool any_encoding = false;         // take ONNX bytes whatever encoding the guest names
  bool gpu_or_nothing = false;       // if off, the CPU is used if there is no GPU
  bool guest_pictures = false;       // models that guests load may decode pictures
  bool share_graphs = false;         // models of the same bytes and target are one graph
  Math math = Math::f32;             // of products of matrices on the CPU
  std::optional<Target> everywhere;  // the target of all models, whatever a guest asks for
  std::string gpu = "vulkan";        // the device of target gpu, as open_device() names it
  // How add_file() reads. A mapped file is shared with other processes, and must never shrink.
  OnnxOptions::Files files = OnnxOptions::Files::read;
  std::function<void(std::string_view)> log;  // called from any thread
  // The threads of computes on the CPU, which tenants may share (with_weight(): by parts); null:
  // each thread that computes has a team of OpenMP's.
  std::shared_ptr<ThreadPool> thread_pool;
  // How add_file() reads a folder; null: this host has no language models.
  FolderReader read_folder;
};

// Any thread.
class Tenant {
 public:
  static std::shared_ptr<Tenant> create(TenantOptions options = {});

  // Adds a model under a name and compiles it at once: a file, or the folder of a language model,
  // which is for guests with prompts. A name has 1 to 256 bytes and is not a path.
  // Errors: invalid_argument (also if the name is taken), too_large, and those of the model.
  Error add_file(const std::string& name, const std::string& path, Target target = Target::cpu);
  Error add_bytes(const std::string& name, Bytes bytes, Target target = Target::cpu);
  // Adds a graph that other tenants may share, and what it is the decoder of.
  Error add(const std::string& name, std::shared_ptr<SharedGraph> graph,
            std::shared_ptr<const PromptModel> prompts = nullptr);
  // Removes a name; handles that guests hold stay valid. Errors: not_found.
  Error remove(const std::string& name);
  std::vector<std::string> names() const;

  Counts usage() const { return account_->usage(); }
  Figures figures() const { return account_->figures(); }

  const TenantOptions& options() const { return options_; }
  const std::shared_ptr<Account>& account() const { return account_; }
  // Who brought the bytes of a model.
  enum class Source : std::uint8_t { host, guest };
  // The options for a graph that asks for `target`, limited to `memory` bytes.
  GraphOptions graph_options(Target target, std::uint64_t memory,
                             Source source = Source::host) const;
  // The options for sessions of any graph, the tenant's own or of another.
  SessionOptions session_options() const;
  // With share_graphs: the graph that this tenant has of the same bytes and target, or a new one,
  // which is charged to the tenant. Errors: too_large, and those of SharedGraph::load().
  Error share(std::span<const Bytes> parts, Target target, Source source,
              std::shared_ptr<ChargedGraph>* graph);
  Target target(Target wanted) const { return options_.everywhere.value_or(wanted); }
  // Errors: not_found.
  Error find(std::string_view name, std::shared_ptr<ChargedGraph>* graph) const;
  // Compiles for `target`, or for the CPU if there is no GPU and the host allows that.
  Error compile(SharedGraph& graph, Target target,
                std::shared_ptr<const Executable>* executable) const;
  void log(std::string_view text) const;

 private:
  explicit Tenant(TenantOptions options);
  struct Named {
    std::shared_ptr<ChargedGraph> graph;
    Charge count;
  };

  Error add_loaded(const std::string& name, Result<std::shared_ptr<SharedGraph>> graph,
                   std::chrono::nanoseconds began);
  Error add_charged(const std::string& name, std::shared_ptr<ChargedGraph> graph);
  Error add_folder(const std::string& name, const std::string& path, Target target);
  Error load_folder(const std::string& path, Target target, std::shared_ptr<ChargedGraph>* graph);
  Error add_shared(const std::string& name, Bytes bytes, Target target);
  std::shared_ptr<ChargedGraph> same(std::span<const Bytes> parts, Target target);

  const TenantOptions options_;
  const std::shared_ptr<Account> account_;
  mutable std::mutex mutex_;
  std::map<std::string, Named, std::less<>> named_;
  std::mutex share_mutex_;
  std::vector<std::weak_ptr<ChargedGraph>> shared_;  // what share() may answer with
};

}  // namespace quern::wasi_nn
