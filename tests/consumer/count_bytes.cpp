// Reads a packed dataset: the example of docs/CPP.md.
#include <iostream>

#include "bale/formats/base/error.hpp"
#include "bale/reader/dataset.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto dataset = bale::Dataset::open(argv[1]);
    bale::Scratch scratch;  // reused memory, one a thread
    std::uint64_t num_bytes = 0;
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      const bale::SampleView sample = dataset.read(i, scratch);  // checksums compared
      num_bytes += sample["jpg"].size();
    }
    std::cout << dataset.size() << ' ' << dataset.classes().size() << ' ' << num_bytes << '\n';
  } catch (const bale::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
