// Reads objects of stores, a version of each and no other, and tries again what may succeed.
// **Thread safety**: any thread. Calls wait for the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/store/address/address.h"
#include "server/store/client/listing.h"
#include "server/store/client/object_part.h"
#include "server/store/client/places.h"
#include "server/store/client/retry_reason.h"
#include "server/store/client/store_request.h"
#include "server/store/client/transfers.h"

namespace penstock::store {

class ObjectStore {
 public:
  struct Options {
    std::vector<StorePlace> places = {};  // at first; see SetPlaces
    // How often a request is sent that got no answer, or one that asks to try again; and the pause
    // before the second, each further one twice as long, of which up to half is left out at random.
    int most_tries = 4;       // of reads in a feed, which asks again, and of Tries::kBrief
    int most_tries_long = 8;  // of everything that opens a dataset, about 11 s
    base::Duration longest_trying = std::chrono::seconds(12);  // no other try begins after that
    base::Duration first_pause = std::chrono::milliseconds(100);
    base::Duration longest_pause = std::chrono::seconds(5);  // also if the store asks for more
    // Of Tries::kBrief: all of them together.
    base::Duration brief = std::chrono::seconds(10);
  };
  // **Requires**: `transfers` outlives the store.
  ObjectStore(Transfers& transfers, const Options& options)
      : transfers_(transfers),
        options_(options),
        places_(std::make_shared<const StorePlaces>(options.places)) {}

  // Replaces keys, endpoints and regions. Requests under way go on as they began.
  void SetPlaces(std::vector<StorePlace> places);
  // The endpoint of the object's place; empty: the usual one, or there is no place.
  std::string EndpointOf(const Address& address) const;

  // How long an answer is waited for. kShort: a reader in a feed asks again; kLong: nobody does;
  // kBrief: an older answer would do, so few tries are made, for about ten seconds.
  enum class Tries { kShort, kLong, kBrief };

  // Asks by HEAD; if that is refused, by a request for one byte, because only its answer says why,
  // and because some may read an object without looking at it. **Errors**: those of ToStatus;
  // FailedPrecondition if the store tells nothing by which another version could be recognised.
  absl::StatusOr<ObjectVersion> Stat(const Address& address, Tries tries = Tries::kLong);
  // The names of all objects of the folder (its key ends in a slash, or is empty), but for those in
  // folders below it, in the order of their bytes. **Errors**: those of ToListPage;
  // ResourceExhausted: more than a million.
  absl::StatusOr<std::vector<std::string>> List(const Address& folder, Tries tries = Tries::kLong);
  // Gives `take` what the folder holds, a page of a thousand at a time, until it returns false.
  // **Errors**: those of ToListPage and of `take`.
  using TakePage = std::function<absl::StatusOr<bool>(ListPage)>;
  absl::Status ListPages(const Address& folder, ListDepth depth, const TakePage& take,
                         Tries tries = Tries::kLong);
  // Fills `into` from the offset of that version. **Requires**: the range lies within it, and is
  // not empty. **Errors**: those of ToStatus and CheckVersion; `into` is then unspecified.
  absl::Status Read(const Address& address, const ObjectVersion& version, uint64_t offset,
                    std::span<std::byte> into, Tries tries = Tries::kShort);

  // The whole of a small object, by one request; nullopt: it is not there, or we may not read it.
  // `take` is told how many more bytes are about to be held; an error of it ends the read.
  // **Errors**: those of ToStatus and of `take`.
  using TakeMemory = std::function<absl::Status(uint64_t more)>;
  absl::StatusOr<std::optional<std::string>> ReadWhole(const Address& address,
                                                       const TakeMemory& take);

  // Begins a read that is sent once, and returns. `done` is called once, as in Transfers, with the
  // errors of Read; Unavailable: try again by Read. **Requires**: as Read; address, version and
  // memory stay until then. `parts`: of the object, each behind the one before; what lies between
  // them is read, and dropped.
  using Done = std::function<void(const absl::Status&)>;
  void StartRead(const Address& address, const ObjectVersion& version,
                 const std::vector<ObjectPart>& parts, Done done);

  // Sends what `make` makes for the access to the address's store, until it need not be tried
  // again.
  using ToRequest = std::function<TransferRequest(const StoreAccess&)>;
  TransferAnswer Ask(const Address& address, Tries tries, const ToRequest& make);
  // Sends it once, and returns. `done` is called once, as in Transfers. Unavailable: try again by
  // Ask.
  void StartAsk(const Address& address, const ToRequest& make, Transfers::Done done);

  RetryCounts retries() const;

 private:
  // How to reach one object.
  struct Way {
    StoreAccess access = {};             // with the keys to sign with
    std::shared_ptr<KeyRing> keys = {};  // null: they do not change
  };
  // What fills the parts with an answer's bytes.
  static TransferRequest FillingRequest(const Address& address, const StoreAccess& access,
                                        const ObjectVersion& version,
                                        const std::vector<ObjectPart>& parts);
  void CountRetry(const TransferAnswer& answer);
  // Sends what `make` makes for the access to the bucket, until it need not be tried again. If the
  // store refuses the keys, they are renewed, once.
  template <typename Make>
  TransferAnswer Perform(const Address& address, Tries tries, const Make& make);
  // Without keys. **Errors**: those of StorePlaces::Find.
  absl::StatusOr<Way> WayTo(const Address& address) const;
  // With the keys that there are. **Errors**: also Unavailable: they are being renewed.
  absl::StatusOr<Way> WayWithKeys(const Address& address) const;
  std::shared_ptr<const StorePlaces> places() const;
  bool LearnsRegion(const Address& address, const StoreAccess& used, const TransferAnswer& answer);
  // ToStatus; a refusal says whose keys were refused.
  absl::Status MakeStatus(const TransferAnswer& answer, const Address& address) const;
  void Pause(base::Duration longest, const TransferAnswer& answer) const;

  Transfers& transfers_;
  const Options options_;
  mutable base::Mutex mutex_;
  RetryCounts retries_ PENSTOCK_GUARDED_BY(mutex_) = {};
  std::shared_ptr<const StorePlaces> places_ PENSTOCK_GUARDED_BY(mutex_);   // shared by requests
  std::map<std::string, std::string> regions_ PENSTOCK_GUARDED_BY(mutex_);  // by bucket, if another
};

}  // namespace penstock::store
