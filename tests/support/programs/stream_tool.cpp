// stream_tool SPEC WORKER: writes two epochs of the C++ loader to standard output as raw bytes, per batch: samples,
// labels, mask, pixels. Tests compare the batches of the Python loader with it.
#include <cstdio>
#include <span>

#include "bale/formats/base/error.hpp"
#include "bale/loader/loader.hpp"

namespace {

void put(bale::Bytes bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stdout); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    bale::Loader loader{argv[1],
                        {.batch_size = 16,
                         .workers = 2,
                         .seed = 5,
                         .rank = 1,
                         .world_size = 2,
                         .tail = bale::Tail::uneven,
                         .transform = bale::train_transform(32),
                         .worker_program = argv[2]}};
    for (int epoch = 0; epoch < 2; ++epoch) {
      while (const auto batch = loader.next()) {
        put(std::as_bytes(batch->samples()));
        put(std::as_bytes(batch->labels()));
        put(std::as_bytes(batch->mask()));
        put(batch->pixels());
      }
    }
  } catch (const bale::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
