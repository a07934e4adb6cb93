// Options that say how a source is read: of every command that takes folders, lists, tables and packed datasets.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// What the source of a command can be.
enum class SourceUse {
  any,      // one source, or several of one kind
  packed,   // packed datasets only
  of_each,  // several sources of different kinds: each takes what is for its kind
};

inline constexpr const char* k_source_text =
    "A packed dataset, or a folder, list (a text file of paths) or table (.csv, .tsv, .jsonl) of images";

/// Which samples are taken, and what makes a sample and its label. `source` must exist when values are taken.
void add_source_options(OptionTable& table, SourceOptions& source, SourceUse use);

/// Those of a list of files.
void add_list_options(OptionTable& table, SourceOptions& source);

/// The options that are not what they are by default, by their names; of all, or of those that change labels or keys of
/// files, without `source`.
std::vector<std::string> given_source_options(const SourceOptions& options, bool only_for_files);

}  // namespace bale
