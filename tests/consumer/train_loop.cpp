// A trainer's loop over a packed dataset: the example of docs/CPP.md.
#include <iostream>

#include "bale/formats/base/error.hpp"
#include "bale/loader/loader.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    bale::Loader loader{
        argv[1],
        {.batch_size = 16, .workers = 2, .seed = 1, .tail = bale::Tail::drop, .transform = bale::train_transform(64)}};
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::uint64_t num_images = 0;
      std::uint64_t brightness = 0;
      while (const auto batch = loader.next()) {
        for (const auto value : batch->pixels_as<std::uint8_t>()) brightness += value;  // size() x 64 x 64 x 3
        num_images += batch->size();
      }
      std::cout << num_images << ' ' << brightness / (num_images * 64 * 64 * 3) << '\n';
    }
    const bale::LoaderState state = loader.state();  // save these numbers with the model
    loader.load_state(state);                        // and continue from there, on any number of ranks and workers
    std::cout << state.epoch << ' ' << state.position << '\n';
  } catch (const bale::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
