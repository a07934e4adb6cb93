#include "bale/python/bindings/dataset/read_many.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/python/bindings/value.hpp"

namespace bale::python {
namespace {

constexpr std::size_t k_samples_per_piece = 8;  // few enough for all threads, enough to hide the cost of a piece

/// One sample: the memory of a Python object of the size that the index gives, or bytes that did not fit there.
struct Read {
  std::uint64_t sample = 0;
  std::size_t size = 0;  // as stored
  std::byte* place = nullptr;
  std::vector<std::byte> inflated{};
  bool is_inflated = false;
};

template <typename Size>
std::size_t sum_of(const std::vector<Read>& reads, const Size& size) {
  return std::accumulate(reads.begin(), reads.end(), std::size_t{0},
                         [&](std::size_t sum, const Read& read) { return sum + size(read); });
}

void require_room(std::size_t needed, MutableBytes out) {
  if (needed <= out.size()) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("out has {} bytes, and these samples need {}", out.size(), needed));
}

std::vector<Read> sizes_of(const Dataset& dataset, const std::vector<std::uint64_t>& samples,
                           const std::optional<std::string>& name) {
  const WithoutGil without_gil;
  std::vector<Read> reads;
  reads.reserve(samples.size());
  for (const std::uint64_t sample : samples) {
    const auto [shard, in_shard] = dataset.position(sample);
    const IndexInUse index = dataset.use_index(shard);
    const std::optional<std::uint32_t> field = name ? index->field_id(*name) : index->image_field(in_shard);
    reads.push_back({.sample = sample, .size = field ? index->extent(in_shard, *field).length : 0});
  }
  return reads;
}

void read_one(const Dataset& dataset, const std::optional<std::string>& name, Read& read, Scratch& scratch) {
  const auto [shard, in_shard] = dataset.position(read.sample);
  const Bytes bytes =
      name ? dataset.read_field(read.sample, *name, scratch) : dataset.use_shard(shard)->read_image(in_shard, scratch);
  if (bytes.data() == read.place && bytes.size() == read.size) return;
  read.inflated.assign(bytes.begin(), bytes.end());
  read.is_inflated = true;
}

/// Remote shards are read by one thread: it looks for signals while it waits for the server. What it waits for was
/// requested for all samples.
bool has_remote(const Dataset& dataset, const std::vector<std::uint64_t>& samples) {
  return std::any_of(samples.begin(), samples.end(), [&](std::uint64_t sample) {
    return remote_storage_of(dataset.shard_path(dataset.position(sample).first)) != nullptr;
  });
}

void read_all(const Dataset& dataset, const std::vector<std::uint64_t>& samples, const std::optional<std::string>& name,
              std::vector<Read>& reads, unsigned threads) {
  const WithoutGil without_gil;
  const bool is_remote = has_remote(dataset, samples);
  dataset.prefetch(samples);
  const std::size_t pieces = (reads.size() + k_samples_per_piece - 1) / k_samples_per_piece;
  const auto read_piece = [&](std::size_t piece) {
    const std::size_t begin = piece * k_samples_per_piece;
    const std::span part = std::span(reads).subspan(begin, std::min(k_samples_per_piece, reads.size() - begin));
    for (Read& read : part) {
      Scratch scratch(MutableBytes{read.place, read.size});
      read_one(dataset, name, read, scratch);
    }
  };
  if (is_remote || pieces < 2 || threads == 1) {
    for (std::size_t piece = 0; piece < pieces; ++piece) read_piece(piece);
  } else {
    run_parallel(pieces, threads, read_piece);
  }
}

/// Copies all bytes to `out`, one sample after the other. Sizes of fields that are compressed are known only now.
void place_again(std::vector<Read>& reads, MutableBytes out) {
  for (Read& read : reads) {
    if (!read.is_inflated) read.inflated.assign(read.place, read.place + read.size);
  }
  require_room(sum_of(reads, [](const Read& read) { return read.inflated.size(); }), out);
  std::byte* place = out.data();
  for (Read& read : reads) {
    place = std::copy(read.inflated.begin(), read.inflated.end(), place);
    read.size = read.inflated.size();
  }
}

/// Makes malloc keep memory of this size when the caller frees the objects of a call, for those of the next: to get it
/// from the kernel again costs three times as much as to read into it. glibc keeps up to twice the largest block that
/// it mapped and that was freed, if that had up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD). For others this does nothing.
void keep_for_next_call(std::size_t bytes) {
  constexpr std::size_t k_largest = (std::size_t{32} << 20) - (std::size_t{64} << 10);
  static std::atomic<std::size_t> kept{0};
  bytes = std::min(bytes, k_largest);
  if (bytes <= kept.load(std::memory_order_relaxed)) return;
  kept.store(bytes, std::memory_order_relaxed);
  PyMem_Free(PyMem_Malloc(bytes));
}

std::optional<std::string> name_of(nb::handle field) {
  return field.is_none() ? std::nullopt : std::optional(text_of(field, "field"));
}

}  // namespace

nb::typed<nb::list, nb::bytes> read_many(ProcessDataset& self, nb::handle positions, nb::handle field,
                                         unsigned threads) {
  const std::optional<std::string> name = name_of(field);
  const std::vector<std::uint64_t> samples = samples_at(positions, self.get().size());
  const Dataset& dataset = self.get();
  std::vector<Read> reads = sizes_of(dataset, samples, name);
  keep_for_next_call(sum_of(reads, [](const Read& read) { return read.size; }));
  std::vector<nb::bytes> objects;
  objects.reserve(reads.size());
  for (Read& read : reads) {
    auto object = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(read.size)));
    if (!object.is_valid()) throw nb::python_error();
    read.place = reinterpret_cast<std::byte*>(PyBytes_AsString(object.ptr()));
    objects.push_back(std::move(object));
  }
  read_all(dataset, samples, name, reads, threads);
  nb::list list;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    list.append(reads[i].is_inflated ? to_bytes(reads[i].inflated) : objects[i]);
  }
  return nb::typed<nb::list, nb::bytes>(list);
}

nb::typed<nb::list, nb::int_> read_many_into(ProcessDataset& self, nb::handle positions, nb::handle field,
                                             unsigned threads, const Out& out) {
  const std::optional<std::string> name = name_of(field);
  const std::vector<std::uint64_t> samples = samples_at(positions, self.get().size());
  const Dataset& dataset = self.get();
  const MutableBytes room{reinterpret_cast<std::byte*>(out.data()), out.size()};
  std::vector<Read> reads = sizes_of(dataset, samples, name);
  require_room(sum_of(reads, [](const Read& read) { return read.size; }), room);
  std::byte* place = room.data();
  for (Read& read : reads) {
    read.place = place;
    place += read.size;
  }
  read_all(dataset, samples, name, reads, threads);
  if (std::any_of(reads.begin(), reads.end(), [](const Read& read) { return read.is_inflated; })) {
    place_again(reads, room);
  }
  nb::list sizes;
  for (const Read& read : reads) sizes.append(read.size);
  return nb::typed<nb::list, nb::int_>(sizes);
}

namespace nb = nanobind;

namespace {

[[noreturn]] void refuse_position(nb::handle given) {
  PyErr_Format(PyExc_ValueError, "positions: %.80R is not a position; those of a mask are np.flatnonzero(mask)",
               given.ptr());
  throw nb::python_error();
}

/// Bytes, or an array whose items Python takes for 0 and 1.
bool holds_no_positions(nb::handle given) {
  if (PyBytes_Check(given.ptr()) || PyByteArray_Check(given.ptr())) return true;
  if (!nb::hasattr(given, "dtype")) return false;
  const nb::object dtype = given.attr("dtype");
  return std::string_view(nb::str(nb::handle(dtype)).c_str()).ends_with("bool");
}

}  // namespace

std::uint64_t sample_at(nb::handle i, std::uint64_t size) {
  if (!PyIndex_Check(i.ptr())) {
    PyErr_Format(PyExc_TypeError, "the position of a sample is an int, not %.80R", i.ptr());
    throw nb::python_error();
  }
  const nb::object index = nb::steal(PyNumber_Index(i.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long position = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  const auto count = static_cast<long long>(size);
  if (overflow != 0 || position < -count || position >= count) {
    PyErr_Format(PyExc_IndexError, "sample %S of %lld", index.ptr(), count);
    throw nb::python_error();
  }
  return static_cast<std::uint64_t>(position < 0 ? position + count : position);
}

std::vector<std::uint64_t> samples_at(nb::handle positions, std::uint64_t size) {
  if (holds_no_positions(positions)) refuse_position(positions);
  const nb::object iterator = nb::steal(PyObject_GetIter(positions.ptr()));
  if (!iterator.is_valid()) throw nb::python_error();
  std::vector<std::uint64_t> samples;
  for (;;) {
    const nb::object i = nb::steal(PyIter_Next(iterator.ptr()));
    if (!i.is_valid()) break;
    if (PyBool_Check(i.ptr())) refuse_position(i);
    samples.push_back(sample_at(i, size));
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return samples;
}

}  // namespace bale::python
