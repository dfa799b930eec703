// SPDX-License-Identifier: Apache-2.0
// Runs in flight: sessions in one arena.
#include <quern/run_group.h>

#include "engine/c_api/handles.h"

using namespace quern;
using namespace quern::c_api;

struct quern_group {
  // Longer than the group, whose end waits for runs that read their copies.
  std::vector<std::unique_ptr<quern_session>> sessions;
  std::unique_ptr<RunGroup> group;
};

namespace {

static_assert(QUERN_MAX_GROUP == RunGroup::most_runs);

Result<RunGroupOptions> options_of(const quern_group_options* given) {
  QUERN_ASSIGN(const quern_group_options o, read_struct(given));
  RunGroupOptions options{.threads = o.threads,
                          .thread_pool = o.thread_pool ? o.thread_pool->pool : nullptr};
  if (o.input_count && !o.inputs) return null_argument("inputs");
  for (std::size_t i = 0; i < o.input_count; ++i) {
    QUERN_ASSIGN(options.inputs.emplace_back(), type_of(tensor_at(o.inputs, i)));
  }
  return options;
}

}  // namespace

quern_status quern_group_create(const quern_executable* executable, size_t runs,
                                const quern_group_options* options, quern_group** group) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(executable);
    QUERN_NOT_NULL(group);
    QUERN_ASSIGN(const RunGroupOptions o, options_of(options));
    auto made = std::make_unique<quern_group>();
    QUERN_ASSIGN(made->group, RunGroup::create(executable->executable, runs, o));
    for (std::size_t i = 0; i < runs; ++i) {
      // Not the owner of the session.
      const std::shared_ptr<Session> session(std::shared_ptr<void>(), &made->group->session(i));
      made->sessions.push_back(std::make_unique<quern_session>(session));
      made->sessions.back()->is_of_group = true;
    }
    *group = made.release();
    return {};
  });
}

void quern_group_destroy(quern_group* group) {
  delete group;
}
size_t quern_group_size(const quern_group* group) {
  return group ? group->sessions.size() : 0;
}

quern_status quern_group_session(quern_group* group, size_t index, quern_session** session) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(group);
    QUERN_NOT_NULL(session);
    if (index >= group->sessions.size())
      return {Code::invalid_argument, "session " + std::to_string(index) + ": the group has " +
                                          std::to_string(group->sessions.size())};
    *session = group->sessions[index].get();
    return {};
  });
}

quern_status quern_group_run(quern_group* group) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(group);
    for (const auto& s : group->sessions) s->profile.clear();
    return group->group->run();
  });
}

quern_status quern_group_get_counters(const quern_group* group, quern_group_counters* counters) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(group);
    QUERN_NOT_NULL(counters);
    const RunGroupCounters c = group->group->counters();
    return write_struct(counters, {0, c.runs, c.waits, c.wait_ns, c.most_at_once,
                                   group->group->arena_bytes(), group->group->resident_bytes()});
  });
}
