#include "client/python/src/views.h"

#include <algorithm>
#include <utility>

namespace penstock::python {
namespace {

// The boxes that are erased from an image of this field.
Result<std::vector<Erasure>> Erasures(const EffectOptions& options, const Field& field,
                                      const Batch& batch) {
  const DrawKey key = {.seed = options.seed,
                       .epoch = batch.epoch(),
                       .view = options.view,
                       .step = options.erasing->step};
  const std::vector<uint64_t> rows =
      RowKeys(options.keying, batch.first(), batch.sample_ids(), batch.valid_rows());
  return DrawErasures(*options.erasing, key, rows, field.shape[0], field.shape[1]);
}

}  // namespace

Result<ViewsInto> ViewsInto::For(const std::vector<ViewDestination>& destinations,
                                 const std::vector<Field>& fields, const Batch& batch) {
  ViewsInto into;
  for (const ViewDestination& destination : destinations) {
    View& view = into.views_.emplace_back(View{&destination, {}, {}});
    const uint32_t tensor = std::get<0>(destination);
    const std::optional<EffectOptions>& options = std::get<2>(destination);
    const bool is_image = tensor < fields.size() && fields[tensor].shape.size() == 3;
    if (!options || !options->erasing || !is_image) continue;
    Result<std::vector<Erasure>> drawn = Erasures(*options, fields[tensor], batch);
    if (!drawn.ok()) return drawn.status();
    view.erasures = *std::move(drawn);
    view.effects.fill = options->erasing->fill;
    std::copy_n(options->erasing->value, 3, view.effects.value);
    view.effects.erasures = view.erasures;
  }
  return into;
}

void ViewsInto::AppendTo(std::vector<TensorInto>& tensors) const {
  for (const View& view : views_) {
    const auto& [tensor, finish, options, data, bytes] = *view.destination;
    tensors.push_back({.tensor = tensor,
                       .data = reinterpret_cast<void*>(data),
                       .bytes = bytes,
                       .finish = &finish,
                       .effects = view.erasures.empty() ? nullptr : &view.effects});
  }
}

}  // namespace penstock::python
