#include "bale/formats/tar/reading/grouper.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::tar {
namespace {

constexpr std::string_view k_jpg = "jpg";
constexpr std::string_view k_jpeg = "jpeg";

/// GNU tar writes "./a.jpg" or "a.jpg" for the same file, depending on its arguments.
std::string_view without_dot_slash(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

}  // namespace

std::string_view reason_to_skip(std::string_view name) {
  if (is_reserved_member(name)) return "name that WebDataset reserves (__NAME__)";
  if (split_member_name(name)) return {};
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.starts_with('.') ? "name that begins with a dot" : "name without an extension";
}

Survey Survey::of_everything() {
  Survey survey;
  survey.complete_ = true;
  survey.all_names_ = true;
  return survey;
}

void Survey::begin_second_look() { complete_ = true; }

void Grouper::enter_sample(std::string_view key) {
  if (index_.size() != 0 && key == key_) return;
  key_ = key;
  if (survey_.complete_) {
    const auto [found, is_new] = samples_.try_emplace(key_, index_.size());
    sample_ = found->second;
    if (is_new) {
      index_.add_sample(key_);
    } else {
      ++num_returns_;
    }
  } else {
    sample_ = index_.add_sample(key_);
    hashes_.push_back(hash_key(key_));
  }
}

/// The column for the next field of the sample. A field jpeg goes into the column jpg, unless the sample has both
/// spellings: then each has its own column.
std::uint32_t Grouper::field_of(std::string_view extension) {
  const std::string name = field_name(extension);
  const std::uint32_t field = declare_field(index_, field_of_stored_name(name, false), path_, key_);
  if (name != k_jpg) return field;
  const bool is_jpeg = extension.size() == k_jpeg.size();
  const auto sample = static_cast<std::size_t>(sample_);
  if (is_jpeg) spelled_jpeg_.resize(std::max(spelled_jpeg_.size(), sample + 1));
  const Extent present = index_.extent(sample_, field);
  const bool has_jpeg = sample < spelled_jpeg_.size() && spelled_jpeg_[sample];
  if (!present.present()) {
    if (is_jpeg) spelled_jpeg_[sample] = true;
    return field;
  }
  if (is_jpeg == has_jpeg) return field;
  const std::uint32_t second = declare_field(index_, {.name = std::string(k_jpeg)}, path_, key_);
  if (is_jpeg) return second;
  // The column has the other spelling: it moves.
  index_.set_extent(sample_, second, present.offset, present.length);
  index_.clear_extent(sample_, field);
  spelled_jpeg_[sample] = false;
  return field;
}

void Grouper::remember(std::string_view name, Place place, bool is_field) {
  const std::string_view plain = without_dot_slash(name);
  if (survey_.all_names_) {
    if (is_field) survey_.places_[std::string(plain)] = place;  // other files are not unpacked
  } else if (survey_.complete_ && !survey_.places_.empty()) {
    const auto wanted = survey_.places_.find(plain);
    if (wanted != survey_.places_.end()) wanted->second = place;
  }
}

std::optional<std::uint64_t> Grouper::add(std::string_view name, Place place) {
  const std::string_view reason = reason_to_skip(name);
  remember(name, place, reason.empty());
  if (!reason.empty()) {
    index_.notices().add(name, reason);
    return std::nullopt;
  }
  const auto parts = split_member_name(name);
  if (place.size > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("member of {} bytes; fields of 4 GiB and more are not read", place.size),
                {.path = path_, .key = std::string(parts->key)});
  }
  enter_sample(parts->key);
  const std::uint32_t field = field_of(parts->extension);
  const bool is_label_field = index_.fields()[field].name == k_label_field;
  if (index_.extent(sample_, field).present()) index_.notices().add(name, "earlier member of the same key and field");
  index_.set_extent(sample_, field, place.offset, static_cast<std::uint32_t>(place.size));
  return is_label_field ? std::optional(sample_) : std::nullopt;
}

std::optional<Grouper::Label> Grouper::add_link(std::string_view name, std::string_view target) {
  const std::string_view plain = without_dot_slash(target);
  if (!survey_.complete_) {
    survey_.places_.try_emplace(std::string(plain));
    return std::nullopt;
  }
  const auto found = survey_.places_.find(plain);
  if (found == survey_.places_.end() || !found->second) {
    index_.notices().add(name, "hard link to a file that is not before it in the archive");
    return std::nullopt;
  }
  const Place place = *found->second;
  const auto sample = add(name, place);
  return sample ? std::optional(Label{*sample, place}) : std::nullopt;
}

void Grouper::finish() {
  if (!survey_.complete_) {
    std::sort(hashes_.begin(), hashes_.end());
    survey_.apart_ = std::adjacent_find(hashes_.begin(), hashes_.end()) != hashes_.end();
  }
  if (num_returns_ == 0) return;
  index_.notices().warn(
      fmt::format("samples are scattered: {}, files of a sample come after those of others. They are read as one "
                  "sample; WebDataset cannot read such an archive (`tar --sort=name` makes one that it can)",
                  plural(num_returns_, "time")));
}

}  // namespace bale::tar
