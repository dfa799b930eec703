// SPDX-License-Identifier: Apache-2.0
// Any bytes as a sequence of calls of the C API: every function of c/quern.h, with arguments that
// are right, wrong and hostile, in any order that its contract allows (handles are live or null,
// borrowed memory stays). Each answers with a status of the list and a sentence, every byte that it
// hands out is there, and nothing is left when all handles are destroyed.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <quern/c/custom_op.h>
#include <quern/c/quern.h>

#include "tests/fuzz/bytes.h"
#include "tests/fuzz/small_models.h"

namespace {

using quern::fuzz::Bytes;
using quern::fuzz::read_all;
using quern::fuzz::small_models;
using quern::fuzz::sum_of_all_reads;

constexpr std::size_t most_calls = 200;
constexpr std::int64_t most_elements = 4096;

void want(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FOUND %s: %s\n", what, quern_last_error());
  std::abort();
}

void read_text(const char* text) {
  want(text != nullptr, "a text is null");
  read_all(text, std::strlen(text));
}

// Live handles of one type, or nulls.
template <class T>
using Slots = std::array<T*, 3>;

class Program {
 public:
  Program(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}
  ~Program() {
    const bool sessions_first = bytes_.one_in(2);
    if (sessions_first) destroy(sessions_, quern_session_destroy);
    destroy(groups_, quern_group_destroy);
    destroy(models_, quern_model_destroy);
    destroy(executables_, quern_executable_destroy);
    destroy(pools_, quern_thread_pool_destroy);
    destroy(tensors_, quern_device_tensor_destroy);
    destroy(opened_, quern_device_destroy);
    destroy(lists_, quern_devices_destroy);
    destroy(sessions_, quern_session_destroy);
    destroy(ops_, quern_custom_ops_destroy);
    destroy(hosts_, quern_host_destroy);
    want(host_bytes_ == 0, "memory of a host was not given back");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void run() {
    begin();
    for (std::size_t i = 0; i < most_calls && bytes_.has_more(); ++i) {
      const std::size_t kind = bytes_.below(16);
      if (kind < 2)
        call_library();
      else if (kind < 4)
        call_models();
      else if (kind < 12)
        call_sessions();
      else
        call_tensors();
    }
  }

 private:
  // ---- handles

  template <class T, class Destroy>
  static void destroy(Slots<T>& slots, const Destroy& destroy_one) {
    for (T*& handle : slots) {
      destroy_one(handle);
      handle = nullptr;
    }
  }
  template <class T>
  T*& slot(Slots<T>& slots) {
    return slots[bytes_.below(slots.size())];
  }
  // The object that a call makes takes the place of another, which is destroyed.
  template <class T, class Call>
  void make(Slots<T>& slots, void (*destroy_one)(T*), const Call& call) {
    if (bytes_.one_in(40)) return wrong(call(static_cast<T**>(nullptr)));
    T* const before = reinterpret_cast<T*>(this);
    T* made = before;
    if (!check(call(&made))) return want(made == before, "written although it failed");
    T*& place = slot(slots);
    destroy_one(place);
    place = made;
  }

  // ---- answers

  static bool check(quern_status status) {
    want(status >= QUERN_OK && status <= QUERN_TIMED_OUT && status != QUERN_INTERNAL,
         "a status of no list, or internal");
    if (status != QUERN_OK) want(*quern_last_error() != 0, "no sentence");
    read_text(quern_status_name(status));
    return status == QUERN_OK;
  }
  static void wrong(quern_status status) { want(!check(status), "null was taken"); }

  enum class Sizes : std::uint8_t { any, right };

  template <class T, class Call>
  bool with(const T& init, const Call& call, Sizes sizes) {
    return with(init, call, static_cast<T*>(nullptr), sizes);
  }
  // A structure in memory of just the size that it says it has, which may be wrong.
  template <class T, class Call>
  bool with(const T& init, const Call& call, T* result = nullptr, Sizes sizes = Sizes::any) {
    std::size_t size = sizeof(T);
    if (sizes == Sizes::any && bytes_.one_in(12)) size = bytes_.next();
    if (sizes == Sizes::any && bytes_.one_in(60))
      size = std::numeric_limits<std::size_t>::max() - bytes_.next();
    const std::size_t room = std::max(sizeof size, size <= sizeof(T) ? size : 0);
    const std::unique_ptr<std::byte[]> memory(new std::byte[room]);
    std::memcpy(memory.get(), &init, room);
    std::memcpy(memory.get(), &size, sizeof size);
    const bool ok = check(call(reinterpret_cast<T*>(memory.get())));
    want(!ok || size <= sizeof(T), "a size of no version");
    if (!ok || !result) return ok;
    *result = init;
    std::memcpy(result, memory.get(), room);
    want(result->struct_size == size, "a size was written");
    return true;
  }
  // The answer to a call with such a structure.
  template <class T, class Call>
  quern_status answer_to(const T& init, const Call& call, Sizes sizes = Sizes::any) {
    quern_status status = QUERN_OK;
    const auto noted = [&](T* given) { return status = call(given); };
    with(init, noted, sizes);
    return status;
  }

  void read_tensor(const quern_tensor& t) {
    want(t.rank <= QUERN_MAX_RANK, "a rank");
    if (t.dtype != QUERN_STRING) return read_all(t.data, t.data ? t.bytes : 0);
    const auto* texts = static_cast<const quern_string*>(t.data);
    for (std::size_t i = 0; i < t.bytes / sizeof *texts; ++i)
      read_all(texts[i].data, texts[i].size);
  }
  void read_info(const quern_value_info& v) {
    read_text(v.name);
    read_all(v.dims, v.rank * sizeof *v.dims);
    for (std::size_t i = 0; v.symbols && i < v.rank; ++i) read_text(v.symbols[i]);
  }

  // ---- arguments

  const char* name() {
    constexpr const char* names[] = {"x", "y",  "n",    "s",        "cpu",      "reference",
                                     "",  "no", "%s%n", "\xff\xfe", "automatic"};
    return bytes_.one_in(16) ? nullptr : names[bytes_.below(std::size(names))];
  }
  std::size_t index() { return static_cast<std::size_t>(bytes_.number()); }

  enum class Keep : std::uint8_t { until_the_call_returns, until_the_end };

  // Memory of so many bytes, aligned like a tensor's, and sometimes not.
  std::byte* memory(std::size_t bytes, std::deque<std::unique_ptr<std::byte[]>>& kept) {
    kept.emplace_back(new std::byte[bytes]());
    return kept.back().get();
  }

  quern_tensor tensor(std::deque<std::unique_ptr<std::byte[]>>& kept) {
    quern_tensor t = QUERN_TENSOR_INIT;
    t.dtype = bytes_.one_in(4)   ? QUERN_I64
              : bytes_.one_in(6) ? quern_dtype(bytes_.number())
                                 : QUERN_F32;
    t.rank = bytes_.one_in(3) ? static_cast<std::uint32_t>(bytes_.number()) : 1;
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < std::min<std::size_t>(t.rank, QUERN_MAX_RANK); ++i) {
      t.dims[i] = bytes_.one_in(30) ? bytes_.number() : static_cast<std::int64_t>(bytes_.below(6));
      const bool is_small = t.dims[i] >= 0 && t.dims[i] <= most_elements;
      elements = is_small ? std::min(elements * t.dims[i], most_elements) : 0;
    }
    const std::size_t size = quern_dtype_size(t.dtype);
    t.bytes = static_cast<std::size_t>(elements) * size;
    std::byte* data = memory(t.bytes, kept);
    if (t.dtype == QUERN_STRING) {
      const quern_string text = {"mill", 4};
      for (std::size_t i = 0; i < t.bytes; i += sizeof text)
        std::memcpy(data + i, &text, sizeof text);
    } else {
      std::fill(data, data + t.bytes, std::byte{1});
    }
    t.data = bytes_.one_in(30) ? nullptr : data;
    if (bytes_.one_in(30)) t.bytes = index();
    return t;
  }

  // ---- library and devices

  void call_library() {
    switch (bytes_.below(10)) {
      case 0: {
        want(quern_api_version() == QUERN_API_VERSION, "the version");
        read_text(quern_version());
        read_text(quern_last_error());
        read_text(quern_status_name(static_cast<quern_status>(bytes_.number())));
        break;
      }
      case 1: {
        const auto dtype = static_cast<quern_dtype>(bytes_.number());
        read_text(quern_dtype_name(dtype));
        (void)quern_dtype_size(dtype);
        break;
      }
      case 2:
        make<quern_devices>(lists_, quern_devices_destroy,
                            [](auto** to) { return quern_devices_list(to); });
        break;
      case 3: {
        const quern_devices* list = slot(lists_);
        (void)quern_devices_count(list);
        quern_device_info info;
        if (with<quern_device_info>(
                QUERN_DEVICE_INFO_INIT,
                [&, i = index()](auto* to) { return quern_devices_info(list, i, to); }, &info))
          if (info.struct_size == sizeof info) read_text(info.name);
        break;
      }
      case 4:
        make<quern_device>(opened_, quern_device_destroy,
                           [&, n = name()](auto** to) { return quern_device_open(n, to); });
        break;
      case 5: {
        const quern_device* device = slot(opened_);
        (void)quern_device_is_lost(device);
        with<quern_device_info>(QUERN_DEVICE_INFO_INIT,
                                [&](auto* to) { return quern_device_get_info(device, to); });
        with<quern_device_counters>(QUERN_DEVICE_COUNTERS_INIT, [&](auto* to) {
          return quern_device_get_counters(device, to);
        });
        break;
      }
      case 6: return make_pool();
      case 7: return call_host();
      default: destroy_something();
    }
  }

  // ---- what a host brings

  static void* allocate(void* context, std::size_t bytes, std::size_t alignment) {
    *static_cast<std::atomic<std::size_t>*>(context) += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void release(void* context, void* block, std::size_t bytes, std::size_t) {
    *static_cast<std::atomic<std::size_t>*>(context) -= bytes;
    std::free(block);
  }
  static void log(void*, std::int32_t, const char* sentence, std::size_t size) {
    read_all(sentence, size);
  }
  // Answers right or wrong, from any thread.
  static quern_status infer(const quern_op_call* call) {
    auto& calls = *static_cast<std::atomic<std::uint32_t>*>(call->context);
    const std::uint32_t whim = (calls += 0x9e3779b9) >> 8;
    if (whim % 7 == 0) return static_cast<quern_status>(whim % 8);
    if (whim % 11 == 0) return call->api->fail(call, QUERN_UNSUPPORTED, "no");
    const std::int64_t dims[9] = {static_cast<std::int64_t>(whim % 6), 2, 3};
    const bool is_wrong = whim % 5 == 0;
    return call->api->set_output(call, is_wrong ? whim % 3 : 0, QUERN_F32,
                                 is_wrong ? static_cast<std::int32_t>(whim % 13) - 2 : 1,
                                 whim % 17 == 0 ? nullptr : dims);
  }
  static quern_status run(const quern_op_call*) { return QUERN_OK; }

  void call_host() {
    if (bytes_.one_in(3)) {
      quern_host_options options = QUERN_HOST_OPTIONS_INIT;
      options.context = &host_bytes_;
      options.allocate = bytes_.one_in(8) ? nullptr : allocate;
      options.release = bytes_.one_in(8) ? nullptr : release;
      options.log = bytes_.one_in(2) ? log : nullptr;
      return make<quern_host>(hosts_, quern_host_destroy, [&](auto** to) {
        return answer_to(options, [&](auto* given) { return quern_host_create(given, to); });
      });
    }
    if (bytes_.one_in(3))
      return make<quern_custom_ops>(ops_, quern_custom_ops_destroy,
                                    [](auto** to) { return quern_custom_ops_create(to); });
    if (bytes_.one_in(8)) {
      check(quern_custom_ops_load(slot(ops_), bytes_.one_in(2) ? "/nowhere.so" : nullptr));
      return;
    }
    constexpr const char* names[] = {"Relu", "Add", "MatMul", "Mine", "", "a b"};
    quern_custom_op op = QUERN_CUSTOM_OP_INIT;
    op.domain = bytes_.one_in(4) ? "org.example" : nullptr;
    op.name = bytes_.one_in(16) ? nullptr : names[bytes_.below(std::size(names))];
    op.flags = static_cast<std::uint32_t>(bytes_.below(5));
    op.max_inputs = bytes_.one_in(4) ? static_cast<std::int32_t>(bytes_.number()) : -1;
    op.context = &infers_;
    op.infer = bytes_.one_in(16) ? nullptr : infer;
    op.run = run;
    quern_custom_ops* const ops = slot(ops_);
    with<quern_custom_op>(op, [&](auto* given) { return quern_custom_ops_add(ops, given); });
  }
  // The threads of a host that has one, which takes the last task first.
  static void run_backwards(void* context, std::int32_t count, quern_task task, void* data) {
    want(context == &sum_of_all_reads, "a context that is not the host's");
    while (count-- > 0) task(data, count);
  }
  void make_pool() {
    // Few, since many are slow to start here; their limit has tests of its own.
    constexpr std::int32_t threads[] = {0, 1, 2, 3, -1, std::numeric_limits<std::int32_t>::min()};
    quern_thread_pool_options options = QUERN_THREAD_POOL_OPTIONS_INIT;
    options.threads = threads[bytes_.below(std::size(threads))];
    options.run = bytes_.one_in(2) ? run_backwards : nullptr;
    options.context = &sum_of_all_reads;
    const bool with_options = !bytes_.one_in(8);
    make<quern_thread_pool>(pools_, quern_thread_pool_destroy, [&](auto** to) {
      return answer_to(
          options,
          [&](auto* given) { return quern_thread_pool_create(with_options ? given : nullptr, to); },
          with_options ? Sizes::any : Sizes::right);
    });
  }
  void destroy_something() {
    const auto drop = [&](auto& slots, const auto& destroy_one) {
      auto*& handle = slot(slots);
      destroy_one(handle);
      handle = nullptr;
    };
    switch (bytes_.below(9)) {
      case 6: return drop(groups_, quern_group_destroy);
      case 7: return drop(ops_, quern_custom_ops_destroy);
      case 0: return drop(lists_, quern_devices_destroy);
      case 1: return drop(opened_, quern_device_destroy);
      case 2: return drop(models_, quern_model_destroy);
      case 3: return drop(executables_, quern_executable_destroy);
      case 4: return drop(tensors_, quern_device_tensor_destroy);
      case 5: return drop(pools_, quern_thread_pool_destroy);
      default: return drop(sessions_, quern_session_destroy);
    }
  }

  // ---- models and executables

  // A model, an executable and sessions, so that most sequences come to runs.
  void begin() {
    const std::string& model = some_model();
    check(quern_model_load_bytes(model.data(), model.size(), nullptr, &models_[0]));
    quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.memory_limit = std::size_t{1} << 20;
    if (bytes_.one_in(3)) make_pool();
    options.thread_pool = slot(pools_);
    check(quern_executable_compile(models_[0], &options, &executables_[0]));
    for (quern_session*& session : sessions_)
      check(quern_session_create(executables_[0], 1, &session));
  }
  const std::string& some_model() { return small_models()[bytes_.below(small_models().size())]; }

  void load_anything() {
    quern_load_options options = QUERN_LOAD_OPTIONS_INIT;
    if (bytes_.one_in(4)) options.max_bytes = index();
    if (bytes_.one_in(8)) options.folder = "/nowhere";
    options.custom_ops = slot(ops_);
    options.host = slot(hosts_);
    options.borrow = bytes_.one_in(3);  // these models stay
    const std::string& model = some_model();
    const void* data = bytes_.one_in(40) ? nullptr : model.data();
    const std::size_t size = bytes_.one_in(8) ? bytes_.next() % (model.size() + 1) : model.size();
    const bool from_file = bytes_.one_in(20), with_options = !bytes_.one_in(3);
    make<quern_model>(models_, quern_model_destroy, [&](auto** to) {
      return answer_to(
          options,
          [&](auto* given) {
            if (!with_options) given = nullptr;
            if (from_file) return quern_model_load("/nowhere.onnx", given, to);
            return quern_model_load_bytes(data, size, given, to);
          },
          with_options ? Sizes::any : Sizes::right);
    });
  }

  void compile() {
    constexpr const char* pools[] = {nullptr, "", "no pool", "binned"};
    const quern_model* model = slot(models_);
    quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
    options.device = bytes_.one_in(3) ? name() : nullptr;
    options.strategy = bytes_.one_in(6) ? name() : nullptr;
    options.pool = bytes_.one_in(6) ? pools[bytes_.below(std::size(pools))] : nullptr;
    options.threads = bytes_.one_in(8) ? static_cast<std::int32_t>(bytes_.number()) : 1;
    options.no_rewrites = bytes_.one_in(3);
    options.no_scratch = bytes_.one_in(3);
    options.max_plans = bytes_.one_in(3) ? index() : 2;
    options.memory_limit = bytes_.one_in(6) ? index() : std::size_t{1} << 20;
    options.opened = bytes_.one_in(3) ? slot(opened_) : nullptr;
    options.thread_pool = bytes_.one_in(3) ? slot(pools_) : nullptr;
    options.host = slot(hosts_);
    make<quern_executable>(executables_, quern_executable_destroy, [&](auto** to) {
      return answer_to(options, [&](auto* o) { return quern_executable_compile(model, o, to); });
    });
  }

  void call_models() {
    switch (bytes_.below(8)) {
      case 0: return load_anything();
      case 1:
      case 2: return compile();
      case 3: return ask_model(slot(models_));
      case 4:
        return ask_values(slot(models_), quern_model_input_count, quern_model_input_info,
                          quern_model_input_index);
      case 5:
        return ask_values(slot(models_), quern_model_output_count, quern_model_output_info,
                          quern_model_output_index);
      case 6:
        return ask_values(slot(executables_), quern_executable_input_count,
                          quern_executable_input_info, quern_executable_input_index);
      default:
        return ask_values(slot(executables_), quern_executable_output_count,
                          quern_executable_output_info, quern_executable_output_index);
    }
  }
  void ask_model(const quern_model* model) {
    quern_model_info info;
    if (with<quern_model_info>(
            QUERN_MODEL_INFO_INIT, [&](auto* to) { return quern_model_get_info(model, to); },
            &info))
      for (const char* text : {info.graph_name, info.producer_name, info.producer_version,
                               info.domain, info.description})
        read_text(text);
    const char *key = nullptr, *value = nullptr;
    if (check(quern_model_property(model, index(), bytes_.one_in(4) ? nullptr : &key, &value)))
      read_text(value);
  }
  template <class Handle, class Count, class Info, class Find>
  void ask_values(const Handle* handle, const Count& count, const Info& info, const Find& find) {
    const std::size_t values = count(handle);
    const std::size_t i = index();
    quern_value_info value;
    const bool ok = with<quern_value_info>(
        QUERN_VALUE_INFO_INIT, [&](auto* to) { return info(handle, i, to); }, &value);
    want(!ok || i < values, "a value that is not there");
    if (ok) read_info(value);
    std::size_t found = values;
    if (check(find(handle, name(), &found))) want(found < values, "an index");
    wrong(find(handle, "x", nullptr));
  }

  // ---- sessions

  void call_sessions() {
    quern_session* session = slot(sessions_);
    switch (bytes_.below(24)) {
      case 0:
        return make<quern_session>(sessions_, quern_session_destroy, [&](auto** to) {
          return quern_session_create(
              slot(executables_), bytes_.one_in(8) ? static_cast<std::int32_t>(bytes_.number()) : 1,
              to);
        });
      case 1:
      case 2:
      case 3:
      case 4:
      case 5: return set_input(session);
      case 6: return set_sequence(session);
      case 7: return (void)check(quern_session_set_input_none(session, index()));
      case 8: return bind_output(session);
      case 9: return request(session);
      case 10:
      case 11: return (void)check(quern_session_run(session));
      case 12:
        return (void)check(
            quern_session_run_within(session, static_cast<std::uint64_t>(bytes_.number())));
      case 13:
      case 14:
      case 15: return (void)check(quern_session_submit(session));
      case 16: return (void)check(quern_session_wait(session));
      case 17:
        return (void)check(
            quern_session_wait_within(session, static_cast<std::uint64_t>(bytes_.number())));
      case 18: return (void)check(quern_session_prepare(session));
      case 19: quern_session_cancel(session); return;
      case 20: quern_session_clear_cancel(session); return;
      case 21: return read_outputs(session);
      case 22: return read_plan(session);
      default: return read_profile(session);
    }
  }
  void set_input(quern_session* session) {
    const bool borrows = bytes_.one_in(3);
    std::deque<std::unique_ptr<std::byte[]>> own;  // what is copied is gone after the call
    const quern_tensor t = tensor(borrows ? kept_ : own);
    const quern_input_mode mode = bytes_.one_in(60) ? 7 : borrows ? QUERN_BORROW : QUERN_COPY;
    const std::size_t i = index();
    with(t, [&](auto* given) {
      return quern_session_set_input(session, i, bytes_.one_in(60) ? nullptr : given, mode);
    });
  }
  void set_sequence(quern_session* session) {
    std::vector<quern_tensor> all(bytes_.below(3));
    for (quern_tensor& t : all) t = tensor(kept_);
    const bool lies = !all.empty() && bytes_.one_in(8);
    if (lies) all[0].struct_size = index();
    if (lies && all[0].struct_size != sizeof all[0]) all.resize(1);
    check(quern_session_set_input_sequence(session, index(), all.empty() ? nullptr : all.data(),
                                           all.size()));
  }
  void bind_output(quern_session* session) {
    const std::size_t room = bytes_.one_in(3) ? bytes_.next() : std::size_t{1} << 14;
    std::byte* data = memory(room + 16, kept_);
    if (bytes_.one_in(10)) ++data;
    check(quern_session_bind_output(session, index(), bytes_.one_in(5) ? nullptr : data, room));
  }
  void request(quern_session* session) {
    std::vector<std::size_t> indices(bytes_.below(4));
    for (std::size_t& i : indices) i = index();
    check(quern_session_request_outputs(session, indices.empty() ? nullptr : indices.data(),
                                        indices.size()));
  }
  void read_outputs(const quern_session* session) {
    const std::size_t i = index();
    quern_tensor t;
    if (with<quern_tensor>(
            QUERN_TENSOR_INIT, [&](auto* to) { return quern_session_output(session, i, to); }, &t))
      read_tensor(t);
    if (with<quern_tensor>(
            QUERN_TENSOR_INIT, [&](auto* to) { return quern_session_output_type(session, i, to); },
            &t))
      want(t.data == nullptr, "a type has data");
    std::size_t length = 0;
    if (check(quern_session_output_length(session, i, &length))) want(length < 1000, "a length");
    const std::size_t element = index();
    if (with<quern_tensor>(
            QUERN_TENSOR_INIT,
            [&](auto* to) { return quern_session_output_element(session, i, element, to); }, &t))
      read_tensor(t);
  }
  void read_plan(quern_session* session) {
    with<quern_plan_info>(QUERN_PLAN_INFO_INIT,
                          [&](auto* to) { return quern_session_plan_info(session, to); });
    if (bytes_.one_in(3)) check(quern_session_trim(session));
  }
  void read_profile(quern_session* session) {
    check(quern_session_enable_profile(session, bytes_.one_in(3) ? 0 : 1));
    const std::size_t count = quern_session_profile_count(session);
    const std::size_t i = index();
    quern_profile_entry entry;
    const bool ok = with<quern_profile_entry>(
        QUERN_PROFILE_ENTRY_INIT,
        [&](auto* to) { return quern_session_profile_entry(session, i, to); }, &entry);
    want(!ok || i < count, "an entry that is not there");
    if (!ok) return;
    for (const char* text : {entry.node, entry.op, entry.shapes, entry.implementation})
      read_text(text);
  }

  // ---- tensors of a device

  void call_tensors() {
    quern_device_tensor* t = slot(tensors_);
    std::deque<std::unique_ptr<std::byte[]>> own;
    switch (bytes_.below(8)) {
      case 6: return make_group();
      case 7: return call_group(slot(groups_));
      case 0:
      case 1: {
        const quern_tensor type = tensor(own);
        const quern_device* device = bytes_.one_in(4) ? slot(opened_) : nullptr;
        return make<quern_device_tensor>(tensors_, quern_device_tensor_destroy, [&](auto** to) {
          return answer_to(
              type, [&](auto* given) { return quern_device_tensor_create(device, given, to); });
        });
      }
      case 2: {
        const quern_tensor from = tensor(own);
        with(from, [&](auto* given) { return quern_device_tensor_write(t, given); });
        return;
      }
      case 3: {
        quern_tensor out;
        if (with<quern_tensor>(
                QUERN_TENSOR_INIT, [&](auto* to) { return quern_device_tensor_read(t, to); }, &out))
          read_tensor(out);
        return;
      }
      case 4: return (void)check(quern_session_set_input_device(slot(sessions_), index(), t));
      default: return (void)check(quern_session_bind_output_device(slot(sessions_), index(), t));
    }
  }

  // ---- groups

  void make_group() {
    std::deque<std::unique_ptr<std::byte[]>> own;
    std::vector<quern_tensor> types(bytes_.below(3));
    for (quern_tensor& t : types) t = tensor(own);
    quern_group_options options = QUERN_GROUP_OPTIONS_INIT;
    options.threads = bytes_.one_in(8) ? static_cast<std::int32_t>(bytes_.number()) : 1;
    options.thread_pool = slot(pools_);
    options.inputs = bytes_.one_in(20) ? nullptr : types.data();
    options.input_count = types.size();
    const std::size_t runs = bytes_.one_in(8) ? index() : 1 + bytes_.below(3);
    make<quern_group>(groups_, quern_group_destroy, [&](auto** to) {
      return answer_to(options, [&](auto* given) {
        return quern_group_create(slot(executables_), runs, bytes_.one_in(4) ? nullptr : given, to);
      });
    });
  }
  void call_group(quern_group* group) {
    const std::size_t size = quern_group_size(group);
    for (std::size_t i = 0; i < size; ++i) {
      quern_session* session = nullptr;
      want(check(quern_group_session(group, i, &session)), "a session of a group is missing");
      if (!bytes_.one_in(4)) set_input(session);
      if (bytes_.one_in(4)) bind_output(session);
      quern_session_destroy(session);  // does nothing
    }
    quern_session* none = nullptr;
    want(!check(quern_group_session(group, size, &none)) && !none, "a session too many");
    check(quern_group_run(group));
    with<quern_group_counters>(QUERN_GROUP_COUNTERS_INIT,
                               [&](auto* to) { return quern_group_get_counters(group, to); });
    for (std::size_t i = 0; i < size; ++i)
      if (quern_session* session = nullptr; quern_group_session(group, i, &session) == QUERN_OK)
        read_outputs(session);
  }

  std::deque<std::unique_ptr<std::byte[]>> kept_;  // what sessions borrow
  Bytes bytes_;
  Slots<quern_devices> lists_{};
  Slots<quern_device> opened_{};
  Slots<quern_thread_pool> pools_{};
  Slots<quern_model> models_{};
  Slots<quern_executable> executables_{};
  Slots<quern_session> sessions_{};
  Slots<quern_device_tensor> tensors_{};
  Slots<quern_group> groups_{};
  Slots<quern_custom_ops> ops_{};
  Slots<quern_host> hosts_{};
  std::atomic<std::size_t> host_bytes_ = 0;
  std::atomic<std::uint32_t> infers_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The drivers of this machine are no part of what is tried.
  static const int no_drivers = setenv("VK_ICD_FILENAMES", "/nowhere.json", 1) |
                                setenv("VK_DRIVER_FILES", "/nowhere.json", 1);
  if (no_drivers == 0) Program(data, size).run();
  return 0;
}
