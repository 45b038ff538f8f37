// The page's files, compiled in: page.html with the style and the script in it.
#pragma once

#include "absl/strings/string_view.h"

namespace penstock::status {

struct PageFiles {
  absl::string_view html;           // all of it
  absl::string_view style, script;  // the contents of its only <style> and <script>
};

PageFiles ReadPageFiles();

}  // namespace penstock::status
