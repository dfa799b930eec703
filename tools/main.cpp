// SPDX-License-Identifier: Apache-2.0
// The quern command: finds the verb, calls it, turns its error into a message and an exit code.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "tools/closest.h"
#include "tools/json.h"
#include "tools/options.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

using Call = Result<ExitCode> (*)(const Arguments&, const Console&);

constexpr std::array<std::pair<std::string_view, Call>, 15> commands = {{
    {"run", [](const Arguments& a, const Console& c) { return run_verb(a.run, c); }},
    {"verify", [](const Arguments& a, const Console& c) { return verify_verb(a.verify, c); }},
    {"bench", [](const Arguments& a, const Console& c) { return bench_verb(a.bench, c); }},
    {"compile", [](const Arguments& a, const Console& c) { return compile_verb(a.compile, c); }},
    {"optimize", [](const Arguments& a, const Console& c) { return optimize_verb(a.optimize, c); }},
    {"quantize", [](const Arguments& a, const Console& c) { return quantize_verb(a.quantize, c); }},
    {"inspect", [](const Arguments& a, const Console& c) { return inspect_verb(a.inspect, c); }},
    {"diff", [](const Arguments& a, const Console& c) { return diff_verb(a.diff, c); }},
    {"profile", [](const Arguments& a, const Console& c) { return profile_verb(a.profile, c); }},
    {"kernel", [](const Arguments& a, const Console& c) { return kernel_verb(a.kernel, c); }},
    {"plan", [](const Arguments& a, const Console& c) { return plan_verb(a.plan, c); }},
    {"wasm", [](const Arguments& a, const Console& c) { return wasm_verb(a.wasm, c); }},
    {"generate", [](const Arguments& a, const Console& c) { return generate_verb(a.generate, c); }},
    {"devices", [](const Arguments& a, const Console& c) { return devices_verb(a.devices, c); }},
    {"version", [](const Arguments& a, const Console& c) { return version_verb(a.version, c); }},
}};

ExitCode exit_code_of(Code code) {
  switch (code) {
    case Code::ok: return ExitCode::ok;
    case Code::invalid_argument:
    case Code::not_found: return ExitCode::usage;
    case Code::invalid_model:
    case Code::unsupported: return ExitCode::model;
    case Code::device_lost: return ExitCode::device;
    case Code::out_of_memory:
    case Code::busy:
    case Code::timed_out:
    case Code::internal: break;
  }
  return ExitCode::failed;
}

std::string hint_for(Code code, std::string_view verb) {
  switch (code) {
    case Code::invalid_argument:
      return cat("`quern ", verb,
                 " --help` explains the options, `quern inspect MODEL` shows what a model wants");
    case Code::unsupported:
    case Code::invalid_model: return "`quern inspect MODEL` lists everything that is in the way";
    case Code::device_lost: return "`quern devices` lists the devices of this machine";
    case Code::internal: return "this is a mistake of quern: please report it";
    default: return "";
  }
}

// The format of errors on stdout.
enum class Format : std::uint8_t { text, json };

ExitCode report(const Status& error, std::string_view verb, Format format, const Console& console) {
  const ExitCode exit = exit_code_of(error.code());
  if (format == Format::json) {
    Json j;
    j["error"] = error.message();
    j["code"] = code_name(error.code());
    j["exit_code"] = static_cast<int>(exit);
    print(j.document());
  }
  console.error(cat("quern ", verb, ": ", error.message()));
  if (const std::string hint = hint_for(error.code(), verb); !hint.empty()) console.note(hint);
  return exit;
}

bool asks_for_help(std::string_view word) {
  return word == "-h" || word == "--help";
}

// Words before the verb: nothing but help, the manual and completion. False: it is a verb.
Result<bool> run_global(const std::vector<std::string>& words, std::span<const Verb> verbs) {
  if (words[0] == "--man") {
    print(man_page(verbs, QUERN_VERSION));
  } else if (words[0] == "--completion") {
    QUERN_ASSIGN(const std::string script, completion(verbs, words.size() > 1 ? words[1] : ""));
    print(script);
  } else if (asks_for_help(words[0]) || (words[0] == "help" && words.size() == 1)) {
    print(overview_text(verbs));
  } else {
    return false;
  }
  return true;
}

ExitCode run_main(std::vector<std::string> words) {
  const Console console = Console::detect();
  Arguments args;
  const std::vector<Verb> verbs = make_verbs(args);
  if (words.empty()) {
    console.error(overview_text(verbs));
    return ExitCode::usage;
  }
  const auto done = run_global(words, verbs);
  if (!done) {
    console.error(cat("quern: ", done.error().message()));
    return ExitCode::usage;
  }
  if (*done) return ExitCode::ok;
  if (words[0] == "--version") words[0] = "version";
  if (words[0] == "help") words = {words[1], "--help"};
  const auto verb = std::ranges::find(verbs, words[0], &Verb::name);
  if (verb == verbs.end()) {
    std::vector<std::string_view> names;
    names.reserve(verbs.size());
    for (const Verb& v : verbs) names.push_back(v.name);
    console.error(cat("quern: no verb '", shown(words[0]), "'; `quern --help` lists them",
                      did_you_mean(words[0], names)));
    return ExitCode::usage;
  }
  const std::span<const std::string> rest = std::span(words).subspan(1);
  // Arguments after "--" are for a guest.
  const std::span<const std::string> own(rest.begin(), std::ranges::find(rest, "--"));
  if (std::ranges::any_of(own, asks_for_help)) {
    print(help_text(*verb));
    return ExitCode::ok;
  }
  const Format format = std::ranges::count(own, "--json") > 0 ? Format::json : Format::text;
  if (const Status status = parse_arguments(*verb, rest); !status.ok())
    return report(status, verb->name, format, console);
  const auto command =
      std::ranges::find(commands, verb->name, &std::pair<std::string_view, Call>::first);
  const auto result = command->second(args, console);
  return result ? *result : report(result.error(), verb->name, format, console);
}

// Whoever reads the output must not take a part for the whole.
bool is_output_written() {
  errno = 0;
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!is_written)
    std::fprintf(stderr, "quern: the output could not be written%s%s\n", errno ? ": " : "",
                 errno ? std::strerror(errno) : "");
  return is_written;
}

}  // namespace
}  // namespace quern::tools

int main(int argc, char** argv) {
  using namespace quern::tools;
  try {
    const ExitCode code = run_main({argv + 1, argv + argc});
    return static_cast<int>(is_output_written() ? code : ExitCode::failed);
  } catch (const std::bad_alloc&) {
    std::fputs("quern: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "quern: %s\n", e.what());
  }
  return static_cast<int>(ExitCode::failed);
}
