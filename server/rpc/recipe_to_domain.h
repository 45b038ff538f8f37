// Translates a recipe's steps, which rows the client decodes, and which it could not decode. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "penstock/v1/feed.pb.h"
#include "penstock/v1/types.pb.h"
#include "server/augment/recipe/recipe.h"
#include "server/session/request.h"

namespace penstock::rpc {

// The recipe of these steps, flat and checked.
// **Errors**: InvalidArgument, which names the step by its place.
absl::StatusOr<augment::TransformRecipe> RecipeFrom(
    const google::protobuf::RepeatedPtrField<v1::TransformStep>& steps);

// **Errors**: InvalidArgument names the field.
absl::StatusOr<decode::Undecoded> UndecodedFrom(const v1::Undecoded& undecoded);

inline constexpr size_t kMaxUndecodable = 4096;

// The reported samples. **Errors**: InvalidArgument if there are none or too many.
absl::StatusOr<std::vector<uint64_t>> UndecodableFrom(const v1::ReportUndecodableRequest& message);

}  // namespace penstock::rpc
