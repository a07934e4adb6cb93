// diff_sources(): what two collections of samples differ in: folders, lists, packed datasets of any format.
//
// Samples are the same if they have the same key. Their order does not matter, nor how a container stores them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bale/formats/base/progress.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

struct Difference {
  enum class Kind {
    only_in_a,
    only_in_b,
    label,            // another class number, or another name of the class
    field_only_in_a,  // a field that the sample has on one side
    field_only_in_b,
    bytes,            // of a field
    unreadable_in_a,  // the sample cannot be read, so that it was not compared
    unreadable_in_b,
  };
  Kind kind = Kind::bytes;
  std::string key;
  std::string field{};   // of bytes and fields
  std::string what{};    // label: the labels; bytes: sizes and the first byte that differs; unreadable: why
  std::string origin{};  // path, or shard and key, on the side that the kind names; else in A
};

struct DiffOptions {
  bool keys_only = false;  // compare keys and labels, and read nothing
  unsigned jobs = 0;       // samples compared at a time; 0: one per core
};

struct DiffReport {
  std::uint64_t samples_in_a = 0;
  std::uint64_t samples_in_b = 0;
  std::uint64_t num_same = 0;
  std::uint64_t num_different = 0;  // samples on both sides with other fields, bytes or labels
  std::uint64_t num_only_in_a = 0;
  std::uint64_t num_only_in_b = 0;
  std::uint64_t num_unreadable = 0;
  bool same_classes = true;  // the names of the classes and their numbers

  bool is_same() const { return same_classes && num_same == samples_in_a && num_same == samples_in_b; }
};

/// Calls `on_difference` for each difference, in A's order, and then for what is only in B, in B's order; from this
/// thread. The field `cls` is not compared where a sample has a label, which is. `progress` counts A's samples, and the
/// bytes of both sides. Memory: 16 bytes per sample of B next to what the sources take.
///
/// Both sources need the same SourceOptions::keys_name_files. Throws `interrupted`, and what a lack of memory or
/// descriptors throws; a sample that cannot be read is a difference.
DiffReport diff_sources(const Source& a, const Source& b, const DiffOptions& options, Progress& progress,
                        const std::function<void(const Difference&)>& on_difference);

}  // namespace bale
