#include "collect/sample/sample_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/process_stat.h"
#include "base/tick_clock.h"
#include "format/recording_metadata.h"

namespace stepscope::sample {
namespace {

using format::BlockBuilder;
using format::BlockType;
using format::Column;

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMaxPendingRows = 8'192;
constexpr size_t kMaxPendingBytes = size_t{1} << 20;
constexpr int64_t kMaxPendingNs = kSecond;
constexpr int64_t kClockIntervalNs = 10 * kSecond;
constexpr uint64_t kTicksPerSecond = kSecond;  // a tick of the file is a ns
constexpr size_t kMaxTextBytes = 4'096;        // of a name; longer ones are cut
constexpr size_t kMaxStrings = size_t{1} << 18;
constexpr size_t kMaxStacks = size_t{1} << 22;
constexpr size_t kMaxNotes = 20;

ClockReading read_monotonic() {
  ClockReading reading = read_clocks(measure_ticks_per_second());
  reading.ticks = static_cast<uint64_t>(reading.monotonic_ns);
  return reading;
}

// Not in the middle of a character of UTF-8.
std::string_view cut(std::string_view text) {
  if (text.size() <= kMaxTextBytes) return text;
  size_t end = kMaxTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

const char* json(bool value) { return value ? "true" : "false"; }

}  // namespace

Result<std::unique_ptr<SampleFile>> SampleFile::create(const std::string& path,
                                                       const SamplingInfo& info) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.status();
  auto file = create(**sink, info);
  if (file) (*file)->own_sink_ = *std::move(sink);
  return file;
}

Result<std::unique_ptr<SampleFile>> SampleFile::create(ByteSink& sink, const SamplingInfo& info) {
  std::unique_ptr<SampleFile> file(new SampleFile(info));
  if (Status status = file->open(sink); !status) return status;
  return file;
}

Status SampleFile::open(ByteSink& sink) {
  format::WriterOptions options;
  options.file_id = format::make_file_id();
  options.keeps_index = false;
  auto writer = format::BlockWriter::create(sink, options);
  if (!writer) return writer.status();
  writer_ = std::make_unique<format::BlockWriter>(*std::move(writer));
  const format::MetadataText entries[] = {
      {std::string(format::kSamplerKey),
       std::to_string(::getpid()) + " " + std::to_string(read_process_stat("self").start_ticks)},
      {std::string(format::kBootIdKey), format::read_boot_id()},
      {std::string(format::kHostKey), format::read_host_name()},
      {std::string(format::kSegmentKey), "0"},
  };
  if (Status status = format::write_metadata(*writer_, entries, format::kMetadataOfFile); !status) {
    return status;
  }
  if (info_.beside_calls) {
    const format::MetadataText beside[] = {{std::string(format::kBesideCallsKey), "1"}};
    Status status = format::write_metadata(*writer_, beside, format::kMetadataOfFile);
    if (!status) return status;
  }
  if (Status status = write_sampling_info(); !status) return status;
  string("");  // 0
  return write_clock();
}

uint32_t SampleFile::string(std::string_view text) {
  if (has_failed_) return 0;
  text = cut(text);
  const auto [it, is_new] = string_ids_.try_emplace(std::string(text), strings_);
  if (!is_new) return it->second;
  text_bytes_ += text;
  text_lengths_.push_back(static_cast<uint32_t>(text.size()));
  return strings_++;
}

uint32_t SampleFile::add_process(int64_t pid, std::string_view name) {
  const auto id = static_cast<uint32_t>(processes_.size());
  processes_.push_back({0, pid, string(name), 0});
  if (!has_failed_) pending_processes_.push_back({id, processes_.back()});
  return id;
}

void SampleFile::rename_process(uint32_t process, std::string_view name) {
  if (process >= processes_.size()) return;
  processes_[process].name = string(name);
  if (!has_failed_) pending_processes_.push_back({process, processes_[process]});
}

uint32_t SampleFile::add_thread(uint32_t process, int64_t tid, std::string_view name,
                                bool is_own_name) {
  const auto id = static_cast<uint32_t>(threads_.size());
  threads_.push_back({process, tid, string(name), is_own_name ? format::kHasOwnName : uint8_t{0}});
  if (!has_failed_) pending_threads_.push_back({id, threads_.back()});
  return id;
}

void SampleFile::rename_thread(uint32_t thread, std::string_view name, bool is_own_name) {
  if (thread >= threads_.size()) return;
  threads_[thread].name = string(name);
  threads_[thread].flags = is_own_name ? format::kHasOwnName : uint8_t{0};
  if (!has_failed_) pending_threads_.push_back({thread, threads_[thread]});
}

uint32_t SampleFile::add_frame(std::string_view name, std::string_view file, int32_t first_line) {
  if (has_failed_) return 0;
  const uint32_t name_id = string(name);
  const uint32_t file_id = string(file);
  const auto place = frames_by_place_.try_emplace(uint64_t{name_id} << 32 | file_id, frame_places_);
  frame_places_ += place.is_new;
  const auto frame = frame_ids_.try_emplace(
      uint64_t{place.value} << 32 | static_cast<uint32_t>(first_line), frames_);
  if (!frame.is_new) return frame.value;
  frame_names_.push_back(name_id);
  frame_files_.push_back(file_id);
  frame_lines_.push_back(first_line);
  return frames_++;
}

uint32_t SampleFile::add_stack(uint32_t parent, uint32_t frame, int32_t line) {
  if (has_failed_) return 0;
  const auto place = stacks_by_place_.try_emplace(uint64_t{parent} << 32 | frame, stack_places_);
  stack_places_ += place.is_new;
  const auto stack =
      stack_ids_.try_emplace(uint64_t{place.value} << 32 | static_cast<uint32_t>(line), stacks_);
  if (!stack.is_new) return stack.value;
  stack_parents_.push_back(parent);
  stack_frames_.push_back(frame);
  stack_lines_.push_back(line);
  return stacks_++;
}

Status SampleFile::add_sample(const Sample& sample) {
  if (has_failed_ || is_closed_) return {};
  if (sample_times_.empty()) first_pending_ns_ = sample.time_ns;
  sample_threads_.push_back(sample.thread);
  sample_times_.push_back(sample.time_ns);
  sample_stacks_.push_back(sample.stack);
  sample_weights_.push_back(sample.weight_ns);
  sample_cpu_.push_back(sample.cpu_ns);
  sample_flags_.push_back(info_.beside_calls ? sample.flags | format::kSampleBesideCalls
                                             : sample.flags);
  sample_counts_.push_back(sample.count);
  samples_ += static_cast<uint64_t>(std::max<int64_t>(1, sample.count));
  const bool is_full = std::max({sample_times_.size(), stack_frames_.size(),
                                 frame_names_.size()}) >= kMaxPendingRows ||
                       text_bytes_.size() >= kMaxPendingBytes;
  const bool is_old = sample.time_ns - first_pending_ns_ >= kMaxPendingNs;
  return is_full || is_old ? flush() : Status();
}

void SampleFile::add_note(std::string_view sentence) {
  if (notes_.size() < kMaxNotes) notes_.emplace_back(cut(sentence));
}

Status SampleFile::flush() {
  if (has_failed_ || is_closed_) return {};
  return take(write_pending());
}

Status SampleFile::take(Status status) {
  if (status) return status;
  has_failed_ = true;
  forget_pending();
  return status;
}

void SampleFile::forget_pending() {
  text_bytes_ = {};
  text_lengths_ = {};
  pending_processes_ = {};
  pending_threads_ = {};
  for (auto* ids : {&frame_names_, &frame_files_, &stack_parents_, &stack_frames_, &sample_threads_,
                    &sample_stacks_}) {
    *ids = {};
  }
  for (auto* lines : {&frame_lines_, &stack_lines_}) *lines = {};
  for (auto* values : {&sample_times_, &sample_weights_, &sample_cpu_, &sample_counts_}) {
    *values = {};
  }
  sample_flags_ = {};
}

// What is used comes before what uses it.
Status SampleFile::write_pending() {
  if (Status status = write_strings(); !status) return status;
  if (Status status = write_processes(); !status) return status;
  if (Status status = write_threads(); !status) return status;
  if (Status status = write_frames(); !status) return status;
  if (Status status = write_stacks(); !status) return status;
  if (Status status = write_samples(); !status) return status;
  if (Status status = write_counts(); !status) return status;
  keep_bounds();
  return read_clock_ns(CLOCK_MONOTONIC) >= next_clock_ns_ ? write_clock() : Status();
}

// Forgets what was seen, not the numbers: what comes again gets a new one.
void SampleFile::keep_bounds() {
  if (string_ids_.size() > kMaxStrings) {
    string_ids_.clear();
    frames_by_place_ = {};
    frame_ids_ = {};
  }
  if (stack_ids_.size() > kMaxStacks) {
    stacks_by_place_ = {};
    stack_ids_ = {};
  }
}

Status SampleFile::write_strings() {
  if (text_lengths_.empty()) return {};
  const auto rows = static_cast<uint32_t>(text_lengths_.size());
  BlockBuilder block(BlockType::kStrings, rows);
  block.add_one<uint64_t>(Column::kFirstId, strings_ - rows);
  block.add_text(Column::kText, text_lengths_, text_bytes_);
  if (Status status = writer_->write(block); !status) return status;
  text_lengths_.clear();
  text_bytes_.clear();
  return {};
}

Status SampleFile::write_processes() {
  if (pending_processes_.empty()) return {};
  std::vector<uint32_t> ids, names;
  std::vector<int64_t> numbers;
  for (const PendingNamed& process : pending_processes_) {
    ids.push_back(process.id);
    numbers.push_back(process.row.number);
    names.push_back(process.row.name);
  }
  BlockBuilder block(BlockType::kProcesses, static_cast<uint32_t>(ids.size()));
  block.add<uint32_t>(Column::kId, ids)
      .add<int64_t>(Column::kNumber, numbers)
      .add<uint32_t>(Column::kName, names);
  if (Status status = writer_->write(block); !status) return status;
  pending_processes_.clear();
  return {};
}

Status SampleFile::write_threads() {
  if (pending_threads_.empty()) return {};
  std::vector<uint32_t> ids, processes, names;
  std::vector<int64_t> numbers;
  std::vector<uint8_t> flags;
  for (const PendingNamed& thread : pending_threads_) {
    flags.push_back(thread.row.flags);
    ids.push_back(thread.id);
    processes.push_back(thread.row.process);
    numbers.push_back(thread.row.number);
    names.push_back(thread.row.name);
  }
  BlockBuilder block(BlockType::kTracks, static_cast<uint32_t>(ids.size()));
  block.add<uint32_t>(Column::kId, ids)
      .add<uint32_t>(Column::kProcess, processes)
      .add<int64_t>(Column::kNumber, numbers)
      .add<uint32_t>(Column::kName, names)
      .add<uint8_t>(Column::kFlags, flags);
  if (Status status = writer_->write(block); !status) return status;
  pending_threads_.clear();
  return {};
}

Status SampleFile::write_frames() {
  if (frame_names_.empty()) return {};
  const auto rows = static_cast<uint32_t>(frame_names_.size());
  BlockBuilder block(BlockType::kFrames, rows);
  block.add_one<uint64_t>(Column::kFirstId, frames_ - rows)
      .add<uint32_t>(Column::kName, frame_names_)
      .add<uint32_t>(Column::kFile, frame_files_)
      .add<int32_t>(Column::kLine, frame_lines_);
  if (Status status = writer_->write(block); !status) return status;
  frame_names_.clear();
  frame_files_.clear();
  frame_lines_.clear();
  return {};
}

Status SampleFile::write_stacks() {
  if (stack_frames_.empty()) return {};
  const auto rows = static_cast<uint32_t>(stack_frames_.size());
  BlockBuilder block(BlockType::kStacks, rows);
  block.add_one<uint64_t>(Column::kFirstId, stacks_ - rows)
      .add<uint32_t>(Column::kParent, stack_parents_)
      .add<uint32_t>(Column::kFrame, stack_frames_)
      .add<int32_t>(Column::kLine, stack_lines_);
  if (Status status = writer_->write(block); !status) return status;
  stack_parents_.clear();
  stack_frames_.clear();
  stack_lines_.clear();
  return {};
}

Status SampleFile::write_samples() {
  if (sample_times_.empty()) return {};
  const auto [least, greatest] = std::minmax_element(sample_times_.begin(), sample_times_.end());
  BlockBuilder block(BlockType::kSamples, static_cast<uint32_t>(sample_times_.size()));
  block.set_time_range(*least, *greatest)
      .add<int64_t>(Column::kTime, sample_times_)
      .add<uint32_t>(Column::kTrack, sample_threads_)
      .add<uint32_t>(Column::kStack, sample_stacks_)
      .add<int64_t>(Column::kWeight, sample_weights_)
      .add<int64_t>(Column::kCpuNs, sample_cpu_)
      .add<uint8_t>(Column::kFlags, sample_flags_)
      .add<int64_t>(Column::kCount, sample_counts_);
  if (Status status = writer_->write(block); !status) return status;
  sample_threads_.clear();
  sample_times_.clear();
  sample_stacks_.clear();
  sample_weights_.clear();
  sample_cpu_.clear();
  sample_flags_.clear();
  sample_counts_.clear();
  return {};
}

// Readers add up the counts of several blocks.
Status SampleFile::write_counts() {
  if (info_.beside_calls) return {};
  const Counts now{info_.ticks, info_.missed_ticks, info_.torn_reads};
  const std::pair<std::string_view, uint64_t> figures[] = {
      {"sampler_ticks", now.ticks - std::min(now.ticks, counts_written_.ticks)},
      {"ticks_missed", now.missed - std::min(now.missed, counts_written_.missed)},
      {"samples_torn", now.torn - std::min(now.torn, counts_written_.torn)},
  };
  std::vector<std::string_view> keys;
  std::vector<int64_t> counts;
  for (const auto& [key, count] : figures) {
    if (count == 0) continue;
    keys.push_back(key);
    counts.push_back(static_cast<int64_t>(count));
  }
  if (keys.empty() && notes_.empty()) return {};
  BlockBuilder block(BlockType::kStats, static_cast<uint32_t>(keys.size()));
  block.add_text(Column::kKeyText, keys).add<int64_t>(Column::kCount, counts);
  const std::vector<std::string_view> notes(notes_.begin(), notes_.end());
  if (!notes.empty()) block.add_text(Column::kText, notes);
  if (Status status = writer_->write(block); !status) return status;
  counts_written_ = now;
  notes_.clear();
  return {};
}

Status SampleFile::write_sampling_info() {
  if (info_.beside_calls) return {};
  char text[512];
  std::snprintf(
      text, sizeof(text),
      "{\"period_ns\": %lld, \"ticks\": %llu, \"missed_ticks\": %llu, \"samples\": %llu, "
      "\"torn_reads\": %llu, \"mode\": \"%s\", \"native\": %s, \"paused\": %s, "
      "\"seconds\": %lld.%03lld}",
      static_cast<long long>(info_.period_ns), static_cast<unsigned long long>(info_.ticks),
      static_cast<unsigned long long>(info_.missed_ticks),
      static_cast<unsigned long long>(samples_), static_cast<unsigned long long>(info_.torn_reads),
      info_.is_inside ? "inside" : "outside", json(info_.is_native), json(info_.is_paused),
      static_cast<long long>(info_.seconds), static_cast<long long>(info_.seconds * 1e3) % 1000);
  const format::MetadataText entries[] = {{std::string(format::kSamplingKey), text}};
  return format::write_metadata(*writer_, entries, format::kMetadataIsJson);
}

Status SampleFile::write_clock() {
  const ClockReading reading = read_monotonic();
  next_clock_ns_ = reading.monotonic_ns + kClockIntervalNs;
  return format::write_clock(*writer_, reading, kTicksPerSecond);
}

Status SampleFile::close() {
  if (has_failed_ || is_closed_) return {};
  Status status = write_pending();
  if (status) status = write_sampling_info();
  if (status) status = write_clock();
  if (status) {
    const format::MetadataText entries[] = {{std::string(format::kClosedKey), "1"}};
    status = format::write_metadata(*writer_, entries, format::kMetadataOfFile);
  }
  if (status && own_sink_ != nullptr) status = own_sink_->close();
  is_closed_ = true;
  return take(std::move(status));
}

}  // namespace stepscope::sample
