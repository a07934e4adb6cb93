// Continues where a Loader of Python stopped, and returns a state that Python continues.
#include <fstream>
#include <iostream>
#include <iterator>

#include "bale/bale.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    std::ifstream file(argv[2]);
    const std::string state{std::istreambuf_iterator<char>(file), {}};  // json.dumps(loader.state_dict())
    bale::Loader loader{argv[1], {.batch_size = 8, .workers = 1, .seed = 3, .transform = bale::train_transform(32)}};
    loader.load_state(bale::LoaderState::from_json(state));
    for (const bale::Batch& batch : loader) {
      for (const auto sample : batch.samples()) std::cout << sample << ' ';
      break;
    }
    std::cout << '\n' << loader.state().to_json() << '\n';
  } catch (const bale::Error& error) {
    std::cerr << bale::error_code_name(error.code()) << ": " << error.what() << '\n';
    return 1;
  }
}
