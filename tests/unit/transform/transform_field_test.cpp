// Fields: their kinds, what is refused, and arrays as rows of a batch.
#include <string>
#include <vector>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/fields/array_field.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

using namespace bale;
using namespace bale::test;
using namespace bale::transform_detail;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const Bytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

/// A NumPy file of bytes 0, 1, 2, ...
std::vector<std::byte> array_file(const std::string& type, const std::vector<std::uint64_t>& shape,
                                  std::size_t num_bytes, bool fortran_order = false) {
  std::string header = array_header_text(type, shape);
  if (fortran_order) header.replace(header.find("False"), 5, "True ");
  std::vector<std::byte> file = bytes_of(header);
  for (std::size_t i = 0; i < num_bytes; ++i) file.push_back(static_cast<std::byte>(i));
  return file;
}

Field array_field(const std::string& type, const std::vector<std::uint64_t>& shape) {
  return {.name = "a", .source = "npy", .kind = FieldKind::array, .type = type, .shape = shape};
}

}  // namespace

TEST_CASE("fields: the stored name gives the kind, unless one is given") {
  CHECK(field_kind_of("txt") == FieldKind::text);
  CHECK(field_kind_of("caption.text") == FieldKind::text);
  CHECK(field_kind_of("json") == FieldKind::json);
  CHECK(field_kind_of("x.npy") == FieldKind::array);
  CHECK(field_kind_of("mask.png") == FieldKind::bytes);
  CHECK(field_kind_of("") == FieldKind::bytes);
  const auto fields =
      checked_fields({{.name = "a", .source = "txt"}, {.name = "b", .source = "txt", .kind = FieldKind::bytes}});
  CHECK(fields[0].kind == FieldKind::text);
  CHECK(fields[1].kind == FieldKind::bytes);
}

TEST_CASE("fields: contradictions are refused") {
  CHECK(error_of([] { checked_fields({{.name = "", .source = "txt"}}); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([] { checked_fields({{.name = "a", .source = ""}}); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([] {
          checked_fields({{.name = "a", .source = "b"}, {.name = "a", .source = "c"}});
        }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([] { checked_fields(std::vector<Field>(300, Field{.name = "a", .source = "b"})); }).code() ==
        ErrorCode::invalid_argument);
  CHECK(error_of([] { checked_fields({{.name = "a", .source = "npy", .type = "|O"}}); }).code() ==
        ErrorCode::unsupported);
}

TEST_CASE("fields: an array gives the type and the shape that are not given") {
  Field field{.name = "a", .source = "npy", .kind = FieldKind::array};
  complete_array_field(field, array_file("<f4", {2, 3}, 24));
  CHECK(field.type == "<f4");
  CHECK(*field.shape == std::vector<std::uint64_t>{2, 3});
  CHECK(array_row_bytes(field) == 24);
  Field scalar = array_field("<i8", {});
  CHECK(array_row_bytes(scalar) == 8);
  CHECK(array_row_bytes(array_field("<i8", {std::uint64_t{1} << 60, 0})) == 0);
  CHECK(error_of([] { array_row_bytes(array_field("|u1", {1 << 20, 1 << 20})); }).code() == ErrorCode::unsupported);
  Field other{.name = "a", .source = "npy", .kind = FieldKind::array};
  CHECK(error_of([&] { complete_array_field(other, array_file(">f4", {1}, 4)); }).code() == ErrorCode::unsupported);
  CHECK(error_of([&] { complete_array_field(other, bytes_of("no array")); }).code() == ErrorCode::damaged);
}

TEST_CASE("fields: an array is copied, or refused") {
  const Field field = array_field("<u2", {2, 3});
  const auto read = [&](const std::vector<std::byte>& stored) {
    std::vector<std::byte> out(12);
    read_array_field(field, stored, out);
    return out;
  };
  const std::vector<std::byte> file = array_file("<u2", {2, 3}, 12);
  CHECK(read(file) == std::vector<std::byte>(file.end() - 12, file.end()));
  CHECK(error_of([&] { read(array_file("<u2", {3, 2}, 12)); }).code() == ErrorCode::unsupported);
  CHECK(error_of([&] { read(array_file("<i2", {2, 3}, 12)); }).code() == ErrorCode::unsupported);
  CHECK(error_of([&] { read(array_file("<u2", {2, 3}, 11)); }).code() == ErrorCode::damaged);
  CHECK(error_of([&] { read(array_file("<u2", {2, 3}, 13)); }).code() == ErrorCode::damaged);
  CHECK(error_of([&] { read({}); }).code() == ErrorCode::damaged);
}

TEST_CASE("fields: an array in Fortran's order becomes one in C's") {
  // Byte 0 is [0][0], byte 1 is [1][0]: the first index runs fastest.
  std::vector<std::byte> out(6);
  read_array_field(array_field("|u1", {2, 3}), array_file("|u1", {2, 3}, 6, true), out);
  const std::vector<std::byte> expected{std::byte{0}, std::byte{2}, std::byte{4},
                                        std::byte{1}, std::byte{3}, std::byte{5}};
  CHECK(out == expected);
}
