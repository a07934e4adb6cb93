// Some of the samples of a source, as a source.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bale/writer/source/source.hpp"

namespace bale {

/// The samples `chosen` of `source`, in this order, with all of its classes, so that labels stay the same. `losses` are
/// added to those of `source`.
std::unique_ptr<Source> choose_samples(std::unique_ptr<Source> source, std::vector<std::uint64_t> chosen,
                                       std::vector<SourceLoss> losses = {});

}  // namespace bale
