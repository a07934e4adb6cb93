// A recipe that was made in Python, by Compose.to_json(), gives the same pixels here.
#include <fstream>
#include <iostream>
#include <iterator>

#include "bale/formats/base/error.hpp"
#include "bale/loader/loader.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    std::ifstream file(argv[2]);
    const std::string recipe{std::istreambuf_iterator<char>(file), {}};
    bale::Loader loader{argv[1], {.batch_size = 8, .workers = 1, .seed = 3, .transform = bale::json_transform(recipe)}};
    const auto batch = loader.next();
    if (!batch) return 1;
    std::uint64_t sum = 0;
    std::uint64_t place = 0;
    for (const auto value : batch->pixels_as<std::uint8_t>()) sum += ++place * value;
    std::cout << batch->size() << ' ' << sum << '\n';
  } catch (const bale::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
