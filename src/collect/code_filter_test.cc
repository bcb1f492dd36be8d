#include "collect/code_filter.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(CodeFilter, TakesEverythingWithoutPatterns) {
  EXPECT_TRUE(CodeFilter().takes("/usr/lib/python3.11/json/decoder.py", "JSONDecoder.decode"));
}

TEST(CodeFilter, FitsPathsFoldersAndNames) {
  const auto takes = [](const char* pattern, const char* file, const char* function) {
    return CodeFilter({.only = {pattern}}).takes(file, function);
  };
  EXPECT_TRUE(takes("/home/me/train.py", "/home/me/train.py", "main"));
  EXPECT_TRUE(takes("train.py", "/home/me/train.py", "main"));
  EXPECT_TRUE(takes("t*.py", "/home/me/train.py", "main"));
  EXPECT_TRUE(takes("me", "/home/me/src/train.py", "main"));
  EXPECT_TRUE(takes("me/src/", "/home/me/src/train.py", "main"));
  EXPECT_TRUE(takes("/home/me", "/home/me/src/train.py", "main"));
  EXPECT_TRUE(takes("Trainer.*", "/home/me/train.py", "Trainer.step"));
  EXPECT_FALSE(takes("rain.py", "/home/me/train.py", "main")) << "half a name";
  EXPECT_FALSE(takes("hom", "/home/me/train.py", "main"));
  EXPECT_FALSE(takes("step", "/home/me/train.py", "Trainer.step"));
  EXPECT_FALSE(takes("/", "/home/me/train.py", "main"));
  EXPECT_FALSE(takes("", "/home/me/train.py", "main"));
}

TEST(CodeFilter, ExcludeWinsOverOnly) {
  const CodeFilter filter({.only = {"me"}, .exclude = {"*_pb2.py"}});
  EXPECT_TRUE(filter.takes("/home/me/a.py", "f"));
  EXPECT_FALSE(filter.takes("/home/me/a_pb2.py", "f"));
  EXPECT_FALSE(filter.takes("/home/you/a.py", "f"));
  EXPECT_TRUE(CodeFilter({.exclude = {"torch"}}).takes("/home/me/a.py", "f"));
  EXPECT_FALSE(CodeFilter({.exclude = {"torch"}}).takes("/x/torch/nn/modules/module.py", "f"));
}

TEST(CodeFilter, MineIsWhatLiesOutsideOfTheLibraries) {
  const CodeFilter filter(
      {.only = {"mine"},
       .library_folders = {"/usr/lib/python3.11", "/venv/site-packages/", "<string>"}});
  EXPECT_TRUE(filter.takes("/home/me/a.py", "f"));
  EXPECT_TRUE(filter.takes("/usr/lib/python3.11-mine/a.py", "f"));
  EXPECT_TRUE(filter.takes("<stdin>", "<module>"));
  EXPECT_FALSE(filter.takes("<string>", "__create_fn__"));
  EXPECT_FALSE(filter.takes("/usr/lib/python3.11/json/decoder.py", "f"));
  EXPECT_FALSE(filter.takes("/venv/site-packages/torch/nn.py", "f"));
  EXPECT_FALSE(filter.takes("<frozen importlib._bootstrap>", "_find_and_load"));
}

}  // namespace
}  // namespace stepscope
