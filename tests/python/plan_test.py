# SPDX-License-Identifier: Apache-2.0
"""quern.plan: what the library gives, as arrays that stay valid, and errors with its sentences."""
import gc
import itertools
import random
import threading
import unittest
import xml.dom.minidom

import numpy as np

import quern
from quern.plan import Bank, Plan, Problem, Trace

TRACE = """run,event,id,bytes,alignment
0,alloc,0,1000,
0,alloc,1,3000,
0,free,0,,
0,alloc,2,900,
0,free,1,,
0,free,2,,
1,alloc,0,4000,
1,free,0,,
"""


def random_problem(seed, count):
    rng = random.Random(seed)
    first = [rng.randrange(20) for _ in range(count)]
    return Problem([rng.randrange(1, 64) for _ in range(count)], first, [f + rng.randrange(1, 8) for f in first])


def overlaps(plan):
    """Pairs of buffers that live at one time and share bytes, by the plainest means."""
    p, offsets = plan.problem, plan.offsets.astype(int)
    ends = offsets + p.sizes.astype(int)
    return [(a, b) for a, b in itertools.combinations(range(len(p)), 2)
            if p.first[a] < p.end[b] and p.first[b] < p.end[a] and offsets[a] < ends[b] and offsets[b] < ends[a]]


def least_by_trying(problem):
    """The smallest arena over all orders in which buffers are placed lowest first: an optimum is among them."""
    n = len(problem)
    sizes, first, end = problem.sizes.astype(int), problem.first, problem.end
    best = int(sizes.sum())
    for order in itertools.permutations(range(n)):
        at = {}
        for i in order:
            taken = sorted((at[j], at[j] + sizes[j]) for j in at if first[i] < end[j] and first[j] < end[i])
            offset = 0
            for low, high in taken:
                if offset + sizes[i] <= low:
                    break
                offset = max(offset, high)
            at[i] = offset
        best = min(best, max(at[i] + sizes[i] for i in at))
    return best


class Problems(unittest.TestCase):
    def test_arrays_come_back_as_they_were_given(self):
        problem = Problem(np.array([8, 8, 30], np.uint32), [0, 1, -4], [2, 3, 5], alignment=[1, 8, 2], fixed=[-1, 16, -1],
                          must_be_zero=[False, False, True], gaps=[(2, -2, 0), (2, 3, 4, 10, 20)],
                          names=["a", "b", "größe"])
        self.assertEqual(problem.sizes.tolist(), [8, 8, 30])
        self.assertEqual(problem.first.tolist(), [0, 1, -4])
        self.assertEqual(problem.end.tolist(), [2, 3, 5])
        self.assertEqual(problem.alignment.tolist(), [1, 8, 2])
        self.assertEqual(problem.fixed.tolist(), [-1, 16, -1])
        self.assertEqual(problem.must_be_zero.tolist(), [False, False, True])
        self.assertEqual(problem.gaps.tolist(), [(2, -2, 0, 0, 0), (2, 3, 4, 10, 20)])
        self.assertEqual(problem.names, ["a", "b", "größe"])
        self.assertEqual(Problem.from_csv(problem.csv()).gaps.tolist(), problem.gaps.tolist())

    def test_arrays_are_the_librarys_memory_and_keep_it(self):
        sizes = Problem([8, 9], [0, 1], [2, 3]).sizes
        offsets = Problem([8, 9], [0, 1], [2, 3]).plan("greedy-by-size").offsets[::-1]
        gc.collect()
        self.assertEqual(sizes.tolist(), [8, 9])
        self.assertEqual(sorted(offsets.tolist()), [0, 9])
        self.assertFalse(sizes.flags.owndata or sizes.flags.writeable)

    def test_what_makes_no_sense_is_refused_with_a_sentence(self):
        for arguments, options, sentence in (
                (([8], [0], [-1]), {}, "buffer '0': ends at -1, before it begins at 0"),
                (([-8], [0], [1]), {}, "sizes has -8 to -8, wanted numbers of uint64"),
                (([8.5], [0], [1]), {}, "sizes has elements of float64, wanted integers"),
                (([8, 8], [0], [1, 1]), {}, r"first has the shape \(1,\), wanted \(2,\)"),
                (([8], [0], [1]), {"alignment": 0}, "alignment 0, wanted 1 to"),
                (([8], [0], [1]), {"fixed": [-2]}, "fixed has -2"),
                (([8], [0], [1]), {"names": ["a", "b"]}, "names has 2 elements, wanted 1"),
                (([8], [0], [1]), {"gaps": [(1, 0, 1)]}, "gap 0 is of buffer 1, there are 1"),
                (([8], [0], [1]), {"gaps": [(0, 1)]}, r"gaps has the shape \(1, 2\)"),
                (([2**61], [0], [1]), {}, r"add up to more than 2\^60")):
            with self.subTest(sentence), self.assertRaisesRegex(quern.InvalidArgument, sentence):
                Problem(*arguments, **options)
        with self.assertRaisesRegex(ValueError, "line 2"):
            Problem.from_csv("id,lower,upper,size\na,0,1,much\n")

    def test_an_empty_problem_has_a_plan(self):
        plan = Problem([], [], []).plan()
        self.assertEqual((plan.size, plan.status, plan.offsets.tolist()), (0, "optimal", []))


def random_banks(seed, count=4):
    """Two banks, of which the first holds about half of what is live; perhaps choices, groups and prices of reuse."""
    rng = random.Random(seed)
    first = [rng.randrange(4) for _ in range(count)]
    sizes = [rng.randrange(1, 5) for _ in range(count)]
    banks = [Bank("near", rng.randrange(1, 8), cost=rng.randrange(3), reuse=rng.choice((0, 0, 3))),
             Bank("far", rng.choice((None, 6)), cost=rng.randrange(1, 5), reuse=rng.choice((0, 2)))]
    allowed = [rng.choice(([], [], ["near"], ["far"], [0, 1])) for _ in range(count)]
    groups = [[rng.randrange(3) if rng.randrange(3) == 0 else 0 for _ in range(count)] for _ in range(2)]
    return Problem(sizes, first, [f + rng.randrange(1, 3) for f in first], banks=banks, allowed=allowed,
                   separation=groups[0], colocation=groups[1])


def all_plans(problem):
    """(cost, bytes) of every valid plan whose offsets are below the sum of the sizes; the library judges none of them."""
    p, n = problem, len(problem)
    sizes, first, end = p.sizes.tolist(), p.first.tolist(), p.end.tolist()
    allowed, banks = p.allowed, p.banks
    for where in itertools.product(*((a or range(len(banks))) for a in allowed)):
        if any(g and g == h and where[i] == where[j] for (i, g), (j, h) in
               itertools.combinations(enumerate(p.separation.tolist()), 2)) or \
                any(g and g == h and where[i] != where[j] for (i, g), (j, h) in
                    itertools.combinations(enumerate(p.colocation.tolist()), 2)):
            continue
        rooms = [sum(s for s, b in zip(sizes, where) if b == bank) for bank in range(len(banks))]
        rooms = [room if bank.capacity is None else min(room, bank.capacity) for room, bank in zip(rooms, banks)]
        for at in itertools.product(*(range(rooms[b] - s + 1) for s, b in zip(sizes, where))):
            shared = [(i, j) for i, j in itertools.permutations(range(n), 2)
                      if where[i] == where[j] and at[i] < at[j] + sizes[j] and at[j] < at[i] + sizes[i]]
            if any(first[i] < end[j] and first[j] < end[i] for i, j in shared):
                continue
            reused = {j for i, j in shared if first[i] < first[j]}
            cost = sum(banks[b].cost * s for s, b in zip(sizes, where)) + sum(banks[where[j]].reuse for j in reused)
            yield cost, sum(max((at[i] + sizes[i] for i in range(n) if where[i] == b), default=0)
                            for b in range(len(banks)))


class Banks(unittest.TestCase):
    def setUp(self):
        try:
            random_banks(0)
        except quern.Unsupported as error:  # libquern_plan.so
            self.assertRegex(str(error), "banks, wanted one memory")
            with self.assertRaisesRegex(quern.Unsupported, "a table of banks, wanted one memory"):
                Problem.from_csv("bank,capacity,cost\nsram,64,1\n\nid,lower,upper,size\na,0,1,64\n")
            self.skipTest(str(error))

    def test_exact_answers_are_those_of_trying_everything(self):
        found = 0
        for seed in range(200):
            problem = random_banks(seed)
            best = min(all_plans(problem), default=None)
            with self.subTest(seed, problem=problem.csv()):
                if best is None:
                    with self.assertRaisesRegex(quern.OutOfMemory, "fits the banks"):
                        problem.plan("exact")
                    continue
                found += 1
                plan = problem.plan("exact", seconds=10)
                self.assertEqual((plan.status, plan.is_optimal), ("optimal", True))
                self.assertEqual((plan.cost, plan.size, plan.cost_bound), (*best, best[0]))
                self.assertEqual(plan.bank_sizes.sum(), plan.size)
                given = problem.check(plan.offsets, banks=plan.banks)
                self.assertEqual((given.cost, given.size), best)
        self.assertGreater(found, 80)

    def test_arrays_come_back_as_they_were_given(self):
        banks = [Bank("sram", 64, 16, 1, 5), Bank("größe", cost=4)]
        problem = Problem([8, 8], [0, 0], [1, 1], banks=banks, allowed=[[], ["größe", 0]], separation=[3, 3])
        self.assertEqual(problem.banks, banks)
        self.assertEqual(problem.allowed, [[], [0, 1]])
        self.assertEqual(problem.separation.tolist(), [3, 3])
        self.assertEqual(problem.colocation.tolist(), [0, 0])
        self.assertEqual(Problem.from_csv(problem.csv()).banks, banks)
        self.assertIn("bank", problem.plan().csv())
        self.assertIn("<svg", problem.plan().svg())
        one = Problem([8], [0], [1])
        self.assertEqual((one.banks, one.allowed, one.separation.size), ([], [], 0))
        self.assertEqual((one.plan().banks.size, one.plan().bank_sizes.size, one.plan().cost), (0, 0, 0))

    def test_what_makes_no_sense_is_refused_with_a_sentence(self):
        banks = [Bank("a", 8), Bank("b")]
        for options, sentence in (({"banks": banks, "allowed": [["c"]]}, "may lie in bank 'c', there are"),
                                  ({"banks": banks, "allowed": [[2]]}, "may lie in bank 2"),
                                  ({"banks": banks, "allowed": []}, "allowed has 0 elements, wanted 1"),
                                  ({"banks": [Bank("a", -1)]}, "capacity of bank a is -1"),
                                  ({"banks": [Bank("a", alignment=0)]}, "alignment of bank a is 0"),
                                  ({"banks": [banks[0], banks[0]]}, "a"),
                                  ({"colocation": [1]}, "choices of banks, and no banks"),
                                  ({"banks": [Bank("x")] * 65}, "65 banks, at most 64")):
            with self.subTest(sentence), self.assertRaisesRegex(quern.InvalidArgument, sentence):
                Problem([8], [0], [1], **options)
        problem = Problem([8, 8], [0, 0], [1, 1], banks=banks)
        with self.assertRaisesRegex(quern.InvalidArgument, "banks"):
            problem.check([0, 8])
        with self.assertRaises(quern.InvalidArgument):
            problem.check([0, 8], banks=[0, 0])
        with self.assertRaisesRegex(quern.InvalidArgument, "size is for problems without banks"):
            problem.check([0, 8], 16, banks=[1, 1])


class Plans(unittest.TestCase):
    def test_every_strategy_finds_a_plan_that_holds(self):
        for seed in range(6):
            problem = random_problem(seed, 25)
            for strategy in quern.plan.strategies():
                plan = problem.plan(strategy, seconds=0.2, steps=500)
                self.assertEqual(overlaps(plan), [], (seed, strategy))
                self.assertGreaterEqual(plan.size, plan.lower_bound)
                self.assertEqual(plan.size, int((plan.offsets + problem.sizes).max()))

    def test_exact_answers_are_those_of_trying_everything(self):
        for seed in range(12):
            problem = random_problem(100 + seed, 6)
            plan = problem.plan("exact", seconds=30)
            self.assertTrue(plan.is_optimal)
            self.assertEqual(plan.size, least_by_trying(problem), seed)

    def test_status_follows_the_capacity(self):
        problem = Problem([8, 8, 8], [0, 1, 2], [2, 3, 4])
        self.assertEqual(problem.plan("exact").status, "optimal")
        self.assertEqual(problem.plan("none", capacity=24).status, "feasible")
        self.assertEqual(problem.plan("exact", capacity=15).status, "infeasible")
        self.assertEqual(problem.plan("none", capacity=20).status, "unknown")
        self.assertEqual(problem.plan("none").unshared_bytes, 24)

    def test_options_that_make_no_sense_are_refused(self):
        problem = random_problem(1, 4)
        with self.assertRaisesRegex(quern.NotFound, "no strategy 'best'; there is: auto, "):
            problem.plan("best")
        for options in ({"seconds": -1}, {"seconds": float("nan")}, {"capacity": 0}, {"steps": -1}, {"capacity": 2**64}):
            with self.subTest(options), self.assertRaises(quern.InvalidArgument):
                problem.plan(**options)

    def test_offsets_of_others_are_checked(self):
        problem = Problem([8, 8], [0, 1], [2, 3], alignment=8, names=["a", "b"])
        self.assertEqual(problem.check([8, 0]).status, "optimal")
        self.assertEqual(problem.check([8, 0], size=32).status, "feasible")
        for offsets, size, sentence in (([0, 0], None, "'a' and 'b' are live at once and overlap"),
                                        ([0, 9], None, "'b' at 9 is misaligned"), ([0, 8], 12, "ends outside of 12"),
                                        ([0], None, "1 offsets, there are 2 buffers")):
            with self.subTest(sentence), self.assertRaisesRegex(quern.InvalidArgument, sentence):
                problem.check(offsets, size)

    def test_pictures_are_xml_with_every_name(self):
        problem = Problem([8, 8], [0, 1], [2, 3], names=["a<b", "second"])
        plan = problem.plan()
        document = xml.dom.minidom.parseString(plan._repr_svg_())
        self.assertEqual(document.documentElement.tagName, "svg")
        self.assertEqual(len([r for r in document.getElementsByTagName("rect") if r.getAttribute("class") == "b"]), 2)
        self.assertIn("a&lt;b: 8 bytes at", plan.svg("mine"))
        self.assertIn(">mine<", plan.svg("mine"))
        self.assertIn("2 buffers in 16 bytes", plan._repr_html_())
        self.assertIn("none: 16 bytes", quern.plan.page([plan, problem.plan("none")]))
        self.assertIn("id,lower,upper,size,offset", plan.csv())

    def test_threads_share_a_problem(self):
        problem, sizes = random_problem(3, 30), []
        threads = [threading.Thread(target=lambda: sizes.append(problem.plan("exact", steps=2000, seconds=30).size))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(sizes), 4)
        self.assertEqual(len(set(sizes)), 1)

    def test_only_problems_make_plans(self):
        self.assertIsInstance(random_problem(1, 2).plan(), Plan)


class Traces(unittest.TestCase):
    def test_every_pool_plays_a_trace(self):
        trace = Trace.from_csv(TRACE)
        self.assertEqual((trace.runs, trace.events), (2, 8))
        played = trace.replay_all(page=4096)
        self.assertEqual([replay.pool for replay in played], list(quern.plan.pools()))
        for replay in played:
            self.assertIsNone(replay.error)
            self.assertEqual((replay.events, replay.allocations, replay.peak_requested), (8, 4, 4000))
            self.assertGreaterEqual(replay.peak_reserved, replay.peak_used)
            self.assertEqual(replay.hit_rate, replay.hits / 4)

    def test_a_limit_ends_a_replay(self):
        replay = Trace.from_csv(TRACE).replay("bfc", limit=2000)
        self.assertEqual(replay.events, 1)
        self.assertRegex(replay.error, "limit|bytes")
        with self.assertRaisesRegex(quern.NotFound, "no pool 'puddle'"):
            Trace.from_csv(TRACE).replay("puddle")
        with self.assertRaisesRegex(quern.InvalidArgument, "page is 100"):
            Trace.from_csv(TRACE).replay(page=100)

    def test_runs_are_problems(self):
        trace = Trace.from_csv(TRACE)
        self.assertEqual(trace.problem(0).sizes.tolist(), [1000, 3000, 900])
        peak = trace.static_peak("exact")
        self.assertEqual((peak.bytes, peak.plans, peak.is_bound), (4008, 2, False))
        with self.assertRaisesRegex(quern.NotFound, "run 2, the trace has 2"):
            trace.problem(2)

    def test_shapes_and_runs_are_a_trace(self):
        trace = Trace.of_shapes("id,lower,upper,size,shape\na,0,2,100,1\nb,1,3,100,1\na,0,2,500,2\n",
                                "run,shape\n0,1\n1,2\n2,1\n")
        self.assertEqual((trace.runs, trace.events), (3, 10))


if __name__ == "__main__":
    unittest.main()
