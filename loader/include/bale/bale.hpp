// What programs use of bale, in one header: reading, loading, writing. A program links the targets whose functions it
// calls (docs/CPP.md).
#pragma once

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/shard/owned_sample.hpp"
#include "bale/loader/loader.hpp"
#include "bale/loader/transform/presets.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/read_in_order.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/writer.hpp"
