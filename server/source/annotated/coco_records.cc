#include "server/source/annotated/coco_records.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/source/annotated/annotations.h"
#include "server/source/files/escape.h"
#include "server/source/files/python_order.h"
#include "server/source/lists/scanned_list.h"

namespace penstock::source {
namespace {

constexpr size_t kMostDepth = 64;
constexpr const char* kSections[] = {"images", "annotations", "categories"};

}  // namespace

// ---- Values ----

bool CocoHandler::null() { return Scalar("null"); }

bool CocoHandler::boolean(bool value) {
  if (in_record() && depth_ == 3 && field_ == Key::kCrowd) return Number(value, value ? 1 : 0);
  return Scalar(value ? "true" : "false");
}

bool CocoHandler::number_integer(int64_t value) {
  return Number(static_cast<double>(value), value);
}

bool CocoHandler::number_unsigned(uint64_t value) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (value > kMost) return Number(static_cast<double>(value), std::nullopt);
  return Number(static_cast<double>(value), static_cast<int64_t>(value));
}

bool CocoHandler::number_float(double value, const std::string&) {
  return Number(value, std::nullopt);
}

bool CocoHandler::Number(double value, std::optional<int64_t> integer) {
  if (!in_record()) return Scalar("a number");
  if (in_list_) {
    if (section_ == Section::kCategories) return RefuseField("got a number, wanted names");
    if (!std::isfinite(static_cast<float>(value))) return RefuseField("a number is too large");
    if (record_.numbers.size() >= 3 * size_t{kMostObjectPoints})
      return RefuseField(absl::StrCat("it has more than ", record_.numbers.size(), " numbers"));
    record_.numbers.push_back(value);
    return true;
  }
  if (depth_ > 3) return true;  // a polygon
  int64_t* into = nullptr;
  switch (field_) {
    case Key::kId:
      into = &record_.id;
      break;
    case Key::kImageId:
      into = &record_.image_id;
      break;
    case Key::kCategoryId:
      into = &record_.category_id;
      break;
    case Key::kCrowd:
      into = &record_.crowd;
      break;
    case Key::kArea:
      record_.area = value;
      return std::isfinite(static_cast<float>(value)) || RefuseField("the number is too large");
    default:
      return Scalar("a number");
  }
  if (!integer) return RefuseField(absl::StrCat("got ", value, ", wanted an integer of 64 bits"));
  *into = *integer;
  return true;
}

bool CocoHandler::string(std::string& value) {
  if (!in_record() || depth_ > 4 || (depth_ == 4 && !in_list_)) return Scalar("a text");
  if (in_list_) {
    if (section_ != Section::kCategories) return RefuseField("got a text, wanted numbers");
    if (record_.names.size() >= kMostObjectPoints || value.size() > kLongestClassName)
      return RefuseField("too many names, or one that is too long");
    record_.names.push_back(std::move(value));
    return true;
  }
  if (field_ != Key::kFileName && field_ != Key::kName) return Scalar("a text");
  record_.text = std::move(value);
  return true;
}

bool CocoHandler::binary(nlohmann::json::binary_t&) { return Refuse("it holds binary data"); }

// A value where no value of that kind is wanted: fine if nothing is wanted there.
bool CocoHandler::Scalar(const char* what) {
  if (depth_ == 0) return Refuse(absl::StrCat("it is ", what, ", wanted an object"));
  if (depth_ == 1 && section_ != Section::kOther)
    return Refuse(absl::StrCat("'", SectionName(), "' is ", what, ", wanted a list"));
  if (depth_ == 2 && section_ != Section::kOther)
    return RefuseRecord(absl::StrCat("it is ", what, ", wanted an object"));
  if (in_list_ || (depth_ == 3 && section_ != Section::kOther && field_ != Key::kOther))
    return RefuseField(absl::StrCat("it has ", what, " where none is wanted"));
  return true;
}

// ---- Structure ----

bool CocoHandler::key(std::string& name) {
  if (depth_ == 1) {
    section_ = Section::kOther;
    for (uint32_t i = 0; i < std::size(kSections); ++i)
      if (name == kSections[i]) section_ = static_cast<Section>(i);
    if (section_ == Section::kOther) return true;
    const uint32_t bit = 1u << static_cast<uint32_t>(section_);
    if ((sections_seen_ & bit) != 0) return Refuse(absl::StrCat("it has '", name, "' twice"));
    sections_seen_ |= bit;
    number_ = 0;
    return true;
  }
  if (!in_record() || depth_ != 3) return true;
  struct Known {
    Section section;
    const char* name;
    Key field;
  };
  constexpr Known kKnown[] = {{Section::kImages, "id", Key::kId},
                              {Section::kImages, "file_name", Key::kFileName},
                              {Section::kAnnotations, "id", Key::kId},
                              {Section::kAnnotations, "image_id", Key::kImageId},
                              {Section::kAnnotations, "category_id", Key::kCategoryId},
                              {Section::kAnnotations, "bbox", Key::kBox},
                              {Section::kAnnotations, "area", Key::kArea},
                              {Section::kAnnotations, "iscrowd", Key::kCrowd},
                              {Section::kAnnotations, "keypoints", Key::kKeypoints},
                              {Section::kCategories, "id", Key::kId},
                              {Section::kCategories, "name", Key::kName},
                              {Section::kCategories, "keypoints", Key::kKeypoints}};
  field_ = Key::kOther;
  for (const Known& known : kKnown)
    if (known.section == section_ && name == known.name) {
      field_ = known.field;
      field_name_ = known.name;
    }
  if (field_ == Key::kOther) return true;
  if (Has(field_)) return RefuseField("it is there twice");
  record_.seen |= 1u << static_cast<uint32_t>(field_);
  return true;
}

bool CocoHandler::start_object(std::size_t) {
  if (depth_ == 2 && section_ != Section::kOther) return BeginRecord();
  return BeginNested(false);
}

bool CocoHandler::start_array(std::size_t) { return BeginNested(true); }

bool CocoHandler::BeginNested(bool is_array) {
  if (depth_ >= kMostDepth) return Refuse("it is nested too deeply");
  if (depth_ == 0 && is_array) return Refuse("it is a list, wanted an object");
  if (depth_ == 1 && !is_array && !Scalar("an object")) return false;
  if (depth_ == 2 && !Scalar("a list")) return false;
  const bool is_list = field_ == Key::kBox || field_ == Key::kKeypoints;
  if (in_list_) return RefuseField("it is nested");
  if (in_record() && depth_ == 3 && field_ != Key::kOther) {
    if (!is_list || !is_array) return Scalar(is_array ? "a list" : "an object");
    in_list_ = true;
    record_.numbers.clear();
  }
  ++depth_;
  return true;
}

bool CocoHandler::end_object() {
  if (depth_ == 3 && section_ != Section::kOther) {
    --depth_;
    return EndRecord();
  }
  return EndNested();
}

bool CocoHandler::end_array() { return EndNested(); }

bool CocoHandler::EndNested() {
  --depth_;
  if (!in_list_) return true;
  in_list_ = false;
  if (section_ == Section::kCategories) return true;
  return TakeList(field_ == Key::kBox ? record_.box : record_.keypoints);
}

bool CocoHandler::TakeList(std::vector<float>& into) {
  into.assign(record_.numbers.begin(), record_.numbers.end());
  return true;
}

bool CocoHandler::parse_error(std::size_t position, const std::string&,
                              const nlohmann::detail::exception&) {
  return Refuse(absl::StrCat("it is no JSON at its byte ", position + left_out_()));
}

// ---- Records ----

bool CocoHandler::BeginRecord() {
  ++depth_;
  record_.seen = 0;
  record_.names.clear();
  record_.keypoints.clear();
  field_ = Key::kOther;
  return true;
}

bool CocoHandler::EndRecord() {
  const bool added = section_ == Section::kImages        ? AddImage()
                     : section_ == Section::kAnnotations ? AddAnnotation()
                                                         : AddCategory();
  ++number_;
  return added;
}

bool CocoHandler::AddImage() {
  if (!Require(Key::kId, "id") || !Require(Key::kFileName, "file_name")) return false;
  const std::string& path = record_.text;
  if (path.empty() || path.size() > kLongestListPath || path.find('\0') != std::string::npos)
    return RefuseRecord("its file_name is empty, too long or has a NUL byte");
  if (records_.images.size() >= kMostObjects) return Refuse("it has too many images");
  records_.images.push_back({.id = record_.id,
                             .path_begin = records_.paths.size(),
                             .path_bytes = static_cast<uint32_t>(path.size())});
  records_.paths.insert(records_.paths.end(), path.begin(), path.end());
  status_ = steps_.Add(1);
  return status_.ok();
}

bool CocoHandler::AddAnnotation() {
  if (!Require(Key::kId, "id") || !Require(Key::kImageId, "image_id") ||
      !Require(Key::kCategoryId, "category_id") || !Require(Key::kBox, "bbox"))
    return false;
  if (record_.box.size() != 4)
    return RefuseRecord(absl::StrCat("its bbox has ", record_.box.size(),
                                     " numbers, wanted 4: left, top, width, height"));
  if (Has(Key::kCrowd) && record_.crowd != 0 && record_.crowd != 1)
    return RefuseRecord(absl::StrCat("its iscrowd is ", record_.crowd, ", wanted 0 or 1"));
  if (records_.ids.size() >= kMostObjects) return Refuse("it has too many annotations");
  if (!AddKeypoints()) return false;
  records_.ids.push_back(record_.id);
  records_.image_ids.push_back(record_.image_id);
  records_.category_ids.push_back(record_.category_id);
  records_.boxes.insert(records_.boxes.end(), record_.box.begin(), record_.box.end());
  records_.areas.push_back(Has(Key::kArea) ? static_cast<float>(record_.area) : 0);
  records_.crowds.push_back(Has(Key::kCrowd) && record_.crowd == 1 ? 1 : 0);
  records_.with_area += Has(Key::kArea) ? 1 : 0;
  records_.with_crowd += Has(Key::kCrowd) ? 1 : 0;
  return true;
}

// The first annotation with keypoints says how many each has.
bool CocoHandler::AddKeypoints() {
  const std::vector<float>& points = record_.keypoints;
  if (points.size() % 3 != 0)
    return RefuseRecord(
        absl::StrCat("its keypoints are ", points.size(), " numbers, wanted three for each point"));
  const auto count = static_cast<uint32_t>(points.size() / 3);
  if (records_.points == 0 && count > 0) {
    records_.points = count;
    records_.keypoints.resize(records_.ids.size() * points.size());
  }
  if (records_.points == 0) return true;
  if (count != 0 && count != records_.points)
    return RefuseRecord(
        absl::StrCat("it has ", count, " keypoints; others have ", records_.points));
  records_.keypoints.insert(records_.keypoints.end(), points.begin(), points.end());
  records_.keypoints.resize((records_.ids.size() + 1) * size_t{3} * records_.points);
  return true;
}

bool CocoHandler::AddCategory() {
  if (!Require(Key::kId, "id") || !Require(Key::kName, "name")) return false;
  if (record_.text.size() > kLongestClassName || !IsUtf8(record_.text))
    return RefuseRecord("its name is too long or no UTF-8");
  if (records_.categories.size() >= kMostAnnotatedClasses)
    return Refuse("it has too many categories");
  records_.categories.push_back(
      {.id = record_.id, .name = std::move(record_.text), .keypoints = record_.names});
  return true;
}

absl::Status CocoHandler::Finish() const {
  for (uint32_t i = 0; i < std::size(kSections); ++i)
    if ((sections_seen_ >> i & 1) == 0 && i != static_cast<uint32_t>(Section::kCategories))
      return absl::InvalidArgumentError(absl::StrCat("it has no list '", kSections[i], "'"));
  return absl::OkStatus();
}

// ---- Refusals ----

bool CocoHandler::Require(Key field, const char* name) {
  return Has(field) || RefuseRecord(absl::StrCat("it has no '", name, "'"));
}

bool CocoHandler::RefuseField(const std::string& why) {
  return RefuseRecord(absl::StrCat("'", field_name_, "': ", why));
}

bool CocoHandler::RefuseRecord(const std::string& why) {
  const std::string id = Has(Key::kId) && depth_ >= 2 && field_ != Key::kId
                             ? absl::StrCat(" (id ", record_.id, ")")
                             : "";
  return Refuse(absl::StrCat(SectionName(), "[", number_, "]", id, ": ", why));
}

bool CocoHandler::Refuse(const std::string& why) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(EscapeForDisplay(why));
  return false;
}

const char* CocoHandler::SectionName() const {
  return section_ == Section::kOther ? "" : kSections[static_cast<uint32_t>(section_)];
}

}  // namespace penstock::source
