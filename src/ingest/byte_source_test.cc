#include "ingest/byte_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace stepscope {
namespace {

// Text like a trace's, that compresses but not to nothing.
std::string make_text(size_t bytes) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < bytes) {
    text += R"({"ph":"X","name":"aten::op)" + std::to_string(random() % 500) + R"(","ts":)" +
            std::to_string(random()) + "},\n";
  }
  text.resize(bytes);
  return text;
}

std::string gzip(std::string_view text) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  std::vector<uint8_t> level_buffer(ISAL_DEF_LVL1_DEFAULT);
  std::string out(text.size() + 4096, '\0');
  stream.level = 1;
  stream.level_buf = level_buffer.data();
  stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  EXPECT_EQ(stream.internal_state.state, ZSTATE_END);
  out.resize(out.size() - stream.avail_out);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the command zstd does
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

struct ReadBack {
  std::string text;
  std::string fault;
  std::string error;
};

ReadBack read_all(ByteSource& source, size_t chunk_bytes = 100'000) {
  ReadBack back;
  std::vector<char> chunk(chunk_bytes);
  while (true) {
    const auto bytes = source.read(chunk);
    if (!bytes) {
      back.error = bytes.status().message();
      break;
    }
    if (*bytes == 0) break;
    back.text.append(chunk.data(), *bytes);
  }
  back.fault = source.fault();
  return back;
}

ReadBack read_memory(std::string_view bytes, size_t chunk_bytes = 100'000) {
  auto source = ByteSource::from_memory(bytes, "memory");
  if (!source) return {"", "", source.status().message()};
  return read_all(**source, chunk_bytes);
}

class ByteSourceFile : public testing::Test {
 protected:
  ByteSourceFile() {
    std::string name = (std::filesystem::temp_directory_path() / "byte_source_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ByteSourceFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string error_of(const std::string& path) {
    auto source = ByteSource::open(path);
    return source ? "" : source.status().message();
  }

  std::string folder_;
};

TEST_F(ByteSourceFile, ReadsPlainFilesWhole) {
  for (const size_t bytes : {1u, 3u, 65'535u, 65'536u, 65'537u, 262'144u, 300'000u, 1'000'001u}) {
    const std::string text = make_text(bytes);
    auto source = ByteSource::open(write("plain.json", text));
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_STREQ((*source)->compression(), "none");
    EXPECT_EQ((*source)->total_bytes_compressed(), bytes);
    EXPECT_TRUE(text.starts_with((*source)->peek()));
    const ReadBack back = read_all(**source);
    EXPECT_EQ(back.text, text);
    EXPECT_EQ((*source)->bytes_read_compressed(), bytes);
    EXPECT_EQ((*source)->bytes_delivered(), bytes);
    EXPECT_FALSE((*source)->truncated());
  }
}

TEST_F(ByteSourceFile, FindsCompressionByContentAndNotByName) {
  const std::string text = make_text(500'000);
  for (const auto& [bytes, compression] :
       {std::pair{gzip(text), "gzip"}, std::pair{zstd(text), "zstd"}, std::pair{text, "none"}}) {
    auto source = ByteSource::open(write("trace.gz", bytes));
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_STREQ((*source)->compression(), compression);
    EXPECT_EQ((*source)->peek(), text.substr(0, (*source)->peek().size()));
    const ReadBack back = read_all(**source);
    EXPECT_EQ(back.text, text);
    EXPECT_EQ(back.fault, "");
  }
}

TEST_F(ByteSourceFile, SaysWhyAFileCanNotBeRead) {
  EXPECT_EQ(error_of(folder_ + "/none.json"), folder_ + "/none.json: no such file");
  EXPECT_EQ(error_of(folder_), folder_ + ": is a directory");
  const std::string empty = write("empty.json", "");
  EXPECT_EQ(error_of(empty), empty + ": the file is empty");
  EXPECT_EQ(error_of(empty + "/x"),
            empty + "/x: no such file (a part of the path is not a directory)");
  const std::string empty_gzip = write("empty.json.gz", gzip(""));
  EXPECT_EQ(error_of(empty_gzip), empty_gzip + ": the compressed file is empty");
  const std::string closed = write("closed.json", "{}");
  ASSERT_EQ(chmod(closed.c_str(), 0), 0);
  if (geteuid() != 0) {  // root may read everything
    EXPECT_EQ(error_of(closed), closed + ": no permission to read it");
  }
  // The first page of a process can not be read: the system's own source of an input/output error.
  EXPECT_EQ(error_of("/proc/self/mem"),
            "/proc/self/mem: read error after 0 bytes: Input/output error");
}

TEST_F(ByteSourceFile, ReadsFilesWhoseSizeTheSystemDoesNotTell) {
  auto source = ByteSource::open("/proc/self/status");
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_TRUE((*source)->peek().starts_with("Name:"));
  EXPECT_GT(read_all(**source).text.size(), 100u);
}

TEST_F(ByteSourceFile, ReadsBeyondFourGigabytesOfASparseFile) {
  const std::string path = write("sparse", "{");
  const uint64_t bytes = (5ull << 30) + 3;
  if (truncate(path.c_str(), static_cast<off_t>(bytes)) != 0)
    GTEST_SKIP() << "no sparse files here";
  auto source = ByteSource::open(path);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->total_bytes_compressed(), bytes);
}

TEST(ByteSource, UnfoldsFarMoreThanItsBuffersHold) {
  const std::string zeros(64 << 20, '\0');
  const std::string member = gzip(zeros);
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += member;
  auto source = ByteSource::from_memory(bytes, "bomb");
  ASSERT_TRUE(source.ok());
  std::vector<char> chunk(8 << 20);
  uint64_t total = 0;
  while (true) {
    const auto got = (*source)->read(chunk);
    ASSERT_TRUE(got.ok());
    if (*got == 0) break;
    total += *got;
  }
  EXPECT_EQ(total, uint64_t{5} * zeros.size());
  EXPECT_FALSE((*source)->truncated());
}

TEST(ByteSource, ReadsTheSameWhateverTheChunkSize) {
  const std::string text = make_text(200'000);
  for (const std::string& bytes : {gzip(text), zstd(text), text}) {
    for (const size_t chunk_bytes : {1u, 7u, 4096u, 65'536u, 1'000'000u}) {
      const ReadBack back = read_memory(bytes, chunk_bytes);
      EXPECT_EQ(back.text, text) << chunk_bytes;
      EXPECT_EQ(back.fault + back.error, "");
    }
  }
}

TEST(ByteSource, ReadsAllMembersOfAGzipFile) {
  const std::string text = make_text(3'000'000);
  // Members of many lengths, so that their headers and checksums fall on all places of the buffer.
  std::mt19937 random(3);
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::min<size_t>(random() % 9'000, text.size() - at);
    bytes += gzip(text.substr(at, length));
    at += length;
  }
  const ReadBack back = read_memory(bytes);
  EXPECT_EQ(back.text, text);
  EXPECT_EQ(back.fault + back.error, "");
}

TEST(ByteSource, ReadsAllFramesOfAZstdFileAndSkippableOnes) {
  const std::string text = make_text(100'000);
  const std::string skippable(
      "\x50\x2a\x4d\x18\x03\x00\x00\x00"
      "abc",
      11);
  const ReadBack back = read_memory(skippable + zstd(text) + skippable + zstd("") + zstd(text));
  EXPECT_EQ(back.text, text + text);
  EXPECT_EQ(back.fault + back.error, "");
}

TEST(ByteSource, OverlooksGarbageAfterTheCompressedData) {
  const std::string text = make_text(10'000);
  for (const std::string& garbage :
       {std::string(512, '\0'), std::string("garbage"), std::string("\x1f")}) {
    EXPECT_EQ(read_memory(gzip(text) + garbage).text, text);
    EXPECT_EQ(read_memory(gzip(text) + garbage).fault, "");
    EXPECT_EQ(read_memory(zstd(text) + garbage).text, text);
  }
  EXPECT_EQ(read_memory(zstd(text) + "garbage").fault, "");
}

TEST(ByteSource, GivesWhatIsBeforeTheCutOfAGzipFile) {
  const std::string text = make_text(120'000);
  const std::string bytes = gzip(text);
  size_t had_before = 0;
  for (size_t cut = 2; cut < bytes.size(); cut += cut < 64 || cut + 64 > bytes.size() ? 1 : 97) {
    const ReadBack back = read_memory(std::string_view(bytes).substr(0, cut));
    ASSERT_TRUE(text.starts_with(back.text)) << cut;
    ASSERT_GE(back.text.size(), had_before) << cut;
    had_before = back.text.size();
    const std::string said = back.text.empty() ? back.error : back.fault;
    EXPECT_NE(said.find("the gzip data ends too early, at byte " + std::to_string(cut)),
              std::string::npos)
        << cut << ": " << said;
  }
  EXPECT_EQ(had_before, text.size());  // only the checksum was missing
}

TEST(ByteSource, GivesWhatIsBeforeTheCutOfAZstdFile) {
  const std::string text = make_text(900'000);
  const std::string bytes = zstd(text);
  size_t most = 0;
  for (size_t cut = 4; cut < bytes.size(); cut += cut < 64 || cut + 64 > bytes.size() ? 1 : 997) {
    const ReadBack back = read_memory(std::string_view(bytes).substr(0, cut));
    ASSERT_TRUE(text.starts_with(back.text)) << cut;
    most = std::max(most, back.text.size());
    const std::string said = back.text.empty() ? back.error : back.fault;
    EXPECT_NE(said.find("the zstd data ends too early"), std::string::npos) << cut << ": " << said;
  }
  EXPECT_GT(most, text.size() / 2);
}

TEST(ByteSource, SaysThatCompressedDataIsDamaged) {
  const std::string text = make_text(400'000);
  std::mt19937 random(11);
  for (const std::string& good : {gzip(text), zstd(text)}) {
    for (int round = 0; round < 200; ++round) {
      std::string bytes = good;
      const size_t at = 18 + random() % (bytes.size() - 18);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      const ReadBack back = read_memory(bytes);
      EXPECT_TRUE(back.text != text || !back.fault.empty()) << at;
      EXPECT_NE(back.fault + back.error, "") << at;
    }
  }
}

TEST(ByteSource, SurvivesAnyBytesAfterAMagicNumber) {
  std::mt19937 random(5);
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes(random() % 600, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const char* magic : {"\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "\x51\x2a\x4d\x18"}) {
      const ReadBack back = read_memory(magic + bytes);
      EXPECT_TRUE(back.text.empty() || !back.fault.empty() || back.error.empty());
    }
  }
}

TEST(ByteSource, ReadsStandardInputFromAPipe) {
  const std::string text = make_text(700'000);
  for (const std::string& bytes : {text, gzip(text)}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const int saved = dup(STDIN_FILENO);
    ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    // In small and uneven portions, as a slow program writes.
    std::thread writer([&bytes, end = ends[1]] {
      for (size_t at = 0; at < bytes.size();) {
        const size_t portion = std::min<size_t>(1 + at % 5'003, bytes.size() - at);
        const ssize_t wrote = write(end, bytes.data() + at, portion);
        if (wrote <= 0) break;
        at += static_cast<size_t>(wrote);
      }
      close(end);
    });
    auto source = ByteSource::open("-");
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_EQ((*source)->name(), "standard input");
    EXPECT_EQ((*source)->total_bytes_compressed(), 0u);
    EXPECT_EQ(read_all(**source).text, text);
    writer.join();
    dup2(saved, STDIN_FILENO);
    close(saved);
  }
}

// A damaged member at whose end the decompressor gives back more than the last call had brought.
TEST(ByteSource, GoesBackBeforeTheLastBytesOfAGzipMember) {
  const unsigned char bytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x61, 0x00, 0x00,
                                 0x02, 0x03, 0x15, 0x8a, 0x8b, 0x08, 0x00, 0xd5, 0x53,
                                 0x42, 0xb2, 0x00, 0x00, 0x1f, 0x8b, 0x08, 0x00};
  const ReadBack back = read_memory({reinterpret_cast<const char*>(bytes), sizeof(bytes)});
  EXPECT_NE(back.fault + back.error, "");
}

}  // namespace
}  // namespace stepscope
