#include "bale/loader/transform/augment_draw.hpp"
