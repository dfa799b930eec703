/* SPDX-License-Identifier: Apache-2.0 */
/* What tests in C check with. LAST_ERROR(), if it is defined before: what the library says. */
#ifndef QUERN_TESTS_CHECK_H
#define QUERN_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#ifndef LAST_ERROR
#define LAST_ERROR() "no more is known"
#endif

static int failures = 0;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, LAST_ERROR()); \
      ++failures;                                                              \
    }                                                                          \
  } while (0)
/* Ends the program. */
#define REQUIRE(condition)            \
  do {                                \
    CHECK(condition);                 \
    if (failures) exit(EXIT_FAILURE); \
  } while (0)

#endif
