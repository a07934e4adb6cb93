// CudaLoader and its batches. Other packages import device arrays by DLPack or __cuda_array_interface__.
#include "bale/loader/cuda/cuda_loader.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bale/formats/base/error.hpp"
#include "bale/python/bindings/batch/batch_rows.hpp"
#include "bale/python/bindings/batch/process_batch.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/python/bindings/loader/process_loader.hpp"
#include "bale/python/bindings/value.hpp"

namespace bale::python {
namespace {

CudaStream stream_of(std::uintptr_t handle) { return reinterpret_cast<CudaStream>(handle); }

DeviceBatch& device_batch_of(nb::handle batch) { return nb::cast<ProcessDeviceBatch&>(batch).get(); }

/// A view of a batch on the device. Keeps the batch alive.
struct DeviceArray {
  nb::object batch;
  void* data = nullptr;
  std::vector<std::size_t> shape{};
  std::vector<std::int64_t> strides{};  // in values
  nb::dlpack::dtype dtype{};
  const char* typestr = nullptr;  // NumPy's; null if it has none
};

/// In memory order: N x H x W x C, or N x C x H x W.
DeviceArray images_of(nb::handle self) {
  const DeviceBatch& batch = device_batch_of(self);
  const Transform& transform = batch.transform();
  DeviceArray array{.batch = nb::borrow(self), .data = batch.images(), .shape = shape_of(transform, batch.size())};
  array.strides.resize(array.shape.size());
  std::int64_t step = 1;
  for (std::size_t axis = array.shape.size(); axis > 0; --axis) {
    array.strides[axis - 1] = step;
    step *= static_cast<std::int64_t>(array.shape[axis - 1]);
  }
  array.dtype = dlpack_dtype(transform.dtype);
  switch (transform.dtype) {
    case DType::uint8:
      array.typestr = "|u1";
      break;
    case DType::float16:
      array.typestr = "<f2";
      break;
    case DType::bfloat16:
      break;
    case DType::float32:
      array.typestr = "<f4";
      break;
    case DType::uint16:
      array.typestr = "<u2";
      break;
  }
  return array;
}

/// N x C x H x W, with strides according to the layout.
DeviceArray channels_first(nb::handle self) {
  DeviceArray array = images_of(self);
  if (device_batch_of(self).transform().layout == PixelLayout::nhwc) {
    std::rotate(array.shape.begin() + 1, array.shape.begin() + 3, array.shape.end());
    std::rotate(array.strides.begin() + 1, array.strides.begin() + 3, array.strides.end());
  }
  return array;
}

template <typename Value>
DeviceArray row_values(nb::handle self, Value* data, const char* typestr) {
  return {.batch = nb::borrow(self),
          .data = data,
          .shape = {device_batch_of(self).size()},
          .strides = {1},
          .dtype = nb::dtype<Value>(),
          .typestr = typestr};
}

DeviceArray labels_of(nb::handle self) { return row_values(self, device_batch_of(self).labels(), "<i8"); }
// Bytes: not every DLPack importer supports bool.
DeviceArray mask_of(nb::handle self) { return row_values(self, device_batch_of(self).mask(), "|u1"); }
std::optional<DeviceArray> partner_labels_of(nb::handle self) {
  std::int64_t* const values = device_batch_of(self).partner_labels();
  if (values == nullptr) return std::nullopt;
  return row_values(self, values, "<i8");
}
std::optional<DeviceArray> shares_of(nb::handle self) {
  float* const values = device_batch_of(self).shares();
  if (values == nullptr) return std::nullopt;
  return row_values(self, values, "<f4");
}

template <typename... Kind>
nb::ndarray<Kind...> exported(const DeviceArray& array) {
  return nb::ndarray<Kind...>(array.data, array.shape.size(), array.shape.data(), array.batch, array.strides.data(),
                              array.dtype, nb::device::cuda::value, device_batch_of(array.batch).device());
}

/// The array API's protocol: the consumer passes the stream on which it will use the array.
nb::object dlpack_of(const DeviceArray& array, const nb::object& stream, const nb::kwargs& kwargs) {
  constexpr std::intptr_t k_no_waiting = -1;
  const std::intptr_t asked = stream.is_none() ? 0 : nb::cast<std::intptr_t>(stream);
  if (asked != k_no_waiting) {
    device_batch_of(array.batch).use_on(stream_of(static_cast<std::uintptr_t>(asked)));
  }
  return nb::cast(exported<nb::array_api>(array)).attr("__dlpack__")(**kwargs);
}

constexpr const char* k_interface_signature = "def __cuda_array_interface__(self) -> dict[str, typing.Any]";
constexpr const char* k_dlpack_signature =
    "def __dlpack__(self, *, stream: int | None = None, **kwargs: typing.Any) -> typing.Any";

/// The interface does not say on which stream the consumer will use the array. Most use a stream that the default
/// stream waits for, so the memory is reused only after work on that one.
nb::dict cuda_array_interface(const DeviceArray& array) {
  if (array.typestr == nullptr) {
    throw nb::attribute_error("bfloat16 has no __cuda_array_interface__; use DLPack");
  }
  nb::list shape;
  nb::list strides;
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
    shape.append(array.shape[axis]);
    strides.append(array.strides[axis] * array.dtype.bits / 8);
  }
  device_batch_of(array.batch).use_on(nullptr);
  nb::dict dict;
  dict["version"] = 3;
  dict["shape"] = nb::tuple(shape);
  dict["strides"] = nb::tuple(strides);
  dict["typestr"] = array.typestr;
  dict["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.data), false);
  // Consumers make their streams wait for this one.
  dict["stream"] = reinterpret_cast<std::uintptr_t>(device_batch_of(array.batch).stream());
  return dict;
}

/// Images (N x C x H x W) and labels as DLPack capsules for `stream`, in one call.
std::pair<nb::object, nb::object> device_capsules(nb::handle self, std::uintptr_t stream) {
  device_batch_of(self).use_on(stream_of(stream));
  return {nb::cast(exported<>(channels_first(self))), nb::cast(exported<>(labels_of(self)))};
}

CudaOptions cuda_options_of(const nb::dict& given) {
  CudaOptions options;
  options.device = option<int>(given, "device");
  options.depth = option<std::uint32_t>(given, "depth");
  options.hold = option<std::uint32_t>(given, "hold");
  options.flip_probability = option<double>(given, "device_hflip");
  options.convert = option<bool>(given, "device_convert");
  options.decode = option<bool>(given, "decodes") ? DecodeOn::device : DecodeOn::host;
  options.nvjpeg_library = from_str(given["nvjpeg_library"]);
  return options;
}

nb::typed<nb::dict, nb::str, nb::any> device_counters(ProcessLoader<CudaLoader>& self) {
  const CudaCounters counted = self.get().counters();
  nb::dict dict;
  dict["batches"] = counted.batches;
  dict["samples"] = counted.samples;
  dict["workers_replaced"] = counted.workers_replaced;
  dict["wait_seconds"] = counted.workers_wait_seconds;
  dict["device_wait_seconds"] = counted.device_wait_seconds;
  dict["copied_bytes"] = counted.copied_bytes;
  dict["pageable_bytes"] = counted.pageable_bytes;
  dict["batches_beyond_hold"] = counted.batches_beyond_hold;
  dict["decoded_on_device"] = counted.decoded_on_device;
  dict["decoded_after_refusal"] = counted.decoded_after_refusal;
  return dict;
}

void bind_device_array(nb::module_& module) {
  nb::class_<DeviceArray>(
      module, "DeviceArray",
      "An array of a DeviceBatch, which it keeps. Other packages import it by DLPack "
      "(torch.from_dlpack, cupy.from_dlpack, jax.dlpack.from_dlpack) or by __cuda_array_interface__.")
      .def_prop_ro(
          "shape",
          [](const DeviceArray& self) {
            nb::list shape;
            for (const std::size_t side : self.shape) shape.append(side);
            return nb::tuple(shape);
          },
          nb::for_getter(nb::sig("def shape(self) -> tuple[int, ...]")))
      .def("__len__", [](const DeviceArray& self) { return self.shape[0]; })
      .def_prop_ro("__cuda_array_interface__", &cuda_array_interface, nb::for_getter(nb::sig(k_interface_signature)))
      .def("__dlpack__", &dlpack_of, nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("kwargs"),
           nb::sig(k_dlpack_signature))
      .def("__dlpack_device__", [](const DeviceArray& self) {
        return std::make_tuple(nb::device::cuda::value, device_batch_of(self.batch).device());
      });
}

constexpr const char* k_use_on_doc = R"(Makes the batch usable on another stream.

Work that is enqueued there from now on runs after the copy, and the memory is reused only after that work.

Parameters
----------
stream : int
    Handle of a CUDA stream.

Raises
------
bale.Error
    If CUDA fails.)";

constexpr const char* k_device_capsules_doc =
    R"(DLPack capsules of the images and of the labels, for use on a stream. Each can be imported once.

Parameters
----------
stream : int
    Handle of a CUDA stream.

Returns
-------
(capsule, capsule)
    Images, N x C x H x W with strides according to the layout; and labels, int64. Both keep the batch.

Raises
------
bale.Error
    If CUDA fails.)";

void bind_device_batch(nb::module_& module) {
  nb::class_<ProcessDeviceBatch> batch(
      module, "DeviceBatch",
      "One batch in the memory of a CUDA device. Its arrays are views and keep it. When the last of them is gone, a "
      "later batch reuses the memory, after the work that was enqueued on its streams. Fields are arrays in host "
      "memory, which do not keep the batch.");
  bind_rows(batch);
  batch.def_prop_ro("images", &images_of, "N x H x W x C (or N x C x H x W) of the transform's dtype.")
      .def_prop_ro("labels", &labels_of, "int64 class numbers, one per row; the loader's `no_label` if there is none.")
      .def_prop_ro("mask", &mask_of,
                   "uint8, one per row: 1 if it counts in this epoch, 0 for padding, skipped and empty rows.")
      .def_prop_ro("partner_labels", &partner_labels_of,
                   "int64 labels of the images that were mixed in; None without mixing.")
      .def_prop_ro("shares", &shares_of,
                   "float32 weights of `labels` in the loss; `partner_labels` have the rest. None without mixing.")
      .def_prop_ro(
          "samples",
          [](nb::handle self) {
            nb::list list;
            for (const std::uint64_t sample : device_batch_of(self).samples()) list.append(sample);
            return list;
          },
          nb::for_getter(nb::sig("def samples(self) -> list[int]")), "Positions in the dataset, one per row.")
      .def_prop_ro(
          "is_beyond_hold", [](nb::handle self) { return device_batch_of(self).is_beyond_hold(); },
          "Whether you held at least `hold` other batches when this one was delivered.")
      .def_prop_ro(
          "device", [](nb::handle self) { return device_batch_of(self).device(); }, "CUDA's number of the device.")
      .def(
          "use_on", [](nb::handle self, std::uintptr_t stream) { device_batch_of(self).use_on(stream_of(stream)); },
          nb::arg("stream"), k_use_on_doc)
      .def("capsules", &device_capsules, nb::arg("stream"),
           nb::sig("def capsules(self, stream: int) -> tuple[object, object]"), k_device_capsules_doc)
      .def_prop_ro(
          "__cuda_array_interface__", [](nb::handle self) { return cuda_array_interface(images_of(self)); },
          nb::for_getter(nb::sig(k_interface_signature)), "The interface of `images`.")
      .def(
          "__dlpack__",
          [](nb::handle self, const nb::object& stream, const nb::kwargs& kwargs) {
            return dlpack_of(images_of(self), stream, kwargs);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("kwargs"), nb::sig(k_dlpack_signature))
      .def("__dlpack_device__",
           [](nb::handle self) { return std::make_tuple(nb::device::cuda::value, device_batch_of(self).device()); })
      .def(
          "__iter__", [](nb::handle self) { return nb::iter(nb::make_tuple(images_of(self), labels_of(self))); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[DeviceArray]"));
}

}  // namespace

void bind_cuda(nb::module_& module) {
  using Self = ProcessLoader<CudaLoader>;
  bind_device_array(module);
  bind_device_batch(module);
  nb::class_<Self> loader(module, "CudaLoader");
  loader
      .def(
          "__init__",
          [](Self* self, const nb::str& spec, const nb::typed<nb::dict, nb::str, nb::any>& given,
             const nb::typed<nb::dict, nb::str, nb::any>& cuda_given, std::optional<Selection> selection) {
            const std::string raw_spec = from_str(spec);
            LoaderOptions options = options_of(given);
            CudaOptions cuda = cuda_options_of(cuda_given);
            cuda.mix = std::exchange(options.mix, MixOptions{});
            const WithoutGil without_gil;
            new (self)
                Self(selection ? std::make_unique<CudaLoader>(raw_spec, std::move(options), cuda, *std::move(selection))
                               : std::make_unique<CudaLoader>(raw_spec, std::move(options), cuda));
          },
          nb::arg("spec"), nb::arg("options"), nb::arg("cuda_options"), nb::arg("selection").none())
      .def(
          "next",
          [](Self& self, std::uintptr_t stream, nb::object positions) -> std::optional<ProcessDeviceBatch> {
            std::optional<DeviceBatch> batch = self.wait_for(
                [stream](CudaLoader& held, const auto& on_wait) { return held.next(stream_of(stream), on_wait); });
            if (!batch) return std::nullopt;
            return ProcessDeviceBatch(*std::move(batch), std::move(positions));
          },
          nb::arg("stream"), nb::arg("positions"))
      .def_prop_ro("converts_on_device", [](Self& self) { return self.get().converts_on_device(); })
      .def_prop_ro("decodes_on_device", [](Self& self) { return self.get().decodes_on_device(); })
      .def("counters", &device_counters)
      .def("fallbacks", [](Self& self) { return self.get().fallbacks(); });
  bind_common(loader);

  module.def(
      "cuda_available",
      [] {
        const WithoutGil without_gil;
        return cuda_is_available();
      },
      R"(Says whether batches can be made in the memory of a CUDA device.

Returns
-------
bool
    True if there are a driver and a device.)");
}

}  // namespace bale::python
