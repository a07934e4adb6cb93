// Element types in NumPy's terms.
#pragma once

#include <string>

#include "bale/formats/hdf5/library/h5_api.hpp"

namespace bale::h5 {

/// NumPy's name of an element type ("<f2", "|b1"); empty for types that NumPy does not have. An enumeration has the
/// type of its integers; h5py's enumeration of FALSE and TRUE is a bool.
std::string numpy_type(hid_t type);

/// Name of the type for messages: "float of 16 bytes", "compound".
std::string type_text(hid_t type);

}  // namespace bale::h5
