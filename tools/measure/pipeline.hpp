// The pipeline that `bench`, `tune` and `doctor` measure.
#pragma once

#include <string>

#include "bale/loader/loader_options.hpp"

namespace bale::tools {

struct PipelineCommand {
  std::string spec;
  LoaderOptions options{.workers = 2, .on_bad_sample = OnBadSample::skip};
};

}  // namespace bale::tools
