// A run of steps whose result is a function of the value and its channel. They are composed into one table per channel,
// and the picture is changed once, at the end of the run.
//
// Threads: used by one thread at a time.
#pragma once

#include <optional>

#include "bale/formats/image/point/point_tables.hpp"
#include "bale/loader/transform/picture.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

class PointRun {
 public:
  /// Adds a step, if it is of this kind; else returns false. `picture` is the one that the run is about; it is changed
  /// only if a step needs pixels that the run so far has changed.
  bool add(const Step& step, Picture& picture);
  /// Changes the picture by what was added, and starts again. Must be called before anything else changes the picture.
  void finish(Picture& picture);

 private:
  void compose(const image_detail::PointTable& table);
  void compose(const image_detail::PointTables& tables);
  void add_contrast(double factor, Picture& picture);
  template <typename TableOf>
  void add_by_counts(const TableOf& table_of, const Picture& picture);

  bool pending_ = false;
  image_detail::PointTables tables_{};
  std::optional<image_detail::Histogram> counts_{};  // of the values that the tables give
};

}  // namespace bale::transform_detail
