// SPDX-License-Identifier: Apache-2.0
// This checks a condition in a child of fork(), which may wait for threads that it does not have.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace quern::testing {

// Runs `body` in a child; false if it is false there, or has not ended after half a minute.
inline bool holds_in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int status = 0; child > 0; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (std::chrono::steady_clock::now() < last) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ADD_FAILURE() << "the child does not end";
    return false;
  }
  return false;
}

}  // namespace quern::testing
