// File descriptors that are passed to other programs.
#pragma once

namespace bale::loader_detail {

/// Moves `fd` to a number above the fixed descriptors of a worker, and closes `fd`. (If standard input, output or error
/// is closed, new files get the numbers 0 to 2.) Returns `fd` if it is high enough or cannot be moved.
int above_worker_descriptors(int fd);

/// A new memfd with such a number; -1 if the system refuses memfds.
int memory_descriptor(const char* name);

}  // namespace bale::loader_detail
