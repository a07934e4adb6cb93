// The source of the kernels that resize decoded images, run on the host, against the workers' Resizer; and its PTX.
#include <string>
#include <utility>
#include <vector>

#include "bale/loader/cuda/kernels/host_kernels.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/cuda/resize_cases.hpp"

namespace bale::cuda_detail {
extern const char* const k_resize_kernels_ptx;
}  // namespace bale::cuda_detail

using namespace bale;
using namespace bale::cuda_detail;
using namespace bale::test;

TEST_CASE("Kernels crop, resize and mirror as the workers do, bit for bit") {
  KeyedRandom random{1};
  for (const auto& [width, height] : {std::pair{1U, 1U}, {7U, 5U}, {32U, 32U}, {45U, 20U}}) {
    for (const HostGrid& grid : {HostGrid{1, 1, 256}, HostGrid{3, 2, 256}, HostGrid{2, 70, 256}}) {
      const ResizeCase images(width, height, 24, random);
      std::vector<std::int32_t> table(images.table_end + 2, -7);
      std::vector<std::uint8_t> out(images.expected.size(), k_untouched);
      const ResizeArgs args{.decoded = images.decoded.data(),
                            .rows = images.rows.data(),
                            .table = table.data(),
                            .out = out.data(),
                            .width = width,
                            .height = height,
                            .num_images = 24};
      run_resize_weights(args, grid);
      run_resize(args, grid);
      CHECK(out == images.expected);
      CHECK((table[0] == -7 && table[images.table_begin - 1] == -7 && table[images.table_end] == -7));
    }
  }
}

TEST_CASE("The build has PTX of the kernels that resize, with the parameter that the host passes") {
  const std::string ptx = k_resize_kernels_ptx;
  for (const std::string name : {"bale_resize_weights", "bale_resize"}) {
    CHECK(ptx.find(".visible .entry " + name + "(") != std::string::npos);
    CHECK(ptx.find(name + "_param_0[" + std::to_string(sizeof(ResizeArgs)) + "]") != std::string::npos);
  }
  // Contraction would give weights other bits than the host's, and so would divisions that are not rounded to nearest.
  CHECK(ptx.find("fma.") == std::string::npos);
  CHECK(ptx.find("div.approx") == std::string::npos);
  CHECK(ptx.find("div.rn.f64") != std::string::npos);
}
