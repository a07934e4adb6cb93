#include "bale/loader/loader.hpp"

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/options/loader_table.hpp"
#include "bale/python/bindings/batch/process_batch.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/python/bindings/loader/process_loader.hpp"
#include "bale/python/bindings/value.hpp"

namespace bale::python {
namespace {

// Options from Python's values, by their types. `keyword` is for messages.

template <typename Value>
void take(nb::handle given, const char* keyword, Value& value) {
  value = value_of<Value>(given, keyword);
}
template <typename Value>
void take(nb::handle given, const char* keyword, std::optional<Value>& value) {
  take(given, keyword, value.emplace());
}
void take(nb::handle given, const char* keyword, std::string& value) { value = text_of(given, keyword); }
void take(nb::handle given, const char* keyword, WorkerMode& value) {
  value = value_of<bool>(given, keyword) ? WorkerMode::threads : WorkerMode::processes;
}
void take(nb::handle given, const char*, Tail& value) { value = tail_of(given); }
void take(nb::handle given, const char* keyword, OnBadSample& value) {
  value = choice<OnBadSample>(
      given, keyword,
      {{"fail", OnBadSample::fail}, {"skip", OnBadSample::skip}, {"substitute", OnBadSample::substitute}});
}
const char* name_of(Labels each) { return each == Labels::merged ? "merged" : "separate"; }
void take(nb::handle given, const char* keyword, Labels& value) {
  value = choice<Labels>(given, keyword, {{"merged", Labels::merged}, {"separate", Labels::separate}});
}

/// (keyword, default, text) of each member of bale.Reading.
nb::list reading_rows() {
  nb::list rows;
  const LoaderOptions defaults;
  loader_detail::for_options(defaults, [&rows](const loader_detail::LoaderRow& row, const auto& value) {
    if (*row.text == '\0') return;
    if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, Labels>) {
      rows.append(nb::make_tuple(row.keyword, name_of(value), row.text));
    } else {
      rows.append(nb::make_tuple(row.keyword, value, row.text));
    }
  });
  return rows;
}

BoxFormat box_format_of(nb::handle given) {
  return choice<BoxFormat>(given, "fields",
                           {{"xyxy", BoxFormat::xyxy}, {"xywh", BoxFormat::xywh}, {"cxcywh", BoxFormat::cxcywh}});
}

/// From the tuples that bale._loader.fields.options_of makes: name, source, kind, optional, type, shape, fill, format,
/// stored_format, view, members, without.
std::vector<Field> fields_of(nb::handle given) {
  std::vector<Field> fields;
  for (const nb::handle one : given) {
    Field field{.name = from_str(nb::cast<nb::str>(one[0])),
                .source = from_str(nb::cast<nb::str>(one[1])),
                .kind = choice<FieldKind>(one[2], "fields",
                                          {{"", FieldKind::by_name},
                                           {"text", FieldKind::text},
                                           {"json", FieldKind::json},
                                           {"array", FieldKind::array},
                                           {"bytes", FieldKind::bytes},
                                           {"mask", FieldKind::mask},
                                           {"boxes", FieldKind::boxes},
                                           {"keypoints", FieldKind::keypoints}}),
                .optional = nb::cast<bool>(one[3]),
                .type = nb::cast<std::string>(one[4])};
    if (!one[5].is_none()) {
      std::vector<std::uint64_t>& shape = field.shape.emplace();
      for (const nb::handle side : one[5]) shape.push_back(value_of<std::uint64_t>(side, "fields"));
    }
    field.fill = value_of<std::uint16_t>(one[6], "fields");
    field.box_format = box_format_of(one[7]);
    if (!one[8].is_none()) field.stored_format = box_format_of(one[8]);
    if (!one[9].is_none()) field.view = value_of<std::uint32_t>(one[9], "fields");
    for (const nb::handle member : one[10]) field.members.push_back(from_str(nb::cast<nb::str>(member)));
    for (const nb::handle member : one[11]) field.without.push_back(from_str(nb::cast<nb::str>(member)));
    fields.push_back(std::move(field));
  }
  return fields;
}

/// None at the end of an epoch.
std::optional<ProcessBatch> next_batch(ProcessLoader<Loader>& self, nb::object positions) {
  std::optional<Batch> batch = self.wait_for([](Loader& loader, const auto& on_wait) { return loader.next(on_wait); });
  if (!batch) return std::nullopt;
  return ProcessBatch(*std::move(batch), std::move(positions));
}

nb::typed<nb::dict, nb::str, nb::any> counters(ProcessLoader<Loader>& self) {
  const LoaderCounters counted = self.get().counters();
  nb::dict dict;
  dict["batches"] = counted.batches;
  dict["samples"] = counted.samples;
  dict["batches_copied"] = counted.batches_copied;
  dict["workers_replaced"] = counted.workers_replaced;
  dict["wait_seconds"] = counted.wait_seconds;
  return dict;
}

}  // namespace

LoaderOptions options_of(const nb::dict& given) {
  LoaderOptions options;
  loader_detail::for_options(options, [&given](const loader_detail::LoaderRow& row, auto& value) {
    if (*row.keyword != '\0') take(given[row.keyword], row.keyword, value);
  });
  if (!given["workers"].is_none()) options.workers = option<std::uint32_t>(given, "workers");
  options.shuffle = shuffle_of(given["shuffle"], option<std::uint64_t>(given, "block_samples"),
                               option<std::uint64_t>(given, "window_blocks"),
                               given["ranks_per_node"].is_none() ? 0 : option<std::uint64_t>(given, "ranks_per_node"));
  options.transform = transform_of(given["transform"]);
  for (const nb::handle view : given["further_views"]) options.further_views.push_back(transform_of(view));
  for (const nb::handle one : given["source_transforms"]) options.source_transforms.push_back(transform_of(one));
  options.mix = {.mixup_alpha = option<double>(given, "mixup_alpha"),
                 .cutmix_alpha = option<double>(given, "cutmix_alpha"),
                 .probability = option<double>(given, "mix_probability"),
                 .switch_probability = option<double>(given, "mix_switch_probability")};
  options.fields = fields_of(given["fields"]);
  return options;
}

nb::list list_of(const std::vector<BadSample>& bad_samples) {
  nb::list list;
  for (const BadSample& bad : bad_samples) {
    const char* const action = bad.action == BadSample::Action::failed    ? "failed"
                               : bad.action == BadSample::Action::skipped ? "skipped"
                                                                          : "substituted";
    list.append(nb::make_tuple(bad.sample, to_str(bad.key), to_str(bad.shard), to_str(bad.reason),
                               counted_epoch(bad.epoch), action, bad.quarantined));
  }
  return list;
}

Transform transform_of(nb::handle given) {
  using Shape = Transform::Shape;
  const std::string json = nb::cast<std::string>(given.attr("to_json")());
  return json_transform(
      json,
      choice<PixelLayout>(given.attr("layout"), "layout", {{"nhwc", PixelLayout::nhwc}, {"nchw", PixelLayout::nchw}}),
      choice<PassOrder>(given.attr("pillow"), "pillow", {{"13", PassOrder::pillow_13}, {"12", PassOrder::pillow_12}}),
      choice<PixelMode>(
          given.attr("mode"), "mode",
          {{"RGB", PixelMode::rgb}, {"L", PixelMode::gray}, {"RGBA", PixelMode::rgba}, {"I;16", PixelMode::gray_16}}),
      choice<Shape>(given.attr("shape"), "shape",
                    {{"fixed", Shape::fixed}, {"ragged", Shape::ragged}, {"raw", Shape::raw}}));
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
            const WithoutGil without_gil;
            new (self) Self(selection ? std::make_unique<Loader>(raw_spec, std::move(options), *std::move(selection))
                                      : std::make_unique<Loader>(raw_spec, std::move(options)));
          },
          nb::arg("spec"), nb::arg("options"), nb::arg("selection").none())
      .def("next", &next_batch, nb::arg("positions"))
      .def("counters", &counters);
  bind_common(loader);

  module.def("reading_rows", &reading_rows, nb::sig("def reading_rows() -> list[tuple[str, typing.Any, str]]"),
             "The keyword, the default and the text of each option from which bale.Reading is made.");
  module.def("stop_other_threads", &stop_other_threads);
  module.def(
      "check_transform", [](nb::handle transform) { transform_of(transform); }, nb::arg("transform"));
}

}  // namespace bale::python
