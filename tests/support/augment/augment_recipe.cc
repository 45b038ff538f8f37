// Draws and runs recipes, for tests that compare with the specification and with torchvision.
//
// Standard input is a sequence of requests: a line
// `WIDTH HEIGHT CHANNELS SEED EPOCH SAMPLE VIEW STEPS PIXELS`, a line for each step (plan_text.h),
// then the image's pixels if PIXELS is 1. For each, standard output gets a line
// `OUTCOME ACTIONS WIDTH HEIGHT`, a line for each action, and the last image's pixels if there were
// any. The outcome is `done`, `small`, `large` or `invalid`; of the latter, the message follows in
// the line. A request that cannot be read ends the program with exit code 1.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "server/augment/recipe/runner.h"
#include "server/decode/recipe_resizer.h"
#include "tests/support/augment/plan_text.h"

namespace penstock::augment {
namespace {

struct Request {
  ImageSize size;
  uint32_t channels = 0;
  base::DrawSource source;
  TransformRecipe recipe;
  std::vector<uint8_t> pixels;
};

[[noreturn]] void Refuse(const std::string& line) {
  std::cerr << "penstock-augment-recipe: bad request: got '" << line << "'\n";
  std::exit(1);
}

Request Read(const std::string& line) {
  std::istringstream words(line);
  Request request;
  uint32_t view = 0;
  int with_pixels = 0;
  words >> request.size.width >> request.size.height >> request.channels >> request.source.seed >>
      request.source.epoch >> request.source.sample >> view >> request.recipe.count >> with_pixels;
  if (!words || request.recipe.count > kMaxSteps) Refuse(line);
  request.source.operation = view << 24;
  for (uint32_t i = 0; i < request.recipe.count; ++i) {
    std::string step;
    std::getline(std::cin, step);
    std::istringstream numbers(step);
    if (!ReadStep(numbers, &request.recipe.steps[i])) Refuse(step);
  }
  if (with_pixels != 0) {
    request.pixels.resize(size_t{request.size.width} * request.size.height * request.channels);
    std::cin.read(reinterpret_cast<char*>(request.pixels.data()),
                  static_cast<std::streamsize>(request.pixels.size()));
  }
  if (!std::cin) Refuse(line);
  return request;
}

const char* NameOfOutcome(RecipeOutcome outcome) {
  switch (outcome) {
    case RecipeOutcome::kDone:
      return "done";
    case RecipeOutcome::kTooSmall:
      return "small";
    case RecipeOutcome::kTooLarge:
      return "large";
  }
  return "?";
}

void Answer(RecipeRunner& runner, Request request) {
  if (const absl::Status valid = Validate(request.recipe); !valid.ok()) {
    std::cout << "invalid 0 0 0 " << valid.message() << "\n" << std::flush;
    return;
  }
  std::vector<RecipeAction> actions;
  const RecipeOutcome outcome =
      MakePlan(request.recipe, request.source, request.size, {}, &actions);
  if (outcome != RecipeOutcome::kDone) actions.clear();
  const ImageSize last = actions.empty() ? request.size : actions.back().size;
  std::cout << NameOfOutcome(outcome) << " " << actions.size() << " " << last.width << " "
            << last.height << "\n";
  for (const RecipeAction& action : actions) std::cout << TextOf(action) << "\n";
  if (outcome == RecipeOutcome::kDone && !request.pixels.empty()) {
    const ImageView image = {request.pixels.data(), request.size.width, request.size.height,
                             request.channels};
    std::vector<uint8_t> bytes(size_t{last.width} * last.height * request.channels);
    runner.Run(request.recipe, request.source, image,
               {bytes.data(), last.width, last.height, request.channels});
    std::cout.write(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
  }
  std::cout << std::flush;
}

void Serve() {
  decode::RecipeResizer resizer;
  RecipeRunner runner({}, &resizer);
  for (std::string line; std::getline(std::cin, line);) Answer(runner, Read(line));
}

}  // namespace
}  // namespace penstock::augment

int main() { penstock::augment::Serve(); }
