// The plain-C function table of the recorder (stepscope/record.h).
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/recorder/recorder.h"
#include "collect/stepscope/record.h"

namespace stepscope {
namespace {

using format::ExtendedRecord;
using format::RecordKind;

int tell(const Status& status, char* message, size_t message_bytes) {
  if (message != nullptr && message_bytes > 0) {
    const size_t bytes = std::min(status.message().size(), message_bytes - 1);
    std::memcpy(message, status.message().data(), bytes);
    message[bytes] = '\0';
  }
  return status.ok() ? 0 : 1;
}

// Lines "key=value".
std::vector<std::pair<std::string, std::string>> parse_metadata(std::string_view lines) {
  std::vector<std::pair<std::string, std::string>> entries;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (const size_t sign = line.find('='); sign != line.npos && sign > 0) {
      entries.emplace_back(line.substr(0, sign), line.substr(sign + 1));
    }
  }
  return entries;
}

int start(const char* folder, const StepscopeRecordOptions* given, char* message,
          size_t message_bytes) {
  StepscopeRecordOptions wanted{};
  if (given != nullptr) std::memcpy(&wanted, given, std::min<size_t>(given->bytes, sizeof(wanted)));
  RecorderOptions options;
  options.folder = folder == nullptr ? "" : folder;
  if (wanted.max_pool_bytes > 0) options.max_pool_bytes = wanted.max_pool_bytes;
  options.first_pool_bytes = std::min(options.first_pool_bytes, options.max_pool_bytes);
  options.max_file_bytes = wanted.max_file_bytes;
  options.rotate_bytes = wanted.rotate_bytes;
  options.system_counters = wanted.no_counters == 0;
  options.follow_forks = wanted.ignore_forks == 0;
  if (wanted.metadata != nullptr) options.metadata = parse_metadata(wanted.metadata);
  return tell(Recorder::start(options), message, message_bytes);
}

int stop(char* message, size_t message_bytes) {
  return tell(Recorder::stop(), message, message_bytes);
}

int is_recording() { return Recorder::is_recording() ? 1 : 0; }

std::string_view view(const char* text, size_t bytes) {
  return text == nullptr ? std::string_view() : std::string_view(text, bytes);
}

uint32_t intern(const char* name, size_t name_bytes, const char* category, size_t category_bytes,
                uint8_t kind) {
  return Recorder::definitions().label(view(name, name_bytes), view(category, category_bytes),
                                       kind);
}

uint32_t intern_counter(const char* name, size_t name_bytes, const char* unit, size_t unit_bytes) {
  return Recorder::definitions().counter(view(name, name_bytes), "", view(unit, unit_bytes));
}

void begin(uint32_t label) { append_record(RecordKind::kBegin, label); }
void end(uint32_t label) { append_record(RecordKind::kEnd, label == 0 ? 0 : label + 1); }
void instant(uint32_t label) { append_record(RecordKind::kInstant, label); }

void counter(uint32_t counter, double value) {
  const auto word = std::bit_cast<uint64_t>(value);
  append_record(RecordKind::kCounterF64, counter, &word, 1);
}

void counter_int(uint32_t counter, int64_t value) {
  const auto word = static_cast<uint64_t>(value);
  append_record(RecordKind::kCounterI64, counter, &word, 1);
}

void step(uint32_t number) { append_record(RecordKind::kStep, number); }

template <size_t N>
void extended(ExtendedRecord subtype, const uint64_t (&words)[N]) {
  append_record(RecordKind::kExtended, format::pack_extended(static_cast<uint32_t>(subtype), N),
                words, N);
}

void flow_begin(uint64_t id) { extended(ExtendedRecord::kFlowBegin, {id}); }
void flow_end(uint64_t id) { extended(ExtendedRecord::kFlowEnd, {id}); }

uint64_t pack_device(int32_t type, int32_t device) {
  return uint64_t{static_cast<uint32_t>(type)} << 32 | static_cast<uint32_t>(device);
}

void allocate(uint64_t address, uint64_t bytes, int32_t type, int32_t device) {
  extended(ExtendedRecord::kAllocate, {address, bytes, pack_device(type, device)});
}

void free_memory(uint64_t address, uint64_t bytes, int32_t type, int32_t device) {
  extended(ExtendedRecord::kFree, {address, bytes, pack_device(type, device)});
}

void context(uint32_t id) {
  append_record(RecordKind::kContext, id);
  // The next chunk begins in it.
  if (t_slot != nullptr) t_slot->context = id & format::kRecordValueMax;
}

void set_thread_name(const char* name, size_t bytes) {
  Recorder::set_thread_name(view(name, bytes));
}

// It belongs to what was recorded last: no need to read the clock.
void attach(uint32_t kind, const uint64_t* words, uint32_t count) {
  if (t_slot == nullptr || count > format::kExtendedWordsMax) return;
  append_record_at(t_slot->last_tick, RecordKind::kExtended, format::pack_extended(kind, count),
                   words, count);
}

// Both records at once: to the thread's chunk the second is just more words of the first.
void begin_with(uint32_t label, uint32_t kind, const uint64_t* words, uint32_t count) {
  if (count > format::kExtendedWordsMax) return begin(label);
  uint64_t both[1 + format::kExtendedWordsMax];
  both[0] = format::pack_record(RecordKind::kExtended, format::pack_extended(kind, count), 0);
  for (uint32_t i = 0; i < count; ++i) both[1 + i] = words[i];
  append_record(RecordKind::kBegin, label, both, 1 + count);
}

void begin_async(uint32_t label, uint64_t id) {
  extended(ExtendedRecord::kAsyncBegin, {id, label});
}
void end_async(uint64_t id) { extended(ExtendedRecord::kAsyncEnd, {id}); }

void memory(uint64_t address, int64_t bytes, int32_t type, int32_t device, int64_t allocated_bytes,
            int64_t reserved_bytes) {
  const bool is_free = bytes < 0;
  extended(
      is_free ? ExtendedRecord::kFree : ExtendedRecord::kAllocate,
      {address, is_free ? uint64_t{0} - static_cast<uint64_t>(bytes) : static_cast<uint64_t>(bytes),
       pack_device(type, device), static_cast<uint64_t>(allocated_bytes),
       static_cast<uint64_t>(reserved_bytes)});
}

constexpr StepscopeRecordTable kTable = {
    .version = STEPSCOPE_RECORD_VERSION,
    .bytes = sizeof(StepscopeRecordTable),
    .start = start,
    .stop = stop,
    .is_recording = is_recording,
    .intern = intern,
    .intern_counter = intern_counter,
    .begin = begin,
    .end = end,
    .instant = instant,
    .counter = counter,
    .counter_int = counter_int,
    .step = step,
    .flow_begin = flow_begin,
    .flow_end = flow_end,
    .allocate = allocate,
    .free = free_memory,
    .context = context,
    .set_thread_name = set_thread_name,
    .attach = attach,
    .begin_with = begin_with,
    .begin_async = begin_async,
    .end_async = end_async,
    .memory = memory,
};

}  // namespace
}  // namespace stepscope

extern "C" __attribute__((visibility("default"))) const StepscopeRecordTable*
stepscope_record_table(uint32_t version) {
  return version == STEPSCOPE_RECORD_VERSION ? &stepscope::kTable : nullptr;
}
