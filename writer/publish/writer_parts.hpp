// The places of the parts that several Writers write: DESTINATION/.bale-parts/00003-of-00016 is a dataset of its own,
// with its own lock, journal and manifest, until the parts are merged.
//
// Functions are safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bale {

inline constexpr const char* k_writer_parts_name = ".bale-parts";

struct WriterPart {
  std::uint64_t part = 0;
  std::uint64_t parts = 0;
  std::string directory;
};

/// The directory of part `part.first` of `part.second`, which need not exist. Throws `invalid_argument` for a part that
/// cannot be, and `exists` if the destination holds anything but parts of the same number. Writes nothing.
std::string place_of_writer_part(const std::string& destination, std::pair<std::uint64_t, std::uint64_t> part);

/// The parts that were begun, by number.
std::vector<WriterPart> find_writer_parts(const std::string& destination);

/// Throws `exists` if the destination holds parts of Writers.
void refuse_writer_parts(const std::string& destination);

/// Removes the parts, which were merged into the dataset with this fingerprint. If it is killed, merged_fingerprint()
/// says so.
void remove_writer_parts(const std::string& destination, const std::string& fingerprint);
/// The fingerprint that remove_writer_parts() was called with, if it did not end; else empty.
std::string merged_fingerprint(const std::string& destination);

}  // namespace bale
