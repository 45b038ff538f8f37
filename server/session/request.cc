#include "server/session/request.h"

namespace penstock::session {

absl::string_view DeliveryName(Delivery delivery) {
  switch (delivery) {
    case Delivery::kHost:
      return "host";
    case Delivery::kPinned:
      return "pinned";
    case Delivery::kDevice:
      return "device";
  }
  return "";
}

}  // namespace penstock::session
