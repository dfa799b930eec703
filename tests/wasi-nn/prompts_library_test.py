# SPDX-License-Identifier: Apache-2.0
"""Prompts by the C functions: prompts_library_test.py LIBRARY BACKEND, where LIBRARY is libquern_wasi_nn.so and BACKEND
libwasi_nn_onnx.so, which an iwasm opens. The model is that of prompts_test.py."""
import ctypes
import json
import os
import pathlib
import sys
import tempfile
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_void_p

from prompt_model import PROMPT, Model

INVALID_ARGUMENT, INVALID_ENCODING, UNSUPPORTED, TOO_LARGE, END_OF_SEQUENCE = 1, 2, 6, 7, 100
QUERN_U8, WITX_U8 = 8, 3


class QuernTensor(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("dtype", c_int32), ("rank", c_uint32), ("dims", c_int64 * 16),
                ("data", c_char_p), ("bytes", c_size_t)]


def check_typed(path, folder, model):
    """Token by token, with the functions of quern/c/wasi_nn.h."""
    nn = ctypes.CDLL(path)
    nn.quern_nn_instance_last_error.restype = c_size_t
    tenant, instance, graph, context, written = c_void_p(), c_void_p(), c_uint32(), c_uint32(), c_size_t()

    def ok(code):
        text = ctypes.create_string_buffer(400)
        nn.quern_nn_instance_last_error(instance, text, c_size_t(400))
        assert code == 0, (code, text.value)

    ok(nn.quern_nn_tenant_create(None, byref(tenant)))
    ok(nn.quern_nn_tenant_add_file(tenant, b"chat", str(folder).encode(), 0))
    ok(nn.quern_nn_instance_create(tenant, None, byref(instance)))

    def load(config):
        return nn.quern_nn_load_by_name_with_config(instance, b"chat", c_size_t(4), config,
                                                    c_size_t(len(config or b"")), byref(graph))

    assert load(b"{") == INVALID_ENCODING and load(b'{"top-k": "x"}') == INVALID_ARGUMENT
    assert nn.quern_nn_load_by_name_with_config(instance, b"chat", c_size_t(4), None, c_size_t(9),
                                                byref(graph)) == INVALID_ARGUMENT
    ok(load(None))
    ok(nn.quern_nn_init_execution_context(instance, graph, None, byref(context)))
    prompt = PROMPT.encode()
    tensor = QuernTensor(ctypes.sizeof(QuernTensor), QUERN_U8, 0, (c_int64 * 16)(), prompt, len(prompt))
    ok(nn.quern_nn_set_input(instance, context, c_size_t(0), byref(tensor)))
    buffer = ctypes.create_string_buffer(400)

    def output(function, index, room=400):
        return function(instance, context, c_size_t(index), buffer, c_size_t(room), byref(written))

    said, tokens = b"", 0
    while (code := nn.quern_nn_compute_single(instance, context)) == 0:
        ok(output(nn.quern_nn_get_output_single, 0))
        said += buffer.raw[:written.value]
        tokens += 1
    count, wanted, text = model.answer(PROMPT)
    assert code == END_OF_SEQUENCE and said.decode() == text and tokens + 1 == len(wanted), (code, said, wanted)
    ok(output(nn.quern_nn_get_output, 1))
    numbers = json.loads(buffer.raw[:written.value])
    assert numbers["input_tokens"] == count and numbers["output_tokens"] == len(wanted), numbers
    assert output(nn.quern_nn_get_output, 0, 3) == TOO_LARGE and written.value == len(text)
    ok(nn.quern_nn_fini_single(instance, context))
    ok(nn.quern_nn_compute_single(instance, context))
    use, place = c_void_p(), c_void_p()
    ok(nn.quern_nn_use_begin(instance, context, byref(use)))
    assert nn.quern_nn_use_place_input(use, c_size_t(0), byref(tensor), byref(place)) == UNSUPPORTED
    nn.quern_nn_use_end(use)
    for function in (nn.quern_nn_compute_single, nn.quern_nn_fini_single):
        assert function(None, context) == INVALID_ARGUMENT
    nn.quern_nn_instance_destroy(instance)
    nn.quern_nn_tenant_destroy(tenant)


class Buffer(ctypes.Structure):
    _fields_ = [("buf", c_void_p), ("size", c_uint32)]


class WamrTensor(ctypes.Structure):
    _fields_ = [("dims", ctypes.POINTER(Buffer)), ("type", c_uint8), ("data", Buffer)]


def check_backend(path, folder, model):
    """Whole answers, as WAMR asks for them."""
    os.environ["QUERN_NN_MODELS"] = f"default={folder}"
    nn = ctypes.CDLL(path)
    backend, graph, context, written = c_void_p(), c_uint32(), c_uint32(), c_uint32()
    assert nn.init_backend(byref(backend)) == 0
    assert nn.load_by_name_with_config(backend, b"default", 7, b"[", 1, byref(graph)) == INVALID_ENCODING
    config = b'{"n-predict": 5}'
    assert nn.load_by_name_with_config(backend, b"default", 7, config, len(config), byref(graph)) == 0
    assert nn.init_execution_context(backend, graph, byref(context)) == 0
    assert nn.compute(backend, context) == INVALID_ARGUMENT
    prompt = ctypes.create_string_buffer(PROMPT.encode())
    size = c_uint32(len(PROMPT))
    dims = Buffer(ctypes.cast(byref(size), c_void_p), 1)
    tensor = WamrTensor(ctypes.pointer(dims), WITX_U8, Buffer(ctypes.cast(prompt, c_void_p), len(PROMPT)))
    assert nn.set_input(backend, context, 0, byref(tensor)) == 0
    assert nn.compute(backend, context) == 0
    room = ctypes.create_string_buffer(400)
    output = Buffer(ctypes.cast(room, c_void_p), 400)
    assert nn.get_output(backend, context, 0, byref(output), byref(written)) == 0
    assert room.raw[:written.value].decode() == model.answer(PROMPT, 5)[2], room.raw[:written.value]
    assert nn.deinit_backend(backend) == 0


def main():
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent)
        model = Model(folder)
        check_typed(sys.argv[1], folder, model)
        check_backend(sys.argv[2], folder, model)
    print("prompts of the libraries ok")


if __name__ == "__main__":
    main()
