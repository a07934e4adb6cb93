#include "bale/loader/cuda/cuda_session.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/batch/batch_mixer.hpp"
#include "bale/loader/cuda/kernels/converter.hpp"
#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/members/members.hpp"

namespace bale::cuda_detail {
namespace {

constexpr std::uint32_t k_most_buffers = 1024;

[[noreturn]] void refuse(ErrorCode code, std::string_view what, std::string hint = {}) {
  throw Error(code, what, {.hint = std::move(hint)});
}

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

/// What of `delivered` a device cannot do to images that it decodes, as the end of a sentence; empty if it can make the
/// images: by crops, one resize and a horizontal flip.
std::string decoding_obstacle(const Transform& delivered) {
  if (delivered.mode != PixelMode::rgb || delivered.channels() != 3) return "a mode other than RGB";
  if (delivered.dtype == DType::uint8 && delivered.layout == PixelLayout::nchw) {
    return "uint8 in the layout nchw";
  }
  if (delivered.dtype != DType::uint8 && !kernels_can_make(delivered))
    return "a conversion that the device does not do";
  return obstacle_in(delivered.list->nodes);
}

void check_decoding(const CudaOptions& cuda, const LoaderOptions& options) {
  const std::string obstacle = decoding_obstacle(options.transform);
  if (!obstacle.empty()) {
    refuse(ErrorCode::invalid_argument, fmt::format("the device cannot decode images for {}", obstacle),
           "decode on the host, or use RandomResizedCrop or Resize and CenterCrop, RandomHorizontalFlip, and a float "
           "type or nhwc");
  }
  if (!cuda.convert && options.transform.dtype != DType::uint8) {
    refuse(ErrorCode::invalid_argument, "a device that decodes images also converts them",
           "leave convert on, or decode on the host");
  }
  if (options.on_bad_sample == OnBadSample::substitute) {
    refuse(ErrorCode::invalid_argument,
           "on_bad_sample is substitute, but what a device cannot decode is known too late for another sample",
           "set on_bad_sample to skip or fail, or decode on the host");
  }
}

/// What the device does after the copy, it does to all images of a batch alike.
void check_sources(const CudaOptions& cuda, const LoaderOptions& options) {
  if (options.source_transforms.empty()) return;
  if (cuda.decode == DecodeOn::device) {
    refuse(ErrorCode::invalid_argument, "the device cannot decode images for sources with transforms of their own",
           "decode on the host");
  }
  const Transform& first = options.source_transforms.front();
  const auto is_alike = [&](const Transform& other) {
    return kernels_can_make(other) == kernels_can_make(first) && other.pads == first.pads &&
           other.normalize == first.normalize && other.mean == first.mean && other.stddev == first.stddev;
  };
  if (!(cuda.convert || needs_kernels(cuda)) ||
      std::all_of(options.source_transforms.begin(), options.source_transforms.end(), is_alike)) {
    return;
  }
  refuse(ErrorCode::invalid_argument, "the device converts and normalizes the images of all sources alike",
         "give the transforms of all sources the same normalization, PadTo and erasing, or set convert to false");
}

}  // namespace

CudaOptions checked(const CudaOptions& cuda, const LoaderOptions& options) {
  const Transform& delivered = options.transform;
  const auto check_count = [](const char* option, std::uint32_t value) {
    if (value >= 1 && value <= k_most_buffers) return;
    refuse(ErrorCode::invalid_argument,
           fmt::format("{} of {} batches; 1 to {} are possible", option, value, k_most_buffers));
  };
  check_count("depth", cuda.depth);
  check_count("hold", cuda.hold);
  check_mix(cuda.mix);
  if (options.mix.active()) {
    refuse(ErrorCode::invalid_argument, "batches on a device are mixed there",
           "set CudaOptions::mix, not LoaderOptions::mix");
  }
  if (!(cuda.flip_probability >= 0 && cuda.flip_probability <= 1)) {
    refuse(ErrorCode::invalid_argument, fmt::format("flip_probability {} is not within [0, 1]", cuda.flip_probability));
  }
  if (!delivered.has_fixed_shape()) {
    refuse(ErrorCode::unsupported, "images of this transform differ in size, and a device takes whole batches only",
           "use train, val or padded, or load into ordinary memory");
  }
  if (cuda.decode > DecodeOn::device) refuse(ErrorCode::invalid_argument, "decode is none of DecodeOn");
  check_sources(cuda, options);
  if (cuda.decode == DecodeOn::device) check_decoding(cuda, options);
  if (!needs_kernels(cuda)) return cuda;
  if (std::any_of(options.fields.begin(), options.fields.end(),
                  [](const Field& field) { return is_target(field.kind); })) {
    refuse(ErrorCode::invalid_argument,
           "fields: masks, boxes and keypoints cannot follow images that the device mirrors or mixes",
           "mirror in the transform, and leave out mix or these fields");
  }
  if (cuda.flip_probability > 0 && transform_detail::mirrors(delivered.list->nodes)) {
    refuse(ErrorCode::invalid_argument, "images are mirrored by the workers already",
           "set flip_probability of the device to 0, or leave RandomHorizontalFlip out");
  }
  if (!kernels_can_make(delivered)) {
    refuse(ErrorCode::invalid_argument,
           "flip and mix on the device need a float dtype that is converted there, and RGB");
  }
  return cuda;
}

}  // namespace bale::cuda_detail
