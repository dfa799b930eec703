// SPDX-License-Identifier: Apache-2.0
// Tenants, instances and the tables for guests.
#include <array>
#include <utility>

#include "engine/c_api/thread_pool.h"
#include "frontends/wasi-nn/c_api/handles.h"
#include "frontends/wasi-nn/config.h"
#include "frontends/wasi-nn/metrics.h"
#include "frontends/wasi-nn/prompts/folder_prompts.h"
#include "frontends/wasi-nn/records.h"
#include "frontends/wasi-nn/wit.h"
#include "frontends/wasi-nn/witx.h"

using namespace quern;
using namespace quern::wasi_nn;
using namespace quern::wasi_nn::c_api;

// ---- errors ------------------------------------------------------------------------------------

namespace {
thread_local std::array<char, 1024> last_error{};
}

quern_nn_errno quern::wasi_nn::c_api::report(Errno code, std::string_view text) noexcept {
  if (code != Errno::success) {
    const std::size_t size = std::min(text.size(), last_error.size() - 1);
    std::memcpy(last_error.data(), text.data(), size);
    last_error[size] = 0;
  }
  return static_cast<quern_nn_errno>(code);
}

const char* quern_nn_last_error(void) {
  return last_error.data();
}

const char* quern_nn_errno_name(quern_nn_errno code) {
  return errno_name(static_cast<Errno>(code)).data();
}

// ---- options -----------------------------------------------------------------------------------

namespace {

// NULL leaves `limits` as they are.
Error read_limits(const quern_nn_limits* given, Limits* limits) {
  if (!given) return {};
  quern_nn_limits value = QUERN_NN_LIMITS_INIT;
  QUERN_NN_TRY(read_struct(given, &value));
  constexpr std::uint64_t longest = std::uint64_t{1} << 62;
  limits->most = {value.graphs,       value.contexts,       value.model_bytes,
                  value.tensor_bytes, value.resident_bytes, value.parallel_computes};
  limits->deadline = std::chrono::microseconds(std::min(value.deadline_us, longest));
  limits->targets = static_cast<std::uint8_t>(value.targets);
  limits->names_only = value.names_only != 0;
  return {};
}

// NULL: OpenMP's threads, a null `pool`.
Error read_pool(const quern_thread_pool_options* given, std::shared_ptr<ThreadPool>* pool) {
  if (!given) return {};
  quern_thread_pool_options value = QUERN_THREAD_POOL_OPTIONS_INIT;
  QUERN_NN_TRY(read_struct(given, &value));
  const bool is_shared = !value.run && value.threads == 0;
  auto made = is_shared ? shared_thread_pool() : quern::c_api::thread_pool_of(value);
  if (!made) return Error(made.error());
  *pool = std::move(*made);
  return {};
}

// A weight of 0 is none.
Error set_weight(int weight, std::shared_ptr<ThreadPool>* pool) {
  if (weight == 0) return {};
  auto weighted = with_weight(*pool, weight);
  if (!weighted) return Error(weighted.error());
  *pool = std::move(*weighted);
  return {};
}

Error read_options(const quern_nn_tenant_options* given, TenantOptions* options) {
  quern_nn_tenant_options value = QUERN_NN_TENANT_OPTIONS_INIT;
  QUERN_NN_TRY(read_struct(given, &value));
  QUERN_NN_TRY(read_limits(value.limits, &options->limits));
  QUERN_NN_TRY(read_pool(value.thread_pool, &options->thread_pool));
  QUERN_NN_TRY(set_weight(value.weight, &options->thread_pool));
  auto math = math_named(value.math ? value.math : "f32");
  if (!math) return Error(math.error());
  options->math = *math;
  options->threads = value.threads;
  options->any_encoding = value.any_encoding != 0;
  options->gpu_or_nothing = value.gpu_or_nothing != 0;
  options->guest_pictures = value.guest_pictures != 0;
  options->share_graphs = value.share_graphs != 0;
  options->read_folder = &read_prompt_folder;
  if (value.gpu) options->gpu = value.gpu;
  if (value.everywhere != QUERN_NN_AS_ASKED)
    QUERN_NN_TRY(
        read_target(static_cast<std::uint32_t>(value.everywhere), &options->everywhere.emplace()));
  if (value.log)
    options->log = [log = value.log, user = value.log_user](std::string_view text) {
      log(user, std::string(text).c_str());
    };
  return {};
}

Error write_counts(quern_nn_counts* counts, const Counts& c) {
  return write_struct(counts, {0, c.graphs, c.contexts, c.model_bytes, c.tensor_bytes,
                               c.resident_bytes, c.parallel_computes});
}

Error write_figures(quern_nn_figures* figures, const Figures& f) {
  const auto ns = [](std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(time.count());
  };
  const Activity& a = f.activity;
  return write_struct(figures, {0,
                                f.used.graphs,
                                f.used.contexts,
                                f.used.resident_bytes,
                                f.resident[Kind::models],
                                f.resident[Kind::weights],
                                f.resident[Kind::tables],
                                f.resident[Kind::arenas],
                                f.resident[Kind::tensors],
                                f.peak.resident_bytes,
                                a.loads.ok,
                                a.loads.refused,
                                a.loads.failed + a.loads.timed_out,
                                a.computes.ok,
                                a.computes.timed_out,
                                a.computes.refused,
                                a.computes.failed,
                                ns(a.load_time),
                                ns(a.compile_time),
                                ns(a.compute_time)});
}

}  // namespace

// ---- tenants -----------------------------------------------------------------------------------

quern_nn_errno quern_nn_tenant_create(const quern_nn_tenant_options* options,
                                      quern_nn_tenant** tenant) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    TenantOptions read;
    QUERN_NN_TRY(read_options(options, &read));
    *tenant = new quern_nn_tenant{Tenant::create(std::move(read))};
    return {};
  });
}

quern_nn_errno quern_nn_tenant_create_from_file(const char* path,
                                                const quern_nn_tenant_options* options,
                                                quern_nn_tenant** tenant) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(path);
    QUERN_NN_NOT_NULL(tenant);
    Config config;
    std::shared_ptr<Tenant> made;
    QUERN_NN_TRY(read_options(options, &config.options));
    QUERN_NN_TRY(read_config_file(path, &config));
    QUERN_NN_TRY(create_tenant(config, &made));
    *tenant = new quern_nn_tenant{std::move(made)};
    return {};
  });
}

void quern_nn_tenant_destroy(quern_nn_tenant* tenant) {
  delete tenant;
}

quern_nn_errno quern_nn_tenant_add_file(quern_nn_tenant* tenant, const char* name, const char* path,
                                        quern_nn_target target) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(name);
    QUERN_NN_NOT_NULL(path);
    Target read{};
    QUERN_NN_TRY(read_target(static_cast<std::uint32_t>(target), &read));
    return tenant->tenant->add_file(name, path, read);
  });
}

quern_nn_errno quern_nn_tenant_add_bytes(quern_nn_tenant* tenant, const char* name,
                                         const void* data, size_t bytes, quern_nn_target target) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(name);
    QUERN_NN_NOT_NULL(data);
    Target read{};
    QUERN_NN_TRY(read_target(static_cast<std::uint32_t>(target), &read));
    return tenant->tenant->add_bytes(name, {static_cast<const std::byte*>(data), bytes}, read);
  });
}

quern_nn_errno quern_nn_tenant_share(quern_nn_tenant* tenant, const char* name,
                                     quern_nn_tenant* owner, const char* owners_name) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(name);
    QUERN_NN_NOT_NULL(owner);
    QUERN_NN_NOT_NULL(owners_name);
    std::shared_ptr<ChargedGraph> graph;
    QUERN_NN_TRY(owner->tenant->find(owners_name, &graph));
    return tenant->tenant->add(name, graph->shared(), graph->prompts());
  });
}

quern_nn_errno quern_nn_tenant_remove(quern_nn_tenant* tenant, const char* name) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(name);
    return tenant->tenant->remove(name);
  });
}

quern_nn_errno quern_nn_tenant_names(const quern_nn_tenant* tenant,
                                     void (*name)(void* user, const char* name), void* user) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(name);
    for (const std::string& each : tenant->tenant->names()) name(user, each.c_str());
    return {};
  });
}

quern_nn_errno quern_nn_tenant_usage(const quern_nn_tenant* tenant, quern_nn_counts* counts) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(counts);
    return write_counts(counts, tenant->tenant->usage());
  });
}

quern_nn_errno quern_nn_tenant_figures(const quern_nn_tenant* tenant, quern_nn_figures* figures) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(figures);
    return write_figures(figures, tenant->tenant->figures());
  });
}

quern_nn_errno quern_nn_metrics(const quern_nn_labelled_tenant* tenants, size_t count,
                                void (*write)(void* user, const char* text, size_t bytes),
                                void* user) {
  return guarded([&]() -> Error {
    if (count > 0) QUERN_NN_NOT_NULL(tenants);
    QUERN_NN_NOT_NULL(write);
    std::vector<LabelledFigures> labelled;
    for (const quern_nn_labelled_tenant& t : std::span(tenants, count)) {
      QUERN_NN_NOT_NULL(t.label);
      QUERN_NN_NOT_NULL(t.tenant);
      labelled.push_back({t.label, t.tenant->tenant->figures()});
    }
    const std::string text = metrics_text(labelled);
    write(user, text.data(), text.size());
    return {};
  });
}

// ---- instances ---------------------------------------------------------------------------------

quern_nn_errno quern_nn_instance_create(quern_nn_tenant* tenant, const quern_nn_limits* limits,
                                        quern_nn_instance** instance) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(tenant);
    QUERN_NN_NOT_NULL(instance);
    Limits read;
    QUERN_NN_TRY(read_limits(limits, &read));
    *instance = new quern_nn_instance{Instance::create(tenant->tenant, read)};
    return {};
  });
}

void quern_nn_instance_destroy(quern_nn_instance* instance) {
  delete instance;
}

quern_nn_errno quern_nn_instance_usage(const quern_nn_instance* instance, quern_nn_counts* counts) {
  return guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(instance);
    QUERN_NN_NOT_NULL(counts);
    return write_counts(counts, instance->instance->usage());
  });
}

size_t quern_nn_instance_last_error(const quern_nn_instance* instance, char* text,
                                    size_t capacity) {
  std::size_t length = 0;
  (void)guarded([&]() -> Error {
    QUERN_NN_NOT_NULL(instance);
    const std::string error = instance->instance->last_error();
    length = error.size();
    if (!text || capacity == 0) return {};
    const std::size_t copied = std::min(length, capacity - 1);
    std::memcpy(text, error.data(), copied);
    text[copied] = 0;
    return {};
  });
  return length;
}

// ---- tables ------------------------------------------------------------------------------------

namespace {

// Adapts a quern_nn_guest to the Guest that the tables take.
struct ForeignGuest : Guest {
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): the base is an aggregate
  explicit ForeignGuest(quern_nn_guest& g) : Guest{memory_of(g), &make_room_there}, there(&g) {}

  static Memory memory_of(const quern_nn_guest& g) {
    return {static_cast<std::byte*>(g.memory), g.memory ? g.memory_bytes : 0};
  }
  static bool make_room_there(Guest& guest, std::uint32_t alignment, std::uint32_t bytes,
                              std::uint32_t* at) {
    quern_nn_guest& there = *static_cast<ForeignGuest&>(guest).there;
    if (!there.make_room || there.make_room(&there, alignment, bytes, at) != 0) return false;
    guest.memory = memory_of(there);
    return true;
  }

  quern_nn_guest* there;
};

template <auto table, std::size_t index>
std::uint32_t call(quern_nn_instance* instance, quern_nn_guest* guest,
                   const std::uint32_t* arguments) noexcept {
  if (!instance || !guest || !arguments) return QUERN_NN_INVALID_ARGUMENT;
  if (!quern::c_api::is_struct_size<quern_nn_guest>(guest->struct_size))
    return QUERN_NN_INVALID_ARGUMENT;
  ForeignGuest here(*guest);
  return table()[index].call(*instance->instance, here, arguments);
}

template <auto table, std::size_t... index>
std::array<quern_nn_import, sizeof...(index)> rows(std::index_sequence<index...>) {
  return {quern_nn_import{table()[index].module, table()[index].name, table()[index].parameters,
                          table()[index].results, &call<table, index>}...};
}

template <auto table>
const quern_nn_import* row(std::size_t index) {
  static const auto all = rows<table>(std::make_index_sequence<decltype(table())::extent>());
  return index < all.size() ? &all[index] : nullptr;
}

}  // namespace

const quern_nn_import* quern_nn_witx_import(size_t index) {
  return row<witx_imports>(index);
}

const quern_nn_import* quern_nn_wit_import(size_t index) {
  return row<wit_imports>(index);
}
