#include "server/status/metric_groups.h"

namespace penstock::status {

void KeptRows(const KeptRowsFacts& kept, Families& out) {
  out.Gauge("kept_row_bytes", "Memory in use for kept rows.", static_cast<double>(kept.bytes));
  out.Gauge("kept_row_max_bytes", "Limit of the memory for kept rows.",
            static_cast<double>(kept.max_bytes));
  out.Gauge("kept_row_folder_bytes", "Bytes of kept rows in cache.folder.",
            static_cast<double>(kept.folder_bytes));
  out.Gauge("kept_row_folder_max_bytes", "Limit of the bytes of kept rows in cache.folder.",
            static_cast<double>(kept.folder_max_bytes));
  out.Counter("kept_rows_served_total", "Rows copied from kept ones instead of decoded.",
              static_cast<double>(kept.served));
  out.Counter("kept_rows_refused_total",
              "Rows that could be used again but were not kept: no room, or no time.",
              static_cast<double>(kept.refused));
  out.Counter("kept_rows_wrong_total",
              "Kept rows that were wrong or could not be read, and were decoded again.",
              static_cast<double>(kept.wrong));
}

void KeptImages(const KeptRowsFacts& kept, Families& out) {
  out.Gauge("kept_image_bytes", "Memory in use for decoded images (cache.decoded).",
            static_cast<double>(kept.bytes));
  out.Gauge("kept_image_max_bytes", "Limit of the memory for decoded images (cache.decoded).",
            static_cast<double>(kept.max_bytes));
  out.Counter("kept_images_served_total", "Images copied from kept ones instead of decoded.",
              static_cast<double>(kept.served));
  out.Counter("kept_images_refused_total",
              "Images decoded as a whole but not kept: no room, or cheap to decode.",
              static_cast<double>(kept.refused));
  out.Counter("kept_images_wrong_total", "Kept images that were wrong, and were decoded again.",
              static_cast<double>(kept.wrong));
}

}  // namespace penstock::status
