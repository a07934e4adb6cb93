// Steps on NumPy arrays: what replays recorded draws.
#include <cstddef>
#include <memory>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/json/json.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"
#include "bale/loader/transform/targets/read_targets.hpp"
#include "bale/loader/transform/targets/target_maker.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/python/bindings/bindings.hpp"

namespace bale::python {
namespace {

using transform_detail::Picture;

using Pixels = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using NewPixels = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<3>>;

NewPixels apply_steps(const std::string& json, const Pixels& image) {
  constexpr std::size_t k_max_side = 65535;
  if (image.shape(0) > k_max_side || image.shape(1) > k_max_side || (image.shape(2) != 1 && image.shape(2) != 3)) {
    throw Error(ErrorCode::invalid_argument, "image: the shape must be (height, width, 3) or (height, width, 1)");
  }
  auto picture = std::make_unique<Picture>(Picture{.width = static_cast<std::uint32_t>(image.shape(1)),
                                                   .height = static_cast<std::uint32_t>(image.shape(0)),
                                                   .channels = static_cast<std::uint32_t>(image.shape(2))});
  {
    const nb::gil_scoped_release released;
    picture->pixels.assign(image.data(), image.data() + picture->size());
    transform_detail::StepRunner().run(transform_detail::parse_steps(json), *picture);
  }
  const std::size_t shape[] = {picture->height, picture->width, picture->channels};
  std::uint8_t* data = picture->pixels.data();
  const nb::capsule owner(picture.release(), [](void* kept) noexcept { delete static_cast<Picture*>(kept); });
  return NewPixels(data, 3, shape, owner);
}

/// The row of a target in a batch, as bytes, for an image of width x height pixels.
nb::bytes apply_steps_to_target(const std::string& json, const std::string& kind, const nb::bytes& stored,
                                std::uint32_t width, std::uint32_t height, std::uint16_t fill,
                                std::uint64_t mask_bytes) {
  const Steps steps = transform_detail::parse_steps(json);
  const transform_detail::ImageSteps image{.size = {width, height}, .steps = steps};
  const Bytes bytes = as_bytes({stored.c_str(), stored.size()});
  Field field{.kind = FieldKind::mask, .type = "<i8"};
  field.fill = fill;
  transform_detail::TargetMaker maker(std::uint64_t{1} << 27);
  if (kind == "mask") {
    std::vector<std::byte> out(mask_bytes);
    maker.make_mask(field, bytes, image, out);
    return to_bytes(out);
  }
  field.kind = kind == "boxes" ? FieldKind::boxes : FieldKind::keypoints;
  const Bytes rows = maker.make_rows(field, bytes, image);
  if (kind != "boxes") return to_bytes(rows);
  std::vector<std::byte> out;  // without the numbers
  for (std::size_t at = 0; at < rows.size(); at += sizeof(BoxRow)) {
    const Bytes row = rows.subspan(at, offsetof(BoxRow, number));
    out.insert(out.end(), row.begin(), row.end());
  }
  return to_bytes(out);
}

/// Read and written again.
std::string complete_steps(const std::string& json) {
  return transform_detail::steps_json(transform_detail::parse_steps(json));
}

/// What a list draws for one image, as JSON.
std::string draw_transforms(const std::string& list, std::uint32_t width, std::uint32_t height, std::uint64_t seed,
                            std::uint64_t epoch, std::uint64_t sample, std::uint64_t copy, std::uint64_t view,
                            const nb::bytes& boxes) {
  const DrawKey key{.seed = seed, .epoch = epoch, .sample = sample, .copy = copy, .view = view};
  transform_detail::Boxes read;
  if (boxes.size() > 0) read = transform_detail::read_boxes(as_bytes({boxes.c_str(), boxes.size()}), BoxFormat::xyxy);
  return transform_detail::steps_json(draw_steps(parse_transforms(list), key, width, height, read));
}

}  // namespace

void bind_steps(nb::module_& module) {
  module.def("apply_steps", &apply_steps, nb::arg("steps"), nb::arg("image"),
             "A new array: the image after the steps, which are JSON.");
  module.def(
      "apply_steps_to_target", &apply_steps_to_target, nb::arg("steps"), nb::arg("kind"), nb::arg("stored"),
      nb::arg("width"), nb::arg("height"), nb::arg("fill") = 0, nb::arg("mask_bytes") = 0,
      "A stored mask (as int64, `mask_bytes` in all), boxes or keypoints after the steps of an image of this size: "
      "the bytes of its row of a batch.");
  module.def("draw_transforms", &draw_transforms, nb::arg("transforms"), nb::arg("width"), nb::arg("height"),
             nb::arg("seed"), nb::arg("epoch"), nb::arg("sample"), nb::arg("copy") = 0, nb::arg("view") = 0,
             nb::arg("boxes") = nb::bytes("", 0),
             "JSON of the steps that a list of transforms, JSON too, draws for an image of this size with these stored "
             "boxes.");
  module.def("complete_steps", &complete_steps, nb::arg("steps"), "The JSON of the steps, with all members.");
}

}  // namespace bale::python
