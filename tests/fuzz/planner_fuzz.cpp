// SPDX-License-Identifier: Apache-2.0
// Any bytes as calls of the planner's C API: arrays and texts that are right, wrong and hostile.
// Each call answers with a status of the list and a sentence, what is handed out is there, plans of
// the library are taken back as plans of the caller's, and nothing is left in the end.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <quern/c/planner.h>

#include "tests/fuzz/bytes.h"

namespace {

using quern::fuzz::Bytes;
using quern::fuzz::read_all;

constexpr std::size_t most_buffers = 12;
constexpr std::size_t most_rounds = 12;

void want(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FOUND %s: %s\n", what, quern_planner_last_error());
  std::abort();
}

bool check(quern_planner_status status) {
  const bool is_listed = status == QUERN_PLANNER_OK || status == QUERN_PLANNER_INVALID_ARGUMENT ||
                         status == QUERN_PLANNER_UNSUPPORTED || status == QUERN_PLANNER_NOT_FOUND ||
                         status == QUERN_PLANNER_OUT_OF_MEMORY || status == QUERN_PLANNER_BUSY;
  want(is_listed, "a status of no list, or internal");
  want(std::strlen(quern_planner_status_name(status)) > 0, "a status without a name");
  if (status != QUERN_PLANNER_OK) want(*quern_planner_last_error() != 0, "no sentence");
  return status == QUERN_PLANNER_OK;
}

struct Destroy {
  void operator()(quern_planner_problem* p) const { quern_planner_problem_destroy(p); }
  void operator()(quern_planner_plan* p) const { quern_planner_plan_destroy(p); }
  void operator()(quern_planner_trace* p) const { quern_planner_trace_destroy(p); }
  void operator()(quern_planner_text* p) const { quern_planner_text_destroy(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Destroy>;

// What a call makes; null where it fails, and then it has written nothing.
template <class T, class Call>
Owned<T> made(const Call& call) {
  T* handle = nullptr;
  const bool ok = check(call(&handle));
  want(ok == (handle != nullptr), "a handle of a call that failed, or none");
  return Owned<T>(handle);
}

std::string text_of(const Owned<quern_planner_text>& text) {
  const char* data = quern_planner_text_data(text.get());
  const std::size_t size = quern_planner_text_size(text.get());
  want(data[size] == 0, "a text without an end");
  return {data, size};
}

class Calls {
 public:
  Calls(const std::uint8_t* data, std::size_t size)
      : bytes_(data, size), text_(reinterpret_cast<const char*>(data), size) {}

  void run() {
    for (std::size_t i = 0; i < most_rounds && bytes_.has_more(); ++i) {
      if (bytes_.one_in(6))
        call_traces();
      else
        call_problems();
    }
  }

 private:
  // ---- arguments

  std::uint64_t size() {
    return bytes_.one_in(20) ? static_cast<std::uint64_t>(bytes_.number()) : bytes_.below(64);
  }
  template <class T, class Make>
  const T* array(std::vector<T>& room, std::size_t count, const Make& make_one) {
    if (bytes_.one_in(3)) return nullptr;
    room.resize(count);
    for (T& item : room) item = static_cast<T>(make_one());
    return room.data();
  }
  const char* strategy() {
    const std::size_t i = bytes_.below(16);
    return bytes_.one_in(30) ? "no such" : quern_planner_strategy_name(i);
  }
  double seconds() {
    constexpr double odd[] = {0, -1, 1e300, std::numeric_limits<double>::quiet_NaN()};
    return bytes_.one_in(20) ? odd[1 + bytes_.below(3) * (bytes_.below(2))] : 0.01;
  }
  quern_planner_options options() {
    quern_planner_options o = QUERN_PLANNER_OPTIONS_INIT;
    if (bytes_.one_in(20)) o.struct_size = bytes_.next();
    o.strategy = strategy();
    o.capacity = bytes_.one_in(2) ? size() : 0;
    o.seconds = seconds();
    o.steps = 1 + bytes_.below(200);
    return o;
  }

  // Arrays of buffers, of which most make sense.
  struct Arrays {
    std::vector<std::uint64_t> sizes, alignments, fixed, allowed;
    std::vector<std::int64_t> firsts, ends;
    std::vector<std::uint8_t> zero;
    std::vector<quern_planner_gap> gaps;
    std::vector<quern_planner_bank> banks;
    std::vector<std::uint32_t> separations, colocations;
    std::vector<const char*> names;
    quern_planner_buffers buffers;
  };
  void add_lives(Arrays& a, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      a.sizes.push_back(size());
      a.firsts.push_back(bytes_.one_in(40) ? bytes_.number()
                                           : static_cast<std::int64_t>(bytes_.below(12)));
      a.ends.push_back(bytes_.one_in(40) ? bytes_.number()
                                         : static_cast<std::int64_t>(bytes_.below(20)) + 1);
      if (a.ends[i] < a.firsts[i] && !bytes_.one_in(30)) std::swap(a.ends[i], a.firsts[i]);
    }
  }
  void add_banks(Arrays& a, std::size_t count) {
    constexpr const char* names[] = {"sram", "psram", "", "a,b", "\xff\n"};
    for (std::size_t i = bytes_.one_in(2) ? 0 : bytes_.below(5); i > 0; --i) {
      const bool is_open = bytes_.one_in(3);
      a.banks.push_back({bytes_.one_in(30) ? nullptr : names[i % std::size(names)],
                         is_open ? QUERN_PLANNER_ANY_CAPACITY : size() * 2, size() % 9, size(),
                         bytes_.one_in(2) ? size() : 0});
    }
    quern_planner_buffers& b = a.buffers;
    b.banks = bytes_.one_in(60) ? nullptr : a.banks.data();
    b.bank_count = a.banks.size();
    if (a.banks.empty() && !bytes_.one_in(30)) return;
    b.allowed_banks = array(
        a.allowed, count, [&] { return bytes_.one_in(3) ? bytes_.next() >> bytes_.below(8) : 0; });
    const auto group = [&] { return bytes_.one_in(3) ? bytes_.below(4) : 0; };
    b.separations = array(a.separations, count, group);
    b.colocations = array(a.colocations, count, group);
  }
  void add_gaps(Arrays& a, std::size_t count) {
    for (std::size_t i = bytes_.one_in(3) ? bytes_.below(4) : 0; i > 0; --i) {
      const auto first = static_cast<std::int64_t>(bytes_.below(12));
      const auto from = bytes_.below(32);
      a.gaps.push_back({bytes_.below(count + 1), first,
                        first + static_cast<std::int64_t>(bytes_.below(6)), from,
                        from + bytes_.below(32)});
    }
    a.buffers.gaps = a.gaps.data();
    a.buffers.gap_count = a.gaps.size();
  }
  std::unique_ptr<Arrays> arrays() {
    constexpr const char* names[] = {"x", "x", "x.1", "a,b\n", "", "\xff\xfe%s"};
    auto a = std::make_unique<Arrays>();
    const std::size_t count = bytes_.below(most_buffers);
    add_lives(*a, count);
    quern_planner_buffers& b = a->buffers = QUERN_PLANNER_BUFFERS_INIT;
    if (bytes_.one_in(30)) b.struct_size = bytes_.next();
    b.count = count;
    b.sizes = bytes_.one_in(60) ? nullptr : a->sizes.data();
    b.firsts = a->firsts.data();
    b.ends = a->ends.data();
    b.alignments = array(a->alignments, count, [&] { return 1 + bytes_.below(16); });
    b.fixed_offsets = array(a->fixed, count, [&]() -> std::uint64_t {
      return bytes_.one_in(6) ? size() : QUERN_PLANNER_ANYWHERE;
    });
    b.must_be_zero = array(a->zero, count, [&] { return bytes_.one_in(8) ? 1 : 0; });
    b.names = array(a->names, count, [&] { return names[bytes_.below(std::size(names))]; });
    add_gaps(*a, count);
    add_banks(*a, count);
    return a;
  }

  // ---- problems and plans

  void call_problems() {
    Owned<quern_planner_problem> problem;
    if (bytes_.one_in(8)) {
      problem = made<quern_planner_problem>([&](auto** to) {
        return quern_planner_problem_read_csv(text_.data(), text_.size(), to);
      });
    } else {
      const auto a = arrays();
      problem = made<quern_planner_problem>(
          [&](auto** to) { return quern_planner_problem_create(&a->buffers, to); });
    }
    if (!problem) return;
    quern_planner_buffers b = QUERN_PLANNER_BUFFERS_INIT;
    want(check(quern_planner_problem_buffers(problem.get(), &b)), "no arrays");
    if (b.count > most_buffers) return;
    read_arrays(b);
    same_after_csv(problem, b);
    for (std::size_t i = 1 + bytes_.below(3); i > 0; --i) call_plans(problem, b);
  }
  static void read_arrays(const quern_planner_buffers& b) {
    read_all(b.sizes, b.count * sizeof *b.sizes);
    read_all(b.firsts, b.count * sizeof *b.firsts);
    read_all(b.ends, b.count * sizeof *b.ends);
    read_all(b.alignments, b.count * sizeof *b.alignments);
    read_all(b.fixed_offsets, b.count * sizeof *b.fixed_offsets);
    read_all(b.must_be_zero, b.count);
    read_all(b.gaps, b.gap_count * sizeof *b.gaps);
    for (std::size_t i = 0; i < b.count; ++i) read_all(b.names[i], std::strlen(b.names[i]));
    for (std::size_t i = 0; i < b.bank_count; ++i)
      read_all(b.banks[i].name, std::strlen(b.banks[i].name));
    if (b.bank_count == 0) return;
    read_all(b.allowed_banks, b.count * sizeof *b.allowed_banks);
    read_all(b.separations, b.count * sizeof *b.separations);
    read_all(b.colocations, b.count * sizeof *b.colocations);
  }
  // Names of banks are not changed by the format, so that some cannot be read back.
  static void same_after_csv(const Owned<quern_planner_problem>& problem,
                             const quern_planner_buffers& b) {
    const std::string csv = text_of(made<quern_planner_text>(
        [&](auto** to) { return quern_planner_problem_write_csv(problem.get(), to); }));
    quern_planner_problem* read = nullptr;
    const bool ok = check(quern_planner_problem_read_csv(csv.data(), csv.size(), &read));
    const Owned<quern_planner_problem> again(read);
    want(ok || b.bank_count > 0, "CSV of the library is refused");
    if (ok)
      want(quern_planner_problem_lower_bound(problem.get()) ==
               quern_planner_problem_lower_bound(again.get()),
           "another bound after CSV");
  }
  void call_plans(const Owned<quern_planner_problem>& problem, const quern_planner_buffers& b) {
    const quern_planner_options o = options();
    const bool by_default = bytes_.one_in(30);
    const auto plan = made<quern_planner_plan>([&](auto** to) {
      return quern_planner_solve(problem.get(), by_default ? nullptr : &o, to);
    });
    call_with_places(problem, b);
    if (!plan) return;
    quern_planner_plan_info info = QUERN_PLANNER_PLAN_INFO_INIT;
    want(check(quern_planner_plan_get_info(plan.get(), &info)), "no figures");
    want(info.count == b.count && info.bank_count == b.bank_count, "a plan of other buffers");
    want(info.bytes >= info.lower_bound && info.cost >= info.cost_bound, "below a bound");
    want(!std::isnan(info.fragmentation), "a share that is no number");
    taken_back(problem, plan, info);
    text_of(made<quern_planner_text>(
        [&](auto** to) { return quern_planner_plan_write_csv(plan.get(), to); }));
    text_of(made<quern_planner_text>([&](auto** to) {
      return quern_planner_plan_draw_svg(plan.get(), bytes_.one_in(2) ? "<&\">" : nullptr, to);
    }));
    if (!bytes_.one_in(4)) return;
    const quern_planner_plan* const plans[] = {plan.get(), plan.get()};
    text_of(made<quern_planner_text>(
        [&](auto** to) { return quern_planner_draw_page(nullptr, plans, nullptr, 2, to); }));
  }
  static void taken_back(const Owned<quern_planner_problem>& problem,
                         const Owned<quern_planner_plan>& plan,
                         const quern_planner_plan_info& info) {
    const std::uint64_t* offsets = quern_planner_plan_offsets(plan.get());
    const std::uint32_t* banks = quern_planner_plan_banks(plan.get());
    const auto again = made<quern_planner_plan>([&](auto** to) {
      return banks ? quern_planner_plan_from_places(problem.get(), offsets, banks, info.count, to)
                   : quern_planner_plan_from_offsets(problem.get(), offsets, info.count, info.bytes,
                                                     to);
    });
    want(again != nullptr || info.count == 0, "a plan of the library is refused");
    if (!again) return;
    quern_planner_plan_info same = QUERN_PLANNER_PLAN_INFO_INIT;
    want(check(quern_planner_plan_get_info(again.get(), &same)), "no figures");
    want(same.cost == info.cost && same.bytes <= info.bytes, "other figures of the same plan");
    if (banks)
      read_all(quern_planner_plan_bank_sizes(plan.get()), info.bank_count * sizeof(std::uint64_t));
  }
  // Places that nobody has planned.
  void call_with_places(const Owned<quern_planner_problem>& problem,
                        const quern_planner_buffers& b) {
    std::vector<std::uint64_t> offsets(b.count + bytes_.one_in(20));
    std::vector<std::uint32_t> banks(offsets.size());
    for (std::uint64_t& o : offsets) o = size();
    for (std::uint32_t& bank : banks) bank = static_cast<std::uint32_t>(bytes_.below(4));
    made<quern_planner_plan>([&](auto** to) {
      return quern_planner_plan_from_offsets(problem.get(), offsets.data(), offsets.size(), size(),
                                             to);
    });
    made<quern_planner_plan>([&](auto** to) {
      return quern_planner_plan_from_places(problem.get(), offsets.data(), banks.data(),
                                            offsets.size(), to);
    });
  }

  // ---- traces

  // Blocks that come and go, or the input itself.
  std::string trace_csv() {
    if (bytes_.one_in(6)) return std::string(text_);
    std::string csv = "run,event,id,bytes,alignment\n";
    std::vector<std::string> live;
    for (std::size_t i = 0; i < 20 && bytes_.has_more(); ++i) {
      if (!live.empty() && bytes_.one_in(2)) {
        csv += "0,free," + live.back() + ",,\n";
        live.pop_back();
        continue;
      }
      live.push_back(std::to_string(i));
      csv += "0,alloc," + live.back() + "," + std::to_string(size()) + ",\n";
    }
    return csv;
  }
  void call_traces() {
    const std::string csv = trace_csv();
    const auto trace = made<quern_planner_trace>([&](auto** to) {
      return bytes_.one_in(6) ? quern_planner_trace_of_shapes(csv.data(), csv.size(), text_.data(),
                                                              text_.size(), to)
                              : quern_planner_trace_read_csv(csv.data(), csv.size(), to);
    });
    if (!trace || quern_planner_trace_event_count(trace.get()) > 200) return;
    made<quern_planner_problem>(
        [&](auto** to) { return quern_planner_trace_problem(trace.get(), bytes_.below(3), to); });
    const quern_planner_options o = options();
    quern_planner_static_peak peak = QUERN_PLANNER_STATIC_PEAK_INIT;
    check(quern_planner_trace_static_peak(trace.get(), &o, &peak));
    quern_planner_pool_options pool = QUERN_PLANNER_POOL_OPTIONS_INIT;
    pool.pool = bytes_.one_in(20) ? "no such" : quern_planner_pool_name(bytes_.below(12));
    pool.limit = bytes_.one_in(2) ? size() * 16 : 0;
    pool.page = bytes_.one_in(3) ? std::uint64_t{1} << bytes_.below(34) : 0;
    pool.seconds = seconds();
    quern_planner_pool_figures figures = QUERN_PLANNER_POOL_FIGURES_INIT;
    if (check(quern_planner_trace_replay(trace.get(), &pool, &figures)))
      want(
          figures.peak_reserved >= figures.peak_used && figures.peak_used >= figures.peak_requested,
          "peaks in a wrong order");
  }

  Bytes bytes_;
  std::string_view text_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Calls(data, size).run();
  return 0;
}
