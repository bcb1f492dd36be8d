// LivePythonTest: a fixture for each version of Python that is there, with a program of it and its
// objects.
//
//   class TasksTest : public LivePythonTest { ... };
//   start("print('ready', flush=True); ...");      // first_line_ is "ready"
//   read_async_tasks(*objects_);
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "collect/sample/pythons_for_tests.h"
#include "collect/sample/remote_objects.h"

namespace stepscope::sample {

class LivePythonTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    python_ = find_python(GetParam());
    if (python_.empty()) GTEST_SKIP() << "no Python 3." << GetParam();
  }

  // Returns when it has printed a line.
  void start(const std::string& script) {
    program_ = std::make_unique<ProgramForTests>(std::vector<std::string>{python_, "-c", script});
    first_line_ = program_->read_line();
    ASSERT_FALSE(first_line_.empty()) << "the program has ended";
    auto process = PythonProcess::find(program_->pid());
    ASSERT_TRUE(process.ok()) << process.status().message();
    process_ = std::make_unique<PythonProcess>(std::move(*process));
    objects_ = std::make_unique<RemoteObjects>(*process_);
  }

  std::string python_, first_line_;
  std::unique_ptr<ProgramForTests> program_;
  std::unique_ptr<PythonProcess> process_;
  std::unique_ptr<RemoteObjects> objects_;
};

}  // namespace stepscope::sample
