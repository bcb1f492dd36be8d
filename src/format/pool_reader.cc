#include "format/pool_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/byte_sink.h"
#include "base/bytes.h"
#include "base/process_stat.h"
#include "format/block_writer.h"
#include "format/pool_layout.h"
#include "format/record.h"

namespace stepscope::format {
namespace {

// Where the bytes of a pool come from.
class Source {
 public:
  virtual ~Source() = default;
  // How many bytes of `into` could be filled. A new look each time: the file may have changed.
  virtual size_t read_at(uint64_t offset, std::span<uint8_t> into) const = 0;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  size_t read_at(uint64_t offset, std::span<uint8_t> into) const override {
    if (offset >= bytes_.size()) return 0;
    const auto from = bytes_.subspan(static_cast<size_t>(offset));
    const size_t count = std::min(from.size(), into.size());
    std::copy_n(from.begin(), count, into.begin());
    return count;
  }

 private:
  std::span<const uint8_t> bytes_;
};

class FileSource final : public Source {
 public:
  explicit FileSource(int descriptor) : descriptor_(descriptor) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(descriptor_); }
  int descriptor() const { return descriptor_; }

  size_t read_at(uint64_t offset, std::span<uint8_t> into) const override {
    size_t filled = 0;
    while (filled < into.size()) {
      const ssize_t got = ::pread(descriptor_, into.data() + filled, into.size() - filled,
                                  static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      filled += static_cast<size_t>(got);
    }
    return filled;
  }

 private:
  int descriptor_;
};

// The headers of pool_layout.h, without their atomics: as they were at one moment.
struct ChunkCopy {
  uint64_t generation;
  uint64_t first_word;
  uint64_t first_tick;
  uint64_t dropped;
  uint32_t stream;
  uint32_t track;
  uint32_t context;
  uint32_t is_used;
  uint32_t committed;
};

struct Chunk {
  ChunkCopy header;
  std::vector<uint32_t> lower, upper;
};

struct JournalCopy {
  uint64_t generation = 0;
  std::vector<uint8_t> entries;
};

struct Definition {
  JournalEntry entry;
  std::string_view text;  // in a JournalCopy
};

class PoolCopier {
 public:
  explicit PoolCopier(const Source& source) : source_(source) {}

  Status read_header(PoolContents& contents);
  // In this order: what is no longer in a chunk when it is looked at is in the file, together with
  // what defines it.
  void copy_chunks();
  void copy_journals();
  Status write_blocks(PoolContents& contents);

 private:
  bool read_chunk_header(uint64_t offset, ChunkCopy& header) const;
  bool copy_chunk(uint64_t offset);  // false where the file ends before it
  bool read_journal_header(uint64_t offset, uint64_t& generation, uint32_t& committed) const;
  void parse_journal(const JournalCopy& journal);
  Status write_strings(BlockWriter& writer);
  Status write_labels(BlockWriter& writer);
  Status write_tracks(BlockWriter& writer);
  Status write_chunk(BlockWriter& writer, const Chunk& chunk);

  const Source& source_;
  uint32_t chunk_count_ = 0;
  std::vector<Chunk> chunks_;
  std::array<JournalCopy, kJournals> journals_;
  std::vector<Definition> strings_, labels_, tracks_;
  std::vector<uint8_t> buffer_;
  uint64_t damaged_ = 0;
};

// On machines that reorder loads: what is read next is read after this. (The system call itself is
// enough on x86.)
void keep_order() { std::atomic_thread_fence(std::memory_order_acquire); }

Status PoolCopier::read_header(PoolContents& contents) {
  std::array<uint8_t, sizeof(PoolHeader)> bytes{};
  if (source_.read_at(0, bytes) < bytes.size()) return Status::error("too short for a pool");
  ByteReader in(bytes);
  const auto magic = in.take(kPoolMagic.size());
  if (!std::equal(magic.begin(), magic.end(), kPoolMagic.begin())) {
    return Status::error("is no pool of a recording");
  }
  const auto version = in.read<uint32_t>();
  const auto journal_bytes = in.read<uint32_t>();
  const auto chunk_bytes = in.read<uint32_t>();
  in.read<uint32_t>();
  if (version != kPoolVersion || journal_bytes != kJournalBytes || chunk_bytes != kChunkBytes) {
    return Status::error("is a pool of version " + std::to_string(version) +
                         ", which this stepscope does not know");
  }
  contents.file_id = in.read<uint64_t>();
  contents.pid = in.read<int64_t>();
  contents.start_time = in.read<uint64_t>();
  chunk_count_ = in.read<uint32_t>();
  in.read<uint32_t>();
  contents.dropped = in.read<uint64_t>();
  if (chunk_count_ > kMaxChunks) {
    ++damaged_;
    chunk_count_ = kMaxChunks;
  }
  return {};
}

bool PoolCopier::read_chunk_header(uint64_t offset, ChunkCopy& header) const {
  std::array<uint8_t, kChunkHeaderBytes> bytes{};
  if (source_.read_at(offset, bytes) < bytes.size()) return false;
  ByteReader in(bytes);
  header.generation = in.read<uint64_t>();
  header.first_word = in.read<uint64_t>();
  header.first_tick = in.read<uint64_t>();
  header.dropped = in.read<uint64_t>();
  header.stream = in.read<uint32_t>();
  header.track = in.read<uint32_t>();
  header.context = in.read<uint32_t>();
  header.is_used = in.read<uint32_t>();
  header.committed = in.read<uint32_t>();
  return true;
}

void PoolCopier::copy_chunks() {
  for (uint32_t i = 0; i < chunk_count_; ++i) {
    if (!copy_chunk(kChunksOffset + uint64_t{i} * kChunkBytes)) {
      damaged_ += chunk_count_ - i;
      break;
    }
  }
  std::stable_sort(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) {
    return std::pair(a.header.stream, a.header.first_word) <
           std::pair(b.header.stream, b.header.first_word);
  });
}

bool PoolCopier::copy_chunk(uint64_t offset) {
  Chunk chunk;
  if (!read_chunk_header(offset, chunk.header)) return false;
  const ChunkCopy& before = chunk.header;
  if (before.is_used == 0 || before.generation % 2 != 0) return true;
  if (before.committed == 0 && before.dropped == 0) return true;
  if (before.committed > kChunkWords || before.is_used != 1 || before.stream == kNoStream) {
    ++damaged_;
    return true;
  }
  keep_order();
  buffer_.resize(before.committed * sizeof(uint64_t));
  const bool is_whole = source_.read_at(offset + kChunkHeaderBytes, buffer_) == buffer_.size();
  keep_order();
  ChunkCopy after;
  if (!is_whole || !read_chunk_header(offset, after)) {
    ++damaged_;
    return true;
  }
  // `committed` only grows in one use of a chunk.
  if (after.generation != before.generation || after.committed < before.committed) return true;
  chunk.lower.reserve(before.committed);
  chunk.upper.reserve(before.committed);
  for (size_t at = 0; at < buffer_.size(); at += sizeof(uint64_t)) {
    const auto word = load_le<uint64_t>(buffer_.data() + at);
    chunk.lower.push_back(lower_half(word));
    chunk.upper.push_back(upper_half(word));
  }
  chunks_.push_back(std::move(chunk));
  return true;
}

bool PoolCopier::read_journal_header(uint64_t offset, uint64_t& generation,
                                     uint32_t& committed) const {
  std::array<uint8_t, sizeof(JournalHeader)> bytes{};
  if (source_.read_at(offset, bytes) < bytes.size()) return false;
  ByteReader in(bytes);
  generation = in.read<uint64_t>();
  committed = in.read<uint32_t>();
  return true;
}

void PoolCopier::copy_journals() {
  for (uint32_t i = 0; i < kJournals; ++i) {
    const uint64_t offset = kPoolHeaderBytes + uint64_t{i} * kJournalBytes;
    uint32_t committed = 0;
    JournalCopy& journal = journals_[i];
    if (!read_journal_header(offset, journal.generation, committed)) {
      ++damaged_;
      continue;
    }
    if (journal.generation % 2 != 0 || committed == 0) continue;
    if (committed > kJournalBytes - sizeof(JournalHeader)) {
      ++damaged_;
      continue;
    }
    keep_order();
    journal.entries.resize(committed);
    const size_t got = source_.read_at(offset + sizeof(JournalHeader), journal.entries);
    keep_order();
    uint64_t generation_after = 0;
    uint32_t committed_after = 0;
    if (got < committed || !read_journal_header(offset, generation_after, committed_after)) {
      ++damaged_;
      journal.entries.clear();
    } else if (generation_after != journal.generation || committed_after < committed) {
      journal.entries.clear();
    }
  }
  if (journals_[1].generation < journals_[0].generation) std::swap(journals_[0], journals_[1]);
  for (const JournalCopy& journal : journals_) parse_journal(journal);
  const auto by_id = [](const Definition& a, const Definition& b) {
    return a.entry.id < b.entry.id;
  };
  std::stable_sort(strings_.begin(), strings_.end(), by_id);
  std::stable_sort(labels_.begin(), labels_.end(), by_id);
}

void PoolCopier::parse_journal(const JournalCopy& journal) {
  ByteReader in(journal.entries);
  while (in.remaining() > 0) {
    ByteReader peek(journal.entries);
    peek.take(in.offset());
    const auto bytes = peek.read<uint32_t>();
    const auto body = in.take(bytes);
    if (in.failed() || bytes < sizeof(JournalEntry) || bytes % 8 != 0) {
      ++damaged_;
      return;
    }
    Definition definition;
    definition.entry = load_le<JournalEntry>(body.data());
    const auto text = body.subspan(sizeof(JournalEntry));
    if (definition.entry.id == kNoneU32 || definition.entry.text_bytes > text.size()) {
      ++damaged_;
      return;
    }
    definition.text = {reinterpret_cast<const char*>(text.data()), definition.entry.text_bytes};
    switch (definition.entry.type) {
      case JournalEntryType::kString:
        strings_.push_back(definition);
        break;
      case JournalEntryType::kLabel:
        labels_.push_back(definition);
        break;
      case JournalEntryType::kTrack:
        tracks_.push_back(definition);
        break;
      default:  // from a newer version
        break;
    }
  }
}

// Calls write(run) for every stretch of consecutive ids; of several definitions of one id the last
// one is in it.
template <typename Write>
Status for_each_run(const std::vector<Definition>& sorted, Write&& write) {
  std::vector<const Definition*> run;
  for (const Definition& definition : sorted) {
    if (!run.empty() && definition.entry.id == run.back()->entry.id) {
      run.back() = &definition;
      continue;
    }
    if (!run.empty() && definition.entry.id != run.back()->entry.id + 1) {
      if (Status status = write(run); !status) return status;
      run.clear();
    }
    run.push_back(&definition);
  }
  return run.empty() ? Status() : write(run);
}

template <typename T>
std::vector<T> gather(const std::vector<const Definition*>& run, T JournalEntry::*member) {
  std::vector<T> values;
  values.reserve(run.size());
  for (const Definition* definition : run) values.push_back(definition->entry.*member);
  return values;
}

Status PoolCopier::write_strings(BlockWriter& writer) {
  return for_each_run(strings_, [&](const std::vector<const Definition*>& run) {
    std::vector<std::string_view> texts;
    for (const Definition* definition : run) texts.push_back(definition->text);
    return writer.write(BlockBuilder(BlockType::kStrings, static_cast<uint32_t>(run.size()))
                            .add_one<uint64_t>(Column::kFirstId, run.front()->entry.id)
                            .add_text(Column::kText, texts));
  });
}

Status PoolCopier::write_labels(BlockWriter& writer) {
  return for_each_run(labels_, [&](const std::vector<const Definition*>& run) {
    const auto names = gather(run, &JournalEntry::name);
    const auto categories = gather(run, &JournalEntry::category);
    const auto kinds = gather(run, &JournalEntry::kind);
    return writer.write(BlockBuilder(BlockType::kLabels, static_cast<uint32_t>(run.size()))
                            .add_one<uint64_t>(Column::kFirstId, run.front()->entry.id)
                            .add<uint32_t>(Column::kName, names)
                            .add<uint32_t>(Column::kCategory, categories)
                            .add<uint8_t>(Column::kKind, kinds));
  });
}

Status PoolCopier::write_tracks(BlockWriter& writer) {
  if (tracks_.empty()) return {};
  std::vector<const Definition*> all;
  for (const Definition& definition : tracks_) all.push_back(&definition);
  const auto ids = gather(all, &JournalEntry::id);
  const auto kinds = gather(all, &JournalEntry::kind);
  const auto numbers = gather(all, &JournalEntry::number);
  const auto names = gather(all, &JournalEntry::name);
  const auto series = gather(all, &JournalEntry::category);
  const auto units = gather(all, &JournalEntry::unit);
  return writer.write(BlockBuilder(BlockType::kTracks, static_cast<uint32_t>(all.size()))
                          .add<uint32_t>(Column::kId, ids)
                          .add<uint8_t>(Column::kKind, kinds)
                          .add<int64_t>(Column::kNumber, numbers)
                          .add<uint32_t>(Column::kName, names)
                          .add<uint32_t>(Column::kSeries, series)
                          .add<uint32_t>(Column::kUnit, units));
}

Status PoolCopier::write_chunk(BlockWriter& writer, const Chunk& chunk) {
  const ChunkCopy& header = chunk.header;
  return writer.write(BlockBuilder(BlockType::kRecords, header.committed)
                          .set_stream(header.stream)
                          .add_one<uint64_t>(Column::kFirstTick, header.first_tick)
                          .add_one<uint32_t>(Column::kTrack, header.track)
                          .add_one<uint32_t>(Column::kContext, header.context)
                          .add_one<uint64_t>(Column::kDropped, header.dropped)
                          .add_one<uint64_t>(Column::kFirstWord, header.first_word)
                          .add<uint32_t>(Column::kTicks, chunk.lower)
                          .add<uint32_t>(Column::kPayload, chunk.upper));
}

Status PoolCopier::write_blocks(PoolContents& contents) {
  MemorySink sink;
  auto writer = BlockWriter::create(sink, {.zstd_level = 1, .file_id = contents.file_id});
  if (!writer) return writer.status();
  if (Status status = write_strings(*writer); !status) return status;
  if (Status status = write_labels(*writer); !status) return status;
  if (Status status = write_tracks(*writer); !status) return status;
  for (const Chunk& chunk : chunks_) {
    if (Status status = write_chunk(*writer, chunk); !status) return status;
    contents.words += chunk.lower.size();
  }
  contents.blocks = sink.bytes();
  contents.pieces_damaged = damaged_;
  return {};
}

Result<PoolContents> copy_pool(const Source& source, const std::string& name,
                               bool looks_for_process) {
  PoolContents contents;
  PoolCopier copier(source);
  if (Status status = copier.read_header(contents); !status) {
    return Status::error(name + ": " + status.message());
  }
  contents.is_running = looks_for_process && is_running(contents.pid, contents.start_time);
  copier.copy_chunks();
  copier.copy_journals();
  if (Status status = copier.write_blocks(contents); !status) return status;
  return contents;
}

}  // namespace

Result<PoolContents> read_pool(const std::string& path) {
  // A path from a file's metadata may name anything: a pipe must not make the reader wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return Status::error(path + ": " + std::strerror(errno));
  const FileSource source(descriptor);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return Status::error(path + ": " + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return Status::error(path + ": is no regular file");
  while (true) {
    auto contents = copy_pool(source, path, true);
    if (!contents || !contents->is_running) return contents;
    // Where it ended in the meantime the pool is at rest, and the copy may have gaps.
    if (is_running(contents->pid, contents->start_time)) return contents;
  }
}

Result<PoolContents> read_pool(std::span<const uint8_t> file, const std::string& name) {
  return copy_pool(MemorySource(file), name, false);
}

bool shows_running(const ProcessStat& stat, uint64_t start_time) {
  // A program whose first thread has ended shows 'Z' as well, but has others.
  const bool has_ended =
      stat.state == 'X' || stat.state == 'x' || (stat.state == 'Z' && stat.threads <= 1);
  return stat.state != 0 && !has_ended && stat.start_ticks == start_time;
}

bool is_running(int64_t pid, uint64_t start_time) {
  return pid > 0 && shows_running(read_process_stat(std::to_string(pid)), start_time);
}

}  // namespace stepscope::format
