/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are chosen by measuring them on the machine that runs them (docs/tuning.md). */
#ifndef QUERN_C_TUNING_H
#define QUERN_C_TUNING_H

#include <quern/c/quern.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct quern_tune_options {
  size_t struct_size;
  const char* file;      /* what is known is read there first, and written when all is measured */
  uint64_t microseconds; /* that measuring may take; 0: any time */
} quern_tune_options;
#define QUERN_TUNE_OPTIONS_INIT \
  { sizeof(quern_tune_options), NULL, 0 }

typedef struct quern_tune_report {
  size_t struct_size;
  size_t measured;     /* works with a choice that were not known yet; the plan is one */
  size_t changed;      /* of these, with another choice than without tuning */
  double before_us;    /* least times of all kernels as they were, in microseconds */
  double after_us;     /* and as they are now */
  int32_t is_complete; /* 0: the time was up first */
} quern_tune_report;
#define QUERN_TUNE_REPORT_INIT \
  { sizeof(quern_tune_report), 0, 0, 0, 0, 0 }

/* Measures the kernels that the operators of the model have on the CPU, in the model itself, as one
 * compiled with `options` (it may be NULL; its `tuning` is not read) runs with these `count`
 * inputs, all in their order, and adds the fastest to `how->file`; what is known there is not
 * measured again. Kernels give results that may differ in their last digits. Takes as long as some
 * hundred runs, on a machine that should do little else. `report` may be NULL. libquern_run has no
 * such function. Errors: those of compiling and running; invalid_argument, also without a file and
 * for one that is no tuning. */
QUERN_EXPORT quern_status quern_model_tune(const quern_model* model,
                                           const quern_compile_options* options,
                                           const quern_tensor* inputs, size_t count,
                                           const quern_tune_options* how,
                                           quern_tune_report* report);

#ifdef __cplusplus
}
#endif

#endif
