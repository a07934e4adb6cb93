#include "image_samples.hpp"

#include <algorithm>
#include <cstdio>  // jpeglib.h needs FILE and size_t from its user
#include <cstdlib>
#include <stdexcept>

#include <jpeglib.h>
#include <png.h>

namespace bale::test {
namespace {

std::vector<std::uint8_t> make_row(std::size_t length, std::uint32_t y, std::size_t channels, std::mt19937& random) {
  std::vector<std::uint8_t> row(length);
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t x = i / channels;
    const std::size_t wave = (x * (3 + i % channels) + y * (5 - i % channels)) % 512;
    row[i] = static_cast<std::uint8_t>((std::min(wave, 511 - wave) * 3 + random() % 256) / 4);
  }
  return row;
}

std::vector<jpeg_scan_info> scan_script(JpegSample::Scans scans, int components) {
  std::vector<jpeg_scan_info> script;
  const bool spectral = scans == JpegSample::Scans::unrefined;
  for (int i = 0; i < components; ++i) {
    jpeg_scan_info scan{};
    scan.comps_in_scan = 1;
    scan.component_index[0] = i;
    scan.Se = spectral ? 0 : 63;
    script.push_back(scan);
  }
  if (spectral) {
    jpeg_scan_info scan = script.front();  // a few frequencies of the first component, the others are never told
    scan.Ss = 1;
    scan.Se = 5;
    scan.Al = 2;
    script.push_back(scan);
  }
  return script;
}

/// Scans that continue from one to the next: all bits of some coefficients, from the top.
using ScanChain = std::vector<jpeg_scan_info>;

ScanChain draw_chain(std::vector<int> components, int first, int last, std::mt19937& random) {
  ScanChain chain;
  int low = static_cast<int>(random() % 4);
  for (int high = 0; low >= 0; high = low--) {
    jpeg_scan_info scan{};
    scan.comps_in_scan = static_cast<int>(components.size());
    std::copy(components.begin(), components.end(), scan.component_index);
    scan.Ss = first;
    scan.Se = last;
    scan.Ah = high;
    scan.Al = low;
    chain.push_back(scan);
  }
  return chain;
}

/// DC of all components together or alone, AC in bands, in an order that is drawn.
std::vector<jpeg_scan_info> draw_script(int components, std::mt19937& random) {
  std::vector<ScanChain> chains;
  if (random() % 2 == 0) {
    std::vector<int> all;
    for (int i = 0; i < components; ++i) all.push_back(i);
    chains.push_back(draw_chain(all, 0, 0, random));
  } else {
    for (int i = 0; i < components; ++i) chains.push_back(draw_chain({i}, 0, 0, random));
  }
  std::vector<jpeg_scan_info> script;
  for (ScanChain& chain : chains) {  // DC comes first
    script.push_back(chain.front());
    chain.erase(chain.begin());
  }
  for (int i = 0; i < components; ++i) {
    for (int first = 1, last = 0; first < 64; first = last + 1) {
      last = random() % 3 == 0 ? 63 : first + static_cast<int>(random() % (64 - first));
      chains.push_back(draw_chain({i}, first, last, random));
    }
  }
  std::erase_if(chains, [](const ScanChain& chain) { return chain.empty(); });
  while (!chains.empty()) {
    ScanChain& chain = chains[random() % chains.size()];
    script.push_back(chain.front());
    chain.erase(chain.begin());
    std::erase_if(chains, [](const ScanChain& each) { return each.empty(); });
  }
  return script;
}

[[noreturn]] void fail(j_common_ptr info) {
  // Only for mistakes in the tests themselves: nobody catches it between here and them.
  info->err->output_message(info);
  std::abort();
}

}  // namespace

std::vector<std::byte> make_jpeg(const JpegSample& sample, std::mt19937& random) {
  const int components = static_cast<int>(sample.sampling.size());
  jpeg_error_mgr errors{};
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = fail;
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = sample.width;
  info.image_height = sample.height;
  info.input_components = components;
  info.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (components == 3) jpeg_set_colorspace(&info, sample.transformed ? JCS_YCbCr : JCS_RGB);
  if (components == 4) jpeg_set_colorspace(&info, sample.transformed ? JCS_YCCK : JCS_CMYK);
  jpeg_set_quality(&info, sample.quality, TRUE);
  for (int i = 0; i < components; ++i) {
    info.comp_info[i].h_samp_factor = sample.sampling[static_cast<std::size_t>(i)].horizontal;
    info.comp_info[i].v_samp_factor = sample.sampling[static_cast<std::size_t>(i)].vertical;
    if (sample.one_table) info.comp_info[i].dc_tbl_no = info.comp_info[i].ac_tbl_no = 0;
  }
  info.restart_interval = static_cast<unsigned>(sample.restart_interval);
  info.restart_in_rows = sample.restart_rows;
  info.optimize_coding = sample.optimized ? TRUE : FALSE;
  info.arith_code = sample.arithmetic ? TRUE : FALSE;
  const std::vector<jpeg_scan_info> script = sample.scans == JpegSample::Scans::drawn
                                                 ? draw_script(components, random)
                                                 : scan_script(sample.scans, components);
  if (sample.scans == JpegSample::Scans::progressive) {
    jpeg_simple_progression(&info);
  } else if (sample.scans != JpegSample::Scans::one) {
    info.scan_info = script.data();
    info.num_scans = static_cast<int>(script.size());
  }
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    const auto channels = static_cast<std::size_t>(components);
    std::vector<std::uint8_t> pixels = make_row(sample.width * channels, info.next_scanline, channels, random);
    JSAMPROW row = pixels.data();
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* const first = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> bytes(first, first + size);
  std::free(buffer);
  return bytes;
}

std::vector<std::byte> make_png(const PngSample& sample, std::mt19937& random) {
  std::vector<std::byte> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp to, png_bytep data, std::size_t length) {
        auto& out = *static_cast<std::vector<std::byte>*>(png_get_io_ptr(to));
        const auto* const first = reinterpret_cast<const std::byte*>(data);
        out.insert(out.end(), first, first + length);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, sample.width, sample.height, sample.bit_depth, sample.color_type,
               sample.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette(256);
  for (png_color& color : palette) {
    color = {static_cast<png_byte>(random()), static_cast<png_byte>(random()), static_cast<png_byte>(random())};
  }
  if (sample.color_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette.data(), 1 << sample.bit_depth);
  png_write_info(png, info);
  std::vector<std::vector<std::uint8_t>> rows;
  for (std::uint32_t y = 0; y < sample.height; ++y) {
    rows.push_back(make_row(png_get_rowbytes(png, info), y, png_get_channels(png, info), random));
    // 16-bit gray is clipped to 8 bits: let some of it be below.
    if (sample.bit_depth == 16) {
      for (std::size_t i = 0; i < rows.back().size(); i += 2) rows.back()[i] &= random() % 2 == 0 ? 0xFF : 0;
    }
  }
  std::vector<png_bytep> pointers;
  for (auto& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

}  // namespace bale::test
