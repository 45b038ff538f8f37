#include "server/decode/jpeg/entropy_decoder.h"

#include <algorithm>

#include "server/decode/jpeg/coefficients.h"
#include "server/decode/jpeg/jpeg_errors.h"

namespace penstock::decode {

bool EntropyDecoder::Knows(const jpeg_decompress_struct& info) {
  return !info.progressive_mode && !info.arith_code && info.data_precision == 8;
}

void EntropyDecoder::TakeOver(jpeg_decompress_struct& info, std::span<const uint8_t> scan) {
  AssignTables(info);
  block_count_ = info.blocks_in_MCU;
  for (int i = 0; i < block_count_; ++i) {
    const int member = info.MCU_membership[i];
    const jpeg_component_info& component = *info.cur_comp_info[member];
    blocks_[i] = {&dc_tables_[component.dc_tbl_no], &ac_tables_[component.ac_tbl_no],
                  &last_dc_[member]};
  }
  const int blocks_wide = info.comps_in_scan == 1 ? 1 : info.max_h_samp_factor;
  mcu_width_ = static_cast<uint32_t>(blocks_wide) * DCTSIZE;
  mcus_per_row_ = info.MCUs_per_row;
  asked_ = column_ = next_ = 0;
  points_ = nullptr;
  next_point_ = UINT32_MAX;
  first_kept_ = 0;
  last_kept_ = mcus_per_row_;
  std::ranges::fill(last_dc_, 0);
  restart_interval_ = info.restart_interval;
  until_restart_ = restart_interval_;
  next_restart_ = 0;
  bytes_.Begin(scan, static_cast<size_t>(block_count_) * ScanBytes::kMostOfABlock);
  taken_over_ = true;
  irregular_ = false;
  hooks_ = {{nullptr, &DecodeMcu, FALSE}, this};
  info.entropy = &hooks_.manager;
}

// libjpeg has checked that the table numbers and the tables exist.
void EntropyDecoder::AssignTables(const jpeg_decompress_struct& info) {
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const jpeg_component_info& component = *info.cur_comp_info[i];
    dc_tables_[component.dc_tbl_no].Assign(*info.dc_huff_tbl_ptrs[component.dc_tbl_no]);
    ac_tables_[component.ac_tbl_no].Assign(*info.ac_huff_tbl_ptrs[component.ac_tbl_no]);
  }
}

void EntropyDecoder::KeepColumns(uint32_t first, uint32_t count) {
  first_kept_ = first / mcu_width_;
  last_kept_ = (first + count - 1) / mcu_width_;
}

void EntropyDecoder::UsePoints(Checkpoints* points) {
  points_ = points;
  next_point_ = points->grid().first;
}

boolean EntropyDecoder::DecodeMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  EntropyDecoder& self = *reinterpret_cast<Hooks*>(info->entropy)->self;
  if (!self.Decode(blocks)) {
    self.irregular_ = true;
    JpegErrors::GiveUp(reinterpret_cast<j_common_ptr>(info), base::Fault::kCorrupt);
  }
  return TRUE;
}

// `blocks` is null for blocks that jpeg_skip_scanlines skips.
bool EntropyDecoder::Decode(JBLOCKROW* blocks) {
  const uint32_t mcu = asked_++;
  const bool keep = blocks != nullptr && column_ >= first_kept_ && column_ <= last_kept_;
  if (++column_ == mcus_per_row_) column_ = 0;
  return !keep || (Reach(mcu) && DecodeNext<true>(blocks));
}

bool EntropyDecoder::Reach(uint32_t mcu) {
  if (next_ == mcu) return true;
  if (points_ != nullptr) {
    const Checkpoints::Found found = points_->Before(mcu);
    if (found.mcu > next_) Jump(found.mcu, *found.point);
  }
  while (next_ < mcu) {
    if (!DecodeNext<false>(nullptr)) return false;
  }
  return true;
}

void EntropyDecoder::Jump(uint32_t mcu, const Checkpoints::Checkpoint& point) {
  bytes_.Seek(point.position);
  std::ranges::copy(point.dc, last_dc_);
  next_ = mcu;
  next_point_ = mcu + points_->grid().spacing;
  if (restart_interval_ == 0) return;
  // A marker right before the MCU is still to be read.
  const uint32_t restarts = (mcu - 1) / restart_interval_;
  until_restart_ = restart_interval_ * (restarts + 1) - mcu;
  next_restart_ = static_cast<int>(restarts % 8);
}

// Whether it agrees with what is known of the scan.
bool EntropyDecoder::MeetPoint() {
  Checkpoints::Checkpoint point = {.position = bytes_.PositionInScan()};
  std::copy_n(last_dc_, Checkpoints::kMostComponents, point.dc.begin());
  next_point_ += points_->grid().spacing;
  return points_->Meet(next_, point);
}

template <bool kKeep>
bool EntropyDecoder::DecodeNext(JBLOCKROW* blocks) {
  if (next_ == next_point_ && !MeetPoint()) return false;
  ++next_;
  if (restart_interval_ != 0 && until_restart_-- == 0 && !BeginSegment()) return false;
  bytes_.Prepare();
  return DecodeBlocks<kKeep>(blocks) && !bytes_.overrun();
}

bool EntropyDecoder::BeginSegment() {
  if (!bytes_.Restart(next_restart_)) return false;
  next_restart_ = (next_restart_ + 1) % 8;
  until_restart_ = restart_interval_ - 1;
  std::ranges::fill(last_dc_, 0);
  return true;
}

template <bool kKeep>
bool EntropyDecoder::DecodeBlocks(JBLOCKROW* blocks) {
  Bits bits(bytes_.bytes(), bytes_.position());
  for (int i = 0; i < block_count_; ++i) {
    const CoefficientBlock& block = blocks_[i];
    JCOEF* const coefficients = kKeep ? *blocks[i] : nullptr;
    if (!DecodeDc(*block.dc, bits, *block.last_dc)) return false;
    if (kKeep) coefficients[0] = static_cast<JCOEF>(*block.last_dc);
    const BlockState state =
        kKeep ? KeepAc(*block.ac, bits, coefficients) : SkipAc(*block.ac, bits);
    if (state == BlockState::kIrregular) return false;
  }
  bytes_.set_position(bits.PositionIn(bytes_.bytes()));
  return true;
}

}  // namespace penstock::decode
