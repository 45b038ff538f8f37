#include "server/store/client/object_store.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/back_off.h"
#include "common/base/check.h"
#include "server/store/client/listing.h"

namespace penstock::store {
namespace {

constexpr size_t kMostRegions = 10'000;
constexpr size_t kMostKeys = 1'000'000;

}  // namespace

absl::StatusOr<ObjectVersion> ObjectStore::Stat(const Address& address) {
  TransferAnswer answer = Perform(address, Tries::kLong, [&](const StoreAccess& access) {
    return ToStatRequest(address, access);
  });
  if (answer.code == 400 || answer.code == 403 || answer.code == 405)
    answer = Perform(address, Tries::kLong, [&](const StoreAccess& access) {
      return ToReadRequest(address, access, {}, {.offset = 0, .bytes = 1});
    });
  PENSTOCK_ASSIGN_OR_RETURN(ObjectVersion version, ToVersion(answer, address));
  if (version.is_pinned()) return version;
  return absl::FailedPreconditionError(
      absl::StrCat("'", ToText(address),
                   "': the server gives neither an ETag nor Last-Modified, so a change of the file "
                   "could not be noticed; serve it by one that does"));
}

absl::Status ObjectStore::ListPages(const Address& folder, ListDepth depth, const TakePage& take) {
  std::string token;
  do {
    const TransferAnswer answer = Perform(folder, Tries::kLong, [&](const StoreAccess& access) {
      return ToListRequest(folder, access, token, depth);
    });
    PENSTOCK_ASSIGN_OR_RETURN(ListPage page, ToListPage(answer, folder));
    if (!page.next_token.empty() && page.next_token == token)
      return absl::DataLossError(
          absl::StrCat("'", ToText(folder), "': the store's listing does not go on"));
    token = page.next_token;
    PENSTOCK_ASSIGN_OR_RETURN(const bool goes_on, take(std::move(page)));
    if (!goes_on) return absl::OkStatus();
  } while (!token.empty());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ObjectStore::List(const Address& folder) {
  std::vector<std::string> keys;
  const auto take = [&](ListPage page) -> absl::StatusOr<bool> {
    for (ListedObject& object : page.objects) keys.push_back(std::move(object.key));
    if (keys.size() <= kMostKeys) return true;
    return absl::ResourceExhaustedError(absl::StrCat("'", ToText(folder), "' holds more than ",
                                                     kMostKeys, " objects; name the files"));
  };
  PENSTOCK_RETURN_IF_ERROR(ListPages(folder, ListDepth::kOneLevel, take));
  std::sort(keys.begin(), keys.end());  // not all stores do
  return keys;
}

TransferAnswer ObjectStore::Ask(const Address& address, Tries tries, const ToRequest& make) {
  return Perform(address, tries, make);
}

void ObjectStore::StartAsk(const Address& address, const ToRequest& make, Transfers::Done done) {
  transfers_.Start(make(AccessTo(address)),
                   [this, address, done = std::move(done)](TransferAnswer answer) {
                     if (LearnsRegion(address, answer))
                       answer.status = absl::UnavailableError("the bucket is in another region");
                     done(std::move(answer));
                   });
}

void ObjectStore::SetAccess(const StoreAccess& s3, const StoreAccess& gs) {
  const base::MutexLock lock(mutex_);
  s3_ = s3;
  gs_ = gs;
}

TransferRequest ObjectStore::FillingRequest(const Address& address, const StoreAccess& access,
                                            const ObjectVersion& version, uint64_t offset,
                                            std::span<std::byte> into) {
  TransferRequest request =
      ToReadRequest(address, access, version, {.offset = offset, .bytes = into.size()});
  request.sink = [rest = into](std::span<const std::byte> bytes) mutable {
    if (bytes.size() > rest.size()) return false;
    std::memcpy(rest.data(), bytes.data(), bytes.size());
    rest = rest.subspan(bytes.size());
    return true;
  };
  return request;
}

absl::Status ObjectStore::Read(const Address& address, const ObjectVersion& version,
                               uint64_t offset, std::span<std::byte> into, Tries tries) {
  PENSTOCK_CHECK(!into.empty() && offset <= version.bytes && into.size() <= version.bytes - offset);
  const TransferAnswer answer = Perform(address, tries, [&](const StoreAccess& access) {
    return FillingRequest(address, access, version, offset, into);
  });
  PENSTOCK_RETURN_IF_ERROR(ToStatus(answer, address));
  return CheckVersion(answer, version, address);
}

void ObjectStore::StartRead(const Address& address, const ObjectVersion& version, uint64_t offset,
                            std::span<std::byte> into, Done done) {
  PENSTOCK_CHECK(!into.empty() && offset <= version.bytes && into.size() <= version.bytes - offset);
  transfers_.Start(
      FillingRequest(address, AccessTo(address), version, offset, into),
      [this, &address, &version, done = std::move(done)](const TransferAnswer& answer) {
        if (LearnsRegion(address, answer))
          return done(absl::UnavailableError("the bucket is in another region"));
        const absl::Status status = ToStatus(answer, address);
        done(status.ok() ? CheckVersion(answer, version, address) : status);
      });
}

template <typename Make>
TransferAnswer ObjectStore::Perform(const Address& address, Tries tries, const Make& make) {
  const int most = tries == Tries::kLong ? options_.most_tries_long : options_.most_tries;
  bool has_learnt = false;
  base::BackOff back_off({.first = options_.first_pause, .longest = options_.longest_pause});
  for (int tried = 1;; ++tried) {
    TransferAnswer answer = transfers_.Perform(make(AccessTo(address)));
    if (!has_learnt && LearnsRegion(address, answer)) {
      has_learnt = true;
      continue;
    }
    if (tried >= most || !absl::IsUnavailable(ToStatus(answer, address))) return answer;
    ++retries_;
    Pause(back_off.Next(), answer);
  }
}

StoreAccess ObjectStore::AccessTo(const Address& address) const {
  const base::MutexLock lock(mutex_);
  StoreAccess access = address.scheme == Scheme::kGs ? gs_ : s3_;
  if (address.scheme != Scheme::kS3) return access;
  if (const auto region = regions_.find(address.place); region != regions_.end())
    access.region = region->second;
  return access;
}

// A bucket in another region than the configured one is found there.
bool ObjectStore::LearnsRegion(const Address& address, const TransferAnswer& answer) {
  if (address.scheme != Scheme::kS3 || !answer.status.ok()) return false;
  if (answer.code != 301 && answer.code != 307 && answer.code != 400) return false;
  const std::string region(answer.Header("x-amz-bucket-region"));
  if (region.empty() || region.size() > 64 || region == AccessTo(address).region) return false;
  const base::MutexLock lock(mutex_);
  if (regions_.size() >= kMostRegions) regions_.clear();
  regions_[address.place] = region;
  return true;
}

void ObjectStore::Pause(base::Duration longest, const TransferAnswer& answer) const {
  thread_local std::minstd_rand random(std::random_device{}());
  const double part = std::uniform_real_distribution<double>(0.5, 1.0)(random);
  const auto pause = std::chrono::duration_cast<base::Duration>(longest * part);
  std::this_thread::sleep_for(std::max(pause, std::min(options_.longest_pause, ToPause(answer))));
}

}  // namespace penstock::store
