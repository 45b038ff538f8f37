// Reads VOC's XML with expat, without document types and so without entities of their own.
#include <expat.h>

#include <cmath>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/source/annotated/note_scan.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

constexpr size_t kMostDepth = 32;
constexpr size_t kLongestText = 1024;  // of an element that is read

constexpr const char* kSides[] = {"xmin", "ymin", "xmax", "ymax"};

// What an <object> has.
struct Found {
  uint32_t seen = 0;  // a bit for each of the below
  std::string name = {};
  float box[4] = {};
  uint8_t difficult = 0, truncated = 0;
};
enum Part : uint32_t { kName, kDifficult, kTruncated, kSide, kParts = kSide + 4 };

class VocFile {
 public:
  VocFile(const ClassNumbers& classes, Annotations& into, uint32_t& objects)
      : classes_(classes), into_(into), objects_(objects), parser_(::XML_ParserCreate(nullptr)) {}

  absl::Status Run(absl::string_view xml) {
    if (parser_ == nullptr) return absl::ResourceExhaustedError("1: no memory");
    // Without a salt of ours, expat would look for random numbers.
    ::XML_SetHashSalt(parser_.get(), 0x9E3779B9);
    ::XML_SetUserData(parser_.get(), this);
    ::XML_SetElementHandler(parser_.get(), OnStart, OnEnd);
    ::XML_SetCharacterDataHandler(parser_.get(), OnText);
    ::XML_SetStartDoctypeDeclHandler(parser_.get(), OnDocumentType);
    const auto result = ::XML_Parse(parser_.get(), xml.data(), static_cast<int>(xml.size()), 1);
    if (status_.ok() && result != XML_STATUS_OK)
      Refuse(absl::StrCat("it is no XML: ", ::XML_ErrorString(::XML_GetErrorCode(parser_.get()))));
    return status_;
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { ::XML_ParserFree(parser); }
  };

  static VocFile& Of(void* self) { return *static_cast<VocFile*>(self); }
  static void OnStart(void* self, const char* name, const char**) { Of(self).Start(name); }
  static void OnEnd(void* self, const char*) { Of(self).End(); }
  static void OnText(void* self, const char* text, int bytes) {
    Of(self).AddText({text, static_cast<size_t>(bytes)});
  }
  static void OnDocumentType(void* self, const char*, const char*, const char*, int) {
    Of(self).Refuse("it has a document type");
  }

  // annotation / object / name, difficult, truncated, bndbox / xmin, …
  void Start(absl::string_view name) {
    ++depth_;
    if (depth_ > kMostDepth) return Refuse("it is nested too deeply");
    if (depth_ == 1 && name != "annotation")
      return Refuse(absl::StrCat("it begins with <", name, ">, wanted <annotation>"));
    if (depth_ == 2) {
      in_object_ = name == "object";
      if (in_object_) found_ = {};
    }
    if (depth_ == 3) in_box_ = in_object_ && name == "bndbox";
    part_ = PartOf(name);
    text_.clear();
    if (part_ == kParts) return;
    if ((found_.seen >> part_ & 1) != 0) return Refuse(absl::StrCat("a second <", name, ">"));
    found_.seen |= 1u << part_;
    part_depth_ = depth_;
  }

  uint32_t PartOf(absl::string_view name) const {
    if (depth_ == 3 && in_object_) {
      if (name == "name") return kName;
      if (name == "difficult") return kDifficult;
      if (name == "truncated") return kTruncated;
    }
    for (uint32_t side = 0; side < 4; ++side)
      if (depth_ == 4 && in_box_ && name == kSides[side]) return kSide + side;
    return kParts;
  }

  void AddText(absl::string_view text) {
    if (part_ == kParts) return;
    if (text.size() > kLongestText - text_.size()) return Refuse("a text is too long");
    absl::StrAppend(&text_, text);
  }

  void End() {
    if (part_ != kParts && depth_ == part_depth_) TakePart();
    part_ = kParts;
    if (depth_ == 2 && in_object_) AddObject();
    if (depth_ <= 3) in_box_ = false;
    if (depth_ <= 2) in_object_ = false;
    --depth_;
  }

  void TakePart() {
    const absl::string_view text = absl::StripAsciiWhitespace(text_);
    if (part_ == kName) {
      found_.name = std::string(text);
    } else if (part_ == kDifficult || part_ == kTruncated) {
      if (text != "0" && text != "1")
        return Refuse(absl::StrCat("<", part_ == kDifficult ? "difficult" : "truncated", "> is '",
                                   text, "', wanted 0 or 1"));
      (part_ == kDifficult ? found_.difficult : found_.truncated) = text == "1" ? 1 : 0;
    } else {
      double value = 0;
      if (!ToDecimal(text, value) || !std::isfinite(static_cast<float>(value)))
        return Refuse(
            absl::StrCat("<", kSides[part_ - kSide], "> is '", text, "', wanted a number"));
      found_.box[part_ - kSide] = static_cast<float>(value);
    }
  }

  void AddObject() {
    constexpr uint32_t kNeeded = 1u << kName | 15u << kSide;
    if ((found_.seen & kNeeded) != kNeeded)
      return Refuse("the <object> that ends here lacks a <name> or a whole <bndbox>");
    const auto number = classes_.find(found_.name);
    if (number == classes_.end())
      return Refuse(absl::StrCat("the class '", found_.name,
                                 "' is not among the names; give a file with all of them, names="));
    for (const float side : found_.box) into_.columns[0].Add(side);
    into_.columns[1].Add(number->second);
    into_.columns[2].Add(found_.difficult);
    into_.columns[3].Add(found_.truncated);
    ++objects_;
  }

  void Refuse(absl::string_view why) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(::XML_GetCurrentLineNumber(parser_.get()),
                                                      ": ", EscapeForDisplay(std::string(why))));
    ::XML_StopParser(parser_.get(), XML_FALSE);
  }

  const ClassNumbers& classes_;
  Annotations& into_;
  uint32_t& objects_;
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  absl::Status status_;
  size_t depth_ = 0, part_depth_ = 0;
  bool in_object_ = false, in_box_ = false;
  uint32_t part_ = kParts;
  std::string text_;
  Found found_;
};

}  // namespace

Annotations NewVoc() {
  return {.columns = {{.what = ObjectValue::kBoxes},
                      {.what = ObjectValue::kLabels},
                      {.what = ObjectValue::kDifficult},
                      {.what = ObjectValue::kTruncated}}};
}

absl::Status ScanVoc(absl::string_view xml, const ClassNumbers& classes, Annotations& into,
                     uint32_t& objects) {
  return VocFile(classes, into, objects).Run(xml);
}

}  // namespace penstock::source
