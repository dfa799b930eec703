// SPDX-License-Identifier: Apache-2.0
// What is in a submission, by estimates of work in floating-point operations.
#pragma once

#include "engine/compile/program.h"
#include "engine/devices/vulkan/core.h"

namespace quern::vulkan {

// Of a step; a byte that is read or written counts as some operations, one of a constant as one.
double work_of(const Step& step, const Program& program);

// Of a piece of a recording: some tens of milliseconds of a small GPU, or of a slow processor
// (products in software: 1.3 GFLOP/s have been seen on two cores). Short pieces go out several at a
// time.
double piece_of(const Core& core);

// To begin a dispatch: what it computes may be nothing beside that (in software 30 us were seen,
// where the threads of the driver wake up for each).
double start_of(const Core& core);

// More than this goes out in pieces in any case: nobody can end a submission, other runs wait for
// all of it, and systems end what takes some seconds. It is meant to take some tens of
// milliseconds.
double longest_whole(const Core& core);

}  // namespace quern::vulkan
