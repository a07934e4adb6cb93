#include "bale/formats/hdf5/scan/scan.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale::h5 {
namespace {

constexpr std::array<const char*, 5> k_label_names{"labels", "targets", "label", "target", "y"};
constexpr std::uint64_t k_block_bytes = 1 << 20;
constexpr std::uint64_t k_max_classes = 1 << 20;  // columns of one-hot rows

/// A row that is not a class, and what it holds instead.
struct BadRow {
  std::uint64_t number;
  std::string what;
};

struct Labels {
  std::vector<std::int64_t> numbers{};
  std::optional<BadRow> bad{};
};

/// Calls `visit` with the number and elements of each row, converted by the library to T. Stops if it returns false.
template <typename T, typename Visit>
void for_each_row(const InputFile& file, const RowReader& rows, hid_t memory_type, Visit visit) {
  const InputDataset& dataset = rows.dataset();
  const std::uint64_t columns = rows.row_bytes() / dataset.element_bytes;
  const std::uint64_t per_block = std::max<std::uint64_t>(1, k_block_bytes / (columns * sizeof(T)));
  const std::uint64_t wide = std::max<std::uint64_t>(sizeof(T), dataset.element_bytes);
  std::vector<std::byte> buffer(std::min(per_block, rows.num_rows()) * columns * wide);
  for (std::uint64_t first = 0; first < rows.num_rows(); first += per_block) {
    const std::uint64_t count = std::min(per_block, rows.num_rows() - first);
    rows.read(first, count, MutableBytes(buffer).first(count * rows.row_bytes()));
    if (H5Tconvert(dataset.type.id(), memory_type, count * columns, buffer.data(), nullptr, H5P_DEFAULT) < 0) {
      throw_h5(ErrorCode::damaged, fmt::format("convert /{}", printable(dataset.name)), file.path());
    }
    const auto* const values = reinterpret_cast<const T*>(buffer.data());
    for (std::uint64_t row = 0; row < count; ++row) {
      if (!visit(first + row, std::span<const T>(values + row * columns, columns))) return;
    }
  }
}

/// The class number that a value is; nullopt if it is not one.
template <typename T>
std::optional<std::int64_t> class_of(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T k_limit = 9223372036854775808.0;  // 2^63
    const bool whole = value >= -k_limit && value < k_limit && value == std::floor(value);
    return whole ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  } else {
    return std::in_range<std::int64_t>(value) ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  }
}

/// The class number of a one-hot row: the column with 1. nullopt if the row is not one-hot.
template <typename T>
std::optional<std::int64_t> class_of_row(std::span<const T> row) {
  std::optional<std::int64_t> found;
  for (std::size_t column = 0; column < row.size(); ++column) {
    if (row[column] == T{0}) continue;
    if (row[column] != T{1} || found) return std::nullopt;
    found = static_cast<std::int64_t>(column);
  }
  return found;
}

template <typename T>
Labels read_labels_as(const InputFile& file, const RowReader& rows, hid_t memory_type) {
  Labels labels;
  for_each_row<T>(file, rows, memory_type, [&](std::uint64_t number, std::span<const T> row) {
    const auto found = row.size() == 1 ? class_of(row[0]) : class_of_row(row);
    if (!found) {
      const std::string what = row.size() == 1 ? fmt::format("holds {}, no whole number", row[0]) : "is not one-hot";
      labels.bad = BadRow{number, what};
      return false;
    }
    labels.numbers.push_back(*found);
    return true;
  });
  return labels;
}

Labels read_numbers(const InputFile& file, InputDataset dataset) {
  const RowReader rows(file, std::move(dataset));
  const hid_t type = rows.dataset().type.id();
  if (rows.dataset().kind == ElementKind::real) return read_labels_as<double>(file, rows, H5T_NATIVE_DOUBLE);
  const bool is_unsigned = H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
  return is_unsigned ? read_labels_as<std::uint64_t>(file, rows, H5T_NATIVE_UINT64)
                     : read_labels_as<std::int64_t>(file, rows, H5T_NATIVE_INT64);
}

Labels read_digits(const InputFile& file, const InputDataset& dataset) {
  Labels labels;
  for (const std::string& text : file.read_strings(dataset)) {
    labels.numbers.push_back(parse_label(as_bytes(text)));
    if (labels.numbers.back() != k_no_label) continue;
    labels.bad =
        BadRow{labels.numbers.size() - 1, fmt::format("holds \"{}\", no number", printable(text.substr(0, 40)))};
    break;
  }
  return labels;
}

}  // namespace

ForeignLabels find_labels(const InputFile& file, std::uint64_t num_samples, NoticeLog& notices) {
  for (const char* name : k_label_names) {
    auto dataset = file.find(name);
    if (!dataset || dataset->count == 0 || dataset->dims.empty() || dataset->dims[0] > num_samples) continue;
    const bool is_number = !numpy_type(dataset->type.id()).empty();
    const bool is_flat = dataset->count == dataset->dims[0];
    const bool is_text = dataset->kind == ElementKind::fixed_string || dataset->kind == ElementKind::vlen_string;
    const bool is_table = dataset->dims.size() == 2 && dataset->dims[1] <= k_max_classes;
    if (!(is_number && (is_flat || is_table)) && !(is_text && is_flat)) continue;
    Labels labels = is_text ? read_digits(file, *dataset) : read_numbers(file, std::move(*dataset));
    if (labels.bad) {
      notices.warn(fmt::format("/{} gives no labels: row {} {}", name, labels.bad->number, labels.bad->what));
      continue;
    }
    if (labels.numbers.size() < num_samples) {
      notices.warn(fmt::format("/{} has {} rows for {} images: the others have no label", name, labels.numbers.size(),
                               num_samples));
    }
    labels.numbers.resize(num_samples, k_no_label);
    return {std::move(labels.numbers), name};
  }
  return {std::vector<std::int64_t>(num_samples, k_no_label)};
}

}  // namespace bale::h5
