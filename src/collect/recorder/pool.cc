#include "collect/recorder/pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace stepscope {
namespace {

using format::ChunkHeader;
using format::JournalHeader;
using format::kChunkBytes;
using format::kChunksOffset;
using format::PoolHeader;

constexpr uint64_t kFirstTouchBytes = uint64_t{1} << 20;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14; older headers lack it

// File systems whose shared mappings are slow, not coherent, or refused: NFS, SMB, CIFS, FUSE, 9p,
// Lustre, GPFS, AFS, Ceph.
constexpr uint32_t kRemoteFileSystems[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
                                           0x65735546, 0x01021997, 0x0BD00BD0, 0x47504653,
                                           0x5346414F, 0x00C36400};

bool is_remote(const std::string& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) return false;
  const auto type = static_cast<uint32_t>(info.f_type);
  return std::find(std::begin(kRemoteFileSystems), std::end(kRemoteFileSystems), type) !=
         std::end(kRemoteFileSystems);
}

std::vector<std::string> find_folders(const std::string& folder) {
  std::vector<std::string> folders;
  if (!is_remote(folder)) folders.push_back(folder);
  if (const char* temporary = std::getenv("TMPDIR"); temporary != nullptr && *temporary == '/') {
    folders.emplace_back(temporary);
  }
  folders.emplace_back("/tmp");
  folders.emplace_back("/dev/shm");
  return folders;
}

void touch(uint8_t* begin, uint64_t bytes) {
  if (::madvise(begin, bytes, kPopulateWrite) == 0) return;
  constexpr uint64_t kPageBytes = 4096;
  for (uint64_t at = 0; at < bytes; at += kPageBytes) {
    auto* byte = const_cast<volatile uint8_t*>(begin + at);
    *byte = *byte;
  }
}

}  // namespace

Result<std::unique_ptr<Pool>> Pool::create(const std::string& folder, const std::string& name,
                                           const PoolIdentity& identity, uint32_t first_chunks,
                                           uint32_t max_chunks) {
  Status status = Status::error("no folder for the pool");
  for (const std::string& candidate : find_folders(folder)) {
    std::unique_ptr<Pool> pool(new Pool);
    pool->max_chunks_ = max_chunks;
    pool->mapped_bytes_ = kChunksOffset + uint64_t{max_chunks} * kChunkBytes;
    status = pool->open(candidate + "/" + name);
    if (!status) continue;
    auto* header = new (pool->memory_) PoolHeader;
    header->file_id = identity.file_id;
    header->pid = identity.pid;
    header->start_time = identity.start_time;
    const Result<uint32_t> grown = pool->grow(first_chunks);
    if (grown) return pool;
    status = grown.status();
    pool->close(Keep::kNo);
  }
  return status;
}

Status Pool::open(const std::string& path) {
  path_ = path;
  const auto fail = [&](const char* what, int error) {
    if (file_ >= 0) ::unlink(path_.c_str());
    return Status::error(path_ + ": " + what + ": " + std::strerror(error));
  };
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file_ < 0 && errno == EEXIST) {
    path_ += ".XXXXXX";
    file_ = ::mkostemp(path_.data(), O_CLOEXEC);
  }
  if (file_ < 0) return fail("create", errno);
  if (const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(kChunksOffset))) {
    return fail("allocate", error);
  }
  // Pages past the end of the file must not be touched; grow() moves that end.
  void* memory =
      ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) return fail("map", errno);
  memory_ = static_cast<uint8_t*>(memory);
  if (::madvise(memory_, mapped_bytes_, MADV_DONTFORK) != 0) return fail("map", errno);
  touch(memory_, kChunksOffset);
  return {};
}

Pool::~Pool() {
  if (file_ < 0) return;  // closed: the address space stays taken
  ::close(file_);
  if (memory_ != nullptr) ::munmap(memory_, mapped_bytes_);
}

JournalHeader* Pool::journal(uint32_t number) const {
  return reinterpret_cast<JournalHeader*>(memory_ + format::kPoolHeaderBytes +
                                          uint64_t{number} * format::kJournalBytes);
}

ChunkHeader* Pool::chunk(uint32_t number) const {
  return reinterpret_cast<ChunkHeader*>(memory_ + kChunksOffset + uint64_t{number} * kChunkBytes);
}

Result<uint32_t> Pool::grow(uint32_t chunks) {
  const uint32_t before = chunk_count();
  chunks = std::min(chunks, max_chunks_ - before);
  if (chunks == 0) return uint32_t{0};
  const uint64_t offset = kChunksOffset + uint64_t{before} * kChunkBytes;
  const uint64_t bytes = uint64_t{chunks} * kChunkBytes;
  if (const int error =
          ::posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes))) {
    return Status::error(path_ + ": allocate: " + std::strerror(error));
  }
  // A large first part is touched in its beginning only, where use begins: starting must be quick.
  touch(memory_ + offset, before == 0 ? std::min(bytes, kFirstTouchBytes) : bytes);
  for (uint32_t i = 0; i < chunks; ++i) new (chunk(before + i)) ChunkHeader;
  header().chunk_count.store(before + chunks, std::memory_order_release);
  return chunks;
}

void Pool::close(Keep keep) {
  if (file_ < 0) return;
  // Over the old mapping in one step: there is no moment at which a late record meets no memory.
  ::mmap(memory_, mapped_bytes_, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (keep == Keep::kNo) ::unlink(path_.c_str());
  ::close(file_);
  file_ = -1;
}

}  // namespace stepscope
