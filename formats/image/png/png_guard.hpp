// libpng's errors turned into `bale::Error`; internal. The only header that includes png.h.
//
// The same rule as in jpeg_guard.hpp: an error leaves libpng by longjmp back into `run_png`, so code that runs there
// must not hold an object with a destructor.
#pragma once

#include <csetjmp>

#include <png.h>

namespace bale::image_detail {

inline constexpr png_uint_32 k_max_png_side =
    0x7FFFFFFF;  // the format's own limit; the pixel budget is the effective one
inline constexpr png_alloc_size_t k_max_png_chunk_bytes = 8'000'000;

struct PngErrors {
  std::jmp_buf jump{};
  char text[128]{};
};

/// libpng's error callback; its pointer is a PngErrors.
[[noreturn]] void on_png_error(png_structp png, png_const_charp text);
/// Warnings are ignored.
void on_png_warning(png_structp png, png_const_charp text);

/// Runs `work`, which calls libpng. False if it ended with an error, which is in `errors`.
template <typename Work>
bool run_png(PngErrors& errors, const Work& work) {
  if (setjmp(errors.jump) != 0) return false;
  work();
  return true;
}

}  // namespace bale::image_detail
