/* SPDX-License-Identifier: Apache-2.0 */
/* The header of the planner in C99, beside the others of C; planner_test.cpp calls this. */
#include <quern/c/planner.h>
/* planner.h needs no other header; no name in them is taken twice. */
#include <quern/c/quern.h>
#include <quern/c/strategy.h>

/* The bytes of a plan of two buffers of `size` bytes, of which the second begins as the first ends;
 * 0 after an error. */
uint64_t plan_two_in_c(uint64_t size);

uint64_t plan_two_in_c(uint64_t size) {
  const uint64_t sizes[] = {size, size};
  const int64_t firsts[] = {0, 3};
  const int64_t ends[] = {3, 5};
  quern_planner_buffers buffers = QUERN_PLANNER_BUFFERS_INIT;
  quern_planner_plan_info info = QUERN_PLANNER_PLAN_INFO_INIT;
  quern_planner_problem* problem;
  quern_planner_plan* plan;
  buffers.count = 2;
  buffers.sizes = sizes;
  buffers.firsts = firsts;
  buffers.ends = ends;
  if (quern_planner_problem_create(&buffers, &problem) != QUERN_PLANNER_OK) return 0;
  if (quern_planner_solve(problem, NULL, &plan) != QUERN_PLANNER_OK) return 0;
  if (quern_planner_plan_get_info(plan, &info) != QUERN_PLANNER_OK) return 0;
  quern_planner_plan_destroy(plan);
  quern_planner_problem_destroy(problem);
  return info.bytes;
}
