#include "bale/formats/hdf5/library/h5.hpp"

#include <array>

#include <fmt/format.h>

namespace bale::h5 {
namespace {

/// Whether it is IEEE half precision. This library version has no constant for it, so it is built as h5py builds it.
bool is_half(hid_t type, H5T_order_t order) {
  if (H5Tget_class(type) != H5T_FLOAT || H5Tget_size(type) != 2 || H5Tget_order(type) != order) return false;
  const H5Handle half(H5Tcopy(order == H5T_ORDER_BE ? H5T_IEEE_F32BE : H5T_IEEE_F32LE), H5Tclose);
  const bool made = half && H5Tset_fields(half.id(), 15, 10, 5, 0, 10) >= 0 && H5Tset_size(half.id(), 2) >= 0 &&
                    H5Tset_ebias(half.id(), 15) >= 0;
  return made && H5Tequal(type, half.id()) > 0;
}

/// h5py's bool: an enumeration over int8 of FALSE and TRUE.
bool is_bool(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  std::array<std::int8_t, 2> values{};
  return H5Tenum_valueof(type, "FALSE", &values[0]) >= 0 && H5Tenum_valueof(type, "TRUE", &values[1]) >= 0 &&
         values[0] == 0 && values[1] == 1;
}

}  // namespace

std::string numpy_type(hid_t type) {
  if (H5Tget_class(type) == H5T_ENUM) {
    if (is_bool(type)) return "|b1";
    const H5Handle base(H5Tget_super(type), H5Tclose);
    return base && H5Tget_class(base.id()) == H5T_INTEGER ? numpy_type(base.id()) : std::string();
  }
  if (is_half(type, H5T_ORDER_LE)) return "<f2";
  if (is_half(type, H5T_ORDER_BE)) return ">f2";
  struct NamedType {
    hid_t id;
    const char* descr;
  };
  const std::array<NamedType, 20> known{{
      {H5T_STD_U8LE, "|u1"},   {H5T_STD_U8BE, "|u1"},   {H5T_STD_I8LE, "|i1"},   {H5T_STD_I8BE, "|i1"},
      {H5T_STD_U16LE, "<u2"},  {H5T_STD_U16BE, ">u2"},  {H5T_STD_I16LE, "<i2"},  {H5T_STD_I16BE, ">i2"},
      {H5T_STD_U32LE, "<u4"},  {H5T_STD_U32BE, ">u4"},  {H5T_STD_I32LE, "<i4"},  {H5T_STD_I32BE, ">i4"},
      {H5T_STD_U64LE, "<u8"},  {H5T_STD_U64BE, ">u8"},  {H5T_STD_I64LE, "<i8"},  {H5T_STD_I64BE, ">i8"},
      {H5T_IEEE_F32LE, "<f4"}, {H5T_IEEE_F32BE, ">f4"}, {H5T_IEEE_F64LE, "<f8"}, {H5T_IEEE_F64BE, ">f8"},
  }};
  for (const NamedType& candidate : known) {
    if (H5Tequal(type, candidate.id) > 0) return candidate.descr;
  }
  return {};
}

std::string type_text(hid_t type) {
  if (const std::string descr = numpy_type(type); !descr.empty()) return descr;
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("integer of {} bytes", bytes);
    case H5T_FLOAT:
      return fmt::format("float of {} bytes", bytes);
    case H5T_STRING:
      return "string";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    case H5T_VLEN: {
      const H5Handle base(H5Tget_super(type), H5Tclose);
      return base ? "variable-length " + type_text(base.id()) : "variable-length";
    }
    case H5T_ARRAY:
      return "array";
    case H5T_REFERENCE:
      return "reference";
    case H5T_OPAQUE:
      return "opaque";
    default:
      return "of an unknown type";
  }
}

}  // namespace bale::h5
