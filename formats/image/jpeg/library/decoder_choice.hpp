// For tests: whether our own decoders are used next to libjpeg; internal.
#pragma once

#include <atomic>

namespace bale::image_detail {

/// `automatic`: if possible. `plain`: without instructions that only some CPUs have.
enum class BaselineUse { automatic, never, plain };

inline std::atomic<BaselineUse>& baseline_use_of_process() {
  static std::atomic<BaselineUse> use{BaselineUse::automatic};
  return use;
}
inline BaselineUse baseline_use() { return baseline_use_of_process(); }
inline void set_baseline_use(BaselineUse use) { baseline_use_of_process() = use; }

}  // namespace bale::image_detail
