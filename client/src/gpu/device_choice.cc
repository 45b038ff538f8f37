#include "client/src/gpu/device_choice.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace penstock::client {
namespace {

constexpr uint32_t kMaxDepth = 16;

absl::Status Wrong(const SessionOptions& options, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("session on device '", options.device, "': ", what));
}

absl::Status CheckOptions(const SessionOptions& options) {
  if (options.device_depth > kMaxDepth) {
    return Wrong(options, absl::StrCat("device_depth: got ", options.device_depth,
                                       ", expected at most ", kMaxDepth));
  }
  const bool host = options.device == "host";
  if (host && (options.delivery == Delivery::kDevice || options.delivery == Delivery::kPinned)) {
    return Wrong(options, "this delivery needs a GPU; use device 'cuda', 'cuda:N' or 'auto'");
  }
  if (!host && options.device != "auto" && options.delivery == Delivery::kHost) {
    return Wrong(options, "host delivery does not reach a GPU; use device 'host' or 'auto'");
  }
  return absl::OkStatus();
}

// The device's number; nullopt: the current device.
absl::StatusOr<std::optional<int>> NumberOf(const SessionOptions& options) {
  absl::string_view text = options.device;
  if (text == "auto" || text == "cuda") return std::nullopt;
  int number = 0;
  if (!absl::ConsumePrefix(&text, "cuda:") || !absl::SimpleAtoi(text, &number) || number < 0) {
    return Wrong(options, "unknown device; use 'host', 'cuda', 'cuda:N' or 'auto'");
  }
  return number;
}

absl::StatusOr<cuda::Device> Find(const SessionOptions& options, const VisibleDevices& visible,
                                  std::optional<int> number) {
  const int wanted = number.value_or(visible.current);
  for (const cuda::Device& device : visible.devices) {
    if (device.ordinal == wanted) return device;
  }
  return Wrong(options, absl::StrCat("no such GPU: this process sees ", visible.devices.size(),
                                     " GPUs, numbered from 0; check CUDA_VISIBLE_DEVICES"));
}

absl::StatusOr<cuda::Device> Look(const SessionOptions& options, std::optional<int> number,
                                  const std::function<absl::StatusOr<VisibleDevices>()>& look) {
  PENSTOCK_ASSIGN_OR_RETURN(const VisibleDevices visible, look());
  return Find(options, visible, number);
}

}  // namespace

absl::StatusOr<DeviceChoice> ChooseDevice(
    const SessionOptions& options, const std::function<absl::StatusOr<VisibleDevices>()>& look) {
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options));
  if (options.device == "host") return DeviceChoice{{}, false, "host memory was requested"};
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<int> number, NumberOf(options));
  if (options.delivery == Delivery::kHost) {
    return DeviceChoice{{}, false, "host delivery was requested"};
  }
  const bool or_host = options.device == "auto";
  const absl::StatusOr<cuda::Device> device = Look(options, number, look);
  if (device.ok()) return DeviceChoice{*device, or_host, ""};
  if (!or_host) return device.status();
  return DeviceChoice{{}, true, absl::StrCat("no GPU: ", device.status().message())};
}

absl::StatusOr<VisibleDevices> LookForDevices() {
  VisibleDevices visible;
  PENSTOCK_ASSIGN_OR_RETURN(visible.devices, cuda::Devices());
  PENSTOCK_ASSIGN_OR_RETURN(visible.current, cuda::CurrentDevice());
  return visible;
}

}  // namespace penstock::client
