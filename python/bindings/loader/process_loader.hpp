// ProcessLoader: the Loader or CudaLoader of a Python object.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/loader.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/dataset/process_dataset.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"
#include "bale/reader/order/selection.hpp"

namespace bale::python {

/// Belongs to the process that made it. For one thread at a time.
template <typename AnyLoader>
class ProcessLoader {
 public:
  explicit ProcessLoader(std::unique_ptr<AnyLoader> loader) : loader_(std::move(loader)) {}
  /// In a forked child the Loader is leaked: its workers, threads and slots belong to the parent.
  ~ProcessLoader() {
    if (pid_ != ::getpid()) [[maybe_unused]]
      AnyLoader* const parents = loader_.release();
  }
  ProcessLoader(const ProcessLoader&) = delete;
  ProcessLoader& operator=(const ProcessLoader&) = delete;

  AnyLoader& get() {
    AnyLoader& loader = look();
    if (busy_) throw Error(ErrorCode::invalid_argument, "this Loader is in next() already", {.hint = k_one_at_a_time});
    return loader;
  }

  /// For calls that a signal handler may make inside next().
  AnyLoader& look() {
    stop_if_asked();
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

  /// Calls `next` without the GIL, with the Loader and a function to call while it waits.
  template <typename Next>
  auto wait_for(const Next& next) {
    AnyLoader& loader = get();
    const Busy busy(*this);
    WithoutGil without_gil;
    return next(loader, [this, &without_gil] {
      if (is_to_stop()) {
        parked_ = true;
        park();
      }
      without_gil.check_signals();
    });
  }

  /// Calls `change` with the Loader, without the GIL.
  template <typename Change>
  void change(const Change& change) {
    AnyLoader& loader = get();
    const Busy busy(*this);
    const WithoutGil without_gil;
    change(loader);
  }

  void close() {
    if (pid_ != ::getpid() || !loader_) return;
    get();
    std::unique_ptr<AnyLoader> closed = std::move(loader_);
    const WithoutGil without_gil;
    closed.reset();
  }

  /// close() for the shutdown of the interpreter, after stop_other_threads(). Works also if a daemon thread is in
  /// next(), which that thread then never leaves. If the thread cannot be stopped, the workers end with the process.
  void close_at_exit() {
    if (pid_ != ::getpid() || !loader_) return;
    {
      const WithoutGil without_gil;  // the thread may need it to leave next()
      const auto deadline = std::chrono::steady_clock::now() + k_patience;
      while (busy_ && !parked_ && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    std::unique_ptr<AnyLoader> closed = std::move(loader_);
    if (busy_ && !parked_) {
      [[maybe_unused]] AnyLoader* const in_use = closed.release();
      return;
    }
    const WithoutGil without_gil;
    closed.reset();
  }

  bool closed() const { return !loader_; }

 private:
  static constexpr std::chrono::seconds k_patience{2};

  /// Blocks a daemon thread during shutdown, instead of an error that its Loader is closed.
  static void stop_if_asked() {
    if (!is_to_stop()) return;
    const WithoutGil without_gil;
    park();
  }

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

  std::unique_ptr<AnyLoader> loader_;
  pid_t pid_ = ::getpid();
  std::atomic<bool> busy_{false};  // changed with the GIL
  std::atomic<bool> parked_{false};
  std::thread::id busy_thread_{};
};

LoaderOptions options_of(const nb::dict& given);
nb::list list_of(const std::vector<BadSample>& bad_samples);

/// Binds what every kind of loader has.
template <typename AnyLoader>
void bind_common(nb::class_<ProcessLoader<AnyLoader>>& loader) {
  using Self = ProcessLoader<AnyLoader>;
  using BadSamples = nb::typed<nb::list, nb::typed<nb::tuple, nb::any, nb::ellipsis>>;
  loader.def("close", &Self::close)
      .def("close_at_exit", &Self::close_at_exit)
      .def_prop_ro("closed", &Self::closed)
      .def(
          "set_epoch",
          [](Self& self, std::uint64_t epoch) { self.change([epoch](AnyLoader& held) { held.set_epoch(epoch); }); },
          nb::arg("epoch"))
      .def_prop_ro("epoch", [](Self& self) { return self.look().epoch(); })
      .def("__len__",
           [](Self& self) { return self.wait_for([](AnyLoader& held, const auto&) { return held.size(); }); })
      .def("is_counted",
           [](Self& self) {
             const Dataset& dataset = self.get().dataset();
             return dataset.num_counted_shards() == dataset.num_shards();
           })
      .def("version", [](Self& self) { return held_version(self.get().dataset()); })
      .def(
          "has_version",
          [](Self& self, const HeldVersion& wanted) {
            bool has = false;
            self.change([&](AnyLoader& held) { has = holds_version(held.dataset(), wanted); });
            return has;
          },
          nb::arg("wanted"))
      .def("notices", [](Self& self) { return list_of(self.get().dataset().notices()); })
      .def("num_samples",
           [](Self& self) { return self.wait_for([](AnyLoader& held, const auto&) { return held.dataset().size(); }); })
      .def("state",
           [](Self& self) {
             const LoaderState state = self.look().state();
             return std::make_tuple(state.epoch, state.position, state.fingerprint, state.nodes.count,
                                    state.nodes.ranks, state.dataset, state.shards, state.content);
           })
      .def(
          "load_state",
          [](Self& self, std::uint64_t epoch, std::uint64_t position, std::uint64_t fingerprint, std::uint64_t nodes,
             std::uint64_t ranks_per_node, std::uint64_t dataset, std::uint64_t shards, std::uint64_t content) {
            self.change([&](AnyLoader& held) {
              held.load_state({.epoch = epoch,
                               .position = position,
                               .fingerprint = fingerprint,
                               .dataset = dataset,
                               .nodes = {.count = nodes, .ranks = ranks_per_node},
                               .shards = shards,
                               .content = content});
            });
          },
          nb::arg("epoch"), nb::arg("position"), nb::arg("fingerprint"), nb::arg("nodes") = 0,
          nb::arg("ranks_per_node") = 0, nb::arg("dataset") = 0, nb::arg("shards") = 0, nb::arg("content") = 0)
      .def_prop_ro("workers", [](Self& self) { return self.get().options().workers; })
      .def("worker_pids", [](Self& self) { return self.get().worker_pids(); })
      .def("bad_samples", [](Self& self) -> BadSamples { return BadSamples(list_of(self.get().bad_samples())); });
}

/// Converts the Loader's options for the order of an epoch.
/// "none", "full", "block", which uses the first two numbers, or "node-local", which uses the last. Throws
/// `invalid_argument` for anything else.
Shuffle shuffle_of(nanobind::handle name, std::uint64_t block_samples, std::uint64_t window_blocks,
                   std::uint64_t ranks_per_node = 0);
/// "pad", "drop" or "uneven". Throws `invalid_argument` for anything else.
Tail tail_of(nanobind::handle name);

}  // namespace bale::python
