// SPDX-License-Identifier: Apache-2.0
// Resampling, recurrent layers, data-dependent shapes, random numbers, spectra, strings, sequences.
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

using ::testing::HasSubstr;

const Message image = tensor_type(f32, {1, 4, 8, 8});
const Message scales = tensor_type(f32, {4});
const Message scalar = tensor_type(f32, {});
const Message index = tensor_type(i64, {});

TEST(Resize, WithScalesOrSizes) {
  EXPECT_EQ(nodes_of({"Resize", {image, {}, scales}}), "@@1");
  EXPECT_EQ(nodes_of({"Resize", {image, {}, {}, tensor_type(i64, {4})},
                      {word("mode", "cubic"), word("coordinate_transformation_mode", "align_corners"),
                       number("cubic_coeff_a", -0.5f), integer("exclude_outside", 1)}}),
            "@@2");
  EXPECT_EQ(nodes_of({.op = "Resize", .types = {image, {}, {}, tensor_type(i64, {2})},
                      .attributes = {word("mode", "linear"), integers("axes", {2, 3}), integer("antialias", 1),
                                     word("keep_aspect_ratio_policy", "not_larger")},
                      .version = 18}),
            "@@3");
  EXPECT_THAT(nodes_of({"Resize", {image}}), HasSubstr("wants either scales or sizes"));
}

TEST(Resize, EmptyOperandsAreNone) {
  EXPECT_EQ(nodes_of({.op = "Resize", .types = {image, tensor_type(f32, {0}), scales, tensor_type(i64, {0})},
                      .version = 11,
                      .initializers = {tensor_header("x1", f32, {0})}}),
            "@@4");
}

TEST(Resize, RoiMattersForCroppingOnly) {
  const Message roi = tensor_type(f32, {8});
  EXPECT_THAT(nodes_of({"Resize", {image, roi, scales}}), HasSubstr("Resize(%0, _, %2)"));
  EXPECT_THAT(nodes_of({"Resize", {image, roi, scales}, {word("coordinate_transformation_mode", "tf_crop_and_resize"),
                                                         number("extrapolation_value", 1)}}),
              HasSubstr("Resize(%0, %1, %2) coordinates=tf_crop_and_resize extrapolation_value=1"));
}

TEST(Resize, BeforeOpset11ItIsAsymmetric) {
  EXPECT_EQ(nodes_of({"Resize", {image, scales}, {word("mode", "linear")}, 10}), "@@5");
  EXPECT_EQ(nodes_of({.op = "Resize", .types = {image, scales}, .version = 10,
                      .initializers = {floats("x1", {4}, {1, 1, 0.5f, 0.5f})}}),
            "@@6");
  EXPECT_EQ(nodes_of({"Upsample", {image, scales}, {}, 9}), "@@7");
  EXPECT_EQ(nodes_of({"Upsample", {image}, {numbers("scales", {1, 1, 2, 2})}, 7}), "@@8");
  EXPECT_EQ(nodes_of({"Upsample", {image}, {number("height_scale", 2), number("width_scale", 3), word("mode", "bilinear")}, 1}),
            "@@9");
}

TEST(Sampling, Grids) {
  const Message grid = tensor_type(f32, {1, 2, 2, 2});
  EXPECT_EQ(nodes_of({"GridSample", {image, grid}, {word("mode", "bicubic"), word("padding_mode", "border"), integer("align_corners", 1)}}),
            "@@10");
  EXPECT_EQ(nodes_of({.op = "GridSample", .types = {image, grid}, .attributes = {word("mode", "cubic")}, .version = 20}),
            "@@11");
  EXPECT_EQ(nodes_of({.op = "AffineGrid", .types = {tensor_type(f32, {1, 2, 3}), tensor_type(i64, {4})}, .version = 20}),
            "@@12");
}

const Message sequence = tensor_type(f32, {5, 2, 3});

TEST(Recurrent, DefaultsAreSpelledOut) {
  EXPECT_EQ(nodes_of({.op = "LSTM", .types = {sequence, tensor_type(f32, {1, 16, 3}), tensor_type(f32, {1, 16, 4})}, .outputs = 3}),
            "@@13");
  EXPECT_EQ(nodes_of({"GRU", {sequence, tensor_type(f32, {2, 12, 3}), tensor_type(f32, {2, 12, 4})},
                      {word("direction", "bidirectional"), integer("linear_before_reset", 1), integer("hidden_size", 4)}}),
            "@@14");
  EXPECT_EQ(nodes_of({"RNN", {sequence, tensor_type(f32, {1, 4, 3}), tensor_type(f32, {1, 4, 4})},
                      {words("activations", {"Relu", "Tanh"}), number("clip", 2), word("direction", "reverse")}}),
            "@@15");
}

TEST(Recurrent, ParametersGoToTheActivationsThatTakeThem) {
  EXPECT_THAT(nodes_of({"LSTM", {sequence, tensor_type(f32, {1, 16, 3}), tensor_type(f32, {1, 16, 4})},
                        {words("activations", {"HardSigmoid", "Tanh", "LEAKYRELU"}),
                         numbers("activation_alpha", {0.25f, 0.125f}), numbers("activation_beta", {0.75f})}}),
              HasSubstr("activations=[hard_sigmoid(0.25,0.75),tanh,leaky_relu(0.125,0)]"));
  EXPECT_THAT(nodes_of({"RNN", {sequence, tensor_type(f32, {1, 4, 3}), tensor_type(f32, {1, 4, 4})},
                        {words("activations", {"ScaledTanh"}), numbers("activation_alpha", {2})}}),
              HasSubstr("activations=[scaled_tanh(2,1)]"));
  EXPECT_THAT(nodes_of({"RNN", {sequence, tensor_type(f32, {1, 4, 3}), tensor_type(f32, {1, 4, 4})},
                        {words("activations", {"Sine"})}}),
              HasSubstr("activation 'Sine' is not supported"));
}

TEST(Recurrent, InputsAndOutputsMayBeLeftOut) {
  EXPECT_EQ(body_of(imported(make_model(GraphParts{
                .nodes = {node("LSTM", {"x", "w", "r", "", "", "h"}, {"", "", "c"}, {integer("layout", 1)})},
                .inputs = {value("x", f32, {2, 5, 3}), value("w", f32, {1, 16, 3}), value("r", f32, {1, 16, 4}),
                           value("h", f32, {2, 1, 4})},
                .outputs = {Message().text(1, "c")}}))),
            "@@16");
}

TEST(DataDependent, Operators) {
  const Message x = tensor_type(f32, {2, 6});
  EXPECT_EQ(nodes_of({.op = "TopK", .types = {x, tensor_type(i64, {1})}, .attributes = {integer("largest", 0)}, .outputs = 2}),
            "@@17");
  EXPECT_EQ(nodes_of({.op = "TopK", .types = {x}, .attributes = {integer("k", 3)}, .version = 1, .outputs = 2}), "@@18");
  EXPECT_EQ(nodes_of({"TopK", {x, tensor_type(i64, {1})}}), "@@19");
  EXPECT_EQ(nodes_of({"NonZero", {x}}), "@@20");
  EXPECT_EQ(nodes_of({.op = "Unique", .types = {x}, .attributes = {integer("axis", 1), integer("sorted", 0)}, .outputs = 4}),
            "@@21");
  EXPECT_EQ(nodes_of({"Compress", {x, tensor_type(boolean, {6})}, {integer("axis", 1)}}), "@@22");
  EXPECT_EQ(nodes_of({"NonMaxSuppression", {tensor_type(f32, {1, 6, 4}), tensor_type(f32, {1, 1, 6}), {}, scalar},
                      {integer("center_point_box", 1)}}),
            "@@23");
}

TEST(RandomOps, ShapesFromAttributesOrInputs) {
  EXPECT_EQ(nodes_of({.op = "RandomNormal", .attributes = {integers("shape", {2, 3}), number("mean", 1), number("seed", 1)}}),
            "@@24");
  EXPECT_EQ(nodes_of({.op = "RandomUniform", .attributes = {integers("shape", {2}), integer("dtype", 11), number("high", 5)}}),
            "@@25");
  EXPECT_EQ(nodes_of({"RandomNormalLike", {scales}}), "@@26");
  EXPECT_EQ(nodes_of({"RandomUniformLike", {tensor_type(i64, {2})}, {integer("dtype", 1), number("low", -1)}}), "@@27");
  EXPECT_EQ(nodes_of({"Bernoulli", {scales}, {integer("dtype", 9)}}), "@@28");
  EXPECT_EQ(nodes_of({"Multinomial", {tensor_type(f32, {2, 3})}, {integer("sample_size", 4), integer("dtype", 7)}}), "@@29");
  EXPECT_THAT(nodes_of({.op = "RandomNormal"}), HasSubstr("'shape' is missing"));
}

TEST(RandomOps, SeedsDifferFromNodeToNodeAndNotFromImportToImport) {
  const std::string model = make_model(GraphParts{
      .nodes = {node("RandomNormal", {}, {"a"}, {integers("shape", {2})}),
                node("RandomNormal", {}, {"b"}, {integers("shape", {2})})},
      .outputs = {Message().text(1, "a"), Message().text(1, "b")}});
  const std::string text = imported(model);
  EXPECT_THAT(text, HasSubstr("seed=1\n"));
  EXPECT_THAT(text, HasSubstr("seed=2\n"));
  EXPECT_EQ(imported(model), text);
}

TEST(Spectral, Transforms) {
  const Message signal = tensor_type(f32, {1, 16, 1});
  EXPECT_EQ(nodes_of({"DFT", {signal, index}, {integer("axis", 1), integer("onesided", 1)}}), "@@30");
  EXPECT_EQ(nodes_of({.op = "DFT", .types = {signal, {}, index}, .attributes = {integer("inverse", 1)}, .version = 20}), "@@31");
  EXPECT_EQ(nodes_of({"STFT", {signal, index, tensor_type(f32, {4})}, {integer("onesided", 0)}}), "@@32");
  EXPECT_EQ(nodes_of({"MelWeightMatrix", {index, index, index, scalar, scalar}}), "@@33");
}

TEST(Spectral, Windows) {
  EXPECT_EQ(nodes_of({"HannWindow", {index}}), "@@34");
  EXPECT_EQ(nodes_of({"BlackmanWindow", {tensor_type(i32, {})}, {integer("periodic", 0), integer("output_datatype", 11)}}),
            "@@35");
  EXPECT_THAT(nodes_of({"HammingWindow", {index}}), HasSubstr("f64[] = {0.5434782608695652}"));
}

TEST(Strings, Operators) {
  const Message words_in = tensor_type(onnx_test::text, {3});
  EXPECT_EQ(nodes_of({"StringNormalizer", {words_in}, {word("case_change_action", "LOWER"), words("stopwords", {"a"}),
                                                       word("locale", "en_US")}}),
            "@@36");
  EXPECT_EQ(nodes_of({"TfIdfVectorizer", {tensor_type(i64, {4})},
                      {word("mode", "TF"), integer("min_gram_length", 1), integer("max_gram_length", 1),
                       integer("max_skip_count", 0), integers("ngram_counts", {0}), integers("ngram_indexes", {0, 1}),
                       integers("pool_int64s", {5, 6})}}),
            "@@37");
}

TEST(Sequences, Operators) {
  const Message s = sequence_of(tensor_type(f32, {2}));
  EXPECT_EQ(nodes_of({"SequenceConstruct", {scales, scales}}), "@@38");
  EXPECT_EQ(nodes_of({.op = "SequenceEmpty", .attributes = {integer("dtype", 7)}}), "@@39");
  EXPECT_EQ(nodes_of({"SequenceAt", {s, index}}), "@@40");
  EXPECT_EQ(nodes_of({"SequenceInsert", {s, tensor_type(f32, {2})}}), "@@41");
  EXPECT_EQ(nodes_of({"SequenceErase", {s, index}}), "@@42");
  EXPECT_EQ(nodes_of({"SequenceLength", {s}}), "@@43");
  EXPECT_EQ(nodes_of({"SplitToSequence", {scales}, {integer("keepdims", 0)}}), "@@44");
  EXPECT_EQ(nodes_of({"ConcatFromSequence", {s}, {integer("axis", 0), integer("new_axis", 1)}}), "@@45");
}

TEST(Optionals, MadeAskedAndOpened) {
  const Message o = optional_of(tensor_type(f32, {2}));
  EXPECT_EQ(nodes_of({"Optional", {scales}}), "@@46");
  EXPECT_EQ(nodes_of({.op = "Optional", .attributes = {type_of("type", sequence_of(tensor_type(i64, {})))}}), "@@47");
  EXPECT_EQ(nodes_of({"OptionalHasElement", {o}}), "@@48");
  EXPECT_EQ(nodes_of({.op = "OptionalHasElement", .types = {scales}, .version = 18}), "@@49");
  EXPECT_EQ(nodes_of({.op = "OptionalHasElement", .version = 18}), "@@50");
  EXPECT_EQ(nodes_of({"OptionalGetElement", {o}}), "@@51");
  EXPECT_EQ(nodes_of({.op = "OptionalGetElement", .types = {scales}, .version = 18}), "@@52");
  EXPECT_THAT(nodes_of({.op = "Optional"}), HasSubstr("has neither an input nor attribute 'type'"));
}

}  // namespace
}  // namespace quern::onnx_test
