// Names of the features of a record that hold image and label.
#pragma once

#include <string>

namespace penstock::source {

struct RecordRoles {
  std::string image;
  std::string label;  // empty: no labels

  // Resolves the request: empty names become image/encoded and image/class/label; label "none": no
  // labels.
  static RecordRoles Of(const std::string& image, const std::string& label) {
    RecordRoles roles = {.image = image.empty() ? "image/encoded" : image,
                         .label = label.empty() ? "image/class/label" : label};
    if (label == "none") roles.label.clear();
    return roles;
  }
};

}  // namespace penstock::source
