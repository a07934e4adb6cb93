// How many files this process has mapped. Internal to this folder.
#pragma once

namespace bale {

/// Files that FileMapping objects have mapped at present.
int num_mapped_files();

}  // namespace bale
