#include "serve/runs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "ingest/trace_paths.h"
#include "trace/recording.h"

namespace stepscope::serve {
namespace {

namespace fs = std::filesystem;

// A large run takes long to read: not more than a tenth of the time goes into it.
constexpr std::chrono::seconds kLeastBetweenReads{2};
constexpr int kTimesBetweenReads = 10;

std::vector<std::vector<std::string>> recordings_of(const std::string& path) {
  if (!is_folder(path)) return {{path}};
  auto recordings = find_recordings(path);
  if (!recordings) return {};
  return *std::move(recordings);
}

bool is_being_recorded(const std::string& path) {
  if (!is_folder(path) && !path.ends_with(".sscope")) return false;
  for (const std::vector<std::string>& files : recordings_of(path)) {
    const auto scope = is_folder(path) ? Recording::Scope::kAll : Recording::Scope::kFile;
    const auto recording = Recording::open(files, scope, {});
    if (recording && recording->state() == Recording::State::kRunning) return true;
  }
  return false;
}

uint64_t bytes_of(const std::string& path) {
  uint64_t bytes = 0;
  for (const std::vector<std::string>& files : recordings_of(path)) {
    for (const std::string& file : files) {
      std::error_code error;
      const uintmax_t size = fs::file_size(file, error);
      if (!error) bytes += size;
    }
  }
  return bytes;
}

std::string last_parts(const std::string& path, int count) {
  fs::path at = fs::path(path).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  fs::path name = at.filename();
  while (--count > 0 && at.has_parent_path() && at.parent_path() != at) {
    at = at.parent_path();
    name = at.filename() / name;
  }
  return name.empty() ? path : name.string();
}

// As few folders as it takes to tell the paths apart.
void name_runs(std::vector<RunInfo*> runs) {
  constexpr int kMaxParts = 6;
  for (RunInfo* run : runs) {
    for (int parts = 1; parts <= kMaxParts; ++parts) {
      run->name = last_parts(run->path, parts);
      const auto has_same = [&](const RunInfo* other) {
        return other->path != run->path && last_parts(other->path, parts) == run->name;
      };
      if (std::none_of(runs.begin(), runs.end(), has_same)) break;
    }
  }
}

}  // namespace

std::unique_ptr<Runs> Runs::open(const std::vector<std::string>& paths, RunLoader loader) {
  std::unique_ptr<Runs> runs(new Runs);
  runs->loader_ = std::move(loader);
  for (const std::string& path : paths) runs->add(path);
  std::vector<RunInfo*> infos;
  for (const auto& entry : runs->entries_) infos.push_back(&entry->info);
  name_runs(infos);
  return runs;
}

std::unique_ptr<Runs> Runs::of(std::vector<RunInfo> infos) {
  std::unique_ptr<Runs> runs(new Runs);
  for (RunInfo& info : infos) {
    auto entry = std::make_unique<Entry>();
    info.is_live = false;  // there is no one to read it again
    entry->info = std::move(info);
    runs->entries_.push_back(std::move(entry));
  }
  return runs;
}

std::unique_ptr<Runs> Runs::when_asked(RunLoader loader, size_t max_open) {
  std::unique_ptr<Runs> runs(new Runs);
  runs->loader_ = std::move(loader);
  runs->max_open_ = std::max<size_t>(max_open, 1);
  return runs;
}

void Runs::add_when_asked(std::string path, std::string name) {
  auto entry = std::make_unique<Entry>();
  entry->info.path = std::move(path);
  entry->info.name = std::move(name);
  const std::string& file = entry->info.path;
  const std::string folder = is_folder(file) ? file : fs::path(file).parent_path().string();
  const std::lock_guard lock(mutex_);
  entry->info.job = jobs_.try_emplace(folder, jobs_.size()).first->second;
  entries_.push_back(std::move(entry));
}

void Runs::add(const std::string& path) {
  const auto files = find_trace_files(path);
  if (!files) {
    auto entry = std::make_unique<Entry>();
    entry->info.path = path;
    entry->info.error = files.status().message();
    entries_.push_back(std::move(entry));
    return;
  }
  for (const std::string& file : *files) {
    auto entry = std::make_unique<Entry>();
    entry->info.path = file;
    read(*entry, false);
    entries_.push_back(std::move(entry));
  }
}

void Runs::read(Entry& entry, bool is_again) {
  const Clock::time_point begin = Clock::now();
  // Asked before it is read: what comes meanwhile is read the next time.
  const bool is_live = is_being_recorded(entry.info.path);
  entry.bytes = bytes_of(entry.info.path);
  Result<Trace> trace = loader_(entry.info.path);
  const Clock::duration took = Clock::now() - begin;

  const std::lock_guard lock(mutex_);
  entry.next_read =
      Clock::now() + std::max<Clock::duration>(kLeastBetweenReads, kTimesBetweenReads * took);
  if (trace) {
    entry.info.trace = std::make_shared<const Trace>(*std::move(trace));
    entry.info.error.clear();
    entry.info.is_live = is_live;
    ++entry.info.version;
  } else if (!is_again) {
    entry.info.error = trace.status().message();
  }
}

// The caller holds mutex_.
void Runs::let_others_go(const Entry& entry) {
  std::vector<Entry*> loaded;
  for (const auto& other : entries_) {
    if (other->info.trace && other.get() != &entry) loaded.push_back(other.get());
  }
  std::sort(loaded.begin(), loaded.end(),
            [](const Entry* a, const Entry* b) { return a->last_asked > b->last_asked; });
  for (size_t i = max_open_ - 1; i < loaded.size(); ++i) {
    loaded[i]->info.trace = nullptr;
    loaded[i]->info.is_live = false;
  }
}

RunInfo Runs::load(size_t run) {
  Entry* entry = find(run);
  if (entry == nullptr) return {};
  const auto find_loaded = [&]() -> std::optional<RunInfo> {
    const std::lock_guard lock(mutex_);
    entry->last_asked = ++asked_;
    if (entry->info.trace || max_open_ == 0) return entry->info;
    return std::nullopt;
  };
  if (auto info = find_loaded()) return *std::move(info);
  const std::lock_guard reading(entry->reading_mutex);
  if (auto info = find_loaded()) return *std::move(info);  // another has read it meanwhile
  const RunInfo before = info(run);
  if (!before.error.empty() && bytes_of(before.path) == entry->bytes) return before;
  read(*entry, false);
  const std::lock_guard lock(mutex_);
  if (entry->info.trace) let_others_go(*entry);
  return entry->info;
}

void Runs::refresh(Entry& entry) {
  const std::lock_guard reading(entry.reading_mutex);
  const uint64_t bytes = bytes_of(entry.info.path);
  if (bytes != entry.bytes || !is_being_recorded(entry.info.path)) {
    read(entry, true);
  } else {
    const std::lock_guard lock(mutex_);
    entry.next_read = Clock::now() + kLeastBetweenReads;
  }
}

void Runs::refresh_later(Entry& entry) {
  if (entry.is_being_read.exchange(true)) return;
  const std::lock_guard lock(mutex_);  // another may come as soon as it has ended
  if (Clock::now() < entry.next_read) {
    entry.is_being_read = false;
    return;
  }
  entry.reading = std::async(std::launch::async, [this, &entry] {
    refresh(entry);
    entry.is_being_read = false;
  });
}

size_t Runs::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

Runs::Entry* Runs::find(size_t run) const {
  const std::lock_guard lock(mutex_);
  return run < entries_.size() ? entries_[run].get() : nullptr;
}

std::vector<RunInfo> Runs::info() {
  std::vector<RunInfo> infos;
  for (size_t i = 0; i < size(); ++i) {
    if (info(i).is_live) refresh_later(*find(i));
    infos.push_back(info(i));
  }
  return infos;
}

RunInfo Runs::info(size_t run) const {
  const std::lock_guard lock(mutex_);
  return run < entries_.size() ? entries_[run]->info : RunInfo();
}

}  // namespace stepscope::serve
