// SPDX-License-Identifier: Apache-2.0
// A session, its cache, and what a model is told of the tokens so far.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <quern/decoder.h>

#include "engine/compile/executable_impl.h"
#include "engine/devices/device_tensor_impl.h"
#include "engine/run/decoder_impl.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"
#include "graph/operands.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t usual_capacity = 2048;

const ValueSpec* spec_of(const std::vector<ValueSpec>& specs, std::string_view name) {
  const auto at = std::ranges::find(specs, name, &ValueSpec::name);
  return at == specs.end() ? nullptr : &*at;
}

bool is_any_float(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

bool is_of_rank(const ValueSpec& spec, std::size_t rank) {
  return spec.kind == ValueSpec::Kind::tensor && (!spec.has_rank || spec.dims.size() == rank);
}

Status refuse(const ValueSpec& spec, std::string_view wanted) {
  return {Code::invalid_model,
          cat("'", printable(spec.name), "' is of ", name_of(spec.dtype), " and rank ",
              spec.has_rank ? cat(spec.dims.size()) : "?", ", a decoder wants ", wanted)};
}

Shape row(std::int64_t n) {
  return Shape{1, n};
}

}  // namespace

std::string DecoderNames::of_layer(std::string_view pattern, std::size_t layer) {
  std::string name(pattern);
  const std::size_t at = name.find('%');
  if (at != std::string::npos) name.replace(at, 1, std::to_string(layer));
  return name;
}

// ---- opening

Status Decoder::Impl::find_integers(IntegerInput& input, const std::string& name,
                                    std::int64_t most) {
  const ValueSpec* spec = spec_of(executable->inputs(), name);
  if (!spec) return {};
  const bool fits =
      spec->dtype == DType::i64 || spec->dtype == DType::i32 || spec->dtype == DType::boolean;
  const std::size_t rank = spec->has_rank ? spec->dims.size() : 2;
  if (!fits || rank > 2 || !is_of_rank(*spec, rank)) return refuse(*spec, "integers");
  input.rank = rank;
  input.index = static_cast<std::size_t>(spec - executable->inputs().data());
  QUERN_ASSIGN(input.data, Tensor::zeros({spec->dtype, {most}}));
  is_filled[*input.index] = true;
  return {};
}

Status Decoder::Impl::find_cache(const std::string& past, const std::string& present,
                                 std::int64_t& rows) {
  const ValueSpec* in = spec_of(executable->inputs(), past);
  const ValueSpec* out = spec_of(executable->outputs(), present);
  if (!out)
    return {Code::not_found, cat("input '", printable(past), "' has no output '",
                                 printable(present), "' that it becomes")};
  const std::string_view wanted = "floats [1, heads, tokens, width]";
  if (!is_any_float(in->dtype) || !in->has_rank || !is_of_rank(*in, 4)) return refuse(*in, wanted);
  if (out->dtype != in->dtype || !is_of_rank(*out, 4)) return refuse(*out, wanted);
  if (in->dims[1] < 1 || in->dims[3] < 1 || in->dims[0] > 1)
    return {Code::invalid_model, cat("input '", printable(past),
                                     "' must say its heads and their width, and be for any number "
                                     "of sequences or for one")};
  if (in->dims[2] >= 0) rows = in->dims[2];
  CacheTensor& c = cache.emplace_back();
  c.input = static_cast<std::size_t>(in - executable->inputs().data());
  c.output = static_cast<std::size_t>(out - executable->outputs().data());
  c.dtype = in->dtype;
  c.heads = in->dims[1];
  c.width = in->dims[3];
  is_filled[c.input] = true;
  return {};
}

Status Decoder::Impl::find_all(const DecoderOptions& options) {
  const DecoderNames& names = options.names;
  is_filled.assign(executable->inputs().size(), false);
  std::int64_t rows = -1;
  for (std::size_t layer = 0;; ++layer) {
    const std::string key = DecoderNames::of_layer(names.past_key, layer);
    if (!spec_of(executable->inputs(), key)) break;
    QUERN_TRY(find_cache(key, DecoderNames::of_layer(names.present_key, layer), rows));
    const std::string value = DecoderNames::of_layer(names.past_value, layer);
    if (!spec_of(executable->inputs(), value))
      return {Code::not_found, cat("the model has no input '", printable(value), "'")};
    QUERN_TRY(find_cache(value, DecoderNames::of_layer(names.present_value, layer), rows));
    if (names.past_key.find('%') == std::string::npos) break;
  }
  if (cache.empty())
    return {Code::not_found,
            cat("the model has no input '", printable(DecoderNames::of_layer(names.past_key, 0)),
                "', a cache of keys")};
  capacity = options.capacity > 0 ? options.capacity : rows > 0 ? rows : usual_capacity;
  if (!row(capacity).checked_elements(sizeof(std::int64_t)))
    return {Code::out_of_memory, cat("a sequence of ", capacity, " tokens has no size")};
  QUERN_TRY(find_integers(tokens, names.tokens, capacity));
  QUERN_TRY(find_integers(mask, names.mask, capacity));
  QUERN_TRY(find_integers(positions, names.positions, capacity));
  QUERN_TRY(find_integers(last_key, names.last_key, 1));
  QUERN_TRY(find_integers(total, names.total, 1));
  QUERN_TRY(find_integers(before, names.before, 1));
  QUERN_TRY(find_integers(use_cache, names.use_cache, 1));
  if (!tokens.index)
    return {Code::not_found, cat("the model has no input '", printable(names.tokens), "'")};
  const ValueSpec* scores = spec_of(executable->outputs(), names.logits);
  if (!scores)
    return {Code::not_found, cat("the model has no output '", printable(names.logits), "'")};
  if (!is_any_float(scores->dtype) || !is_of_rank(*scores, 3))
    return refuse(*scores, "floats [1, tokens, vocabulary]");
  logits_output = static_cast<std::size_t>(scores - executable->outputs().data());
  return {};
}

bool Decoder::Impl::is_on_host() const {
  return executable->device().info().kind == DeviceInfo::Kind::cpu;
}

Status Decoder::Impl::take_memory() {
  for (CacheTensor& c : cache) {
    const Shape shape{1, c.heads, capacity, c.width};
    if (!shape.checked_elements(size_of(c.dtype)))
      return {Code::out_of_memory, cat("a cache of ", capacity, " tokens has no size")};
    c.on_device = nullptr;
    if (growth == Growth::in_place && !is_on_host()) {
      QUERN_TRY(c.take_on_device(executable->impl().device, capacity));
      continue;
    }
    QUERN_ASSIGN(c.rows, Tensor::zeros({c.dtype, shape}));
    if (growth != Growth::copied) continue;
    QUERN_ASSIGN(c.next, Tensor::zeros({c.dtype, shape}));
  }
  return {};
}

Status Decoder::Impl::make_session(const SessionOptions& options) {
  session_options = options;
  QUERN_ASSIGN(session, Session::create(executable, options));
  std::vector<std::size_t> wanted = {logits_output};
  for (const CacheTensor& c : cache) wanted.push_back(c.output);
  return session->request_outputs(wanted);
}

Result<std::unique_ptr<Decoder>> Decoder::open(std::shared_ptr<const Executable> executable,
                                               const DecoderOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Decoder>> {
    if (!executable) return Status(Code::invalid_argument, "a decoder wants an executable");
    if (options.capacity < 0)
      return Status(Code::invalid_argument,
                    cat("a capacity of ", options.capacity, " tokens, wants 0 or more"));
    auto impl = std::make_unique<Impl>();
    impl->executable = std::move(executable);
    QUERN_TRY(impl->find_all(options));
    QUERN_TRY(impl->make_session(options.session));
    QUERN_TRY(impl->choose_growth());
    return std::unique_ptr<Decoder>(new Decoder(std::move(impl)));
  });
}

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::~Decoder() = default;

// ---- how the cache grows

// Rows that are not there yet are filled with NaN, and one token is computed: if the cache grows in
// place it is in row 0 then, no other row has changed, and nothing of them is in the logits.
Result<bool> Decoder::Impl::keeps_guards() {
  const std::int64_t guards = std::min<std::int64_t>(4, capacity - 1);
  const auto is_guard = [&](std::int64_t r) { return r <= guards || r == capacity - 1; };
  for (CacheTensor& c : cache) {
    std::memset(c.data(), 0, c.bytes());
    c.fill_rows(is_guard, CacheTensor::Fill::nan, capacity);
    QUERN_TRY(c.send());
  }
  const std::array<std::int64_t, 1> token = {0};
  QUERN_TRY(append(token, Clock::time_point::max()));
  bool fits = std::ranges::none_of(logits, [](float x) { return std::isnan(x); });
  for (CacheTensor& c : cache) {
    QUERN_TRY(c.fetch());
    fits = fits && c.holds_nan(0, 1, capacity) == CacheTensor::Holds::none &&
           c.holds_nan(1, guards + 1, capacity) == CacheTensor::Holds::all &&
           c.holds_nan(capacity - 1, capacity, capacity) == CacheTensor::Holds::all;
    c.fill_rows(is_guard, CacheTensor::Fill::zeros, capacity);
    QUERN_TRY(c.send());
  }
  return fits;
}

bool Decoder::Impl::grows_in_place() {
  if (capacity < 2) return false;
  growth = Growth::in_place;
  if (!take_memory().ok()) return false;
  const Result<bool> fits = keeps_guards();
  (void)rewind(0);
  logits = {};
  return fits && *fits;
}

Status Decoder::Impl::choose_growth() {
  const bool fills_all = std::ranges::find(is_filled, false) == is_filled.end();
  if (fills_all && grows_in_place()) return {};
  length = 0;
  growth = Growth::copied;
  QUERN_TRY(take_memory());
  return fills_all ? prepare(1) : Status();
}

// ---- the cache

Status CacheTensor::take_on_device(const std::shared_ptr<Device>& device, std::int64_t capacity) {
  const Shape shape{1, heads, capacity, width};
  QUERN_ASSIGN(on_device, DeviceTensor::create(device, {dtype, shape}));
  return {};
}

std::byte* CacheTensor::data() {
  return on_device ? on_device->impl().memory->host() : rows.mutable_data();
}
const std::byte* CacheTensor::data() const {
  return on_device ? on_device->impl().memory->host() : rows.data();
}
std::size_t CacheTensor::bytes() const {
  return on_device ? on_device->capacity() : rows.bytes();
}
Status CacheTensor::fetch() {
  return on_device ? on_device->impl().memory->fetch() : Status();
}
Status CacheTensor::send() {
  if (!on_device) return {};
  on_device->impl().memory->written_on_host();
  return on_device->impl().memory->send();
}

// The result is as long as the cache, or as the past and the new rows.
Status CacheTensor::bind(Session& session, const Shape& past) {
  if (on_device) {
    QUERN_TRY(session.set_input(input, on_device));
    return session.bind_output(output, on_device);
  }
  QUERN_TRY(session.set_input(input, TensorView{{dtype, past}, rows.data()}));
  Tensor& result = next.valid() ? next : rows;
  return session.bind_output(output, result.mutable_data(), result.bytes());
}

void CacheTensor::fill_rows(const std::function<bool(std::int64_t)>& which, Fill with,
                            std::int64_t of_head) {
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t r = 0; r < of_head; ++r)
      if (which(r))
        std::memset(row_at(h, r, of_head), with == Fill::nan ? 0xff : 0,
                    static_cast<std::size_t>(row_bytes()));
}

CacheTensor::Holds CacheTensor::holds_nan(std::int64_t first, std::int64_t end,
                                          std::int64_t of_head) const {
  const TensorView all{{dtype, {1, heads, of_head, width}}, data()};
  std::int64_t count = 0;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = first * width; i < end * width; ++i)
      count += std::isnan(float_element(all, h * of_head * width + i)) ? 1 : 0;
  if (count == 0) return Holds::none;
  return count == heads * (end - first) * width ? Holds::all : Holds::some;
}

std::byte* CacheTensor::row_at(std::int64_t head, std::int64_t row, std::int64_t rows_of_head) {
  return data() + (head * rows_of_head + row) * row_bytes();
}

// Heads of `from` rows each become heads of their first `to` rows, which lie further in front.
void CacheTensor::keep_first(std::int64_t from, std::int64_t to) {
  for (std::int64_t h = 1; h < heads; ++h)
    std::memmove(row_at(h, 0, to), row_at(h, 0, from), static_cast<std::size_t>(to * row_bytes()));
}

Status CacheTensor::copy_rows(CacheTensor& from, std::int64_t count, std::int64_t of_head) {
  QUERN_TRY(from.fetch());
  const auto bytes = static_cast<std::size_t>(count * row_bytes());
  for (std::int64_t h = 0; h < heads && bytes > 0; ++h)
    std::memcpy(row_at(h, 0, of_head), from.row_at(h, 0, of_head), bytes);
  return send();
}

// ---- a step

void IntegerInput::set(std::int64_t i, std::int64_t value) {
  if (!index) return;
  std::byte* const at = data.mutable_data() + i * static_cast<std::int64_t>(size_of(data.dtype()));
  if (data.dtype() == DType::i64) {
    std::memcpy(at, &value, sizeof value);
  } else if (data.dtype() == DType::i32) {
    const auto narrow = static_cast<std::int32_t>(value);
    std::memcpy(at, &narrow, sizeof narrow);
  } else {
    *reinterpret_cast<bool*>(at) = value != 0;
  }
}

Status IntegerInput::bind(Session& session, std::int64_t count) const {
  if (!index) return {};
  const Shape shape = rank == 2 ? row(count) : rank == 1 ? Shape{count} : Shape{};
  return session.set_input(*index, TensorView{{data.dtype(), shape}, data.data()});
}

// The numbers of tokens [length, length + count), and what they make of all.
void Decoder::Impl::tell_tokens(std::span<const std::int64_t> ids) {
  const auto count = static_cast<std::int64_t>(ids.size());
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.set(i, ids[static_cast<std::size_t>(i)]);
    positions.set(i, length + i);
    mask.set(length + i, 1);
  }
  last_key.set(0, length + count - 1);
  total.set(0, length + count);
  before.set(0, length);
  use_cache.set(0, length > 0 ? 1 : 0);
}

Status Decoder::Impl::bind(std::int64_t count) {
  const bool is_in_place = growth == Growth::in_place;
  QUERN_TRY(tokens.bind(*session, count));
  QUERN_TRY(positions.bind(*session, count));
  QUERN_TRY(mask.bind(*session, is_in_place ? capacity : length + count));
  QUERN_TRY(last_key.bind(*session, 1));
  QUERN_TRY(total.bind(*session, 1));
  QUERN_TRY(before.bind(*session, 1));
  QUERN_TRY(use_cache.bind(*session, 1));
  for (CacheTensor& c : cache) {
    const Shape past{1, c.heads, is_in_place ? capacity : length, c.width};
    QUERN_TRY(c.bind(*session, past));
  }
  return {};
}

Status Decoder::Impl::check_cache(std::int64_t count) const {
  for (const CacheTensor& c : cache) {
    QUERN_ASSIGN(const TensorType type, session->output_type(c.output));
    const Shape wanted{1, c.heads, growth == Growth::in_place ? capacity : length + count, c.width};
    if (type.shape != wanted)
      return {Code::invalid_model, cat("output '", printable(executable->outputs()[c.output].name),
                                       "' is ", type.text(), " behind ", length, " and ", count,
                                       " tokens, wants ", TensorType{c.dtype, wanted}.text())};
  }
  return {};
}

Status Decoder::Impl::take_logits() {
  QUERN_ASSIGN(const TensorView y, session->output(logits_output));
  const Shape& shape = y.type.shape;
  if (shape.rank() != 3 || shape.elements() == 0)
    return {Code::invalid_model, cat("logits of ", y.type.text())};
  const std::int64_t n = shape[2];
  const std::int64_t first = shape.elements() - n;
  if (y.type.dtype == DType::f32) {
    logits = {y.as<float>() + first, static_cast<std::size_t>(n)};
    return {};
  }
  wide_logits.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    wide_logits[static_cast<std::size_t>(i)] = element_as<float>(y, first + i);
  logits = wide_logits;
  return {};
}

Status Decoder::Impl::step(std::int64_t count, Clock::time_point deadline) {
  QUERN_TRY(bind(count));
  QUERN_TRY(session->run_until(deadline));
  QUERN_TRY(check_cache(count));
  QUERN_TRY(take_logits());
  if (growth == Growth::copied)
    for (CacheTensor& c : cache) std::swap(c.rows, c.next);
  length += count;
  return {};
}

Status Decoder::Impl::append(std::span<const std::int64_t> ids, Clock::time_point deadline) {
  if (ids.empty()) return {Code::invalid_argument, "no token to append"};
  if (ids.size() > static_cast<std::size_t>(capacity - length))
    return {Code::invalid_argument, cat(ids.size(), " tokens behind ", length,
                                        " are more than the capacity of ", capacity)};
  const std::int64_t most = tokens.data.dtype() == DType::i32
                                ? std::numeric_limits<std::int32_t>::max()
                                : std::numeric_limits<std::int64_t>::max();
  for (std::int64_t id : ids)
    if (id < 0 || id > most) return {Code::invalid_argument, cat(id, " is no token")};
  logits = {};
  tell_tokens(ids);
  Status done = step(static_cast<std::int64_t>(ids.size()), deadline);
  if (!done.ok()) forget_mask(length, length + static_cast<std::int64_t>(ids.size()));
  return done;
}

void Decoder::Impl::forget_mask(std::int64_t first, std::int64_t end) {
  for (std::int64_t i = first; i < end; ++i) mask.set(i, 0);
}

Status Decoder::Impl::prepare(std::int64_t count) {
  if (count < 1 || count > capacity - length)
    return {Code::invalid_argument,
            cat("a plan for ", count, " tokens behind ", length, " of ", capacity)};
  QUERN_TRY(bind(count));
  return session->prepare();
}

Status Decoder::Impl::rewind(std::int64_t to) {
  if (to < 0 || to > length)
    return {Code::invalid_argument, cat("to go back to ", to, " of ", length, " tokens")};
  forget_mask(to, length);
  if (growth == Growth::copied)
    for (CacheTensor& c : cache) c.keep_first(length, to);
  length = to;
  return {};
}

// ---- the object

Result<std::unique_ptr<Decoder>> Decoder::fork() const {
  return guarded([&]() -> Result<std::unique_ptr<Decoder>> {
    const Impl& from = *impl_;
    auto impl = std::make_unique<Impl>();
    impl->executable = from.executable;
    impl->cache = from.cache;
    impl->is_filled = from.is_filled;
    impl->logits_output = from.logits_output;
    impl->capacity = from.capacity;
    impl->growth = from.growth;
    impl->length = from.length;
    for (const auto& [to, of] : impl->integers(from)) {
      *to = *of;
      if (!of->index) continue;
      QUERN_ASSIGN(to->data, Tensor::copy_of(of->data.type(), of->bytes()));
    }
    QUERN_TRY(impl->take_memory());
    const bool is_in_place = from.growth == Growth::in_place;
    for (std::size_t i = 0; i < from.cache.size(); ++i)
      QUERN_TRY(impl->cache[i].copy_rows(impl_->cache[i], from.length,
                                         is_in_place ? from.capacity : from.length));
    QUERN_TRY(impl->make_session(from.session_options));
    for (const auto& [index, tensor] : from.given) QUERN_TRY(impl->give(index, tensor));
    std::unique_ptr<Decoder> fork(new Decoder(std::move(impl)));
    return fork;
  });
}

Status Decoder::Impl::give(std::size_t index, Tensor tensor) {
  QUERN_TRY(session->set_input(index, tensor.view()));
  const auto at = std::ranges::find(given, index, &std::pair<std::size_t, Tensor>::first);
  if (at != given.end())
    at->second = std::move(tensor);
  else
    given.emplace_back(index, std::move(tensor));
  return {};
}

Status Decoder::set_input(std::string_view name, Tensor tensor) {
  return guarded([&]() -> Status {
    QUERN_ASSIGN(const std::size_t index, impl_->session->input_index(name));
    if (impl_->is_filled[index])
      return {Code::invalid_argument,
              cat("input '", printable(name), "' is filled by the decoder itself")};
    if (!tensor.valid()) return {Code::invalid_argument, "no tensor"};
    return impl_->give(index, std::move(tensor));
  });
}

Status Decoder::append(std::span<const std::int64_t> tokens, Clock::time_point deadline) {
  return guarded([&] { return impl_->append(tokens, deadline); });
}
std::span<const float> Decoder::logits() const {
  return impl_->logits;
}
Status Decoder::prepare(std::int64_t tokens) {
  return guarded([&] { return impl_->prepare(tokens); });
}
std::int64_t Decoder::length() const {
  return impl_->length;
}
std::int64_t Decoder::capacity() const {
  return impl_->capacity;
}
std::size_t Decoder::row_bytes() const {
  std::size_t bytes = 0;
  for (const CacheTensor& c : impl_->cache)
    bytes += static_cast<std::size_t>(c.heads * c.row_bytes());
  return bytes;
}
Status Decoder::rewind(std::int64_t length) {
  return guarded([&] { return impl_->rewind(length); });
}
void Decoder::reset() {
  (void)rewind(0);
  impl_->logits = {};
}
void Decoder::cancel() {
  impl_->session->cancel();
}
void Decoder::clear_cancel() {
  impl_->session->clear_cancel();
}
Decoder::Growth Decoder::growth() const {
  return impl_->growth;
}
DecoderMemory Decoder::memory() const {
  DecoderMemory m{.session = impl_->session->plan_info().memory};
  for (const CacheTensor& c : impl_->cache)
    m.cache += c.bytes() + (c.next.valid() ? c.next.bytes() : 0);
  return m;
}
const Executable& Decoder::executable() const {
  return *impl_->executable;
}
const Session& Decoder::session() const {
  return *impl_->session;
}

}  // namespace quern
