#include "coefficient_jpegs.hpp"

#include <cstdio>  // jpeglib.h needs FILE and size_t from its user
#include <cstdlib>

#include <jpeglib.h>

#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"

namespace bale::test {
namespace {

// DC at once, and AC without its lowest bits first: so larger coefficients fit than in a baseline scan.
constexpr jpeg_scan_info k_script[] = {{1, {0}, 0, 0, 0, 2}, {1, {0}, 1, 63, 0, 3}, {1, {0}, 1, 63, 3, 2},
                                       {1, {0}, 0, 0, 2, 1}, {1, {0}, 1, 63, 2, 1}, {1, {0}, 0, 0, 1, 0},
                                       {1, {0}, 1, 63, 1, 0}};

}  // namespace

std::vector<std::byte> jpeg_of_coefficients(const CoefficientJpeg& jpeg) {
  jpeg_error_mgr errors{};
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr failed) {  // only for mistakes in the tests themselves
    failed->err->output_message(failed);
    std::abort();
  };
  errors.emit_message = [](j_common_ptr, int) {};  // quantization tables may be odd
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  const auto down = static_cast<JDIMENSION>((jpeg.blocks.size() + jpeg.across - 1) / jpeg.across);
  info.image_width = jpeg.across * 8;
  info.image_height = down * 8;
  info.input_components = 1;
  info.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  std::array<unsigned, 64> quantizers{};
  quantizers.fill(static_cast<unsigned>(jpeg.quantizer));
  jpeg_add_quant_table(&info, 0, quantizers.data(), 100, FALSE);
  if (jpeg.progressive) {
    info.scan_info = k_script;
    info.num_scans = static_cast<int>(std::size(k_script));
  }
  auto* const common = reinterpret_cast<j_common_ptr>(&info);
  jvirt_barray_ptr coefficients = info.mem->request_virt_barray(common, JPOOL_IMAGE, TRUE, jpeg.across, down, 1);
  jpeg_write_coefficients(&info, &coefficients);
  for (std::size_t n = 0; n < jpeg.blocks.size(); ++n) {
    const auto row = static_cast<JDIMENSION>(n / jpeg.across);
    JBLOCKARRAY const blocks = info.mem->access_virt_barray(common, coefficients, row, 1, TRUE);
    for (std::size_t i = 0; i < 64; ++i) blocks[0][n % jpeg.across][image_detail::k_zigzag[i]] = jpeg.blocks[n][i];
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* const first = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> bytes(first, first + size);
  std::free(buffer);
  return bytes;
}

}  // namespace bale::test
