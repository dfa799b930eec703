// SPDX-License-Identifier: Apache-2.0
// The options of quern quantize.
#include "tools/option_rows.h"

namespace quern::tools {
namespace {

OptionRows what_rows(QuantizeArgs& a) {
  return {{.names = "--data",
           .value = "DIR",
           .help = "pictures, .npy files or folders test_data_set_N, whose values tell the ranges; "
                   "the word random makes inputs up, which tell little",
           .target = &a.data},
          {.names = "--samples",
           .value = "N",
           .help = "files of it that are used, by name; by default 100",
           .target = &a.samples,
           .range = {{1, 1e6}}},
          {.names = "--percentile",
           .value = "P",
           .help = "the share of a value's elements that its range holds, the rest is cut off; by "
                   "default 100, all",
           .target = &a.percentile,
           .range = {{50, 100}}},
          {.names = "--weights-only",
           .help = "products stay in f32, and MatMul and Gemm keep their weights in few bits",
           .target = &a.weights_only},
          {.names = "--bits",
           .value = "4|8",
           .help = "bits of a weight, with --weights-only; by default 8",
           .target = &a.bits},
          {.names = "--block",
           .value = "N",
           .help = "weights that share a scale, with --weights-only: 16 to 256; by default 32",
           .target = &a.block},
          {.names = "--keep",
           .value = "NODE",
           .help = "a node that stays as it is. May be repeated",
           .target = &a.kept},
          {.names = "-t,--threads",
           .value = "N",
           .help = "threads of a run; by default all CPUs that the process may use",
           .target = &a.device.threads,
           .range = {{1, 1024}}}};
}

}  // namespace

Verb quantize_row(QuantizeArgs& a) {
  Verb v{.name = "quantize",
         .summary = "write a model whose products are those of 8-bit integers",
         .about =
             "Convolutions, MatMul and Gemm with constant weights get QuantizeLinear and "
             "DequantizeLinear around them: u8 for what they read, with the range that it has over "
             "--data, and i8 for weights, with a scale for each channel. Batch normalisations "
             "become part of the convolution before them. Other engines read the file, too.\n\n"
             "Afterwards both models run on the same data, and a table says how far the outputs "
             "are from those of the original: the cosine of the angle, and for scores of classes "
             "how often the best is the same. Nodes that lose too much are named with --keep."};
  v.options.push_back(model_row(a.model));
  v.options.push_back({.names = "-o,--out",
                       .value = "FILE",
                       .help = "the file to write; by default the model's name with .int8.onnx",
                       .target = &a.out});
  append(v.options, what_rows(a));
  append(v.options, shape_rows(a.inputs));
  append(v.options, preparation_rows(a.inputs));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern quantize model.onnx --data pictures --mean 0.485,0.456,0.406 --std "
       "0.229,0.224,0.225",
       "a classifier, by what it sees"},
      {"quern quantize model.onnx --data sets --percentile 99.99", "rare large values are cut off"},
      {"quern quantize decoder.onnx --weights-only --bits 4", "weights in 4 bits, without data"}};
  return v;
}

}  // namespace quern::tools
