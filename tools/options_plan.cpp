// SPDX-License-Identifier: Apache-2.0
// The options of quern plan.
#include "tools/option_rows.h"

namespace quern::tools {
namespace {

// By what, and under which conditions, buffers are placed.
OptionRows placement_rows(PlanArgs& a) {
  return {{.names = "--strategy",
           .value = "NAMES",
           .help = "strategies, with commas between them; by default all. Also "
                   "exec:PROGRAM, which reads the buffers as CSV and writes them with "
                   "offsets, and so:FILE, a shared object (quern/c/strategy.h)",
           .target = &a.strategy},
          {.names = "--capacity",
           .value = "B",
           .help = "bytes that are there: any plan that fits will do, and exit code 1 "
                   "if none is found",
           .target = &a.capacity},
          {.names = "--time-limit",
           .value = "S",
           .help = "seconds for each strategy that searches; by default 1",
           .target = &a.time_limit,
           .range = {{0, 1e6}}},
          {.names = "--align",
           .value = "N",
           .help = "alignment of every buffer, in bytes",
           .target = &a.align},
          {.names = "--bank",
           .value = "NAME=BYTES[:COST[:REUSE]]",
           .help = "a memory of its own with so many bytes (64KiB; any), the cost of each byte of "
                   "a buffer that lies there, and the price of a buffer that takes bytes which "
                   "another held before. Of the plans that fit all banks the cheapest is wanted, "
                   "and of those the smallest. May be repeated",
           .target = &a.banks},
          {.names = "--inflight",
           .value = "N",
           .help = "runs that share the arena, each a number of steps behind the one "
                   "before: the number for which the bound is smallest",
           .target = &a.in_flight,
           .range = {{1, 64}}},
          {.names = "--frontier",
           .help = "instead of strategies, the time of a run over the bytes of its arena: of "
                   "whole tensors, and in stripes of rows within twenty limits",
           .target = &a.frontier}};
}

// Choices about a model's program before its buffers are placed.
OptionRows program_rows(PlanArgs& a) {
  return {switch_row("--order",
                     "whether a model's kernels may run in another order than its "
                     "own, where that lowers the bound; by default on",
                     a.order),
          switch_row("--alias",
                     "whether results are made in their place in a larger tensor, "
                     "where that does not raise the bound; by default on",
                     a.alias),
          scratch_row(a.device), stripes_row(a.device)};
}

// The files that are made of the best plan.
OptionRows result_rows(PlanArgs& a) {
  return {{.names = "--assert-peak",
           .value = "B",
           .help = "exit code 1 if the best plan takes more than B bytes",
           .target = &a.assert_peak},
          {.names = "--svg",
           .value = "FILE",
           .help = "a picture of the best plan, address by time",
           .target = &a.svg},
          {.names = "--html",
           .value = "FILE",
           .help = "a page with the pictures of all plans",
           .target = &a.html},
          {.names = "--csv",
           .value = "FILE",
           .help = "the buffers with their offsets in the best plan",
           .target = &a.csv},
          {.names = "--problem",
           .value = "FILE",
           .help = "the buffers as CSV without offsets, for other solvers",
           .target = &a.problem}};
}

OptionRows trace_rows(PlanArgs& a) {
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

OptionRows target_rows(DeviceArgs& a) {
  return {{.names = "-d,--device",
           .value = "NAME",
           .help = "cpu, vulkan, webgpu, opencl or page: offsets are aligned as it "
                   "needs them; a model is compiled for it where this machine has it",
           .target = &a.device},
          {.names = "-t,--threads",
           .value = "N",
           .help = "threads that a model is compiled for",
           .target = &a.threads,
           .range = {{1, 1024}}},
          ops_row(a.ops)};
}

}  // namespace

Verb plan_row(PlanArgs& a) {
  Verb v{.name = "plan",
         .summary = "compare placements of a model's buffers in memory",
         .about =
             "Places all intermediate results of a run in one arena, by each strategy, and shows "
             "what the arena takes against the lower bound (the most that is alive at one "
             "time), how long planning took and what is proven.\n\n"
             "Instead of a model it takes a problem as CSV in the format of MiniMalloc: "
             "id,lower,upper,size and, if wanted, alignment, gaps, offset. Buffers live in the "
             "steps [lower, upper). A table before it (bank,capacity,alignment,cost,reuse, then an "
             "empty line) gives memories of which each buffer lies in one: columns banks, "
             "separation and colocation say in which.\n\n"
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
  append(v.options, placement_rows(a));
  append(v.options, program_rows(a));
  append(v.options, result_rows(a));
  append(v.options, trace_rows(a));
  append(v.options, input_rows(a.inputs));
  append(v.options, target_rows(a.device));
  append(v.options, memory_limit_rows(a.device));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern plan model.onnx", "every strategy"},
      {"quern plan model.onnx --dim batch=8 --strategy auto", "one strategy, another batch"},
      {"quern plan buffers.csv --capacity 1048576 --strategy exact --time-limit 10",
       "do these buffers fit?"},
      {"quern plan model.onnx --html plan.html", "to look at in a browser"},
      {"quern plan model.onnx --strategy greedy-by-size,exact --html two.html",
       "two plans and what they place differently"},
      {"quern plan model.onnx --bank sram=512KiB:1 --bank psram=8MiB:4",
       "a small fast memory and a large slow one"},
      {"quern plan model.onnx --inflight 2", "two runs at once, one behind the other"},
      {"quern plan model.onnx --order off --alias off", "what order and aliasing save"},
      {"quern plan model.onnx --scratch off", "what is left without the scratch of kernels"},
      {"quern plan model.onnx --frontier --html frontier.html",
       "what a smaller arena costs in time"},
      {"quern plan planted:400:1 --time-limit 5", "a problem whose optimum is known"},
      {"quern plan buffers.csv --strategy auto,exec:./mine.py", "a strategy of your own"},
      {"quern plan trace.csv --pools all", "every pool beside a static plan for each run"},
      {"quern plan trace.csv --pools best-fit-arena --assert-peak 20000000",
       "exit code 1 if the pool reserves more"}};
  return v;
}

}  // namespace quern::tools
