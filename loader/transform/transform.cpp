#include "bale/loader/transform/transform.hpp"
