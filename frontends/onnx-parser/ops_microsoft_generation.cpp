// SPDX-License-Identifier: Apache-2.0
// com.microsoft: whole generations of text. A node holds a decoder, perhaps with an encoder, and
// becomes a loop that runs the decoder and looks for the next tokens (generation.h).
//
// batch B, beams K, rows R = B * K, heads N of width H.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/generation.h"
#include "frontends/onnx-parser/loop_body.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/numeric.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/in_range.h"
#include "graph/ops/random.h"
#include "graph/ops/reduce.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// As in ONNX Runtime: they bound time and memory of a run.
constexpr double most_tokens = 4096;
constexpr double most_beams = 128;

// The inputs of the node that not all operators have in the same place.
struct Places {
  std::size_t repetition, allowed, first, mask;
};
constexpr Places places_of_one{.repetition = 3, .allowed = 4, .first = 5, .mask = 6};
constexpr Places places_of_beams{.repetition = 6, .allowed = 7, .first = 8, .mask = 9};

// ---- decoders

// A decoder in the graph that nodes are being added to.
struct TextDecoder {
  const GraphProto* body = nullptr;
  bool has_positions = false;    // GPT-2: positions and a mask, [2, R, N, past, H] for each layer
  bool takes_sequences = false;  // all tokens so far, not the last ones
  // A value for each input of the body; no_value: the state has it.
  std::vector<ValueId> inputs;

  std::int64_t rows_axis() const { return has_positions ? 1 : 0; }
  std::int64_t past_axis() const { return has_positions ? 3 : 2; }
  std::size_t first_past() const { return has_positions ? 3 : 1; }
};

// The values that a decoder hands on from token to token: ids; with positions, these and the mask;
// pasts; with positions, those of the next token.
using DecoderState = std::vector<ValueId>;

std::vector<ValueId> outputs_of(NodeImport& n, const TextDecoder& d, const DecoderState& state) {
  std::vector<ValueId> inputs = d.inputs;
  std::size_t carried = 0;
  for (ValueId& v : inputs)
    if (v == no_value && carried < state.size()) v = state[carried++];
  return n.inlined(*d.body, inputs);
}

// The state for the next step; `present` are the outputs of the decoder that are its next pasts.
DecoderState next_state(NodeImport& n, const TextDecoder& d, const DecoderState& state,
                        std::span<const ValueId> present, const Step& step) {
  DecoderState next = {cast(n, d.takes_sequences ? step.state[0] : step.tokens, DType::i32)};
  if (d.has_positions) {
    const ValueId one = filled(n, shape_of(n, state.back()), DType::i32, 1);
    next.insert(next.end(), {state.back(), concat(n, {state[2], one}, 1)});
  }
  for (ValueId v : present) next.push_back(reordered(n, v, step.rows, d.rows_axis()));
  if (d.has_positions) next.push_back(add(n, state.back(), 1));
  return next;
}

// The type that the body declares for an input, which must say heads and width of a past.
std::optional<ValueType> past_type(NodeImport& n, const GraphProto& body, std::string_view name,
                                   std::size_t rank) {
  const auto at = std::ranges::find(body.inputs, name, &ValueInfo::name) - body.inputs.begin();
  auto type = n.declared_input(body, static_cast<std::size_t>(at));
  const bool says = type && type->dims && type->dims->size() == rank &&
                    (*type->dims)[rank - 3].known() && (*type->dims)[rank - 1].known();
  if (says) return type;
  n.fail(cat("input '", printable(name), "' of its decoder wants rank ", rank,
             " with known dimensions ", rank - 3, " and ", rank - 1, ": heads and their width"));
  return std::nullopt;
}

// A past that holds nothing.
ValueId no_past(NodeImport& n, const TextDecoder& d, std::string_view name, ValueId rows) {
  const std::size_t rank = d.has_positions ? 5 : 4;
  const auto type = past_type(n, *d.body, name, rank);
  if (!type) return no_value;
  const ValueId tail =
      n.ints_constant({(*type->dims)[rank - 3].value(), 0, (*type->dims)[rank - 1].value()});
  std::vector<ValueId> dims = {rows, tail};
  if (d.has_positions) dims.insert(dims.begin(), n.ints_constant({2}));
  return filled(n, join_dims(n, std::move(dims)), type->dtype, 0);
}

// ---- operands

ValueId number_operand(NodeImport& n, std::size_t i, DType dtype) {
  return n.has(i) ? reshape(n, cast(n, n.in(i), dtype), Ints{1}) : no_value;
}

// no_value where it is known to be the number that changes nothing.
ValueId number_unless(NodeImport& n, std::size_t i, DType dtype, double neutral) {
  return n.constant_number(n.in(i)) == neutral ? no_value : number_operand(n, i, dtype);
}

ValueId in_range(NodeImport& n, std::string_view what, ValueId x, ValueId least, ValueId most) {
  return n.add(InRange{.what = std::string(what)}, {x, least, most});
}

// The operands of a search for sequences that begin with `tokens`; those of beams are there.
void read_operands(NodeImport& n, Search& s, const Places& places, ValueId tokens) {
  const ValueId most = n.scalar(DType::i64, most_tokens);
  const ValueId least = add(n, dims_of(n, tokens, 1, 2), 1);
  s.max_length = in_range(n, "max_length", number_operand(n, 1, DType::i64), least, most);
  s.min_length = number_unless(n, 2, DType::i64, 0);
  s.repetition = number_unless(n, places.repetition, DType::f32, 1);
  const auto allowed = [&](std::size_t i) {
    return n.has(i) ? cast(n, n.in(i), DType::boolean) : no_value;
  };
  s.allowed = allowed(places.allowed);
  s.first = for_each_beam(n, s, allowed(places.first));
}

void read_beams(NodeImport& n, Search& s) {
  const ValueId one = n.scalar(DType::i64, 1);
  const ValueId most = n.scalar(DType::i64, most_beams);
  s.beams = in_range(n, "num_beams", number_operand(n, 3, DType::i64), one, most);
  s.returned = in_range(n, "num_return_sequences", number_operand(n, 4, DType::i64), one, s.beams);
  s.length = number_unless(n, 5, DType::f32, 1);
}

std::int64_t token_attribute(NodeImport& n, std::string_view name) {
  const std::int64_t token = n.integer(name);
  if (token < -1 || token > std::numeric_limits<std::int32_t>::max())
    n.fail(cat("attribute '", name, "' is ", token, ", wants a token"));
  return token;
}

Search read_attributes(NodeImport& n, Choice choice) {
  Search s{.choice = choice};
  s.eos = token_attribute(n, "eos_token_id");
  s.pad = token_attribute(n, "pad_token_id");
  s.vocabulary = std::max<std::int64_t>(n.integer("vocab_size", -1), 0);
  s.ngram = n.integer("no_repeat_ngram_size", 0);
  if (s.ngram < 0)
    n.fail(cat("attribute 'no_repeat_ngram_size' is ", s.ngram, ", wants 0 or more"));
  return s;
}

// Numbers for the draws of each step. A seed that only the run knows turns them, each by the same
// part of the whole: all of them stay multiples of 2^-24 below 1.
ValueId draws(NodeImport& n, const Search& s) {
  constexpr double golden = 0.6180339887498949;
  const auto known = n.constant_number(n.in(8));
  const ValueId one = n.ints_constant({1});
  const ValueId shape = join_dims(n, {s.max_length, dims_of(n, n.in(0), 0, 1), one});
  const std::uint64_t own = n.seed();
  const ValueId drawn =
      n.add(Random{.seed = known ? static_cast<std::uint64_t>(convert<std::int64_t>(*known)) : own},
            {shape});
  if (!n.has(8) || known) return drawn;
  const auto fraction = [&](ValueId x) { return sub(n, x, unary(n, UnaryKind::floor, x)); };
  const ValueId turned =
      fraction(mul(n, cast(n, number_operand(n, 8, DType::i64), DType::f64), golden));
  const ValueId turn = mul(n, unary(n, UnaryKind::floor, mul(n, turned, 0x1p24)), 0x1p-24);
  return cast(n, fraction(add(n, cast(n, drawn, DType::f64), turn)), DType::f32);
}

// ---- the loop

// The beginning of the loop: after a step that is done already, or before the first.
struct Start {
  DecoderState decoder;
  SearchState search;
  ValueId goes_on = no_value;  // bool []
  ValueId scores = no_value;   // f32 [1, R, V] of the step that is done
};

Start started(NodeImport& n, DecoderState decoder, SearchState search) {
  const ValueId yes = n.constant(number_tensor(DType::boolean, 1));
  return {.decoder = std::move(decoder), .search = std::move(search), .goes_on = yes};
}

// The start behind the first step, whose scores and presents are there.
Start stepped(NodeImport& n, const Search& s, const TextDecoder& d, const Start& before,
              ValueId logits, std::span<const ValueId> present) {
  Step step = next_step(n, s, before.search, logits, n.scalar(DType::i64, 0));
  Start start{.search = step.state, .goes_on = step.goes_on};
  step.rows = no_value;  // all beams of a prompt are the same still
  start.decoder = next_state(n, d, before.decoder, present, step);
  start.scores = unsqueeze(n, step.scores, {0});
  return start;
}

void open(ValueType& type, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  if (type.dims && at < type.dims->size()) (*type.dims)[at] = Dim();
}

// The types of what the loop carries, without the dimensions that grow or change.
std::vector<ValueType> carried_types(NodeImport& n, const TextDecoder& d, const Start& start) {
  std::vector<ValueType> types = {ValueType(DType::i64, Dims()), ValueType(DType::boolean, Dims())};
  const std::size_t pasts_end = start.decoder.size() - (d.has_positions ? 1 : 0);
  for (std::size_t i = 0; i < start.decoder.size(); ++i) {
    types.push_back(n.type(start.decoder[i]));
    if (i < d.first_past()) open(types.back(), 1);
    if (i >= d.first_past() && i < pasts_end) open(types.back(), d.past_axis());
  }
  for (ValueId v : start.search) types.push_back(n.type(v));
  open(types[2 + start.decoder.size()], 1);
  return types;
}

// The nodes of the loop's body: a run of the decoder and a step of the search.
std::vector<ValueId> body_outputs(NodeImport& b, const Search& outer_search,
                                  const TextDecoder& outer_decoder, const Start& start) {
  const Search s = outer_search.inside(b);
  TextDecoder d = outer_decoder;
  for (ValueId& v : d.inputs) v = b.from_outside(v);
  DecoderState decoder;
  SearchState search;
  for (std::size_t i = 0; i < start.decoder.size() + start.search.size(); ++i)
    (i < start.decoder.size() ? decoder : search).push_back(b.body_input(2 + i));
  const std::vector<ValueId> outputs = outputs_of(b, d, decoder);
  if (!b.ok()) return {};
  const bool is_later = start.scores != no_value;
  const ValueId iteration = is_later ? add(b, b.body_input(0), 1) : b.body_input(0);
  const Step step = next_step(b, s, search, outputs[0], iteration);
  std::vector<ValueId> all = {step.goes_on};
  for (ValueId v : next_state(b, d, decoder, std::span(outputs).subspan(1), step)) all.push_back(v);
  all.insert(all.end(), step.state.begin(), step.state.end());
  if (s.choice == Choice::beams && b.wants(2)) all.push_back(step.scores);
  return all;
}

// f32 [T - first tokens, B, K, V], 0 for steps that were not made.
void set_step_scores(NodeImport& n, const Search& s, const Start& start, ValueId looped,
                     ValueId steps) {
  ValueId all = looped;
  if (start.scores != no_value) {
    all = concat(n, {start.scores, all}, 0);
    steps = add(n, steps, 1);
  }
  const ValueId each = n.ints_constant({-1});
  const ValueId made = dims_of(n, all, 0, 1);
  const ValueId vocabulary = dims_of(n, all, 2, 3);
  const ValueId shape = join_dims(n, {made, each, s.beams, vocabulary});
  n.set(2, padded_to(n, reshape(n, all, shape), 0, steps, 0));
}

void search_from(NodeImport& n, Search s, const TextDecoder& d, const Start& start) {
  if (!n.ok()) return;
  if (s.first != no_value && start.scores != no_value) s.first = no_value;
  const std::size_t carried = start.decoder.size() + start.search.size();
  std::vector<ValueId> captures;
  const MakeBody make = [&](std::span<const ValueType> types, std::vector<ValueId>& read) {
    return n.written_body(types, read, [&](NodeImport& b) { return body_outputs(b, s, d, start); });
  };
  auto body = steady_body(n, make, {2, 1, carried}, carried_types(n, d, start), captures);
  if (!body) return;
  const std::size_t outputs = body->outputs().size() - 1;
  const ValueId steps = sub(n, s.max_length, dims_of(n, start.search[0], 1, 2));
  std::vector<ValueId> inputs = {reshape(n, steps, Ints{}), start.goes_on};
  inputs.insert(inputs.end(), start.decoder.begin(), start.decoder.end());
  inputs.insert(inputs.end(), start.search.begin(), start.search.end());
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<Graph> bodies;
  bodies.push_back(*std::move(body));
  const auto last = n.add_many(Loop{.carried = static_cast<std::int64_t>(carried)},
                               std::move(inputs), outputs, std::move(bodies));
  const auto found = last.begin() + static_cast<std::ptrdiff_t>(start.decoder.size());
  const Found f =
      end_search(n, s, {found, found + static_cast<std::ptrdiff_t>(start.search.size())});
  n.set(0, f.sequences);
  if (s.choice != Choice::beams) return;
  n.set(1, f.scores);
  if (n.wants(2)) set_step_scores(n, s, start, last.back(), steps);
}

// ---- GPT-2

// False, with an error, if the first inputs of a body are not called as `wanted`.
bool wants_names(NodeImport& n, std::string_view body, std::span<const std::string_view> names,
                 std::span<const std::string_view> wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string_view found = i < names.size() ? names[i] : "";
    if (found == wanted[i]) continue;
    n.fail(cat("input ", i, " of its ", body, " is '", printable(found), "', wants '", wanted[i],
               "'"));
    return false;
  }
  return true;
}

std::optional<TextDecoder> gpt_decoder(NodeImport& n, const GraphProto& body) {
  static constexpr std::array<std::string_view, 3> first = {"input_ids", "position_ids",
                                                            "attention_mask"};
  const auto names = NodeImport::inputs_of(body);
  if (!wants_names(n, "decoder", names, first)) return std::nullopt;
  const std::string has =
      cat("its decoder has ", names.size(), " inputs and ", body.outputs.size(), " outputs");
  if (names.size() == 3 || names.size() < body.outputs.size() + 2) {
    n.fail(has + ", wants a past for each present and at least one");
    return std::nullopt;
  }
  if (names.size() > body.outputs.size() + 2) {
    n.unsupported(has + ": a past in a buffer is not supported");
    return std::nullopt;
  }
  TextDecoder d{.body = &body, .has_positions = true};
  d.inputs.assign(names.size(), no_value);
  return d;
}

// The prompts, input 0: [B, L]
struct Counted {
  ValueId is_padding;
  ValueId ones;  // i32: 1 for a token that is none
  ValueId sums;  // of these, up to each token
};

Counted counted_tokens(NodeImport& n, const Search& s) {
  const ValueId padding = n.scalar_like(n.in(0), static_cast<double>(s.pad));
  Counted c{.is_padding = binary(n, BinaryKind::equal, n.in(0), padding)};
  c.ones = cast(n, unary(n, UnaryKind::logical_not, c.is_padding), DType::i32);
  c.sums = n.add(Cumulative{}, {c.ones, n.scalar(DType::i64, 1)});
  return c;
}

// Positions count what is no padding.
DecoderState gpt_state(NodeImport& n, const Search& s, const TextDecoder& d, std::size_t mask) {
  const Counted counted = counted_tokens(n, s);
  const ValueId zero = n.scalar(DType::i32, 0);
  const ValueId positions = where(n, counted.is_padding, zero, add(n, counted.sums, -1));
  DecoderState state = {for_each_beam(n, s, n.in(0))};
  state.push_back(for_each_beam(n, s, positions));
  state.push_back(for_each_beam(n, s, n.has(mask) ? n.in(mask) : counted.ones));
  const ValueId rows = dims_of(n, state[0], 0, 1);
  const auto names = NodeImport::inputs_of(*d.body);
  for (std::size_t i = 3; i < names.size() && n.ok(); ++i)
    state.push_back(no_past(n, d, names[i], rows));
  state.push_back(for_each_beam(n, s, reduce(n, ReduceKind::sum, counted.ones, {1})));
  return state;
}

void generate_with_gpt(NodeImport& n, Search s, const Places& places) {
  const GraphProto* body = n.graph("decoder");
  const bool has_first = n.has_attribute("init_decoder");
  const GraphProto* first = has_first ? n.graph("init_decoder") : nullptr;
  if (!n.ok()) return;
  const auto decoder = gpt_decoder(n, *body);
  if (!decoder || n.known_rank(n.in(0)) != 2 || n.dtype(n.in(0)) != DType::i32)
    return n.fail("input 0 wants i32 [batch, tokens]");
  const ValueId tokens = cast(n, n.in(0), DType::i64);
  read_operands(n, s, places, tokens);
  if (s.choice == Choice::drawn) s.draws = draws(n, s);
  Start start = started(n, gpt_state(n, s, *decoder, places.mask), {});
  const ValueId prompts = dims_of(n, tokens, 0, 1);
  start.search = begin_search(n, s, for_each_beam(n, s, tokens), prompts);
  if (first) {
    const auto first_decoder = gpt_decoder(n, *first);
    if (!first_decoder || first->outputs.size() != body->outputs.size())
      return n.fail("its init_decoder has other pasts than its decoder");
    const auto outputs = outputs_of(n, *first_decoder, start.decoder);
    if (!n.ok()) return;
    start = stepped(n, s, *decoder, start, outputs[0], std::span(outputs).subspan(1));
  }
  search_from(n, s, *decoder, start);
}

// ---- an encoder with a decoder: T5, Whisper

// f32 [B]: how likely the first step says that there is no speech.
void set_no_speech(NodeImport& n, const Search& s, ValueId logits) {
  const std::int64_t token = n.integer("no_speech_token_id", -1);
  if (!n.wants(4)) return;
  if (token < 0 || token > std::numeric_limits<std::int32_t>::max())
    return n.fail(cat("attribute 'no_speech_token_id' is ", token, ", wants a token"));
  if (logits == no_value)
    return n.unsupported("output 4 wants an encoder that makes the decoder's first step");
  const ValueId shares = n.add(Softmax{.axis = 1}, {last_scores(n, s, logits)});
  n.set(4, gather(n, shares, n.scalar(DType::i64, static_cast<double>(token)), 1));
}

// The mask of prompts: padding in front of them does not count.
ValueId prompt_mask(NodeImport& n, const Search& s) {
  if (n.has(places_of_beams.mask)) return n.in(places_of_beams.mask);
  return cast(n, cast(n, counted_tokens(n, s).sums, DType::boolean), DType::i32);
}

// The tokens that a decoder begins with: i64 [B, L].
ValueId first_tokens(NodeImport& n) {
  const std::int64_t token = n.integer("decoder_start_token_id", -1);
  if (n.has(10)) return cast(n, n.in(10), DType::i64);
  if (token < 0 || token > std::numeric_limits<std::int32_t>::max())
    n.fail(cat("attribute 'decoder_start_token_id' is ", token, ", wants a token"));
  const ValueId one = n.ints_constant({1});
  const ValueId shape = join_dims(n, {dims_of(n, n.in(0), 0, 1), one});
  return filled(n, shape, DType::i64, static_cast<double>(token));
}

using NamedValues = std::vector<std::pair<std::string_view, ValueId>>;

const ValueId* find(const NamedValues& values, std::string_view name) {
  const auto at = std::ranges::find(values, name, &NamedValues::value_type::first);
  return at == values.end() ? nullptr : &at->second;
}

// The encoder's outputs: what it hands to the decoder, perhaps with the decoder's first step.
std::vector<ValueId> encoded(NodeImport& n, const GraphProto& encoder, const NamedValues& values) {
  std::vector<ValueId> inputs;
  for (std::string_view name : NodeImport::inputs_of(encoder)) {
    const ValueId* value = find(values, name);
    if (!value) n.fail(cat("its encoder has an input '", printable(name), "' that is not known"));
    inputs.push_back(value ? *value : no_value);
  }
  return n.inlined(encoder, inputs);
}

// True if the decoder reads all tokens so far: it does not declare one column of ids.
bool takes_sequences(NodeImport& n, const GraphProto& decoder) {
  const auto at = std::ranges::find(decoder.inputs, "input_ids", &ValueInfo::name);
  const auto type =
      n.declared_input(decoder, static_cast<std::size_t>(at - decoder.inputs.begin()));
  return !type || !type->dims || type->dims->size() != 2 || !type->dims->back().is(1);
}

// Ids, what the encoder gives, for each layer a past key and value and then its keys and values of
// the encoder. `crossed` are the latter.
std::optional<TextDecoder> decoder_of(NodeImport& n, const Search& s, const GraphProto& body,
                                      const NamedValues& values, std::span<const ValueId> crossed) {
  static constexpr std::array<std::string_view, 1> first = {"input_ids"};
  const auto names = NodeImport::inputs_of(body);
  if (!wants_names(n, "decoder", names, first)) return std::nullopt;
  TextDecoder d{.body = &body, .takes_sequences = takes_sequences(n, body), .inputs = {no_value}};
  std::size_t at = 1;
  for (const ValueId* v = nullptr; at < names.size() && (v = find(values, names[at])); ++at)
    d.inputs.push_back(for_each_beam(n, s, *v));
  const std::size_t pasts = names.size() - at;
  if (pasts == 0 || pasts != 2 * crossed.size() || body.outputs.size() != 1 + pasts / 2) {
    n.unsupported(cat("its decoder has ", pasts, " pasts and ", body.outputs.size(),
                      " outputs, its encoder gives ", crossed.size(),
                      " keys and values; wants twice as many pasts, and their half and one"));
    return std::nullopt;
  }
  d.inputs.resize(d.inputs.size() + crossed.size(), no_value);
  for (ValueId v : crossed) d.inputs.push_back(for_each_beam(n, s, v));
  return d;
}

// The start of a decoder whose encoder did not run it.
Start unstepped(NodeImport& n, const TextDecoder& d, SearchState search) {
  DecoderState state = {cast(n, search[0], DType::i32)};
  const auto names = NodeImport::inputs_of(*d.body);
  const ValueId rows = dims_of(n, search[0], 0, 1);
  for (std::size_t i = 1; i < names.size() && n.ok(); ++i)
    if (d.inputs[i] == no_value) state.push_back(no_past(n, d, names[i], rows));
  return started(n, std::move(state), std::move(search));
}

enum class Prompt : std::uint8_t { text, speech };

void generate_with_encoder(NodeImport& n, Search s, Prompt prompt) {
  const bool is_speech = prompt == Prompt::speech;
  const GraphProto* encoder = n.graph("encoder");
  const GraphProto* body = n.graph("decoder");
  if (!n.ok()) return;
  if (n.known_rank(n.in(0)) != (is_speech ? 3 : 2))
    return n.fail(is_speech ? "input 0 wants [batch, features, frames]"
                            : "input 0 wants [batch, tokens]");
  const ValueId tokens = first_tokens(n);
  read_operands(n, s, places_of_beams, tokens);
  NamedValues values = {{"encoder_input_ids", n.in(0)},
                        {"decoder_input_ids", cast(n, tokens, DType::i32)}};
  if (!is_speech) values.emplace_back("encoder_attention_mask", prompt_mask(n, s));
  const auto names = NodeImport::inputs_of(*encoder);
  const bool has_step = std::ranges::find(names, "decoder_input_ids") != names.end();
  const auto outputs = encoded(n, *encoder, values);
  if (!n.ok()) return;
  if (has_step && (outputs.size() < 6 || outputs.size() % 4 != 2))
    return n.unsupported(cat("its encoder has ", outputs.size(),
                             " outputs, wants 2 and 4 for each layer of its decoder"));
  std::span<const ValueId> self;
  std::span<const ValueId> crossed = outputs;
  if (has_step) {
    values.emplace_back("encoder_hidden_states", outputs[1]);
    self = crossed.subspan(2, outputs.size() / 2 - 1);
    crossed = crossed.subspan(outputs.size() / 2 + 1);
  }
  const auto d = decoder_of(n, s, *body, values, crossed);
  if (!d) return;
  const ValueId prompts = dims_of(n, tokens, 0, 1);
  Start start{.search = begin_search(n, s, for_each_beam(n, s, tokens), prompts)};
  set_no_speech(n, s, has_step ? outputs[0] : no_value);
  if (has_step) {
    std::vector<ValueId> pasts;
    for (ValueId v : self) pasts.push_back(for_each_beam(n, s, v));
    start = stepped(n, s, *d, start, for_each_beam(n, s, outputs[0]), pasts);
  } else {
    start = unstepped(n, *d, std::move(start.search));
  }
  search_from(n, s, *d, start);
}

// ---- operators

void refuse_encoder(NodeImport& n) {
  const std::int64_t model = n.integer("model_type", 0);
  if (model != 0) n.unsupported(cat("'model_type' is ", model, ", wants 0 (GPT-2)"));
  n.ignore("encoder");
  n.ignore("decoder_start_token_id");
}

void import_greedy_search(NodeImport& n) {
  const Search s = read_attributes(n, Choice::greatest);
  refuse_encoder(n);
  generate_with_gpt(n, s, places_of_one);
}

void import_beam_search(NodeImport& n) {
  enum : std::int64_t { gpt, text, speech };
  const std::int64_t model = n.integer("model_type", gpt);
  Search s = read_attributes(n, Choice::beams);
  s.early_stopping = n.integer("early_stopping", 0) == 1;
  if (model < gpt || model > speech)
    return n.unsupported(
        cat("'model_type' is ", model, ", wants 0 (GPT-2), 1 (T5) or 2 (Whisper)"));
  if (model == speech && n.has(11) && n.constant_number(n.in(11)) != 0)
    return n.unsupported("'logits_processor' that is not 0 is not supported");
  read_beams(n, s);
  for (const char* other : {"encoder", "init_decoder", "decoder_start_token_id"}) n.ignore(other);
  if (model == gpt) return generate_with_gpt(n, s, places_of_beams);
  generate_with_encoder(n, s, model == speech ? Prompt::speech : Prompt::text);
}

// The rules of times, if input 11 is 1 or only the run knows it.
void read_times(NodeImport& n, Search& s) {
  TimeTokens t{.end = s.eos,
               .start = n.integer("decoder_start_token_id", -1),
               .translate = n.integer("translate_token_id", -1),
               .transcribe = n.integer("transcribe_token_id", -1),
               .language_model = n.integer("start_of_lm_token_id", -1),
               .no_times = n.integer("no_timestamps_token_id", -1),
               .first_time = n.integer("beginning_timestamp_token_id", -1)};
  const auto rule = n.constant_number(n.in(11));
  if (!n.has(11) || (rule && *rule != 1)) return;
  if (!rule) s.timed = compared(n, BinaryKind::equal, number_operand(n, 11, DType::i64), 1);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (t.first_time < 1 || t.first_time > most)
    n.fail(cat("attribute 'beginning_timestamp_token_id' is ", t.first_time, ", wants a token"));
  s.times = t;
}

// Scores are divided by input 14, if that is above 0.
void read_temperature(NodeImport& n, Search& s) {
  const auto known = n.constant_number(n.in(14));
  s.temperature = number_unless(n, 14, DType::f32, 1);
  if (s.temperature == no_value) return;
  if (known && *known <= 0) {
    s.temperature = no_value;
  } else if (!known) {
    const ValueId is_none = compared(n, BinaryKind::less_equal, s.temperature, 0);
    s.temperature = unless(n, is_none, s.temperature, 1);
  }
}

// BeamSearch of Whisper, with rules of its own for scores.
void import_whisper_beam_search(NodeImport& n) {
  Search s = read_attributes(n, Choice::beams);
  s.early_stopping = n.integer("early_stopping", 0) == 1;
  const std::int64_t model = n.integer("model_type", 2);
  if (model != 2) return n.fail(cat("attribute 'model_type' is ", model, ", wants 2 (Whisper)"));
  if (n.integer("decoder_output_cross_qk", 0) != 0 || n.wants(3))
    return n.unsupported("scores of cross attention (output 3) are not supported");
  if (n.has(13))
    return n.unsupported("tokens that continue the prompt (input 13) are not supported");
  n.ignore("init_decoder");
  read_times(n, s);
  read_temperature(n, s);
  read_beams(n, s);
  generate_with_encoder(n, s, Prompt::speech);
}

void import_sampling(NodeImport& n) {
  Search s = read_attributes(n, Choice::drawn);
  refuse_encoder(n);
  const float temperature = n.number("temperature", 1);
  const float presence = n.number("presence_penalty", 0);
  s.top_p = n.number("top_p", 0);
  s.filter_value = n.number("filter_value", -1e20F);
  s.least_kept = n.integer("min_tokens_to_keep", 0);
  s.custom = n.integer("custom", 0) == 1;
  if (s.least_kept < 0)
    n.fail(cat("attribute 'min_tokens_to_keep' is ", s.least_kept, ", wants 0 or more"));
  if (temperature > 0 && temperature != 1) s.temperature = n.scalar(DType::f32, temperature);
  if (n.has(7) && presence != 0) s.presence = mul(n, cast(n, n.in(7), DType::f32), presence);
  generate_with_gpt(n, s, places_of_one);
}

// (tokens so far [R, L], scores [R, V])
void import_ngram_repeat_block(NodeImport& n) {
  const std::int64_t length = n.integer("ngram_size");
  if (!n.ok()) return;
  if (length < 1) return n.fail(cat("attribute 'ngram_size' is ", length, ", wants 1 or more"));
  if (n.known_rank(n.in(0)) != 2 || n.known_rank(n.in(1)) != 2)
    return n.fail("wants tokens [batch, length] and scores [batch, tokens]");
  const Dim rows = n.dim(n.in(0), 0), scored = n.dim(n.in(1), 0);
  if (rows.known() && scored.known() && rows.value() != scored.value())
    return n.fail(cat(rows.value(), " sequences beside scores of ", scored.value()));
  const ValueId refused = ends_of_runs(n, length, n.in(1), n.in(0));
  n.set(0, unless(n, refused, n.in(1), -std::numeric_limits<double>::infinity()));
}

constexpr OpRow microsoft_generation_rows[] = {
    {"BeamSearch", 1, import_beam_search, {5, 12}, {1, 3}},
    {"GreedySearch", 1, import_greedy_search, {2, 7}},
    {"NGramRepeatBlock", 1, import_ngram_repeat_block, two},
    {"Sampling", 1, import_sampling, {2, 9}, {1, 2}},
    {"WhisperBeamSearch", 1, import_whisper_beam_search, {5, 15}, {1, 5}},
};

}  // namespace

OpRows microsoft_generation_ops() {
  return microsoft_generation_rows;
}

}  // namespace quern::onnx
