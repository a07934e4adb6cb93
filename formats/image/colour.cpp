#include "bale/formats/image/colour.hpp"
