// Descriptors that are handed to other programs.
#pragma once

namespace bale::loader_detail {

/// The same file under a number above those that a worker has for itself; closes `fd`. A process whose standard input,
/// output or error is closed gets the numbers 0 to 2 for other files. Returns `fd` itself if there is none.
int above_worker_descriptors(int fd);

}  // namespace bale::loader_detail
