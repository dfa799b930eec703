// SPDX-License-Identifier: Apache-2.0
#include "tools/inputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "graph/numeric.h"
#include "tools/console.h"
#include "tools/json.h"
#include "tools/npy.h"
#include "tools/parse.h"

namespace quern::tools {
namespace {

std::vector<std::string> names_of(const std::vector<ValueSpec>& specs) {
  std::vector<std::string> names;
  names.reserve(specs.size());
  for (const ValueSpec& s : specs) names.push_back(s.name);
  return names;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string s;
  for (const std::string& p : parts) s += cat(s.empty() ? "'" : ", '", shown(p), "'");
  return s.empty() ? "none" : s;
}

std::vector<std::string> symbols_of(const std::vector<ValueSpec>& specs) {
  std::vector<std::string> symbols;
  for (const ValueSpec& s : specs)
    for (const std::string& name : s.symbols)
      if (!name.empty() && !std::ranges::count(symbols, name)) symbols.push_back(name);
  return symbols;
}

}  // namespace

ValueType value_type(const ValueSpec& spec) {
  ValueType type;
  type.dtype = spec.dtype;
  type.kind = static_cast<ValueType::Kind>(spec.kind);
  if (spec.has_rank) type.dims = Dims(spec.dims.begin(), spec.dims.end());
  return type;
}

std::string spec_text(const ValueSpec& spec) {
  std::string s;
  if (spec.kind == ValueSpec::Kind::optional_tensor) s = "optional ";
  if (spec.kind == ValueSpec::Kind::sequence) s = "sequence of ";
  if (spec.kind == ValueSpec::Kind::optional_sequence) s = "optional sequence of ";
  if (spec.is_map()) s = "values of maps ";
  s += name_of(spec.dtype);
  if (!spec.has_rank) return s + "[*]";
  s += '[';
  for (std::size_t i = 0; i < spec.dims.size(); ++i) {
    const bool named = spec.dims[i] < 0 && !spec.symbols[i].empty();
    s += cat(i ? "," : "", named              ? shown(spec.symbols[i], 40)
                           : spec.dims[i] < 0 ? "?"
                                              : cat(spec.dims[i]));
  }
  return s + "]";
}

std::string InputValue::text() const {
  if (kind == Kind::none) return "nothing";
  if (kind == Kind::sequence) return cat("sequence of ", tensors.size());
  return tensors[0].type().text();
}

// ---- dimensions --------------------------------------------------------------------------------

Result<Dimensions> parse_dimensions(const InputArgs& args, const std::vector<ValueSpec>& specs) {
  Dimensions d;
  const auto names = names_of(specs);
  for (const std::string& text : args.shapes) {
    const Assignment a = parse_assignment(text, names);
    if (a.name.empty() && (specs.size() != 1 || a.value.find('=') != std::string::npos))
      return Status(Code::invalid_argument,
                    cat("--shape ", shown(text),
                        ": which input? Write NAME=AxBxC; the model has: ", joined(names)));
    QUERN_ASSIGN(d.shapes[a.name.empty() ? names[0] : a.name], parse_shape(a.value));
  }
  const auto symbols = symbols_of(specs);
  for (const std::string& text : args.dims) {
    const Assignment a = parse_assignment(text, symbols);
    const auto number = parse_integer(a.value);
    if (a.name.empty())
      return Status(Code::invalid_argument,
                    cat("--dim ", shown(text),
                        ": write SYMBOL=N; the inputs' free dimensions are: ", joined(symbols)));
    if (!number || *number < 0)
      return Status(Code::invalid_argument,
                    cat("--dim ", shown(text), ": '", shown(a.value), "' is no size"));
    d.symbols[a.name] = *number;
  }
  return d;
}

std::vector<std::int64_t> known_dims(const ValueSpec& spec, const Dimensions& dimensions) {
  if (const auto it = dimensions.shapes.find(spec.name); it != dimensions.shapes.end())
    return {it->second.begin(), it->second.end()};
  std::vector<std::int64_t> dims = spec.dims;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (const auto it = dimensions.symbols.find(spec.symbols[i]);
        dims[i] < 0 && it != dimensions.symbols.end())
      dims[i] = it->second;
  return dims;
}

namespace {

// A guess for free dimension `axis`: one picture of a usual size, or a short sequence; little where
// there are many dimensions.
std::int64_t usual_dim(const std::vector<std::int64_t>& dims, std::size_t axis) {
  if (axis == 0) return 1;
  if (dims.size() > 5) return 2;
  const auto channels = [](std::int64_t d) { return d == 1 || d == 3 || d == 4; };
  const bool first = dims.size() == 4 && channels(dims[1]) && axis >= 2;
  const bool last = dims.size() == 4 && channels(dims[3]) && axis <= 2;
  return first || last ? 224 : 16;
}

struct GuessedShape {
  Shape shape;
  bool guessed = false;
  std::map<std::string, std::int64_t> symbols;
};

Result<GuessedShape> complete_shape(const ValueSpec& spec, const Dimensions& dimensions) {
  const bool given = dimensions.shapes.count(spec.name) > 0;
  // One element broadcasts with everything.
  if (!spec.has_rank && !given) return GuessedShape{.shape = {1}, .guessed = true, .symbols = {}};
  const std::vector<std::int64_t> dims = known_dims(spec, dimensions);
  if (dims.size() > Shape::max_rank)
    return Status(Code::unsupported,
                  cat("input '", shown(spec.name), "' has ", dims.size(), " dimensions; at most ",
                      Shape::max_rank, " are supported"));
  GuessedShape result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0) {
      result.shape.push_back(dims[i]);
      continue;
    }
    result.guessed = true;
    const auto guess = dimensions.guesses.find(spec.symbols[i]);
    const bool is_named = guess != dimensions.guesses.end();
    result.shape.push_back(is_named ? guess->second : usual_dim(dims, i));
    if (is_named) result.symbols.insert(*guess);
  }
  return result;
}

// ---- files

Result<Tensor> read_raw(const std::string& path, const ValueSpec& spec,
                        const Dimensions& dimensions) {
  QUERN_ASSIGN(const std::string bytes, read_file(path, std::size_t{8} << 30));
  if (spec.dtype == DType::string)
    return Status(Code::unsupported, "strings cannot be read from raw bytes");
  std::vector<std::int64_t> dims = known_dims(spec, dimensions);
  TensorType type{spec.dtype, {}};
  std::int64_t known = static_cast<std::int64_t>(size_of(spec.dtype));
  for (std::int64_t d : dims) known *= d < 0 ? 1 : std::min<std::int64_t>(d, 1 << 30);
  for (std::int64_t d : dims)  // one free dimension follows from the size of the file
    type.shape.push_back(d < 0 && known > 0 ? static_cast<std::int64_t>(bytes.size()) / known
                                            : std::max<std::int64_t>(d, 0));
  if (std::ranges::count_if(dims, [](std::int64_t d) { return d < 0; }) > 1 || !spec.has_rank)
    return Status(Code::invalid_argument, cat("input '", shown(spec.name), "' is ", spec_text(spec),
                                              ": give its --shape for raw bytes"));
  return Tensor::copy_of(type, std::as_bytes(std::span(bytes)));
}

struct Preparation {
  const Dimensions& dimensions;
  ImageOptions options;
  double default_crop;
  const Fits& fits;
};

Result<Tensor> read_picture(const std::string& path, const ValueSpec& spec, const Preparation& p) {
  std::vector<std::int64_t> dims = known_dims(spec, p.dimensions);
  QUERN_ASSIGN(const ImageLayout layout, image_layout(spec.name, dims));
  QUERN_ASSIGN(Image image, read_image(path, layout.channels));
  const auto settle = [&](std::size_t axis, std::int64_t otherwise) {
    if (dims[axis] < 0) dims[axis] = otherwise;
    return dims[axis];
  };
  if (layout.channel_axis) settle(*layout.channel_axis, layout.channels);
  const std::int64_t height = settle(layout.height_axis, image.height);
  const std::int64_t width = settle(layout.width_axis, image.width);
  if (dims.size() == 4) settle(0, 1);
  const TensorType type{spec.dtype, Shape(std::span<const std::int64_t>(dims))};
  if (height < 1 || width < 1 || height > 65536 || width > 65536 || height * width > 100'000'000)
    return Status(Code::invalid_argument, cat("input '", shown(spec.name), "' is ", type.text(),
                                              ": no size for a picture"));
  image = resize_middle(image, static_cast<int>(width), static_cast<int>(height),
                        p.options.crop.value_or(p.default_crop));
  return image_tensor(image, type, layout, p.options);
}

std::string extension_of(const std::string& path) {
  return small_letters(std::filesystem::path(path).extension().string());
}

InputValue single(Tensor t, std::string origin) {
  return {.kind = InputValue::Kind::tensor, .tensors = {std::move(t)}, .origin = std::move(origin)};
}

// What the inputs that nobody gave may take together: their sizes are the model's word.
class Room {
 public:
  explicit Room(std::uint64_t limit) : limit_(limit) {}

  Status take(const ValueSpec& spec, const TensorType& type) {
    const auto elements = type.shape.checked_elements(size_of(type.dtype));
    if (!elements) return {};  // no tensor is made of it
    const std::uint64_t bytes = static_cast<std::uint64_t>(*elements) * size_of(type.dtype);
    if (bytes <= limit_ - taken_) {
      taken_ += bytes;
      return {};
    }
    return {Code::out_of_memory,
            cat("input '", shown(spec.name), "' ", type.text(), " takes ", bytes, " bytes, ",
                limit_ - taken_, " are left of ", limit_,
                " for generated inputs: give it a smaller --shape, or a larger --memory-limit")};
  }

 private:
  std::uint64_t limit_;
  std::uint64_t taken_ = 0;
};

Result<Tensor> filled(const TensorType& type, float value) {
  QUERN_ASSIGN(Tensor t, Tensor::zeros(type));
  if (type.dtype == DType::string) return generate_tensor(type, "", 0);
  visit_dtype(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, StringRef>)
      std::fill_n(reinterpret_cast<T*>(t.mutable_data()), type.shape.elements(),
                  static_cast<T>(value));
  });
  return t;
}

Result<InputValue> generate(const ValueSpec& spec, const Dimensions& dimensions, std::uint64_t seed,
                            const std::optional<Fit>& fit, Room& room) {
  InputValue v{.origin = "generated"};
  if (spec.is_optional()) {
    v.kind = InputValue::Kind::none;
    return v;
  }
  if (spec.kind == ValueSpec::Kind::sequence) v.kind = InputValue::Kind::sequence;
  QUERN_ASSIGN(const GuessedShape shape, complete_shape(spec, dimensions));
  const TensorType type{spec.dtype, shape.shape};
  QUERN_TRY(room.take(spec, type));
  QUERN_ASSIGN(Tensor t, generate_tensor(type, spec.name, seed, fit));
  v.tensors.push_back(std::move(t));
  v.guessed_shape = shape.guessed;
  v.guesses = shape.symbols;
  return v;
}

// For input `i`.
Result<InputValue> read_input(const std::string& source, const ValueSpec& spec, std::size_t i,
                              std::uint64_t seed, const Preparation& p, Room& room) {
  if (source == "random") return generate(spec, p.dimensions, seed + i, p.fits.of(i), room);
  if (source == "ones" || source == "zeros") {
    QUERN_ASSIGN(const GuessedShape shape, complete_shape(spec, p.dimensions));
    const TensorType type{spec.dtype, shape.shape};
    QUERN_TRY(room.take(spec, type));
    QUERN_ASSIGN(Tensor t, filled(type, source == "ones" ? 1.0F : 0.0F));
    return single(std::move(t), source);
  }
  const std::string extension = extension_of(source);
  if (extension == ".pb") return read_value(source, spec);
  Result<Tensor> t = extension == ".npy"   ? read_npy(source)
                     : extension == ".bin" ? read_raw(source, spec, p.dimensions)
                                           : read_picture(source, spec, p);
  if (!t) return std::move(t).error();
  return single(std::move(*t), source);
}

// ---- all of them

class InputMaker {
 public:
  InputMaker(const std::vector<ValueSpec>& specs, const InputArgs& args,
             const Preparation& preparation)
      : specs_(specs),
        args_(args),
        preparation_(preparation),
        room_(args.most_bytes),
        values_(specs.size()),
        done_(specs.size()) {}

  Result<std::vector<InputValue>> run() {
    if (!args_.data_set.empty()) QUERN_TRY(from_data_set());
    for (const std::string& text : args_.inputs) QUERN_TRY(from_flag(text));
    if (!args_.image.empty()) QUERN_TRY(from_image());
    const Dimensions dimensions = all_dimensions();
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (done_[i]) continue;
      QUERN_ASSIGN(values_[i], generate(specs_[i], dimensions, args_.seed + i, fit_of(i), room_));
    }
    return std::move(values_);
  }

 private:
  void set(std::size_t i, InputValue value) {
    values_[i] = std::move(value);
    done_[i] = true;
  }

  // The keys of a map are numbers that differ, if nobody asks for certain ones.
  std::optional<Fit> fit_of(std::size_t i) const {
    std::optional<Fit> fit = preparation_.fits.of(i);
    if (fit || std::ranges::find(specs_, i, &ValueSpec::keys) == specs_.end()) return fit;
    std::array<std::int64_t, 64> keys{};
    for (std::size_t k = 0; k < keys.size(); ++k)
      keys[k] = static_cast<std::int64_t>(keys.size() - k);
    if (specs_[i].dtype != DType::i64) return fit;
    return Fit{.form = Fit::Form::listed,
               .keys = Tensor::from_values<std::int64_t>(DType::i64, {64}, keys)};
  }

  // The given dimensions, those of the available inputs, and a guess for every other name: a name
  // stands for the same number wherever it appears.
  Dimensions all_dimensions() const {
    Dimensions d = preparation_.dimensions;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!done_[i] || values_[i].kind != InputValue::Kind::tensor) continue;
      const Shape& shape = values_[i].tensors[0].view().type.shape;
      for (std::size_t k = 0; k < std::min(shape.rank(), specs_[i].dims.size()); ++k)
        if (specs_[i].dims[k] < 0 && !specs_[i].symbols[k].empty())
          d.symbols.emplace(specs_[i].symbols[k], shape[k]);
    }
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (done_[i]) continue;
      const std::vector<std::int64_t> dims = known_dims(specs_[i], d);
      for (std::size_t k = 0; k < std::min(dims.size(), specs_[i].symbols.size()); ++k)
        if (dims[k] < 0 && !specs_[i].symbols[k].empty())
          d.guesses.emplace(specs_[i].symbols[k],
                            std::max(usual_dim(dims, k), least_dim(specs_[i].symbols[k])));
    }
    return d;
  }

  std::int64_t least_dim(const std::string& symbol) const {
    const auto at = preparation_.fits.least_dims.find(symbol);
    return at == preparation_.fits.least_dims.end() ? 0 : at->second;
  }

  Status from_data_set() {
    bool any = specs_.empty();
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const std::string path = cat(args_.data_set, "/input_", i, ".pb");
      std::error_code ignored;
      if (!std::filesystem::exists(path, ignored)) continue;
      QUERN_ASSIGN(InputValue value, read_value(path, specs_[i]));
      set(i, std::move(value));
      any = true;
    }
    if (any) return {};
    return {Code::not_found, cat("no input_0.pb in '", shown(args_.data_set, 200),
                                 "'; --data-set wants a folder such as test_data_set_0")};
  }

  Status from_flag(const std::string& text) {
    const auto names = names_of(specs_);
    const Assignment a = parse_assignment(text, names);
    if (a.name.empty() && (specs_.size() != 1 || a.value.find('=') != std::string::npos))
      return {Code::invalid_argument,
              cat("--input ", shown(text),
                  ": which input? Write NAME=FILE; the model has: ", joined(names))};
    const auto i = static_cast<std::size_t>(
        a.name.empty() ? 0 : std::ranges::find(names, a.name) - names.begin());
    auto value = read_input(a.value, specs_[i], i, args_.seed, preparation_, room_);
    if (!value) return std::move(value).error().in(cat("input '", shown(specs_[i].name), "'"));
    set(i, std::move(*value));
    return {};
  }

  Status from_image() {
    Status first_error;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (done_[i] || specs_[i].kind != ValueSpec::Kind::tensor) continue;
      const auto layout =
          image_layout(specs_[i].name, known_dims(specs_[i], preparation_.dimensions));
      if (!layout) {
        if (first_error.ok()) first_error = layout.error().copy();
        continue;
      }
      QUERN_ASSIGN(Tensor t, read_picture(args_.image, specs_[i], preparation_));
      set(i, single(std::move(t), args_.image));
      return {};
    }
    if (first_error.ok()) return {Code::invalid_argument, "no input is left for --image"};
    return first_error;
  }

  const std::vector<ValueSpec>& specs_;
  const InputArgs& args_;
  const Preparation& preparation_;
  Room room_;
  std::vector<InputValue> values_;
  std::vector<bool> done_;
};

}  // namespace

Result<InputValue> read_value(const std::string& path, const ValueSpec& spec) {
  QUERN_ASSIGN(OnnxValue value, read_tensor_file(path, value_type(spec)));
  InputValue v{.origin = path};
  if (!value.present) v.kind = InputValue::Kind::none;
  if (value.present && spec.is_sequence()) v.kind = InputValue::Kind::sequence;
  if (v.kind == InputValue::Kind::tensor && value.tensors.size() != 1)
    return Status(Code::invalid_argument,
                  cat(shown(path, 200), ": holds ", value.tensors.size(), " tensors, not one"));
  v.tensors = std::move(value.tensors);
  return v;
}

Result<std::vector<InputValue>> make_inputs(const std::vector<ValueSpec>& specs,
                                            const ModelMetadata& metadata, const InputArgs& args,
                                            double default_crop, const Fits& fits) {
  QUERN_ASSIGN(const Dimensions dimensions, parse_dimensions(args, specs));
  QUERN_ASSIGN(const ImageOptions options,
               parse_image_options(with_metadata(args.preparation, metadata)));
  const Preparation preparation{dimensions, options, default_crop, fits};
  return InputMaker(specs, args, preparation).run();
}

namespace {

// A signal of so many samples is long enough for the models that want one.
constexpr std::int64_t usual_samples = 512;

// The shapes of inputs whose guess no name reaches, all free dimensions 1, as --shape takes them;
// of input `signal` the last free one is usual_samples. Inputs of any rank have `rank` dimensions.
std::vector<std::string> shapes_of_ones(const std::vector<ValueSpec>& specs,
                                        const std::vector<InputValue>& inputs, std::size_t rank,
                                        std::optional<std::size_t> signal = std::nullopt) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].guessed_shape || inputs[i].tensors.empty()) continue;
    const ValueSpec& spec = specs[i];
    Shape shape = spec.has_rank ? inputs[i].tensors[0].shape() : Shape::filled(rank, 1);
    for (std::size_t k = 0; spec.has_rank && k < shape.rank(); ++k)
      if (spec.dims[k] < 0 &&
          (spec.symbols[k].empty() || inputs[i].guesses.contains(spec.symbols[k])))
        shape[k] = 1;
    for (std::size_t k = shape.rank(); signal == i && k-- > 0;)
      if (!spec.has_rank || spec.dims[k] < 0) {
        shape[k] = usual_samples;
        break;
      }
    std::string text;
    for (const std::int64_t d : shape.dims()) text += cat(text.empty() ? "" : "x", d);
    texts.push_back(cat(spec.name, "=", text.empty() ? "scalar" : text));
  }
  return texts;
}

}  // namespace

std::vector<InputArgs> other_guesses(const InputArgs& args, const std::vector<ValueSpec>& specs,
                                     const std::vector<InputValue>& inputs) {
  constexpr std::size_t most = 64;
  std::map<std::string, std::int64_t> guesses;
  for (const InputValue& v : inputs) guesses.insert(v.guesses.begin(), v.guesses.end());
  std::vector<InputArgs> others;
  const auto add = [&](const auto& number_of, const std::vector<std::string>& shapes) {
    InputArgs other = args;
    for (const auto& [name, guess] : guesses)
      other.dims.push_back(cat(name, "=", number_of(name, guess)));
    other.shapes.insert(other.shapes.end(), shapes.begin(), shapes.end());
    const auto is_same = [&](const InputArgs& o) {
      return o.dims == other.dims && o.shapes == other.shapes;
    };
    if (others.size() < most && std::ranges::none_of(others, is_same))
      others.push_back(std::move(other));
  };
  for (auto sum = guesses.begin(); sum != guesses.end(); ++sum)
    for (auto a = guesses.begin(); a != guesses.end(); ++a)
      for (auto b = std::next(a); b != guesses.end(); ++b)
        if (a != sum && b != sum)
          add(
              [&](const std::string& name, std::int64_t guess) {
                return name == sum->first ? a->second + b->second : guess;
              },
              {});
  const auto one = [](const std::string&, std::int64_t) { return std::int64_t{1}; };
  if (!guesses.empty()) add(one, {});
  for (const std::size_t rank : {1, 2, 3, 4, 0})
    if (const auto shapes = shapes_of_ones(specs, inputs, rank); !shapes.empty()) add(one, shapes);
  for (std::size_t i = 0; i < std::min(inputs.size(), most); ++i)
    if (inputs[i].guessed_shape) add(one, shapes_of_ones(specs, inputs, 2, i));
  return others;
}

Status bind_inputs(Session& session, std::span<const InputValue> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const InputValue& v = values[i];
    if (v.kind == InputValue::Kind::none) {
      QUERN_TRY(session.set_input_none(i));
    } else if (v.kind == InputValue::Kind::sequence) {
      std::vector<TensorView> views;
      for (const Tensor& t : v.tensors) views.push_back(t.view());
      QUERN_TRY(session.set_input_sequence(i, views));
    } else {
      QUERN_TRY(session.set_input(i, v.tensors[0].view()));
    }
  }
  return {};
}

}  // namespace quern::tools
