#include "bale/loader/transform/sample_pipeline.hpp"
