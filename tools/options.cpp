// SPDX-License-Identifier: Apache-2.0
#include "tools/options.h"

#include <array>

#include "engine/vocabulary/text_util.h"
#include "tools/dress/dress.h"

namespace quern::tools {
namespace {

using Rows = std::vector<OptionRow>;

void append(Rows& rows, Rows more) {
  for (OptionRow& row : more) rows.push_back(std::move(row));
}

OptionRow optional_model_row(std::string& model) {
  return {.names = "MODEL", .help = "an .onnx file", .target = &model};
}

OptionRow model_row(std::string& model) {
  OptionRow row = optional_model_row(model);
  row.required = true;
  return row;
}

OptionRow json_row(bool& json) {
  return {.names = "--json", .help = "one JSON object on stdout instead of text", .target = &json};
}

Rows device_rows(DeviceArgs& a) {
  return {
      {.names = "-d,--device",
       .value = "NAME",
       .help =
           "cpu, or reference: every operator by its plainest loop (`quern devices` lists them)",
       .target = &a.device},
      {.names = "-t,--threads",
       .value = "N",
       .help = "threads of a run; by default all CPUs that the process may use",
       .target = &a.threads,
       .range = {{1, 1024}}}};
}

OptionRow strategy_row(DeviceArgs& a) {
  return {.names = "--strategy",
          .value = "NAME",
          .help =
              "how buffers are placed in memory (`quern plan` compares strategies); none for "
              "bisecting faults",
          .target = &a.strategy};
}

OptionRow switch_row(const char* name, const char* help, std::string& target) {
  return {
      .names = name, .value = "on|off", .help = help, .target = &target, .choices = {"on", "off"}};
}

OptionRow scratch_row(DeviceArgs& a) {
  return switch_row("--scratch",
                    "whether kernels may take memory to work in, where that makes them faster; by "
                    "default on",
                    a.scratch);
}

Rows pool_rows(PoolArgs& a) {
  return {{.names = "--pool",
           .value = "NAME",
           .help = "pool for what no plan knows: loops, and segments whose shapes depend on data "
                   "(`quern plan --pools help` lists them)",
           .target = &a.pool},
          {.names = "--record-trace",
           .value = "FILE",
           .help = "runs once more and appends to FILE, as CSV, what that run allocates if no "
                   "buffer is planned; `quern plan FILE` plays it to every pool",
           .target = &a.record_trace}};
}

Rows shape_rows(InputArgs& a) {
  return {{.names = "--shape",
           .value = "NAME=AxBxC",
           .help = "shape of a generated input whose dimensions are free; NAME= may be left out "
                   "when there is one "
                   "input. May be repeated",
           .target = &a.shapes},
          {.names = "--dim",
           .value = "SYMBOL=N",
           .help = "number for a named dimension (batch=4). May be repeated",
           .target = &a.dims},
          {.names = "--seed", .value = "S", .help = "seed of generated inputs", .target = &a.seed}};
}

Rows input_rows(InputArgs& a) {
  Rows rows = {{.names = "--input",
                .value = "NAME=FILE",
                .help = "an input from a .npy, .pb (TensorProto), .bin (raw elements), .png or "
                        ".jpg file, or one of the "
                        "words random, ones, zeros; NAME= may be left out when there is one input. "
                        "May be repeated",
                .target = &a.inputs},
               {.names = "--data-set",
                .value = "DIR",
                .help = "inputs from input_0.pb, input_1.pb, ... of an ONNX test_data_set folder",
                .target = &a.data_set}};
  append(rows, shape_rows(a));
  return rows;
}

Rows image_rows(InputArgs& a) {
  ImageTexts& t = a.preparation;
  return {{.names = "--image",
           .value = "FILE",
           .help = "a picture for the first input that takes one: resized (bilinear, antialiased "
                   "when it shrinks), "
                   "middle cut out; layout, channels and element type are read off the input",
           .target = &a.image},
          {.names = "--order",
           .value = "rgb|bgr",
           .help = "order of channels; by default rgb",
           .target = &t.order,
           .choices = {"rgb", "bgr"}},
          {.names = "--range",
           .value = "A..B",
           .help = "what black and white become: 0..1 (default of float inputs), 0..255 (of "
                   "integers), -1..1",
           .target = &t.range},
          {.names = "--mean",
           .value = "A,B,C",
           .help = "subtracted from each channel after --range",
           .target = &t.mean},
          {.names = "--std",
           .value = "A,B,C",
           .help = "what each channel is divided by after --mean",
           .target = &t.std},
          {.names = "--crop",
           .value = "SHARE",
           .help = "share of the picture's middle that is used; by default 0.875 with --top, as "
                   "classifiers are "
                   "trained, otherwise 1",
           .target = &t.crop}};
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
  v.options.push_back(strategy_row(a.device));
  v.options.push_back(scratch_row(a.device));
  append(v.options, pool_rows(a.pool));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern run squeezenet.onnx --image cat.png --order bgr --range 0..255 --top 5 --labels "
       "labels.txt",
       "classify a picture"},
      {"quern run model.onnx", "with generated inputs: does it run, how long does it take?"},
      {"quern run bert.onnx --dim batch=1 --dim sequence=64", "with free dimensions given by name"},
      {"quern run model.onnx --input x=x.npy --out results --format npy", "files in, files out"},
      {"for n in 57 198 68; do quern run bert.onnx --dim sequence=$n --record-trace bert.csv; done",
       "a trace of changing shapes, for `quern plan bert.csv`"}};
  return v;
}

std::string dress_help() {
  std::string text =
      "after a case has passed as it is, also in other dress, with the first data set: ";
  for (const Dress& d : dresses())
    text += cat(&d == dresses().data() ? "" : "; ", d.name, " (", d.sentence, ")");
  return text + ". By default none";
}

Rows against_rows(VerifyArgs& a) {
  return {{.names = "--against",
           .value = "NAME",
           .help = "no expected outputs: PATH is one model, which runs on --device and "
                   "on this device (reference runs it without rewrites); says at which "
                   "node they part first, and by how much",
           .target = &a.against},
          {.names = "--bisect",
           .help = "with --against: cuts the model down to the node, or to the fewest "
                   "nodes, that show the difference",
           .target = &a.bisect},
          {.names = "--write",
           .value = "DIR",
           .help = "with --bisect: writes that part there as a case, with its inputs "
                   "and what they should give; with --random: the smallest model that shows "
                   "the same as one that failed, in DIR/seed_S",
           .target = &a.write},
          {.names = "--rtol",
           .value = "X",
           .help = "with --against: relative part of what an element may differ by; by "
                   "default 0.001",
           .target = &a.rtol,
           .range = {{0, 1e9}}},
          {.names = "--atol",
           .value = "X",
           .help = "with --against: the absolute part; by default 1e-7",
           .target = &a.atol,
           .range = {{0, 1e30}}},
          {.names = "--mtol",
           .value = "X",
           .help = "with --against: and so much of the largest magnitude in the "
                   "tensor; by default 1e-5",
           .target = &a.mtol,
           .range = {{0, 1e9}}}};
}

Verb verify_row(VerifyArgs& a) {
  Verb v{
      .name = "verify",
      .summary = "compare a model's outputs with expected ones",
      .about =
          "A case is a folder with model.onnx and test_data_set_0, ..., as in the ONNX backend "
          "tests; other folders "
          "are searched for cases. Every data set of a case runs in one session, set 0 once "
          "more at the end, "
          "which must give the same bits. A case that crashes or hangs fails alone.\n\n"
          "An element may differ by 1e-7 + 0.001 |wanted|, integers, types and shapes not at "
          "all; an index.json "
          "beside the case may say otherwise for its model.\n\n"
          "With --against there are no expected outputs: one model runs on two devices, and the "
          "first node where they part is named, with the difference and its kernel.\n\n"
          "--random makes up valid models of 20 to 60 nodes with inputs of one to three shapes "
          "and runs each in several ways, in processes of their own. Integers, and floats that "
          "no rounding has touched, must be equal to the reference's; the others may differ from "
          "the right answer in f64 by a bound that is derived from the operations. Where there "
          "is no bound they may differ from the reference by what a few units in the last place "
          "of the inputs do to them.\n\n"
          "The last line is always "
          "\"N passed, M failed, K skipped\".",
      .options = {{.names = "PATH", .help = "folders to search for cases", .target = &a.paths},
                  {.names = "-d,--device",
                   .value = "NAME",
                   .help = "cpu or reference",
                   .target = &a.device},
                  {.names = "-t,--threads",
                   .value = "LIST",
                   .help = "thread counts, each in its own session: 1,2. By default all CPUs "
                           "that the process may use",
                   .target = &a.threads},
                  {.names = "--filter",
                   .value = "GLOB",
                   .help = "only cases whose name matches: 'test_conv*'",
                   .target = &a.filter},
                  {.names = "--gaps",
                   .value = "FILE",
                   .help = "cases known not to pass: name, tab, reason. One that fails is "
                           "skipped; one that passes "
                           "fails the run until it is removed, so the list can only shrink",
                   .target = &a.gaps},
                  {.names = "--update-gaps",
                   .help = "removes cases that pass from the list; writes a new one when there "
                           "is no such file",
                   .target = &a.update_gaps},
                  {.names = "--index",
                   .value = "FILE",
                   .help = "criteria per model; by default index.json beside the case",
                   .target = &a.index},
                  {.names = "--dress",
                   .value = "NAME,...|all|none",
                   .help = dress_help(),
                   .target = &a.dress},
                  {.names = "--timeout",
                   .value = "S",
                   .help = "seconds that a case may take; by default 120",
                   .target = &a.timeout_s,
                   .range = {{0.01, 1e6}}},
                  {.names = "-j,--jobs",
                   .value = "N",
                   .help = "cases at the same time; by default 1",
                   .target = &a.jobs,
                   .range = {{1, 256}}},
                  {.names = "--verbose",
                   .help = "the largest difference of every output",
                   .target = &a.verbose},
                  {.names = "--levers",
                   .value = "LIST",
                   .help = "another way to compute the same: onednn, scratch, order, alias, "
                           "optimize=on|off, simd=avx2|baseline, threads=N, strategy=NAME. With "
                           "--random also drawn (some for each model; the default) or all",
                   .target = &a.levers},
                  {.names = "--random",
                   .value = "N",
                   .help = "N made-up models instead of cases, held to the reference on the "
                           "graph without passes; the first is that of --seed S, the next that "
                           "of S + 1",
                   .target = &a.random,
                   .range = {{1, 1e9}}},
                  {.names = "--nodes",
                   .value = "A..B",
                   .help = "size of random models; by default 20..60",
                   .target = &a.nodes},
                  {.names = "--shrink-time",
                   .value = "S",
                   .help = "seconds for making one model smaller; by default 120",
                   .target = &a.shrink_s,
                   .range = {{0, 1e6}}},
                  json_row(a.json)},
      .examples = {
          {"quern verify models", "every case below models/"},
          {"quern verify models --threads 1,2 --filter '*conv*'",
           "some of them, with one and two threads"},
          {"quern verify onnx/data/node --gaps tests/gaps/node.txt -j 4",
           "against a list of known gaps"},
          {"quern verify models --dress all", "the same models told to the engine in other ways"},
          {"quern verify model.onnx --against reference --bisect --write part",
           "which node does a device get wrong?"},
          {"quern verify --random 1000 --seed 7 -j 2 --write found",
           "1,000 random models; what fails is made small"},
          {"quern verify --random 100 --device vulkan,validate", "the same on a GPU"},
          {"quern verify --random 1 --seed 12 --levers onednn=off,threads=2",
           "one of them again, in one way"}}};
  append(v.options, against_rows(a));
  append(v.options, input_rows(a.inputs));
  return v;
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
  append(v.options, {{.names = "-n,--runs",
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
                     {.names = "--compare",
                      .value = "OLD.json",
                      .help = "shows what changed against the output of an earlier bench --json",
                      .target = &a.compare}});
  append(v.options, input_rows(a.inputs));
  append(v.options, device_rows(a.device));
  v.options.push_back(strategy_row(a.device));
  v.options.push_back(scratch_row(a.device));
  append(v.options, pool_rows(a.pool));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern bench model.onnx --threads 1", "two seconds of runs on one thread"},
      {"quern bench model.onnx --shape 1x3x320x320 --runs 200",
       "another shape, a fixed number of runs"},
      {"quern bench model.onnx --json > before.json; quern bench model.onnx --compare before.json",
       "before and after a change"},
      {"quern bench model.onnx --cold", "what the first answer costs"}};
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
             "kernels."};
  v.options.push_back(optional_model_row(a.model));
  append(
      v.options,
      {{.names = "--text",
        .help = "the graph as text; with --plan: after the passes",
        .target = &a.text},
       {.names = "--plan", .help = "the kernels chosen, for the shapes given", .target = &a.plan},
       {.names = "--operators",
        .help = "no model: a Markdown table of all operators",
        .target = &a.operators,
        .hidden = true}});
  append(v.options, input_rows(a.inputs));
  append(v.options, device_rows(a.device));
  v.options.push_back(json_row(a.json));
  v.examples = {{"quern inspect model.onnx", "what is in it, and is it supported?"},
                {"quern inspect model.onnx --plan --shape 1x3x320x320", "which kernels run"},
                {"quern inspect model.onnx --text", "the graph"}};
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
  v.options.push_back(json_row(a.json));
  v.examples = {{"quern profile model.onnx --threads 1", "the slowest kernels"},
                {"quern profile model.onnx --html profile.html --trace trace.json",
                 "to look at in a browser"}};
  return v;
}

Rows trace_rows(PlanArgs& a) {
  return {{.names = "--pools",
           .value = "NAME",
           .help = "plays a trace, or a run of the model, to this pool or to all; --capacity "
                   "limits what a pool may reserve",
           .target = &a.pools},
          {.names = "--runs",
           .value = "FILE",
           .help = "CSV with the shape (or seq) of each run, for a CSV with buffers of each shape",
           .target = &a.runs},
          {.names = "--page",
           .value = "N",
           .help = "bytes of the system's pages under a pool; by default 64, so that only the "
                   "pool's own rules count",
           .target = &a.page}};
}

Verb plan_row(PlanArgs& a) {
  Verb v{.name = "plan",
         .summary = "compare placements of a model's buffers in memory",
         .about =
             "Places all intermediate results of a run in one arena, by each strategy, and shows "
             "what the arena takes against the lower bound (the most that is alive at one "
             "time), how long planning took and what is proven.\n\n"
             "Instead of a model it takes a problem as CSV in the format of MiniMalloc: "
             "id,lower,upper,size and, if wanted, alignment, gaps, offset. Buffers live in the "
             "steps [lower, upper).\n\n"
             "Or a trace of --record-trace (run,event,id,bytes,alignment): it is played to every "
             "pool, and what each reserves is shown against an arena that is planned for each run. "
             "Hit rate: allocations that did not ask the system. Rounding and between blocks: the "
             "shares of the blocks and of the reserved memory that were no request's, when most "
             "was reserved."};
  v.options.push_back({.names = "MODEL",
                       .help =
                           "an .onnx file, a .csv file with buffers or a trace, or "
                           "planted:BUFFERS:SEED[:DROP]: a problem whose optimum is known, 65536",
                       .target = &a.model,
                       .required = true});
  v.options.push_back({.names = "--strategy",
                       .value = "NAMES",
                       .help = "strategies, with commas between them; by default all. Also "
                               "exec:PROGRAM, which reads the buffers as CSV and writes them with "
                               "offsets, and so:FILE, a shared object (quern/c/strategy.h)",
                       .target = &a.strategy});
  v.options.push_back({.names = "--capacity",
                       .value = "B",
                       .help = "bytes that are there: any plan that fits will do, and exit code 1 "
                               "if none is found",
                       .target = &a.capacity});
  v.options.push_back({.names = "--time-limit",
                       .value = "S",
                       .help = "seconds for each strategy that searches; by default 1",
                       .target = &a.time_limit,
                       .range = {{0, 1e6}}});
  v.options.push_back({.names = "--align",
                       .value = "N",
                       .help = "alignment of every buffer, in bytes",
                       .target = &a.align});
  v.options.push_back({.names = "--inflight",
                       .value = "N",
                       .help = "runs that share the arena, each a number of steps behind the one "
                               "before: the number for which the bound is smallest",
                       .target = &a.in_flight,
                       .range = {{1, 64}}});
  v.options.push_back(switch_row("--order",
                                 "whether a model's kernels may run in another order than its "
                                 "own, where that lowers the bound; by default on",
                                 a.order));
  v.options.push_back(switch_row("--alias",
                                 "whether results are made in their place in a larger tensor, "
                                 "where that does not raise the bound; by default on",
                                 a.alias));
  v.options.push_back(scratch_row(a.device));
  v.options.push_back({.names = "--assert-peak",
                       .value = "B",
                       .help = "exit code 1 if the best plan takes more than B bytes",
                       .target = &a.assert_peak});
  v.options.push_back({.names = "--svg",
                       .value = "FILE",
                       .help = "a picture of the best plan, address by time",
                       .target = &a.svg});
  v.options.push_back({.names = "--html",
                       .value = "FILE",
                       .help = "a page with the pictures of all plans",
                       .target = &a.html});
  v.options.push_back({.names = "--csv",
                       .value = "FILE",
                       .help = "the buffers with their offsets in the best plan",
                       .target = &a.csv});
  v.options.push_back({.names = "--problem",
                       .value = "FILE",
                       .help = "the buffers as CSV without offsets, for other solvers",
                       .target = &a.problem});
  append(v.options, trace_rows(a));
  append(v.options, input_rows(a.inputs));
  v.options.push_back({.names = "-d,--device",
                       .value = "NAME",
                       .help = "cpu, vulkan, webgpu, opencl or page: offsets are aligned as it "
                               "needs them; a model is compiled for it where this machine has it",
                       .target = &a.device.device});
  v.options.push_back({.names = "-t,--threads",
                       .value = "N",
                       .help = "threads that a model is compiled for",
                       .target = &a.device.threads,
                       .range = {{1, 1024}}});
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern plan model.onnx", "every strategy"},
      {"quern plan model.onnx --dim batch=8 --strategy auto", "one strategy, another batch"},
      {"quern plan buffers.csv --capacity 1048576 --strategy exact --time-limit 10",
       "do these buffers fit?"},
      {"quern plan model.onnx --html plan.html", "to look at in a browser"},
      {"quern plan model.onnx --strategy greedy-by-size,exact --html two.html",
       "two plans and what they place differently"},
      {"quern plan model.onnx --inflight 2", "two runs at once, one behind the other"},
      {"quern plan model.onnx --order off --alias off", "what order and aliasing save"},
      {"quern plan model.onnx --scratch off", "what is left without the scratch of kernels"},
      {"quern plan planted:400:1 --time-limit 5", "a problem whose optimum is known"},
      {"quern plan buffers.csv --strategy auto,exec:./mine.py", "a strategy of your own"},
      {"quern plan trace.csv --pools all", "every pool beside a static plan for each run"},
      {"quern plan trace.csv --pools best-fit-arena --assert-peak 20000000",
       "exit code 1 if the pool reserves more"}};
  return v;
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
          "resident-bytes=N, parallel=N, deadline-ms=N and names-only.",
      .options = {{.names = "GUEST",
                   .help = "a .wasm file that exports _start and memory",
                   .target = &a.guest,
                   .required = true},
                  {.names = "ARGS",
                   .help = "arguments of the guest; after -- they may begin with a dash",
                   .target = &a.arguments},
                  {.names = "--model",
                   .value = "NAME=FILE",
                   .help = "an .onnx file that load_by_name finds. May be repeated",
                   .target = &a.models},
                  {.names = "--dir",
                   .value = "HOST::GUEST",
                   .help = "a folder whose files the guest may read, and its name there; without "
                           "::GUEST the same name. May be repeated",
                   .target = &a.folders},
                  {.names = "--target",
                   .value = "cpu|gpu|auto",
                   .help = "where models run, whatever the guest asks for; auto: on a discrete "
                           "GPU if there is one. By default where the guest says",
                   .target = &a.target,
                   .choices = {"cpu", "gpu", "auto"}},
                  {.names = "--gpu",
                   .value = "NAME",
                   .help = "the device of target gpu, as `quern devices` names it; by default "
                           "the best",
                   .target = &a.gpu},
                  {.names = "--limits",
                   .value = "LIST",
                   .help = "what the guest may use, see above",
                   .target = &a.limits},
                  {.names = "-t,--threads",
                   .value = "N",
                   .help = "threads of a compute; by default all CPUs that the process may use",
                   .target = &a.threads,
                   .range = {{1, 1024}}},
                  {.names = "--log",
                   .help = "the sentence of every call that is refused, on stderr",
                   .target = &a.log}},
      .examples = {
          {"quern wasm classify.wasm --dir pictures::. --model net=squeezenet.onnx -- "
           "net cat.ppm",
           "a guest with a folder to read and a named model"},
          {"quern wasm guest.wasm --limits contexts=2,deadline-ms=50,names-only", "with limits"}}};
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
  verbs.push_back(inspect_row(args.inspect));
  verbs.push_back(profile_row(args.profile));
  verbs.push_back(plan_row(args.plan));
  verbs.push_back(wasm_row(args.wasm));
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
