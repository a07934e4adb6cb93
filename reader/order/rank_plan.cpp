#include "bale/reader/order/rank_plan.hpp"
