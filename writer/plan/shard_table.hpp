// The options that determine the bytes of shards: what a stored plan has of them, and fingerprints.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

inline constexpr const char* k_seek_points_text =
    "Write seek points next to each shard, so that loaders can start decoding a JPEG at any row (about 0.3% of the "
    "bytes)";

/// Options of the format.
void add_format_options(OptionTable& table, PackOptions& options);
/// What is done with bad samples.
void add_on_error(OptionTable& table, PackOptions& options);
/// The same, and what is written next to shards.
void add_shard_options(OptionTable& table, PackOptions& options);
/// Changes to images, and add_image_checks().
void add_image_options(OptionTable& table, PackOptions& options);
/// Which images are bad samples.
void add_image_checks(OptionTable& table, PackOptions& options);

void add_sidecars(OptionTable& table, std::vector<std::string>& names);

/// The rows above that a plan stores as JSON, and back. What is absent keeps its value.
Json stored_options(const PackOptions& options);
void load_stored_options(const Json& json, PackOptions& options);

/// A line for each option that was given and determines bytes, unless fingerprint_of_options() has it by hand.
std::string fingerprint_of_stored(const PackOptions& options);

}  // namespace bale
