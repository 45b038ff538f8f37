// Many small objects of one folder, read as if they lay one after another in a single object. Each
// is a piece, is read whole by one request, and in the version that was listed.
// **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "common/base/status.h"
#include "server/source/files/remote_file.h"
#include "server/store/address/address.h"
#include "server/store/client/object_store.h"
#include "server/store/files/pieces.h"

namespace penstock::store {

class GatheredObject final : public FetchedObject {
 public:
  using FindEntry = std::function<source::RemoteEntry(uint64_t offset)>;
  // **Requires**: `objects` outlives this.
  GatheredObject(ObjectStore& objects, Address folder, FindEntry at)
      : objects_(objects), folder_(std::move(folder)), at_(std::move(at)) {}

  // **Requires**, of all: `into` is as long as the object that begins at the offset. **Errors**: as
  // in FetchedObject; DataLoss names the object that has changed.
  absl::Status Fetch(uint64_t offset, std::span<std::byte> into) const override {
    return FetchWhole(offset, into, ObjectStore::Tries::kShort);
  }
  absl::Status FetchPatiently(uint64_t offset, std::span<std::byte> into) const override {
    return FetchWhole(offset, into, ObjectStore::Tries::kLong);
  }
  void Start(uint64_t offset, std::span<std::byte> into, Done done) const override;

 private:
  struct PinnedObject {
    Address address;
    uint64_t bytes = 0, pin = 0;
  };
  absl::StatusOr<PinnedObject> Find(uint64_t offset, size_t bytes) const;
  absl::Status FetchWhole(uint64_t offset, std::span<std::byte> into,
                          ObjectStore::Tries tries) const;

  ObjectStore& objects_;
  const Address folder_;
  const FindEntry at_;
};

}  // namespace penstock::store
