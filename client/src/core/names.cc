// Names of deliveries, handles and types.
#include "common/base/dtype.h"
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

// The public and the internal enum have the same numbers.
static_assert(static_cast<uint32_t>(DType::kBool) == static_cast<uint32_t>(base::DType::kBool));
static_assert(static_cast<uint32_t>(DType::kFloat64) ==
              static_cast<uint32_t>(base::DType::kFloat64));

const char* DTypeName(DType type) {
  return base::DTypeName(static_cast<base::DType>(type)).data();  // points to a literal
}

size_t ElementBytes(DType type) { return base::ElementBytes(static_cast<base::DType>(type)); }

}  // namespace penstock
