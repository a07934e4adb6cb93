#include "bale/formats/image/resizer.hpp"
