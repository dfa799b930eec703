/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of a file, planned by the library of the planner alone:
 *
 *     cc place.c $(pkg-config --cflags --libs quern-plan) -o place
 *     ./place buffers.csv 1048576 > plan.svg
 *
 * The capacity may be left out. Prints what the plan takes and what is proven of it; standard
 * output is the picture. */
#include <stdio.h>
#include <stdlib.h>

#include <quern/c/planner.h>

static int failed(void) {
  fprintf(stderr, "%s\n", quern_planner_last_error());
  return EXIT_FAILURE;
}

static char* read_file(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  long end;
  if (!file) return NULL;
  if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) text = malloc((size_t)end + 1);
  if (text) {
    rewind(file);
    *bytes = fread(text, 1, (size_t)end, file);
  }
  fclose(file);
  return text;
}

static int draw(const quern_planner_plan* plan) {
  quern_planner_plan_info info = QUERN_PLANNER_PLAN_INFO_INIT;
  quern_planner_text* svg;
  if (quern_planner_plan_get_info(plan, &info) != QUERN_PLANNER_OK) return failed();
  fprintf(stderr, "%llu bytes, %s: no plan takes less than %llu\n", (unsigned long long)info.bytes,
          quern_planner_proof_name(info.proof), (unsigned long long)info.lower_bound);
  if (quern_planner_plan_draw_svg(plan, "plan", &svg) != QUERN_PLANNER_OK) return failed();
  fputs(quern_planner_text_data(svg), stdout);
  quern_planner_text_destroy(svg);
  return EXIT_SUCCESS;
}

int main(int argc, char** argv) {
  quern_planner_options options = QUERN_PLANNER_OPTIONS_INIT;
  quern_planner_problem* problem;
  quern_planner_plan* plan;
  quern_planner_status status;
  size_t bytes = 0;
  int result;
  char* text = argc > 1 ? read_file(argv[1], &bytes) : NULL;
  if (!text) {
    fprintf(stderr, "usage: place BUFFERS.csv [CAPACITY]\n");
    return EXIT_FAILURE;
  }
  status = quern_planner_problem_read_csv(text, bytes, &problem);
  free(text);
  if (status != QUERN_PLANNER_OK) return failed();
  options.capacity = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  status = quern_planner_solve(problem, &options, &plan);
  quern_planner_problem_destroy(problem); /* the plan keeps what it needs of it */
  if (status != QUERN_PLANNER_OK) return failed();
  result = draw(plan);
  quern_planner_plan_destroy(plan);
  return result;
}
