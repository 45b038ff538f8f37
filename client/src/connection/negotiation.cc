#include "client/src/connection/negotiation.h"

#include "absl/strings/str_cat.h"

namespace penstock::client {
namespace {

// Whether another delivery may work after this error. The daemon refuses a GPU and a session with
// the same codes; if it is the session, the next attempt is refused too, and that error is
// reported.
bool AnotherMayWork(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

std::string NameOf(const Ask& ask) {
  if (ask.delivery != Delivery::kDevice || ask.handle == HandleKind::kAuto) {
    return DeliveryName(ask.delivery);
  }
  return absl::StrCat("device by ", HandlePhrase(ask.handle));
}

class Negotiation {
 public:
  Negotiation(const DeliveryRequest& request, const std::function<Tried(const Ask&)>& attempt)
      : request_(request), attempt_(attempt), reason_(request.reason) {}

  absl::StatusOr<Opened> Run() {
    if (!request_.on_device) return Try(Delivery::kHost, HandleKind::kAuto).opened;
    absl::StatusOr<Opened> opened = TryDevice();
    if (opened.ok() || !AnotherMayWork(opened.status())) return opened;
    if (request_.delivery != Delivery::kDevice) {
      opened = Try(Delivery::kPinned, HandleKind::kAuto).opened;
      if (opened.ok() || !AnotherMayWork(opened.status())) return opened;
    }
    if (request_.or_host) return Try(Delivery::kHost, HandleKind::kAuto).opened;
    return absl::Status(opened.status().code(), reason_);
  }

 private:
  absl::StatusOr<Opened> TryDevice() {
    if (request_.delivery == Delivery::kPinned) {
      return absl::FailedPreconditionError("pinned delivery was requested");
    }
    Tried first = Try(Delivery::kDevice, request_.handle);
    const bool other_handle = !first.opened.ok() && request_.handle == HandleKind::kAuto &&
                              first.granted == HandleKind::kIpc;
    if (!other_handle) return std::move(first.opened);
    return Try(Delivery::kDevice, HandleKind::kVmm).opened;
  }

  Tried Try(Delivery delivery, HandleKind handle) {
    const Ask ask = {delivery, handle, reason_};
    Tried tried = attempt_(ask);
    if (!tried.opened.ok()) {
      absl::StrAppend(&reason_, reason_.empty() ? "" : "; ", "not ", NameOf(ask), ": ",
                      std::string(tried.opened.status().message()));
    }
    return tried;
  }

  const DeliveryRequest& request_;
  const std::function<Tried(const Ask&)>& attempt_;
  std::string reason_;
};

}  // namespace

absl::StatusOr<Opened> Negotiate(const DeliveryRequest& request,
                                 const std::function<Tried(const Ask&)>& attempt) {
  return Negotiation(request, attempt).Run();
}

const char* HandlePhrase(HandleKind kind) {
  switch (kind) {
    case HandleKind::kIpc:
      return "CUDA IPC";
    case HandleKind::kVmm:
      return "VMM";
    case HandleKind::kAuto:
      break;
  }
  return "any";
}

}  // namespace penstock::client
