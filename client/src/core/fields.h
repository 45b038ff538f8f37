// Converts fields from protocol messages. Plain values, any thread.
#pragma once

#include "penstock/tensor.h"

namespace penstock::client {

// `Message` is v1::Field or v1::Tensor, which have these members in common.
template <typename Message>
Field ToField(const Message& message) {
  return {.name = message.name(),
          .type = static_cast<DType>(message.dtype()),
          .shape = {message.shape().begin(), message.shape().end()},
          .variable = message.variable()};
}

}  // namespace penstock::client
