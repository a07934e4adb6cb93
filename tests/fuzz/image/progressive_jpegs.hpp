// Progressive JPEGs for a fuzz target: new ones, and changes after which most bytes still mean something.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace bale::test {

/// A frame header of SOF2 comes before any scan.
bool is_progressive_jpeg(const std::uint8_t* jpeg, std::size_t size);

/// Up to 64 x 64 pixels; gray, color and CMYK in many samplings; any script of scans, quality and restart interval.
std::vector<std::uint8_t> draw_progressive_jpeg(std::mt19937& random);

/// Changes one thing: the data of a scan, its header, the order of the scans, a table, the frame, restart markers, or
/// the end. `jpeg` must be progressive; most results are.
void change_progressive_jpeg(std::vector<std::uint8_t>& jpeg, std::mt19937& random);

}  // namespace bale::test
