#include "bale/tools/report/text/bench_report.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/members/dtype_name.hpp"

namespace bale::tools {
namespace {

std::string transform_text(const Transform& transform) {
  std::string text = fmt::format("bale.transforms.train({}", transform.width);
  if (transform.dtype != DType::uint8) text += fmt::format(", dtype=\"{}\"", dtype_name(transform.dtype));
  if (transform.normalize) text += ", normalize=True";
  return text + ")";
}

std::string shuffle_text(const Shuffle& shuffle) {
  switch (shuffle.kind) {
    case Shuffle::Kind::full:
      return {};
    case Shuffle::Kind::none:
      return ", shuffle=False";
    case Shuffle::Kind::block:
    case Shuffle::Kind::stream:
      return fmt::format(", shuffle=\"{}\", order=bale.Order(block_samples={}, window_blocks={})",
                         shuffle.kind == Shuffle::Kind::block ? "block" : "stream", shuffle.block_samples,
                         shuffle.window_blocks);
    case Shuffle::Kind::node_local:
      return ", shuffle=\"node-local\"";
  }
  return {};
}

}  // namespace

std::string python_literal(std::string_view raw) {
  const bool is_text = printable(raw) == raw;
  std::string literal(is_text ? "\"" : "b\"");
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (!is_text && (byte < 0x20 || byte > 0x7E)) {
      literal += fmt::format("\\x{:02x}", byte);
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

std::string python_loader(std::string_view spec, const LoaderOptions& options) {
  std::string text = fmt::format("bt.Loader({}, batch_size={}, workers={}, prefetch={}, transform={}",
                                 python_literal(without_secrets(spec)), options.batch_size, options.workers,
                                 options.prefetch, transform_text(options.transform));
  text += shuffle_text(options.shuffle);
  if (options.worker_mode == WorkerMode::threads) text += ", threads=True";
  if (options.max_pixels != k_default_max_pixels)
    text += fmt::format(", reading=bale.Reading(max_pixels={})", options.max_pixels);
  return text + ")";
}

}  // namespace bale::tools
