// SPDX-License-Identifier: Apache-2.0
// The options of quern optimize.
#include "tools/option_rows.h"

namespace quern::tools {
namespace {

OptionRows what_rows(OptimizeArgs& a) {
  return {{.names = "--level",
           .value = "LEVEL",
           .help = "basic: what leaves every number as it is; all: also what rounds otherwise; by "
                   "default all",
           .target = &a.level,
           .choices = {"basic", "all"}},
          {.names = "--threshold",
           .value = "BYTES",
           .help = "the most that a constant may have that is computed ahead, unless what it is "
                   "computed of has more; by default 64 KiB",
           .target = &a.threshold},
          {.names = "--external-above",
           .value = "BYTES",
           .help = "a file that would be larger gets its constants in a second file beside it, "
                   "FILE.data; by default 2 GiB, which no ONNX file may pass",
           .target = &a.external_above,
           .range = {{0, 2147483647}}},
          {.names = "--skip",
           .value = "PASS",
           .help = "a pass that does not run, as --json names them. May be repeated",
           .target = &a.skipped},
          {.names = "--opset",
           .value = "N",
           .help = "the opset of ai.onnx to write: nodes that mean something else there get the "
                   "form that they have there; one that has none is an error that names it",
           .target = &a.opset,
           .range = {{1, 1000}}},
          {.names = "--by-node",
           .help = "says of each node of the model whether it was kept, rewritten, fused into "
                   "another, folded, replaced by a value or removed",
           .target = &a.by_node},
          {.names = "--unchecked",
           .help = "write without a run of both models, where no inputs can be made up",
           .target = &a.unchecked}};
}

}  // namespace

Verb optimize_row(OptimizeArgs& a) {
  Verb v{
      .name = "optimize",
      .summary = "write a model with fewer nodes that gives the same answers",
      .about =
          "Constants are folded, shapes that are known become numbers, and what moves or "
          "computes nothing, is computed twice or is read by nobody goes. With --level all batch "
          "norms and scales become part of the weights before them, and layer norms and "
          "activations that an exporter spelled out become one operator where the opset of the "
          "model has it; Gelu, FastGelu and QuickGelu are those of com.microsoft where it has "
          "not. Opset, inputs, outputs, metadata and the names of what stays are those of the "
          "original, so that other engines read the file; --opset writes another opset. --shape "
          "and --dim make free "
          "dimensions numbers.\n\n"
          "Both models then run on the same inputs, without any rewrite of this engine's own. "
          "The largest difference is stated, and nothing is written where the two do not "
          "agree. Inputs are generated, or those of --input and --data-set. Models that draw "
          "random "
          "numbers are held to their types alone."};
  v.options.push_back(model_row(a.model));
  v.options.push_back(
      {.names = "-o,--out",
       .value = "FILE",
       .help = "the file to write; by default the model's name with .optimized.onnx",
       .target = &a.out});
  append(v.options, what_rows(a));
  append(v.options, input_rows(a.inputs));
  append(v.options, device_rows(a.device));
  v.options.push_back(json_row(a.json));
  v.examples = {{"quern optimize model.onnx -o small.onnx", "everything"},
                {"quern optimize model.onnx --dim batch=1 --level basic",
                 "for one image at a time, with the same numbers"},
                {"quern optimize llm --external-above 0 -o llm/small.onnx",
                 "weights in a file of their own"}};
  return v;
}

}  // namespace quern::tools
