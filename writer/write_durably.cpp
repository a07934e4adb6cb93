#include "bale/writer/write_durably.hpp"

#include "bale/formats/core/file.hpp"

namespace bale {

void write_durably(const std::string& path, Bytes bytes) {
  File file = File::create(path);
  file.write_at(0, bytes);
  file.sync();
  file.close();
}

}  // namespace bale
