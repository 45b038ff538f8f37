#include "server/store/client/object_store.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/back_off.h"
#include "common/base/check.h"
#include "server/store/client/listing.h"

namespace penstock::store {
namespace {

constexpr std::chrono::milliseconds kLeastDeadline(100);

constexpr size_t kMostRegions = 10'000;
constexpr size_t kMostKeys = 1'000'000;
constexpr uint64_t kSlowestBytesPerUs = 1;  // 1 MB/s, in addition to a request's deadline

}  // namespace

absl::StatusOr<ObjectVersion> ObjectStore::Stat(const Address& address, Tries tries) {
  TransferAnswer answer = Perform(
      address, tries, [&](const StoreAccess& access) { return ToStatRequest(address, access); });
  if (answer.code == 400 || answer.code == 403 || answer.code == 405)
    answer = Perform(address, tries, [&](const StoreAccess& access) {
      return ToReadRequest(address, access, {}, {.offset = 0, .bytes = 1});
    });
  PENSTOCK_RETURN_IF_ERROR(MakeStatus(answer, address));
  PENSTOCK_ASSIGN_OR_RETURN(ObjectVersion version, ToVersion(answer, address));
  if (version.is_pinned()) return version;
  return absl::FailedPreconditionError(
      absl::StrCat("'", ToText(address),
                   "': the server gives neither an ETag nor Last-Modified, so a change of the file "
                   "could not be noticed; serve it by one that does"));
}

absl::Status ObjectStore::ListPages(const Address& folder, ListDepth depth, const TakePage& take,
                                    Tries tries) {
  std::string token;
  do {
    const TransferAnswer answer = Perform(folder, tries, [&](const StoreAccess& access) {
      return ToListRequest(folder, access, token, depth);
    });
    PENSTOCK_RETURN_IF_ERROR(MakeStatus(answer, folder));
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

absl::StatusOr<std::vector<std::string>> ObjectStore::List(const Address& folder, Tries tries) {
  std::vector<std::string> keys;
  const auto take = [&](ListPage page) -> absl::StatusOr<bool> {
    for (ListedObject& object : page.objects) keys.push_back(std::move(object.key));
    if (keys.size() <= kMostKeys) return true;
    return absl::ResourceExhaustedError(absl::StrCat("'", ToText(folder), "' holds more than ",
                                                     kMostKeys, " objects; name the files"));
  };
  PENSTOCK_RETURN_IF_ERROR(ListPages(folder, ListDepth::kOneLevel, take, tries));
  std::sort(keys.begin(), keys.end());  // not all stores do
  return keys;
}

TransferAnswer ObjectStore::Ask(const Address& address, Tries tries, const ToRequest& make) {
  return Perform(address, tries, make);
}

void ObjectStore::StartAsk(const Address& address, const ToRequest& make, Transfers::Done done) {
  const auto refuse = [&](const absl::Status& why) {
    TransferAnswer answer;
    answer.status = why;
    done(std::move(answer));
  };
  absl::StatusOr<Way> way = WayWithKeys(address);
  if (!way.ok()) return refuse(way.status());
  TransferRequest request = make(way->access);
  transfers_.Start(std::move(request), [this, address, way = *std::move(way),
                                        done = std::move(done)](TransferAnswer answer) {
    if (LearnsRegion(address, way.access, answer))
      answer.status = absl::UnavailableError("the bucket is in another region");
    else if (MayHaveEndedKeys(answer) && way.keys != nullptr && way.keys->CanRenew())
      answer.status = absl::UnavailableError("the keys may have ended");
    if (absl::IsUnavailable(answer.status)) CountRetry(answer);
    done(std::move(answer));
  });
}

void ObjectStore::SetPlaces(std::vector<StorePlace> places) {
  auto next = std::make_shared<const StorePlaces>(std::move(places));
  const base::MutexLock lock(mutex_);
  places_.swap(next);
  regions_.clear();  // they were learnt from other endpoints
}

std::shared_ptr<const StorePlaces> ObjectStore::places() const {
  const base::MutexLock lock(mutex_);
  return places_;
}

std::string ObjectStore::EndpointOf(const Address& address) const {
  const auto all = places();
  const absl::StatusOr<const StorePlace*> place = all->Find(address);
  return place.ok() ? (*place)->access.endpoint : "";
}

TransferRequest ObjectStore::FillingRequest(const Address& address, const StoreAccess& access,
                                            const ObjectVersion& version,
                                            const std::vector<ObjectPart>& parts) {
  const uint64_t begin = parts.front().offset, end = parts.back().offset + parts.back().into.size();
  TransferRequest request =
      ToReadRequest(address, access, version, {.offset = begin, .bytes = end - begin});
  for (const ObjectPart& part : parts)
    request.parts.push_back({.from = part.offset - begin, .into = part.into});
  request.deadline += std::chrono::microseconds((end - begin) / kSlowestBytesPerUs);
  return request;
}

absl::Status ObjectStore::Read(const Address& address, const ObjectVersion& version,
                               uint64_t offset, std::span<std::byte> into, Tries tries) {
  PENSTOCK_CHECK(!into.empty() && offset <= version.bytes && into.size() <= version.bytes - offset);
  const TransferAnswer answer = Perform(address, tries, [&](const StoreAccess& access) {
    return FillingRequest(address, access, version, {{.offset = offset, .into = into}});
  });
  PENSTOCK_RETURN_IF_ERROR(MakeStatus(answer, address));
  return CheckVersion(answer, version, address);
}

absl::StatusOr<std::optional<std::string>> ObjectStore::ReadWhole(const Address& address,
                                                                  const TakeMemory& take) {
  std::string whole;
  absl::Status taken;
  const auto collect = [&](std::span<const std::byte> bytes) {
    if (taken = take(bytes.size()); !taken.ok()) return false;
    whole.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  };
  const TransferAnswer answer = Perform(address, Tries::kShort, [&](const StoreAccess& access) {
    TransferRequest request = ToStatRequest(address, access);
    request.method = TransferRequest::Method::kGet;
    request.sink = collect;
    whole.clear();
    return request;
  });
  PENSTOCK_RETURN_IF_ERROR(taken);
  if (answer.status.ok() && (answer.code == 404 || answer.code == 403)) return std::nullopt;
  PENSTOCK_RETURN_IF_ERROR(MakeStatus(answer, address));
  return whole;
}

void ObjectStore::StartRead(const Address& address, const ObjectVersion& version,
                            const std::vector<ObjectPart>& parts, Done done) {
  uint64_t end = 0;
  for (const ObjectPart& part : parts) {
    PENSTOCK_CHECK(!part.into.empty() && part.offset >= end && part.offset <= version.bytes &&
                   part.into.size() <= version.bytes - part.offset);
    end = part.offset + part.into.size();
  }
  absl::StatusOr<Way> way = WayWithKeys(address);
  if (!way.ok()) return done(way.status());
  TransferRequest request = FillingRequest(address, way->access, version, parts);
  transfers_.Start(std::move(request), [this, &address, &version, way = *std::move(way),
                                        done = std::move(done)](const TransferAnswer& answer) {
    if (LearnsRegion(address, way.access, answer))
      return done(absl::UnavailableError("the bucket is in another region"));
    if (MayHaveEndedKeys(answer) && way.keys != nullptr && way.keys->CanRenew())
      return done(absl::UnavailableError("the keys may have ended"));
    const absl::Status status = ToStatus(answer, address);
    if (absl::IsUnavailable(status)) CountRetry(answer);
    done(status.ok() ? CheckVersion(answer, version, address) : status);
  });
}

RetryCounts ObjectStore::retries() const {
  const base::MutexLock lock(mutex_);
  return retries_;
}

void ObjectStore::CountRetry(const TransferAnswer& answer) {
  const base::MutexLock lock(mutex_);
  ++retries_[static_cast<size_t>(FindRetryReason(answer))];
}

template <typename Make>
TransferAnswer ObjectStore::Perform(const Address& address, Tries tries, const Make& make) {
  const int most = tries == Tries::kLong ? options_.most_tries_long : options_.most_tries;
  const bool is_brief = tries == Tries::kBrief;
  const base::TimePoint until =
      base::Now() + (is_brief ? options_.brief : options_.longest_trying);  // begins no try then
  bool has_learnt = false, has_renewed = false;
  base::BackOff back_off({.first = options_.first_pause, .longest = options_.longest_pause});
  for (int tried = 1;; ++tried) {
    absl::StatusOr<Way> way = WayTo(address);
    if (!way.ok()) return {.status = way.status()};
    if (way->keys != nullptr) {
      absl::StatusOr<SharedKeys> keys = way->keys->Get();
      if (!keys.ok()) return {.status = base::Annotate(keys.status(), "getting keys")};
      way->access.credentials = *std::move(keys);
    }
    TransferRequest request = make(way->access);
    if (is_brief)
      request.deadline = std::min<base::Duration>(
          request.deadline, std::max<base::Duration>(until - base::Now(), kLeastDeadline));
    TransferAnswer answer = transfers_.Perform(std::move(request));
    if (!has_learnt && LearnsRegion(address, way->access, answer)) {
      has_learnt = true;
      continue;
    }
    if (!has_renewed && MayHaveEndedKeys(answer) && way->keys != nullptr &&
        way->keys->Renew(way->access.credentials)) {
      has_renewed = true;
      continue;
    }
    const bool is_over = tried >= most || base::Now() >= until;
    if (is_over || !absl::IsUnavailable(ToStatus(answer, address))) return answer;
    CountRetry(answer);
    Pause(back_off.Next(), answer);
  }
}

absl::StatusOr<ObjectStore::Way> ObjectStore::WayTo(const Address& address) const {
  const base::MutexLock lock(mutex_);
  PENSTOCK_ASSIGN_OR_RETURN(const StorePlace* const place, places_->Find(address));
  Way way = {.access = place->access, .keys = place->keys};
  if (address.scheme != Scheme::kS3) return way;
  if (const auto region = regions_.find(address.place); region != regions_.end())
    way.access.region = region->second;
  return way;
}

absl::StatusOr<ObjectStore::Way> ObjectStore::WayWithKeys(const Address& address) const {
  PENSTOCK_ASSIGN_OR_RETURN(Way way, WayTo(address));
  if (way.keys == nullptr) return way;
  const std::optional<SharedKeys> keys = way.keys->Peek();
  if (!keys) return absl::UnavailableError("the keys are being renewed");
  way.access.credentials = *keys;
  return way;
}

absl::Status ObjectStore::MakeStatus(const TransferAnswer& answer, const Address& address) const {
  const absl::Status status = ToStatus(answer, address);
  if (!MayHaveEndedKeys(answer)) return status;
  const absl::StatusOr<Way> way = WayTo(address);
  if (!way.ok() || way->keys == nullptr) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "; ", way->keys->Describe()));
}

// A bucket in another region than the configured one is found there.
bool ObjectStore::LearnsRegion(const Address& address, const StoreAccess& used,
                               const TransferAnswer& answer) {
  if (address.scheme != Scheme::kS3) return false;
  const std::string region = RegionIn(answer);
  if (region.empty() || region == used.region) return false;
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
