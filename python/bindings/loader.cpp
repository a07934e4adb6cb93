#include "bale/loader/loader.hpp"

#include <unistd.h>

#include <memory>
#include <optional>
#include <thread>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bale/formats/core/error.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/process_batch.hpp"

namespace bale::python {
namespace {

template <typename Value>
Value choice(nb::handle given, const char* option, std::initializer_list<std::pair<const char*, Value>> values) {
  const std::string text = nb::cast<std::string>(given);
  std::string names;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    names += names.empty() ? name : std::string(", ") + name;
  }
  throw Error(ErrorCode::invalid_argument, std::string(option) + ": '" + text + "' is none of " + names);
}

Range range_of(nb::handle pair) { return {nb::cast<double>(pair[0]), nb::cast<double>(pair[1])}; }

/// A Loader of the process that made it.
class ProcessLoader {
 public:
  ProcessLoader(const std::string& spec, LoaderOptions options, std::optional<Selection> selection)
      : loader_(selection ? std::make_unique<Loader>(spec, std::move(options), *std::move(selection))
                          : std::make_unique<Loader>(spec, std::move(options))) {}
  /// In a forked child workers, threads and slots are the parent's.
  ~ProcessLoader() {
    if (pid_ != ::getpid()) [[maybe_unused]]
      Loader* const parents = loader_.release();
  }
  ProcessLoader(const ProcessLoader&) = delete;
  ProcessLoader& operator=(const ProcessLoader&) = delete;

  Loader& get() {
    Loader& loader = look();
    if (busy_) throw Error(ErrorCode::invalid_argument, "this Loader is in next() already", {.hint = k_one_at_a_time});
    return loader;
  }

  /// For what may be asked from inside next() too, by a signal's handler.
  Loader& look() {
    if (pid_ != ::getpid()) {
      throw Error(ErrorCode::invalid_argument, "this Loader was made in another process, before it forked",
                  {.hint = "make a Loader in each process"});
    }
    if (!loader_) throw Error(ErrorCode::invalid_argument, "this Loader is closed", {.hint = "make another one"});
    if (busy_ && busy_thread_ != std::this_thread::get_id()) {
      throw Error(ErrorCode::invalid_argument, "this Loader is in use by another thread", {.hint = k_one_at_a_time});
    }
    return *loader_;
  }

  /// None at the end of an epoch.
  std::optional<ProcessBatch> next() {
    Loader& loader = get();
    const Busy busy(*this);
    std::optional<Batch> batch;
    {
      const nb::gil_scoped_release release;
      batch = loader.next([] {
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
      });
    }
    if (!batch) return std::nullopt;
    return ProcessBatch(*std::move(batch), loader.options().transform);
  }

  /// Calls `change` with the Loader, without the GIL.
  template <typename Change>
  void change(const Change& change) {
    Loader& loader = get();
    const Busy busy(*this);
    const nb::gil_scoped_release release;
    change(loader);
  }

  void close() {
    if (pid_ != ::getpid() || !loader_) return;
    get();
    const std::unique_ptr<Loader> closed = std::move(loader_);
    const nb::gil_scoped_release release;
    Loader ended = std::move(*closed);
  }

  bool closed() const { return !loader_; }

 private:
  static constexpr const char* k_one_at_a_time = "call it from one thread at a time";

  /// Guarded by the GIL.
  struct Busy {
    explicit Busy(ProcessLoader& loader) : loader_(loader) {
      loader_.busy_ = true;
      loader_.busy_thread_ = std::this_thread::get_id();
    }
    ~Busy() { loader_.busy_ = false; }
    ProcessLoader& loader_;
  };

  std::unique_ptr<Loader> loader_;
  pid_t pid_ = ::getpid();
  bool busy_ = false;
  std::thread::id busy_thread_{};
};

LoaderOptions options_of(const nb::dict& given) {
  LoaderOptions options;
  options.batch_size = nb::cast<std::uint32_t>(given["batch_size"]);
  if (!given["workers"].is_none()) options.workers = nb::cast<std::uint32_t>(given["workers"]);
  options.worker_mode = nb::cast<bool>(given["threads"]) ? WorkerMode::threads : WorkerMode::processes;
  options.prefetch = nb::cast<std::uint32_t>(given["prefetch"]);
  options.persistent_workers = nb::cast<bool>(given["persistent_workers"]);
  options.seed = nb::cast<std::uint64_t>(given["seed"]);
  options.shuffle.kind = choice<Shuffle::Kind>(
      given["shuffle"], "shuffle",
      {{"none", Shuffle::Kind::none}, {"full", Shuffle::Kind::full}, {"block", Shuffle::Kind::block}});
  if (options.shuffle.kind == Shuffle::Kind::block) {
    options.shuffle = Shuffle::block(nb::cast<std::uint64_t>(given["block_samples"]),
                                     nb::cast<std::uint64_t>(given["window_blocks"]));
  }
  options.rank = nb::cast<std::uint64_t>(given["rank"]);
  options.world_size = nb::cast<std::uint64_t>(given["world_size"]);
  options.tail =
      choice<Tail>(given["tail"], "tail", {{"pad", Tail::pad}, {"drop", Tail::drop}, {"uneven", Tail::uneven}});
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

nb::list bad_samples(ProcessLoader& self) {
  nb::list list;
  for (const BadSample& bad : self.get().bad_samples()) {
    const char* const action = bad.action == BadSample::Action::failed    ? "failed"
                               : bad.action == BadSample::Action::skipped ? "skipped"
                                                                          : "substituted";
    list.append(nb::make_tuple(bad.sample, to_str(bad.key), to_str(bad.shard), to_str(bad.reason), bad.epoch, action,
                               bad.quarantined));
  }
  return list;
}

nb::dict counters(ProcessLoader& self) {
  const LoaderCounters counted = self.get().counters();
  nb::dict dict;
  dict["batches"] = counted.batches;
  dict["samples"] = counted.samples;
  dict["workers_replaced"] = counted.workers_replaced;
  dict["wait_seconds"] = counted.wait_seconds;
  return dict;
}

}  // namespace

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
  nb::class_<Selection>(module, "Selection")
      .def_static("all", &Selection::all, nb::arg("size"))
      .def_static("subset", &Selection::subset, nb::arg("samples"), nb::arg("size"))
      .def_static(
          "weighted",
          [](const std::vector<double>& weights, std::uint64_t num_draws) {
            return Selection::weighted(weights, num_draws);
          },
          nb::arg("weights"), nb::arg("num_draws"))
      .def("repeated", &Selection::repeated, nb::arg("times"))
      .def("__len__", &Selection::size);

  nb::class_<ProcessLoader>(module, "Loader")
      .def(
          "__init__",
          [](ProcessLoader* self, const nb::str& spec, const nb::dict& given, std::optional<Selection> selection) {
            const std::string raw_spec = from_str(spec);
            LoaderOptions options = options_of(given);
            const nb::gil_scoped_release release;
            new (self) ProcessLoader(raw_spec, std::move(options), std::move(selection));
          },
          nb::arg("spec"), nb::arg("options"), nb::arg("selection").none())
      .def("next", &ProcessLoader::next)
      .def("close", &ProcessLoader::close)
      .def_prop_ro("closed", &ProcessLoader::closed)
      .def(
          "set_epoch",
          [](ProcessLoader& self, std::uint64_t epoch) {
            self.change([epoch](Loader& loader) { loader.set_epoch(epoch); });
          },
          nb::arg("epoch"))
      .def_prop_ro("epoch", [](ProcessLoader& self) { return self.look().epoch(); })
      .def("__len__", [](ProcessLoader& self) { return self.get().size(); })
      .def("num_samples", [](ProcessLoader& self) { return self.get().dataset().size(); })
      .def("state",
           [](ProcessLoader& self) {
             const LoaderState state = self.look().state();
             return nb::make_tuple(state.epoch, state.position, state.fingerprint);
           })
      .def(
          "load_state",
          [](ProcessLoader& self, std::uint64_t epoch, std::uint64_t position, std::uint64_t fingerprint) {
            self.change([&](Loader& loader) {
              loader.load_state({.epoch = epoch, .position = position, .fingerprint = fingerprint});
            });
          },
          nb::arg("epoch"), nb::arg("position"), nb::arg("fingerprint"))
      .def_prop_ro("workers", [](ProcessLoader& self) { return self.get().options().workers; })
      .def("worker_pids", [](ProcessLoader& self) { return self.get().worker_pids(); })
      .def("bad_samples", &bad_samples)
      .def("counters", &counters);

  module.def(
      "check_transform", [](nb::handle transform) { transform_of(transform); }, nb::arg("transform"));
}

}  // namespace bale::python
