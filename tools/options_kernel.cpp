// SPDX-License-Identifier: Apache-2.0
// The options of quern kernel.
#include "tools/option_rows.h"

namespace quern::tools {
namespace {

// What is measured.
OptionRows problem_rows(KernelArgs& a) {
  return {{.names = "PROBLEM",
           .help = "a line such as 'conv:n1c64h56o64k3p1 f32 +relu' (in quotes, for its spaces); "
                   "with --compare two files of --save, with --history some",
           .target = &a.problems},
          {.names = "-f,--file",
           .value = "FILE",
           .help = "problems, one a line; # starts a comment",
           .target = &a.file},
          {.names = "--from",
           .value = "MODEL",
           .help = "every distinct kernel of a model, weighted by how often a run calls it; the "
                   "weighted sum stands beside the time of a run",
           .target = &a.from},
          {.names = "--list",
           .help = "prints the problems, sweeps written out, and measures nothing",
           .target = &a.list},
          {.names = "--serve",
           .help = "one contender of another process",
           .target = &a.serve,
           .hidden = true}};
}

// How it is measured.
OptionRows measurement_rows(KernelArgs& a) {
  return {{.names = "--impl",
           .value = "NAME,...|all",
           .help = "implementations of the CPU beside each other: all, or some by their names "
                   "(onednn, rows, reference, ...), with @avx2 or another level for fewer "
                   "instructions than the CPU has; by default the one that the engine chooses",
           .target = &a.impl},
          {.names = "--cold",
           .help = "before each call, memory is walked through until the caches hold nothing of "
                   "the kernel; how much that takes is measured and told",
           .target = &a.cold},
          {.names = "--between",
           .value = "BYTES",
           .help = "before the inputs of a call are written, so much other memory is read (40MB), "
                   "less what the call itself touches: what the other kernels of a model do to "
                   "caches; by default none, and with --from what a run touches",
           .target = &a.between},
          {.names = "--reorders",
           .help = "counts what brings operands from row-major memory into the kernel's layouts, "
                   "which in a model its neighbours mostly make needless",
           .target = &a.with_reorders},
          {.names = "--time",
           .value = "S",
           .help = "seconds for each kernel, at most; by default 1",
           .target = &a.time_s,
           .range = {{0.01, 1e5}}},
          {.names = "--precision",
           .value = "PERCENT",
           .help = "ends earlier where the median is known to within this; by default 0.5",
           .target = &a.precision,
           .range = {{0.001, 100}}},
          {.names = "--powercap",
           .value = "FOLDER",
           .help = "counters of the energy that the CPUs take, as Linux has them in "
                   "/sys/class/powercap, which is the default",
           .target = &a.powercap},
          {.names = "--seed",
           .value = "S",
           .help = "seed of numbers and of the order of turns; by default 1",
           .target = &a.seed}};
}

// What becomes of the results.
OptionRows result_rows(KernelArgs& a) {
  return {{.names = "--save",
           .value = "FILE.jsonl",
           .help = "writes every sample, with the machine and the versions, a line for each kernel",
           .target = &a.save},
          {.names = "--html",
           .value = "FILE.html",
           .help = "writes one page with a sortable table and a roofline; it loads nothing from "
                   "elsewhere",
           .target = &a.html},
          {.names = "--compare",
           .help = "compares two files of --save, the older one first, by a rank test; exit code 1 "
                   "where a kernel is slower",
           .target = &a.compare},
          {.names = "--history",
           .help = "shows a line for each kernel over many files of --save, in the order of their "
                   "dates; with --html a page of small pictures",
           .target = &a.history},
          {.names = "--threshold",
           .value = "PERCENT",
           .help = "a median that moved by less than this did not move; by default 2",
           .target = &a.threshold,
           .range = {{0, 1000}}},
          {.names = "--by",
           .value = "processor|wall",
           .help = "the time that --compare and --history look at; by default processor, which "
                   "others on the "
                   "machine disturb less",
           .target = &a.by,
           .choices = {"processor", "wall"}}};
}

OptionRows kernel_device_rows(KernelArgs& a) {
  OptionRows rows = device_rows(a.device);
  rows[0].value = "NAME,...";
  rows[0].help =
      "devices beside each other: cpu,vulkan:0 (`quern devices` lists them); by default cpu";
  return rows;
}

}  // namespace

Verb kernel_row(KernelArgs& a) {
  Verb v{.name = "kernel",
         .summary = "time single kernels, so that the figures can be believed",
         .about =
             "A problem is an operator with shapes, types and what follows it; docs/kernel-lab.md "
             "has the grammar. Kernels of one problem are called in turns, in an order that is "
             "drawn anew, until the interval of the median is narrow or their time is up.\n\n"
             "Inputs change from call to call, and the answer of each timed call is held to the "
             "right one within bounds that are derived from the operations. No time is told of a "
             "kernel that answers wrongly, writes to its inputs, leaves work to threads that are "
             "not counted, is another than it should be, or beats what this machine was measured "
             "to do at most. Exit code 1 says that there was one.\n\n"
             "A multiply-add counts two. The time is that of the kernel, without what a run adds."};
  append(v.options, problem_rows(a));
  append(v.options, measurement_rows(a));
  append(v.options, kernel_device_rows(a));
  v.options.push_back(math_row(a.device));
  v.options.push_back(denormals_row(a.device));
  v.options.push_back(thread_pool_row(a.device));
  append(v.options, result_rows(a));
  for (OptionRow& row : shape_rows(a.inputs))
    if (row.names != "--seed") v.options.push_back(std::move(row));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern kernel 'conv:n1c64h56o64k3p1 f32 bias +relu' --impl all -t 1",
       "oneDNN, kernels of our own and the reference beside each other"},
      {"quern kernel 'matmul:m128n1536k384 f32 m=1..128*2' --cold",
       "a sweep, from memory instead of caches"},
      {"quern kernel 'op:Softmax axis=-1 f32[8,1000]'", "any operator"},
      {"quern kernel --from model.onnx --dim batch=1 -t 1",
       "the kernels of a model, and whether they explain its time"},
      {"quern kernel -f shapes.txt --save before.jsonl; quern kernel --compare before.jsonl "
       "after.jsonl",
       "before and after a change"},
      {"quern kernel --history results/*.jsonl --html history.html", "over months"}};
  return v;
}

}  // namespace quern::tools
