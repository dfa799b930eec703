// SPDX-License-Identifier: Apache-2.0
// The options of quern diff.
#include "tools/option_rows.h"

namespace quern::tools {

Verb diff_row(DiffArgs& a) {
  return {
      .name = "diff",
      .summary = "what differs between two models",
      .about =
          "Inputs, outputs, opsets, metadata, constants by their elements, and nodes with their "
          "attributes and inputs. Nodes and constants are matched by their names, then by what "
          "they compute and hold, so that a renamed one is told from another. The files are "
          "compared as they are: operators need not be supported.\n\n"
          "The exit code is 0 where nothing differs and 1 where something does.",
      .options = {{.names = "MODEL",
                   .help = "two .onnx files, A and B",
                   .target = &a.models,
                   .required = true},
                  {.names = "--rows",
                   .value = "N",
                   .help = "the most differences of the table; by default 100",
                   .target = &a.rows,
                   .range = {{1, 1e9}}},
                  json_row(a.json)},
      .examples = {{"quern diff before.onnx after.onnx", ""},
                   {"quern diff model.onnx model.int8.onnx --json", "for a script"}}};
}

}  // namespace quern::tools
