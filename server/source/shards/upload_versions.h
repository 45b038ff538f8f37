// The ETags that a store can give to a file that is uploaded to it: the MD5 of its bytes if it
// arrives in one part, "MD5-N" of the MD5s of N parts otherwise. S3 and most of what speaks S3 do
// so, unless they encrypt with keys of a KMS or of the customer.
// **Thread safety**: one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::source {

// The sizes of parts, in MiB, that common tools use: boto3 and the AWS CLI 8, rclone 5, s3fs 10,
// s3cmd 15, MinIO's mc 16 and more, s5cmd 50. The last part of an upload is shorter.
inline constexpr std::array<uint64_t, 10> kUploadPartMiB = {5, 8, 10, 15, 16, 32, 50, 64, 100, 128};

class UploadVersions {
 public:
  // `bytes`: of the whole file. **Errors**: FailedPrecondition: OpenSSL offers no MD5, as in FIPS
  // mode.
  static absl::StatusOr<UploadVersions> Make(uint64_t bytes);
  ~UploadVersions();
  UploadVersions(UploadVersions&&) noexcept;
  UploadVersions& operator=(UploadVersions&&) = delete;

  // The file's next bytes.
  void Add(std::span<const std::byte> bytes);
  // The ETags, without quotes, none twice. **Requires**: all bytes were added. Call it once.
  std::vector<std::string> Finish();

 private:
  class Md5;
  class Parts;
  UploadVersions();

  std::vector<std::unique_ptr<Parts>> parts_;  // for each size
};

}  // namespace penstock::source
