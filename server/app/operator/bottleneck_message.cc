#include "server/app/operator/bottleneck_message.h"

namespace penstock::app {

v1::Bottleneck ToMessage(feed::Bottleneck bottleneck) {
  switch (bottleneck) {
    case feed::Bottleneck::kUnknown:
      return v1::BOTTLENECK_UNSPECIFIED;
    case feed::Bottleneck::kTrainer:
      return v1::BOTTLENECK_TRAINER;
    case feed::Bottleneck::kDecoding:
      return v1::BOTTLENECK_DECODING;
    case feed::Bottleneck::kMaking:
      return v1::BOTTLENECK_MAKING;
    case feed::Bottleneck::kReading:
      return v1::BOTTLENECK_READING;
    case feed::Bottleneck::kSource:
      return v1::BOTTLENECK_SOURCE;
    case feed::Bottleneck::kStore:
      return v1::BOTTLENECK_STORE;
    case feed::Bottleneck::kCopying:
      return v1::BOTTLENECK_COPYING;
    case feed::Bottleneck::kWindow:
      return v1::BOTTLENECK_WINDOW;
  }
  return v1::BOTTLENECK_UNSPECIFIED;
}

}  // namespace penstock::app
