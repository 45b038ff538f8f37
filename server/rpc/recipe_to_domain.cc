#include "server/rpc/recipe_to_domain.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "common/base/hash.h"
#include "server/augment/recipe/numbers.h"

namespace penstock::rpc {
namespace {

using augment::Op;
using augment::Step;
using Steps = google::protobuf::RepeatedPtrField<v1::TransformStep>;

template <typename... Words>
absl::Status WrongUndecoded(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("feed.image.undecoded.", words...));
}

template <typename... Words>
absl::Status WrongStep(const v1::TransformStep& step, const Words&... words) {
  return absl::InvalidArgumentError(
      absl::StrCat("feed.image.recipe.steps: ", v1::TransformOp_Name(step.op()), ": ", words...));
}

std::span<const double> NumbersOf(const v1::TransformStep& message) {
  return {message.numbers().data(), static_cast<size_t>(message.numbers_size())};
}

uint8_t Number(base::Interpolation interpolation) { return static_cast<uint8_t>(interpolation); }

absl::Status TakeInterpolation(const v1::TransformStep& message, Step& step) {
  switch (static_cast<int>(message.interpolation())) {
    case v1::INTERPOLATION_UNSPECIFIED:
    case v1::INTERPOLATION_NEAREST:
      step.interpolation = Number(base::Interpolation::kNearest);
      return absl::OkStatus();
    case v1::INTERPOLATION_BILINEAR:
      step.interpolation = Number(base::Interpolation::kBilinear);
      return absl::OkStatus();
    case v1::INTERPOLATION_LANCZOS:
      step.interpolation = Number(base::Interpolation::kLanczos);
      return absl::OkStatus();
    case v1::INTERPOLATION_BICUBIC:
      step.interpolation = Number(base::Interpolation::kBicubic);
      return absl::OkStatus();
    default:
      return WrongStep(message, "interpolation: got ", static_cast<int>(message.interpolation()),
                       "; upgrade the daemon if the client knows it");
  }
}

absl::Status TakePadding(const v1::TransformStep& message, Step& step) {
  const int mode = message.padding_mode();
  if (mode < 0 || mode > v1::PADDING_MODE_SYMMETRIC) {
    return WrongStep(message, "padding_mode: got ", mode, "; upgrade the daemon if it is newer");
  }
  if (step.op == Op::kPad || step.op == Op::kRandomCrop) {
    step.mode = static_cast<uint8_t>(std::max(mode, 1) - 1);
  }
  return absl::OkStatus();
}

bool IsGroup(Op op) {
  return op == Op::kCompose || op == Op::kRandomApply || op == Op::kRandomChoice ||
         op == Op::kRandomOrder;
}

absl::Status Append(const Steps& messages, std::span<const double> weights,
                    augment::TransformRecipe& recipe);

absl::Status AppendGroup(const v1::TransformStep& message, augment::TransformRecipe& recipe) {
  const bool weighs = recipe.steps[recipe.count - 1].op == Op::kRandomChoice;
  if (weighs && message.numbers_size() != message.steps_size()) {
    return WrongStep(message, "wanted a weight for each of ", message.steps_size(), " steps, got ",
                     message.numbers_size());
  }
  const uint32_t place = recipe.count - 1;
  const std::span<const double> weights = weighs ? NumbersOf(message) : std::span<const double>();
  PENSTOCK_RETURN_IF_ERROR(Append(message.steps(), weights, recipe));
  recipe.steps[place].children = recipe.count - 1 - place;
  return absl::OkStatus();
}

absl::Status AppendOne(const v1::TransformStep& message, double weight,
                       augment::TransformRecipe& recipe) {
  if (recipe.count == augment::kMaxSteps) {
    return WrongStep(message, "wanted at most ", augment::kMaxSteps,
                     " steps, those within groups included");
  }
  Step& step = recipe.steps[recipe.count++];
  step.op = static_cast<Op>(message.op());  // the message has the same numbers
  step.weight = weight;
  step.probability = message.probability();
  const std::span<const double> numbers = NumbersOf(message);
  if (step.op != Op::kRandomChoice) PENSTOCK_RETURN_IF_ERROR(augment::TakeNumbers(numbers, step));
  PENSTOCK_RETURN_IF_ERROR(TakeInterpolation(message, step));
  PENSTOCK_RETURN_IF_ERROR(TakePadding(message, step));
  if (IsGroup(step.op)) return AppendGroup(message, recipe);
  if (message.steps_size() == 0) return absl::OkStatus();
  return WrongStep(message, "wanted no steps within it, got ", message.steps_size());
}

absl::Status Append(const Steps& messages, std::span<const double> weights,
                    augment::TransformRecipe& recipe) {
  for (int i = 0; i < messages.size(); ++i) {
    const double weight = weights.empty() ? 1.0 : weights[i];
    PENSTOCK_RETURN_IF_ERROR(AppendOne(messages.Get(i), weight, recipe));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<augment::TransformRecipe> RecipeFrom(const Steps& steps) {
  augment::TransformRecipe recipe;
  PENSTOCK_RETURN_IF_ERROR(Append(steps, {}, recipe));
  PENSTOCK_RETURN_IF_ERROR(augment::Validate(recipe));
  return recipe;
}

absl::StatusOr<decode::Undecoded> UndecodedFrom(const v1::Undecoded& undecoded) {
  constexpr size_t kLongest = 128;
  constexpr double kWhole = 4294967296.0;
  if (!(undecoded.share() > 0 && undecoded.share() <= 1))
    return WrongUndecoded("share: wanted above 0, up to 1, got ", undecoded.share());
  if (undecoded.place_bytes() == 0) return WrongUndecoded("place_bytes is missing");
  if (undecoded.decoder().empty() || undecoded.decoder().size() > kLongest)
    return WrongUndecoded("decoder: wanted 1 to ", kLongest, " bytes, got ",
                          undecoded.decoder().size());
  return decode::Undecoded{
      .place_bytes = undecoded.place_bytes(),
      .share = static_cast<uint32_t>(std::min(undecoded.share() * kWhole, kWhole - 1)),
      .decoder = base::Hash(undecoded.decoder())};
}

absl::StatusOr<std::vector<uint64_t>> UndecodableFrom(const v1::ReportUndecodableRequest& message) {
  const auto count = static_cast<size_t>(message.samples_size());
  if (count >= 1 && count <= kMaxUndecodable)
    return std::vector<uint64_t>(message.samples().begin(), message.samples().end());
  return absl::InvalidArgumentError(absl::StrCat("samples: wanted 1 to ", kMaxUndecodable, ", got ",
                                                 count, "; report more in several calls"));
}

}  // namespace penstock::rpc
