// Element types in NumPy's terms.
#pragma once

#include <hdf5.h>

#include <string>

namespace bale::h5 {

/// NumPy's spelling of an element type ("<f2", "|b1"); empty for types that NumPy does not have. An enumeration is its
/// integers, h5py's of FALSE and TRUE a bool.
std::string numpy_type(hid_t type);

/// What a person calls the type in a message: "float of 16 bytes", "compound".
std::string type_text(hid_t type);

}  // namespace bale::h5
