#include "server/source/cifar/cifar_spec.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kCifarPrefix = "cifar:";

// In the order of their numbers, as in the files' batches.meta.txt and *_label_names.txt.
constexpr absl::string_view kClassesOf10 =
    "airplane automobile bird cat deer dog frog horse ship truck";
constexpr absl::string_view kFineClassesOf100 =
    "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus "
    "butterfly camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch "
    "crab crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo "
    "keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse "
    "mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy "
    "porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper "
    "snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone television "
    "tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm";
constexpr absl::string_view kCoarseClassesOf100 =
    "aquatic_mammals fish flowers food_containers fruit_and_vegetables "
    "household_electrical_devices household_furniture insects large_carnivores "
    "large_man-made_outdoor_things large_natural_outdoor_scenes large_omnivores_and_herbivores "
    "medium_mammals non-insect_invertebrates people reptiles small_mammals trees vehicles_1 "
    "vehicles_2";

absl::Status WrongCifar(absl::string_view text, absl::string_view part) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "': '", part,
                   "' is not understood; wanted cifar:/FOLDER, optionally with "
                   "split=train|test,labels=fine|coarse"));
}

}  // namespace

bool IsCifarText(absl::string_view text) { return absl::StartsWith(text, kCifarPrefix); }

absl::StatusOr<CifarSpec> ParseCifarText(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kCifarPrefix)) return WrongCifar(text, text);
  CifarSpec spec;
  for (const absl::string_view part : absl::StrSplit(rest, ',')) {
    const bool is_first = spec.folder.empty();
    if (is_first && absl::StartsWith(part, "/")) {
      spec.folder = std::string(part);
    } else if (!is_first && (part == "split=train" || part == "split=test")) {
      spec.split = part == "split=test" ? CifarSplit::kTest : CifarSplit::kTrain;
    } else if (!is_first && (part == "labels=fine" || part == "labels=coarse")) {
      spec.labels = part == "labels=coarse" ? CifarLabels::kCoarse : CifarLabels::kFine;
    } else {
      return WrongCifar(text, part);
    }
  }
  return spec;
}

std::string ToString(const CifarSpec& spec) {
  return absl::StrCat(kCifarPrefix, spec.folder,
                      ",split=", spec.split == CifarSplit::kTest ? "test" : "train",
                      spec.labels == CifarLabels::kCoarse ? ",labels=coarse" : "");
}

std::vector<std::string> Cifar10Classes() { return absl::StrSplit(kClassesOf10, ' '); }

std::vector<std::string> Cifar100Classes(CifarLabels labels) {
  return absl::StrSplit(labels == CifarLabels::kCoarse ? kCoarseClassesOf100 : kFineClassesOf100,
                        ' ');
}

}  // namespace penstock::source
