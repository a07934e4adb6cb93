// UrlStorage: remote files for all that opens files by name (bale/formats/base/storage.hpp).
#pragma once

namespace bale {

/// Makes File and all that builds on it open http://, https://, s3:// and hf:// names in this process. May be called
/// any number of times, by any thread. Nothing is read or started before the first such name is opened.
void use_url_storage();

}  // namespace bale
