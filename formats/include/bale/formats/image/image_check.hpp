// Checking images before an epoch needs them: whether they are complete and can be decoded. Indexes record the result.
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/image_condition.hpp"
#include "bale/formats/image/image.hpp"

namespace bale {

enum class ImageCheck : std::uint8_t {
  quick,   // reads the header and looks for the end; decodes only if the end is missing
  decode,  // decodes every image
};

/// The result of a check.
struct ImageFacts {
  std::uint32_t width = 0;  // in pixels; 0: the header does not say
  std::uint32_t height = 0;
  ImageCondition condition = ImageCondition::unknown;
  std::string why{};         // why a loader does not take it; empty if it does, as far as was looked at
  bool is_supported = true;  // false: bale does not read such images, or not of this size; it is not damaged
};

/// Whether a loader takes an image: `why` is decode_image()'s message. The condition is `unknown` if the image would
/// have to be decoded and has more than `max_pixels`, because of another limit it may be complete; with `quick` also of
/// kinds that bale does not decode. Throws only `std::bad_alloc`.
ImageFacts check_image(Bytes image, ImageCheck check, std::uint64_t max_pixels = k_default_max_pixels);

/// What Git LFS leaves in a file's place.
inline constexpr std::string_view k_lfs_pointer = "Git LFS pointer";
inline constexpr const char* k_lfs_hint = "fetch the files with `git lfs pull`";

/// The kind of a file that probe_image() does not recognize, by the bytes at its start or end, for messages: "AVIF",
/// "JPEG 2000", "HTML", ...; empty if nothing is recognized. A literal.
std::string_view name_by_signature(Bytes file);

/// Whether this build's decode_image() decodes images of this kind.
bool can_decode(ImageKind kind);

}  // namespace bale
