// Which finished rows may be kept and used again (server/kept).
#pragma once

#include <cstdint>

#include "server/feed/identity/fingerprint.h"

namespace penstock::feed {

// Whether a row depends on nothing but its sample: no random crop, no random flip, no random step.
// False also for steps that might be certain with some arguments.
bool DrawsNothing(const decode::Spec& decoding);

// Whether rows of the feed may be kept: decoded images, made by workers, all of whose views draw
// nothing.
bool MayKeepRows(const FeedSpec& spec);

// Whether images of the feed may be kept decoded: those that workers decode, each a file of its
// own.
bool MayKeepImages(const FeedSpec& spec);

// What decides the bytes of a sample's decoded image, beside the files: which image has its number
// (mixtures number parts of the same files differently), and whether it is turned upright.
uint64_t ImagesFingerprint(const FeedSpec& spec);

// A hash of all that decides the bytes of a sample's row: the fingerprint without order and seed.
uint64_t RowsFingerprint(FeedSpec spec);

}  // namespace penstock::feed
