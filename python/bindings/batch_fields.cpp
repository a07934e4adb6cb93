#include "bale/python/bindings/batch_fields.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/ndarray.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/python/bindings/row_copies.hpp"

namespace bale::python {
namespace {

const Batch& batch_of(nb::handle self) { return nb::cast<const ProcessBatch&>(self).get(); }

BatchField field_of(nb::handle self, std::size_t field) {
  const Batch& batch = batch_of(self);
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

nb::list field_names(nb::handle self) {
  nb::list names;
  const Batch& batch = batch_of(self);
  for (std::size_t i = 0; i < batch.num_fields(); ++i) {
    const Field& field = *batch.field(i).field;
    names.append(nb::make_tuple(to_str(field.name), name_of(field.kind)));
  }
  return names;
}

/// A view of the slot, which keeps the batch.
nb::ndarray<nb::numpy> field_data(nb::handle self, std::size_t number) {
  const BatchField field = field_of(self, number);
  std::vector<std::size_t> shape{field.data.size()};
  nb::dlpack::dtype dtype = nb::dtype<std::uint8_t>();
  if (is_one_array(field.field->kind)) {
    shape = {field.present.size()};
    shape.insert(shape.end(), field.field->shape->begin(), field.field->shape->end());
    dtype = dtype_of(field.field->type);
  }
  return {const_cast<std::byte*>(field.data.data()), shape.size(), shape.data(), self, nullptr, dtype};
}

nb::ndarray<nb::numpy, std::int64_t> field_offsets(nb::handle self, std::size_t number) {
  return copy_of<std::int64_t, nb::ndarray<nb::numpy, std::int64_t>>(field_of(self, number).offsets);
}

nb::ndarray<nb::numpy, bool> field_present(nb::handle self, std::size_t number) {
  const auto values = field_of(self, number).present;
  return copy_of<bool, nb::ndarray<nb::numpy, bool>>({reinterpret_cast<const bool*>(values.data()), values.size()});
}

nb::list field_texts(nb::handle self, std::size_t number) {
  const BatchField field = field_of(self, number);
  nb::list texts;
  for (std::size_t i = 0; i < field.present.size(); ++i) {
    const std::string_view text = as_text(field.row(i));
    texts.append(nb::str(text.data(), text.size()));  // a worker has checked that it is UTF-8
  }
  return texts;
}

nb::list field_rows(nb::handle self, std::size_t number) {
  const BatchField field = field_of(self, number);
  nb::list rows;
  for (std::size_t i = 0; i < field.present.size(); ++i) rows.append(to_bytes(field.row(i)));
  return rows;
}

nb::object fields(nb::handle self) {
  const nb::object& positions = nb::cast<const ProcessBatch&>(self).positions();
  return nb::module_::import_("bale.fields").attr("BatchFields")(self, positions);
}

}  // namespace

void bind_batch_fields(nb::class_<ProcessBatch>& batch) {
  batch
      .def_prop_ro(
          "fields", &fields, nb::for_getter(nb::sig("def fields(self) -> typing.Any")),
          "The fields that the Loader was given as `fields`, a mapping from their names: for text a list of str, "
          "for JSON a sequence that parses a row when it is asked for, for arrays an array with one row per "
          "image, else a Ragged of bytes. Arrays and a Ragged are views of the slot and keep it, as images do.")
      .def("field_names", &field_names, nb::sig("def field_names(self) -> list[tuple[str, str]]"),
           "Name and kind of each field; the number in this list is that of the other methods.")
      .def("field_data", &field_data, nb::arg("field"),
           nb::sig("def field_data(self, field: int) -> numpy.typing.NDArray[typing.Any]"),
           "Without a copy: an array, N x shape; else the bytes of all rows, end to end. Raises IndexError.")
      .def("field_offsets", &field_offsets, nb::rv_policy::move, nb::arg("field"),
           "int64: row i is field_data()[offsets[i]:offsets[i + 1]]; empty for arrays. Raises IndexError.")
      .def("field_present", &field_present, nb::rv_policy::move, nb::arg("field"),
           "One bool per row: False if the sample does not have the field. Raises IndexError.")
      .def("field_texts", &field_texts, nb::arg("field"), nb::sig("def field_texts(self, field: int) -> list[str]"),
           "A copy of the rows of a field of text. Raises IndexError.")
      .def("field_rows", &field_rows, nb::arg("field"), nb::sig("def field_rows(self, field: int) -> list[bytes]"),
           "A copy of the rows of a field. Raises IndexError.");
}

}  // namespace bale::python
