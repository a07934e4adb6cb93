// Where the program bale-worker is.
#pragma once

#include <string>

namespace bale::loader_detail {

/// `asked` where it is not empty; else $BALE_WORKER, the directory of this program, libexec beside it, or where bale
/// was installed. Throws `not_found`, saying how to name it.
std::string find_worker_program(const std::string& asked);

}  // namespace bale::loader_detail
