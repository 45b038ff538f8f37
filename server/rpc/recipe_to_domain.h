// Translates a recipe's steps, and which rows the client decodes. Pure.
#pragma once

#include "common/base/status.h"
#include "google/protobuf/repeated_ptr_field.h"
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

}  // namespace penstock::rpc
