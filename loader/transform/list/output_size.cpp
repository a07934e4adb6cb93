#include <algorithm>

#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/members/members.hpp"

namespace bale::transform_detail {
namespace {

using Known = std::optional<Size>;

Known after_list(const TransformList& list, Known size);

// What follows says, for each transform, the size after it. Most keep the size.
template <typename Node>
Known after(const Node&, const Known& size) {
  return size;
}
Known after(const transforms::Resize& node, const Known&) {
  return node.width ? Known{{.height = node.height, .width = *node.width}} : std::nullopt;
}
Known after(const transforms::CenterCrop& node, const Known&) { return node.size; }
Known after(const transforms::RandomCrop& node, const Known&) { return node.size; }
Known after(const transforms::FixedSizeCrop& node, const Known&) { return node.size; }
Known after(const transforms::PadTo& node, const Known&) { return node.size; }
Known after(const transforms::RandomResizedCrop& node, const Known&) { return node.size; }
Known after(const transforms::Pad& node, const Known& size) {
  if (!size) return std::nullopt;
  return Size{.height = size->height + node.padding[1] + node.padding[3],
              .width = size->width + node.padding[0] + node.padding[2]};
}
Known after(const transforms::PadIfSmaller& node, const Known& size) {
  if (!size) return std::nullopt;
  return Size{.height = std::max(size->height, node.size.height), .width = std::max(size->width, node.size.width)};
}
Known after(const transforms::RandomRotation& node, const Known& size) { return node.expand ? std::nullopt : size; }
Known after(const transforms::RandomZoomOut& node, const Known& size) { return node.p > 0 ? std::nullopt : size; }
Known after(const transforms::RandomIoUCrop&, const Known&) { return std::nullopt; }
Known after(const transforms::ScaleJitter&, const Known&) { return std::nullopt; }
Known after(const transforms::RandomResize&, const Known&) { return std::nullopt; }
Known after(const transforms::RandomShortestSize&, const Known&) { return std::nullopt; }
Known after(const transforms::Compose& node, const Known& size) { return after_list(node.transforms, size); }
Known after(const transforms::RandomOrder& node, const Known& size) {
  for (const TransformNode& child : node.transforms) {
    if (after_list({child}, size) != size) return std::nullopt;
  }
  return size;
}
Known after(const transforms::RandomApply& node, const Known& size) {
  const Known applied = after_list(node.transforms, size);
  if (node.p >= 1) return applied;
  return applied == size ? size : std::nullopt;
}
Known after(const transforms::RandomChoice& node, const Known& size) {
  const Known first = after_list({node.transforms.front()}, size);
  const bool same = std::ranges::all_of(node.transforms,
                                        [&](const TransformNode& child) { return after_list({child}, size) == first; });
  return same ? first : std::nullopt;
}

Known after_list(const TransformList& list, Known size) {
  for (const TransformNode& node : list) {
    size = std::visit([&size](const auto& transform) { return after(transform, size); }, as_variant(node));
  }
  return size;
}

}  // namespace

std::optional<Size> output_size(const TransformList& list) { return after_list(list, std::nullopt); }

}  // namespace bale::transform_detail
