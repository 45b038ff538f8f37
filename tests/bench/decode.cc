// decode: from a file's bytes to a row on one core, compared with libjpeg-turbo alone on the same
// rows and columns, and with Pillow on the same crops; and what recipes of transforms add.
#include <algorithm>

#include "server/decode/decoder.h"
#include "tests/bench/bare.h"
#include "tests/bench/harness/measure.h"
#include "tests/bench/photographs.h"
#include "tests/bench/pillow/pillow.h"
#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr double kGoalOfBare = 0.88;
constexpr double kGoalOfPillow = 2.0;
constexpr double kGoalOfPolicy = 0.65;
constexpr size_t kMostPhotographs = 256;
constexpr uint64_t kSeed = 1;

struct Extents {
  int rounds;
  uint64_t epochs;  // draws of each photograph
};
Extents ExtentsOf(Extent extent) {
  return extent == Extent::kFull ? Extents{21, 1} : Extents{5, 2};
}

decode::Spec TrainingSpec() {
  decode::Spec spec;
  spec.flip_probability = 0.5;
  return spec;
}

struct NamedRecipe {
  const char* name;
  double goal;  // of the rate without it; 0: none
  augment::TransformRecipe recipe;
};

augment::Step StepOf(augment::Op op, std::initializer_list<double> args, double probability = 1) {
  augment::Step step;
  step.op = op;
  step.probability = probability;
  std::copy(args.begin(), args.end(), step.args);
  return step;
}

augment::TransformRecipe RecipeOf(std::initializer_list<augment::Step> steps) {
  augment::TransformRecipe recipe;
  std::copy(steps.begin(), steps.end(), recipe.steps);
  recipe.count = static_cast<uint32_t>(steps.size());
  return recipe;
}

std::vector<NamedRecipe> Recipes() {
  using augment::Op;
  augment::Step mix = StepOf(Op::kAugMix, {3, 3, -1, 1});
  mix.interpolation = static_cast<uint8_t>(augment::Sampling::kBilinear);
  mix.flags = augment::kAllOps;
  return {
      {"RandAugment", kGoalOfPolicy, RecipeOf({StepOf(Op::kRandAugment, {2, 9, 31})})},
      {"TrivialAugmentWide", kGoalOfPolicy, RecipeOf({StepOf(Op::kTrivialAugmentWide, {31})})},
      {"AutoAugment", kGoalOfPolicy, RecipeOf({StepOf(Op::kAutoAugment, {})})},
      {"AugMix", 0, RecipeOf({mix})},
      {"ColorJitter, RandomGrayscale and GaussianBlur of SimCLR", 0,
       RecipeOf({StepOf(Op::kColorJitter, {0.2, 1.8, 0.2, 1.8, 0.2, 1.8, -0.2, 0.2}, 0.8),
                 StepOf(Op::kGrayscale, {}, 0.2),
                 StepOf(Op::kGaussianBlur, {23, 23, 0.1, 2.0}, 0.5)})},
  };
}

// One image to decode: its bytes and its random draw.
struct Task {
  std::span<const std::byte> file;
  decode::DrawKey key;
};

class DecodeBench {
 public:
  DecodeBench(std::vector<std::vector<std::byte>> files, uint64_t epochs)
      : files_(std::move(files)), decoder_(decode::SampleLimits()), row_(decode::RowBytes(spec_)) {
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      for (uint64_t sample = 0; sample < files_.size(); ++sample) {
        const Task task{files_[sample], {.seed = kSeed, .epoch = epoch, .sample = sample}};
        if (Row(task) == base::Fault::kNone) tasks_.push_back(task);
      }
    }
    left_out_ = files_.size() - tasks_.size() / epochs;
  }

  const std::vector<Task>& tasks() const { return tasks_; }
  size_t left_out() const { return left_out_; }  // files that cannot be decoded
  const decode::Spec& spec() const { return spec_; }

  absl::StatusOr<double> Rows() {
    return Rate([this](const Task& task) { return Row(task); });
  }
  absl::StatusOr<double> RowsWith(const augment::TransformRecipe& recipe) {
    decode::Spec spec = spec_;
    spec.recipe = recipe;
    return Rate(
        [&](const Task& task) { return decoder_.DecodeRow(task.file, spec, task.key, row_); });
  }
  absl::StatusOr<double> Bare() {
    return Rate([this](const Task& task) { return bare_.DecodeCrop(task.file, spec_, task.key); });
  }
  double RateOf(double seconds) const { return static_cast<double>(tasks_.size()) / seconds; }

 private:
  base::Fault Row(const Task& task) { return decoder_.DecodeRow(task.file, spec_, task.key, row_); }

  template <typename Decode>
  absl::StatusOr<double> Rate(Decode decode) {
    const Stopwatch watch(Time::kThread);
    for (const Task& task : tasks_) {
      if (const base::Fault fault = decode(task); fault != base::Fault::kNone) {
        return absl::DataLossError(absl::StrCat("photograph ", task.key.sample, ", which was ",
                                                "decoded before, is ", base::FaultName(fault)));
      }
    }
    return RateOf(watch.Seconds());
  }

  const decode::Spec spec_ = TrainingSpec();
  const std::vector<std::vector<std::byte>> files_;
  decode::Decoder decoder_;
  decode::BareDecoder bare_;
  std::vector<std::byte> row_;
  std::vector<Task> tasks_;
  size_t left_out_ = 0;
};

std::vector<PillowCrop> CropsOf(const DecodeBench& bench, const source::Dataset& dataset) {
  std::vector<PillowCrop> crops;
  decode::Decoder decoder((decode::SampleLimits()));
  for (const Task& task : bench.tasks()) {
    const auto size = decoder.ReadSize(task.file, bench.spec());
    if (!size) continue;
    crops.push_back({dataset.path(task.key.sample),
                     DrawFor(bench.spec(), task.key, size->width, size->height)});
  }
  return crops;
}

void Compare(const std::vector<double>& medians, Result& result) {
  const auto add = [&](const char* against, double reference, double goal_ratio) {
    result.comparisons.push_back({.name = "decode, crop and resize to 224 x 224",
                                  .against = against,
                                  .unit = "images/s of a core",
                                  .figure = medians[0],
                                  .reference = reference,
                                  .goal_ratio = goal_ratio});
  };
  add("bare libjpeg-turbo, the same rows and columns", medians[1], kGoalOfBare);
  const std::vector<NamedRecipe> recipes = Recipes();
  if (medians.size() > 2 + recipes.size()) {
    add("Pillow, the same crops", medians.back(), kGoalOfPillow);
  }
  for (size_t i = 0; i < recipes.size(); ++i) {
    result.comparisons.push_back({.name = recipes[i].name,
                                  .against = "the same without transforms",
                                  .unit = "images/s of a core",
                                  .figure = medians[2 + i],
                                  .reference = medians[0],
                                  .goal_ratio = recipes[i].goal});
  }
}

}  // namespace

absl::StatusOr<Result> RunDecode(const Arguments& arguments) {
  PENSTOCK_ASSIGN_OR_RETURN(const Photographs photographs, Photographs::Open(arguments));
  PENSTOCK_ASSIGN_OR_RETURN(auto files, photographs.Load(kMostPhotographs));
  const Extents extents = ExtentsOf(arguments.extent);
  DecodeBench bench(std::move(files), extents.epochs);
  if (bench.tasks().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("none of the ", photographs.description(),
                                                   " can be decoded; use --data with JPEG files"));
  }
  Result result{.suite = "decode", .data = photographs.description(), .rounds = extents.rounds};
  if (bench.left_out() > 0) {
    result.notes.push_back(
        absl::StrCat(bench.left_out(), " files were left out because they cannot be decoded"));
  }
  if (arguments.data.empty()) {
    result.notes.push_back(
        "the goal is for ImageNet's photographs, which cost libjpeg-turbo more than generated "
        "ones; use --data to compare with it");
  }
  std::vector<Run> runs = {[&] { return bench.Rows(); }, [&] { return bench.Bare(); }};
  const std::vector<NamedRecipe> recipes = Recipes();
  for (const NamedRecipe& each : recipes) {
    runs.push_back([&] { return bench.RowsWith(each.recipe); });
  }

  const auto pillow = Pillow::Start(bench.spec(), CropsOf(bench, photographs.dataset()));
  if (pillow.ok()) {
    runs.push_back([&]() -> absl::StatusOr<double> {
      PENSTOCK_ASSIGN_OR_RETURN(const double seconds, (*pillow)->Run());
      return bench.RateOf(seconds);
    });
  } else if (absl::IsUnavailable(pillow.status())) {
    result.notes.push_back(absl::StrCat("Pillow was left out: ", pillow.status().message()));
  } else {
    return pillow.status();
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<double> medians,
                            AlternatingMedians(runs, extents.rounds));
  Compare(medians, result);
  return result;
}

}  // namespace penstock::bench
