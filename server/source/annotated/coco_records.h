// What a COCO file holds, in its own order, and the handler that collects it from the events of a
// JSON parser. Nothing here recurses, and what is not needed (polygons, licenses) is not kept.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/source/parse/scan_steps.h"

namespace penstock::source {

struct CocoImage {
  int64_t id = 0;
  uint64_t path_begin = 0;
  uint32_t path_bytes = 0;
};

struct CocoCategory {
  int64_t id = 0;
  std::string name = {};
  std::vector<std::string> keypoints = {};
};

// The annotations' values, one after another.
struct CocoRecords {
  std::vector<char> paths = {};
  std::vector<CocoImage> images = {};
  std::vector<CocoCategory> categories = {};
  std::vector<int64_t> ids = {}, image_ids = {}, category_ids = {};
  std::vector<float> boxes = {}, areas = {};
  std::vector<uint8_t> crowds = {};   // 1: a crowd
  std::vector<float> keypoints = {};  // of all annotations, if one has some; zeros for the others
  uint32_t points = 0;                // per annotation
  uint64_t with_area = 0, with_crowd = 0;  // how many annotations have them
};

class CocoHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  // `left_out`: how many bytes before the parser's place in the file it did not see.
  CocoHandler(const ScanWatch& watch, std::function<uint64_t()> left_out)
      : steps_(watch), left_out_(std::move(left_out)) {}

  CocoRecords& records() { return records_; }
  // Why a method returned false; OK: none did.
  const absl::Status& status() const { return status_; }
  // Call it at the end of the file. **Errors**: InvalidArgument if it lacks a list.
  absl::Status Finish() const;

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(int64_t value) override;
  bool number_unsigned(uint64_t value) override;
  bool number_float(double value, const std::string& text) override;
  bool string(std::string& value) override;
  bool binary(nlohmann::json::binary_t&) override;
  bool start_object(std::size_t) override;
  bool key(std::string& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override;

 private:
  enum class Section : uint32_t { kImages, kAnnotations, kCategories, kOther };
  enum class Key : uint32_t {
    kId,
    kFileName,
    kImageId,
    kCategoryId,
    kBox,
    kArea,
    kCrowd,
    kKeypoints,
    kName,
    kOther
  };

  // The record that is being read.
  struct Record {
    uint32_t seen = 0;  // a bit for each field
    int64_t id = 0, image_id = 0, category_id = 0, crowd = 0;
    double area = 0;
    std::string text = {};             // file_name or name
    std::vector<double> numbers = {};  // of the list that is being read
    std::vector<float> box = {}, keypoints = {};
    std::vector<std::string> names = {};  // of a category's keypoints
  };

  bool in_record() const { return depth_ >= 3 && section_ != Section::kOther; }
  bool Has(Key field) const { return ((record_.seen >> static_cast<uint32_t>(field)) & 1) != 0; }
  bool Number(double value, std::optional<int64_t> integer);
  bool Scalar(const char* what);
  bool BeginNested(bool is_array);
  bool EndNested();
  bool BeginRecord();
  bool EndRecord();
  bool TakeList(std::vector<float>& into);
  bool AddImage();
  bool AddAnnotation();
  bool AddKeypoints();
  bool AddCategory();
  bool Require(Key field, const char* name);
  bool RefuseField(const std::string& why);
  bool RefuseRecord(const std::string& why);
  bool Refuse(const std::string& why);
  const char* SectionName() const;

  ScanSteps steps_;
  const std::function<uint64_t()> left_out_;
  CocoRecords records_;
  absl::Status status_;
  size_t depth_ = 0;
  Section section_ = Section::kOther;
  Key field_ = Key::kOther;
  std::string field_name_;
  bool in_list_ = false;        // in bbox or keypoints
  uint32_t sections_seen_ = 0;  // a bit for each
  uint64_t number_ = 0;         // of the record in its list, from 0
  Record record_;
};

}  // namespace penstock::source
