#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/shard/sample/field_value.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/dataset/process_dataset.hpp"
#include "bale/python/bindings/dataset/read_many.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/python/bindings/value.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/reader/spec/shard_spec.hpp"
#include "bale/reader/where.hpp"

namespace bale::python {
namespace {

Scratch& scratch_of_thread() {
  static thread_local Scratch scratch;
  return scratch;
}

/// A bytes object that is not initialized, to be read into by whoever made it.
class NewBytes {
 public:
  explicit NewBytes(std::size_t size)
      : object_(nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)))) {
    if (!object_.is_valid()) throw nb::python_error();
    place_ = {reinterpret_cast<std::byte*>(PyBytes_AsString(object_.ptr())), size};
  }
  MutableBytes place() const { return place_; }
  /// The object if `read` is its place, else an object with a copy of `read`.
  nb::bytes or_copy_of(Bytes read) const {
    return read.data() == place_.data() && read.size() == place_.size() ? object_ : to_bytes(read);
  }

 private:
  nb::bytes object_;
  MutableBytes place_;
};

using Sample = nb::typed<nb::dict, nb::str, nb::bytes>;

Sample read_by_scratch(const Dataset& dataset, std::uint64_t i) {
  nb::dict fields;
  SampleView sample;
  {
    const WithoutGil without_gil;
    sample = dataset.read(i, scratch_of_thread());
  }
  for (const FieldView& field : sample.fields) fields[to_str(field.name)] = to_bytes(field.bytes);
  return fields;
}

/// Whether each field of the row is stored as it is delivered, and found by its name.
bool is_read_by_name(const ShardIndex& index, const ExtentRow& row) {
  return std::all_of(row.begin(), row.end(), [&](const FieldExtent& field) {
    const FieldInfo& info = index.fields()[field.field];
    return info.codec == Codec::none && index.field_id(info.name) == field.field;
  });
}

/// Fields that are not compressed are read directly into the Python objects.
Sample read(ProcessDataset& self, nb::handle i) {
  const Dataset& dataset = self.get();
  const std::uint64_t sample = sample_at(i, dataset.size());
  const auto [shard, in_shard] = dataset.position(sample);
  const IndexInUse index = self.use_index(shard);
  const ExtentRow row = index->row(in_shard);
  if (!is_read_by_name(*index, row)) return read_by_scratch(dataset, sample);
  nb::dict fields;
  std::vector<NewBytes> values;
  for (const FieldExtent& field : row) values.emplace_back(field.extent.length);
  std::vector<Bytes> read(values.size());
  const auto name_of = [&](const FieldExtent& field) -> const std::string& {
    return index->fields()[field.field].name;
  };
  {
    const WithoutGil without_gil;
    std::size_t n = 0;
    for (const FieldExtent& field : row) {
      Scratch scratch(values[n].place());
      read[n++] = dataset.read_field(sample, name_of(field), scratch);
    }
  }
  std::size_t n = 0;
  for (const FieldExtent& field : row) {
    fields[to_str(name_of(field))] = values[n].or_copy_of(read[n]);
    ++n;
  }
  return fields;
}

/// The field that `find` names, as `read` returns it. A field that is not compressed is read directly into the Python
/// object.
template <typename Find, typename Read>
nb::bytes read_as_bytes(ProcessDataset& self, nb::handle i, const Find& find, const Read& read) {
  const Dataset& dataset = self.get();
  const std::uint64_t sample = sample_at(i, dataset.size());
  const auto [shard, in_shard] = dataset.position(sample);
  std::size_t size = 0;
  {
    const IndexInUse index = self.use_index(shard);
    const std::optional<std::uint32_t> field = find(*index, in_shard);
    if (field) size = index->extent(in_shard, *field).length;
  }
  const NewBytes value(size);
  Scratch scratch(value.place());
  Bytes bytes;
  {
    const WithoutGil without_gil;
    bytes = read(dataset, sample, scratch);
  }
  return value.or_copy_of(bytes);
}

nb::bytes read_field(ProcessDataset& self, nb::handle i, nb::handle field) {
  const std::string name = text_of(field, "field");
  return read_as_bytes(
      self, i, [&](const ShardIndex& index, std::uint64_t) { return index.field_id(name); },
      [&](const Dataset& dataset, std::uint64_t sample, Scratch& scratch) {
        return dataset.read_field(sample, name, scratch);
      });
}

nb::bytes read_image(ProcessDataset& self, nb::handle i) {
  return read_as_bytes(
      self, i, [](const ShardIndex& index, std::uint64_t sample) { return index.image_field(sample); },
      [](const Dataset& dataset, std::uint64_t sample, Scratch& scratch) {
        const auto [shard, in_shard] = dataset.position(sample);
        return dataset.use_shard(shard)->read_image(in_shard, scratch);
      });
}

void prefetch(ProcessDataset& self, nb::handle positions) {
  const std::vector<std::uint64_t> samples = samples_at(positions, self.get().size());
  const Dataset& dataset = self.get();
  const WithoutGil without_gil;
  dataset.prefetch(samples);
}

nb::str key(ProcessDataset& self, nb::handle i) {
  const Dataset& dataset = self.get();
  const std::uint64_t sample = sample_at(i, dataset.size());
  const auto held = self.use_remote_index(sample);
  return to_str(dataset.key(sample));
}

std::int64_t label(ProcessDataset& self, nb::handle i) {
  const Dataset& dataset = self.get();
  const std::uint64_t sample = sample_at(i, dataset.size());
  const auto held = self.use_remote_index(sample);
  return dataset.label(sample);
}

std::optional<std::uint64_t> find(ProcessDataset& self, nb::handle key) {
  const std::string name = text_of(key, "key");
  const Dataset& dataset = self.get();
  if (!self.is_remote()) return dataset.find(name);
  const WithoutGil without_gil;
  return dataset.find(name);
}

nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> dataset_labels(ProcessDataset& self) {
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

/// The positions of the samples for which a condition is true.
nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> select(ProcessDataset& self, nb::handle condition) {
  const Dataset& dataset = self.get();
  const Where where = Where::parse(text_of(condition, "where"));
  auto positions = std::make_unique<std::vector<std::int64_t>>();
  {
    const WithoutGil without_gil;
    WhereCounts counts;
    const std::vector<std::uint64_t> selected = select_samples(dataset, where, counts);
    positions->assign(selected.begin(), selected.end());
  }
  std::vector<std::int64_t>* const kept = positions.release();
  const nb::capsule owner(kept, [](void* vector) noexcept { delete static_cast<std::vector<std::int64_t>*>(vector); });
  return {kept->data(), {kept->size()}, owner};
}

/// Width and height of the stored images at positions, or of all.
nb::ndarray<nb::numpy, std::int64_t> dataset_image_sizes(ProcessDataset& self, nb::handle positions) {
  const Dataset& dataset = self.get();
  std::vector<std::uint64_t> samples;
  if (positions.is_none()) {
    samples.resize(dataset.size());
    std::iota(samples.begin(), samples.end(), std::uint64_t{0});
  } else {
    samples = samples_at(positions, dataset.size());
  }
  auto sizes = std::make_unique<std::int64_t[]>(samples.size() * 2);
  {
    const WithoutGil without_gil;
    std::int64_t* out = sizes.get();
    std::size_t held_shard = dataset.num_shards();
    std::optional<IndexInUse> held;  // so that the index of neighbors is read once
    for (const std::uint64_t sample : samples) {
      const auto [shard, in_shard] = dataset.position(sample);
      if (!held || shard != held_shard) held.emplace(dataset.use_index(held_shard = shard));
      *out++ = (*held)->width(in_shard);
      *out++ = (*held)->height(in_shard);
    }
  }
  std::int64_t* const data = sizes.get();
  const nb::capsule owner(sizes.release(), [](void* memory) noexcept { delete[] static_cast<std::int64_t*>(memory); });
  return {data, {samples.size(), 2}, owner};
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
    list.append(
        nb::make_tuple("", 0, to_str(warning.place.empty() ? warning.what : warning.place + ": " + warning.what)));
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

namespace {

void bind_names(nb::module_& module) {
  module.def(
      "is_remote_name",
      [](const nb::str& name) {
        const std::string text = from_str(name);
        require_local_name(text, UrlUse::dataset);
        return remote_storage_of(text) != nullptr;
      },
      nb::arg("name"));
  module.def(
      "can_list",
      [](const nb::str& name) {
        const Scheme* const scheme = remote_scheme_of(from_str(name));
        return scheme != nullptr && scheme->can_list;
      },
      nb::arg("name"));
  module.def(
      "without_secrets", [](const nb::str& text) { return to_str(without_secrets(from_str(text))); }, nb::arg("text"));
  module.def(
      "absolute_spec", [](const nb::str& spec) { return to_str(absolute_spec(from_str(spec))); }, nb::arg("spec"));
  module.def(
      "refuse_other_version",
      [](const nb::str& spec, std::uint64_t saw, std::uint64_t now, std::optional<std::uint64_t> epoch) {
        throw Error(other_version_error(from_str(spec), saw, now, epoch));
      },
      nb::arg("spec"), nb::arg("saw"), nb::arg("now"), nb::arg("epoch").none());
  module.def(
      "with_version",
      [](const nb::str& spec, const std::string& version) { return to_str(with_version(from_str(spec), version)); },
      nb::arg("spec"), nb::arg("version"));
  module.def(
      "encode_key", [](const nb::str& stem) { return to_str(encode_key(from_str(stem))); }, nb::arg("stem"));
  module.def(
      "decode_key", [](const nb::str& key) { return to_str(decode_key(from_str(key))); }, nb::arg("key"));
  module.def(
      "is_image_field", [](const nb::str& field) { return is_image_field(from_str(field)); }, nb::arg("field"));
  module.def(
      "field_label",
      [](const nb::str& field, const nb::bytes& stored) -> std::optional<std::int64_t> {
        const std::int64_t label =
            field_label(from_str(field), {static_cast<const std::byte*>(stored.data()), stored.size()});
        return label == k_no_label ? std::nullopt : std::optional(label);
      },
      nb::arg("field"), nb::arg("stored"));
}

}  // namespace

void bind_dataset(nb::module_& module) {
  bind_names(module);
  nb::class_<ProcessDataset>(module, "Dataset")
      .def(
          "__init__",
          [](ProcessDataset* self, const nb::str& spec, bool verify_checksums, std::optional<HeldVersion> wanted,
             bool merges_classes) {
            new (self) ProcessDataset(from_str(spec), verify_checksums, std::move(wanted), merges_classes);
          },
          nb::arg("spec"), nb::arg("verify_checksums"), nb::arg("wanted").none() = nb::none(),
          nb::arg("merges_classes") = true)
      .def("__len__", [](ProcessDataset& self) { return self.get().size(); })
      .def("read", &read, nb::arg("i").none(), nb::sig("def read(self, i: typing.SupportsIndex) -> dict[str, bytes]"))
      .def("read_field", &read_field, nb::arg("i").none(), nb::arg("field").none(),
           nb::sig("def read_field(self, i: typing.SupportsIndex, field: str) -> bytes"))
      .def("read_image", &read_image, nb::arg("i").none(),
           nb::sig("def read_image(self, i: typing.SupportsIndex) -> bytes"))
      .def("read_many", &read_many, nb::arg("positions").none(), nb::arg("field").none(), nb::arg("threads"),
           nb::sig("def read_many(self, positions: collections.abc.Iterable[typing.SupportsIndex], field: str | None, "
                   "threads: int) -> list[bytes]"))
      .def("read_many_into", &read_many_into, nb::arg("positions").none(), nb::arg("field").none(), nb::arg("threads"),
           nb::arg("out"),
           nb::sig("def read_many_into(self, positions: collections.abc.Iterable[typing.SupportsIndex], "
                   "field: str | None, threads: int, out: typing.Any) -> list[int]"))
      .def("key", &key, nb::arg("i").none(), nb::sig("def key(self, i: typing.SupportsIndex) -> str"))
      .def("label", &label, nb::arg("i").none(), nb::sig("def label(self, i: typing.SupportsIndex) -> int"))
      .def("prefetch", &prefetch, nb::arg("positions").none(),
           nb::sig("def prefetch(self, positions: collections.abc.Iterable[typing.SupportsIndex]) -> None"))
      .def("find", &find, nb::arg("key").none(), nb::sig("def find(self, key: str) -> int | None"))
      .def("labels", &dataset_labels)
      .def("select", &select, nb::arg("where").none(),
           nb::sig("def select(self, where: str) -> numpy.typing.NDArray[numpy.int64]"))
      .def(
          "positions",
          [](ProcessDataset& self, nb::handle given) {
            const std::vector<std::uint64_t> samples = samples_at(given, self.get().size());
            nb::list list;
            for (const std::uint64_t sample : samples) list.append(sample);
            return nb::typed<nb::list, nb::int_>(list);
          },
          nb::arg("given").none())
      .def("image_sizes", &dataset_image_sizes, nb::arg("positions").none(),
           nb::sig("def image_sizes(self, positions: collections.abc.Iterable[typing.SupportsIndex] | None) -> "
                   "numpy.typing.NDArray[numpy.int64]"))
      .def("notices", [](ProcessDataset& self) { return list_of(self.get().notices()); })
      .def("version", &ProcessDataset::version)
      .def(
          "require_version", [](ProcessDataset& self, const HeldVersion& wanted) { self.require_version(wanted); },
          nb::arg("wanted"))
      .def("identity", [](ProcessDataset& self) { return self.get().identity(); })
      .def("version_id", [](ProcessDataset& self) { return self.get().version(); })
      .def("identity_of_samples", [](ProcessDataset& self) { return self.get().identity_of_samples(); })
      .def("classes", [](ProcessDataset& self) { return names(self.get().classes()); })
      .def("fields", [](ProcessDataset& self) { return names(self.get().fields()); })
      .def("are_keys_encoded", [](ProcessDataset& self) { return SampleKeys(self.get(), false).are_encoded(); })
      .def("field_sets", &field_sets);
}

}  // namespace bale::python
