// SPDX-License-Identifier: Apache-2.0
// quern wasm: a WebAssembly guest whose models run here.
#include "tools/verbs.h"

#ifdef QUERN_WASM
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include <quern/device.h>

#include "engine/vocabulary/text_util.h"
#include "frontends/wasi-nn/config.h"
#include "frontends/wasi-nn/metrics.h"
#include "frontends/wasi-nn/prompts/folder_prompts.h"
#include "frontends/wasi-nn/wit.h"
#include "frontends/wasi-nn/witx.h"
#include "tools/json.h"
#include "tools/parse.h"
#include "tools/wasm/guest.h"
#include "tools/wasm/wasi.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

using namespace quern::wasi_nn;  // NOLINT: the front end is what this file is about

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

// The target on which models run.
Result<Target> parse_target(const std::string& word) {
  if (word != "auto") return word == "gpu" ? Target::gpu : Target::cpu;
  QUERN_ASSIGN(const auto device, open_device("automatic"));
  const bool on_gpu = device->info().kind == DeviceInfo::Kind::gpu;
  return on_gpu ? Target::gpu : Target::cpu;
}

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

// A list as above, or a file that may have more than limits.
Result<Config> parse_limits(const std::string& text) {
  Config config;
  if (text.ends_with(".json"))
    QUERN_TRY(as_status(read_config_file(text, &config), "--limits"));
  else if (!text.empty())
    for (const std::string& word : split_list(text))
      QUERN_TRY(apply_limit(word, config.options.limits));
  return config;
}

// Options of the command come before those of the file.
Status apply_options(const WasmArgs& args, TenantOptions& options) {
  if (args.threads > 0) options.threads = args.threads;
  if (args.any_encoding) options.any_encoding = true;
  if (args.guest_pictures) options.guest_pictures = true;
  if (args.share_graphs) options.share_graphs = true;
  if (!args.target.empty()) {
    QUERN_ASSIGN(options.everywhere, parse_target(args.target));
  }
  if (!args.gpu.empty()) options.gpu = args.gpu;
  if (args.target == "gpu") options.gpu_or_nothing = true;
  options.read_folder = &read_prompt_folder;
  return {};
}

// ---- models and folders ------------------------------------------------------------------------

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

// ---- --stats, --metrics ------------------------------------------------------------------------

constexpr std::array resident_kinds = {wasi_nn::Kind::models, wasi_nn::Kind::weights,
                                       wasi_nn::Kind::tables, wasi_nn::Kind::arenas,
                                       wasi_nn::Kind::tensors};

double ms_of(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

Json calls_json(const Activity::Calls& calls) {
  Json j;
  j["ok"] = calls.ok;
  j["timed_out"] = calls.timed_out;
  j["refused"] = calls.refused;
  j["failed"] = calls.failed;
  return j;
}

Json stats_json(const Figures& f) {
  Json j;
  j["graphs"] = f.used.graphs;
  j["contexts"] = f.used.contexts;
  for (const wasi_nn::Kind kind : resident_kinds) j["resident"][kind_name(kind)] = f.resident[kind];
  j["resident_bytes"] = f.used.resident_bytes;
  j["resident_bytes_peak"] = f.peak.resident_bytes;
  j["loads"] = calls_json(f.activity.loads);
  j["computes"] = calls_json(f.activity.computes);
  j["load_ms"] = ms_of(f.activity.load_time);
  j["compile_ms"] = ms_of(f.activity.compile_time);
  j["compute_ms"] = ms_of(f.activity.compute_time);
  return j;
}

std::string calls_text(const Activity::Calls& calls) {
  return cat(calls.ok, " ok, ", calls.timed_out, " timed out, ", calls.refused, " refused, ",
             calls.failed, " failed");
}

std::string stats_table(const Figures& f, const Console& console) {
  Table table({{"of the guest's tenant"}, {""}});
  table.add({"graphs, contexts at the most", cat(f.peak.graphs, ", ", f.peak.contexts)});
  table.add({"bytes at the most", bytes_text(static_cast<double>(f.peak.resident_bytes))});
  table.add({"bytes now", bytes_text(static_cast<double>(f.used.resident_bytes))});
  for (const wasi_nn::Kind kind : resident_kinds)
    table.add({cat("  ", kind_name(kind)), bytes_text(static_cast<double>(f.resident[kind]))});
  table.add({"loads", calls_text(f.activity.loads)});
  table.add({"computes", calls_text(f.activity.computes)});
  table.add({"processor time of loads", time_text(ms_of(f.activity.load_time))});
  table.add({"of compiling", time_text(ms_of(f.activity.compile_time))});
  table.add({"of computes", time_text(ms_of(f.activity.compute_time))});
  return table.text(console);
}

// The guest has the standard output, so that figures go to the error stream.
Status report_figures(const WasmArgs& args, const Tenant& tenant, const Console& console) {
  const Figures figures = tenant.figures();
  Console on_stderr = console;
  on_stderr.colour_out = console.colour_err;
  if (args.json) {
    std::fputs(cat(stats_json(figures).document(), "\n").c_str(), stderr);
  } else if (args.stats) {
    std::fputs(stats_table(figures, on_stderr).c_str(), stderr);
  }
  if (args.metrics.empty()) return {};
  const LabelledFigures labelled{std::filesystem::path(args.guest).filename().string(), figures};
  return write_whole_file(args.metrics, metrics_text({&labelled, 1}));
}

}  // namespace

Result<ExitCode> wasm_verb(const WasmArgs& args, const Console& console) {
  QUERN_ASSIGN(Config config, parse_limits(args.limits));
  QUERN_TRY(apply_options(args, config.options));
  if (args.log)
    config.options.log = [&console](std::string_view text) { console.note(shown(text, 400)); };
  QUERN_ASSIGN(const std::string module, read_file(args.guest));
  std::shared_ptr<Tenant> tenant;
  QUERN_TRY(as_status(create_tenant(config, &tenant), args.limits));
  QUERN_TRY(add_models(args, *tenant));

  std::vector<std::string> words = {std::filesystem::path(args.guest).filename().string()};
  words.insert(words.end(), args.arguments.begin(), args.arguments.end());
  wasm::Wasi wasi(words);
  QUERN_TRY(open_folders(args, wasi));
  const auto instance = Instance::create(tenant);
  const wasm::GuestEnd end = run_guest(module, *instance, wasi);
  QUERN_TRY(report_figures(args, *tenant, console));
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
