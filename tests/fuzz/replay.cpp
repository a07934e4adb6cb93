// Stands in for libFuzzer where a target is built without it: runs the target on each kept input, then on variations of
// them that are the same in every run.
// usage: fuzz_NAME VARIATIONS LAST-INPUT FILE-OR-DIRECTORY...
// Every input is written to LAST-INPUT before it is run; after a crash the file holds what caused it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size,
                                                                     std::size_t max_size, unsigned int seed);

namespace {

using Input = std::vector<std::byte>;
namespace fs = std::filesystem;

std::vector<std::string> files_of(int argc, char** argv) {
  std::vector<std::string> files;
  for (int i = 3; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One small change: a bit, a byte, a piece that goes, comes twice, or is another input's.
void change(Input& input, const std::vector<Input>& all, bale::KeyedRandom& random) {
  constexpr unsigned char k_odd[] = {0x00, 0x01, 0x7F, 0x80, 0xFF, '0', '9', '"', '\n', '/'};
  if (input.empty()) input.push_back(std::byte{0});
  const auto at = static_cast<std::ptrdiff_t>(random.below(input.size()));
  const auto length = static_cast<std::ptrdiff_t>(1 + random.below(std::min<std::size_t>(input.size() - at, 64)));
  switch (random.below(5)) {
    case 0:
      input[at] ^= std::byte{1} << random.below(8);
      break;
    case 1:
      input[at] = std::byte{k_odd[random.below(sizeof k_odd)]};
      break;
    case 2:
      input.erase(input.begin() + at, input.begin() + at + length);
      break;
    case 3: {
      const Input piece(input.begin() + at, input.begin() + at + length);
      input.insert(input.begin() + at, piece.begin(), piece.end());
      break;
    }
    default: {
      const Input& other = all[random.below(all.size())];
      if (other.empty()) return;
      input.resize(at);
      input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(at % other.size()), other.end());
    }
  }
}

/// What the target itself calls a change.
void change_by_target(Input& input, bale::KeyedRandom& random) {
  constexpr std::size_t k_max_size = 65'536;
  const std::size_t size = std::min(input.size(), k_max_size);
  input.resize(k_max_size);
  input.resize(LLVMFuzzerCustomMutator(reinterpret_cast<unsigned char*>(input.data()), size, k_max_size,
                                       static_cast<unsigned int>(random.below(1u << 31))));
}

void run(const Input& input, const std::string& last_input) {
  bale::File::create(last_input).write_at(0, input);
  const Input exact(input);  // no room after the end, so that reading beyond it is seen
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(exact.data()), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  try {
    const auto variations = std::strtoull(argv[1], nullptr, 10);
    const std::vector<std::string> files = files_of(argc, argv);
    std::vector<Input> inputs;
    for (const std::string& file : files) inputs.push_back(bale::read_file(file));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::printf("%s\n", files[i].c_str());
      std::fflush(stdout);
      run(inputs[i], argv[2]);
      for (std::uint64_t v = 0; v < variations; ++v) {
        bale::KeyedRandom random{i, v};
        Input input = inputs[i];
        for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
          LLVMFuzzerCustomMutator != nullptr ? change_by_target(input, random) : change(input, inputs, random);
        }
        run(input, argv[2]);
      }
    }
    fs::remove(argv[2]);
    return inputs.empty() ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
