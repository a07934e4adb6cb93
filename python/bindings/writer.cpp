// bale._bale.Writer: bale::Writer with the GIL released. python/bale/_writer/writer.py turns values into bytes.
#include "bale/writer/writer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/python/bindings/value.hpp"
#include "bale/reader/check/notice_lines.hpp"
#include "bale/writer/request/pack_request.hpp"
#include "bale/writer/request/report_json.hpp"
#include "bale/writer/source/classes/class_map.hpp"

namespace bale::python {
namespace {

/// Releases the GIL for a scope, in which poll_signals() may take it.
class GilFreeWait {
 public:
  GilFreeWait() { current_ = &without_gil_; }
  ~GilFreeWait() { current_ = nullptr; }
  GilFreeWait(const GilFreeWait&) = delete;
  GilFreeWait& operator=(const GilFreeWait&) = delete;

  static void poll_signals() {
    if (current_ != nullptr) current_->check_signals();
  }

 private:
  WithoutGil without_gil_;
  static thread_local WithoutGil* current_;
};
thread_local WithoutGil* GilFreeWait::current_ = nullptr;

/// Buffer views; the objects cannot move or change their bytes while this exists.
class Buffers {
 public:
  Buffers() = default;
  ~Buffers() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// The bytes of one more object, which the caller keeps as long as this lives.
  Bytes bytes_of(nb::handle object) {
    if (PyBytes_Check(object.ptr())) {
      return {reinterpret_cast<const std::byte*>(PyBytes_AsString(object.ptr())),
              static_cast<std::size_t>(PyBytes_Size(object.ptr()))};
    }
    Py_buffer view;
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    views_.push_back(view);
    return {static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len)};
  }

 private:
  std::vector<Py_buffer> views_;
};

std::vector<std::string> strings(const nb::handle& list) {
  std::vector<std::string> texts;
  for (const nb::handle text : list) texts.push_back(from_str(nb::cast<nb::str>(text)));
  return texts;
}

/// Those of pack() that python/bale/_writer/writer.py has.
PackOptions pack_options(const std::string& destination, const nb::dict& given) {
  PackRequest request;
  OptionTable table;
  add_pack_options(table, request);
  add_run_options(table, request);
  try {
    take_options(table, given_options(given));
  } catch (const Error& error) {
    throw option_names(table, false).shown(error);
  }
  request.options.destination = destination;
  request.options.format = format_of(request);
  return request.options;
}

void require_length(const std::string& name, std::size_t length, std::size_t num_keys) {
  if (length == num_keys) return;
  throw nb::value_error(fmt::format("{}: {} values for {} keys", printable(name), length, num_keys).c_str());
}

std::string name_of(nb::handle name) {
  if (!PyUnicode_Check(name.ptr())) {
    throw nb::type_error(fmt::format("the name of a field is a str, not {}", nb::repr(name).c_str()).c_str());
  }
  return from_str(nb::borrow<nb::str>(name));
}

class PythonWriter {
 public:
  PythonWriter(const nb::str& destination, const nb::dict& given, const nb::list& classes,
               std::optional<std::pair<std::uint64_t, std::uint64_t>> part, std::optional<std::uint64_t> memory_bytes) {
    Writer::Options options{.pack = pack_options(from_str(destination), given), .classes = strings(classes)};
    if (memory_bytes) options.memory_bytes = *memory_bytes;
    options.part = part;
    options.on_wait = &GilFreeWait::poll_signals;
    keys_name_files_ = options.pack.format.layout->keys_name_files;
    max_pixels_ = options.pack.max_pixels;
    const GilFreeWait waiting;
    writer_ = std::make_unique<Writer>(std::move(options));
  }
  ~PythonWriter() {
    const WithoutGil without_gil;
    writer_.reset();
  }
  PythonWriter(const PythonWriter&) = delete;
  PythonWriter& operator=(const PythonWriter&) = delete;

  std::uint64_t add(const nb::str& key, const nb::dict& values, std::optional<std::int64_t> label) {
    const std::string raw_key = from_str(key);
    std::vector<std::string> names;
    names.reserve(values.size());  // views into them stay
    std::vector<FieldView> fields;
    Buffers buffers;
    for (const auto& [name, value] : values) {
      fields.push_back({names.emplace_back(name_of(name)), buffers.bytes_of(value)});
    }
    const GilFreeWait waiting;
    const std::uint64_t number = writer_->add(raw_key, fields, label.value_or(k_no_label));
    count_label(label.value_or(k_no_label), names);
    return number;
  }

  /// `columns` has lists. Throws ValueError if one of them, or `labels`, does not have a value for each key.
  std::uint64_t add_many(const nb::list& keys, const nb::dict& columns, const std::optional<nb::list>& labels) {
    const std::size_t count = keys.size();
    std::vector<std::string> raw_keys;
    raw_keys.reserve(count);
    for (const nb::handle key : keys) {
      if (!PyUnicode_Check(key.ptr())) {
        throw nb::type_error(fmt::format("position {}: a key is a str", raw_keys.size()).c_str());
      }
      raw_keys.push_back(from_str(nb::borrow<nb::str>(key)));
    }
    std::vector<std::string> names;
    names.reserve(columns.size());
    std::vector<FieldView> fields(count * columns.size());
    Buffers buffers;
    for (const auto& [name, column] : columns) {
      const std::string& raw_name = names.emplace_back(name_of(name));
      const auto values = nb::cast<nb::list>(column);
      require_length(raw_name, values.size(), count);
      std::size_t at = names.size() - 1;
      for (const nb::handle value : values) {
        fields[at] = {raw_name, buffers.bytes_of(value)};
        at += columns.size();
      }
    }
    std::vector<SampleView> samples;
    samples.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      samples.push_back({.key = raw_keys[i], .fields = std::span(fields).subspan(i * columns.size(), columns.size())});
    }
    if (labels) {
      require_length("labels", labels->size(), count);
      std::size_t i = 0;
      for (const nb::handle label : *labels) {
        if (!label.is_none()) samples[i].label = value_of<std::int64_t>(label, "labels");
        ++i;
      }
    }
    const GilFreeWait waiting;
    const std::uint64_t first = writer_->add_many(samples);
    for (const SampleView& sample : samples) count_label(sample.label, names);
    return first;
  }
  std::uint64_t count() const { return writer_->count(); }
  bool keys_name_files() const { return keys_name_files_; }
  bool contains(const nb::str& key) {
    const std::string raw_key = from_str(key);
    const GilFreeWait waiting;
    return writer_->contains(raw_key);
  }
  std::uint64_t checkpoint() {
    const GilFreeWait waiting;
    return writer_->checkpoint();
  }
  /// The report of a pack, as JSON text.
  nb::str close() {
    std::string json;
    {
      const GilFreeWait waiting;
      const PackReport report = writer_->close();
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
      const ImageConditions images = conditions_of(report, max_pixels_);
      RunRemarks remarks{.warnings = unusable_image_lines(images, {})};
      if (const auto line = unlabeled_line(num_unlabeled_, num_labeled_ + num_unlabeled_))
        remarks.warnings.push_back(*line);
      json = pack_json(report, seconds, remarks, images);
    }
    return to_str(json);
  }
  std::uint64_t abandon() {
    const WithoutGil without_gil;  // continues at a second Ctrl-C: it keeps samples
    return writer_->abandon();
  }

 private:
  void count_label(std::int64_t label, const std::vector<std::string>& names) {
    const bool has_label = label != k_no_label || std::find(names.begin(), names.end(), k_label_field) != names.end();
    ++(has_label ? num_labeled_ : num_unlabeled_);
  }

  std::unique_ptr<Writer> writer_;
  std::atomic<std::uint64_t> num_labeled_ = 0;  // of those that were added here
  std::atomic<std::uint64_t> num_unlabeled_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t max_pixels_ = 0;
  bool keys_name_files_ = false;
};

}  // namespace

void bind_writer(nb::module_& module) {
  module.def(
      "size_of_text", [](const std::string& text) { return size_of_text(text); }, nb::arg("text"));
  module.def(
      "image_field_of",
      [](const nb::bytes& content) {
        const Bytes bytes{static_cast<const std::byte*>(content.data()), content.size()};
        const ImageKind kind = probe_image(bytes).kind;
        return kind == ImageKind::unknown ? std::string() : std::string(image_field_name(kind));
      },
      nb::arg("content"), "The field for an image, by its first bytes; empty if it is none.");
  module.def(
      "load_class_map",
      [](const nb::str& path) {
        const ClassMap map = ClassMap::load(from_str(path));
        nb::dict numbers;
        for (const auto& [name, number] : map.labels()) numbers[to_str(name)] = number;
        nb::list classes;
        for (const std::string& name : map.classes()) classes.append(to_str(name));
        return nb::make_tuple(numbers, classes);
      },
      nb::arg("path"), nb::sig("def load_class_map(path: str) -> tuple[dict[str, int], list[str]]"),
      "The number of each class name, and the names of class 0, 1, ... (--class-map).");
  nb::class_<PythonWriter>(module, "Writer")
      .def(nb::init<const nb::str&, const nb::dict&, const nb::list&,
                    std::optional<std::pair<std::uint64_t, std::uint64_t>>, std::optional<std::uint64_t>>(),
           nb::arg("destination"), nb::arg("options"), nb::arg("classes"), nb::arg("part").none(),
           nb::arg("memory_bytes").none(),
           nb::sig("def __init__(self, destination: str, options: dict[str, list[str]], classes: list[str], "
                   "part: tuple[int, int] | None, memory_bytes: int | None) -> None"))
      .def("add", &PythonWriter::add, nb::arg("key"), nb::arg("values"), nb::arg("label").none(),
           nb::sig("def add(self, key: str, values: dict[str, typing.Any], label: int | None) -> int"))
      .def("add_many", &PythonWriter::add_many, nb::arg("keys"), nb::arg("columns"), nb::arg("labels").none(),
           nb::sig("def add_many(self, keys: list[str], columns: dict[str, list[typing.Any]], "
                   "labels: list[int | None] | None) -> int"))
      .def("count", &PythonWriter::count)
      .def("keys_name_files", &PythonWriter::keys_name_files)
      .def("contains", &PythonWriter::contains, nb::arg("key"))
      .def("checkpoint", &PythonWriter::checkpoint)
      .def("close", &PythonWriter::close, nb::sig("def close(self) -> str"))
      .def("abandon", &PythonWriter::abandon);
}

}  // namespace bale::python
