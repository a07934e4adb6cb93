#include "bale/loader/cuda/decode/device_decoding.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "bale/loader/cuda/kernels/kernel_choice.hpp"
#include "bale/loader/transform/members/members.hpp"

namespace bale::cuda_detail {
namespace {

bool is_fast(Filter filter) { return filter == Filter::bilinear || filter == Filter::bicubic; }

bool has_fast_filters(const TransformNode& node) {
  if (const auto* const resize = std::get_if<transforms::Resize>(&node)) return is_fast(resize->interpolation);
  const auto* const crop = std::get_if<transforms::RandomResizedCrop>(&node);
  return crop == nullptr || std::all_of(crop->interpolation.begin(), crop->interpolation.end(), is_fast);
}

std::string obstacle_in(const TransformList& list) {
  bool resizes = false;
  for (const TransformNode& node : list) {
    const bool is_resize =
        std::holds_alternative<transforms::Resize>(node) || std::holds_alternative<transforms::RandomResizedCrop>(node);
    const bool is_plain = is_resize || std::holds_alternative<transforms::CenterCrop>(node) ||
                          std::holds_alternative<transforms::RandomHorizontalFlip>(node) ||
                          std::holds_alternative<transforms::ToDtype>(node) ||
                          std::holds_alternative<transforms::Normalize>(node);
    const auto name = std::visit([](const auto& one) { return transform_detail::name_of(&one); }, node);
    if (!is_plain) return fmt::format("{} in the list of transforms", name);
    if (!has_fast_filters(node)) return fmt::format("an interpolation of {} other than bilinear and bicubic", name);
    if (is_resize && resizes) return fmt::format("{} after another resize", name);
    resizes = resizes || is_resize;
  }
  return resizes ? "" : "a list of transforms without Resize or RandomResizedCrop";
}

}  // namespace

std::string decoding_obstacle(const Transform& delivered) {
  if (delivered.mode != PixelMode::rgb || delivered.channels() != 3) return "a mode other than RGB";
  if (delivered.dtype == DType::uint8 && delivered.layout == PixelLayout::nchw) {
    return "uint8 in the layout nchw";
  }
  if (delivered.dtype != DType::uint8 && !kernels_can_make(delivered))
    return "a conversion that the device does not do";
  return obstacle_in(delivered.list->nodes);
}

}  // namespace bale::cuda_detail
