#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bale/formats/base/fork_mutex.hpp"
#include "bale/formats/base/local_name.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/formats/storage/url_storage.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/python/bindings/process_dataset.hpp"
#include "bale/python/bindings/read_many.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::python {
namespace {

Scratch& scratch_of_thread() {
  static thread_local Scratch scratch;
  return scratch;
}

nb::typed<nb::dict, nb::str, nb::bytes> read(ProcessDataset& self, std::uint64_t i) {
  const Dataset& dataset = self.get();
  SampleView sample;
  {
    const WithoutGil without_gil;
    sample = dataset.read(i, scratch_of_thread());
  }
  nb::dict fields;
  for (const FieldView& field : sample.fields) fields[to_str(field.name)] = to_bytes(field.bytes);
  return fields;
}

/// The field that `find` names, as `read` returns it. A field that is not compressed is read directly into the Python
/// object.
template <typename Find, typename Read>
nb::bytes read_as_bytes(ProcessDataset& self, std::uint64_t i, const Find& find, const Read& read) {
  const Dataset& dataset = self.get();
  std::size_t size = 0;
  {
    const WithoutGil without_gil;
    const auto position = dataset.position(i);
    const IndexInUse index = dataset.use_index(position.first);
    const std::optional<std::uint32_t> field = find(*index, position.second);
    if (field) size = index->extent(position.second, *field).length;
  }
  const auto object = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!object.is_valid()) throw nb::python_error();
  const MutableBytes place{reinterpret_cast<std::byte*>(PyBytes_AsString(object.ptr())), size};
  Scratch scratch(place);
  Bytes bytes;
  {
    const WithoutGil without_gil;
    bytes = read(dataset, scratch);
  }
  return bytes.data() == place.data() ? object : to_bytes(bytes);
}

nb::bytes read_field(ProcessDataset& self, std::uint64_t i, const nb::str& field) {
  const std::string name = from_str(field);
  return read_as_bytes(
      self, i, [&](const ShardIndex& index, std::uint64_t) { return index.field_id(name); },
      [&](const Dataset& dataset, Scratch& scratch) { return dataset.read_field(i, name, scratch); });
}

nb::bytes read_image(ProcessDataset& self, std::uint64_t i) {
  return read_as_bytes(
      self, i, [](const ShardIndex& index, std::uint64_t sample) { return index.image_field(sample); },
      [i](const Dataset& dataset, Scratch& scratch) {
        const auto [shard, sample] = dataset.position(i);
        return dataset.use_shard(shard)->read_image(sample, scratch);
      });
}

void prefetch(ProcessDataset& self, const std::vector<std::uint64_t>& samples) {
  const Dataset& dataset = self.get();
  const WithoutGil without_gil;
  dataset.prefetch(samples);
}

std::optional<std::uint64_t> find(ProcessDataset& self, const nb::str& key) { return self.get().find(from_str(key)); }

nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> labels(ProcessDataset& self) {
  const Dataset& dataset = self.get();
  auto values = std::make_unique<std::vector<std::int64_t>>(dataset.size());
  {
    const WithoutGil without_gil;
    auto value = values->begin();
    for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
      const IndexInUse held = dataset.use_index(shard);  // so that it is read once
      for (std::uint64_t i = 0; i < held->size(); ++i) *value++ = dataset.label_in_shard(shard, i);
    }
  }
  std::vector<std::int64_t>* const kept = values.release();
  const nb::capsule owner(kept, [](void* vector) noexcept { delete static_cast<std::vector<std::int64_t>*>(vector); });
  return {kept->data(), {kept->size()}, owner};
}

nb::typed<nb::list, nb::str> names(const std::vector<std::string>& raw) {
  nb::list list;
  for (const std::string& name : raw) list.append(to_str(name));
  return list;
}

using FieldSet = nb::typed<nb::tuple, bool, nb::typed<nb::list, nb::str>>;

/// Whether a sample has a label, and its fields in their order: each such pair that any sample has, once.
nb::typed<nb::list, FieldSet> field_sets(ProcessDataset& self) {
  const Dataset& dataset = self.get();
  std::set<std::pair<bool, std::vector<std::string>>> sets;
  {
    const WithoutGil without_gil;
    for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
      const IndexInUse index = dataset.use_index(shard);
      std::set<std::pair<bool, std::vector<std::uint32_t>>> rows;
      std::pair<bool, std::vector<std::uint32_t>> row;
      for (std::uint64_t i = 0; i < index->size(); ++i) {
        row.first = index->label(i) != k_no_label;
        row.second.clear();
        for (const FieldExtent extent : index->row(i)) row.second.push_back(extent.field);
        if (!rows.contains(row)) rows.insert(row);
      }
      for (const auto& [has_label, ids] : rows) {
        std::vector<std::string> set;
        for (const std::uint32_t id : ids) set.push_back(index->fields()[id].name);
        sets.emplace(has_label, std::move(set));
      }
    }
  }
  nb::list list;
  for (const auto& [has_label, set] : sets) list.append(nb::make_tuple(has_label, names(set)));
  return nb::typed<nb::list, FieldSet>(list);
}

}  // namespace

Notices list_of(const NoticeLog& log) {
  nb::list list;
  for (const auto& [why, reason] : log.reasons()) {
    list.append(nb::make_tuple(to_str(why), reason.count, to_str(reason.example)));
  }
  for (const Warning& warning : log.warnings()) {
    list.append(nb::make_tuple("", 0, to_str(warning.place + ": " + warning.what)));
  }
  return Notices(list);
}

namespace {

ForkMutex g_cache_warning_mutex;
std::string g_cache_warning;  // that take_cache_warning() has not returned yet

}  // namespace

void bind_cache(nb::module_& module) {
  set_cache_warning_handler([](const std::string& line) {
    const std::lock_guard lock(g_cache_warning_mutex);
    g_cache_warning = line;
  });
  module.def("take_cache_warning", [] {
    const std::lock_guard lock(g_cache_warning_mutex);
    return to_str(std::exchange(g_cache_warning, {}));
  });
  module.def("require_cache_unused", &require_cache_unused);
  module.def("check_cache_settings", &check_cache_settings);
}

void bind_dataset(nb::module_& module) {
  module.def(
      "is_remote_name",
      [](const nb::str& name) {
        const std::string text = from_str(name);
        use_url_storage();
        require_local_name(text, NameUse::dataset);
        return remote_storage_of(text) != nullptr;
      },
      nb::arg("name"));
  module.def(
      "names_in_spec",
      [](const nb::str& spec) {
        const std::string text = from_str(spec);
        nb::list found;
        for (std::string_view rest = text;;) {
          const std::size_t end = end_of_first_name(rest);
          found.append(to_str(rest.substr(0, end)));
          if (end == std::string_view::npos) return nb::typed<nb::list, nb::str>(found);
          rest.remove_prefix(end + 2);
        }
      },
      nb::arg("spec"));
  nb::class_<ProcessDataset>(module, "Dataset")
      .def(
          "__init__",
          [](ProcessDataset* self, const nb::str& spec, bool verify_checksums) {
            new (self) ProcessDataset(from_str(spec), verify_checksums);
          },
          nb::arg("spec"), nb::arg("verify_checksums"))
      .def("__len__", [](ProcessDataset& self) { return self.get().size(); })
      .def("read", &read, nb::arg("i"))
      .def("read_field", &read_field, nb::arg("i"), nb::arg("field"))
      .def("read_image", &read_image, nb::arg("i"))
      .def("read_many", &read_many, nb::arg("samples"), nb::arg("field").none(), nb::arg("threads"))
      .def("read_many_into", &read_many_into, nb::arg("samples"), nb::arg("field").none(), nb::arg("threads"),
           nb::arg("out"))
      .def(
          "key", [](ProcessDataset& self, std::uint64_t i) { return to_str(self.get().key(i)); }, nb::arg("i"))
      .def(
          "label", [](ProcessDataset& self, std::uint64_t i) { return self.get().label(i); }, nb::arg("i"))
      .def("prefetch", &prefetch, nb::arg("samples"))
      .def("find", &find, nb::arg("key"))
      .def("labels", &labels)
      .def("notices", [](ProcessDataset& self) { return list_of(self.get().notices()); })
      .def("identity", [](ProcessDataset& self) { return self.get().identity(); })
      .def("identity_of_samples", [](ProcessDataset& self) { return self.get().identity_of_samples(); })
      .def("classes", [](ProcessDataset& self) { return names(self.get().classes()); })
      .def("fields", [](ProcessDataset& self) { return names(self.get().fields()); })
      .def("field_sets", &field_sets);

  module.def(
      "is_image_field", [](const nb::str& field) { return is_image_field(from_str(field)); }, nb::arg("field"));
}

}  // namespace bale::python
