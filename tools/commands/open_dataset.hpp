// Opens the dataset or source of a command, and says on standard error what that is, and which shard is being scanned
// if that takes long.
#pragma once

#include <memory>
#include <string>

#include "bale/reader/dataset.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/source/source.hpp"

namespace bale::tools {

/// `quiet`: nothing is said. Throws what Dataset::open() throws.
Dataset open_dataset(const std::string& spec, Terminal& terminal, bool quiet = false, DatasetOptions options = {});

/// named_datasets(), which says what is next to them.
NamedDatasets datasets_at(const std::string& spec, Terminal& terminal);

/// Opens a source, and says what it was taken for. Unless `quiet`, shows that it is being listed.
std::unique_ptr<Source> open_announced(const std::string& spec, const SourceOptions& options, Terminal& terminal,
                                       bool quiet);

}  // namespace bale::tools
