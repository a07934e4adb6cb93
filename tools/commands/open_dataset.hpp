// Opens the dataset of a command, and says on standard error which shard is being scanned if that takes long.
#pragma once

#include <string>

#include "bale/reader/dataset.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

/// `quiet`: nothing is said. Throws what Dataset::open() throws.
Dataset open_dataset(const std::string& spec, Terminal& terminal, bool quiet = false, DatasetOptions options = {});

}  // namespace bale::tools
