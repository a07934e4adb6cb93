// The number of files that this process has mapped. Internal.
#pragma once

namespace bale {

/// Files that FileMapping objects currently map.
int num_mapped_files();

}  // namespace bale
