// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/tenant.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <quern/processor_time.h>

namespace quern::wasi_nn {
namespace {

constexpr std::size_t longest_name = 256;

std::uint64_t total_bytes(std::span<const Bytes> parts) {
  std::uint64_t size = 0;
  for (const Bytes& part : parts) size += part.size();
  return size;
}

Error check_name(std::string_view name) {
  if (!name.empty() && name.size() <= longest_name) return {};
  return {Errno::invalid_argument, sentence("the name of a model has 1 to ", longest_name,
                                            " bytes, this one ", name.size())};
}

}  // namespace

// ---- graphs ------------------------------------------------------------------------------------

Error ModelCharges::begin(std::uint64_t file_bytes) {
  QUERN_NN_TRY(model_bytes.set(file_bytes));
  return resident_bytes.set({Kind::models, file_bytes});
}

ChargedGraph::ChargedGraph(std::shared_ptr<SharedGraph> graph, ModelCharges charges,
                           std::shared_ptr<const PromptModel> prompts)
    : graph_(std::move(graph)), prompts_(std::move(prompts)), charges_(std::move(charges)) {}

Error ChargedGraph::create(std::shared_ptr<SharedGraph> graph, ModelCharges charges,
                           std::shared_ptr<const PromptModel> prompts,
                           std::shared_ptr<ChargedGraph>* charged) {
  const std::shared_ptr<ChargedGraph> made(
      new ChargedGraph(std::move(graph), std::move(charges), std::move(prompts)));
  QUERN_NN_TRY(made->charges_.begin(made->graph_->model_bytes()));
  KindBytes bytes = made->prompts_ ? made->prompts_->held_bytes() : KindBytes();
  bytes[Kind::models] += made->graph_->held_bytes();
  QUERN_NN_TRY(made->charges_.resident_bytes.set(bytes));
  *charged = made;
  return {};
}

Error ChargedGraph::charge_compiled(const KindBytes& bytes) {
  const std::lock_guard lock(mutex_);
  KindBytes most = charges_.resident_bytes.amount();
  for (const Kind kind : {Kind::weights, Kind::tables})
    most[kind] = std::max(most[kind], bytes[kind]);
  return charges_.resident_bytes.set(most);
}

// ---- tenants -----------------------------------------------------------------------------------

Tenant::Tenant(TenantOptions options)
    : options_(std::move(options)), account_(std::make_shared<Account>(options_.limits, nullptr)) {}

std::shared_ptr<Tenant> Tenant::create(TenantOptions options) {
  return std::shared_ptr<Tenant>(new Tenant(std::move(options)));
}

GraphOptions Tenant::graph_options(Target wanted, std::uint64_t memory, Source source) const {
  // A limit of 0 would be none.
  const std::uint64_t limit = memory == no_limit ? 0 : std::max<std::uint64_t>(memory, 1);
  return {
      target(wanted),       options_.threads, limit,
      options_.gpu,         options_.files,   options_.share_graphs,
      options_.thread_pool, options_.math,    source == Source::host || options_.guest_pictures};
}

// Without a pool those of the executable, which the owner of the graph chose.
SessionOptions Tenant::session_options() const {
  if (!options_.thread_pool) return {};
  return {.threads = options_.threads, .arena = nullptr, .thread_pool = options_.thread_pool};
}

Error Tenant::add_file(const std::string& name, const std::string& path, Target target) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return add_folder(name, path, target);
  const auto began = processor_time();
  return add_loaded(
      name,
      SharedGraph::open(path, graph_options(target, account_->headroom(&Counts::resident_bytes))),
      began);
}

Error Tenant::add_folder(const std::string& name, const std::string& path, Target target) {
  if (!options_.read_folder)
    return {Errno::invalid_argument,
            sentence(quoted_name(path), " is a folder, and this host has no language models")};
  const auto began = processor_time();
  std::shared_ptr<ChargedGraph> charged;
  Error error = load_folder(path, target, &charged);
  const auto time = processor_time() - began;
  if (error.ok()) error = add_charged(name, std::move(charged));
  account_->note({.loads = Activity::one(error.code), .load_time = time});
  return error;
}

Error Tenant::load_folder(const std::string& path, Target target,
                          std::shared_ptr<ChargedGraph>* graph) {
  std::shared_ptr<SharedGraph> decoder;
  Error refused;
  const auto compile_decoder =
      [&](const std::string& file) -> Result<std::shared_ptr<const Executable>> {
    const GraphOptions options = graph_options(target, account_->headroom(&Counts::resident_bytes));
    QUERN_ASSIGN(decoder, SharedGraph::open(file, options));
    std::shared_ptr<const Executable> executable;
    refused = compile(*decoder, decoder->target(), &executable);
    if (!refused.ok()) return Status(Code::unsupported, refused.text);
    return executable;
  };
  auto prompts = options_.read_folder(path, compile_decoder);
  if (!refused.ok()) return refused;
  if (!prompts) return Error(prompts.error());
  return ChargedGraph::create(std::move(decoder), ModelCharges(account_), std::move(*prompts),
                              graph);
}

Error Tenant::add_bytes(const std::string& name, Bytes bytes, Target target) {
  if (options_.share_graphs) return add_shared(name, bytes, target);
  const auto began = processor_time();
  return add_loaded(
      name,
      SharedGraph::load({&bytes, 1},
                        graph_options(target, account_->headroom(&Counts::resident_bytes))),
      began);
}

Error Tenant::add_loaded(const std::string& name, Result<std::shared_ptr<SharedGraph>> graph,
                         std::chrono::nanoseconds began) {
  const auto time = processor_time() - began;
  Error error = graph ? add(name, std::move(*graph)) : Error(graph.error());
  account_->note({.loads = Activity::one(error.code), .load_time = time});
  return error;
}

Error Tenant::add_shared(const std::string& name, Bytes bytes, Target target) {
  const auto began = processor_time();
  std::shared_ptr<ChargedGraph> charged;
  Error error = share({&bytes, 1}, target, Source::host, &charged);
  const auto time = processor_time() - began;
  if (error.ok()) error = add_charged(name, std::move(charged));
  account_->note({.loads = Activity::one(error.code), .load_time = time});
  return error;
}

Error Tenant::add(const std::string& name, std::shared_ptr<SharedGraph> graph,
                  std::shared_ptr<const PromptModel> prompts) {
  if (!graph) return {Errno::invalid_argument, "a model is missing"};
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(
      ChargedGraph::create(std::move(graph), ModelCharges(account_), std::move(prompts), &charged));
  return add_charged(name, std::move(charged));
}

Error Tenant::add_charged(const std::string& name, std::shared_ptr<ChargedGraph> charged) {
  QUERN_NN_TRY(check_name(name));
  Named entry{std::move(charged), Charge(account_, &Counts::graphs)};
  QUERN_NN_TRY(entry.count.set(1));
  std::shared_ptr<const Executable> compiled;
  SharedGraph& graph = entry.graph->graph();
  QUERN_NN_TRY(compile(graph, target(graph.target()), &compiled));
  const std::lock_guard lock(mutex_);
  if (!named_.try_emplace(name, std::move(entry)).second)
    return {Errno::invalid_argument, sentence("there is a model ", quoted_name(name), " already")};
  return {};
}

// Bytes are compared with bytes, so that no guest can have another's model by a hash that collides.
std::shared_ptr<ChargedGraph> Tenant::same(std::span<const Bytes> parts, Target target) {
  std::vector<std::shared_ptr<ChargedGraph>> candidates;
  {
    const std::lock_guard lock(share_mutex_);
    std::erase_if(shared_, [](const auto& graph) { return graph.expired(); });
    for (const auto& graph : shared_)
      if (auto held = graph.lock(); held && held->graph().target() == target)
        candidates.push_back(std::move(held));
  }
  for (auto& graph : candidates)
    if (graph->graph().has_bytes(parts)) return std::move(graph);
  return nullptr;
}

Error Tenant::share(std::span<const Bytes> parts, Target wanted, Source source,
                    std::shared_ptr<ChargedGraph>* graph) {
  const Target target = this->target(wanted);
  if ((*graph = same(parts, target))) return {};
  ModelCharges charges(account_);
  QUERN_NN_TRY(charges.begin(total_bytes(parts)));
  auto loaded = SharedGraph::load(
      parts, graph_options(target, account_->headroom(&Counts::resident_bytes), source));
  if (!loaded) return Error(loaded.error());
  std::shared_ptr<ChargedGraph> charged;
  QUERN_NN_TRY(ChargedGraph::create(std::move(*loaded), std::move(charges), nullptr, &charged));
  // Two that load the same at one time keep a graph each; who comes later gets one of them.
  const std::lock_guard lock(share_mutex_);
  shared_.push_back(charged);
  *graph = std::move(charged);
  return {};
}

Error Tenant::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (named_.erase(name) > 0) return {};
  return {Errno::not_found, sentence("no model ", quoted_name(name))};
}

std::vector<std::string> Tenant::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : named_) names.push_back(name);
  return names;
}

Error Tenant::find(std::string_view name, std::shared_ptr<ChargedGraph>* graph) const {
  const std::lock_guard lock(mutex_);
  const auto found = named_.find(name);
  if (found == named_.end()) return {Errno::not_found, sentence("no model ", quoted_name(name))};
  *graph = found->second.graph;
  return {};
}

Error Tenant::compile(SharedGraph& graph, Target target,
                      std::shared_ptr<const Executable>* executable) const {
  const auto began = processor_time();
  auto compiled = graph.executable(target);
  if (!compiled && target == Target::gpu && !options_.gpu_or_nothing) {
    log(sentence("the CPU is used, the GPU was wanted: ", compiled.error().message()));
    compiled = graph.executable(Target::cpu);
  }
  account_->note({.compile_time = processor_time() - began});
  if (!compiled) return Error(compiled.error());
  *executable = std::move(*compiled);
  return {};
}

void Tenant::log(std::string_view text) const {
  if (options_.log) options_.log(text);
}

}  // namespace quern::wasi_nn
