// TensorView: numbers in the host's memory, with a type, a shape and strides. dlpack.hpp and torch.hpp hand it on.
//
//   const bale::TensorView images = bale::image_tensor(batch);                    // 256 x 224 x 224 x 3
//   for (const std::uint8_t value : images.as<std::uint8_t>()) sum += value;      // throws if the type is another
//
// Lifetime: the numbers are the batch's; type, shape and strides are its own. Threads: plain values and pure functions.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/held.hpp"
#include "bale/loader/batch.hpp"

namespace bale {

/// The type of one number, with the codes of DLPack.
struct TensorType {
  enum class Kind : std::uint8_t { integer = 0, natural = 1, real = 2, brain = 4, complex = 5, truth = 6 };
  Kind kind = Kind::natural;  // brain: bfloat16
  std::uint8_t bits = 8;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

template <typename Value>
constexpr TensorType tensor_type() {
  using Kind = TensorType::Kind;
  constexpr auto k_bits = static_cast<std::uint8_t>(8 * sizeof(Value));
  if constexpr (std::is_same_v<Value, bool>)
    return {Kind::truth, k_bits};
  else if constexpr (std::is_floating_point_v<Value>)
    return {Kind::real, k_bits};
  else if constexpr (std::is_unsigned_v<Value>)
    return {Kind::natural, k_bits};
  else if constexpr (std::is_signed_v<Value>)
    return {Kind::integer, k_bits};
  else
    return {Kind::complex, k_bits};  // std::complex
}

struct TensorView {
  Bytes bytes{};  // in C order, without gaps
  TensorType type{};
  std::vector<std::int64_t> shape{};
  std::vector<std::int64_t> strides{};  // in numbers

  TensorView() = default;
  TensorView(Bytes of_bytes, TensorType of_type, std::vector<std::int64_t> of_shape);

  /// All numbers. float16 and bfloat16 come as any type of two bytes that is not a number of another kind, or as
  /// std::uint16_t. Throws `invalid_argument` for other types than this one.
  template <typename Value>
  std::span<const Value> as() const {
    const bool is_half =
        type.bits == 16 && (type.kind == TensorType::Kind::real || type.kind == TensorType::Kind::brain);
    const bool fits = is_half ? sizeof(Value) == 2 && !std::is_signed_v<Value> : type == tensor_type<Value>();
    if (!fits) throw_other_type();
    return {reinterpret_cast<const Value*>(bytes.data()), bytes.size() / sizeof(Value)};
  }

 private:
  [[noreturn]] void throw_other_type() const;
};

/// The pixels of a view: N x H x W x C or N x C x H x W. Throws `invalid_argument` for ragged and raw transforms.
TensorView image_tensor(const Batch& batch BALE_LIFETIMEBOUND, std::size_t view = 0);
/// A field of arrays or masks: N x its shape. Throws `invalid_argument` for other fields.
TensorView field_tensor(const BatchField& field);
/// What else a batch has one of per row: tensor_of(batch.labels()), of shape N.
template <typename Value>
TensorView tensor_of(std::span<const Value> values) {
  return {std::as_bytes(values), tensor_type<Value>(), {static_cast<std::int64_t>(values.size())}};
}

}  // namespace bale
