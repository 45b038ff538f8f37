#include "server/store/files/gathered_object.h"

#include "absl/strings/str_cat.h"
#include "server/store/client/whole_object.h"

namespace penstock::store {

absl::StatusOr<GatheredObject::PinnedObject> GatheredObject::Find(uint64_t offset,
                                                                  size_t bytes) const {
  const source::RemoteEntry entry = at_(offset);
  PinnedObject asked = {.address = folder_, .bytes = entry.bytes, .pin = entry.pin};
  asked.address.key += entry.name;
  if (entry.bytes == bytes) return asked;
  return absl::InternalError(absl::StrCat("'", ToText(asked.address), "': ", bytes, " of its ",
                                          entry.bytes, " bytes were asked for"));
}

absl::Status GatheredObject::FetchWhole(uint64_t offset, std::span<std::byte> into,
                                        ObjectStore::Tries tries) const {
  PENSTOCK_ASSIGN_OR_RETURN(const PinnedObject asked, Find(offset, into.size()));
  const TransferAnswer answer = objects_.Ask(asked.address, tries, [&](const StoreAccess& access) {
    return ToWholeRequest(asked.address, access, into);
  });
  return CheckWholeObject(answer, asked.address, asked.bytes, asked.pin);
}

void GatheredObject::Start(uint64_t offset, std::span<std::byte> into, Done done) const {
  const absl::StatusOr<PinnedObject> asked = Find(offset, into.size());
  if (!asked.ok()) return done(asked.status());
  objects_.StartAsk(
      asked->address,
      [&](const StoreAccess& access) { return ToWholeRequest(asked->address, access, into); },
      [asked = *asked, done = std::move(done)](const TransferAnswer& answer) {
        done(CheckWholeObject(answer, asked.address, asked.bytes, asked.pin));
      });
}

}  // namespace penstock::store
