// SPDX-License-Identifier: Apache-2.0
// From a path to a session with bound inputs, with the time that each phase takes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/session.h>
#include <quern/status.h>
#include <quern/tuning.h>

#include "tools/console.h"
#include "tools/inputs.h"
#include "tools/json.h"
#include "tools/options.h"

namespace quern::tools {

class Stopwatch {
 public:
  // Milliseconds since the last call, or since construction.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - begin_).count();
    begin_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

struct Phases {
  double load_ms = 0;     // file to graph
  double compile_ms = 0;  // graph to executable; plans too when all dimensions are numbers
  double plan_ms = 0;     // session and plan for the inputs' shapes
};

struct OpenOptions {
  std::string pool;
  double time_limit_s = 0;           // 0: none
  std::vector<std::string> outputs;  // names; empty: all
  double default_crop = 1;
  bool order = true;  // as in CompileOptions
  bool alias = true;
  const Console* console = nullptr;  // that says what --tune does; null: nothing is said
};

// A model ready to run; `inputs` stay bound.
struct Opened {
  std::vector<InputValue> inputs;
  std::vector<std::size_t> outputs;  // that are computed
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<Session> session;
  int wanted_threads = 0;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Phases phases;
  std::shared_ptr<const Tuning> tuning;  // of --tune and --tuning; null: none
};

// Null without files. Errors: those of CustomOps::load().
Result<std::shared_ptr<const CustomOps>> load_ops(const std::vector<std::string>& files);
Result<Model> load_model(const std::string& path, const OnnxOptions& options = {});
// device_lost, the code of exit 4, when there is no such device.
Result<std::shared_ptr<Device>> device_named(const std::string& name);
// Errors: invalid_argument.
Result<CompileOptions> compile_options(const DeviceArgs& device);
// `path` is a model, or an artefact that `quern compile` wrote.
Result<Opened> open_model(const std::string& path, const InputArgs& input_args,
                          const DeviceArgs& device, const OpenOptions& options = {});
// A property of a device by its name; "": it has none of it.
std::string property_of(const DeviceInfo& device, std::string_view name);

// Says on stderr which inputs were generated, if there are fewer threads than were asked for, and,
// once in a process, that the plan is slow for want of a library.
void note_assumptions(const Opened& opened, const Console& console);

// "weights 4.9 MB, arena 3.2 MB, process 60 MB"
std::string memory_text(const Session& session);
Json memory_json(const Session& session);
// The predicted maximum memory of a session.
Json need_json(const MemoryNeed& need);
std::string need_text(const MemoryNeed& need);
// ", in stripes of rows that stay in the cache"; "" for plans of whole tensors.
std::string_view stripes_text(Stripes stripes);
Json phases_json(const Phases& phases);
Json inputs_json(const Opened& opened);

// Bytes of arenas, control flow and packed weights that the session and its executable hold.
struct Held {
  std::size_t weights = 0;
  std::size_t session = 0;
  std::size_t peak_process = 0;
};
Held held_bytes(const Session& session);

// The model.onnx of a folder; any other path as it is.
std::string model_file(const std::string& path);
// "model" of ".../model/model.onnx", "net" of "net.onnx".
std::string model_name(const std::string& path);

}  // namespace quern::tools
