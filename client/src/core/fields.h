// Converts fields from protocol messages. Plain values, any thread.
#pragma once

#include "penstock/tensor.h"
#include "penstock/v1/types.pb.h"

namespace penstock::client {

// What a daemon says of a field. A kind that this library does not know is none to it.
inline Target ToTarget(const v1::Target& message) {
  if (message.kind() < 0 || message.kind() > v1::TARGET_KIND_WITH_BOXES) return {};
  return {.kind = static_cast<Target::Kind>(message.kind()),
          .box_format = static_cast<Target::BoxFormat>(message.box_format()),
          .relative = message.relative(),
          .fill = message.fill(),
          .min_side = message.has_min_side() ? message.min_side() : Target().min_side,
          .point_pairs = {message.point_pairs().begin(), message.point_pairs().end()},
          .point_numbers = message.point_numbers(),
          .item_points = message.item_points()};
}

// `Message` is v1::Field or v1::Tensor, which have these members in common; a tensor has no target.
template <typename Message>
Field ToField(const Message& message) {
  Field field = {.name = message.name(),
                 .type = static_cast<DType>(message.dtype()),
                 .shape = {message.shape().begin(), message.shape().end()},
                 .variable = message.variable()};
  if constexpr (requires { message.target(); }) field.target = ToTarget(message.target());
  return field;
}

}  // namespace penstock::client
