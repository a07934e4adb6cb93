// Writer: packs samples that a program hands over one by one, with pack()'s options and promises.
//
//     bale::Writer writer({.pack = {.destination = "packed"}, .classes = names});
//     for (...) writer.add(key, fields, label);
//     writer.close();
//
// Samples are collected until they fill a shard. Then the shard is written by the code that packs folders, on a thread
// of its own, and published when it is complete and durable. The shards are byte for byte those that pack() writes of
// the same samples in the same order, whatever the number of jobs, of checkpoints and of interruptions. manifest.json
// is written by close(), last of all.
//
// Not of a Writer: options that need all samples beforehand (shard_count, shuffle, splits, max_samples), and the policy
// `quarantine`. DestinationMode::overwrite, and a layout whose shards are named NAME-00003-of-00012, publish all shards
// in close().
//
// Memory: Options::memory_bytes, up to a quarter of that again (at most 256 MiB) for samples to come, the samples of a
// call per thread that adds, the hashes of all keys (8 to 22 bytes per sample; above 256 MiB in a file without a name
// in the destination), and while a shard is written its index. Threads: every method may be called by many threads at
// once. Samples are then in the order in which add() took them. Processes: belongs to the process that made it. In a
// forked child every method throws `unsupported`, and the destructor does nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/shard/sample.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

class Writer {
 public:
  struct Options {
    PackOptions pack;                    // `jobs` 0: one per core, at most 4
    std::vector<std::string> classes{};  // class name of label 0, 1, ...; may be empty
    /// Samples that wait in memory. What does not fit waits in a file in the destination.
    std::uint64_t memory_bytes = std::uint64_t{1} << 30;
    /// Part `first` of `second`, counted from 0: one of several Writers, in any processes and machines, that share the
    /// destination. Each writes samples of its own, possibly none, and is resumed and overwritten by itself;
    /// merge_writer_parts() makes the dataset of all, in the order of the parts. close() publishes the part, and its
    /// report is that of the part. Keys that two parts have are found by the merge.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> part{};
    /// Called about every 50 ms while a method waits, by its thread. What it throws ends the method; the Writer is as
    /// if it had not been called.
    std::function<void()> on_wait{};
  };

  /// Prepares and locks the destination, whose name is made absolute here. With DestinationMode::resume takes up what
  /// an earlier Writer of the same options left: count() says how many samples are there. A finished dataset of the
  /// same options is also taken up, and no sample can be added to it. Throws
  ///   `invalid_argument`  contradictory options
  ///   `exists`            the destination is not empty, or holds an unfinished run of other options, or other parts
  ///   than
  ///                       those of a Writer with Options::part
  ///   `retryable`         another run writes to the destination
  ///   `damaged`           a shard of the earlier run is damaged
  ///   `io`
  explicit Writer(Options options);
  /// Calls abandon() if neither it nor close() was called, and ignores its errors.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Adds a sample after all others and returns its number, counted from 0. Everything is copied. Field names are
  /// extensions ("jpg", "mask.png"); they become lower case, and "jpeg" becomes "jpg". A `cls` field holds the label's
  /// digits and is added if a label is given without it. A key may be any text that names a file: see KEYS in
  /// docs/WRITING.md. Throws
  ///   `invalid_argument`  a bad or repeated key (the message names both samples), bad fields, a label without a class,
  ///                       or a Writer that was closed
  ///   `damaged`           an image that is none (unless the policy is OnError::skip)
  ///   `io`                a full disk, for example
  /// and the error of an earlier sample whose shard could not be written; then no sample can be added any more.
  /// If it throws, this sample was not added.
  std::uint64_t add(std::string_view key, std::span<const FieldView> fields, std::int64_t label = k_no_label);
  /// Adds samples as that many calls of add() with their keys, labels and fields do, and returns the number of the
  /// first. All are checked before one is added: if `samples[n]` is refused (`invalid_argument`, `damaged`), none was
  /// added, and the message begins with its position n. After any other error the first of them were added; count()
  /// says how many.
  std::uint64_t add_many(std::span<const SampleView> samples);

  /// Number of samples that were added, by this run or the one that it continues, with those that were skipped.
  std::uint64_t count() const;
  /// Whether a sample with this key was added and not skipped.
  bool contains(std::string_view key) const;

  /// Returns count() when these samples are durable: a run that resumes after a crash or a power loss has them. Does
  /// not end the current shard.
  std::uint64_t checkpoint();

  /// Writes the last shard and the manifest, and returns when everything is durable. Later calls return the same
  /// report. Throws `invalid_argument` if there is no sample and `damaged` if all were skipped (unless it writes a
  /// part), and what add() throws. After an error a new Writer may resume.
  PackReport close();

  /// Ends without a manifest. All samples are kept for a Writer that resumes, as far as the disk has room; returns how
  /// many. Without samples the destination is left as it was found. Does nothing after close(). Throws `io`; the
  /// samples of the last checkpoint are kept then, and the next call returns how many.
  std::uint64_t abandon();

 private:
  class Run;
  Run& run() const;

  std::unique_ptr<Run> run_;
};

}  // namespace bale
