#include "server/source/shards/upload_versions.h"

#include <openssl/evp.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/units.h"

namespace penstock::source {
namespace {

constexpr size_t kMd5Bytes = 16;

}  // namespace

class UploadVersions::Md5 {
 public:
  Md5() : state_(EVP_MD_CTX_new()) { PENSTOCK_CHECK(state_ != nullptr); }
  ~Md5() { EVP_MD_CTX_free(state_); }
  Md5(const Md5&) = delete;
  Md5& operator=(const Md5&) = delete;

  bool Begin() { return EVP_DigestInit_ex(state_, EVP_md5(), nullptr) == 1; }
  void Add(std::span<const std::byte> bytes) {
    PENSTOCK_CHECK(EVP_DigestUpdate(state_, bytes.data(), bytes.size()) == 1);
  }
  std::string Finish() {
    std::string sum(kMd5Bytes, '\0');
    PENSTOCK_CHECK(
        EVP_DigestFinal_ex(state_, reinterpret_cast<unsigned char*>(sum.data()), nullptr) == 1);
    return sum;
  }

 private:
  EVP_MD_CTX* const state_;
};

// The ETag of an upload in parts of one size; 0: in one request.
class UploadVersions::Parts {
 public:
  explicit Parts(uint64_t part_bytes) : part_bytes_(part_bytes) {}

  bool Begin() { return sum_.Begin(); }
  void Add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (part_bytes_ != 0 && in_part_ == part_bytes_) EndPart();
      const uint64_t room = part_bytes_ == 0 ? bytes.size() : part_bytes_ - in_part_;
      const auto some = bytes.first(std::min<uint64_t>(room, bytes.size()));
      sum_.Add(some);
      in_part_ += some.size();
      bytes = bytes.subspan(some.size());
    }
  }
  std::string Finish() {
    if (part_bytes_ == 0) return absl::BytesToHexString(sum_.Finish());
    EndPart();
    sum_.Add(std::as_bytes(std::span(sums_)));
    return absl::StrCat(absl::BytesToHexString(sum_.Finish()), "-", sums_.size() / kMd5Bytes);
  }

 private:
  void EndPart() {
    sums_ += sum_.Finish();
    PENSTOCK_CHECK(sum_.Begin());
    in_part_ = 0;
  }

  const uint64_t part_bytes_;
  uint64_t in_part_ = 0;  // bytes of the current part
  Md5 sum_;
  std::string sums_;  // of the parts so far
};

UploadVersions::UploadVersions() = default;
UploadVersions::~UploadVersions() = default;
UploadVersions::UploadVersions(UploadVersions&&) noexcept = default;

absl::StatusOr<UploadVersions> UploadVersions::Make(uint64_t bytes) {
  UploadVersions versions;
  versions.parts_.push_back(std::make_unique<Parts>(0));
  for (const uint64_t mib : kUploadPartMiB) {
    versions.parts_.push_back(std::make_unique<Parts>(mib * base::kMiB));
    if (mib * base::kMiB >= bytes) break;  // larger parts are the same one part
  }
  for (const auto& parts : versions.parts_)
    if (!parts->Begin())
      return absl::FailedPreconditionError(
          "this system's OpenSSL offers no MD5, by which stores name what is uploaded; make the "
          "indexes from the shards' URLs");
  return versions;
}

void UploadVersions::Add(std::span<const std::byte> bytes) {
  for (const auto& parts : parts_) parts->Add(bytes);
}

std::vector<std::string> UploadVersions::Finish() {
  std::vector<std::string> etags;
  for (const auto& parts : parts_) etags.push_back(parts->Finish());
  return etags;
}

}  // namespace penstock::source
