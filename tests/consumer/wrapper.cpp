// A library that hides bale from the programs that link it.
#include <iostream>

#include "bale/formats/base/error.hpp"
#include "bale/loader/loader.hpp"

int train(const char* packed) {
  try {
    bale::Loader loader{packed, {.batch_size = 8, .workers = 1, .transform = bale::train_transform(32)}};
    std::cout << loader.next()->size() << '\n';
    return 0;
  } catch (const bale::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
