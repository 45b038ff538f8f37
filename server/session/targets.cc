#include "server/session/targets.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/decode/core/spec.h"
#include "server/session/validate.h"
#include "server/session/wrong.h"

namespace penstock::session {
namespace {

static_assert(kMaxFields <= base::kMostTargets);

using base::TargetKind;
using base::TargetSpec;

bool IsTarget(const TargetSpec& target) { return target.kind != TargetKind::kNone; }
bool IsBoxes(const TargetSpec& target) { return target.kind == TargetKind::kBoxes; }
bool IsPosition(const TargetSpec& target) {
  return IsBoxes(target) || target.kind == TargetKind::kPoints;
}

// A field that holds positions in the image is wrong if the image is cropped at random and the
// field does not follow it.
absl::Status CheckPlaced(const Request& request, const std::vector<source::SampleField>& fields,
                         const source::Selection& selection) {
  const decode::Spec& decoding = request.feed.decoding;
  const bool random = decoding.geometry == decode::Geometry::kRandomResizedCrop ||
                      decoding.flip_probability > 0 || augment::MovesPixels(decoding.recipe);
  if (!random) return absl::OkStatus();
  for (size_t i = 0; i < selection.fields.size(); ++i) {
    if (!fields[selection.fields[i]].placed || request.fields[i].as_stored) continue;
    if (IsTarget(selection.targets[i])) continue;
    return Wrong(
        "'", request.fields[i].name,
        "' holds positions in the image, and a random crop or flip changes the image but not "
        "it; request a center crop without a flip or transforms of geometry, say what the field is "
        "(target), or request it as it is stored (as_stored)");
  }
  return absl::OkStatus();
}

// `name`: of the first field that is a target.
absl::Status CheckImage(const Request& request, const std::string& name, bool decoded) {
  if (!decoded)
    return Wrong("'", name, "' is requested as a target, which follows its image; the samples of '",
                 request.dataset_name, "' have no images that are decoded");
  if (!request.feed.more_images.empty())
    return Wrong("'", name,
                 "' follows one image of each sample; leave feed.more_images out, or request the "
                 "field as it is stored (as_stored)");
  if (request.feed.decoding.exif == decode::Exif::kApply)
    return Wrong("'", name,
                 "' refers to the pixels as they are stored; leave apply_exif_orientation out, or "
                 "request the field as it is stored (as_stored)");
  return absl::OkStatus();
}

absl::Status CheckTargets(const Request& request, const std::vector<TargetSpec>& targets,
                          bool decoded) {
  const auto first = std::find_if(targets.begin(), targets.end(), IsTarget);
  if (first == targets.end()) return absl::OkStatus();
  const auto name_of = [&](const TargetSpec& target) {
    return request.fields[static_cast<size_t>(&target - targets.data())].name;
  };
  PENSTOCK_RETURN_IF_ERROR(CheckImage(request, name_of(*first), decoded));
  if (request.feed.decoding.undecoded.place_bytes > 0)
    return Wrong("'", name_of(*first),
                 "' goes where its image goes, which is not known of undecoded rows; request the "
                 "field as it is stored (as_stored), or decode on the CPU");
  if (std::count_if(first, targets.end(), IsBoxes) > 1)
    return Wrong("feed.fields: wanted boxes once, as other fields belong to them");
  const auto with_boxes = std::find_if(first, targets.end(), [](const TargetSpec& target) {
    return target.kind == TargetKind::kWithBoxes;
  });
  if (with_boxes != targets.end() && std::none_of(first, targets.end(), IsBoxes))
    return Wrong("'", name_of(*with_boxes),
                 "' belongs to boxes, which are not requested; request them, too, or this field as "
                 "it is stored (as_stored)");
  return augment::ValidateForTargets(request.feed.decoding.recipe,
                                     std::any_of(first, targets.end(), IsPosition));
}

absl::Status FitMasks(const Request& request, source::Selection& selection) {
  const decode::Spec& decoding = request.feed.decoding;
  source::SetMaskSize(decoding.height, decoding.width, selection);
  if (selection.layout.bytes() <= source::kMaxRowBytes) return absl::OkStatus();
  return Wrong("feed.fields: with its masks a row has more than ", source::kMaxRowBytes, " bytes");
}

}  // namespace

absl::Status FitTargets(const Request& request, const std::vector<source::SampleField>& fields,
                        bool decoded, source::Selection& selection) {
  if (decoded) PENSTOCK_RETURN_IF_ERROR(CheckPlaced(request, fields, selection));
  PENSTOCK_RETURN_IF_ERROR(CheckTargets(request, selection.targets, decoded));
  return FitMasks(request, selection);
}

}  // namespace penstock::session
