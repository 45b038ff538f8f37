// The words for deliveries and handles.
#include "penstock/penstock.h"

namespace penstock {

const char* DeliveryName(Delivery delivery) {
  switch (delivery) {
    case Delivery::kDevice:
      return "device";
    case Delivery::kPinned:
      return "pinned";
    case Delivery::kHost:
      return "host";
    case Delivery::kAuto:
      break;
  }
  return "auto";
}

const char* HandleName(HandleKind kind) {
  switch (kind) {
    case HandleKind::kIpc:
      return "ipc";
    case HandleKind::kVmm:
      return "vmm";
    case HandleKind::kAuto:
      break;
  }
  return "auto";
}

}  // namespace penstock
