// SPDX-License-Identifier: Apache-2.0
// Resampling, recurrent layers, data-dependent shapes, random numbers, spectra, strings, sequences.
#include <limits>

#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

const Message picture = tensor_type(f32, {1, 4, 8, 8});
const Message scales = tensor_type(f32, {4});
const Message other_scalar = tensor_type(f32, {});
const Message index = tensor_type(i64, {});

TEST(Resize, WithScalesOrSizes) {
  EXPECT_EQ(nodes_of({"Resize", {picture, {}, scales}}), "%2: f32[?,?,?,?] = Resize(%0, _, %1)\n");
  EXPECT_EQ(
      nodes_of({"Resize",
                {picture, {}, {}, tensor_type(i64, {4})},
                {word("mode", "cubic"), word("coordinate_transformation_mode", "align_corners"),
                 number("cubic_coeff_a", -0.5f), integer("exclude_outside", 1)}}),
      "%2: f32[?,?,?,?] = Resize(%0, _, _, %1) mode=cubic coordinates=align_corners "
      "cubic_coeff_a=-0.5 exclude_outside=true\n");
  EXPECT_EQ(nodes_of({.op = "Resize",
                      .types = {picture, {}, {}, tensor_type(i64, {2})},
                      .attributes = {word("mode", "linear"), integers("axes", {2, 3}),
                                     integer("antialias", 1),
                                     word("keep_aspect_ratio_policy", "not_larger")},
                      .version = 18}),
            "%2: f32[1,4,?,?] = Resize(%0, _, _, %1) mode=linear aspect=not_larger antialias=true "
            "axes=[2,3]\n");
  EXPECT_CONTAINS(nodes_of({"Resize", {picture}}), "wants either scales or sizes");
}

TEST(Resize, EmptyOperandsAreNone) {
  EXPECT_EQ(nodes_of({.op = "Resize",
                      .types = {picture, tensor_type(f32, {0}), scales, tensor_type(i64, {0})},
                      .version = 11,
                      .initializers = {tensor_header("x1", f32, {0})}}),
            "%3: f32[?,?,?,?] = Resize(%0, _, %1)\n");
}

TEST(Resize, RoiMattersForCroppingOnly) {
  const Message roi = tensor_type(f32, {8});
  EXPECT_CONTAINS(nodes_of({"Resize", {picture, roi, scales}}), "Resize(%0, _, %2)");
  EXPECT_CONTAINS(nodes_of({"Resize",
                            {picture, roi, scales},
                            {word("coordinate_transformation_mode", "tf_crop_and_resize"),
                             number("extrapolation_value", 1)}}),
                  "Resize(%0, %1, %2) coordinates=tf_crop_and_resize extrapolation_value=1");
}

TEST(Resize, BeforeOpset11ItIsAsymmetric) {
  EXPECT_EQ(
      nodes_of({"Resize", {picture, scales}, {word("mode", "linear")}, 10}),
      "%2: f32[?,?,?,?] = Resize(%0, _, %1) mode=linear coordinates=asymmetric nearest=floor\n");
  EXPECT_EQ(nodes_of({.op = "Resize",
                      .types = {picture, scales},
                      .version = 10,
                      .initializers = {floats("x1", {4}, {1, 1, 0.5f, 0.5f})}}),
            "const %1: f32[4] = {1, 1, 0.5, 0.5}\n"
            "%2: f32[1,4,4,4] = Resize(%0, _, %1) coordinates=asymmetric nearest=ceil\n");
  EXPECT_EQ(nodes_of({.op = "Resize",
                      .types = {picture, scales},
                      .version = 10,
                      .initializers = {floats("x1", {4}, {1, 1, 0.5f, 2})}}),
            "const %1: f32[4] = {1, 1, 0.5, 2}\n"
            "%2: f32[1,4,4,16] = Resize(%0, _, %1) coordinates=asymmetric nearest=floor\n");
  EXPECT_EQ(nodes_of({"Upsample", {picture, scales}, {}, 9}),
            "%2: f32[?,?,?,?] = Resize(%0, _, %1) coordinates=asymmetric nearest=floor\n");
  EXPECT_EQ(nodes_of({"Upsample", {picture}, {numbers("scales", {1, 1, 2, 2})}, 7}),
            "const %1: f32[4] = {1, 1, 2, 2}\n"
            "%2: f32[1,4,16,16] = Resize(%0, _, %1) coordinates=asymmetric nearest=floor\n");
  EXPECT_EQ(
      nodes_of({"Upsample",
                {picture},
                {number("height_scale", 2), number("width_scale", 3), word("mode", "bilinear")},
                1}),
      "const %1: f32[4] = {1, 1, 2, 3}\n"
      "%2: f32[1,4,16,24] = Resize(%0, _, %1) mode=linear coordinates=asymmetric nearest=floor\n");
}

TEST(Sampling, Grids) {
  const Message grid = tensor_type(f32, {1, 2, 2, 2});
  EXPECT_EQ(nodes_of({"GridSample",
                      {picture, grid},
                      {word("mode", "bicubic"), word("padding_mode", "border"),
                       integer("align_corners", 1)}}),
            "%2: f32[1,4,2,2] = GridSample(%0, %1) mode=cubic padding=border align_corners=true\n");
  EXPECT_EQ(nodes_of({.op = "GridSample",
                      .types = {picture, grid},
                      .attributes = {word("mode", "cubic")},
                      .version = 20}),
            "%2: f32[1,4,2,2] = GridSample(%0, %1) mode=cubic\n");
  EXPECT_EQ(nodes_of({.op = "AffineGrid",
                      .types = {tensor_type(f32, {1, 2, 3}), tensor_type(i64, {4})},
                      .version = 20}),
            "%2: f32[1,?,?,2] = AffineGrid(%0, %1)\n");
}

const Message sequence = tensor_type(f32, {5, 2, 3});

TEST(Recurrent, DefaultsAreSpelledOut) {
  EXPECT_EQ(
      nodes_of({.op = "LSTM",
                .types = {sequence, tensor_type(f32, {1, 16, 3}), tensor_type(f32, {1, 16, 4})},
                .outputs = 3}),
      "%3: f32[5,1,2,4], %4: f32[1,2,4], %5: f32[1,2,4] = Rnn(%0, %1, %2) kind=lstm hidden_size=4 "
      "activations=[sigmoid,tanh,tanh]\n");
  EXPECT_EQ(nodes_of({"GRU",
                      {sequence, tensor_type(f32, {2, 12, 3}), tensor_type(f32, {2, 12, 4})},
                      {word("direction", "bidirectional"), integer("linear_before_reset", 1),
                       integer("hidden_size", 4)}}),
            "%3: f32[5,2,2,4] = Rnn(%0, %1, %2) kind=gru direction=bidirectional hidden_size=4 "
            "activations=[sigmoid,tanh,sigmoid,tanh] linear_before_reset=true\n");
  EXPECT_EQ(nodes_of({"RNN",
                      {sequence, tensor_type(f32, {1, 4, 3}), tensor_type(f32, {1, 4, 4})},
                      {words("activations", {"Relu", "Tanh"}), number("clip", 2),
                       word("direction", "reverse")}}),
            "%3: f32[5,1,2,4] = Rnn(%0, %1, %2) kind=rnn direction=reverse hidden_size=4 "
            "activations=[relu] clip=2\n");
}

TEST(Recurrent, ParametersGoToTheActivationsThatTakeThem) {
  EXPECT_CONTAINS(nodes_of({"LSTM",
                            {sequence, tensor_type(f32, {1, 16, 3}), tensor_type(f32, {1, 16, 4})},
                            {words("activations", {"HardSigmoid", "Tanh", "LEAKYRELU"}),
                             numbers("activation_alpha", {0.25f, 0.125f}),
                             numbers("activation_beta", {0.75f})}}),
                  "activations=[hard_sigmoid(0.25,0.75),tanh,leaky_relu(0.125,0)]");
  EXPECT_CONTAINS(
      nodes_of({"RNN",
                {sequence, tensor_type(f32, {1, 4, 3}), tensor_type(f32, {1, 4, 4})},
                {words("activations", {"ScaledTanh"}), numbers("activation_alpha", {2})}}),
      "activations=[scaled_tanh(2,1)]");
  EXPECT_CONTAINS(nodes_of({"RNN",
                            {sequence, tensor_type(f32, {1, 4, 3}), tensor_type(f32, {1, 4, 4})},
                            {words("activations", {"Sine"})}}),
                  "activation 'Sine' is not supported");
}

TEST(Recurrent, InputsAndOutputsMayBeLeftOut) {
  EXPECT_EQ(body_of(imported(make_model(
                GraphParts{.nodes = {node("LSTM", {"x", "w", "r", "", "", "h"}, {"", "", "c"},
                                          {integer("layout", 1)})},
                           .inputs = {value("x", f32, {2, 5, 3}), value("w", f32, {1, 16, 3}),
                                      value("r", f32, {1, 16, 4}), value("h", f32, {2, 1, 4})},
                           .outputs = {Message().text(1, "c")}}))),
            "");
}

TEST(DataDependent, Operators) {
  const Message x = tensor_type(f32, {2, 6});
  EXPECT_EQ(nodes_of({.op = "TopK",
                      .types = {x, tensor_type(i64, {1})},
                      .attributes = {integer("largest", 0)},
                      .outputs = 2}),
            "%2: f32[2,?], %3: i64[2,?] = TopK(%0, %1) largest=false\n");
  EXPECT_EQ(nodes_of({.op = "TopK",
                      .types = {x},
                      .attributes = {integer("k", 3)},
                      .version = 1,
                      .outputs = 2}),
            "const %1: i64[1] = {3}\n"
            "%2: f32[2,3], %3: i64[2,3] = TopK(%0, %1)\n");
  EXPECT_EQ(nodes_of({"TopK", {x, tensor_type(i64, {1})}}), "%2: f32[2,?] = TopK(%0, %1)\n");
  EXPECT_EQ(nodes_of({"NonZero", {x}}), "%1: i64[2,?] = NonZero(%0)\n");
  EXPECT_EQ(nodes_of({.op = "Unique",
                      .types = {x},
                      .attributes = {integer("axis", 1), integer("sorted", 0)},
                      .outputs = 4}),
            "%1: f32[2,?], %2: i64[?], %3: i64[6], %4: i64[?] = Unique(%0) axis=1 sorted=false\n");
  EXPECT_EQ(nodes_of({"Compress", {x, tensor_type(boolean, {6})}, {integer("axis", 1)}}),
            "%2: f32[2,?] = Compress(%0, %1) axis=1\n");
  EXPECT_EQ(nodes_of({"NonMaxSuppression",
                      {tensor_type(f32, {1, 6, 4}), tensor_type(f32, {1, 1, 6}), {}, other_scalar},
                      {integer("center_point_box", 1)}}),
            "%3: i64[?,3] = NonMaxSuppression(%0, %1, _, %2) center_point_box=true\n");
}

TEST(RandomOps, ShapesFromAttributesOrInputs) {
  EXPECT_EQ(
      nodes_of({.op = "RandomNormal",
                .attributes = {integers("shape", {2, 3}), number("mean", 1), number("seed", 1)}}),
      "const %0: i64[2] = {2, 3}\n"
      "%1: f32[2,3] = Random(%0) kind=normal generator=mersenne low_or_mean=1 seed=1\n");
  EXPECT_EQ(
      nodes_of({.op = "RandomUniform",
                .attributes = {integers("shape", {2}), integer("dtype", 11), number("high", 5)}}),
      "const %0: i64[1] = {2}\n"
      "%1: f64[2] = Random(%0) kind=uniform dtype=f64 high_or_scale=5 seed=1\n");
  EXPECT_EQ(nodes_of({"RandomNormalLike", {scales}}),
            "const %1: i64[1] = {4}\n"
            "%2: f32[4] = Random(%1) kind=normal seed=1\n");
  EXPECT_EQ(
      nodes_of(
          {"RandomUniformLike", {tensor_type(i64, {2})}, {integer("dtype", 1), number("low", -1)}}),
      "const %1: i64[1] = {2}\n"
      "%2: f32[2] = Random(%1) kind=uniform low_or_mean=-1 seed=1\n");
  EXPECT_EQ(nodes_of({"Bernoulli", {scales}, {integer("dtype", 9)}}),
            "const %1: i64[1] = {4}\n"
            "%2: f32[4] = Random(%1) kind=uniform seed=1\n"
            "%3: bool[4] = Binary(%2, %0) kind=less\n"
            "%4: bool[4] = Cast(%3) to=bool\n");
  EXPECT_EQ(nodes_of({"Bernoulli", {scales}, {number("seed", 4.5f)}}),
            "const %1: i64[1] = {4}\n"
            "%2: f64[4] = Random(%1) kind=uniform generator=mersenne dtype=f64 seed=4\n"
            "%3: f64[4] = Cast(%0) to=f64\n"
            "const %4: f64[] = {1}\n"
            "%5: f64[4] = Binary(%4, %3) kind=sub\n"
            "const %6: f64[] = {0.5}\n"
            "%7: bool[4] = Binary(%3, %6) kind=less_equal\n"
            "%8: bool[4] = Binary(%2, %5) kind=greater\n"
            "%9: bool[4] = Binary(%2, %3) kind=less_equal\n"
            "%10: bool[4] = Where(%7, %8, %9)\n"
            "%11: f32[4] = Cast(%10)\n");
  EXPECT_EQ(nodes_of({"Multinomial",
                      {tensor_type(f32, {2, 3})},
                      {integer("sample_size", 4), integer("dtype", 7)}}),
            "%1: i64[2,4] = Multinomial(%0) dtype=i64 sample_size=4 seed=1\n");
  EXPECT_CONTAINS(nodes_of({.op = "RandomNormal"}), "'shape' is missing");
}

// Our own generator draws where NumPy's takes no such seed.
TEST(RandomOps, SeedsThatTheReferenceRefuses) {
  for (const float seed : {-1.0f, 0x1p32f, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_EQ(nodes_of({"RandomNormalLike", {scales}, {number("seed", seed)}}).find("mersenne"),
              std::string::npos)
        << seed;
  EXPECT_CONTAINS(nodes_of({"RandomNormalLike", {scales}, {number("seed", -0.5f)}}),
                  "generator=mersenne");
}

TEST(RandomOps, SeedsDifferFromNodeToNodeAndNotFromImportToImport) {
  const std::string model =
      make_model(GraphParts{.nodes = {node("RandomNormal", {}, {"a"}, {integers("shape", {2})}),
                                      node("RandomNormal", {}, {"b"}, {integers("shape", {2})})},
                            .outputs = {Message().text(1, "a"), Message().text(1, "b")}});
  const std::string text = imported(model);
  EXPECT_CONTAINS(text, "seed=1\n");
  EXPECT_CONTAINS(text, "seed=2\n");
  EXPECT_EQ(imported(model), text);
}

TEST(Spectral, Transforms) {
  const Message signal = tensor_type(f32, {1, 16, 1});
  EXPECT_EQ(nodes_of({"DFT", {signal, index}, {integer("axis", 1), integer("onesided", 1)}}),
            "const %2: i64[] = {1}\n"
            "%3: f32[1,?,2] = Dft(%0, %1, %2) onesided=true\n");
  EXPECT_EQ(nodes_of({.op = "DFT",
                      .types = {signal, {}, index},
                      .attributes = {integer("inverse", 1)},
                      .version = 20}),
            "%2: f32[?,?,2] = Dft(%0, _, %1) inverse=true\n");
  EXPECT_EQ(nodes_of({"STFT", {signal, index, tensor_type(f32, {4})}, {integer("onesided", 0)}}),
            "%3: f32[1,?,4,2] = Stft(%0, %1, %2) onesided=false\n");
  EXPECT_EQ(nodes_of({"MelWeightMatrix", {index, index, index, other_scalar, other_scalar}}),
            "%5: f32[?,?] = MelWeightMatrix(%0, %1, %2, %3, %4)\n");
}

TEST(Spectral, Windows) {
  EXPECT_EQ(nodes_of({"HannWindow", {index}}),
            "const %1: i64[0] = {}\n"
            "%2: i64[] = Reshape(%0, %1)\n"
            "const %3: i64[] = {0}\n"
            "const %4: i64[] = {1}\n"
            "%5: i64[?] = Range(%3, %2, %4)\n"
            "%6: f64[?] = Cast(%5) to=f64\n"
            "%7: f64[] = Cast(%2) to=f64\n"
            "const %8: f64[] = {0}\n"
            "%9: f64[] = Binary(%7, %8) kind=add\n"
            "const %10: f64[] = {6.283185307179586}\n"
            "%11: f64[?] = Binary(%6, %10) kind=mul\n"
            "%12: f64[?] = Binary(%11, %9) kind=div\n"
            "%13: f64[?] = Unary(%12) kind=cos\n"
            "const %14: f64[] = {0.5}\n"
            "%15: f64[?] = Binary(%13, %14) kind=mul\n"
            "const %16: f64[] = {0.5}\n"
            "%17: f64[?] = Binary(%16, %15) kind=sub\n"
            "%18: f32[?] = Cast(%17)\n");
  EXPECT_EQ(nodes_of({"BlackmanWindow",
                      {tensor_type(i32, {})},
                      {integer("periodic", 0), integer("output_datatype", 11)}}),
            "%1: i64[] = Cast(%0) to=i64\n"
            "const %2: i64[0] = {}\n"
            "%3: i64[] = Reshape(%1, %2)\n"
            "const %4: i64[] = {0}\n"
            "const %5: i64[] = {1}\n"
            "%6: i64[?] = Range(%4, %3, %5)\n"
            "%7: f64[?] = Cast(%6) to=f64\n"
            "%8: f64[] = Cast(%3) to=f64\n"
            "const %9: f64[] = {-1}\n"
            "%10: f64[] = Binary(%8, %9) kind=add\n"
            "const %11: f64[] = {6.283185307179586}\n"
            "%12: f64[?] = Binary(%7, %11) kind=mul\n"
            "%13: f64[?] = Binary(%12, %10) kind=div\n"
            "%14: f64[?] = Unary(%13) kind=cos\n"
            "const %15: f64[] = {0.5}\n"
            "%16: f64[?] = Binary(%14, %15) kind=mul\n"
            "const %17: f64[] = {0.42}\n"
            "%18: f64[?] = Binary(%17, %16) kind=sub\n"
            "const %19: f64[] = {2}\n"
            "%20: f64[?] = Binary(%13, %19) kind=mul\n"
            "%21: f64[?] = Unary(%20) kind=cos\n"
            "const %22: f64[] = {0.08}\n"
            "%23: f64[?] = Binary(%21, %22) kind=mul\n"
            "%24: f64[?] = Binary(%18, %23) kind=add\n");
  EXPECT_CONTAINS(nodes_of({"HammingWindow", {index}}), "f64[] = {0.5434782608695652}");
}

TEST(Strings, Operators) {
  const Message words_in = tensor_type(onnx_test::text, {3});
  EXPECT_EQ(nodes_of({"StringNormalizer",
                      {words_in},
                      {word("case_change_action", "LOWER"), words("stopwords", {"a"}),
                       word("locale", "en_US")}}),
            "%1: string[?] = StringNormalizer(%0) case_change=lower stopwords=[\"a\"]\n");
  EXPECT_EQ(
      nodes_of({"TfIdfVectorizer",
                {tensor_type(i64, {4})},
                {word("mode", "TF"), integer("min_gram_length", 1), integer("max_gram_length", 1),
                 integer("max_skip_count", 0), integers("ngram_counts", {0}),
                 integers("ngram_indexes", {0, 1}), integers("pool_int64s", {5, 6})}}),
      "%1: f32[2] = TfIdfVectorizer(%0) ngram_counts=[0] ngram_indexes=[0,1] pool_int64s=[5,6]\n");
  EXPECT_EQ(nodes_of({.op = "StringConcat", .types = {words_in, words_in}, .version = 20}),
            "%2: string[3] = StringConcat(%0, %1)\n");
  EXPECT_EQ(nodes_of({.op = "StringSplit",
                      .types = {words_in},
                      .attributes = {word("delimiter", ","), integer("maxsplit", 2)},
                      .version = 20}),
            "%1: i64[3] = StringPartCount(%0) delimiter=\",\" max_splits=2\n"
            "const %2: i64[1] = {-1}\n"
            "%3: i64[3] = Reshape(%1, %2)\n"
            "const %4: i64[1] = {0}\n"
            "%5: i64[4] = Concat(%3, %4)\n"
            "%6: i64[] = Reduce(%5) kind=max keepdims=false\n"
            "%7: string[3,?] = StringSplit(%0, %6) delimiter=\",\" max_splits=2\n");
}

TEST(Sequences, Operators) {
  const Message s = sequence_of(tensor_type(f32, {2}));
  EXPECT_EQ(nodes_of({"SequenceConstruct", {scales, scales}}),
            "%2: seq(f32[4]) = Sequence(%0, %1) kind=construct\n");
  EXPECT_EQ(nodes_of({.op = "SequenceEmpty", .attributes = {integer("dtype", 7)}}),
            "%0: seq(i64[*]) = Sequence() kind=empty dtype=i64\n");
  EXPECT_EQ(nodes_of({"SequenceAt", {s, index}}), "%2: f32[2] = Sequence(%0, %1) kind=at\n");
  EXPECT_EQ(nodes_of({"SequenceInsert", {s, tensor_type(f32, {2})}}),
            "%2: seq(f32[2]) = Sequence(%0, %1) kind=insert\n");
  EXPECT_EQ(nodes_of({"SequenceErase", {s, index}}),
            "%2: seq(f32[2]) = Sequence(%0, %1) kind=erase\n");
  EXPECT_EQ(nodes_of({"SequenceLength", {s}}), "%1: i64[] = Sequence(%0) kind=length\n");
  EXPECT_EQ(nodes_of({"SplitToSequence", {scales}, {integer("keepdims", 0)}}),
            "%1: seq(f32[]) = SplitToSequence(%0) keepdims=false\n");
  EXPECT_EQ(nodes_of({"ConcatFromSequence", {s}, {integer("axis", 0), integer("new_axis", 1)}}),
            "%1: f32[?,2] = ConcatFromSequence(%0) new_axis=true\n");
}

TEST(Optionals, MadeAskedAndOpened) {
  const Message o = optional_of(tensor_type(f32, {2}));
  EXPECT_EQ(nodes_of({"Optional", {scales}}), "%1: opt(f32[4]) = Optional(%0) kind=make\n");
  EXPECT_EQ(nodes_of({.op = "Optional",
                      .attributes = {type_of("type", sequence_of(tensor_type(i64, {})))}}),
            "%0: opt(seq(i64[*])) = Optional() kind=make dtype=i64 of_sequence=true\n");
  EXPECT_EQ(nodes_of({"OptionalHasElement", {o}}), "%1: bool[] = Optional(%0) kind=has_element\n");
  EXPECT_EQ(nodes_of({.op = "OptionalHasElement", .types = {scales}, .version = 18}),
            "const %1: bool[] = {true}\n");
  EXPECT_EQ(nodes_of({.op = "OptionalHasElement", .version = 18}), "const %0: bool[] = {false}\n");
  EXPECT_EQ(nodes_of({"OptionalGetElement", {o}}), "%1: f32[2] = Optional(%0) kind=get_element\n");
  EXPECT_EQ(nodes_of({.op = "OptionalGetElement", .types = {scales}, .version = 18}),
            "%1: f32[4] = Identity(%0)\n");
  EXPECT_CONTAINS(nodes_of({.op = "Optional"}), "has neither an input nor attribute 'type'");
}

}  // namespace
}  // namespace quern::onnx_test
