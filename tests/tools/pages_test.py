# SPDX-License-Identifier: Apache-2.0
"""The pages that quern writes, in a browser without a window: on a phone and on a desk, in light and in dark,
by keyboard, mouse and touch. Skipped where there is no Chromium (Debian's package chromium, or QUERN_CHROMIUM).

    python3 pages_test.py path/to/quern path/to/source [TEST ...]

With QUERN_WRITE_TEXTS=1 the places of the boxes are written anew (pages_boxes.json), with QUERN_PICTURES=FOLDER
the screenshots are kept.
"""
import json
import os
import pathlib
import sys
import time
import unittest

import browser
from cli_test import FLOAT, SOURCE, Cli, block, model, node, number, tensor, value_info

HELD = pathlib.Path(__file__).with_name("pages_boxes.json")
KEPT = os.environ.get("QUERN_PICTURES")
DIGITS = SOURCE / "examples/digits/digits.onnx"
PHONE, DESK = (400, 800), (1400, 900)
BOXES = "placed.boxes.map(b => [b.node ? b.node.op : b.group.name, b.x, b.y, b.w, b.h])"
HOSTILE = "</script><script>pwned=1</script><img src=x onerror=pwned=2>\"'&\u202eabc\u2066\x01\0"


def named(name, op, inputs, outputs, **integers):
    """A node with a name of its own."""
    return node(op, inputs, outputs, **integers).replace(block(3, f"n_{op}"), block(3, name), 1)


def graph(nodes, inputs, outputs, constants=()):
    return (b"".join(block(1, n) for n in nodes) + block(2, "body") + b"".join(block(5, c) for c in constants)
            + b"".join(block(11, i) for i in inputs) + b"".join(block(12, o) for o in outputs))


def blocks(count, first="Tanh", second="Sin"):
    """As many residual blocks, with names that have parts: three nodes each. Softmax and LogSoftmax are not fused."""
    nodes, last = [], "x"
    for i in range(count):
        at = f"/layer{i // 4}/block{i % 4}/"
        nodes += [named(at + first.lower(), first, [last], [f"a{i}"]),
                  named(at + second.lower(), second, [f"a{i}"], [f"b{i}"]),
                  named(at + "add", "Add", [f"b{i}", last], [f"c{i}"])]
        last = f"c{i}"
    return model(nodes, [value_info("x", [2, 3])], [value_info(last, [2, 3])])


def chooser():
    """If with a branch of two nodes and one of one; the condition is an input, so that it stays."""
    def branch(*nodes):
        return graph(nodes, [], [value_info("y", [2, 3])])
    then = branch(named("square", "Mul", ["x", "x"], ["s"]), named("sine", "Sin", ["s"], ["y"]))
    other = branch(named("tangent", "Tanh", ["x"], ["y"]))
    both = b"".join(block(5, block(1, k) + block(6, g) + number(20, 5))
                    for k, g in (("then_branch", then), ("else_branch", other)))
    return model([named("choice", "If", ["c"], ["z"]) + both], [value_info("c", [], 9), value_info("x", [2, 3])],
                 [value_info("z", [2, 3])])


def hue(op):
    """The colour of an operator in a timeline."""
    number = 7
    for letter in op.split(".")[0]:
        number = (number * 31 + ord(letter)) % 360
    return number


class Pages(Cli):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def page(self, name, *words):
        path = self.folder / f"{name}.html"
        self.quern(*words, "--html", path)
        return path

    def drawn(self, name, data, *more):
        return self.page(name, "inspect", self.write(f"{name}.onnx", data), *more)

    def show_before(self, path, size=DESK, touch=False):
        """The graph as the model has it."""
        self.show(path, size, touch=touch)
        self.js("show(0)")
        self.browser.frame()

    def show(self, path, size=DESK, scheme="light", touch=False):
        """Opens a page, holds it to what all pages are, and returns the seconds that took."""
        seconds = self.browser.open(path, *size, scheme, touch)
        if KEPT:
            self.browser.picture(pathlib.Path(KEPT) / f"{path.stem}-{size[0]}-{scheme}.png")
        self.assertEqual(self.browser.problems(), [])
        wide, window = self.js("[document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide, window, f"{path.name} is wider than its window")
        self.assertEqual(window, size[0], f"{path.name} makes its window wider")
        return seconds

    def js(self, expression):
        return self.browser.evaluate(expression)

    def shown_everywhere(self, path, check=lambda size: None):
        for size in (PHONE, DESK):
            for scheme in ("light", "dark"):
                with self.subTest(page=path.name, width=size[0], scheme=scheme):
                    self.show(path, size, scheme, touch=size is PHONE)
                    check(size)


class GraphPages(Pages):
    def test_boxes_are_where_they_were(self):
        """Places do not depend on fonts, so that they are the same on every machine."""
        found = {}
        for name, words in {"digits": [DIGITS], "blocks": [self.write("b.onnx", blocks(6))],
                            "choice": [self.write("c.onnx", chooser())]}.items():
            self.show(self.page(name, "inspect", *words))
            for number, at in enumerate(("before", "after")):
                self.js(f"show({number})")
                found[f"{name} {at}"] = self.js(BOXES)
        if os.environ.get("QUERN_WRITE_TEXTS"):
            HELD.write_text("{\n" + ",\n".join(f"  {json.dumps(k)}: [\n    " + ",\n    ".join(map(json.dumps, v)) + "]"
                                              for k, v in found.items()) + "\n}\n")
        self.assertEqual(found, json.loads(HELD.read_text()))

    def test_is_drawn_at_both_widths_in_both_schemes(self):
        path = self.page("digits", "inspect", DIGITS)
        self.shown_everywhere(path, self.check_screen)

    def check_screen(self, size):
        """Boxes in sight are painted in the colour of their family, and lines lead to them."""
        self.browser.frame()
        width, height, rows = browser.pixels(self.browser.picture())
        self.assertEqual((width, height), size)
        seen = self.js("""(() => {
          const r = canvas.getBoundingClientRect(), swatch = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
          return placed.boxes.filter(b => b.node && !b.node.kind).map(b => {
            swatch.fillStyle = fill(b.node.family);
            swatch.fillRect(0, 0, 1, 1);
            return [Math.round(r.left + b.x * scale + left + 5), Math.round(r.top + (b.y + 10) * scale + top_), [...swatch.getImageData(0, 0, 1, 1).data].slice(0, 3)];
          }).filter(([x, y]) => x > 0 && y > r.top && x < r.right - 130 && y < r.bottom - 80); })()""")
        self.assertGreater(len(seen), 4)
        for x, y, colour in seen:
            self.assertLessEqual(max(abs(a - b) for a, b in zip(rows[y][x], colour)), 2, f"at {x}, {y} of {size}")
        top, bottom = self.js("[0, 1].map(i => { const b = placed.boxes[i]; const r = canvas.getBoundingClientRect();"
                              "return [r.left + b.cx * scale + left, r.top + (b.y + (i ? 0 : b.h)) * scale + top_]; })")
        x, y = round(top[0]), round((top[1] + bottom[1]) / 2)
        self.assertTrue(any(rows[y][x + i] != rows[y][x + 6] for i in (-1, 0, 1)), "no line between the first boxes")

    def test_boxes_do_not_overlap_and_paths_are_straight(self):
        self.show(self.drawn("blocks", blocks(40)))
        for fold in (0, 2, 1):
            self.js(f"foldTo({fold})")
            boxes = self.js(BOXES)
            for i, (_, x, y, w, h) in enumerate(boxes):
                for _, x2, y2, w2, h2 in boxes[:i]:
                    self.assertFalse(x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h)
            self.assertEqual(len({x for name, x, *_ in boxes}), 1, f"folded to {fold}")
        self.assertEqual([b[0] for b in self.js(BOXES)][1:-1], [f"layer{i}" for i in range(10)])

    def test_search(self):
        for size in (PHONE, DESK):
            self.show_before(self.drawn("blocks", blocks(40)), size, touch=size is PHONE)
            self.browser.key("/")
            self.assertEqual(self.js("document.activeElement.id"), "search")
            self.browser.type("layer7 SIN")
            self.assertEqual(self.js("hits.map(h => h[1].name)"), [f"/layer7/block{i}/sin" for i in range(4)])
            self.assertEqual(self.js("$('found').children.length"), 4)
            self.browser.key("ArrowDown")
            self.browser.key("Enter")
            self.assertEqual(self.js("chosen.node.name"), "/layer7/block1/sin")
            self.assertIn("/layer7/block1/sin", self.js("$('panel').textContent"))
            x, y = self.js("[chosen.cx * scale + left, chosen.y * scale + top_]")
            wide, high = self.js("[canvas.clientWidth, canvas.clientHeight]")
            self.assertTrue(0 < x < wide and 0 < y < high, "what was found is in sight")
            self.browser.key("/")
            self.browser.type("no such node")
            self.assertEqual(self.js("$('found').textContent"), "Nothing is found.")
            self.browser.key("Escape")
            self.assertEqual(self.js("[document.activeElement.id, $('search').value]"), ["canvas", ""])
            self.browser.key("Escape")
            self.assertTrue(self.js("$('panel').hidden"))

    def test_keyboard(self):
        self.show_before(self.drawn("blocks", blocks(40)))
        for _ in range(12):
            self.browser.key("Tab")
            if self.js("document.activeElement.id") == "canvas":
                break
        self.assertEqual(self.js("document.activeElement.id"), "canvas")
        self.assertTrue(self.js("canvas.matches(':focus-visible') && getComputedStyle(canvas).outlineStyle !== 'none'"))
        place = "[left, top_, scale]"
        before = self.js(place)
        self.browser.key("ArrowDown")
        self.browser.key("ArrowRight")
        after = self.js(place)
        self.assertEqual(after, [before[0] - 60, before[1] - 60, before[2]])
        self.browser.key("+")
        self.assertAlmostEqual(self.js("scale"), before[2] * 1.25)
        self.browser.key("-")
        self.assertAlmostEqual(self.js("scale"), before[2])
        self.browser.key("0")
        self.assertLessEqual(self.js("placed.h * scale"), self.js("canvas.clientHeight"))
        self.browser.key("n")
        self.browser.key("n")
        self.assertEqual(self.js("chosen.node.name"), "/layer0/block0/tanh")
        self.assertIn("Unary.tanh", self.js("$('said').textContent"))
        self.browser.key("p")
        self.assertEqual(self.js("chosen.node.kind"), "input")
        self.js("foldTo(1)")
        self.browser.key("n")
        self.browser.key("n")
        self.assertEqual(self.js("chosen.group.name"), "layer0")
        self.browser.key("Enter")
        self.assertEqual(self.js("chosen.node.name"), "/layer0/block0/tanh")

    def test_names_for_those_who_do_not_see(self):
        self.show(self.page("digits", "inspect", DIGITS))
        nameless = self.js("""[...document.querySelectorAll('button, select, input, canvas, [role=listbox], aside')].filter(e =>
          !e.textContent.trim() && !e.getAttribute('aria-label') || e.tagName === 'SELECT' && !e.getAttribute('aria-label')).map(e => e.outerHTML)""")
        self.assertEqual(nameless, [])
        self.assertIn("digits, after", self.js("canvas.getAttribute('aria-label')"))

    def test_mouse_and_touch(self):
        path = self.drawn("blocks", blocks(40))
        place = "[left, top_, scale]"
        self.show_before(path)
        x0, y0, scale = self.js(place)
        self.browser.drag(1000, 500, 900, 400)
        x1, y1, same = self.js(place)
        self.assertTrue(x1 < x0 - 60 and y1 < y0 - 60 and same == scale)
        self.browser.wheel(700, 500, -200)
        self.assertGreater(self.js("scale"), scale)
        self.js("begin()")
        self.browser.frame()
        self.click_box(1)
        self.assertEqual(self.js("chosen.node.name"), "/layer0/block0/tanh")
        self.js("[...$('panel').querySelectorAll('button')].find(b => b.textContent.startsWith('Fold')).click()")
        self.assertEqual(self.js("[chosen.group.name, chosen.group.size]"), ["block0", 3])
        self.show_before(path, PHONE, touch=True)
        scale = self.js("scale")
        self.browser.pinch(200, 450, 40, 80)
        self.assertGreater(self.js("scale"), 1.4 * scale)
        self.assertLessEqual(self.js("visualViewport.scale"), 1, "the page itself is not zoomed")
        y0 = self.js("top_")
        self.browser.touch("touchStart", [(200, 500)])
        for y in (480, 450, 400):
            self.browser.touch("touchMove", [(200, y)])
        self.browser.touch("touchEnd", [])
        self.browser.frame()
        self.assertLess(self.js("top_"), y0 - 50)
        self.js("begin()")
        self.browser.frame()
        self.click_box(2)
        self.assertFalse(self.js("$('panel').hidden"))
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 400)

    def click_box(self, at):
        self.browser.click(*self.js(f"(b => {{ const r = canvas.getBoundingClientRect(); return [r.left + b.cx * scale + left, "
                                    f"r.top + (b.y + 10) * scale + top_]; }})(placed.boxes[{at}])"))

    def test_before_and_after(self):
        self.show(self.page("digits", "inspect", DIGITS))
        self.assertEqual(self.js("[...$('views').children].map(b => [b.textContent, b.getAttribute('aria-pressed')])"),
                         [["before", "false"], ["after", "true"]])
        after = self.js("placed.boxes.filter(b => !b.node.kind).length")
        conv = self.js("placed.boxes.find(b => b.node.op === 'Conv').node")
        self.assertIn("relu", conv["posts"])
        self.assertTrue(conv["kernel"] and conv["flops"] > 0 and conv["bytes"] > 0)
        self.assertTrue(any("constant" in text for text, _ in conv["inputs"]))
        tall = self.js("placed.boxes.find(b => b.node.op === 'Conv').h")
        self.js("$('posts').click()")
        self.assertLess(self.js("placed.boxes.find(b => b.node.op === 'Conv').h"), tall)
        self.js("$('views').children[0].click()")
        self.browser.frame()
        self.assertGreater(self.js("placed.boxes.filter(b => !b.node.kind).length"), after)
        self.assertIn("BatchNorm", self.js("placed.boxes.map(b => b.node.op)"))
        self.assertTrue(self.js("$('posts').hidden"))

    def test_bodies(self):
        self.show_before(self.drawn("choice", chooser()))
        closed = self.js(BOXES)
        self.assertEqual(sorted(b[0] for b in closed), ["If", "input", "input", "output"])
        self.js("$('bodies').click()")
        opened = self.js("placed.boxes.filter(b => b.within).map(b => [b.node.name, b.within.node.op, b.x >= b.within.x && "
                         "b.x + b.w <= b.within.x + b.within.w && b.y > b.within.y && b.y + b.h <= b.within.y + b.within.h])")
        self.assertLessEqual({("square", "If", True), ("sine", "If", True), ("tangent", "If", True)}, set(map(tuple, opened)))
        self.js("$('bodies').click()")
        self.assertEqual(self.js(BOXES), closed)
        self.browser.key("/")
        self.browser.type("sine")
        self.browser.key("Enter")
        self.assertEqual(self.js("[chosen.node.name, chosen.within.node.name]"), ["sine", "choice"])

    def test_names_of_a_model_are_text(self):
        data = model([named(HOSTILE + "/a", "Sin", [HOSTILE], ["m" + HOSTILE]),
                      named(HOSTILE + "/b", "Tanh", ["m" + HOSTILE], [HOSTILE + "y"])],
                     [value_info(HOSTILE, ["n" + HOSTILE, 3])], [value_info(HOSTILE + "y", [2, 3])])
        path = self.drawn("hostile", data)
        text = path.read_bytes().decode()
        for hidden in "\u202e\u2066\x00\x01":
            self.assertNotIn(hidden, text)
        self.assertEqual(text.count("</script>"), 2)
        self.show(path)
        self.js("foldTo(1); choose(placed.boxes[1], true); $('search').value = 'pwned'; search()")
        self.browser.frame()
        self.assertEqual(self.js("[typeof pwned, document.images.length, document.scripts.length]"), ["undefined", 0, 2])
        self.assertIn("\\u202eabc\\u2066", self.js("$('panel').textContent + $('found').textContent"))
        self.assertGreater(self.js("hits.length"), 1)

    def test_3000_nodes_open_in_two_seconds(self):
        path = self.drawn("large", blocks(1000, "Softmax", "LogSoftmax"))
        self.show(path)
        self.assertEqual(self.js("placed.boxes.length"), 3002)
        self.assertLess(min(self.show(path, size) for size in (DESK, PHONE, DESK)), 2)
        self.js("moves.reset()")
        self.browser.frame()
        self.assertLess(self.js("(() => { const t = performance.now(); paint(); return performance.now() - t; })()"), 500)

    def test_of_100000_nodes_the_first_are_drawn(self):
        begin = time.monotonic()
        path = self.drawn("huge", blocks(33_333, "Softmax", "LogSoftmax"))
        self.assertLess(time.monotonic() - begin, 200)
        self.assertLess(path.stat().st_size, 40e6)
        self.show(path)
        self.assertIn("nodes are left out", self.js("$('about').textContent"))
        self.assertEqual(self.js("placed.boxes.length"), 20_000)

    def test_profile(self):
        times = self.write("p.json", self.quern("profile", DIGITS, "--runs", 2, "--json").stdout)
        path = self.page("digits", "inspect", DIGITS, "--profile", times)
        self.shown_everywhere(path)
        self.assertEqual(self.js("colourBy"), "ms")
        drawn = self.js("placed.boxes.reduce((sum, b) => sum + (b.node.ms || 0), 0)")
        measured = json.loads(pathlib.Path(times).read_text())["kernels_ms"]
        self.assertTrue(.5 * measured < drawn <= 1.0001 * measured, f"{drawn} ms of {measured}")
        self.assertRegex(self.js("$('legend').textContent"), "[0-9] [mu]s$")
        for key in ("flops", "bytes", "live", "family"):
            self.js(f"(o => {{ o.value = '{key}'; o.onchange({{target: o}}); }})($('colour'))")
            self.browser.frame()
            self.assertEqual(self.js("colourBy"), key)
        self.assertEqual(self.browser.problems(), [])

    def test_what_is_refused(self):
        html = self.folder / "p.html"
        for text in ("{}", "[1]", "{\"steps\": 3, \"run_ms\": 1}", "{\"steps\": []}", "nonsense"):
            other = self.write("other.json", text)
            self.assertIn("other.json", self.quern("inspect", DIGITS, "--html", html, "--profile", other, code=2).stderr)
        self.assertIn("--html", self.quern("inspect", DIGITS, "--profile", other, code=2).stderr)
        self.assertFalse(html.exists())
        artefact = self.folder / "d.quern"
        self.quern("compile", DIGITS, "-o", artefact)
        self.assertIn("compiled", self.quern("inspect", artefact, "--html", html, code=2).stderr)
        self.assertIn("cannot write", self.quern("inspect", DIGITS, "--html", self.folder / "no" / "p.html", code=2).stderr)

    def test_loads_nothing(self):
        text = self.page("digits", "inspect", DIGITS).read_text()
        for outside in ("src=", "href=", "@import", "fetch(", "http:", "https:", "XMLHttp", "WebSocket"):
            self.assertNotIn(outside, text)


class OtherPages(Pages):
    def test_profile(self):
        path = self.page("profile", "profile", DIGITS, "--runs", 2)
        self.shown_everywhere(path, lambda size: self.check_tables(["operators", "kernels"]))
        self.js("canvas.focus()")
        self.browser.key("+")
        self.browser.key("+")
        self.assertLess(self.js("span"), .7 * self.js("end"))
        from_ = self.js("from")
        self.browser.key("ArrowRight")
        self.assertGreater(self.js("from"), from_)
        self.browser.key("0")
        self.assertEqual(self.js("[from, span]"), self.js("[0, end]"))
        first = "document.getElementById('kernels').rows[1].textContent"
        slowest = self.js(first)
        self.js("document.querySelectorAll('#kernels button')[3].click()")
        self.assertNotEqual(self.js(first), slowest)
        self.assertEqual(self.js("document.querySelector('#kernels th[aria-sort]').getAttribute('aria-sort')"), "ascending")
        self.show(path, PHONE, touch=True)
        self.js("canvas.scrollIntoView({block: 'center'})")
        x, y = self.js("(r => [r.left + r.width / 2, r.top + r.height / 2])(canvas.getBoundingClientRect())")
        self.browser.pinch(x, y, 40, 90)
        self.assertLess(self.js("span"), .7 * self.js("end"))

    def check_tables(self, names):
        for name in names:
            self.assertTrue(self.js(f"(t => t.rows.length > 1 && t.parentNode.clientWidth <= innerWidth)(document.getElementById('{name}'))"))

    def test_plan(self):
        path = self.page("plan", "plan", DIGITS, "--strategy", "greedy-by-size,first-fit")
        self.shown_everywhere(path, lambda size: self.assertEqual(self.js("document.querySelectorAll('svg.shown').length"), 2))
        self.show(path)
        wide = "document.querySelector('svg.shown').clientWidth"
        before = self.js(wide)
        self.js("document.querySelector('.zoomed').focus()")
        self.browser.key("+")
        self.assertAlmostEqual(self.js(wide), 1.25 * before, delta=2)
        self.browser.key("0")
        self.assertEqual(self.js(wide), before)
        self.js("document.querySelector('[aria-label=\"zoom in\"]').click()")
        self.assertGreater(self.js(wide), before)
        x, y = self.js("(r => [r.left + r.width / 2, r.top + r.height / 2])(document.querySelector('svg.shown rect.b').getBoundingClientRect())")
        self.browser.mouse("mouseMoved", x, y)
        self.browser.frame()
        self.assertIn("bytes at", self.js("document.getElementById('hint').textContent"))

    def test_plan_is_drawn_as_its_buffers_lie(self):
        buffers = [(0, 2, 100, 0), (1, 4, 50, 100), (2, 3, 70, 0), (3, 5, 30, 0)]  # first, end, bytes, offset
        problem = self.folder / "p.csv"
        problem.write_text("id,lower,upper,size\n" + "".join(f"b{i},{a},{b},{n}\n" for i, (a, b, n, _) in enumerate(buffers)))
        path = self.page("known", "plan", problem, "--strategy", "greedy-by-size")
        for size in (PHONE, DESK):
            with self.subTest(width=size[0]):
                self.show(path, size)
                self.js("document.querySelector('svg.shown').scrollIntoView({block: 'center'})")
                drawn = self.js("[...document.querySelectorAll('svg.shown rect.b')].map(b => { const r = b.getBoundingClientRect(); "
                                "return [r.left, r.top, r.right, r.bottom, getComputedStyle(b).fill]; })")
                self.assertEqual(len(drawn), len(buffers))
                # The first one says where step 0 and byte 0 are, and what a step and a byte take.
                left, top, right, bottom, _ = drawn[0]
                step, byte = (right - left) / 2, (bottom - top) / 100
                known = [(left + step * a, bottom - byte * (at + n), left + step * b, bottom - byte * at, box[4])
                         for (a, b, n, at), box in zip(buffers, drawn)]
                for box, wanted in zip(drawn, known):
                    self.assertLess(max(abs(x - y) for x, y in zip(box[:4], wanted[:4])), .5, (box, wanted))
                self.assertEqual(len({box[4] for box in drawn}), len(drawn), "a colour for each")
                frame = self.js("(r => [r.left, r.top, r.right, r.bottom])(document.querySelector('.zoomed').getBoundingClientRect())")
                in_sight = [(max(a, frame[0]), max(b, frame[1]), min(c, frame[2]), min(d, frame[3]), colour)
                            for a, b, c, d, colour in known]
                in_sight = [box for box in in_sight if box[2] - box[0] > 8 and box[3] - box[1] > 8]
                self.assertGreater(len(in_sight), 1)
                self.looks_like(in_sight, size, share=.8)  # names stand in the boxes

    def test_timeline_is_drawn_as_the_steps_were(self):
        path = self.page("timeline", "profile", DIGITS)
        for size in (PHONE, DESK):
            with self.subTest(width=size[0]):
                self.show(path, size)
                self.js("canvas.scrollIntoView({block: 'center'})")
                self.browser.frame()
                left, top, width, height = self.js("(r => [r.left + canvas.clientLeft, r.top + canvas.clientTop, canvas.clientWidth, "
                                                   "canvas.clientHeight])(canvas.getBoundingClientRect())")
                steps = self.js("data.timeline")
                whole = steps[-1][1]
                self.assertEqual({lane for *_, lane in steps}, {0})
                # The upper edge of each step, above what is written in it.
                known = [(left + width * a / whole, top + 17, left + width * b / whole, top + 27, f"hsl({hue(op)} 55% 55%)")
                         for a, b, op, *_ in steps]
                wide = [box for box in known if box[2] - box[0] > 8]
                self.assertGreater(len(wide), 1)
                self.looks_like(wide, size, share=.97)

    def looks_like(self, boxes, size, share):
        """What is in sight has the colours of a page that is made of these boxes: left, top, right, bottom and colour."""
        _, _, seen = browser.pixels(self.browser.picture())
        page = self.folder / "boxes.html"
        page.write_text("<!doctype html><body style='margin:0;overflow:hidden'>" + "".join(
            f"<div style='position:absolute;left:{a}px;top:{b}px;width:{c - a}px;height:{d - b}px;background:{colour}'></div>"
            for a, b, c, d, colour in boxes))
        self.browser.open(page, *size)
        _, _, wanted = browser.pixels(self.browser.picture())
        for a, b, c, d, colour in boxes:
            inside = [(x, y) for x in range(int(a) + 3, int(c) - 2) for y in range(int(b) + 3, int(d) - 2)]
            same = sum(max(abs(p - q) for p, q in zip(seen[y][x], wanted[y][x])) <= 8 for x, y in inside)
            self.assertGreater(len(inside), 0, (a, b, c, d))
            self.assertGreaterEqual(same, share * len(inside), f"{colour} at {a}, {b} to {c}, {d} of {size}")

    def test_frontier(self):
        self.shown_everywhere(self.page("frontier", "plan", DIGITS, "--frontier"))

    def test_kernels(self):
        self.shown_everywhere(self.page("kernels", "kernel", "matmul:m32n48k64 f32 bias +relu", "--time", "0.05", "-t", "1"))

    def test_history(self):
        files = []
        for day, factor in ((1, 1), (2, 3), (3, 2)):
            files.append(self.folder / f"{day}.jsonl")
            files[-1].write_text("".join(json.dumps(
                {"schema": 1, "problem": f"matmul:m{i}n5k6 {HOSTILE}", "kernel": "rows", "implementation": "rows",
                 "device": "cpu", "mode": "warm", "math": "f32", "threads": 1, "date": f"2026-01-0{day}T00:00:00Z",
                 "wall_us": [10 * i * factor] * 9, "processor_us": [10 * i * factor] * 9}) + "\n" for i in range(1, 8)))
        path = self.page("history", "kernel", "--history", *files)
        self.shown_everywhere(path, self.check_figures)

    def check_figures(self, size):
        """Beside each other as the window has room, the second of three points above the third above the first."""
        boxes = self.js("[...document.querySelectorAll('figure')].map(f => { const b = f.getBoundingClientRect(); "
                        "return [b.left, b.top, b.right]; })")
        self.assertEqual(len(boxes), 7)
        beside = sum(abs(top - boxes[0][1]) < 1 for _, top, _ in boxes)
        self.assertTrue(beside == 1 if size is PHONE else beside >= 4, boxes)
        for dots in self.js("[...document.querySelectorAll('figure svg')].map(s => [...s.querySelectorAll('circle')]"
                            ".map(c => { const b = c.getBoundingClientRect(); return [b.left, b.top]; }))"):
            self.assertEqual(len(dots), 3)
            (x1, y1), (x2, y2), (x3, y3) = dots
            self.assertTrue(x1 < x2 < x3 and y2 < y3 < y1, dots)
        self.assertEqual(self.js("window.pwned"), None)


if __name__ == "__main__":
    if not browser.program():
        print("skipped: there is no Chromium to show pages (Debian's package chromium)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
