// A fake nvJPEG: the library libnvjpeg.so.12 of the tests. It decodes by libjpeg-turbo, so that its pixels are those of
// the workers, and writes them to the fake device (fake_cuda) as work of the stream that it is given.
//
// Findings go to the fake device's: a state that is used before its last batch was decoded, a batch of another size
// than the state was initialized for, JPEGs that change before they were decoded, handles and states that are used
// after their end, and a decoding without a current context.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace bale::test::fake_nvjpeg {

/// Removes all faults, and all handles and states that are left.
void reset();
/// Every call of `function` returns `status` from now on. "nvjpegCreateEx:3" is that function with backend 3.
void refuse(const std::string& function, int status);
/// Makes one call of `function` return `status`, after `after` successful ones.
void fail_once(const std::string& function, std::uint64_t after, int status);
/// What decoding an image returns, by its bytes: 0 to decode it. A batch with an image that fails fails as a whole.
void judge_images(std::function<int(const unsigned char* jpeg, std::size_t length)> judge);

std::uint64_t num_calls(const std::string& function);
/// Images that were decoded.
std::uint64_t num_decoded();
/// Handles and states that were created and not destroyed.
int num_live();
/// Backend and flags of the handle that was created last.
int backend();
unsigned flags();

}  // namespace bale::test::fake_nvjpeg
