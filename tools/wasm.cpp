// SPDX-License-Identifier: Apache-2.0
// quern wasm: a WebAssembly guest whose models run here.
#include "tools/verbs.h"

#ifdef QUERN_WASM
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include <quern/device.h>

#include "engine/vocabulary/text_util.h"
#include "frontends/wasi-nn/wit.h"
#include "frontends/wasi-nn/witx.h"
#include "tools/json.h"
#include "tools/parse.h"
#include "tools/wasm/guest.h"
#include "tools/wasm/wasi.h"

namespace quern::tools {
namespace {

using namespace quern::wasi_nn;  // NOLINT: the front end is what this file is about

// ---- --limits ----------------------------------------------------------------------------------

struct LimitRow {
  std::string_view name;
  Resource resource;
};
constexpr LimitRow limit_rows[] = {
    {"graphs", &Counts::graphs},
    {"contexts", &Counts::contexts},
    {"model-bytes", &Counts::model_bytes},
    {"tensor-bytes", &Counts::tensor_bytes},
    {"resident-bytes", &Counts::resident_bytes},
    {"parallel", &Counts::parallel_computes},
};

Status apply_limit(const std::string& word, Limits& limits) {
  if (word == "names-only") {
    limits.names_only = true;
    return {};
  }
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc() && end == value.data() + value.size();
  if (is_number && name == "deadline-ms" && number < std::uint64_t{1} << 32) {
    limits.deadline = std::chrono::milliseconds(number);
    return {};
  }
  for (const LimitRow& row : limit_rows)
    if (is_number && name == row.name) {
      limits.most.*row.resource = number;
      return {};
    }
  return {Code::invalid_argument,
          cat("--limits: '", printable(word, 60),
              "' is none of graphs=N, contexts=N, model-bytes=N, tensor-bytes=N, resident-bytes=N, "
              "parallel=N, deadline-ms=N, names-only")};
}

Result<Limits> parse_limits(const std::string& text) {
  Limits limits = TenantOptions().limits;
  if (!text.empty())
    for (const std::string& word : split_list(text)) QUERN_TRY(apply_limit(word, limits));
  return limits;
}

// ---- models and folders ------------------------------------------------------------------------

// The code of an error of the front end, for the exit code of the command.
Status as_status(const Error& error, std::string_view where) {
  if (error.ok()) return {};
  const Code code = error.code == Errno::not_found          ? Code::not_found
                    : error.code == Errno::invalid_argument ? Code::invalid_argument
                    : error.code == Errno::invalid_encoding ? Code::invalid_model
                    : error.code == Errno::too_large        ? Code::out_of_memory
                                                            : Code::unsupported;
  return Status(code, error.text).in(where);
}

// The target on which models run; nullopt if the guest chooses.
Result<std::optional<Target>> parse_target(const std::string& word) {
  if (word.empty()) return std::optional<Target>();
  if (word != "auto") return std::optional(word == "gpu" ? Target::gpu : Target::cpu);
  QUERN_ASSIGN(const auto device, open_device("automatic"));
  const bool on_gpu = device->info().kind == DeviceInfo::Kind::gpu;
  return std::optional(on_gpu ? Target::gpu : Target::cpu);
}

Status add_models(const WasmArgs& args, Tenant& tenant) {
  for (const std::string& word : args.models) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      return {Code::invalid_argument, cat("--model wants NAME=FILE, not '", printable(word), "'")};
    QUERN_TRY(as_status(tenant.add_file(word.substr(0, equals), word.substr(equals + 1)),
                        word.substr(equals + 1)));
  }
  return {};
}

Status open_folders(const WasmArgs& args, wasm::Wasi& wasi) {
  for (const std::string& word : args.folders) {
    const std::size_t colons = word.find("::");
    const std::string host = word.substr(0, colons);
    QUERN_TRY(wasi.open_folder(host, colons == std::string::npos ? host : word.substr(colons + 2)));
  }
  return {};
}

// ---- the guest ---------------------------------------------------------------------------------

Memory memory_of(wasm::Caller& caller) {
  const wasm::LinearMemory memory = caller.memory();
  return {reinterpret_cast<std::byte*>(memory.base), memory.size};
}

bool make_room(Guest& guest, std::uint32_t alignment, std::uint32_t bytes, std::uint32_t* at) {
  auto& caller = *static_cast<wasm::Caller*>(guest.host);
  const bool made = caller.make_room(alignment, bytes, at);
  guest.memory = memory_of(caller);
  return made;
}

wasm::HostFunction host_function(const Import& row, Instance& instance) {
  const auto call = [&row, &instance](wasm::Caller& caller, const std::uint64_t* arguments) {
    std::array<std::uint32_t, 8> words{};
    for (unsigned i = 0; i < row.parameters; ++i)
      words[i] = static_cast<std::uint32_t>(arguments[i]);
    Guest guest{memory_of(caller), &make_room, &caller};
    return wasm::HostAnswer{row.call(instance, guest, words.data()), false};
  };
  return {std::string(row.parameters, 'i') + ":" + std::string(row.results, 'i'), call};
}

wasm::GuestEnd run_guest(const std::string& module, Instance& instance, wasm::Wasi& wasi) {
  std::map<std::string, wasm::HostFunction> functions;
  const auto add = [&](const Import& row) {
    functions.emplace(cat(row.module, ".", row.name), host_function(row, instance));
  };
  std::ranges::for_each(witx_imports(), add);
  std::ranges::for_each(wit_imports(), add);
  return wasm::run_guest(
      module, [&](const std::string& from, const std::string& name) -> const wasm::HostFunction* {
        if (from == wasm::wasi_module) return wasi.resolve(name);
        const auto found = functions.find(cat(from, ".", name));
        return found == functions.end() ? nullptr : &found->second;
      });
}

}  // namespace

Result<ExitCode> wasm_verb(const WasmArgs& args, const Console& console) {
  TenantOptions options;
  QUERN_ASSIGN(options.limits, parse_limits(args.limits));
  options.threads = args.threads;
  options.any_encoding = args.any_encoding;
  QUERN_ASSIGN(options.everywhere, parse_target(args.target));
  options.gpu = args.gpu;
  options.gpu_or_nothing = args.target == "gpu";
  if (args.log) options.log = [&console](std::string_view text) { console.note(shown(text, 400)); };
  QUERN_ASSIGN(const std::string module, read_file(args.guest));
  const auto tenant = Tenant::create(options);
  QUERN_TRY(add_models(args, *tenant));

  std::vector<std::string> words = {std::filesystem::path(args.guest).filename().string()};
  words.insert(words.end(), args.arguments.begin(), args.arguments.end());
  wasm::Wasi wasi(words);
  QUERN_TRY(open_folders(args, wasi));
  const auto instance = Instance::create(tenant);
  const wasm::GuestEnd end = run_guest(module, *instance, wasi);
  if (!end.error.empty()) {
    console.error(cat("quern wasm: ", shown(end.error, 400)));
    return ExitCode::failed;
  }
  return static_cast<ExitCode>(end.exit_status & 0xff);
}

}  // namespace quern::tools

#else

namespace quern::tools {

Result<ExitCode> wasm_verb(const WasmArgs&, const Console&) {
  return Status(Code::unsupported,
                "this quern was built without libwabt (Debian: wabt), which runs the guests");
}

}  // namespace quern::tools

#endif
