// SPDX-License-Identifier: Apache-2.0
// The process that a comparison measures: a program of its own, so that its memory and its start
// are those of an engine.
#include "bench/compare/worker.h"

int main() {
  return quern::bench::serve_worker();
}
