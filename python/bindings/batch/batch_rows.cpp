#include "bale/python/bindings/batch/batch_rows.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/ndarray.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/python/bindings/batch/process_batch.hpp"
#include "bale/reader/order/epoch_order.hpp"

namespace bale::python {
namespace {

/// What owns the memory of the fields: the batch, whose slot has it.
nb::object owner_of(nb::handle self, const ProcessBatch&) { return nb::borrow(self); }
/// The copies alone: an array must not keep memory of the device.
nb::object owner_of(nb::handle, const ProcessDeviceBatch& batch) {
  using Memory = std::shared_ptr<const void>;
  auto memory = std::make_unique<Memory>(batch.get().field_memory());
  return nb::capsule(memory.release(), [](void* owned) noexcept { delete static_cast<Memory*>(owned); });
}

template <typename AnyBatch>
BatchField field_of(nb::handle self, std::size_t field) {
  const auto& batch = nb::cast<const AnyBatch&>(self).get();
  if (field >= batch.num_fields()) throw nb::index_error("no such field in this batch");
  return batch.field(field);
}

/// The type of a checked Field::type: one character of byte order, one of the kind, and the bytes.
nb::dlpack::dtype dtype_of(std::string_view type) {
  using Code = nb::dlpack::dtype_code;
  const auto bits = static_cast<std::uint8_t>(array_type_bytes(type) * 8);
  const auto code = [&] {
    switch (type[1]) {
      case 'b':
        return Code::Bool;
      case 'i':
        return Code::Int;
      case 'u':
        return Code::UInt;
      case 'c':
        return Code::Complex;
      default:
        return Code::Float;
    }
  }();
  return {static_cast<std::uint8_t>(code), bits, 1};
}

const char* name_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::text:
      return "text";
    case FieldKind::json:
      return "json";
    case FieldKind::array:
      return "array";
    case FieldKind::mask:
      return "mask";
    case FieldKind::boxes:
      return "boxes";
    case FieldKind::keypoints:
      return "keypoints";
    default:
      return "bytes";
  }
}

template <typename AnyBatch>
nb::list field_names(nb::handle self) {
  nb::list names;
  const auto& batch = nb::cast<const AnyBatch&>(self).get();
  for (std::size_t i = 0; i < batch.num_fields(); ++i) {
    const Field& field = *batch.field(i).field;
    names.append(nb::make_tuple(to_str(field.name), name_of(field.kind)));
  }
  return names;
}

/// A view, which keeps the memory.
template <typename AnyBatch>
nb::ndarray<nb::numpy> field_data(nb::handle self, std::size_t number) {
  const BatchField field = field_of<AnyBatch>(self, number);
  std::vector<std::size_t> shape{field.data.size()};
  nb::dlpack::dtype dtype = nb::dtype<std::uint8_t>();
  if (is_one_array(field.field->kind)) {
    shape = {field.present.size()};
    shape.insert(shape.end(), field.field->shape->begin(), field.field->shape->end());
    dtype = dtype_of(field.field->type);
  }
  const nb::object owner = owner_of(self, nb::cast<const AnyBatch&>(self));
  return {const_cast<std::byte*>(field.data.data()), shape.size(), shape.data(), owner, nullptr, dtype};
}

template <typename AnyBatch>
nb::ndarray<nb::numpy, std::int64_t> field_offsets(nb::handle self, std::size_t number) {
  return copy_of(field_of<AnyBatch>(self, number).offsets);
}

template <typename AnyBatch>
nb::ndarray<nb::numpy, bool> field_present(nb::handle self, std::size_t number) {
  const auto values = field_of<AnyBatch>(self, number).present;
  return copy_of<bool>({reinterpret_cast<const bool*>(values.data()), values.size()});
}

template <typename AnyBatch>
nb::list field_texts(nb::handle self, std::size_t number) {
  const BatchField field = field_of<AnyBatch>(self, number);
  nb::list texts;
  for (std::size_t i = 0; i < field.present.size(); ++i) {
    const std::string_view text = as_text(field.row(i));
    texts.append(nb::str(text.data(), text.size()));  // a worker has checked that it is UTF-8
  }
  return texts;
}

template <typename AnyBatch>
nb::list field_rows(nb::handle self, std::size_t number) {
  const BatchField field = field_of<AnyBatch>(self, number);
  nb::list rows;
  for (std::size_t i = 0; i < field.present.size(); ++i) rows.append(to_bytes(field.row(i)));
  return rows;
}

template <typename AnyBatch>
nb::object fields(nb::handle self) {
  const nb::object& positions = nb::cast<const AnyBatch&>(self).positions();
  return nb::module_::import_("bale._loader.batch_fields").attr("BatchFields")(self, positions);
}

/// Positions in the dataset are far below 2^63.
template <typename AnyBatch>
nb::ndarray<nb::numpy, std::int64_t> indices(nb::handle self) {
  const std::span<const std::uint64_t> samples = nb::cast<const AnyBatch&>(self).get().samples();
  return copy_of<std::int64_t>({reinterpret_cast<const std::int64_t*>(samples.data()), samples.size()});
}

template <typename AnyBatch>
nb::object partners(nb::handle self) {
  const std::span<const std::uint32_t> rows = nb::cast<const AnyBatch&>(self).get().partners();
  const std::vector<std::int64_t> numbers(rows.begin(), rows.end());
  return copy_or_none(std::span(numbers));
}

/// What bale._loader.lazy_keys.LazyKeys says of the samples.
template <typename AnyBatch>
nb::object looked_up(nb::handle self, const char* method) {
  return nb::cast<const AnyBatch&>(self).positions().attr(method)(self.attr("indices"));
}

template <typename AnyBatch>
void bind_samples(nb::class_<AnyBatch>& batch) {
  batch
      .def_prop_ro(
          "indices", &indices<AnyBatch>, nb::rv_policy::move,
          "int64 positions in the dataset, one per row; of the substitute for a bad sample; 0 for an empty row.")
      .def_prop_ro(
          "keys", [](nb::handle self) { return looked_up<AnyBatch>(self, "keys_of"); },
          nb::for_getter(nb::sig("def keys(self) -> list[str]")),
          "Keys of the samples at `indices`, looked up in the index at each access.")
      .def_prop_ro(
          "image_sizes", [](nb::handle self) { return looked_up<AnyBatch>(self, "sizes_of"); },
          nb::for_getter(nb::sig("def image_sizes(self) -> numpy.typing.NDArray[numpy.int64]")),
          "int64, N x 2: width and height of the stored images of the samples at `indices`, as "
          "bale.Dataset.image_sizes() has them.")
      .def_prop_ro(
          "sources", [](nb::handle self) { return looked_up<AnyBatch>(self, "sources_of"); },
          nb::for_getter(nb::sig("def sources(self) -> numpy.typing.NDArray[numpy.int64] | None")),
          "int64 numbers of the sources of a mixture, one per row, in the order of the dict that the Loader was given; "
          "of "
          "an empty row 0. None unless the Loader mixes.")
      .def_prop_ro(
          "partners", &partners<AnyBatch>,
          nb::for_getter(nb::sig("def partners(self) -> numpy.typing.NDArray[numpy.int64] | None")),
          "int64 rows of the images that were mixed in, one per row: `fields` of the partner are those of that row. A "
          "row without a partner has its own number. None without mixing.")
      .def_prop_ro(
          "epoch", [](nb::handle self) { return counted_epoch(nb::cast<const AnyBatch&>(self).get().epoch()); },
          "Number of its epoch, from 0.")
      .def_prop_ro(
          "index", [](nb::handle self) { return nb::cast<const AnyBatch&>(self).get().index(); },
          "Number in its epoch, from 0.")
      .def(
          "__reduce__",
          [](nb::handle) {
            throw nb::type_error(
                "a Batch is a view of its Loader's memory and cannot be pickled; pass on its arrays, such as "
                "batch.images and batch.labels");
          },
          nb::sig("def __reduce__(self) -> typing.NoReturn"))
      .def("__len__", [](nb::handle self) { return nb::cast<const AnyBatch&>(self).get().size(); });
}

/// The docstring of a method that takes the number of a field.
std::string field_doc(const std::string& what, const std::string& returns) {
  return what + "\n\nParameters\n----------\nfield : int\n    Number of the field in field_names().\n\n" +
         "Returns\n-------\n" + returns + "\n\nRaises\n------\nIndexError\n    If there is no such field.";
}

template <typename AnyBatch>
void bind_fields(nb::class_<AnyBatch>& batch) {
  batch
      .def_prop_ro(
          "fields", &fields<AnyBatch>, nb::for_getter(nb::sig("def fields(self) -> typing.Any")),
          "The fields that the Loader was given as `fields`, a mapping from their names: for text a list of str, "
          "for JSON a sequence that parses a row when it is asked for, for arrays an array with one row per "
          "image, else a Ragged of bytes. Arrays and a Ragged are views of the slot and keep it, as images do. Those "
          "of a batch on a device are in ordinary memory and do not keep the batch.")
      .def("field_names", &field_names<AnyBatch>, nb::sig("def field_names(self) -> list[tuple[str, str]]"),
           "Name and kind of each field.\n\nReturns\n-------\nlist of (str, str)\n    The number in this list is that "
           "of "
           "the other methods.")
      .def("field_data", &field_data<AnyBatch>, nb::arg("field"),
           nb::sig("def field_data(self, field: int) -> numpy.typing.NDArray[typing.Any]"),
           field_doc(
               "The rows of a field without a copy.",
               "array\n"
               "    N x shape for arrays and masks; else the bytes of all rows, end to end. A view of the slot; of "
               "a batch on a device a\n    view of ordinary memory, which does not keep the batch.")
               .c_str())
      .def("field_offsets", &field_offsets<AnyBatch>, nb::rv_policy::move, nb::arg("field"),
           field_doc("Where the rows of a field begin and end.",
                     "array of int64, shape (N + 1,)\n"
                     "    Row i is field_data()[offsets[i]:offsets[i + 1]]; empty for arrays.")
               .c_str())
      .def("field_present", &field_present<AnyBatch>, nb::rv_policy::move, nb::arg("field"),
           field_doc("Says which rows have a field.",
                     "array of bool, shape (N,)\n    False if the sample of the row does not have the field.")
               .c_str())
      .def("field_texts", &field_texts<AnyBatch>, nb::arg("field"),
           nb::sig("def field_texts(self, field: int) -> list[str]"),
           field_doc("The rows of a field of text.", "list of str\n    A copy.").c_str())
      .def("field_rows", &field_rows<AnyBatch>, nb::arg("field"),
           nb::sig("def field_rows(self, field: int) -> list[bytes]"),
           field_doc("The bytes of the rows of a field.", "list of bytes\n    A copy.").c_str());
}

}  // namespace

template <typename AnyBatch>
void bind_rows(nb::class_<AnyBatch>& batch) {
  bind_samples(batch);
  bind_fields(batch);
}

template void bind_rows(nb::class_<ProcessBatch>& batch);
template void bind_rows(nb::class_<ProcessDeviceBatch>& batch);

}  // namespace bale::python
