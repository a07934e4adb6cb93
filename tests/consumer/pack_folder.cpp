// Packs a folder through the library.
#include <iostream>

#include "bale/formats/base/error.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/source/source.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const auto source = bale::open_folder_source(argv[1], {});
    bale::Progress progress;
    const bale::PackReport report =
        bale::pack(*source, {.destination = argv[2], .format = bale::find_format(argv[3]), .name = "photos"}, progress);
    std::cout << report.num_samples << '\n';
  } catch (const bale::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
