// SPDX-License-Identifier: Apache-2.0
// The arguments of every verb as plain structs, and the one table of options: parsing, --help and
// the man page are read off it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <quern/status.h>

#include "tools/image.h"

namespace quern::tools {

struct DeviceArgs {
  std::string device = "cpu";
  int threads = 0;                  // 0: all that the process may use
  std::string thread_pool = "off";  // on: quern's own threads instead of OpenMP's
  std::string strategy;             // of memory; empty: the default
  std::string scratch = "on";
  std::string stripes = "on";
  std::string math = "f32";
  std::string denormals = "flush";
  std::string memory_limit;  // "256MB"; empty: none
  std::string arena_limit;
  std::vector<std::string> ops;  // shared objects with operators of the host
  bool tune = false;             // kernels are measured, where `tuning` does not know them
  std::string tuning;            // a file; empty: none, or the usual one with `tune`
};

// The sources of a model's inputs; see inputs.h.
struct InputArgs {
  std::string image;
  std::vector<std::string> inputs;  // NAME=FILE
  std::string data_set;
  std::vector<std::string> shapes;  // NAME=AxBxC
  std::vector<std::string> dims;    // SYMBOL=N
  std::uint64_t seed = 0;
  std::uint64_t most_bytes = std::uint64_t{4} << 30;  // of all that are generated
  ImageTexts preparation;
};

// The memory pool for allocations that no plan knows, and a trace of them.
struct PoolArgs {
  std::string pool;          // "" for the default
  std::string record_trace;  // a file; "" for none
};

struct RunArgs {
  std::string model;
  InputArgs inputs;
  DeviceArgs device;
  double time_limit_s = 0;  // 0: none
  PoolArgs pool;
  int top = 0;
  std::string labels;
  std::string outputs;
  std::string out;
  std::string format = "pb";
  bool json = false;
};

struct VerifyArgs {
  std::vector<std::string> paths;
  std::string device = "cpu";
  std::string threads;  // a list; "": all that the process may use
  std::string filter;
  std::string gaps;
  bool update_gaps = false;
  std::string index;
  std::string dress;  // a list; "": none
  // The folder for the smallest model that shows what was found; "": none.
  std::string write;
  // The model on two devices instead of expected outputs.
  std::string against;  // a device; "": no
  bool bisect = false;
  double rtol = 1e-3;
  double atol = 1e-7;
  double mtol = 1e-5;
  InputArgs inputs;
  double timeout_s = 120;
  int jobs = 1;
  std::string levers;  // of cases: "" as usual
  std::vector<std::string> ops;
  int random = 0;  // models to make up instead of cases
  std::string nodes = "20..60";
  double shrink_s = 120;
  bool verbose = false;
  bool json = false;
};

struct BenchArgs {
  std::string model;
  InputArgs inputs;
  DeviceArgs device;
  PoolArgs pool;
  int runs = 0;  // 0: as many as `time_s` allows
  double time_s = 2;
  int warmup = 3;
  bool cold = false;
  bool cold_sample = false;  // this process is one sample
  int inflight = 0;          // 0: one run at a time
  bool decode = false;       // tokens of a language model
  int past = 32;             // tokens in front of those
  int tokens = 32;           // of a round
  std::string compare;
  bool json = false;
};

struct CompileArgs {
  std::string model;
  std::string out;   // "": the model's name with .quern
  InputArgs inputs;  // shapes and dimensions; a dimension may be a list
  DeviceArgs device;
  bool is_portable = false;
  bool json = false;
};

struct QuantizeArgs {
  std::string model;
  std::string out;   // "": the model's name with .int8.onnx or the like
  std::string data;  // a folder, or the word random; "": none
  std::uint64_t samples = 100;
  double percentile = 100;
  bool weights_only = false;
  int bits = 8;
  int block = 32;
  std::vector<std::string> kept;  // names of nodes
  InputArgs inputs;
  DeviceArgs device;
  bool json = false;
};

struct OptimizeArgs {
  std::string model;
  std::string out;  // "": the model's name with .optimized.onnx
  std::string level = "all";
  std::uint64_t threshold = 64 << 10;                           // bytes of a folded constant
  std::uint64_t external_above = (std::uint64_t{1} << 31) - 1;  // bytes of the file
  bool unchecked = false;
  std::vector<std::string> skipped;  // passes
  int opset = 0;                     // 0: the model's
  bool by_node = false;
  InputArgs inputs;
  DeviceArgs device;
  bool json = false;
};

struct DiffArgs {
  std::vector<std::string> models;  // two
  std::uint64_t rows = 100;         // of the table
  bool json = false;
};

struct InspectArgs {
  std::string model;
  InputArgs inputs;
  DeviceArgs device;
  bool text = false;
  bool plan = false;
  bool operators = false;
  bool needs = false;
  std::string html;
  std::string profile;  // what `quern profile --json` wrote; "": none
  bool json = false;
};

struct ProfileArgs {
  std::string model;
  InputArgs inputs;
  DeviceArgs device;
  int runs = 20;
  int rows = 30;
  std::string trace;
  std::string html;
  bool json = false;
};

struct KernelArgs {
  std::vector<std::string> problems;  // lines; with `compare` two files, with `history` some
  std::string file;                   // of problem lines
  std::string from;                   // a model
  InputArgs inputs;                   // of that model
  std::string impl;                   // a list, "all"; "": what the engine chooses
  DeviceArgs device;                  // a list of devices
  bool cold = false;
  std::string between;  // bytes; "": with `from` and without `cold` those of a run, else none
  bool with_reorders = false;
  double time_s = 1;
  double precision = 0.5;  // percent
  std::uint64_t seed = 1;
  std::string powercap;  // a folder; "": the system's
  std::string save;
  std::string html;
  bool compare = false;
  bool history = false;
  double threshold = 2;  // percent
  std::string by = "processor";
  bool list = false;
  bool serve = false;  // this process is one contender of another
  bool json = false;
};

struct PlanArgs {
  std::string model;  // or a problem as CSV
  std::string strategy = "all";
  std::uint64_t capacity = 0;  // 0: any
  double time_limit = 1;       // seconds
  std::uint64_t align = 0;     // 0: as it is
  std::uint64_t assert_peak = 0;
  std::vector<std::string> banks;  // NAME=BYTES[:COST[:REUSE]]
  int in_flight = 1;
  bool frontier = false;
  std::string order = "on";
  std::string alias = "on";
  std::string svg;
  std::string html;
  std::string csv;
  std::string problem;
  std::string pools;       // for a trace; "": all
  std::string runs;        // shapes of runs, for lifetimes by shape
  std::uint64_t page = 0;  // of the system; 0: as small as blocks
  InputArgs inputs;
  DeviceArgs device{.device = ""};
  bool json = false;
};

struct WasmArgs {
  std::string guest;
  std::vector<std::string> models;   // NAME=FILE
  std::vector<std::string> folders;  // HOST::GUEST
  std::string target;                // "": where the guest says
  std::string gpu;                   // "": the best
  std::string limits;                // a list, or a .json file
  int threads = 0;
  bool any_encoding = false;
  bool guest_pictures = false;
  bool share_graphs = false;
  bool log = false;
  bool stats = false;
  bool json = false;    // of the figures of --stats
  std::string metrics;  // a file; "": none
  std::vector<std::string> arguments;
};

struct GenerateArgs {
  std::string folder;
  std::string file;  // the model, below the folder; "": as the folder says
  std::string prompt;
  std::string prompt_file;
  bool chat = false;
  std::string system;
  int max_tokens = 0;  // 0: as the folder says, else 256
  int context = 0;     // 0: as the folder says
  // Below 0: as the folder says.
  double temperature = -1;
  int top_k = -1;
  double top_p = -1;
  double min_p = -1;
  double repetition_penalty = -1;
  std::uint64_t seed = 0;
  std::vector<std::string> stop;
  bool special = false;
  DeviceArgs device;
  bool json = false;
};

struct DevicesArgs {
  bool json = false;
};

struct VersionArgs {
  bool json = false;
};

// One of each; the verb that was called has its own filled.
struct Arguments {
  RunArgs run;
  VerifyArgs verify;
  BenchArgs bench;
  CompileArgs compile;
  QuantizeArgs quantize;
  OptimizeArgs optimize;
  DiffArgs diff;
  InspectArgs inspect;
  ProfileArgs profile;
  KernelArgs kernel;
  PlanArgs plan;
  WasmArgs wasm;
  GenerateArgs generate;
  DevicesArgs devices;
  VersionArgs version;
};

struct OptionRow {
  using Target =
      std::variant<bool*, int*, double*, std::uint64_t*, std::string*, std::vector<std::string>*>;

  std::string names;  // "--top", "-t,--threads"; without a dash: a positional argument
  std::string value;  // "K"; empty: a switch
  std::string help;
  Target target;
  bool required = false;
  bool hidden = false;
  std::vector<std::string> choices;                // of a text; empty: any
  std::optional<std::pair<double, double>> range;  // of a number

  bool positional() const { return names.empty() || names[0] != '-'; }
};

struct Example {
  std::string command;
  std::string what;
};

struct Verb {
  std::string name;
  std::string program;  // what is typed to run it; empty: "quern NAME"
  std::string summary;  // one line
  std::string about;    // paragraphs, separated by empty lines
  std::vector<OptionRow> options;
  std::vector<Example> examples;
};

// The table; its rows point into `args`.
std::vector<Verb> make_verbs(Arguments& args);

// Fills the arguments of `verb` from what stands after it. Errors: invalid_argument.
Status parse_arguments(const Verb& verb, std::span<const std::string> words);

std::string overview_text(std::span<const Verb> verbs);
std::string help_text(const Verb& verb);
// roff, for man(7).
std::string man_page(std::span<const Verb> verbs, std::string_view version);
// A script for bash, zsh or fish that completes verbs, options and their values. Errors:
// invalid_argument, another shell.
Result<std::string> completion(std::span<const Verb> verbs, std::string_view shell);

struct ExitCodeRow {
  int code;
  std::string_view meaning;
};
std::span<const ExitCodeRow> exit_codes();

}  // namespace quern::tools
