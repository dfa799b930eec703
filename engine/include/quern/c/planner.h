/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory planner of quern alone: offsets for buffers whose lives are known, bounds and proofs,
 * traces that are played to pools, pictures. It knows no model and no device. libquern_plan.so and
 * libquern_plan.a need the C and C++ libraries alone.
 *
 *   quern_planner_buffers buffers = QUERN_PLANNER_BUFFERS_INIT;     sizes, firsts, ends, ...
 *   quern_planner_problem* problem; quern_planner_problem_create(&buffers, &problem);
 *   quern_planner_plan* plan;       quern_planner_solve(problem, NULL, &plan);
 *   quern_planner_plan_get_info(plan, &info);                       bytes, lower bound, proof
 *   const uint64_t* offsets = quern_planner_plan_offsets(plan);
 *
 * Errors. Calls that can fail return a status; anything but QUERN_PLANNER_OK leaves a sentence that
 * quern_planner_last_error() gives to the same thread until its next failing call. Out-parameters
 * are written on success only, unless said otherwise. No call throws, exits or writes to the
 * standard streams. A null handle or out-parameter is QUERN_PLANNER_INVALID_ARGUMENT; destroying
 * NULL does nothing.
 *
 * Ownership. Who creates a handle destroys it, in any order: handles keep alive what they were made
 * from. A pointer that a call hands out belongs to the handle that it was asked of. What a call is
 * given is copied before it returns.
 *
 * Threads. Handles never change: any number of threads may use one at a time. Each call runs on its
 * caller's thread alone.
 *
 * Units. Sizes, offsets and capacities are bytes. Time is in steps: a buffer is live in the steps
 * [first, end). All steps lie in [-2^60, 2^60]; sizes, alignments and fixed offsets add up to at
 * most 2^60.
 *
 * Compatibility. Structures begin with their size, which the caller sets (the _INIT macros do):
 * they may grow at the end, and callers that were built with a shorter one go on working. Zero in
 * any further field means the default. A size that is neither that of the structure here nor in an
 * earlier version is QUERN_PLANNER_INVALID_ARGUMENT. Enumerations may grow at the end.
 */
#ifndef QUERN_C_PLANNER_H
#define QUERN_C_PLANNER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define QUERN_PLANNER_EXPORT __attribute__((visibility("default")))
#else
#define QUERN_PLANNER_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- library ------------------------------------------------------------------------------- */

/* Goes up when a structure or a function is added; programs need a library of at least theirs. */
#define QUERN_PLANNER_API_VERSION 2

QUERN_PLANNER_EXPORT uint32_t quern_planner_api_version(void);
/* "0.1.0" */
QUERN_PLANNER_EXPORT const char* quern_planner_version(void);

/* The numbers are those of quern_status. */
typedef int32_t quern_planner_status;
enum {
  QUERN_PLANNER_OK = 0,
  QUERN_PLANNER_INVALID_ARGUMENT = 1, /* the caller's mistake, or a problem that makes no sense */
  QUERN_PLANNER_UNSUPPORTED = 3,      /* banks, in libquern_plan.so: others take them */
  QUERN_PLANNER_NOT_FOUND = 4,        /* no strategy, pool or run of that name or number */
  QUERN_PLANNER_OUT_OF_MEMORY = 5,    /* the system refused, or a pool met its limit */
  QUERN_PLANNER_BUSY = 7,             /* the time of a replay was up */
  QUERN_PLANNER_INTERNAL = 8          /* a defect of this library: please report it */
};

/* "invalid_argument"; "unknown" for a number that is no status. Static. */
QUERN_PLANNER_EXPORT const char* quern_planner_status_name(quern_planner_status status);
/* The message of this thread's last failing call; "" if there was none. */
QUERN_PLANNER_EXPORT const char* quern_planner_last_error(void);

/* Text that a call has made. */
typedef struct quern_planner_text quern_planner_text;

/* Ends with a zero byte, which is not counted; "" and 0 of NULL. */
QUERN_PLANNER_EXPORT const char* quern_planner_text_data(const quern_planner_text* text);
QUERN_PLANNER_EXPORT size_t quern_planner_text_size(const quern_planner_text* text);
QUERN_PLANNER_EXPORT void quern_planner_text_destroy(quern_planner_text* text);

/* ---- problems ------------------------------------------------------------------------------ */

typedef struct quern_planner_problem quern_planner_problem;

/* A fixed offset of a buffer that is not fixed. */
#define QUERN_PLANNER_ANYWHERE UINT64_MAX

/* In the steps [first, end) of the life of a buffer only its bytes [from, to) are in use; none if
 * they are equal. Others may lie in the rest. */
typedef struct quern_planner_gap {
  uint64_t buffer; /* its index */
  int64_t first;
  int64_t end;
  uint64_t from;
  uint64_t to;
} quern_planner_gap;

/* A memory with addresses of its own, from 0. Of the plans that fit all banks those of the least
 * cost are wanted, and of these the ones of the fewest bytes. */
typedef struct quern_planner_bank {
  const char* name;   /* no other bank has it */
  uint64_t capacity;  /* in bytes; QUERN_PLANNER_ANY_CAPACITY: as many as it takes */
  uint64_t alignment; /* of every offset, beside that of the buffer; 0: 1 */
  uint64_t cost;      /* of each byte of a buffer that lies in it */
  uint64_t reuse;     /* price of a buffer that lies where another one was before: a barrier */
} quern_planner_bank;
#define QUERN_PLANNER_ANY_CAPACITY UINT64_MAX
#define QUERN_PLANNER_MAX_BANKS 64

/* Arrays of `count` elements, one a buffer. */
typedef struct quern_planner_buffers {
  size_t struct_size;
  size_t count;
  const uint64_t* sizes;
  const int64_t* firsts;
  const int64_t* ends;
  const uint64_t* alignments;    /* of offsets, from 1, any number; NULL: 1 */
  const uint64_t* fixed_offsets; /* QUERN_PLANNER_ANYWHERE: not fixed; NULL: none is */
  const uint8_t* must_be_zero;   /* not 0: shares memory with no other; NULL: no */
  const char* const* names;      /* for messages and pictures; NULL: "0", "1", ... */
  const quern_planner_gap* gaps; /* of all buffers; those of one in order of time */
  size_t gap_count;
  const quern_planner_bank* banks; /* `bank_count` of them; the other arrays below need some */
  size_t bank_count;               /* at most QUERN_PLANNER_MAX_BANKS; 0: one memory */
  const uint64_t* allowed_banks;   /* bit b: may lie in bank b; 0, or NULL: in any */
  const uint32_t* separations;     /* buffers of one group, not 0, lie in banks that all differ */
  const uint32_t* colocations;     /* buffers of one group, not 0, lie in one bank */
} quern_planner_buffers;
#define QUERN_PLANNER_BUFFERS_INIT                                                                \
  {                                                                                               \
    sizeof(quern_planner_buffers), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, \
        NULL, NULL, NULL                                                                          \
  }

/* Errors: invalid_argument, with the name of the buffer; unsupported, for banks in
 * libquern_plan.so.
 */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_problem_create(const quern_planner_buffers* buffers, quern_planner_problem** problem);
/* From MiniMalloc's CSV with columns of ours (docs/memory-planning.md). Errors: invalid_argument,
 * with the line; unsupported. */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_problem_read_csv(const char* csv, size_t bytes, quern_planner_problem** problem);
QUERN_PLANNER_EXPORT void quern_planner_problem_destroy(quern_planner_problem* problem);

/* The buffers as they are; every array is there, those of banks where there are some. */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_problem_buffers(const quern_planner_problem* problem, quern_planner_buffers* buffers);
/* Bytes that every plan needs: the most that is live at one time, with the padding that a common
 * alignment forces, or the highest end of a fixed buffer. 0 of NULL. */
QUERN_PLANNER_EXPORT uint64_t
quern_planner_problem_lower_bound(const quern_planner_problem* problem);
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_problem_write_csv(const quern_planner_problem* problem, quern_planner_text** csv);

/* ---- plans --------------------------------------------------------------------------------- */

/* The strategies by index, the default first; NULL from their number on. Static. */
QUERN_PLANNER_EXPORT const char* quern_planner_strategy_name(size_t index);
QUERN_PLANNER_EXPORT const char* quern_planner_strategy_summary(size_t index);

typedef struct quern_planner_options {
  size_t struct_size;
  const char* strategy; /* by name; NULL: the default */
  uint64_t capacity;    /* a plan of at most this size is good enough; 0: as small as possible */
  double seconds;       /* for strategies that search; 0: 1 */
  uint64_t steps;       /* of a search; if they end first, the plan is reproducible; 0: any */
} quern_planner_options;
#define QUERN_PLANNER_OPTIONS_INIT \
  { sizeof(quern_planner_options), NULL, 0, 0, 0 }

typedef struct quern_planner_plan quern_planner_plan;

/* Plans, by the defaults if `options` is NULL. The plan is validated by code that knows no
 * strategy. One that misses the capacity is no error: see its proof. Errors: not_found,
 * invalid_argument; out_of_memory, also where no plan was found that fits the banks. */
QUERN_PLANNER_EXPORT quern_planner_status quern_planner_solve(const quern_planner_problem* problem,
                                                              const quern_planner_options* options,
                                                              quern_planner_plan** plan);
/* A plan of the caller's offsets, `count` of them, in an arena of `bytes` (0: as many as they
 * take). Errors: invalid_argument with the buffers that overlap, are misaligned, end outside of the
 * arena or are not at their fixed offset. */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_plan_from_offsets(const quern_planner_problem* problem, const uint64_t* offsets,
                                size_t count, uint64_t bytes, quern_planner_plan** plan);
/* The same with the bank of each buffer, by its index, for problems with banks: each is as large as
 * what lies in it takes. Errors: also the bank that is too small, and the buffers that may not lie
 * where they do. */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_plan_from_places(const quern_planner_problem* problem, const uint64_t* offsets,
                               const uint32_t* banks, size_t count, quern_planner_plan** plan);
QUERN_PLANNER_EXPORT void quern_planner_plan_destroy(quern_planner_plan* plan);

typedef int32_t quern_planner_proof;
enum {
  QUERN_PLANNER_OPTIMAL = 0,    /* no plan is smaller */
  QUERN_PLANNER_FEASIBLE = 1,   /* it fits the capacity */
  QUERN_PLANNER_INFEASIBLE = 2, /* no plan fits the capacity */
  QUERN_PLANNER_UNKNOWN = 3     /* it does not fit, but another may */
};
/* "optimal"; "unknown" for a number that is no proof. Static. */
QUERN_PLANNER_EXPORT const char* quern_planner_proof_name(quern_planner_proof proof);

typedef struct quern_planner_plan_info {
  size_t struct_size;
  size_t count;            /* of offsets */
  uint64_t bytes;          /* of the arena, or of all banks together */
  uint64_t lower_bound;    /* proven: no plan is smaller */
  uint64_t unshared_bytes; /* if no two buffers shared memory */
  double fragmentation;    /* the share of the arena that is not live in the fullest step */
  quern_planner_proof proof;
  size_t bank_count;   /* 0: one memory */
  uint64_t cost;       /* with banks; `lower_bound` is then that of plans of the least cost */
  uint64_t cost_bound; /* proven: no plan costs less */
} quern_planner_plan_info;
#define QUERN_PLANNER_PLAN_INFO_INIT \
  { sizeof(quern_planner_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_plan_get_info(const quern_planner_plan* plan, quern_planner_plan_info* info);
/* In the order of the buffers. NULL of NULL. */
QUERN_PLANNER_EXPORT const uint64_t* quern_planner_plan_offsets(const quern_planner_plan* plan);
/* The bank of each buffer, and the bytes of each bank. NULL of NULL, and without banks. */
QUERN_PLANNER_EXPORT const uint32_t* quern_planner_plan_banks(const quern_planner_plan* plan);
QUERN_PLANNER_EXPORT const uint64_t* quern_planner_plan_bank_sizes(const quern_planner_plan* plan);
/* The problem with a column `offset`, and `bank` where there are some. */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_plan_write_csv(const quern_planner_plan* plan, quern_planner_text** csv);
/* A picture of addresses over time, an SVG element that is also a file. `title` may be NULL. */
QUERN_PLANNER_EXPORT quern_planner_status quern_planner_plan_draw_svg(
    const quern_planner_plan* plan, const char* title, quern_planner_text** svg);
/* A page of HTML with one or more plans of one problem, two of them side by side. `titles` may be
 * NULL. Errors: invalid_argument where a plan is of another problem. */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_draw_page(const char* title, const quern_planner_plan* const* plans,
                        const char* const* titles, size_t count, quern_planner_text** html);

/* ---- traces and pools ---------------------------------------------------------------------- */

/* Allocations and frees of runs, in order. */
typedef struct quern_planner_trace quern_planner_trace;

/* CSV with the columns run,event,id,bytes,alignment. Errors: invalid_argument, with the line. */
QUERN_PLANNER_EXPORT quern_planner_status quern_planner_trace_read_csv(const char* csv,
                                                                       size_t bytes,
                                                                       quern_planner_trace** trace);
/* From lives of buffers for each shape (CSV of problems with a column `shape` or `seq`) and the
 * shape of each run. Errors: as above. */
QUERN_PLANNER_EXPORT quern_planner_status
quern_planner_trace_of_shapes(const char* lives_csv, size_t lives_bytes, const char* runs_csv,
                              size_t runs_bytes, quern_planner_trace** trace);
QUERN_PLANNER_EXPORT void quern_planner_trace_destroy(quern_planner_trace* trace);
/* 0 of NULL. */
QUERN_PLANNER_EXPORT size_t quern_planner_trace_run_count(const quern_planner_trace* trace);
QUERN_PLANNER_EXPORT size_t quern_planner_trace_event_count(const quern_planner_trace* trace);
/* The lives of the buffers of one run, in events. Errors: not_found; invalid_argument where their
 * sizes add up to more than 2^60. */
QUERN_PLANNER_EXPORT quern_planner_status quern_planner_trace_problem(
    const quern_planner_trace* trace, size_t run, quern_planner_problem** problem);

/* An arena that is kept, and planned anew for each run. */
typedef struct quern_planner_static_peak {
  size_t struct_size;
  uint64_t bytes;   /* of the largest plan */
  size_t plans;     /* runs that differ */
  int32_t is_bound; /* 1: too many buffers to plan, `bytes` is a lower bound */
} quern_planner_static_peak;
#define QUERN_PLANNER_STATIC_PEAK_INIT \
  { sizeof(quern_planner_static_peak), 0, 0, 0 }

/* All plans share options->seconds. `options` may be NULL. Errors: as quern_planner_solve(). */
QUERN_PLANNER_EXPORT quern_planner_status quern_planner_trace_static_peak(
    const quern_planner_trace* trace, const quern_planner_options* options,
    quern_planner_static_peak* peak);

/* The pools by index, the default first; NULL from their number on. Static. */
QUERN_PLANNER_EXPORT const char* quern_planner_pool_name(size_t index);
QUERN_PLANNER_EXPORT const char* quern_planner_pool_summary(size_t index);

typedef struct quern_planner_pool_options {
  size_t struct_size;
  const char* pool; /* by name; NULL: the default */
  uint64_t limit;   /* of bytes that it reserves; 0: none */
  uint64_t page;    /* of the system: a power of two from 64 to 2^30; 0: 64 */
  double seconds;   /* that the replay may take; 0: 10 */
} quern_planner_pool_options;
#define QUERN_PLANNER_POOL_OPTIONS_INIT \
  { sizeof(quern_planner_pool_options), NULL, 0, 0, 0 }

/* Bytes are most at different times, unless said otherwise. */
typedef struct quern_planner_pool_figures {
  size_t struct_size;
  size_t events;           /* that were replayed */
  uint64_t peak_requested; /* of live blocks */
  uint64_t peak_used;      /* of live blocks, as the pool rounds them */
  uint64_t peak_reserved;  /* taken from the system */
  uint64_t end_reserved;   /* at the end */
  uint64_t allocations;
  uint64_t hits; /* allocations that took nothing from the system */
  uint64_t system_allocations;
  uint64_t system_releases;
  double internal_fragmentation; /* when most was reserved: the share of blocks that is rounding */
  double external_fragmentation; /* then, too: the share of the reserved that is in no block */
  double seconds;                /* that the replay took */
} quern_planner_pool_figures;
#define QUERN_PLANNER_POOL_FIGURES_INIT \
  { sizeof(quern_planner_pool_figures), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Plays the trace to a pool that begins empty. `options` may be NULL. Errors: not_found and
 * invalid_argument; out_of_memory where the pool would pass its limit, and busy where the time is
 * up: with these two the figures up to there are written all the same. */
QUERN_PLANNER_EXPORT quern_planner_status quern_planner_trace_replay(
    const quern_planner_trace* trace, const quern_planner_pool_options* options,
    quern_planner_pool_figures* figures);

#ifdef __cplusplus
}
#endif

#endif
