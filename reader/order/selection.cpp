#include "bale/reader/order/selection.hpp"
