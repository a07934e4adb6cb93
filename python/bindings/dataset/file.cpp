// bale._bale.File: a file on a disk or a server, read at any offset. python/bale/_dataset/remote_file.py makes it a
// file object.
#include "bale/formats/base/file.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/spec/shard_spec.hpp"

namespace bale::python {
namespace {

/// A File that opens itself again in another process.
class ProcessFile {
 public:
  explicit ProcessFile(std::string name) : name_(std::move(name)) { open(); }
  ~ProcessFile() {
    if (pid_ != ::getpid()) leak();
  }
  ProcessFile(const ProcessFile&) = delete;
  ProcessFile& operator=(const ProcessFile&) = delete;

  std::uint64_t size() {
    get();
    return size_;
  }

  /// Fewer than `length` bytes only at the end of the file.
  nb::bytes read(std::uint64_t offset, std::uint64_t length) {
    const std::shared_ptr<const File> file = get();
    const std::uint64_t count = offset < size_ ? std::min(length, size_ - offset) : 0;
    auto object = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count)));
    if (!object.is_valid()) throw nb::python_error();
    const MutableBytes place{reinterpret_cast<std::byte*>(PyBytes_AsString(object.ptr())),
                             static_cast<std::size_t>(count)};
    {
      const WithoutGil without_gil;
      file->read_exact(offset, place);
    }
    return object;
  }

 private:
  std::shared_ptr<const File> get() {
    if (pid_ != ::getpid()) {
      leak();
      open();
    }
    return file_;
  }
  void open() {
    const WithoutGil without_gil;
    require_local_name(name_, UrlUse::dataset);
    file_ = std::make_shared<const File>(File::open_read(name_));
    size_ = file_->size();
    pid_ = ::getpid();
  }
  /// The File belongs to the parent. Its locks may have been held when the process forked.
  void leak() { [[maybe_unused]] auto* const parents = new std::shared_ptr<const File>(std::move(file_)); }

  std::string name_;
  std::shared_ptr<const File> file_;
  std::uint64_t size_ = 0;
  pid_t pid_ = -1;
};

nb::typed<nb::list, nb::str> expand_names(const nb::str& spec) {
  const std::string text = from_str(spec);
  std::vector<std::string> names;
  {
    const WithoutGil without_gil;
    names = expand_shard_spec(text);
  }
  nb::list list;
  for (const std::string& name : names) list.append(to_str(name));
  return list;
}

nb::str several_splits_of(const nb::typed<nb::list, nb::str>& files) {
  std::vector<std::string> names;
  for (const nb::handle file : files) names.push_back(from_str(nb::cast<nb::str>(file)));
  return to_str(several_splits(names, "files"));
}

}  // namespace

void bind_file(nb::module_& module) {
  nb::class_<ProcessFile>(module, "File")
      .def(
          "__init__", [](ProcessFile* self, const nb::str& name) { new (self) ProcessFile(from_str(name)); },
          nb::arg("name"))
      .def("size", &ProcessFile::size)
      .def("read", &ProcessFile::read, nb::arg("offset"), nb::arg("length"));
  module.def("expand_names", &expand_names, nb::arg("spec"),
             "The files that a name with braces, globs and `::` stands for, local or remote.");
  module.def(
      "is_split_name", [](const nb::str& name) { return is_split_name(from_str(name)); }, nb::arg("name"),
      "Whether people call a split so.");
  module.def("several_splits", &several_splits_of, nb::arg("files"),
             "A line that the files are of several splits by their names; empty if they are not.");
}

}  // namespace bale::python
