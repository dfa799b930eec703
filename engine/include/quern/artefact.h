// SPDX-License-Identifier: Apache-2.0
// A compiled model as one file (docs/artefact.md): the graph after the passes, plans for named
// shapes and packed weights, so that loading it neither rewrites, plans nor packs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/dtype.h>
#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/status.h>

namespace quern {

struct ArtefactOptions {
  // For each plan the shapes of all inputs, in their order. Empty: the declared shapes, where they
  // are all numbers.
  std::vector<std::vector<Shape>> shapes;
  // The file also holds all weights as the model has them. It then loads on other machines, for
  // other shapes and with other versions of quern, and compiles there. Off: the weights that only
  // packed kernels read are left out if all plans could be saved, and the file loads where it was
  // made for or says what is different.
  bool is_portable = false;
};

// The bytes of such a file. Movable; one thread at a time.
class Artefact {
 public:
  // Plans `executable` for the shapes and packs its weights. Errors: those of planning;
  // invalid_argument, where shapes do not fit the model.
  static Result<Artefact> make(std::shared_ptr<const Executable> executable,
                               const ArtefactOptions& options = {});
  Artefact(Artefact&&) noexcept;
  Artefact& operator=(Artefact&&) noexcept;
  ~Artefact();

  // The pieces of the file in their order; valid as long as this exists.
  std::span<const std::string_view> pieces() const;
  // All of them in one piece of memory, as parse_artefact() takes it. Errors: out_of_memory.
  Result<std::shared_ptr<std::byte>> in_memory() const;
  // Writes them beside `path` and renames. Errors: invalid_argument, with the system's reason.
  Status write(const std::string& path) const;

  struct Contents {
    std::size_t bytes = 0;  // of the file
    std::size_t plans = 0;
    std::size_t packed_bytes = 0;    // of weights in the layouts of kernels
    std::size_t constant_bytes = 0;  // of weights as the model has them
    bool is_portable = false;        // as asked, or since not every shape has a plan
  };
  const Contents& contents() const;
  // A sentence for each thing that loading will have to do, and why.
  const std::vector<std::string>& notes() const;

  struct Impl;  // engine/artefact/write.cpp

 private:
  explicit Artefact(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// True if a file that begins so claims to be an artefact.
bool is_artefact(std::span<const std::byte> bytes);
// The same of the file at this path; false if it cannot be read.
bool is_artefact_file(const std::string& path);

struct LoadOptions {
  // Mapped files must not change as long as the executable exists (one that shrinks ends the
  // process), and processes that map one share its pages.
  OnnxOptions::Files files = OnnxOptions::Files::mapped;
  // Checks that the weights are those that were written, which reads all of the file. Its tables
  // are always checked.
  bool checks_weights = true;
  // Threads, pools, limits and the deadline hold. What decides numbers and plans (math, denormals,
  // optimize, strategy, order, alias, scratch) is that of the file. 0 threads: as many as the file
  // was compiled for.
  CompileOptions compile = {};
  // Operators of the host that the model was compiled with: the file names them. Null: none.
  std::shared_ptr<const CustomOps> ops = nullptr;
};

// Errors: invalid_model (no artefact, a truncated or changed one, another version of the format),
// unsupported (made for another machine or device, and not portable; an operator of the host that
// LoadOptions::ops lacks), out_of_memory, timed_out, and
// those of reading a file. The bytes of the file are in no figure of the executable.
Result<std::shared_ptr<const Executable>> load_artefact(const std::string& path,
                                                        std::shared_ptr<Device> device = nullptr,
                                                        const LoadOptions& options = {});
// The same from memory that `owner` keeps (null: the caller keeps it, as long as the executable
// exists). Its address is a multiple of 64.
Result<std::shared_ptr<const Executable>> parse_artefact(std::span<const std::byte> bytes,
                                                         std::shared_ptr<const void> owner,
                                                         std::shared_ptr<Device> device = nullptr,
                                                         const LoadOptions& options = {});

// What the graphs of an artefact are made of: QUERN_OPS_FROM makes a build that has nothing else
// (docs/embedding.md).
struct ArtefactNeeds {
  std::vector<std::string> operators;  // names of all
  std::vector<std::string> kernels;    // of those that plans compute, or of all without plans
  std::vector<DType> types;            // of elements
};
// Whatever machine the artefact was made for; its bytes begin at a multiple of 64. Errors:
// invalid_model, out_of_memory.
Result<ArtefactNeeds> needs_of(std::span<const std::byte> bytes);

// What an executable had to make so far: 0 of each where all came from an artefact.
struct CompileWork {
  std::size_t graphs = 0;    // specialised and rewritten
  std::size_t searches = 0;  // for an order and places in memory
  std::size_t packings = 0;  // of weights
};
CompileWork work_of(const Executable& executable);

}  // namespace quern
