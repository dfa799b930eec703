// SPDX-License-Identifier: Apache-2.0
// A sweep over time: the live buffers lie in a map by address, in which only neighbours can
// overlap.
#include <map>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/plan.h"
#include "graph/memory/problem/sweep.h"

namespace quern {
namespace {

Status overlap(const MemoryProblem& problem, const Piece& a, const Piece& b) {
  return {Code::internal,
          cat("memory plan: buffers '", printable(problem.intervals[a.interval].name), "' and '",
              printable(problem.intervals[b.interval].name), "' are live at once and overlap")};
}

Status check_place(const Interval& i, std::uint64_t offset, std::uint64_t size) {
  const bool fits = i.size <= size && offset <= size - i.size;
  if (!fits || offset % i.alignment != 0)
    return {Code::internal, cat("memory plan: buffer '", printable(i.name), "' at ", offset,
                                " is misaligned or ends outside of ", size, " bytes")};
  if (i.fixed_offset && *i.fixed_offset != offset)
    return {Code::internal, cat("memory plan: buffer '", printable(i.name), "' is at ", offset,
                                ", not at its fixed offset ", *i.fixed_offset)};
  return {};
}

}  // namespace

Status validate(const MemoryProblem& problem, const MemoryPlan& plan) {
  if (plan.offsets.size() != problem.intervals.size())
    return {Code::internal, "memory plan: wrong number of offsets"};
  if (!problem.banks.empty()) return validate_banks(problem, plan);
  for (std::size_t i = 0; i < plan.offsets.size(); ++i)
    QUERN_TRY(check_place(problem.intervals[i], plan.offsets[i], plan.size));
  const std::vector<Piece> pieces = pieces_of(problem);
  const auto begin = [&](const Piece& p) { return plan.offsets[p.interval] + p.from; };
  const auto end = [&](const Piece& p) { return plan.offsets[p.interval] + p.to; };
  std::map<std::uint64_t, std::size_t> live;  // by first address
  for (const Event& e : events_of(pieces)) {
    const Piece& p = pieces[e.piece];
    if (!e.begins) {
      live.erase(begin(p));
      continue;
    }
    const auto [at, is_new] = live.emplace(begin(p), e.piece);
    if (!is_new) return overlap(problem, pieces[at->second], p);
    if (const auto next = std::next(at); next != live.end() && next->first < end(p))
      return overlap(problem, p, pieces[next->second]);
    if (at != live.begin() && end(pieces[std::prev(at)->second]) > begin(p))
      return overlap(problem, pieces[std::prev(at)->second], p);
  }
  return {};
}

}  // namespace quern
