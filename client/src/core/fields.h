// Fields as messages have them. Plain values, any thread.
#pragma once

#include "penstock/tensor.h"

namespace penstock::client {

// Of a v1::Field or a v1::Tensor, which say the same of it.
template <typename Message>
Field FieldOf(const Message& message) {
  return {.name = message.name(),
          .type = static_cast<DType>(message.dtype()),
          .shape = {message.shape().begin(), message.shape().end()},
          .variable = message.variable()};
}

}  // namespace penstock::client
