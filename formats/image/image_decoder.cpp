#include "bale/formats/image/image_decoder.hpp"
