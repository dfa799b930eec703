// SPDX-License-Identifier: Apache-2.0
// The file of a compiled model, byte by byte in docs/artefact.md: a header, tables, and the bytes
// of weights that the tables point into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/executable.h>
#include <quern/model.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "engine/artefact/bytes.h"
#include "engine/compile/saved_plans.h"
#include "engine/vocabulary/content_hash.h"

namespace quern::artefact {

// As PNG's: a byte above 127, and line ends of both kinds, which a transfer as text would change.
inline constexpr std::string_view magic = "\x89QUERN\r\n";
inline constexpr std::uint32_t format_version = 3;
// Raised when a packed layout changes its bytes without a change of its key.
inline constexpr std::uint32_t layout_version = 1;
inline constexpr std::size_t header_bytes = 72;
inline constexpr std::uint64_t data_alignment = 4096;
inline constexpr std::uint64_t item_alignment = 64;  // of constants and packed weights
inline constexpr std::uint64_t nowhere = ~std::uint64_t{0};

// An error about the file.
Status invalid(std::string_view why);

struct Header {
  std::uint32_t version = format_version;
  std::uint32_t flags = 0;  // 0
  std::uint64_t table_bytes = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;
  ContentHash table_hash = {};
  ContentHash data_hash = {};
};

std::string header_text(const Header& header);
// Errors: invalid_model, with what is found and wanted.
Result<Header> read_header(std::string_view file);

// A thing that must be here as it was where the artefact was made, by name.
using Signature = std::vector<std::pair<std::string, std::string>>;
// "oneDNN 2.6.0, here 3.7.0"; empty: they are the same.
std::string difference(const Signature& made_for, const Signature& here);

struct ConstantEntry {
  TensorType type;
  std::uint64_t offset = nowhere;  // into the data; nowhere: left out
  std::uint64_t number = nowhere;  // SharedWeights::number_of(); nowhere: none was given
};

struct PackedEntry {
  std::string key;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct PlanEntry {
  PlanKey key;  // without the team
  std::vector<SlotRef> inputs;
  std::vector<Slot> outputs;
  std::vector<SlotRef> results;
  std::uint32_t slot_count = 0;
  bool order = true, scratch = true;
  Stripes stripes = Stripes::none;
  std::string graph;
  std::vector<lowering::MemoryChoice> memories;
};

// A work (StepInfo::work) and the implementation that was measured to be the fastest for it.
using Choice = std::pair<std::string, std::string>;

struct Tables {
  Signature signature;
  CompileOptions options;       // those that decide numbers and plans, and the threads
  std::vector<Choice> choices;  // of the plans' kernels
  bool half_products = false;
  bool is_portable = false;
  ModelMetadata metadata;
  std::string shapes;              // of the plans, for messages
  std::vector<ValueSpec> outputs;  // as the model declares them
  std::string graph;
  std::vector<ConstantEntry> constants;
  std::vector<PackedEntry> packed;
  std::vector<PlanEntry> plans;
};

std::string tables_text(Tables& tables);  // which are as before
// Values are as the format allows them; whether they fit each other is for who uses them.
Result<Tables> read_tables(std::string_view bytes);

}  // namespace quern::artefact
