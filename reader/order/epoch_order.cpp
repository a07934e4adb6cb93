#include "bale/reader/order/epoch_order.hpp"
