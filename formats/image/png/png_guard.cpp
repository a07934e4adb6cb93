#include "bale/formats/image/png/png_guard.hpp"

#include <cstring>

namespace bale::image_detail {

void on_png_error(png_structp png, png_const_charp text) {
  auto& errors = *static_cast<PngErrors*>(png_get_error_ptr(png));
  std::strncpy(errors.text, text, sizeof(errors.text) - 1);
  std::longjmp(errors.jump, 1);
}

void on_png_warning(png_structp, png_const_charp) {}

}  // namespace bale::image_detail
