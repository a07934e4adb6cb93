// The program bale-worker: where it is, and the open file.
#pragma once

#include <string>

namespace bale::loader_detail {

/// `asked` where it is not empty; else $BALE_WORKER, the directory of this program, libexec beside it, or where bale
/// was installed. Throws `not_found`, saying how to name it.
std::string find_worker_program(const std::string& asked);

/// Kept open, so that workers can be started as long as it lives, whatever becomes of the path.
class WorkerProgram {
 public:
  /// Throws `not_found` as above.
  explicit WorkerProgram(const std::string& asked);
  ~WorkerProgram();
  WorkerProgram(const WorkerProgram&) = delete;
  WorkerProgram& operator=(const WorkerProgram&) = delete;

  const std::string& path() const { return path_; }
  /// -1 if it could not be opened: the path has to do.
  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace bale::loader_detail
