// The functions and variables of HDF5 that bale uses, which open it; internal.
#pragma once

#include <hdf5.h>

#include "bale_lazy_hdf5.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

#ifdef BALE_LAZY_HDF5
namespace bale::h5 {

inline constinit LazyLibrary hdf5_library{BALE_LAZY_HDF5};

// clang-format off
#define BALE_H5(name) BALE_LAZY_FUNCTION(hdf5_library, name)
BALE_H5(H5Aclose) BALE_H5(H5Acreate2) BALE_H5(H5Aexists) BALE_H5(H5Aget_space) BALE_H5(H5Aget_type) BALE_H5(H5Aopen)
BALE_H5(H5Aread) BALE_H5(H5Awrite) BALE_H5(H5Dclose) BALE_H5(H5Dcreate2) BALE_H5(H5Dget_chunk_info)
BALE_H5(H5Dget_create_plist) BALE_H5(H5Dget_num_chunks) BALE_H5(H5Dget_offset) BALE_H5(H5Dget_space) BALE_H5(H5Dget_space_status)
BALE_H5(H5Dget_storage_size) BALE_H5(H5Dget_type) BALE_H5(H5Dread) BALE_H5(H5Dset_extent) BALE_H5(H5Dwrite)
BALE_H5(H5Dwrite_chunk) BALE_H5(H5Eclear2) BALE_H5(H5Eset_auto2) BALE_H5(H5Ewalk2) BALE_H5(H5Fclose)
BALE_H5(H5Fcreate) BALE_H5(H5Fflush) BALE_H5(H5Fget_create_plist) BALE_H5(H5Fget_vfd_handle) BALE_H5(H5Fopen)
BALE_H5(H5Gclose) BALE_H5(H5Gcreate2) BALE_H5(H5Iget_type) BALE_H5(H5Lexists) BALE_H5(H5Lget_info) BALE_H5(H5Literate)
BALE_H5(H5Oclose) BALE_H5(H5Oopen) BALE_H5(H5PLset_loading_state) BALE_H5(H5Pclose) BALE_H5(H5Pcreate)
BALE_H5(H5Pfill_value_defined) BALE_H5(H5Pget_chunk) BALE_H5(H5Pget_chunk_opts) BALE_H5(H5Pget_external_count)
BALE_H5(H5Pget_fill_value) BALE_H5(H5Pget_filter2) BALE_H5(H5Pget_layout) BALE_H5(H5Pget_nfilters)
BALE_H5(H5Pget_sizes) BALE_H5(H5Pget_userblock) BALE_H5(H5Pset_alloc_time) BALE_H5(H5Pset_buffer)
BALE_H5(H5Pset_chunk) BALE_H5(H5Pset_deflate) BALE_H5(H5Pset_fclose_degree) BALE_H5(H5Pset_file_locking)
BALE_H5(H5Pset_fill_time) BALE_H5(H5Pset_libver_bounds) BALE_H5(H5Pset_obj_track_times) BALE_H5(H5Pset_sieve_buf_size)
BALE_H5(H5Sclose) BALE_H5(H5Screate) BALE_H5(H5Screate_simple) BALE_H5(H5Sget_simple_extent_dims)
BALE_H5(H5Sget_simple_extent_ndims) BALE_H5(H5Sget_simple_extent_npoints) BALE_H5(H5Sselect_hyperslab)
BALE_H5(H5Tclose) BALE_H5(H5Tconvert) BALE_H5(H5Tcopy) BALE_H5(H5Tenum_valueof) BALE_H5(H5Tequal)
BALE_H5(H5Tget_class) BALE_H5(H5Tget_nmembers) BALE_H5(H5Tget_order) BALE_H5(H5Tget_sign) BALE_H5(H5Tget_size)
BALE_H5(H5Tget_strpad) BALE_H5(H5Tget_super) BALE_H5(H5Tis_variable_str) BALE_H5(H5Tset_cset) BALE_H5(H5Tset_ebias)
BALE_H5(H5Tset_fields) BALE_H5(H5Tset_size) BALE_H5(H5Tset_strpad) BALE_H5(H5Tvlen_create) BALE_H5(H5Zfilter_avail)
BALE_H5(H5Zget_filter_info) BALE_H5(H5Zregister) BALE_H5(H5allocate_memory) BALE_H5(H5check_version)
BALE_H5(H5dont_atexit) BALE_H5(H5free_memory) BALE_H5(H5open)
#undef BALE_H5
#define BALE_H5(name) BALE_LAZY_VARIABLE(hdf5_library, name)
BALE_H5(H5P_CLS_DATASET_CREATE_ID_g) BALE_H5(H5P_CLS_DATASET_XFER_ID_g) BALE_H5(H5P_CLS_FILE_ACCESS_ID_g)
BALE_H5(H5P_CLS_FILE_CREATE_ID_g) BALE_H5(H5P_CLS_GROUP_CREATE_ID_g) BALE_H5(H5T_C_S1_g) BALE_H5(H5T_IEEE_F32BE_g)
BALE_H5(H5T_IEEE_F32LE_g) BALE_H5(H5T_IEEE_F64BE_g) BALE_H5(H5T_IEEE_F64LE_g) BALE_H5(H5T_NATIVE_DOUBLE_g)
BALE_H5(H5T_NATIVE_INT64_g) BALE_H5(H5T_NATIVE_UINT64_g) BALE_H5(H5T_NATIVE_UINT8_g) BALE_H5(H5T_STD_I16BE_g)
BALE_H5(H5T_STD_I16LE_g) BALE_H5(H5T_STD_I32BE_g) BALE_H5(H5T_STD_I32LE_g) BALE_H5(H5T_STD_I64BE_g)
BALE_H5(H5T_STD_I64LE_g) BALE_H5(H5T_STD_I8BE_g) BALE_H5(H5T_STD_I8LE_g) BALE_H5(H5T_STD_U16BE_g)
BALE_H5(H5T_STD_U16LE_g) BALE_H5(H5T_STD_U32BE_g) BALE_H5(H5T_STD_U32LE_g) BALE_H5(H5T_STD_U64BE_g)
BALE_H5(H5T_STD_U64LE_g) BALE_H5(H5T_STD_U8BE_g) BALE_H5(H5T_STD_U8LE_g)
#undef BALE_H5
// clang-format on

}  // namespace bale::h5
#endif
