// The functions of libcrypto that bale calls, which open it; internal.
#pragma once

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "bale_lazy_crypto.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

#ifdef BALE_LAZY_CRYPTO
namespace bale {

inline constinit LazyLibrary crypto_library{BALE_LAZY_CRYPTO};

// clang-format off
#define BALE_CRYPTO(name) BALE_LAZY_FUNCTION(crypto_library, name)
BALE_CRYPTO(EVP_Digest) BALE_CRYPTO(EVP_EncodeBlock) BALE_CRYPTO(EVP_md5) BALE_CRYPTO(EVP_sha256) BALE_CRYPTO(HMAC)
#undef BALE_CRYPTO
// clang-format on

}  // namespace bale
#endif
