// SPDX-License-Identifier: Apache-2.0
// Decoders over executables; those over models are the compiler's.
#include <string>

#include <quern/decoder.h>

#include "engine/c_api/handles.h"
#include "engine/c_api/options.h"

using namespace quern;
using namespace quern::c_api;

DecoderOptions quern::c_api::decoder_options(const quern_decoder_options& o) {
  DecoderOptions options{.capacity = o.capacity, .session = {.threads = o.threads}};
  const auto take = [](std::string& name, const char* given) {
    if (given) name = given;
  };
  DecoderNames& n = options.names;
  take(n.tokens, o.tokens), take(n.logits, o.logits), take(n.mask, o.mask);
  take(n.positions, o.positions), take(n.use_cache, o.use_cache);
  take(n.past_key, o.past_key), take(n.past_value, o.past_value);
  take(n.present_key, o.present_key), take(n.present_value, o.present_value);
  return options;
}

quern_status quern_decoder_create(const quern_executable* executable,
                                  const quern_decoder_options* options, quern_decoder** decoder) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(executable);
    QUERN_NOT_NULL(decoder);
    QUERN_ASSIGN(const quern_decoder_options o, read_struct(options));
    QUERN_ASSIGN(auto made, Decoder::open(executable->executable, decoder_options(o)));
    *decoder = new quern_decoder{std::move(made)};
    return {};
  });
}

quern_status quern_decoder_fork(const quern_decoder* decoder, quern_decoder** fork) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(decoder);
    QUERN_NOT_NULL(fork);
    QUERN_ASSIGN(auto made, decoder->decoder->fork());
    *fork = new quern_decoder{std::move(made)};
    return {};
  });
}

void quern_decoder_destroy(quern_decoder* decoder) {
  delete decoder;
}

quern_status quern_decoder_set_input(quern_decoder* decoder, const char* name,
                                     const quern_tensor* tensor) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(decoder);
    QUERN_NOT_NULL(name);
    QUERN_NOT_NULL(tensor);
    QUERN_ASSIGN(const TensorType type, type_of(tensor));
    QUERN_ASSIGN(const quern_tensor t, read_struct(tensor));
    if (type.dtype == DType::string) return {Code::invalid_argument, "strings cannot be copied"};
    if (type.bytes()) QUERN_NOT_NULL(t.data);
    QUERN_ASSIGN(Tensor copy,
                 Tensor::copy_of(type, {static_cast<const std::byte*>(t.data), type.bytes()}));
    return decoder->decoder->set_input(name, std::move(copy));
  });
}

quern_status quern_decoder_append(quern_decoder* decoder, const int64_t* tokens, size_t count,
                                  uint64_t microseconds) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(decoder);
    if (count) QUERN_NOT_NULL(tokens);
    const auto deadline =
        microseconds ? deadline_in(microseconds) : std::chrono::steady_clock::time_point::max();
    return decoder->decoder->append({tokens, count}, deadline);
  });
}

quern_status quern_decoder_logits(const quern_decoder* decoder, const float** logits,
                                  size_t* count) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(decoder);
    QUERN_NOT_NULL(logits);
    QUERN_NOT_NULL(count);
    const std::span<const float> all = decoder->decoder->logits();
    if (all.empty()) return {Code::not_found, "no token has been appended yet"};
    *logits = all.data();
    *count = all.size();
    return {};
  });
}

quern_status quern_decoder_prepare(quern_decoder* decoder, int64_t tokens) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(decoder);
    return decoder->decoder->prepare(tokens);
  });
}

quern_status quern_decoder_rewind(quern_decoder* decoder, int64_t length) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(decoder);
    return decoder->decoder->rewind(length);
  });
}

void quern_decoder_cancel(quern_decoder* decoder) {
  if (decoder) decoder->decoder->cancel();
}
void quern_decoder_clear_cancel(quern_decoder* decoder) {
  if (decoder) decoder->decoder->clear_cancel();
}

quern_status quern_decoder_get_info(const quern_decoder* decoder, quern_decoder_info* info) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(decoder);
    QUERN_NOT_NULL(info);
    const Decoder& d = *decoder->decoder;
    const DecoderMemory memory = d.memory();
    quern_decoder_info all = QUERN_DECODER_INFO_INIT;
    all.length = d.length();
    all.capacity = d.capacity();
    all.in_place = d.growth() == Decoder::Growth::in_place ? 1 : 0;
    all.row_bytes = d.row_bytes();
    all.cache_bytes = memory.cache;
    all.weight_bytes = memory.session.weights;
    all.session_bytes = memory.session.total() - memory.session.weights;
    return write_struct(info, all);
  });
}
