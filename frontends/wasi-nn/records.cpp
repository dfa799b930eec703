// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/records.h"

namespace quern::wasi_nn {

Error out_of_bounds(std::string_view what) {
  return {Errno::invalid_argument, sentence(what, " does not lie in the guest's memory")};
}

Error read_encoding(std::uint32_t number, std::uint32_t first_autodetect, Encoding* encoding) {
  if (number > 6)
    return {Errno::invalid_encoding,
            sentence("encoding ", number, "; onnx is 1, autodetect ", first_autodetect)};
  *encoding = number == 1                  ? Encoding::onnx
              : number >= first_autodetect ? Encoding::autodetect
                                           : Encoding::other;
  return {};
}

Error read_target(std::uint32_t number, Target* target) {
  if (number > 2)
    return {Errno::invalid_argument, sentence("target ", number, "; cpu is 0, gpu 1, tpu 2")};
  if (number == 2) return {Errno::unsupported_operation, "there is no device of kind tpu"};
  *target = static_cast<Target>(number);
  return {};
}

Error read_shape(const GuestMemory& memory, std::uint32_t at, std::uint32_t rank, Shape* shape) {
  if (rank > Shape::max_rank)
    return {Errno::invalid_argument,
            sentence("a tensor of rank ", rank, ", at most ", Shape::max_rank, " is possible")};
  const auto dims = memory.range(at, rank, 4);
  if (!dims) return out_of_bounds("the list of dimensions");
  *shape = {};
  for (std::uint32_t i = 0; i < rank; ++i)
    shape->push_back(GuestMemory::read<std::uint32_t>(*dims, std::size_t{4} * i));
  return {};
}

// Parts may overlap, but together they are no larger than the memory.
Error read_parts(const GuestMemory& memory, std::uint32_t at, std::uint32_t count,
                 std::vector<Bytes>* parts) {
  constexpr std::uint32_t most = 64;
  if (count == 0 || count > most)
    return {Errno::invalid_argument,
            sentence("a model in ", count, " parts; 1 to ", most, " are possible")};
  const auto list = memory.range(at, count, 8);
  if (!list) return out_of_bounds("the list of graph builders");
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto part = memory.range(GuestMemory::read<std::uint32_t>(*list, std::size_t{8} * i),
                                   GuestMemory::read<std::uint32_t>(*list, std::size_t{8} * i + 4));
    if (!part) return out_of_bounds("a graph builder");
    parts->push_back(*part);
    bytes += part->size();
  }
  if (bytes > memory.size())
    return {Errno::invalid_argument,
            sentence("a model of ", bytes,
                     " bytes in parts that overlap: ", "the guest's memory has ", memory.size())};
  return {};
}

Error read_name(const GuestMemory& memory, std::uint32_t at, std::uint32_t size,
                std::string* name) {
  constexpr std::uint32_t longest = 256;  // of any model's name
  const auto range = memory.range(at, size);
  if (!range) return out_of_bounds("the name");
  if (size > longest)
    return {Errno::not_found, sentence("no model with a name of ", size, " bytes")};
  name->resize(size);
  if (size > 0) std::memcpy(name->data(), range->data(), size);
  return {};
}

}  // namespace quern::wasi_nn
