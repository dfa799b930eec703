// SPDX-License-Identifier: Apache-2.0
#include "tools/options.h"

#include <array>
#include <utility>

#include "tools/option_rows.h"

namespace quern::tools {
namespace {

OptionRows image_rows(InputArgs& a) {
  OptionRows rows = {
      {.names = "--image",
       .value = "FILE",
       .help = "a picture for the first input that takes one: resized (bilinear, antialiased "
               "when it shrinks), "
               "middle cut out; layout, channels and element type are read off the input",
       .target = &a.image}};
  append(rows, preparation_rows(a));
  return rows;
}

Verb run_row(RunArgs& a) {
  Verb v{.name = "run",
         .summary = "run a model once and show its outputs",
         .about =
             "Inputs come from files, pictures or a data set; those that are not given are "
             "generated from --seed, "
             "and a note says so.\n\n"
             "How a picture is prepared can stand in the model: metadata_props quern.input.order, "
             ".range, .mean, "
             ".std, .crop, and labels (comma separated). Options win over them."};
  v.options.push_back(model_row(a.model));
  append(v.options, image_rows(a.inputs));
  append(v.options, input_rows(a.inputs));
  append(v.options,
         {{.names = "--top",
           .value = "K",
           .help = "the K greatest entries of the first output that holds class scores, as percent",
           .target = &a.top,
           .range = {{1, 1e6}}},
          {.names = "--labels",
           .value = "FILE",
           .help = "names of classes, one a line",
           .target = &a.labels},
          {.names = "--outputs",
           .value = "A,B",
           .help = "only these outputs are computed and shown",
           .target = &a.outputs},
          {.names = "--out",
           .value = "DIR",
           .help = "writes the outputs there as output_0.pb, ...",
           .target = &a.out},
          {.names = "--format",
           .value = "pb|npy",
           .help = "of --out; by default pb",
           .target = &a.format,
           .choices = {"pb", "npy"}}});
  append(v.options, device_rows(a.device));
  append(v.options, memory_limit_rows(a.device));
  v.options.push_back(strategy_row(a.device));
  v.options.push_back(thread_pool_row(a.device));
  v.options.push_back(math_row(a.device));
  v.options.push_back(denormals_row(a.device));
  append(v.options, tuning_rows(a.device));
  v.options.push_back(scratch_row(a.device));
  v.options.push_back(stripes_row(a.device));
  v.options.push_back(time_limit_row(a.time_limit_s));
  append(v.options, pool_rows(a.pool));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern run squeezenet.onnx --image cat.png --order bgr --range 0..255 --top 5 --labels "
       "labels.txt",
       "classify a picture"},
      {"quern run model.onnx", "with generated inputs: does it run, how long does it take?"},
      {"quern run bert.onnx --dim batch=1 --dim sequence=64", "with free dimensions given by name"},
      {"quern run model.onnx --input x=x.npy --out results --format npy", "files in, files out"},
      {"quern run stranger.onnx --memory-limit 256MB --time-limit 2", "a model from anywhere"},
      {"for n in 57 198 68; do quern run bert.onnx --dim sequence=$n --record-trace bert.csv; done",
       "a trace of changing shapes, for `quern plan bert.csv`"}};
  return v;
}

OptionRows timing_rows(BenchArgs& a) {
  return {{.names = "-n,--runs",
           .value = "N",
           .help = "runs to time; by default as many as --time allows",
           .target = &a.runs,
           .range = {{1, 1e7}}},
          {.names = "--time",
           .value = "S",
           .help = "seconds to run for; by default 2",
           .target = &a.time_s,
           .range = {{0.01, 1e5}}},
          {.names = "--warmup",
           .value = "N",
           .help = "runs that are not counted; by default 3",
           .target = &a.warmup,
           .range = {{0, 1e6}}},
          {.names = "--cold",
           .help = "a fresh process per sample: medians of each phase, the process's "
                   "start and end included "
                   "(11 samples unless --runs says otherwise)",
           .target = &a.cold},
          {.names = "--cold-sample",
           .help = "one sample of --cold",
           .target = &a.cold_sample,
           .hidden = true},
          {.names = "--inflight",
           .value = "N",
           .help = "runs a second of N runs at a time in one arena, beside N sessions "
                   "with an arena each and beside one, in turns; --time and --runs "
                   "are for each of the three",
           .target = &a.inflight,
           .range = {{1, 16}}},
          {.names = "--decode",
           .help = "tokens a second of a language model that goes on behind a past, one token "
                   "at a time, with a cache of keys and values",
           .target = &a.decode},
          {.names = "--past",
           .value = "N",
           .help = "with --decode, the tokens in front; by default 32",
           .target = &a.past,
           .range = {{0, 1e6}}},
          {.names = "--tokens",
           .value = "N",
           .help = "with --decode, the tokens behind them, in rounds; by default 32",
           .target = &a.tokens,
           .range = {{1, 1e6}}},
          {.names = "--compare",
           .value = "OLD.json",
           .help = "shows what changed against the output of an earlier bench --json",
           .target = &a.compare}};
}

Verb bench_row(BenchArgs& a) {
  Verb v{.name = "bench",
         .summary = "time a model",
         .about =
             "Reports load, compile, plan and first run, then the median, least, 90th and 99th "
             "percentile of repeated "
             "runs, memory, and GFLOP/s (a multiply-add counts two) against what this machine was "
             "measured to do "
             "at most in the same process.\n\n"
             "With --json the object has the form of Google Benchmark's, with our numbers beside."};
  v.options.push_back(model_row(a.model));
  append(v.options, timing_rows(a));
  append(v.options, input_rows(a.inputs));
  append(v.options, device_rows(a.device));
  append(v.options, memory_limit_rows(a.device));
  v.options.push_back(strategy_row(a.device));
  v.options.push_back(thread_pool_row(a.device));
  v.options.push_back(math_row(a.device));
  v.options.push_back(denormals_row(a.device));
  append(v.options, tuning_rows(a.device));
  v.options.push_back(scratch_row(a.device));
  v.options.push_back(stripes_row(a.device));
  append(v.options, pool_rows(a.pool));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern bench model.onnx --threads 1", "two seconds of runs on one thread"},
      {"quern bench model.onnx --shape 1x3x320x320 --runs 200",
       "another shape, a fixed number of runs"},
      {"quern bench model.onnx --json > before.json; quern bench model.onnx --compare before.json",
       "before and after a change"},
      {"quern bench model.onnx --cold", "what the first answer costs"},
      {"quern bench model.onnx --inflight 2 -t 1", "two runs at a time that share an arena"},
      {"quern bench decoder.onnx --decode --past 512 -t 1", "tokens a second behind 512"}};
  return v;
}

Verb compile_row(CompileArgs& a) {
  Verb v{
      .name = "compile",
      .summary = "write a model as a file that starts at once",
      .about =
          "The file holds the graph after all rewrites, plans for the shapes given and weights as "
          "kernels read them, so that loading neither rewrites, plans nor packs. Verbs that run a "
          "model "
          "take it in its place, and so do the libraries.\n\n"
          "It loads where it was made: for the same instructions, oneDNN and kind of device. With "
          "--portable it also holds all weights as the model has them, loads everywhere and for "
          "any shape, and compiles there where it does not fit."};
  v.options.push_back(model_row(a.model));
  append(v.options,
         {{.names = "-o,--out",
           .value = "FILE",
           .help = "the file to write; by default the model's name with .quern",
           .target = &a.out},
          {.names = "--portable",
           .help = "holds what is needed to compile it again, on another machine or for another "
                   "shape",
           .target = &a.is_portable}});
  append(v.options, shape_rows(a.inputs));
  append(v.options, device_rows(a.device));
  append(v.options, memory_limit_rows(a.device));
  v.options.push_back(strategy_row(a.device));
  v.options.push_back(math_row(a.device));
  v.options.push_back(denormals_row(a.device));
  v.options.push_back(tuning_rows(a.device)[1]);
  v.options.push_back(scratch_row(a.device));
  v.options.push_back(stripes_row(a.device));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern compile model.onnx -o model.quern; quern run model.quern", "one file, then a run"},
      {"quern compile model.onnx --dim batch=1,8", "a plan for each of two batches"},
      {"quern compile model.onnx --portable", "a file for other machines, too"},
      {"quern bench model.quern --cold", "what the first answer costs"}};
  return v;
}

Verb inspect_row(InspectArgs& a) {
  Verb v{.name = "inspect",
         .summary = "show what a model is and what would run",
         .about =
             "Metadata, inputs and outputs, operators and parameters; no weight is read. For a "
             "model that is refused, "
             "everything that is in the way, not just the first problem.\n\n"
             "With --plan: the kernel of every node, memory, and what falls back to reference "
             "kernels.\n\n"
             "With --html: the graph as a picture, before and after the passes, in a page that "
             "loads nothing from elsewhere. Nodes are coloured by family, or by time, FLOP, bytes "
             "and memory; groups, bodies and post-ops fold; / searches."};
  v.options.push_back(optional_model_row(a.model));
  append(
      v.options,
      {{.names = "--text",
        .help = "the graph as text; with --plan: after the passes",
        .target = &a.text},
       {.names = "--plan", .help = "the kernels chosen, for the shapes given", .target = &a.plan},
       {.names = "--html",
        .value = "FILE.html",
        .help = "writes a page with the graph, drawn",
        .target = &a.html},
       {.names = "--profile",
        .value = "FILE.json",
        .help = "with --html: times to colour nodes by, as `quern profile --json` prints them",
        .target = &a.profile},
       {.names = "--needs",
        .help = "the operators and types that a build for this model needs (QUERN_OPS_FROM)",
        .target = &a.needs},
       {.names = "--operators",
        .help = "no model: a Markdown table of all operators",
        .target = &a.operators,
        .hidden = true}});
  append(v.options, input_rows(a.inputs));
  append(v.options, device_rows(a.device));
  append(v.options, memory_limit_rows(a.device));
  v.options.push_back(json_row(a.json));
  v.examples = {{"quern inspect model.onnx", "what is in it, and is it supported?"},
                {"quern inspect model.onnx --plan --shape 1x3x320x320", "which kernels run"},
                {"quern inspect model.onnx --text", "the graph"},
                {"quern profile model.onnx --json > p.json; quern inspect model.onnx --html "
                 "graph.html --profile p.json",
                 "the graph, drawn, with the time of each node"}};
  return v;
}

Verb profile_row(ProfileArgs& a) {
  Verb v{.name = "profile",
         .summary = "show where the time goes",
         .about =
             "Medians over several runs: time, share, bytes (inputs, weights and outputs once), "
             "floating-point operations "
             "(a multiply-add counts two) and rates of every kernel, then by type of operator."};
  v.options.push_back(model_row(a.model));
  append(v.options,
         {{.names = "--trace",
           .value = "FILE.json",
           .help = "writes a timeline of one run in Chrome's format, for ui.perfetto.dev",
           .target = &a.trace},
          {.names = "--html",
           .value = "FILE.html",
           .help = "writes one page with a timeline, a sortable table and a roofline; it loads "
                   "nothing from elsewhere",
           .target = &a.html},
          {.names = "-n,--runs",
           .value = "N",
           .help = "runs to take medians of; by default 20",
           .target = &a.runs,
           .range = {{1, 1e5}}},
          {.names = "--rows",
           .value = "N",
           .help = "slowest kernels to list; by default 30, 0 for all",
           .target = &a.rows,
           .range = {{0, 1e6}}}});
  append(v.options, input_rows(a.inputs));
  append(v.options, device_rows(a.device));
  append(v.options, memory_limit_rows(a.device));
  v.options.push_back(thread_pool_row(a.device));
  v.options.push_back(math_row(a.device));
  v.options.push_back(denormals_row(a.device));
  append(v.options, tuning_rows(a.device));
  v.options.push_back(stripes_row(a.device));
  v.options.push_back(json_row(a.json));
  v.examples = {{"quern profile model.onnx --threads 1", "the slowest kernels"},
                {"quern profile model.onnx --html profile.html --trace trace.json",
                 "to look at in a browser"}};
  return v;
}

OptionRows wasm_rows(WasmArgs& a) {
  return {{.names = "GUEST",
           .help = "a .wasm file that exports _start and memory",
           .target = &a.guest,
           .required = true},
          {.names = "ARGS",
           .help = "arguments of the guest; after -- they may begin with a dash",
           .target = &a.arguments},
          {.names = "--model",
           .value = "NAME=FILE",
           .help = "an .onnx file, or a language model's folder, to find by name; repeatable",
           .target = &a.models},
          {.names = "--dir",
           .value = "HOST::GUEST",
           .help = "a folder that the guest may read, by this name or the same; repeatable",
           .target = &a.folders},
          {.names = "--target",
           .value = "cpu|gpu|auto",
           .help = "where models run, whatever the guest asks for; auto: on a discrete "
                   "GPU if there is one. By default where the guest says",
           .target = &a.target,
           .choices = {"cpu", "gpu", "auto"}},
          {.names = "--gpu",
           .value = "NAME",
           .help = "the device of target gpu, as `quern devices` names it; else the best",
           .target = &a.gpu},
          {.names = "--limits",
           .value = "LIST|FILE.json",
           .help = "what the guest may use, see above",
           .target = &a.limits},
          {.names = "-t,--threads",
           .value = "N",
           .help = "threads of a compute; by default all CPUs that the process may use",
           .target = &a.threads,
           .range = {{1, 1024}}},
          {.names = "--any-encoding",
           .help = "takes ONNX models whatever encoding the guest names",
           .target = &a.any_encoding},
          {.names = "--guest-pictures",
           .help = "models that the guest loads may decode pictures (ImageDecoder)",
           .target = &a.guest_pictures},
          {.names = "--share-graphs",
           .help = "models of the same bytes that the guest loads are one graph",
           .target = &a.share_graphs},
          {.names = "--log",
           .help = "the sentence of every call that is refused, on stderr",
           .target = &a.log},
          {.names = "--stats",
           .help = "bytes, calls and processor time of the guest's tenant, on stderr, when the "
                   "guest has ended",
           .target = &a.stats},
          {.names = "--json",
           .help = "the figures of --stats as one JSON object, on stderr",
           .target = &a.json},
          {.names = "--metrics",
           .value = "FILE",
           .help = "the same figures in the text format of Prometheus, with the name of GUEST as "
                   "the label tenant",
           .target = &a.metrics}};
}

Verb wasm_row(WasmArgs& a) {
  return {
      .name = "wasm",
      .summary = "run a WebAssembly guest that uses wasi-nn",
      .about =
          "The guest finds the functions of wasi_ephemeral_nn, those that the core module of a "
          "component imports of wasi:nn, and the part of WASI preview 1 that C and Rust programs "
          "need: arguments, standard streams, clocks, and files to be read in the folders of "
          "--dir. "
          "It runs in an interpreter, which is no sandbox for hostile programs; "
          "its exit status is that of the command.\n\n"
          "--limits takes a list of graphs=N, contexts=N, model-bytes=N, tensor-bytes=N, "
          "resident-bytes=N, parallel=N, deadline-ms=N and names-only; where it names "
          "neither, a guest has 16 graphs and 64 contexts. Or it takes a file of JSON, which also "
          "has threads, targets and models: docs/wasi-nn.md lists its keys.",
      .options = wasm_rows(a),
      .examples = {
          {"quern wasm classify.wasm --dir pictures::. --model net=squeezenet.onnx -- "
           "net cat.ppm",
           "a guest with a folder to read and a named model"},
          {"quern wasm guest.wasm --limits contexts=2,deadline-ms=50,names-only", "with limits"},
          {"quern wasm guest.wasm --limits tenant.json -t 1",
           "limits and models of a file, but one thread"},
          {"quern wasm guest.wasm --model net=net.onnx --stats --metrics guest.prom",
           "what it took"}}};
}

constexpr std::array exit_code_rows = {
    ExitCodeRow{0, "all went well"},
    ExitCodeRow{1, "a comparison failed, or a run did"},
    ExitCodeRow{2, "wrong usage: unknown option, no such file, an input that does not fit"},
    ExitCodeRow{3, "the model is refused: broken, or it needs something that is not supported"},
    ExitCodeRow{4, "no such device, or it was lost"},
};

}  // namespace

std::span<const ExitCodeRow> exit_codes() {
  return exit_code_rows;
}

std::vector<Verb> make_verbs(Arguments& args) {
  std::vector<Verb> verbs;
  verbs.push_back(run_row(args.run));
  verbs.push_back(verify_row(args.verify));
  verbs.push_back(bench_row(args.bench));
  verbs.push_back(compile_row(args.compile));
  verbs.push_back(optimize_row(args.optimize));
  verbs.push_back(quantize_row(args.quantize));
  verbs.push_back(inspect_row(args.inspect));
  verbs.push_back(diff_row(args.diff));
  verbs.push_back(profile_row(args.profile));
  verbs.push_back(kernel_row(args.kernel));
  verbs.push_back(plan_row(args.plan));
  verbs.push_back(wasm_row(args.wasm));
  verbs.push_back(generate_row(args.generate));
  verbs.push_back({.name = "devices",
                   .summary = "list devices",
                   .about = "What --device takes, and what this machine can do.",
                   .options = {json_row(args.devices.json)},
                   .examples = {{"quern devices", ""}}});
  verbs.push_back(
      {.name = "version",
       .summary = "print the version",
       .about =
           "The version, what the binary was built with, and the newest ONNX opset it understands.",
       .options = {json_row(args.version.json)},
       .examples = {{"quern version", ""}}});
  return verbs;
}

}  // namespace quern::tools
