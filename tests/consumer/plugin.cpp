// A plugin of a program that may have another bale in its process.
#include <bale/bale.hpp>

extern "C" __attribute__((visibility("default"))) const char* plugin_version() { return bale::version().data(); }

/// The number of rows that a Loader delivers in an epoch, or the name of an error.
extern "C" __attribute__((visibility("default"))) const char* plugin_rows(const char* packed) {
  static std::string said;
  try {
    namespace t = bale::transforms;
    const bale::Transform transform =
        bale::list_transform({t::RandomResizedCrop{.size = {32, 32}}, t::RandomHorizontalFlip{},
                              t::ColorJitter{.hue = {-0.1, 0.1}}, t::ToDtype{}});
    bale::Loader loader{
        packed, {.batch_size = 8, .workers = 1, .worker_mode = bale::WorkerMode::threads, .transform = transform}};
    std::size_t rows = 0;
    while (const auto batch = loader.next()) rows += batch->size();
    said = std::to_string(rows);
  } catch (const bale::Error& error) {
    said = bale::error_code_name(error.code());
  }
  return said.c_str();
}
