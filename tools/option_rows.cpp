// SPDX-License-Identifier: Apache-2.0
#include "tools/option_rows.h"

#include <utility>

namespace quern::tools {
OptionRows shape_rows(InputArgs& a) {
  return {{.names = "--shape",
           .value = "NAME=AxBxC",
           .help = "shape of a generated input whose dimensions are free; NAME= may be left out "
                   "when there is one input. May be repeated",
           .target = &a.shapes},
          {.names = "--dim",
           .value = "SYMBOL=N",
           .help = "number for a named dimension (batch=4). May be repeated",
           .target = &a.dims},
          {.names = "--seed", .value = "S", .help = "seed of generated inputs", .target = &a.seed}};
}

OptionRows preparation_rows(InputArgs& a) {
  ImageTexts& t = a.preparation;
  return {{.names = "--order",
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

void append(OptionRows& rows, OptionRows more) {
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

OptionRows device_rows(DeviceArgs& a) {
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
       .range = {{1, 1024}}},
      ops_row(a.ops)};
}

OptionRow ops_row(std::vector<std::string>& ops) {
  return {.names = "--ops",
          .value = "FILE.so",
          .help =
              "a shared object with operators of your own (docs/custom-operators.md), which "
              "runs in this process. May be repeated",
          .target = &ops};
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

OptionRow thread_pool_row(DeviceArgs& a) {
  return switch_row("--thread-pool",
                    "whether kernels run on a pool of threads of quern's own, which sessions can "
                    "share, instead of OpenMP's; by default off",
                    a.thread_pool);
}

OptionRow scratch_row(DeviceArgs& a) {
  return switch_row("--scratch",
                    "whether kernels may take memory to work in, where that makes them faster; by "
                    "default on",
                    a.scratch);
}

OptionRow stripes_row(DeviceArgs& a) {
  return switch_row("--stripes",
                    "whether plans of one thread may run kernels in stripes of rows, which stay in "
                    "the second-level cache, where that is estimated to be faster; by default on",
                    a.stripes);
}

OptionRow math_row(DeviceArgs& a) {
  return {
      .names = "--math",
      .value = "f32|bf16|bf16x3|auto",
      .help =
          "the precision of products of matrices on CPUs with units for bf16 (AMX): bf16 rounds "
          "their operands and results to 8 bits, bf16x3 takes three products of bf16 for one "
          "and keeps 16, auto is the fastest of those that keep 16 or more; elsewhere, and by "
          "default, f32",
      .target = &a.math,
      .choices = {"f32", "bf16", "bf16x3", "auto"}};
}

OptionRow denormals_row(DeviceArgs& a) {
  return {.names = "--denormals",
          .value = "flush|keep",
          .help =
              "whether numbers below 2^-126 count as 0 where the CPU multiplies and adds, which "
              "is tens of times as fast; by default flush",
          .target = &a.denormals,
          .choices = {"flush", "keep"}};
}

OptionRows tuning_rows(DeviceArgs& a) {
  return {
      {.names = "--tune",
       .help = "first measures the kernels that the operators have on the CPU, in this model, "
               "and keeps the fastest in the file of --tuning; what it knows is not measured "
               "again",
       .target = &a.tune},
      {.names = "--tuning",
       .value = "FILE",
       .help = "takes the kernels that were measured to be the fastest; with --tune, by default "
               "cpu-tuning.txt in quern's cache folder",
       .target = &a.tuning}};
}

OptionRows memory_limit_rows(DeviceArgs& a) {
  return {{.names = "--memory-limit",
           .value = "BYTES",
           .help = "what the weights with one arena may take, reading and compiling the model, "
                   "and generated inputs (else 4GiB); 256MB and 1GiB are understood",
           .target = &a.memory_limit},
          {.names = "--arena-limit",
           .value = "BYTES",
           .help = "what an arena may take. To meet either limit, kernels run in stripes of rows; "
                   "where no stripes do, an error that names the smallest arena",
           .target = &a.arena_limit}};
}

OptionRow time_limit_row(double& seconds) {
  return {.names = "--time-limit",
          .value = "SECONDS",
          .help = "an error, where reading, compiling, planning and the run take longer together",
          .target = &seconds,
          .range = {{0, 1e6}}};
}

OptionRows pool_rows(PoolArgs& a) {
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

OptionRows input_rows(InputArgs& a) {
  OptionRows rows = {
      {.names = "--input",
       .value = "NAME=FILE",
       .help = "an input from a .npy, .pb (TensorProto), .bin (raw elements), .png or .jpg file, "
               "or one of the words random, ones, zeros; NAME= may be left out when there is one "
               "input. May be repeated",
       .target = &a.inputs},
      {.names = "--data-set",
       .value = "DIR",
       .help = "inputs from input_0.pb, input_1.pb, ... of an ONNX test_data_set folder",
       .target = &a.data_set}};
  append(rows, shape_rows(a));
  return rows;
}

}  // namespace quern::tools
