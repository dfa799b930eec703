// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/config.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "frontends/wasi-nn/json_reader.h"

namespace quern::wasi_nn {
namespace {

// A key with the value it wants; set() stores that, or returns false for a value of another form.
struct Key {
  std::string_view name, wanted;
  bool (*set)(const JsonValue& value, Config& config);
};

constexpr std::string_view count_wanted = "a whole number from 0 to 2^64 - 1, or null for no limit";
constexpr std::string_view flag_wanted = "true or false";

template <Resource resource>
bool set_most(const JsonValue& value, Config& config) {
  const auto* number = value.as<std::uint64_t>();
  if (!number && !value.as<std::nullptr_t>()) return false;
  config.options.limits.most.*resource = number ? *number : no_limit;
  return true;
}

template <bool TenantOptions::*flag>
bool set_flag(const JsonValue& value, Config& config) {
  const auto* on = value.as<bool>();
  if (on) config.options.*flag = *on;
  return on != nullptr;
}

bool set_names_only(const JsonValue& value, Config& config) {
  const auto* on = value.as<bool>();
  if (on) config.options.limits.names_only = *on;
  return on != nullptr;
}

bool set_thread_pool(const JsonValue& value, Config& config) {
  const auto* on = value.as<bool>();
  if (on) config.shares_threads = *on;
  return on != nullptr;
}

bool set_deadline(const JsonValue& value, Config& config) {
  const auto* number = value.as<std::uint64_t>();
  if (number && (*number == 0 || *number >= std::uint64_t{1} << 32)) return false;
  if (!number && !value.as<std::nullptr_t>()) return false;
  config.options.limits.deadline = std::chrono::milliseconds(number ? *number : 0);
  return true;
}

bool set_threads(const JsonValue& value, Config& config) {
  const auto* number = value.as<std::uint64_t>();
  if (number && (*number == 0 || *number > 1024)) return false;
  if (!number && !value.as<std::nullptr_t>()) return false;
  config.options.threads = number ? static_cast<int>(*number) : 0;
  return true;
}

bool set_math(const JsonValue& value, Config& config) {
  const auto* name = value.as<std::string>();
  if (!name) return false;
  const auto math = math_named(*name);
  if (math) config.options.math = *math;
  return math.has_value();
}

bool set_weight(const JsonValue& value, Config& config) {
  const auto* number = value.as<std::uint64_t>();
  if (!number || *number == 0 || *number > 1'000'000) return false;
  config.weight = static_cast<int>(*number);
  return true;
}

std::optional<Target> target_of(std::string_view name) {
  if (name == "cpu") return Target::cpu;
  if (name == "gpu") return Target::gpu;
  return std::nullopt;
}

bool set_targets(const JsonValue& value, Config& config) {
  const auto* names = value.as<JsonValue::Texts>();
  unsigned targets = 0;
  if (!names) return false;
  for (const std::string& name : *names) {
    const auto target = target_of(name);
    if (!target) return false;
    targets |= 1U << static_cast<unsigned>(*target);
  }
  config.options.limits.targets = static_cast<std::uint8_t>(targets);
  return true;
}

bool set_everywhere(const JsonValue& value, Config& config) {
  const auto* name = value.as<std::string>();
  const auto target = name ? target_of(*name) : std::nullopt;
  if (!target && !value.as<std::nullptr_t>()) return false;
  config.options.everywhere = target;
  return true;
}

bool is_plain(const std::string& text) {
  return !text.empty() && text.find('\0') == std::string::npos;
}

bool set_gpu(const JsonValue& value, Config& config) {
  const auto* name = value.as<std::string>();
  if (!name || !is_plain(*name)) return false;
  config.options.gpu = *name;
  return true;
}

bool set_models(const JsonValue& value, Config& config) {
  const auto* files = value.as<JsonValue::TextsByKey>();
  if (!files) return false;
  for (const auto& [name, file] : *files)
    if (!is_plain(name) || name.size() > 256 || !is_plain(file)) return false;
  for (const auto& [name, file] : *files) config.models[name] = file;
  return true;
}

constexpr Key keys[] = {
    {"graphs", count_wanted, &set_most<&Counts::graphs>},
    {"contexts", count_wanted, &set_most<&Counts::contexts>},
    {"model_bytes", count_wanted, &set_most<&Counts::model_bytes>},
    {"tensor_bytes", count_wanted, &set_most<&Counts::tensor_bytes>},
    {"resident_bytes", count_wanted, &set_most<&Counts::resident_bytes>},
    {"parallel_computes", count_wanted, &set_most<&Counts::parallel_computes>},
    {"deadline_ms", "a whole number from 1 to 2^32 - 1, or null for none", &set_deadline},
    {"targets", R"(a list of "cpu" and "gpu")", &set_targets},
    {"names_only", flag_wanted, &set_names_only},
    {"threads", "a whole number from 1 to 1024, or null for all CPUs", &set_threads},
    {"thread_pool", flag_wanted, &set_thread_pool},
    {"weight", "a whole number from 1 to 1000000", &set_weight},
    {"math", R"("f32", "bf16", "bf16x3" or "auto")", &set_math},
    {"any_encoding", flag_wanted, &set_flag<&TenantOptions::any_encoding>},
    {"gpu_or_nothing", flag_wanted, &set_flag<&TenantOptions::gpu_or_nothing>},
    {"guest_pictures", flag_wanted, &set_flag<&TenantOptions::guest_pictures>},
    {"share_graphs", flag_wanted, &set_flag<&TenantOptions::share_graphs>},
    {"everywhere", R"("cpu", "gpu", or null for where guests ask)", &set_everywhere},
    {"gpu", "the name of a device", &set_gpu},
    {"models", "an object of files by names of 1 to 256 bytes", &set_models},
};

Error apply(const std::string& name, const JsonValue& value, Config& config) {
  std::string known;
  for (const Key& key : keys) {
    known += sentence(known.empty() ? "" : ", ", key.name);
    if (key.name != name) continue;
    if (key.set(value, config)) return {};
    return {Errno::invalid_argument, sentence("the value of ", quoted_name(name), " is ",
                                              quoted_name(value.shown), ", wanted: ", key.wanted)};
  }
  return {Errno::invalid_argument,
          sentence("there is no key ", quoted_name(name), "; there are ", known)};
}

constexpr std::size_t most_bytes = std::size_t{1} << 20;

Error read_text(const std::string& path, std::string* text) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored))
    return {Errno::not_found, sentence(quoted_name(path), " cannot be read")};
  std::string read(most_bytes + 1, '\0');
  file.read(read.data(), static_cast<std::streamsize>(read.size()));
  if (file.bad()) return {Errno::not_found, sentence(quoted_name(path), " cannot be read")};
  read.resize(static_cast<std::size_t>(file.gcount()));
  if (read.size() > most_bytes)
    return {Errno::invalid_argument,
            sentence(quoted_name(path), " has more than ", most_bytes, " bytes")};
  *text = std::move(read);
  return {};
}

}  // namespace

Error read_config(std::string_view text, const std::string& source, Config* config) {
  Config changed = *config;
  Error error = read_json_object(text, [&](const std::string& key, const JsonValue& value) {
    return apply(key, value, changed);
  });
  if (!error.ok()) return {error.code, sentence(source, ": ", error.text)};
  *config = std::move(changed);
  return {};
}

Error read_config_file(const std::string& path, Config* config) {
  std::string text;
  Config changed = *config;
  const std::map<std::string, std::string> before = std::exchange(changed.models, {});
  QUERN_NN_TRY(read_text(path, &text));
  QUERN_NN_TRY(read_config(text, path, &changed));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (auto& [name, file] : changed.models) file = (folder / file).string();
  changed.models.insert(before.begin(), before.end());
  *config = std::move(changed);
  return {};
}

Error create_tenant(const Config& config, std::shared_ptr<Tenant>* tenant) {
  TenantOptions options = config.options;
  if (config.shares_threads) {
    auto pool = shared_thread_pool();
    if (!pool) return Error(pool.error());
    options.thread_pool = std::move(*pool);
  }
  if (config.weight != 1) {
    auto pool = with_weight(options.thread_pool, config.weight);
    if (!pool) return Error(pool.error());
    options.thread_pool = std::move(*pool);
  }
  auto made = Tenant::create(std::move(options));
  for (const auto& [name, file] : config.models) {
    Error error = made->add_file(name, file);
    if (!error.ok()) return {error.code, sentence("model ", quoted_name(name), ": ", error.text)};
  }
  *tenant = std::move(made);
  return {};
}

}  // namespace quern::wasi_nn
