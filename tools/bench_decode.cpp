// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_decode.h"

#include <algorithm>
#include <vector>

#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"
#include "tools/opened.h"

namespace quern::tools {
namespace {

Status check_decode_arguments(const BenchArgs& args) {
  const auto refuse = [](const char* option) {
    return Status(Code::invalid_argument, cat(option, " does not go with --decode"));
  };
  if (args.cold) return refuse("--cold");
  if (args.inflight) return refuse("--inflight");
  if (!args.pool.record_trace.empty()) return refuse("--record-trace");
  return {};
}

Result<std::unique_ptr<Decoder>> open_decoder(const BenchArgs& args) {
  DecoderOptions options;
  options.capacity = std::int64_t{args.past} + args.tokens;
  options.capacity = std::max<std::int64_t>(options.capacity, 2);
  QUERN_ASSIGN(options.compile, compile_options(args.device));
  // Fewer than a round has tokens: where each number of them has a plan, each round makes it anew,
  // as a sequence that goes on does.
  options.compile.max_plans = 4;
  QUERN_ASSIGN(auto device, device_named(args.device.device));
  QUERN_ASSIGN(auto ops, load_ops(args.device.ops));
  QUERN_ASSIGN(Model model, load_model(args.model, {.ops = std::move(ops)}));
  return Decoder::open(std::move(model), options, std::move(device));
}

// Tokens of any kind: which they are changes no time.
std::vector<std::int64_t> some_tokens(std::int64_t count, std::size_t vocabulary) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<std::int64_t>(static_cast<std::size_t>(i * 7919 + 13) %
                                               std::max<std::size_t>(vocabulary, 1)));
  return tokens;
}

// The past at once: the second time, when its plan is there and its weights are packed.
Status time_prompt(Decoder& decoder, std::span<const std::int64_t> tokens, DecodeMeasurement& m) {
  if (tokens.empty()) return {};
  for (int i = 0; i < 2; ++i) {
    decoder.reset();
    Stopwatch watch;
    QUERN_TRY(decoder.append(tokens));
    m.prompt_ms = watch.lap();
  }
  return {};
}

// Rounds of tokens behind the past, each a token behind the one before.
Status time_tokens(Decoder& decoder, const BenchArgs& args, std::span<const std::int64_t> tokens,
                   DecodeMeasurement& m) {
  const auto of_round = static_cast<std::int64_t>(tokens.size()) - args.past;
  std::vector<double> samples;
  samples.reserve(1 << 16);
  double spent = 0, processor = 0;
  bool is_warm = false;
  while (spent < args.time_s * 1e3 && samples.size() < 1'000'000) {
    QUERN_TRY(decoder.rewind(args.past));
    const double before = processor_ms();
    for (std::int64_t i = 0; i < of_round; ++i) {
      Stopwatch watch;
      QUERN_TRY(decoder.append(tokens.subspan(static_cast<std::size_t>(args.past + i), 1)));
      if (is_warm) samples.push_back(watch.lap());
    }
    if (is_warm) processor += processor_ms() - before;
    spent = 0;
    for (double ms : samples) spent += ms;
    is_warm = true;
  }
  m.cpu_ms = processor / static_cast<double>(samples.size());
  m.token = distribution(std::move(samples));
  return {};
}

// What the steps of a token read, of tables only a row, and of the cache what is in it.
double bytes_of_token(const Decoder& decoder, double rows) {
  double bytes = static_cast<double>(decoder.row_bytes()) * rows;
  for (const StepInfo& s : decoder.session().plan_info().steps)
    if (!s.op.starts_with("Gather") && !s.op.starts_with("Cache")) bytes += s.bytes;
  return bytes;
}

}  // namespace

Result<DecodeMeasurement> measure_decoding(const BenchArgs& args, const Console& console) {
  QUERN_TRY(check_decode_arguments(args));
  Progress progress(console);
  progress.update("opening");
  QUERN_ASSIGN(const auto decoder, open_decoder(args));
  DecodeMeasurement m{.model = model_name(args.model),
                      .device = args.device.device,
                      .threads = decoder->session().threads(),
                      .in_place = decoder->growth() == Decoder::Growth::in_place,
                      .past = args.past};
  const std::vector<std::int64_t> first = {0};
  QUERN_TRY(decoder->append(first));
  const std::size_t vocabulary = decoder->logits().size();
  const std::vector<std::int64_t> tokens = some_tokens(args.past + args.tokens, vocabulary);
  decoder->reset();
  QUERN_TRY(time_prompt(*decoder, std::span(tokens).first(static_cast<std::size_t>(args.past)), m));
  progress.update("tokens");
  QUERN_TRY(time_tokens(*decoder, args, tokens, m));
  m.memory = decoder->memory();
  m.bytes = bytes_of_token(*decoder, args.past + args.tokens / 2.0);
  m.peak_process = platform::peak_resident_bytes();
  QUERN_ASSIGN(m.roof, measure_roof(decoder->executable().device(), m.threads));
  return m;
}

std::string decoding_text(const DecodeMeasurement& m, const Console& console) {
  Table t({{cat(shown(m.model), " on ", m.device)},
           {"time", Table::Align::right},
           {"tokens a second", Table::Align::right}});
  if (m.past > 0)
    t.add({cat("prompt of ", m.past), time_text(m.prompt_ms),
           fixed_text(static_cast<double>(m.past) * 1e3 / m.prompt_ms, 1)});
  t.add({cat("a token behind ", m.past), time_text(m.token.median),
         fixed_text(m.tokens_per_second(), 1)});
  const double share = m.roof.copy_gbytes > 0 ? m.gbytes_per_second() / m.roof.copy_gbytes : 0;
  return cat(t.text(console), "a token takes ", time_text(m.cpu_ms),
             " of processor time and reads ", bytes_text(m.bytes), ": ",
             fixed_text(m.gbytes_per_second(), 1), " GB/s, ", fixed_text(share * 100, 0),
             " % of a copy's ", fixed_text(m.roof.copy_gbytes, 1), "\n",
             m.in_place ? "the cache grows in place" : "the cache is copied for each token", ", ",
             bytes_text(static_cast<double>(m.memory.cache)), "; weights ",
             bytes_text(static_cast<double>(m.memory.session.weights)), ", arena ",
             bytes_text(static_cast<double>(m.memory.session.arena)), ", process ",
             bytes_text(static_cast<double>(m.peak_process)), "\n", m.threads,
             m.threads == 1 ? " thread" : " threads", "; median of ", m.token.count,
             " tokens, p99 ", time_text(m.token.p99), "\n");
}

Json decoding_json(const DecodeMeasurement& m) {
  Json j;
  j["context"]["executable"] = "quern";
  j["context"]["device"] = m.device;
  j["context"]["num_threads"] = m.threads;
  j["context"]["copy_gbytes_per_second"] = m.roof.copy_gbytes;
  const auto row_of = [&](const char* name, double ms) {
    Json row;
    row["name"] = cat(m.model, "/", m.device, "/t", m.threads, "/", name, m.past);
    row["run_type"] = "iteration";
    row["real_time"] = ms;
    row["time_unit"] = "ms";
    return row;
  };
  if (m.past > 0) j["benchmarks"].push(row_of("prompt", m.prompt_ms));
  Json token = row_of("token_behind", m.token.median);
  token["cpu_time"] = m.cpu_ms;
  token["min"] = m.token.min;
  token["p90"] = m.token.p90;
  token["p99"] = m.token.p99;
  token["tokens_per_second"] = m.tokens_per_second();
  token["bytes_per_token"] = m.bytes;
  token["gbytes_per_second"] = m.gbytes_per_second();
  token["in_place"] = m.in_place;
  token["cache_bytes"] = m.memory.cache;
  token["weight_bytes"] = m.memory.session.weights;
  token["arena_bytes"] = m.memory.session.arena;
  token["peak_process_bytes"] = m.peak_process;
  j["benchmarks"].push(std::move(token));
  return j;
}

}  // namespace quern::tools
