#include "bale/loader/tensor.hpp"

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

TensorType type_of(DType dtype) {
  using Kind = TensorType::Kind;
  switch (dtype) {
    case DType::uint8:
    case DType::uint16:
      return {Kind::natural, static_cast<std::uint8_t>(8 * dtype_bytes(dtype))};
    case DType::bfloat16:
      return {Kind::brain, 16};
    case DType::float16:
    case DType::float32:
      break;
  }
  return {Kind::real, static_cast<std::uint8_t>(8 * dtype_bytes(dtype))};
}

/// `numpy` is one of those that checked_fields() accepts, such as "<f4".
TensorType type_of(std::string_view numpy) {
  using Kind = TensorType::Kind;
  const char letter = numpy[1];
  const Kind kind = letter == 'b'   ? Kind::truth
                    : letter == 'u' ? Kind::natural
                    : letter == 'i' ? Kind::integer
                    : letter == 'c' ? Kind::complex
                                    : Kind::real;
  return {kind, static_cast<std::uint8_t>(8 * array_type_bytes(numpy))};
}

}  // namespace

TensorView::TensorView(Bytes of_bytes, TensorType of_type, std::vector<std::int64_t> of_shape)
    : bytes(of_bytes), type(of_type), shape(std::move(of_shape)), strides(shape.size()) {
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

void TensorView::throw_other_type() const {
  static constexpr std::string_view k_names[] = {"int", "uint", "float", "", "bfloat", "complex", "bool"};
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the numbers are {}{}", k_names[static_cast<std::size_t>(type.kind)], type.bits),
              {.hint = "take them as values of that type"});
}

TensorView image_tensor(const Batch& batch, std::size_t view) {
  const Bytes pixels = batch.pixels(view);
  const Transform& transform = batch.transform(view);
  const auto rows = static_cast<std::int64_t>(batch.size());
  const std::int64_t channels = transform.channels();
  const std::int64_t height = transform.height;
  const std::int64_t width = transform.width;
  const bool channels_first = transform.layout == PixelLayout::nchw;
  return {pixels, type_of(transform.dtype),
          channels_first ? std::vector{rows, channels, height, width} : std::vector{rows, height, width, channels}};
}

TensorView field_tensor(const BatchField& field) {
  if (!is_one_array(field.field->kind)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rows of the field \"{}\" differ in size", printable(field.field->name)),
                {.hint = "use BatchField::row()"});
  }
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(field.present.size())};
  for (const std::uint64_t side : *field.field->shape) shape.push_back(static_cast<std::int64_t>(side));
  return {field.data, type_of(field.field->type), std::move(shape)};
}

}  // namespace bale
