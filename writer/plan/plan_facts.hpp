// What a plan is made of, in words. An unfinished run keeps it, so that a run which cannot continue it says what
// changed.
//
// Functions are safe in any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// Values by names of options, and by names of other facts, such as "samples".
using PlanFacts = std::map<std::string, std::string>;

/// The member "facts" of what an unfinished run wrote; empty if an earlier version wrote it, without them.
PlanFacts facts_from(const Json& run);

/// Of everything that determines the bytes, other than the samples.
PlanFacts facts_of_options(const PackOptions& options, const std::vector<std::string>& classes);
/// What a manifest says of the plan of its dataset, as far as it can be compared with `facts`, which lose the rest.
PlanFacts facts_of_manifest(const Manifest& manifest, const PackOptions& options, PlanFacts& facts);

inline constexpr std::uint64_t k_unknown_content = 0;
/// Gets the key of a sample and a hash of what identifies its content, or k_unknown_content.
using SampleVisitor = std::function<void(std::string_view key, std::uint64_t content)>;
/// Calls the visitor for each sample. Empty: the samples are not known.
using ListSamples = std::function<void(const SampleVisitor&)>;

/// "`shard_samples` from 4 to 5, 2 added (a/1, a/2)": what differs, or that only their order, sizes or times can
/// differ. If only one side knows its samples, their number is compared. Empty if `before` is.
std::string describe_changes(const PlanFacts& before, const ListSamples& samples_before, const PlanFacts& after,
                             const ListSamples& samples_after);

/// Throws `exists`: "WHAT: CHANGES", of a destination that holds something of another plan.
[[noreturn]] void refuse_other_plan(const std::string& path, std::string_view what, const std::string& changes,
                                    std::string_view hint);

}  // namespace bale
