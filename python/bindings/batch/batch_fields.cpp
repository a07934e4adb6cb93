#include "bale/python/bindings/batch/batch_fields.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/ndarray.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/python/bindings/batch/process_batch.hpp"
#include "bale/python/bindings/batch/process_device_batch.hpp"
#include "bale/python/bindings/batch/row_copies.hpp"

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
  return copy_of<std::int64_t, nb::ndarray<nb::numpy, std::int64_t>>(field_of<AnyBatch>(self, number).offsets);
}

template <typename AnyBatch>
nb::ndarray<nb::numpy, bool> field_present(nb::handle self, std::size_t number) {
  const auto values = field_of<AnyBatch>(self, number).present;
  return copy_of<bool, nb::ndarray<nb::numpy, bool>>({reinterpret_cast<const bool*>(values.data()), values.size()});
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

}  // namespace

template <typename AnyBatch>
void bind_batch_fields(nb::class_<AnyBatch>& batch) {
  batch
      .def_prop_ro(
          "fields", &fields<AnyBatch>, nb::for_getter(nb::sig("def fields(self) -> typing.Any")),
          "The fields that the Loader was given as `fields`, a mapping from their names: for text a list of str, "
          "for JSON a sequence that parses a row when it is asked for, for arrays an array with one row per "
          "image, else a Ragged of bytes. Arrays and a Ragged are views of the slot and keep it, as images do. Those "
          "of "
          "a batch on a device are in ordinary memory and do not keep the batch.")
      .def("field_names", &field_names<AnyBatch>, nb::sig("def field_names(self) -> list[tuple[str, str]]"),
           R"(Name and kind of each field.

Returns
-------
list of (str, str)
    The number in this list is that of the other methods.)")
      .def("field_data", &field_data<AnyBatch>, nb::arg("field"),
           nb::sig("def field_data(self, field: int) -> numpy.typing.NDArray[typing.Any]"),
           R"(The rows of a field without a copy.

Parameters
----------
field : int
    Number of the field in field_names().

Returns
-------
array
    N x shape for arrays and masks; else the bytes of all rows, end to end. A view of the slot; of a batch on a device a
    view of ordinary memory, which does not keep the batch.

Raises
------
IndexError
    If there is no such field.)")
      .def("field_offsets", &field_offsets<AnyBatch>, nb::rv_policy::move, nb::arg("field"),
           R"(Where the rows of a field begin and end.

Parameters
----------
field : int
    Number of the field in field_names().

Returns
-------
array of int64, shape (N + 1,)
    Row i is field_data()[offsets[i]:offsets[i + 1]]; empty for arrays.

Raises
------
IndexError
    If there is no such field.)")
      .def("field_present", &field_present<AnyBatch>, nb::rv_policy::move, nb::arg("field"),
           R"(Says which rows have a field.

Parameters
----------
field : int
    Number of the field in field_names().

Returns
-------
array of bool, shape (N,)
    False if the sample of the row does not have the field.

Raises
------
IndexError
    If there is no such field.)")
      .def("field_texts", &field_texts<AnyBatch>, nb::arg("field"),
           nb::sig("def field_texts(self, field: int) -> list[str]"),
           R"(The rows of a field of text.

Parameters
----------
field : int
    Number of the field in field_names().

Returns
-------
list of str
    A copy.

Raises
------
IndexError
    If there is no such field.)")
      .def("field_rows", &field_rows<AnyBatch>, nb::arg("field"),
           nb::sig("def field_rows(self, field: int) -> list[bytes]"),
           R"(The bytes of the rows of a field.

Parameters
----------
field : int
    Number of the field in field_names().

Returns
-------
list of bytes
    A copy.

Raises
------
IndexError
    If there is no such field.)");
}

template void bind_batch_fields(nb::class_<ProcessBatch>& batch);
template void bind_batch_fields(nb::class_<ProcessDeviceBatch>& batch);

}  // namespace bale::python
