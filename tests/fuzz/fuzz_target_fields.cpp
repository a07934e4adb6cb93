// Whatever the bytes of a stored mask, of boxes or of keypoints: they are read or refused, and what is read has the size
// that batches reserve for it.
#include <cstdlib>

#include "bale/formats/image/mask.hpp"
#include "bale/loader/transform/targets/target_maker.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::Bytes bytes = bale::test::input_bytes(data, size);
  try {
    const bale::Mask mask = bale::decode_mask(bytes, 1U << 20);
    if (mask.values.size() != std::size_t{mask.width} * mask.height) std::abort();
  } catch (const bale::Error&) {
  }
  for (const bale::FieldKind kind : {bale::FieldKind::boxes, bale::FieldKind::keypoints}) {
    try {
      const bale::Steps steps{bale::step::HorizontalFlip{}, bale::step::Rotate{.angle = 30}};
      bale::transform_detail::TargetMaker maker(1U << 20);
      const bale::Bytes rows =
          maker.make_rows({.kind = kind}, bytes, {.size = {.width = 40, .height = 30}, .steps = steps});
      if (rows.size() > size * bale::transform_detail::k_target_bytes_per_stored) std::abort();
    } catch (const bale::Error&) {
    }
  }
  return 0;
}
