#include "client/ctl/completion.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::ctl {
namespace {

void AddOnce(const std::string& word, std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

}  // namespace

std::string Completion(const std::string& shell) {
  if (shell == "zsh") return ZshCompletion();
  return shell == "fish" ? FishCompletion() : BashCompletion();
}

std::vector<std::string> FirstWords() {
  std::vector<std::string> words;
  for (const CommandForm& form : Commands()) {
    const std::string whole = form.words;
    AddOnce(whole.substr(0, whole.find(' ')), words);
  }
  return words;
}

std::vector<const CommandForm*> SecondWords(const std::string& first) {
  std::vector<const CommandForm*> forms;
  for (const CommandForm& form : Commands())
    if (absl::StartsWith(form.words, absl::StrCat(first, " "))) forms.push_back(&form);
  return forms;
}

std::vector<std::string> CommandsWithDatasets() {
  std::vector<std::string> words;
  for (const CommandForm& form : Commands())
    if (form.word == Word::kDataset || form.word == Word::kMaybeDataset)
      words.push_back(form.words);
  return words;
}

std::vector<std::string> NamesOf(const std::function<bool(const OptionForm&)>& which) {
  std::vector<std::string> names;
  for (const OptionForm& option : Options()) {
    if (!which(option)) continue;
    names.push_back(option.name);
    if (*option.letter != '\0') names.push_back(option.letter);
  }
  return names;
}

std::vector<std::string> CommandsWithOptions() {
  std::vector<std::string> words;
  for (const OptionForm& option : Options())
    if (*option.only_with != '\0') AddOnce(option.only_with, words);
  return words;
}

}  // namespace penstock::ctl
