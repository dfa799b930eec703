// SPDX-License-Identifier: Apache-2.0
// What happens to devices that are still open when the process ends: those that a static object
// holds, say. Drivers register handlers of exit() of their own, and after these their functions
// crash. Handlers run in reverse order; those of this file are registered after a driver's.
#pragma once

namespace quern::vulkan {

class Core;

// True once exit() runs handlers: no function of a driver may be called any more.
bool is_process_ending();
// Called after a driver has loaded libraries. Adds a handler of exit(), a few times per process.
void follow_driver();
// Between these calls the core's files on disk are written when the process ends.
void save_at_end(const Core* core);
void forget_at_end(const Core* core);

}  // namespace quern::vulkan
