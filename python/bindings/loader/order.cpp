#include "bale/python/bindings/loader/process_loader.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/value.hpp"

namespace bale::python {
namespace {

template <typename Number>
using Numbers = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Position of a row in the epoch; None if the row is empty.
std::optional<std::uint64_t> row(const RankPlan& plan, std::uint64_t batch, std::uint64_t index) {
  if (batch >= plan.num_batches() || index >= plan.num_rows(batch)) throw nb::index_error("no such row in this plan");
  const PlannedRow planned = plan.row(batch, index);
  if (planned.kind == PlannedRow::Kind::empty) return std::nullopt;
  return planned.position;
}

using Counts = std::vector<std::uint64_t>;

Selection mixture(Counts sizes, Counts shares, Counts identities, std::uint64_t epoch_samples,
                  std::uint64_t exact_every, std::uint64_t together, std::uint64_t begin, Counts delivered) {
  return Selection::mixture(std::move(sizes), std::move(shares),
                            {.epoch_samples = epoch_samples,
                             .exact_every = exact_every,
                             .together = together,
                             .identities = std::move(identities),
                             .begin = begin,
                             .delivered = std::move(delivered)});
}

Counts delivered(const Selection& selection, std::uint64_t epoch, std::uint64_t position, std::uint64_t seed) {
  if (selection.mixture() == nullptr) throw nb::type_error("this selection is not a mixture");
  return selection.mixture()->delivered(epoch, position, seed);
}

/// (source, share) each.
Counts whole_shares_of(const std::vector<std::pair<std::string, std::string>>& given) {
  std::vector<NamedShare> shares;
  for (const auto& [source, share] : given) shares.push_back({source, share});
  return whole_shares(shares);
}

}  // namespace

Shuffle shuffle_of(nb::handle name, std::uint64_t block_samples, std::uint64_t window_blocks,
                   std::uint64_t ranks_per_node) {
  const auto kind = choice<Shuffle::Kind>(name, "shuffle",
                                          {{"none", Shuffle::Kind::none},
                                           {"full", Shuffle::Kind::full},
                                           {"block", Shuffle::Kind::block},
                                           {"node-local", Shuffle::Kind::node_local},
                                           {"stream", Shuffle::Kind::stream}});
  if (kind == Shuffle::Kind::node_local) return Shuffle::node_local(ranks_per_node);
  if (kind == Shuffle::Kind::stream) return Shuffle::stream(block_samples, window_blocks);
  return kind == Shuffle::Kind::block ? Shuffle::block(block_samples, window_blocks) : Shuffle{.kind = kind};
}

Tail tail_of(nb::handle name) {
  return choice<Tail>(name, "tail", {{"pad", Tail::pad}, {"drop", Tail::drop}, {"uneven", Tail::uneven}});
}

namespace {

void bind_selection(nb::module_& module) {
  nb::class_<Selection>(module, "Selection", "The samples of an epoch, and how often each is delivered.")
      .def_static("all", &Selection::all, nb::arg("size"))
      .def_static(
          "subset",
          [](const Numbers<std::uint64_t>& samples, std::uint64_t size) {
            return Selection::subset({samples.data(), samples.data() + samples.size()}, size);
          },
          nb::arg("samples"), nb::arg("size"))
      .def_static(
          "weighted",
          [](const Numbers<double>& weights, std::uint64_t num_draws) {
            return Selection::weighted({weights.data(), weights.size()}, num_draws);
          },
          nb::arg("weights"), nb::arg("num_draws"))
      .def_static("mixture", &mixture, nb::arg("sizes"), nb::arg("shares"), nb::arg("identities"),
                  nb::arg("epoch_samples"), nb::arg("exact_every"), nb::arg("together"), nb::arg("begin"),
                  nb::arg("delivered"),
                  "Several sources with shares. Numbers that are 0 and empty lists: the defaults.")
      .def("delivered", &delivered, nb::arg("epoch"), nb::arg("position"), nb::arg("seed"),
           "Of a mixture: deliveries of each source before a position of an epoch.")
      .def("repeated", &Selection::repeated, nb::arg("times"))
      .def("__len__", &Selection::size);
}

void bind_epoch_order(nb::module_& module) {
  nb::class_<EpochOrder>(module, "EpochOrder", "The order of an epoch: a function from a position to a sample.")
      .def(
          "__init__",
          [](EpochOrder* self, const Selection& selection, nb::handle shuffle, std::uint64_t block_samples,
             std::uint64_t window_blocks, std::uint64_t seed) {
            new (self) EpochOrder(selection, shuffle_of(shuffle, block_samples, window_blocks), seed);
          },
          nb::arg("selection"), nb::arg("shuffle"), nb::arg("block_samples"), nb::arg("window_blocks"), nb::arg("seed"))
      .def_static(
          "node_local",
          [](const Selection& selection, const Numbers<std::uint64_t>& shard_ends, std::uint64_t nodes,
             std::uint64_t ranks_per_node, std::uint64_t seed) {
            NodeParts parts({shard_ends.data(), shard_ends.data() + shard_ends.size()},
                            {.count = nodes, .ranks = ranks_per_node}, seed);
            return EpochOrder(selection.sorted(), std::move(parts), seed);
          },
          nb::arg("selection"), nb::arg("shard_ends"), nb::arg("nodes"), nb::arg("ranks_per_node"), nb::arg("seed"),
          "The order of shuffle=\"node-local\". shard_ends: deliveries of the selection up to the end of each shard.")
      .def("__len__", &EpochOrder::size)
      .def(
          "sample",
          [](const EpochOrder& self, std::uint64_t epoch, std::uint64_t position) {
            if (position >= self.size()) throw nb::index_error("no such position in this epoch");
            return self.at(epoch, position).sample;
          },
          nb::arg("epoch"), nb::arg("position"), "The sample at a position of an epoch. Raises IndexError.")
      .def(
          "fingerprint",
          [](const EpochOrder& self, std::uint64_t dataset_size) { return self.fingerprint(dataset_size); },
          nb::arg("dataset_size"), "The fingerprint in states up to version 0.1.0.")
      .def(
          "fingerprint",
          [](const EpochOrder& self, std::uint64_t dataset_size, std::uint64_t dataset_identity) {
            return self.fingerprint(dataset_size, dataset_identity);
          },
          nb::arg("dataset_size"), nb::arg("dataset_identity"), "The fingerprint in states, also in the Loader's.");
}

void bind_rank_plan(nb::module_& module) {
  nb::class_<RankPlan>(module, "RankPlan", "The positions of an epoch in each batch of one rank.")
      .def(
          "__init__",
          [](RankPlan* self, std::uint64_t epoch_size, std::uint64_t start, std::uint64_t batch_size,
             std::uint64_t rank, std::uint64_t world_size, nb::handle tail) {
            const RankShare share{
                .batch_size = batch_size, .rank = rank, .world_size = world_size, .tail = tail_of(tail)};
            new (self) RankPlan(epoch_size, start, share);
          },
          nb::arg("epoch_size"), nb::arg("start"), nb::arg("batch_size"), nb::arg("rank"), nb::arg("world_size"),
          nb::arg("tail"))
      .def_prop_ro("num_batches", &RankPlan::num_batches)
      .def("num_rows", &RankPlan::num_rows, nb::arg("batch"))
      .def("row", &row, nb::arg("batch"), nb::arg("index"),
           "The position of a row in the epoch; None if the row is empty. Raises IndexError.")
      .def("position_after", &RankPlan::position_after, nb::arg("batches"));
}

}  // namespace

void bind_order(nb::module_& module) {
  bind_selection(module);
  module.def("whole_shares", &whole_shares_of, nb::arg("shares"),
             "Shares of sources, (source, text) each, as whole numbers without a common divisor.");
  bind_epoch_order(module);
  bind_rank_plan(module);
}

}  // namespace bale::python
