#include "bale/loader/loader.hpp"

#include <memory>
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bale/formats/core/error.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/choice.hpp"
#include "bale/python/bindings/order.hpp"
#include "bale/python/bindings/process_batch.hpp"
#include "bale/python/bindings/process_loader.hpp"

namespace bale::python {
namespace {

Range range_of(nb::handle pair) { return {nb::cast<double>(pair[0]), nb::cast<double>(pair[1])}; }

/// None at the end of an epoch.
std::optional<ProcessBatch> next_batch(ProcessLoader<Loader>& self) {
  std::optional<Batch> batch = self.wait_for([](Loader& loader, const auto& on_wait) { return loader.next(on_wait); });
  if (!batch) return std::nullopt;
  return ProcessBatch(*std::move(batch), self.look().options().transform);
}

nb::typed<nb::dict, nb::str, nb::any> counters(ProcessLoader<Loader>& self) {
  const LoaderCounters counted = self.get().counters();
  nb::dict dict;
  dict["batches"] = counted.batches;
  dict["samples"] = counted.samples;
  dict["workers_replaced"] = counted.workers_replaced;
  dict["wait_seconds"] = counted.wait_seconds;
  return dict;
}

}  // namespace

LoaderOptions options_of(const nb::dict& given) {
  LoaderOptions options;
  options.batch_size = nb::cast<std::uint32_t>(given["batch_size"]);
  if (!given["workers"].is_none()) options.workers = nb::cast<std::uint32_t>(given["workers"]);
  options.worker_mode = nb::cast<bool>(given["threads"]) ? WorkerMode::threads : WorkerMode::processes;
  options.prefetch = nb::cast<std::uint32_t>(given["prefetch"]);
  options.persistent_workers = nb::cast<bool>(given["persistent_workers"]);
  options.seed = nb::cast<std::uint64_t>(given["seed"]);
  options.shuffle = shuffle_of(given["shuffle"], nb::cast<std::uint64_t>(given["block_samples"]),
                               nb::cast<std::uint64_t>(given["window_blocks"]));
  options.rank = nb::cast<std::uint64_t>(given["rank"]);
  options.world_size = nb::cast<std::uint64_t>(given["world_size"]);
  options.tail = tail_of(given["tail"]);
  options.transform = transform_of(given["transform"]);
  options.field = from_str(nb::cast<nb::str>(given["field"]));
  options.on_bad_sample = choice<OnBadSample>(
      given["on_bad_sample"], "on_bad_sample",
      {{"fail", OnBadSample::fail}, {"skip", OnBadSample::skip}, {"substitute", OnBadSample::substitute}});
  options.verify_checksums = nb::cast<bool>(given["verify_checksums"]);
  options.max_pixels = nb::cast<std::uint64_t>(given["max_pixels"]);
  options.stall_timeout_s = nb::cast<double>(given["stall_timeout_s"]);
  options.read_ahead_bytes = nb::cast<std::uint64_t>(given["read_ahead_bytes"]);
  options.large_transfers = nb::cast<bool>(given["large_transfers"]);
  options.learn_bytes = nb::cast<std::uint64_t>(given["learn_bytes"]);
  options.direct_io = nb::cast<bool>(given["direct_io"]);
  options.worker_program = from_str(nb::cast<nb::str>(given["worker_program"]));
  return options;
}

nb::list list_of(const std::vector<BadSample>& bad_samples) {
  nb::list list;
  for (const BadSample& bad : bad_samples) {
    const char* const action = bad.action == BadSample::Action::failed    ? "failed"
                               : bad.action == BadSample::Action::skipped ? "skipped"
                                                                          : "substituted";
    list.append(nb::make_tuple(bad.sample, to_str(bad.key), to_str(bad.shard), to_str(bad.reason), bad.epoch, action,
                               bad.quarantined));
  }
  return list;
}

Transform transform_of(nb::handle given) {
  using Kind = Transform::Kind;
  Transform transform;
  transform.kind = choice<Kind>(given.attr("kind"), "transform",
                                {{"train", Kind::train},
                                 {"eval", Kind::eval},
                                 {"padded", Kind::padded},
                                 {"ragged", Kind::ragged},
                                 {"raw", Kind::raw}});
  transform.height = nb::cast<std::uint32_t>(given.attr("height"));
  transform.width = nb::cast<std::uint32_t>(given.attr("width"));
  transform.filter = choice<Filter>(given.attr("interpolation"), "interpolation",
                                    {{"bilinear", Filter::bilinear}, {"bicubic", Filter::bicubic}});
  transform.pass_order =
      choice<PassOrder>(given.attr("pillow"), "pillow", {{"13", PassOrder::pillow_13}, {"12", PassOrder::pillow_12}});
  transform.resize_short = nb::cast<std::uint32_t>(given.attr("resize"));
  transform.scale = range_of(given.attr("scale"));
  transform.ratio = range_of(given.attr("ratio"));
  transform.flip_probability = nb::cast<double>(given.attr("hflip"));
  transform.jitter = {.brightness = range_of(given.attr("brightness")),
                      .contrast = range_of(given.attr("contrast")),
                      .saturation = range_of(given.attr("saturation")),
                      .hue = range_of(given.attr("hue"))};
  transform.grey_probability = nb::cast<double>(given.attr("grey"));
  transform.dtype = choice<DType>(given.attr("dtype"), "dtype",
                                  {{"uint8", DType::uint8},
                                   {"float16", DType::float16},
                                   {"bfloat16", DType::bfloat16},
                                   {"float32", DType::float32}});
  transform.layout =
      choice<PixelLayout>(given.attr("layout"), "layout", {{"nhwc", PixelLayout::nhwc}, {"nchw", PixelLayout::nchw}});
  const nb::object normalize = given.attr("normalize");
  transform.normalise = !normalize.is_none();
  for (std::size_t channel = 0; channel < 3 && transform.normalise; ++channel) {
    transform.mean[channel] = nb::cast<float>(normalize[0][channel]);
    transform.stddev[channel] = nb::cast<float>(normalize[1][channel]);
  }
  check_transform(transform);
  return transform;
}

void bind_loader(nb::module_& module) {
  using Self = ProcessLoader<Loader>;
  nb::class_<Self> loader(module, "Loader");
  loader
      .def(
          "__init__",
          [](Self* self, const nb::str& spec, const nb::typed<nb::dict, nb::str, nb::any>& given,
             std::optional<Selection> selection) {
            const std::string raw_spec = from_str(spec);
            LoaderOptions options = options_of(given);
            const nb::gil_scoped_release release;
            new (self) Self(selection ? std::make_unique<Loader>(raw_spec, std::move(options), *std::move(selection))
                                      : std::make_unique<Loader>(raw_spec, std::move(options)));
          },
          nb::arg("spec"), nb::arg("options"), nb::arg("selection").none())
      .def("next", &next_batch)
      .def("counters", &counters);
  bind_common(loader);

  module.def(
      "check_transform", [](nb::handle transform) { transform_of(transform); }, nb::arg("transform"));
}

}  // namespace bale::python
