#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bale/loader/transform/json/json.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/python/bindings/batch/batch_rows.hpp"
#include "bale/python/bindings/batch/process_batch.hpp"
#include "bale/python/bindings/bindings.hpp"

namespace bale::python {
namespace {

const Batch& batch_of(nb::handle self) { return nb::cast<const ProcessBatch&>(self).get(); }
const Transform& transform_of_batch(nb::handle self, std::size_t view = 0) {
  const auto& batch = nb::cast<const ProcessBatch&>(self);
  if (view >= batch.num_views()) throw nb::index_error("no such view in this batch");
  return batch.transform(view);
}
std::size_t num_views_of(nb::handle self) { return nb::cast<const ProcessBatch&>(self).num_views(); }

/// NumPy has no bfloat16. Its bits are returned as uint16.
nb::dlpack::dtype numpy_dtype(DType dtype) {
  return dtype == DType::bfloat16 ? nb::dtype<std::uint16_t>() : dlpack_dtype(dtype);
}

/// A view of `bytes` that keeps `owner` alive. Writable: the slot belongs to the caller until it is returned.
template <typename Array>
Array view_of(Bytes bytes, const std::vector<std::size_t>& shape, nb::dlpack::dtype dtype, nb::handle owner) {
  return Array(const_cast<std::byte*>(bytes.data()), shape.size(), shape.data(), owner, nullptr, dtype);
}

nb::ndarray<nb::numpy> image(nb::handle self, std::size_t i) {
  const Batch& batch = batch_of(self);
  if (i >= batch.size()) throw nb::index_error("no such row in this batch");
  const Transform& transform = transform_of_batch(self);
  const Bytes bytes = batch.image(i);
  std::vector<std::size_t> shape;
  if (transform.shape == Transform::Shape::raw) {
    return view_of<nb::ndarray<nb::numpy>>(bytes, {bytes.size()}, nb::dtype<std::uint8_t>(), self);
  }
  if (transform.has_fixed_shape()) {
    shape = shape_of(transform, 1);
    shape.erase(shape.begin());
    // An empty row has zeros as its pixels.
    return view_of<nb::ndarray<nb::numpy>>(batch.pixels().subspan(i * transform.image_bytes(), transform.image_bytes()),
                                           shape, numpy_dtype(transform.dtype), self);
  }
  const std::size_t channels = transform.channels();
  shape = {batch.height(i), batch.width(i), channels};
  if (transform.layout == PixelLayout::nchw) shape = {channels, batch.height(i), batch.width(i)};
  return view_of<nb::ndarray<nb::numpy>>(bytes, shape, numpy_dtype(transform.dtype), self);
}

nb::object images_of_view(nb::handle self, std::size_t view) {
  const Batch& batch = batch_of(self);
  const Transform& transform = transform_of_batch(self, view);
  return nb::cast(view_of<nb::ndarray<nb::numpy>>(batch.pixels(view), shape_of(transform, batch.size()),
                                                  numpy_dtype(transform.dtype), self));
}

nb::object images(nb::handle self) {
  const Batch& batch = batch_of(self);
  const bool has_one_view = num_views_of(self) == 1;
  if (has_one_view && transform_of_batch(self).has_fixed_shape()) return images_of_view(self, 0);
  nb::list list;
  for (std::size_t view = 0; view < num_views_of(self) && !has_one_view; ++view) {
    list.append(images_of_view(self, view));
  }
  if (!has_one_view) return list;
  for (std::size_t i = 0; i < batch.size(); ++i) list.append(image(self, i));
  return list;
}

nb::ndarray<nb::numpy, std::int64_t> labels(nb::handle self) { return copy_of(batch_of(self).labels()); }

nb::ndarray<nb::numpy, bool> mask(nb::handle self) {
  const auto values = batch_of(self).mask();
  return copy_of<bool>({reinterpret_cast<const bool*>(values.data()), values.size()});
}

nb::object dlpack(nb::handle self, const nb::kwargs& kwargs) {
  const Batch& batch = batch_of(self);
  const Transform& transform = transform_of_batch(self);
  const nb::object array = nb::cast(view_of<nb::ndarray<nb::array_api>>(
      batch.pixels(), shape_of(transform, batch.size()), dlpack_dtype(transform.dtype), self));
  return array.attr("__dlpack__")(**kwargs);
}

/// Whether a list consists of transforms that transforms.train() makes lists of.
bool is_of_train(const TransformList& list) {
  return !list.empty() && std::holds_alternative<transforms::RandomResizedCrop>(list.front()) &&
         std::all_of(list.begin() + 1, list.end(), [](const TransformNode& node) {
           return std::holds_alternative<transforms::RandomHorizontalFlip>(node) ||
                  std::holds_alternative<transforms::ColorJitter>(node) ||
                  std::holds_alternative<transforms::RandomGrayscale>(node) ||
                  std::holds_alternative<transforms::ToDtype>(node) ||
                  std::holds_alternative<transforms::Normalize>(node);
         });
}

/// What transforms.train() drew, by the names of its parameters.
void add_parameters(const Steps& steps, nb::dict& dict) {
  nb::list jitter;
  bool flip = false;
  bool gray = false;
  for (const Step& step : steps) {
    if (const auto* crop = std::get_if<step::Crop>(&step)) {
      dict["crop"] = nb::make_tuple(crop->left, crop->top, crop->width, crop->height);
    }
    if (const auto* one = std::get_if<step::Brightness>(&step))
      jitter.append(nb::make_tuple("brightness", one->factor));
    if (const auto* one = std::get_if<step::Contrast>(&step)) jitter.append(nb::make_tuple("contrast", one->factor));
    if (const auto* one = std::get_if<step::Saturation>(&step))
      jitter.append(nb::make_tuple("saturation", one->factor));
    if (const auto* one = std::get_if<step::Hue>(&step)) jitter.append(nb::make_tuple("hue", one->turn));
    flip |= std::holds_alternative<step::HorizontalFlip>(step);
    gray |= std::holds_alternative<step::Grayscale>(step);
  }
  dict["flip"] = flip;
  dict["jitter"] = jitter;
  dict["gray"] = gray;
}

nb::object draw_of_row(nb::handle self, std::size_t i, std::size_t view) {
  const Batch& batch = batch_of(self);
  if (i >= batch.size()) throw nb::index_error("no such row in this batch");
  const Transform& transform = transform_of_batch(self, view);
  if (batch.image(i).empty()) return nb::none();
  nb::dict dict;
  dict["source"] = nb::make_tuple(batch.source_width(i), batch.source_height(i));
  const Steps steps = batch.steps(i, view);
  dict["steps"] = nb::module_::import_("json").attr("loads")(transform_detail::steps_json(steps));
  if (is_of_train(transform.list->nodes)) add_parameters(steps, dict);
  return dict;
}

/// One call per batch, and no Python code that permutes dimensions: a training loop pays this cost for every batch.
std::pair<nb::object, nb::object> capsules(nb::handle self, std::size_t view) {
  const Batch& batch = batch_of(self);
  const Transform& transform = transform_of_batch(self, view);
  if (!transform.has_fixed_shape()) throw nb::type_error("images of this batch differ in size");
  const std::int64_t height = transform.height;
  const std::int64_t width = transform.width;
  const std::int64_t plane = height * width;
  const bool planar = transform.layout == PixelLayout::nchw;
  const std::int64_t channels = transform.channels();
  const std::array<std::size_t, 4> shape{batch.size(), transform.channels(), transform.height, transform.width};
  const std::array<std::int64_t, 4> strides =
      planar ? std::array{channels * plane, plane, width, std::int64_t{1}}
             : std::array{channels * plane, std::int64_t{1}, channels * width, channels};
  const nb::ndarray<> images(const_cast<std::byte*>(batch.pixels(view).data()), shape.size(), shape.data(), self,
                             strides.data(), dlpack_dtype(transform.dtype));
  return {nb::cast(images), nb::cast(copy_of<std::int64_t, nb::ndarray<std::int64_t>>(batch.labels()))};
}

constexpr const char* k_batch_doc = R"(One batch of a Loader, which makes it. It unpacks as images, labels.

A batch is a slot of the loader's shared memory. Arrays of its images are views of the slot and keep it; the workers reuse it
when the last of them is gone. If the caller keeps many batches, further ones are copies (is_copy). Labels, mask and samples
are always copies. len() is the number of rows.

Notes
-----
Threads: used by one thread at a time. It may be freed in another, also while that one uses the Loader.
Processes: it can also be read in a forked child; it cannot be pickled.)";

constexpr const char* k_image_doc = R"(The image of a row.

Parameters
----------
i : int
    Number of the row, from 0.

Returns
-------
array
    H x W x C (or C x H x W) of the transform's dtype; the stored bytes for raw(). A view of the slot.

Raises
------
IndexError
    If there is no such row.)";

constexpr const char* k_draw_doc = R"(What was done to a row.

Parameters
----------
i : int
    Number of the row, from 0.
view : int, default 0
    Number of the view.

Returns
-------
dict or None
    `source`, the size of the stored image (width, height), and `steps`, a list of dicts with the name and the parameters of
    each step, which bale.transforms.replay() takes. For transforms.train() also `crop` (x, y, width, height); `flip`;
    `jitter` [(name, factor), ...]; `gray`. None if the row is empty.

Raises
------
IndexError
    If there is no such row or view.)";

constexpr const char* k_capsules_doc =
    R"(DLPack capsules of the images of a view and of the labels. Each can be imported once.

Parameters
----------
view : int, default 0
    Number of the view.

Returns
-------
(capsule, capsule)
    Images, N x C x H x W with strides according to the layout, a view of the slot; and a copy of the labels.

Raises
------
TypeError
    If images differ in size.
IndexError
    If there is no such view.)";

void bind_images(nb::class_<ProcessBatch>& batch) {
  batch
      .def_prop_ro(
          "images", &images, nb::for_getter(nb::sig("def images(self) -> typing.Any")),
          "N x H x W x C (or N x C x H x W) of the transform's dtype, without a copy; bfloat16 as uint16. With several "
          "views a list of such arrays, one per view. A list of arrays, one per row, if images differ in size (ragged) "
          "or are stored bytes (raw).")
      .def("image", &image, nb::arg("i"), nb::sig("def image(self, i: int) -> numpy.typing.NDArray[typing.Any]"),
           k_image_doc)
      .def("draw", &draw_of_row, nb::arg("i"), nb::arg("view") = 0,
           nb::sig("def draw(self, i: int, view: int = 0) -> dict[str, typing.Any] | None"), k_draw_doc)
      .def(
          "__iter__", [](nb::handle self) { return nb::iter(nb::make_tuple(images(self), labels(self))); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[typing.Any]"))
      .def("__dlpack__", &dlpack, nb::arg("kwargs"),
           nb::sig("def __dlpack__(self, **kwargs: typing.Any) -> typing.Any"),
           "`images` for torch.from_dlpack, jax.dlpack.from_dlpack.")
      .def("__dlpack_device__", [](nb::handle) { return std::make_tuple(1, 0); })
      .def("capsules", &capsules, nb::arg("view") = 0,
           nb::sig("def capsules(self, view: int = 0) -> tuple[object, object]"), k_capsules_doc)
      .def_prop_ro(
          "is_copy", [](nb::handle self) { return batch_of(self).is_copy(); },
          "Whether the images are a copy, because the caller keeps many batches.");
}

void bind_values(nb::class_<ProcessBatch>& batch) {
  batch
      .def_prop_ro("labels", &labels, nb::rv_policy::move,
                   "int64 class numbers, one per row; the loader's `no_label` if there is none.")
      .def_prop_ro(
          "partner_labels", [](nb::handle self) { return copy_or_none(batch_of(self).partner_labels()); },
          nb::for_getter(nb::sig("def partner_labels(self) -> numpy.typing.NDArray[numpy.int64] | None")),
          "int64 labels of the images that were mixed in; None without mixing.")
      .def_prop_ro(
          "shares", [](nb::handle self) { return copy_or_none(batch_of(self).shares()); },
          nb::for_getter(nb::sig("def shares(self) -> numpy.typing.NDArray[numpy.float32] | None")),
          "float32 weights of `labels` in the loss; `partner_labels` have the rest. None without mixing.")
      .def_prop_ro(
          "samples", [](nb::handle self) { return copy_of(batch_of(self).samples()); }, nb::rv_policy::move,
          "uint64 positions in the dataset, one per row.")
      .def_prop_ro("mask", &mask, nb::rv_policy::move,
                   "One bool per row: True if it counts in this epoch; False for padding, skipped and empty rows.");
}

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<ProcessBatch> batch(module, "Batch", k_batch_doc);
  bind_rows(batch);
  bind_images(batch);
  bind_values(batch);
}

}  // namespace bale::python
