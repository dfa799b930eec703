# SPDX-License-Identifier: Apache-2.0
"""quern.load: inputs and outputs without copies, which stay valid; errors as exceptions. QUERN_SOURCE_DIR has
digits; the cases of ONNX are those of Debian's libonnx-testdata, where they are."""
import gc
import os
import pathlib
import threading
import unittest

import numpy as np

import quern

DIGITS = pathlib.Path(os.environ["QUERN_SOURCE_DIR"]) / "examples/digits/digits.onnx"
CASES = pathlib.Path("/usr/share/libonnx-testdata/data/node")


def pictures(count, seed=1):
    return np.random.default_rng(seed).random((count, 1, 28, 28), np.float32)


def case(name):
    path = CASES / name / "model.onnx"
    if not path.exists():
        raise unittest.SkipTest(f"{path} is missing (Debian: libonnx-testdata)")
    return quern.load(path)


class Models(unittest.TestCase):
    def setUp(self):
        self.model = quern.load(DIGITS)

    def test_tells_what_it_is(self):
        self.assertEqual(self.model.inputs, (quern.Value("image", "f32", ("N", 1, 28, 28), "tensor"),))
        self.assertEqual(self.model.outputs, (quern.Value("probabilities", "f32", ("N", 10), "tensor"),))
        self.assertEqual(self.model.inputs[0].numpy_dtype, np.float32)
        self.assertEqual(self.model.metadata.producer_name, "pytorch")
        self.assertEqual(self.model.metadata.properties["labels"], "0,1,2,3,4,5,6,7,8,9")
        self.assertIn("cpu", [device.name for device in quern.devices()])
        self.assertRegex(quern.version(), r"\d+\.\d+\.\d+")

    def run_digits(self, images, **options):
        return self.model.run({"image": images}, **options)["probabilities"]

    def test_runs_batches_as_their_pictures_alone(self):
        images = pictures(3)
        together = self.run_digits(images)
        self.assertEqual((together.shape, together.dtype), ((3, 10), np.float32))
        np.testing.assert_allclose(together.sum(axis=1), 1, rtol=1e-5)
        for i in range(3):
            np.testing.assert_allclose(self.run_digits(images[i:i + 1])[0], together[i], rtol=1e-5, atol=1e-6)

    def test_outputs_are_the_engines_memory_and_stay(self):
        first = self.run_digits(pictures(1))
        kept = first.copy()
        self.assertFalse(first.flags.owndata)
        second = self.run_digits(pictures(1, seed=2))  # while the first lives: in another session
        self.assertFalse(np.shares_memory(first, second))
        np.testing.assert_array_equal(first, kept)
        view = first[0, 3:5]
        del first
        model, self.model = self.model, None
        del model
        gc.collect()
        self.run_after_all = quern.load(DIGITS).run({"image": pictures(1, seed=3)})
        np.testing.assert_array_equal(view, kept[0, 3:5])

    def test_a_session_runs_again_when_its_outputs_are_gone(self):
        result = self.run_digits(pictures(1))
        address = result.ctypes.data
        self.assertNotEqual(self.run_digits(pictures(1)).ctypes.data, address)
        del result
        addresses = {self.run_digits(pictures(1)).ctypes.data for _ in range(20)}
        self.assertLessEqual(len(addresses), 2)
        self.assertIn(address, addresses)

    def test_contiguous_inputs_are_not_copied(self):
        from quern._engine import _tensor
        images = pictures(2)
        tensor, kept = _tensor(self.model.inputs[0], images)
        self.assertEqual(tensor.data, images.ctypes.data)
        self.assertTrue(np.shares_memory(kept, images))

    def test_other_layouts_and_byte_orders_are_read_right(self):
        images = pictures(2)
        expected = self.run_digits(images).copy()
        np.testing.assert_array_equal(self.run_digits(np.asfortranarray(images)), expected)
        np.testing.assert_array_equal(self.run_digits(images.astype(">f4")), expected)
        np.testing.assert_array_equal(self.run_digits(np.repeat(images, 2, axis=0)[::2]), expected)
        np.testing.assert_array_equal(self.run_digits(images.tolist()), expected)

    def test_outputs_are_written_to_arrays_of_the_caller(self):
        expected = self.run_digits(pictures(1)).copy()
        into = np.full((4, 10), np.nan, np.float32)
        result = self.run_digits(pictures(1), out={"probabilities": into})
        self.assertTrue(np.shares_memory(into, result))
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(into[0], expected[0])
        self.assertTrue(np.isnan(into[1:]).all())
        kept = into.copy()
        self.run_digits(pictures(1, seed=5))  # is not bound any more
        np.testing.assert_array_equal(into, kept)
        for wrong in (into.astype(np.float64), into[:, ::2], np.frombuffer(bytes(400), np.float32)):
            with self.assertRaisesRegex(quern.InvalidArgument, "the array for output 'probabilities'"):
                self.run_digits(pictures(1), out={"probabilities": wrong})
        with self.assertRaisesRegex(quern.Error, "40|bytes"):
            self.run_digits(pictures(1), out={"probabilities": np.empty(3, np.float32)})

    def test_errors_have_the_librarys_sentence(self):
        for inputs, error, sentence in (
                ({}, quern.InvalidArgument, "no value for the inputs image"),
                ({"picture": 0, "image": 0}, quern.InvalidArgument, "no input 'picture'; there is: image"),
                ({"image": pictures(1).astype("f8")}, ValueError, r"'image' is f64\[1,1,28,28\], the model wants f32"),
                ({"image": pictures(1)[0]}, quern.InvalidArgument, "the model wants f32"),
                ({"image": np.zeros((1,) * 17, "f4")}, quern.Unsupported, "17 dimensions, wanted at most 16"),
                ({"image": np.zeros(3, complex)}, quern.InvalidArgument, "complex128, which no tensor has")):
            with self.subTest(sentence), self.assertRaisesRegex(error, sentence):
                self.model.run(inputs)
        with self.assertRaisesRegex(quern.InvalidArgument, "no output 'digit'; there is: probabilities"):
            self.run_digits(pictures(1), outputs=["digit"])
        self.assertEqual(self.run_digits(pictures(1)).shape, (1, 10))

    def test_a_deadline_stops_a_run(self):
        with self.assertRaises(TimeoutError):
            self.run_digits(pictures(2000), seconds=1e-6)
        self.assertEqual(self.run_digits(pictures(2), seconds=60).shape, (2, 10))

    def test_threads_run_one_model(self):
        expected = [self.run_digits(pictures(1, seed)).copy() for seed in range(4)]
        wrong = []

        def work(seed):
            for _ in range(25):
                if not np.array_equal(self.run_digits(pictures(1, seed)), expected[seed]):
                    wrong.append(seed)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_options_reach_the_engine(self):
        images = {"image": pictures(8)}
        whole = self.model.plan_info(images)
        self.assertEqual(whole.segments, 1)
        self.assertGreaterEqual(whole.arena_bytes, whole.arena_lower_bound)
        unshared = quern.load(DIGITS, strategy="none").plan_info(images)
        self.assertGreater(unshared.arena_bytes, whole.arena_bytes)
        limit = whole.arena_bytes * 3 // 4
        striped = quern.load(DIGITS, arena_limit=limit)
        self.assertLessEqual(striped.plan_info(images).arena_bytes, limit)
        np.testing.assert_allclose(striped.run(images)["probabilities"], self.model.run(images)["probabilities"],
                                   rtol=1e-4, atol=1e-6)
        with self.assertRaisesRegex(MemoryError, "bytes"):
            quern.load(DIGITS, memory_limit=1000).run(images)
        for options, error in (({"device": "abacus"}, quern.NotFound), ({"strategy": "best"}, quern.NotFound),
                               ({"math": "f4"}, quern.InvalidArgument), ({"seconds": 0}, quern.InvalidArgument)):
            with self.subTest(options), self.assertRaises(error):
                quern.load(DIGITS, **options)

    def test_loads_bytes_and_refuses_what_is_no_model(self):
        again = quern.load(DIGITS.read_bytes())
        np.testing.assert_array_equal(again.run({"image": pictures(1)})["probabilities"], self.run_digits(pictures(1)))
        with self.assertRaises(quern.InvalidModel):
            quern.load(b"\xff" * 100)
        with self.assertRaisesRegex(LookupError, "nowhere.onnx"):
            quern.load("nowhere.onnx")


class OtherValues(unittest.TestCase):
    """What is no plain tensor, by ONNX's own cases."""

    def test_sequences(self):
        model = case("test_sequence_insert_at_back")
        sequence = [value for value in model.inputs if value.kind == "sequence"][0]
        tensor = [value for value in model.inputs if value.kind == "tensor"][0]
        dtype = sequence.numpy_dtype
        given = [np.arange(4).astype(dtype), np.arange(2).astype(dtype)]
        (result,) = model.run({sequence.name: given, tensor.name: np.array([9, 8, 7], dtype)}).values()
        self.assertEqual([element.tolist() for element in result], [[0, 1, 2, 3], [0, 1], [9, 8, 7]])

    def test_optionals(self):
        model = case("test_optional_has_element_empty")
        (result,) = model.run({model.inputs[0].name: None}).values()
        self.assertEqual(result.tolist(), False)
        model = case("test_optional_has_element")
        (result,) = model.run({model.inputs[0].name: np.zeros(4, np.float32)}).values()
        self.assertEqual(result.tolist(), True)

    def test_strings(self):
        model = case("test_strnormalizer_export_monday_casesensintive_upper")
        words = np.array(["monday", "tuesday", "wednesday", "thursday"])
        (result,) = model.run({model.inputs[0].name: words}).values()
        self.assertEqual(result.tolist(), ["TUESDAY", "WEDNESDAY", "THURSDAY"])

    def test_scalars_and_empty_tensors(self):
        model = case("test_reduce_sum_square_default_axes_keepdims_example")
        x, *axes = model.inputs  # newer test data has an input of no axes
        values = {x.name: np.ones((3, 2, 2), x.numpy_dtype)}
        values.update({a.name: np.zeros(0, a.numpy_dtype) for a in axes})
        (result,) = model.run(values).values()
        self.assertEqual(result.ravel().tolist(), [12])


if __name__ == "__main__":
    unittest.main()
