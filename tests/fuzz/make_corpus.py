# SPDX-License-Identifier: Apache-2.0
"""Makes corpus/onnx again: models of the ONNX test data without names and comments, and files that
mean harm. corpus/onnx/found, what fuzzing has found, and corpus/onnx/contrib, models of one operator of
com.microsoft or of before opset 7 each, stay. corpus/calls: bytes that c_api_fuzz reads
as calls, from a generator with a fixed seed.

Usage: make_corpus.py [TEST_DATA]     (default: where Debian's libonnx-testdata puts it)
"""
import pathlib
import random
import shutil
import struct
import sys

TEST_DATA = "/usr/share/libonnx-testdata/data"
CORPUS = pathlib.Path(__file__).parent / "corpus" / "onnx"
CALLS = CORPUS.parent / "calls"

# Diverse by operator, type and form: control flow, functions, sequences, optionals, sparse tensors,
# strings, every family of kernels.
CASES = """
node/test_adagrad node/test_adam_multiple node/test_averagepool_2d_ceil
node/test_basic_convinteger node/test_batchnorm_example_training_mode
node/test_bernoulli_seed_expanded node/test_bitshift_left_uint8
node/test_blackmanwindow_symmetric_expanded node/test_cast_FLOAT_to_STRING
node/test_castlike_STRING_to_FLOAT_expanded node/test_celu_expanded
node/test_clip_default_int8_inbounds node/test_compress_negative_axis
node/test_concat_3d_axis_negative_3 node/test_constantofshape_float_ones node/test_constant_pad
node/test_conv_with_strides_and_asymmetric_padding node/test_convtranspose_autopad_same
node/test_cumsum_1d_reverse_exclusive node/test_dequantizelinear_axis node/test_det_nd
node/test_dft_inverse node/test_dropout_default_mask_ratio
node/test_dynamicquantizelinear_min_adjusted_expanded node/test_einsum_batch_diagonal
node/test_elu_example node/test_expand_dim_changed node/test_eyelike_with_dtype
node/test_gather_elements_negative_indices node/test_gathernd_example_int32_batch_dim1
node/test_gemm_all_attributes node/test_gridsample_bicubic node/test_gru_batchwise
node/test_hammingwindow node/test_hardswish_expanded node/test_identity_opt
node/test_identity_sequence node/test_if node/test_if_opt node/test_if_seq
node/test_layer_normalization_3d_axis_negative_1_epsilon_expanded
node/test_logsoftmax_axis_1_expanded node/test_loop11 node/test_loop13_seq
node/test_loop16_seq_none node/test_lstm_with_peepholes node/test_matmulinteger
node/test_max_float16 node/test_maxpool_with_argmax_2d_precomputed_strides
node/test_maxunpool_export_with_output_shape node/test_melweightmatrix
node/test_mvn_expanded node/test_nesterov_momentum
node/test_nllloss_NCd1d2d3_sum_weight_high_ii_expanded
node/test_nonmaxsuppression_center_point_box_format node/test_nonzero_example
node/test_onehot_negative_indices node/test_optional_get_element_sequence
node/test_optional_has_element_empty node/test_prelu_broadcast node/test_qlinearconv
node/test_qlinearmatmul_3D node/test_quantizelinear_axis
node/test_range_float_type_positive_delta_expanded
node/test_reduce_log_sum_exp_negative_axes_keepdims_random
node/test_reduce_l2_do_not_keepdims_example node/test_reshape_zero_and_negative_dim
node/test_resize_downsample_sizes_cubic node/test_resize_tf_crop_and_resize
node/test_reversesequence_batch node/test_rnn_seq_length node/test_roialign_aligned_true
node/test_scan9_sum node/test_scan_sum node/test_scatter_elements_with_negative_indices
node/test_scatternd_multiply node/test_sce_NCd1d2d3_none_no_weight_negative_ii_log_prob_expanded
node/test_selu_example node/test_sequence_insert_at_front
node/test_sequence_map_add_2_sequences_expanded node/test_sequence_map_identity_1_sequence
node/test_shape_clip_start node/test_simple_rnn_with_initial_bias node/test_slice_negative_axes
node/test_softmax_large_number_expanded node/test_spacetodepth_example
node/test_split_zero_size_splits node/test_split_variable_parts_2d node/test_stft_with_window
node/test_strnormalizer_export_monday_insensintive_upper_twodim node/test_sum_one_input
node/test_tfidfvectorizer_tf_batch_uniandbigrams_skip5 node/test_thresholdedrelu
node/test_top_k_smallest node/test_training_dropout_mask node/test_transpose_all_permutations_4
node/test_tril_pos node/test_unique_sorted_with_axis_3d node/test_unsqueeze_unsorted_axes
node/test_upsample_nearest node/test_where_long_example
pytorch-converted/test_BatchNorm2d_momentum_eval pytorch-converted/test_GLU_dim
pytorch-operator/test_operator_addmm pytorch-operator/test_operator_chunk
pytorch-operator/test_operator_symbolic_override simple/test_expand_shape_model3
simple/test_gradient_of_add_and_mul simple/test_sequence_model3 simple/test_sequence_model8
simple/test_shrink simple/test_sign_model simple/test_single_relu_model
simple/test_strnorm_model_nostopwords_nochangecase
""".split()

# ---- the wire format ----------------------------------------------------------------------------

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL = 1, 2, 3, 6, 7, 8, 9


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def real(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def chunk(field, *parts):
    data = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(field number, payload of a length-delimited field or None, all bytes of the field)"""
    at = 0
    while at < len(data):
        begin = at
        key, at = read_varint(data, at)
        payload = None
        if key & 7 == 0:
            _, at = read_varint(data, at)
        elif key & 7 == 2:
            size, at = read_varint(data, at)
            payload = data[at:at + size]
            at += size
        else:
            at += 8 if key & 7 == 1 else 4
        yield key >> 3, payload, data[begin:at]


def without(data, dropped, change=None):
    """The message less some fields, others (by number) replaced by change[number](payload)."""
    out = b""
    for field, payload, whole in fields(data):
        if change and field in change:
            out += chunk(field, change[field](payload))
        elif field not in dropped:
            out += whole
    return out


def strip(model):
    """Without producer, comments and names of nodes and graphs."""
    node = lambda data: without(data, {3, 6})
    graph = lambda data: without(data, {2, 10}, {1: node})
    return without(model, {2, 3, 4, 5, 6, 14}, {7: graph})


# ---- messages -----------------------------------------------------------------------------------

def tensor_type(dtype, dims):
    shape = b"".join(chunk(1, chunk(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return chunk(1, number(1, dtype), chunk(2, shape))


def value(name, dtype=FLOAT, dims=(2,)):
    return chunk(1, name) + chunk(2, tensor_type(dtype, dims))


def tensor(name, dtype, dims, raw):
    return b"".join(number(1, d) for d in dims) + number(2, dtype) + chunk(8, name) + chunk(9, raw)


def ints(name, values, dims=None):
    raw = struct.pack(f"<{len(values)}q", *values)
    return tensor(name, INT64, [len(values)] if dims is None else dims, raw)


def floats(name, values, dims=None):
    raw = struct.pack(f"<{len(values)}f", *values)
    return tensor(name, FLOAT, [len(values)] if dims is None else dims, raw)


def attribute(name, given):
    head = chunk(1, name)
    if isinstance(given, bool) or isinstance(given, int):
        return head + number(20, 2) + number(3, given)
    if isinstance(given, float):
        return head + number(20, 1) + real(2, given)
    if isinstance(given, str):
        return head + number(20, 3) + chunk(4, given)
    if isinstance(given, bytes):  # a graph
        return head + number(20, 5) + chunk(6, given)
    return head + number(20, 7) + b"".join(number(8, v) for v in given)


def names(field, given):
    """A "-" is a name left out."""
    return b"".join(chunk(field, "" if n == "-" else n) for n in given.split())


def node(op, inputs, outputs, domain="", **attributes):
    out = names(1, inputs) + names(2, outputs) + chunk(4, op)
    out += b"".join(chunk(5, attribute(k, v)) for k, v in attributes.items())
    return out + (chunk(7, domain) if domain else b"")


def graph(nodes=(), inputs=(value("x"),), outputs=("y",), tensors=(), extra=b""):
    out = b"".join(chunk(1, n) for n in nodes) + chunk(2, "g")
    out += b"".join(chunk(5, t) for t in tensors) + b"".join(chunk(11, v) for v in inputs)
    out += b"".join(chunk(12, v if isinstance(v, bytes) else chunk(1, v)) for v in outputs)
    return out + extra


def model(of, opsets=(("", 18), ("own", 1)), functions=(), ir=8):
    out = number(1, ir) + chunk(7, of)
    out += b"".join(chunk(8, chunk(1, d), number(2, v)) for d, v in opsets)
    return out + b"".join(chunk(25, f) for f in functions)


def function(name, nodes, inputs="a", outputs="b"):
    out = chunk(1, name) + b"".join(chunk(4, i) for i in inputs.split())
    out += b"".join(chunk(5, o) for o in outputs.split()) + b"".join(chunk(7, n) for n in nodes)
    out += chunk(9, number(2, 18)) + chunk(9, chunk(1, "own"), number(2, 1))
    return out + chunk(10, "own")


# ---- files that mean harm -----------------------------------------------------------------------

LOW, HIGH = -2**63, 2**63 - 1
INF, NAN = float("inf"), float("nan")


def one(op, inputs="x", tensors=(), types=None, **attributes):
    """A model of one node."""
    given = types if types is not None else [value("x", FLOAT, [2, 3])]
    return model(graph([node(op, inputs, "y", **attributes)], given, tensors=tensors))


def nested(depth, body):
    for _ in range(depth):
        body = graph([node("If", "c", "y", then_branch=body, else_branch=body)], ())
        if len(body) > 1 << 14:
            break
    return body


def deep(depth):
    """A chain of bodies, not a tree: else_branch hands out what is there already."""
    small = graph([node("Identity", "x", "y")], ())
    body = small
    for _ in range(depth):
        body = graph([node("If", "c", "y", then_branch=body, else_branch=small)], ())
    return body


def types_in_types(depth):
    inner = tensor_type(FLOAT, [2])
    for _ in range(depth):
        inner = chunk(4, chunk(1, inner))
    return chunk(1, "x") + chunk(2, inner)


def structure():
    relu = node("Relu", "x", "y")
    plain = model(graph([relu]))
    condition = value("c", BOOL, [])
    yield "cut", plain[:len(plain) // 2]
    yield "length-beyond-the-file", number(1, 8) + varint(7 << 3 | 2) + varint(1 << 40)
    yield "endless-varint", b"\x08" + b"\xff" * 30
    yield "empty-nodes", number(1, 8) + chunk(7, b"\x0a\x00" * 500)
    yield "empty-graph", number(1, 8) + chunk(7)
    yield "circle", model(graph([node("Add", "x b", "a"), node("Neg", "a", "b"), relu]))
    yield "own-input", model(graph([node("Add", "x y", "y")]))
    yield "names-twice", model(graph([relu, node("Neg", "x", "y")], [value("x"), value("x")]))
    yield "output-nowhere", model(graph([relu], outputs=("z",)))
    yield "outputs-declared-wrong", model(graph([relu], outputs=(value("y", INT64, [7]),)))
    yield "outputs-declared-other", model(graph(
        [node("Reshape", "x s", "y")], [value("x"), value("s", INT64, ["r"])],
        (value("y", FLOAT, [3, 5]),)))
    branch = lambda a, b: model(graph([node("If", "c", "y", then_branch=a, else_branch=b)],
                                      [value("x"), condition]))
    wide = nested(6, graph([relu], ()))
    yield "bodies-deep", branch(deep(40), deep(2))
    yield "bodies-wide", branch(wide, wide)
    yield "types-deep", model(graph([relu], [types_in_types(200)]))
    shapeless = chunk(1, "x") + chunk(2, chunk(1, number(1, FLOAT)))
    yield "type-without-shape", model(graph([relu], [shapeless]))
    yield "opset-missing", model(graph([relu]), ())
    yield "opset-absurd", model(graph([relu]), (("", HIGH), ("", LOW)))
    yield "operator-unknown", one("NoSuchOperator")
    yield "domain-unknown", model(graph([node("Relu", "x", "y", domain="else")]))
    yield "attribute-unknown", one("Relu", surprise=1)
    yield "attribute-of-wrong-kind", one("Softmax", axis="one")
    yield "inputs-left-out", one("Conv", "- -")
    yield "dimension-negative", model(graph([relu], [value("x", FLOAT, [-5, LOW])]))
    yield "dimension-huge", model(graph([relu], [value("x", FLOAT, [2**40] * 3)]))
    yield "rank-huge", model(graph([relu], [value("x", FLOAT, [1] * 100)]))


def functions():
    call = lambda name, i, o: node(name, i, o, domain="own")
    body = graph([call("F", "x", "y")])
    yield "function-calls-itself", model(body, functions=[function("F", [call("F", "a", "b")])])
    yield "functions-call-each-other", model(body, functions=[
        function("F", [call("G", "a", "b")]), function("G", [call("F", "a", "b")])])
    yield "functions-multiply", model(graph([call("F0", "x", "y")]), functions=[
        function(f"F{i}", [call(f"F{i + 1}", "a", "c"), call(f"F{i + 1}", "c", "b")])
        for i in range(20)] + [function("F20", [node("Neg", "a", "b")])])
    yield "function-without-result", model(body, functions=[function("F", [])])
    yield "function-twice", model(body, functions=[function("F", [node("Neg", "a", "b")])] * 2)
    reference = chunk(5, chunk(1, "alpha"), number(20, 1), chunk(21, "slope"))
    yield "reference-outside", model(graph([node("LeakyRelu", "x", "y") + reference]))


def tensors():
    use = [node("Identity", "w", "y")]
    keep = lambda t: model(graph(use, (), tensors=[t]))
    yield "tensor-dims-overflow", keep(tensor("w", FLOAT, [2**62, 2**62], b""))
    yield "tensor-dims-negative", keep(tensor("w", FLOAT, [-1], b""))
    yield "tensor-zero-times-huge", keep(tensor("w", FLOAT, [0, 2**62, 2**62], b""))
    yield "tensor-too-short", keep(tensor("w", FLOAT, [3], b"1234"))
    yield "tensor-bools", model(graph([node("Not", "w", "y")], (),
                                      tensors=[tensor("w", BOOL, [4], b"\x00\x01\x02\xff")]))
    yield "tensor-type-unknown", keep(tensor("w", 77, [1], b"1"))
    yield "tensor-strings", keep(number(1, 2) + number(2, STRING) + chunk(8, "w") + chunk(6, "a") +
                                 chunk(6, b"\xff\x00"))
    yield "tensor-number-too-large", keep(number(1, 1) + number(2, INT8) + chunk(8, "w") +
                                          number(5, 70000))
    for name, path in (("up", "../../../etc/passwd"), ("absolute", "/etc/passwd"), ("empty", "")):
        yield f"external-{name}", keep(number(1, 1) + number(2, FLOAT) + chunk(8, "w") + chunk(
            13, chunk(1, "location"), chunk(2, path)) + number(14, 1))
    sparse = lambda indices, dims: model(graph(use, (), extra=chunk(
        15, chunk(1, floats("w", [1, 2])), chunk(2, ints("", indices)),
        b"".join(number(3, d) for d in dims))))
    yield "sparse-outside", sparse([0, 5], [3])
    yield "sparse-twice", sparse([1, 1], [3])
    yield "sparse-huge", sparse([0, 1], [2**40, 2**40])


def shapes():
    t = lambda *v: [ints("s", v)]
    yield "reshape-overflow", one("Reshape", "x s", t(2**62, 4))
    yield "reshape-negative", one("Reshape", "x s", t(-1, -1))
    yield "reshape-least", one("Reshape", "x s", t(LOW))
    yield "expand-huge", one("Expand", "x s", t(2**40, 2, 3))
    yield "tile-huge", one("Tile", "x s", t(HIGH, HIGH))
    yield "pad-least", one("Pad", "x s", t(LOW, LOW, HIGH, HIGH))
    yield "slice-least", one("Slice", "x s e a t", [
        ints("s", [LOW]), ints("e", [HIGH]), ints("a", [LOW]), ints("t", [LOW])])
    yield "slice-step-0", one("Slice", "x s e a t", [
        ints("s", [0]), ints("e", [1]), ints("a", [0]), ints("t", [0])])
    yield "constant-of-shape-huge", one("ConstantOfShape", "s", t(2**31, 2**31), ())
    yield "range-endless", one("Range", "a b c", [
        ints("a", [0], []), ints("b", [HIGH], []), ints("c", [1], [])], ())
    yield "range-step-0", one("Range", "a b c", [
        ints("a", [0], []), ints("b", [9], []), ints("c", [0], [])], ())
    yield "range-nan", one("Range", "a b c", [
        floats("a", [NAN], []), floats("b", [INF], []), floats("c", [1e-30], [])], ())
    yield "one-hot-huge", one("OneHot", "i d v", [
        ints("i", [0, LOW]), ints("d", [2**40], []), floats("v", [0, 1])], ())
    yield "top-k-huge", one("TopK", "x s", t(HIGH))
    yield "split-wrong", one("Split", "x s", t(LOW, HIGH, 2))
    yield "split-many", one("Split", "x", num_outputs=2**40)
    yield "gather-outside", one("Gather", "w i", [floats("w", [1, 2]), ints("i", [HIGH, LOW])], ())
    yield "resize-scales", one("Resize", "x - s", [floats("s", [INF, NAN])])
    yield "resize-sizes", one("Resize", "x - - s", t(2**40, 2**40))
    yield "unsqueeze-twice", one("Unsqueeze", "x s", t(0, 0, LOW))
    yield "transpose-twice", one("Transpose", perm=[0, 0])
    yield "concat-axis", one("Concat", "x x", axis=LOW)
    yield "flatten-axis", one("Flatten", axis=HIGH)
    yield "cumsum-axis", one("CumSum", "x s", [ints("s", [LOW], [])])
    image = [value("x", FLOAT, [1, 4, 2, 2])]
    yield "depth-to-space-0", one("DepthToSpace", types=image, blocksize=0)
    yield "eye-like-k", one("EyeLike", k=LOW)
    yield "trilu-k", one("Trilu", "x s", [ints("s", [LOW], [])])


def windows():
    image = [value("x", FLOAT, [1, 2, 5, 5])]
    w = [floats("w", [0.5] * 4, [1, 2, 1, 2])]
    conv = lambda **a: one("Conv", "x w", w, image, **a)
    yield "conv-kernel-0", one("Conv", "x w", [floats("w", [], [1, 2, 0, 0])], image)
    yield "conv-stride-0", conv(strides=[0, 0])
    yield "conv-dilation-huge", conv(dilations=[HIGH, HIGH])
    yield "conv-pads-huge", conv(pads=[2**31, 2**31, 2**31, 2**31])
    yield "conv-pads-negative", conv(pads=[-9, -9, LOW, -9])
    yield "conv-group-0", conv(group=0)
    yield "conv-group-huge", conv(group=HIGH)
    yield "conv-transpose-huge", one("ConvTranspose", "x w", [floats("w", [1] * 8, [2, 1, 2, 2])],
                                     image, strides=[2**31, 2**31], output_shape=[2**31, 2**31])
    pool = lambda op, **a: one(op, "w", [floats("w", [1] * 16, [1, 1, 4, 4])], (), **a)
    yield "pool-kernel-huge", pool("AveragePool", kernel_shape=[2**31, 2**31],
                                   pads=[2**30, 2**30, 2**30, 2**30], count_include_pad=1)
    yield "pool-dilation-huge", pool("MaxPool", kernel_shape=[2, 2], dilations=[2**62, 2**62])
    yield "pool-lp-0", pool("LpPool", kernel_shape=[2, 2], p=0)
    yield "unpool-outside", one("MaxUnpool", "w i", [
        floats("w", [1] * 4, [1, 1, 2, 2]), ints("i", [LOW, HIGH, 99, -1], [1, 1, 2, 2])], (),
        kernel_shape=[2, 2], strides=[2, 2])
    wide = floats("w", [1] * 16, [1, 1, 4, 4])
    align = lambda c, batch, **a: one("RoiAlign", "w r b", [
        wide, floats("r", [-c, -c, c, c], [1, 4]), ints("b", [batch])], (),
                                      output_height=2, output_width=2, **a)
    yield "roi-align-batch", align(1, HIGH)
    yield "roi-align-huge", align(1e30, 0)
    yield "roi-align-nan", align(NAN, 0)
    yield "roi-align-samples", align(1, 0, sampling_ratio=2**40)
    yield "max-roi-pool-huge", one("MaxRoiPool", "w r", [
        floats("w", [1] * 16, [1, 1, 4, 4]), floats("r", [0, -1e30, 1e30, NAN, INF], [1, 5])], (),
                                   pooled_shape=[2, 2])
    yield "grid-sample-nan", one("GridSample", "w g", [
        floats("w", [1] * 16, [1, 1, 4, 4]), floats("g", [NAN, INF, -INF, 1e30], [1, 1, 2, 2])], (),
                                 padding_mode="reflection", mode="bicubic")
    yield "col2im-huge", one("Col2Im", "w i b", [
        floats("w", [1] * 4, [1, 4, 1]), ints("i", [HIGH, 2]), ints("b", [2, HIGH])], ())
    yield "lrn-size", one("LRN", types=image, size=HIGH)
    yield "resize-antialias", one("Resize", "w - - s", [wide, ints("s", [1, 1, 1, 2**20])], (),
                                  mode="cubic", antialias=1)
    yield "affine-grid-huge", one("AffineGrid", "t s", [
        floats("t", [1] * 6, [1, 2, 3]), ints("s", [1, 1, 2**31, 2**31])], ())


def arithmetic():
    one_by_one = [floats(n, [1] * 110) for n in "wvu"]
    yield "einsum-work", one("Einsum", "w v u", one_by_one, (), equation="a,b,c->")
    yield "einsum-wrong", one("Einsum", "w v", one_by_one, (), equation="a,,b->..zz")
    yield "divide-least", one("Div", "a b", [ints("a", [LOW, 1]), ints("b", [-1, 0])], ())
    yield "mod-least", one("Mod", "a b", [ints("a", [LOW, 1]), ints("b", [-1, 0])], ())
    yield "shift-far", one("BitShift", "a b", [
        tensor("a", UINT8, [2], b"\x01\x80"), tensor("b", UINT8, [2], b"\xff\x08")], (),
                           direction="LEFT")
    yield "pow-least", one("Pow", "a b", [ints("a", [LOW, 0]), ints("b", [LOW, -1])], ())
    yield "abs-least", one("Abs", "a", [ints("a", [LOW, -1])], ())
    yield "cast-far", one("Cast", "w", [floats("w", [1e30, NAN, -INF])], (), to=UINT8)
    text = number(1, 2) + number(2, STRING) + chunk(8, "w") + chunk(6, "1e999")
    yield "cast-text", one("Cast", "w", [text + chunk(6, "0x1p-9999")], (), to=INT32)
    yield "quantize-scale-0", one("QuantizeLinear", "w s", [
        floats("w", [1, -1]), floats("s", [0], [])], ())
    yield "matmul-nothing", one("MatMul", "a b", [
        floats("a", [], [2, 0]), floats("b", [], [0, 3])], ())
    yield "reduce-nothing", one("ReduceMean", "w", [floats("w", [], [0, 3])], ())
    yield "arg-max-nothing", one("ArgMax", "w", [floats("w", [], [0, 3])], ())
    yield "softmax-nothing", one("Softmax", "w", [floats("w", [], [2, 0])], ())
    yield "dft-length", one("DFT", "w l", [
        floats("w", [1] * 4, [1, 4, 1]), ints("l", [HIGH], [])], ())
    signal = floats("w", [1] * 64, [1, 64, 1])
    yield "stft-step-0", one("STFT", "w s - l", [
        signal, ints("s", [0], []), ints("l", [16], [])], ())
    yield "stft-frame-huge", one("STFT", "w s - l", [
        signal, ints("s", [1], []), ints("l", [HIGH], [])], ())
    yield "multinomial-huge", one("Multinomial", "w", [floats("w", [1] * 4, [1, 4])], (),
                                  sample_size=2**40)
    yield "tf-idf-skips", one("TfIdfVectorizer", "w", [ints("w", [1, 2, 3])], (), mode="TF",
                              min_gram_length=1, max_gram_length=2**40, max_skip_count=2**40,
                              ngram_counts=[0, 1], ngram_indexes=[0, 2**40], pool_int64s=[1, 1, 2])
    yield "random-huge", one("RandomNormal", "", (), (), shape=[2**31, 2**31])
    yield "mel-huge", one("MelWeightMatrix", "a b c d e", [
        ints("a", [2**40], []), ints("b", [2**40], []), ints("c", [8000], []),
        floats("d", [0], []), floats("e", [INF], [])], ())
    yield "window-huge", one("HannWindow", "s", [ints("s", [HIGH], [])], ())
    yield "lstm-hidden", one("LSTM", "x w r", [
        floats("w", [1] * 8, [1, 8, 1]), floats("r", [1] * 8, [1, 8, 1])],
                             [value("x", FLOAT, [1, 1, 1])], hidden_size=HIGH)
    yield "reverse-sequence-far", one("ReverseSequence", "w s", [
        floats("w", [1] * 4, [2, 2]), ints("s", [HIGH, LOW])], ())
    yield "scatter-outside", one("ScatterElements", "w i u", [
        floats("w", [1, 2]), ints("i", [HIGH]), floats("u", [1])], ())
    yield "scatter-nd-outside", one("ScatterND", "w i u", [
        floats("w", [1, 2]), ints("i", [LOW], [1, 1]), floats("u", [1])], ())


def control():
    index, go_on = value("i", INT64, []), value("c", BOOL, [])
    repeat = lambda outputs, body, times: model(graph(
        [node("Loop", "n - x", outputs, body=body)], tensors=[ints("n", [times], [])]))
    yield "loop-endless", repeat("y z", graph(
        [node("Identity", "c", "d"), node("Add", "s s", "t")], [index, go_on, value("s")],
        ("d", "t", "t")), HIGH)
    yield "loop-grows", repeat("y", graph(
        [node("Identity", "c", "d"), node("Concat", "s s", "t", axis=0)],
        [index, go_on, value("s", FLOAT, ["n"])], ("d", "t")), 20)
    yield "loop-inputs-missing", model(graph([node("Loop", "x", "y", body=graph((), (), ()))]))
    body = graph([node("Add", "a b", "c")], [value("a", FLOAT, []), value("b", FLOAT, [])],
                 ("c", "c"))
    scan = lambda **a: model(graph([node("Scan", "s x", "y z", body=body, **a)],
                                   tensors=[floats("s", [0], [])]))
    yield "scan-axes", scan(num_scan_inputs=HIGH, scan_input_axes=[LOW])
    yield "scan-directions", scan(num_scan_inputs=1, scan_input_directions=[7, 7])
    yield "sequence-at-far", model(graph(
        [node("SequenceConstruct", "x x", "q"), node("SequenceAt", "q p", "y")],
        tensors=[ints("p", [LOW], [])]))
    yield "sequence-of-both", model(graph([node("SequenceConstruct", "x i", "y")],
                                          [value("x"), value("i", INT64)]))
    yield "optional-of-nothing", one("Optional", "-")
    yield "split-to-sequence-0", one("SplitToSequence", "x p", [ints("p", [0], [])])


def calls():
    shutil.rmtree(CALLS, ignore_errors=True)
    CALLS.mkdir()
    numbers = random.Random(13)
    for i in range(24):
        (CALLS / f"{i:02}").write_bytes(bytes([i]) + numbers.randbytes(40 * (1 + i % 12)))


def main():
    calls()
    data = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TEST_DATA)
    if not data.is_dir():
        sys.exit(f"no folder {data}: nothing was changed\n{__doc__}")
    for folder in ("conformance", "hostile"):
        shutil.rmtree(CORPUS / folder, ignore_errors=True)
        (CORPUS / folder).mkdir(parents=True)
    for case in CASES:
        path = data / case / "model.onnx"
        if not path.exists():
            print(f"no {path}")
            continue
        name = path.parent.name.removeprefix("test_")
        (CORPUS / "conformance" / f"{name}.onnx").write_bytes(strip(path.read_bytes()))
    for family in (structure, functions, tensors, shapes, windows, arithmetic, control):
        for name, content in family():
            (CORPUS / "hostile" / f"{name}.onnx").write_bytes(content)
    files = [p for p in CORPUS.rglob("*") if p.is_file()]
    print(len(files), "files,", sum(p.stat().st_size for p in files), "bytes")


if __name__ == "__main__":
    main()
