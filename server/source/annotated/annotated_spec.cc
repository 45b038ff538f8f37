#include "server/source/annotated/annotated_spec.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock::source {
namespace {

struct Kind {
  absl::string_view name, wanted;
};

constexpr Kind kKinds[] = {
    {"pairs",
     "pairs:images=/FOLDER,masks=/FOLDER, optionally with image_suffix=.jpg,mask_suffix=.png,"
     "split=/FILE.txt,missing=skip"},
    {"coco",
     "coco:annotations=/FILE.json,images=/FOLDER, optionally with empty=skip,labels=contiguous,"
     "crowd=skip"},
    {"voc", "voc:/FOLDER,split=NAME, optionally with set=Main or set=Segmentation,names=/FILE.txt"},
    {"yolo", "yolo:images=/FOLDER, optionally with labels=/FOLDER,names=/FILE.yaml"},
};

// The options of a text, each of which is taken once.
class Options {
 public:
  Options(absl::string_view text, const Kind& kind) : text_(text), kind_(kind) {
    absl::string_view rest = text.substr(kind.name.size() + 1);
    for (const absl::string_view part : absl::StrSplit(rest, ',')) {
      const size_t at = part.find('=');
      const bool first = part.data() == rest.data();
      if (first && absl::StartsWith(part, "/"))
        options_[""] = part;
      else if (at == absl::string_view::npos || at == 0 || options_.count(part.substr(0, at)) != 0)
        Refuse(absl::StrCat("'", part, "' is not understood"));
      else
        options_[part.substr(0, at)] = part.substr(at + 1);
    }
  }

  // What must begin with a slash. `name`: "" for the text's first part.
  void TakePath(absl::string_view name, std::string& into) {
    const absl::string_view value = Take(name);
    if (value.data() == nullptr) return;
    if (!absl::StartsWith(value, "/"))
      Refuse(absl::StrCat("'", name, "=", value, "' is no absolute path"));
    into = std::string(value);
  }
  void TakeText(absl::string_view name, std::string& into) {
    const absl::string_view value = Take(name);
    if (value.data() == nullptr) return;
    if (value.empty()) Refuse(absl::StrCat("'", name, "=' is empty"));
    into = std::string(value);
  }
  // One of two words.
  void TakeWord(absl::string_view name, absl::string_view no, absl::string_view yes, bool& into) {
    const absl::string_view value = Take(name);
    if (value.data() == nullptr) return;
    into = value == yes;
    if (value != yes && (no.empty() || value != no))
      Refuse(absl::StrCat("'", name, "=", value, "' is not understood"));
  }
  // `what`: a literal.
  void Require(const std::string& value, absl::string_view what) {
    if (value.empty() && missing_.empty()) missing_ = what;
  }
  absl::Status Finish() {
    if (!options_.empty()) {
      const auto& [name, value] = *options_.begin();
      Refuse(absl::StrCat("'", name, name.empty() ? "" : "=", value, "' is not understood"));
    }
    if (!missing_.empty()) Refuse(absl::StrCat(missing_, " is missing"));
    return status_;
  }
  void Refuse(absl::string_view why) {
    if (status_.ok())
      status_ = absl::InvalidArgumentError(
          absl::StrCat("'", text_, "': ", why, "; wanted ", kind_.wanted));
  }

 private:
  absl::string_view Take(absl::string_view name) {
    const auto found = options_.find(name);
    if (found == options_.end()) return {};
    const absl::string_view value = found->second;
    options_.erase(found);
    return value;
  }

  const absl::string_view text_;
  const Kind& kind_;
  std::map<absl::string_view, absl::string_view> options_;
  absl::string_view missing_;  // the first that is required and is not there
  absl::Status status_;
};

PairsSpec TakePairs(Options& options) {
  PairsSpec spec;
  options.TakePath("images", spec.images);
  options.TakePath("masks", spec.masks);
  options.TakeText("image_suffix", spec.image_suffix);
  options.TakeText("mask_suffix", spec.mask_suffix);
  options.TakePath("split", spec.split);
  options.TakeWord("missing", "", "skip", spec.skip_missing);
  options.Require(spec.images, "images=");
  options.Require(spec.masks, "masks=");
  if (absl::StrContains(spec.image_suffix, '/') || absl::StrContains(spec.mask_suffix, '/'))
    options.Refuse("a suffix has a slash");
  if (!spec.images.empty() && spec.images == spec.masks && spec.image_suffix.empty())
    options.Refuse("images and masks are in one folder, so image_suffix= must tell them apart");
  return spec;
}

CocoSpec TakeCoco(Options& options) {
  CocoSpec spec;
  options.TakePath("annotations", spec.annotations);
  options.TakePath("images", spec.images);
  options.TakeWord("empty", "", "skip", spec.skip_empty);
  options.TakeWord("labels", "ids", "contiguous", spec.contiguous);
  options.TakeWord("crowd", "", "skip", spec.skip_crowd);
  options.Require(spec.annotations, "annotations=");
  options.Require(spec.images, "images=");
  return spec;
}

VocSpec TakeVoc(Options& options) {
  VocSpec spec;
  options.TakePath("", spec.folder);
  options.TakeText("split", spec.split);
  options.TakeWord("set", "Main", "Segmentation", spec.segmentation);
  options.TakePath("names", spec.names);
  options.Require(spec.folder, "the folder");
  options.Require(spec.split, "split=");
  if (absl::StrContains(spec.split, '/')) options.Refuse("the split has a slash");
  if (spec.segmentation && !spec.names.empty()) options.Refuse("names= is for boxes only");
  return spec;
}

YoloSpec TakeYolo(Options& options) {
  YoloSpec spec;
  options.TakePath("images", spec.images);
  options.TakePath("labels", spec.labels);
  options.TakePath("names", spec.names);
  options.Require(spec.images, "images=");
  return spec;
}

AnnotatedSpec TakeKind(size_t kind, Options& options) {
  if (kind == 0) return TakePairs(options);
  if (kind == 1) return TakeCoco(options);
  if (kind == 2) return TakeVoc(options);
  return TakeYolo(options);
}

const Kind* KindOfText(absl::string_view text) {
  for (const Kind& kind : kKinds)
    if (absl::StartsWith(text, absl::StrCat(kind.name, ":"))) return &kind;
  return nullptr;
}

// Writes the options that are not empty.
class Text {
 public:
  explicit Text(absl::string_view kind) : text_(absl::StrCat(kind, ":")), separator_("") {}
  Text& Add(absl::string_view name, absl::string_view value) {
    if (value.empty()) return *this;
    absl::StrAppend(&text_, std::exchange(separator_, ","), name, name.empty() ? "" : "=", value);
    return *this;
  }
  std::string Finish() { return std::move(text_); }

 private:
  std::string text_;
  absl::string_view separator_;
};

std::string TextOf(const PairsSpec& spec) {
  return Text("pairs")
      .Add("images", spec.images)
      .Add("masks", spec.masks)
      .Add("image_suffix", spec.image_suffix)
      .Add("mask_suffix", spec.mask_suffix == PairsSpec{}.mask_suffix ? "" : spec.mask_suffix)
      .Add("split", spec.split)
      .Add("missing", spec.skip_missing ? "skip" : "")
      .Finish();
}

std::string TextOf(const CocoSpec& spec) {
  return Text("coco")
      .Add("annotations", spec.annotations)
      .Add("images", spec.images)
      .Add("empty", spec.skip_empty ? "skip" : "")
      .Add("labels", spec.contiguous ? "contiguous" : "")
      .Add("crowd", spec.skip_crowd ? "skip" : "")
      .Finish();
}

std::string TextOf(const VocSpec& spec) {
  return Text("voc")
      .Add("", spec.folder)
      .Add("split", spec.split)
      .Add("set", spec.segmentation ? "Segmentation" : "")
      .Add("names", spec.names)
      .Finish();
}

std::string TextOf(const YoloSpec& spec) {
  return Text("yolo")
      .Add("images", spec.images)
      .Add("labels", spec.labels)
      .Add("names", spec.names)
      .Finish();
}

std::vector<std::string*> Paths(PairsSpec& spec) {
  return {&spec.images, &spec.masks, &spec.split};
}
std::vector<std::string*> Paths(CocoSpec& spec) { return {&spec.annotations, &spec.images}; }
std::vector<std::string*> Paths(VocSpec& spec) { return {&spec.folder, &spec.names}; }
std::vector<std::string*> Paths(YoloSpec& spec) {
  return {&spec.images, &spec.labels, &spec.names};
}

std::vector<std::string> Folders(const PairsSpec& spec) { return {spec.images, spec.masks}; }
std::vector<std::string> Folders(const CocoSpec& spec) { return {spec.images}; }
std::vector<std::string> Folders(const VocSpec& spec) { return {spec.folder}; }
std::vector<std::string> Folders(const YoloSpec& spec) {
  if (spec.labels.empty()) return {spec.images};
  return {spec.images, spec.labels};
}

}  // namespace

absl::string_view KindOf(const AnnotatedSpec& spec) { return kKinds[spec.index()].name; }

bool IsAnnotatedText(absl::string_view text) { return KindOfText(text) != nullptr; }

absl::StatusOr<AnnotatedSpec> ParseAnnotatedText(absl::string_view text) {
  const Kind* const kind = KindOfText(text);
  if (kind == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': it does not begin with pairs:, coco:, voc: or yolo:"));
  Options options(text, *kind);
  AnnotatedSpec spec = TakeKind(static_cast<size_t>(kind - kKinds), options);
  PENSTOCK_RETURN_IF_ERROR(options.Finish());
  return spec;
}

std::string ToString(const AnnotatedSpec& spec) {
  return std::visit([](const auto& each) { return TextOf(each); }, spec);
}

std::vector<std::string*> PathsOf(AnnotatedSpec& spec) {
  std::vector<std::string*> paths = std::visit([](auto& each) { return Paths(each); }, spec);
  paths.erase(std::remove_if(paths.begin(), paths.end(),
                             [](const std::string* path) { return path->empty(); }),
              paths.end());
  return paths;
}

std::vector<std::string> FoldersOf(const AnnotatedSpec& spec) {
  return std::visit([](const auto& each) { return Folders(each); }, spec);
}

}  // namespace penstock::source
