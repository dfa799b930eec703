// SPDX-License-Identifier: Apache-2.0
// The options of quern verify.
#include "engine/vocabulary/text_util.h"
#include "tools/dress/dress.h"
#include "tools/option_rows.h"

namespace quern::tools {
namespace {

// Which cases, and what is expected of them.
OptionRows case_rows(VerifyArgs& a) {
  return {
      {.names = "PATH", .help = "folders to search for cases", .target = &a.paths},
      {.names = "-d,--device", .value = "NAME", .help = "cpu or reference", .target = &a.device},
      {.names = "-t,--threads",
       .value = "LIST",
       .help = "thread counts, each in its own session: 1,2. By default all CPUs "
               "that the process may use",
       .target = &a.threads},
      ops_row(a.ops),
      {.names = "--filter",
       .value = "GLOB",
       .help = "only cases whose name matches: 'test_conv*'",
       .target = &a.filter},
      {.names = "--gaps",
       .value = "FILE",
       .help = "cases known not to pass: name, tab, reason. One that fails is skipped; one that "
               "passes fails the run until it is removed, so the list can only shrink",
       .target = &a.gaps},
      {.names = "--update-gaps",
       .help = "removes cases that pass from the list; writes a new one when there "
               "is no such file",
       .target = &a.update_gaps},
      {.names = "--index",
       .value = "FILE",
       .help = "criteria per model; by default index.json beside the case",
       .target = &a.index}};
}

std::string dress_help() {
  std::string text =
      "after a case has passed as it is, also in other dress, with the first data set: ";
  for (const Dress& d : dresses())
    text += cat(&d == dresses().data() ? "" : "; ", d.name, " (", d.sentence, ")");
  return text + ". By default none";
}

// How a case is run, and what is told of it.
OptionRows way_rows(VerifyArgs& a) {
  return {
      {.names = "--dress", .value = "NAME,...|all|none", .help = dress_help(), .target = &a.dress},
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
               "optimize=on|off, stripes=off|0..100, cache=BYTES, "
               "simd=avx512|avx2|dotprod|neon|baseline, rewritten=basic|all, "
               "entry=NAME (an implementation), threads=N, strategy=NAME. "
               "With --random also drawn (some for each model; the default) or all",
       .target = &a.levers}};
}

OptionRows random_rows(VerifyArgs& a) {
  return {{.names = "--random",
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
           .range = {{0, 1e6}}}};
}

OptionRows against_rows(VerifyArgs& a) {
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

}  // namespace

Verb verify_row(VerifyArgs& a) {
  Verb v{
      .name = "verify",
      .summary = "compare a model's outputs with expected ones",
      .about =
          "A case is a folder with model.onnx and test_data_set_0, ..., as in the ONNX backend "
          "tests; other folders are searched for cases. Every data set of a case runs in one "
          "session, set 0 once more at the end, which must give the same bits. A case that "
          "crashes or hangs fails alone.\n\n"
          "An element may differ by 1e-7 + 0.001 |wanted|, integers, types and shapes not at all; "
          "an index.json beside the case may say otherwise for its model.\n\n"
          "With --against there are no expected outputs: one model runs on two devices, and the "
          "first node where they part is named, with the difference and its kernel.\n\n"
          "--random makes up valid models of 20 to 60 nodes with inputs of one to three shapes "
          "and runs each in several ways, in processes of their own. Integers, and floats that "
          "no rounding has touched, must be equal to the reference's; the others may differ from "
          "the right answer in f64 by a bound that is derived from the operations. Where there "
          "is no bound they may differ from the reference by what a few units in the last place "
          "of the inputs do to them.\n\n"
          "The last line is always \"N passed, M failed, K skipped\".",
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
  append(v.options, case_rows(a));
  append(v.options, way_rows(a));
  append(v.options, random_rows(a));
  v.options.push_back(json_row(a.json));
  append(v.options, against_rows(a));
  append(v.options, input_rows(a.inputs));
  return v;
}

}  // namespace quern::tools
