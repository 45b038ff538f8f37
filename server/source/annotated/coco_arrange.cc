#include "server/source/annotated/coco_arrange.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/target.h"

namespace penstock::source {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

template <typename... Words>
absl::Status Wrong(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(words...));
}

// Where the id is in `sorted`; kNone: nowhere.
template <typename Record>
uint32_t Find(const std::vector<Record>& sorted, int64_t id) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), id,
                       [](const Record& record, int64_t wanted) { return record.id < wanted; });
  if (found == sorted.end() || found->id != id) return kNone;
  return static_cast<uint32_t>(found - sorted.begin());
}

template <typename Record>
absl::Status SortById(std::vector<Record>& records, absl::string_view what) {
  const auto before = [](const Record& a, const Record& b) { return a.id < b.id; };
  if (!std::is_sorted(records.begin(), records.end(), before))
    std::stable_sort(records.begin(), records.end(), before);
  for (size_t i = 1; i < records.size(); ++i)
    if (records[i].id == records[i - 1].id)
      return Wrong("two ", what, " have the id ", records[i].id);
  return absl::OkStatus();
}

class Arranger {
 public:
  Arranger(CocoRecords records, const CocoSpec& spec) : in_(std::move(records)), spec_(spec) {}

  absl::StatusOr<Annotations> Run() {
    PENSTOCK_RETURN_IF_ERROR(SortById(in_.images, "images"));
    PENSTOCK_RETURN_IF_ERROR(SortById(in_.categories, "categories"));
    PENSTOCK_RETURN_IF_ERROR(CheckIds());
    PENSTOCK_RETURN_IF_ERROR(FindImages());
    PENSTOCK_RETURN_IF_ERROR(FindLabels());
    PENSTOCK_RETURN_IF_ERROR(FindPoints());
    Order();
    PENSTOCK_RETURN_IF_ERROR(AddImages());
    AddColumns();
    for (CocoCategory& category : in_.categories) out_.classes.push_back(std::move(category.name));
    out_.warning = absl::StrJoin(warnings_, "; ");
    return std::move(out_);
  }

 private:
  size_t annotations() const { return in_.ids.size(); }

  absl::Status CheckIds() const {
    std::vector<int64_t> ids = in_.ids;
    std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    if (twice == ids.end()) return absl::OkStatus();
    return Wrong("two annotations have the id ", *twice);
  }

  // As pycocotools, leaves out annotations of images that the file does not have.
  absl::Status FindImages() {
    uint64_t strange = 0;
    image_of_.assign(annotations(), kNone);
    objects_.assign(in_.images.size(), 0);
    for (size_t i = 0; i < annotations(); ++i) {
      const uint32_t image = Find(in_.images, in_.image_ids[i]);
      strange += image == kNone ? 1 : 0;
      if (image == kNone || (spec_.skip_crowd && in_.crowds[i] != 0)) continue;
      image_of_[i] = image;
      ++objects_[image];
    }
    if (strange > 0)
      warnings_.push_back(absl::StrCat(
          strange, " annotations belong to images that the file does not list; they are left out"));
    return absl::OkStatus();
  }

  absl::Status FindLabels() {
    if (in_.categories.empty() && spec_.contiguous)
      return Wrong("it has no categories, which labels=contiguous numbers");
    for (size_t i = 0; i < annotations(); ++i) {
      const uint32_t category = Find(in_.categories, in_.category_ids[i]);
      if (category == kNone && !in_.categories.empty())
        return Wrong("annotations[", i, "] (id ", in_.ids[i], "): its category_id ",
                     in_.category_ids[i], " is not among the categories");
      if (spec_.contiguous) in_.category_ids[i] = int64_t{category} + 1;
    }
    return absl::OkStatus();
  }

  // Which points are on the left and on the right, by the names in the categories.
  absl::Status FindPoints() {
    if (in_.points == 0) return absl::OkStatus();
    const CocoCategory* first = nullptr;
    for (const CocoCategory& category : in_.categories) {
      if (category.keypoints.empty()) continue;
      if (first == nullptr) first = &category;
      if (category.keypoints != first->keypoints)
        return Wrong("the categories ", first->id, " and ", category.id,
                     " have different keypoints; wanted the same for all that have some");
    }
    if (first == nullptr) return LeavePointsOut("no category names them");
    if (first->keypoints.size() != in_.points)
      return Wrong("the category ", first->id, " has ", first->keypoints.size(),
                   " keypoints; the annotations have ", in_.points);
    return FindPairs(first->keypoints);
  }

  absl::Status FindPairs(const std::vector<std::string>& names) {
    for (size_t left = 0; left < names.size(); ++left) {
      absl::string_view part = names[left];
      if (!absl::StartsWith(part, "left_")) continue;
      const std::string other = absl::StrCat("right_", part.substr(5));
      const auto right = std::find(names.begin(), names.end(), other);
      if (right == names.end()) continue;
      out_.pairs.push_back(static_cast<uint8_t>(left));
      out_.pairs.push_back(static_cast<uint8_t>(right - names.begin()));
    }
    if (out_.pairs.size() <= 2 * size_t{base::kMostPointPairs}) return absl::OkStatus();
    out_.pairs.clear();
    return LeavePointsOut(absl::StrCat("more than ", base::kMostPointPairs, " pairs"));
  }

  absl::Status LeavePointsOut(absl::string_view why) {
    in_.points = 0;
    in_.keypoints = {};
    warnings_.push_back(absl::StrCat("keypoints are not delivered: ", why));
    return absl::OkStatus();
  }

  // The annotations, image by image.
  void Order() {
    std::vector<uint32_t> next(in_.images.size());
    uint32_t all = 0;
    for (size_t image = 0; image < next.size(); ++image) {
      next[image] = all;
      all += objects_[image];
    }
    order_.resize(all);
    for (size_t i = 0; i < annotations(); ++i)
      if (image_of_[i] != kNone) order_[next[image_of_[i]]++] = static_cast<uint32_t>(i);
    image_of_ = {};
  }

  absl::Status AddImages() {
    for (size_t i = 0; i < in_.images.size(); ++i) {
      const CocoImage& image = in_.images[i];
      if (spec_.skip_empty && objects_[i] == 0) continue;
      const char* path = in_.paths.data() + image.path_begin;
      out_.paths.insert(out_.paths.end(), path, path + image.path_bytes);
      out_.images.push_back(
          {.id = image.id, .path_bytes = image.path_bytes, .objects = objects_[i]});
    }
    if (!out_.images.empty()) return absl::OkStatus();
    return Wrong("it has no images", spec_.skip_empty ? " with annotations" : "");
  }

  void AddColumns() {
    Add(ObjectValue::kBoxes, in_.boxes, 4);
    Add(ObjectValue::kLabels, in_.category_ids, 1);
    if (in_.with_area == annotations()) Add(ObjectValue::kArea, in_.areas, 1);
    if (in_.with_crowd == annotations()) {
      const std::vector<int64_t> crowds(in_.crowds.begin(), in_.crowds.end());
      Add(ObjectValue::kCrowd, crowds, 1);
    }
    Add(ObjectValue::kId, in_.ids, 1);
    if (in_.points == 0) return;
    out_.points = in_.points;
    Add(ObjectValue::kKeypoints, in_.keypoints, size_t{3} * in_.points);
  }

  template <typename Value>
  void Add(ObjectValue what, const std::vector<Value>& values, size_t each) {
    ObjectColumn& column = out_.columns.emplace_back();
    column.what = what;
    column.values.resize(order_.size() * each * sizeof(Value));
    std::byte* into = column.values.data();
    for (const uint32_t i : order_) {
      std::memcpy(into, values.data() + i * each, each * sizeof(Value));
      into += each * sizeof(Value);
    }
  }

  CocoRecords in_;
  const CocoSpec& spec_;
  Annotations out_;
  std::vector<uint32_t> image_of_;  // of each annotation; kNone: it is left out
  std::vector<uint32_t> objects_;   // of each image
  std::vector<uint32_t> order_;
  std::vector<std::string> warnings_;
};

}  // namespace

absl::StatusOr<Annotations> ArrangeCoco(CocoRecords records, const CocoSpec& spec) {
  return Arranger(std::move(records), spec).Run();
}

}  // namespace penstock::source
