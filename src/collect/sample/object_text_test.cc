#include "collect/sample/object_text.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "collect/sample/frame_locals.h"
#include "collect/sample/live_python_for_tests.h"
#include "collect/sample/thread_names.h"

namespace stepscope::sample {
namespace {

// show() prints the addresses of its caller's code and frame.
constexpr char kShowFrame[] = R"(
import ctypes, sys, threading, time
def show():
    frame = sys._getframe(1)
    address = id(frame)
    if sys.version_info >= (3, 11):
        address = ctypes.c_uint64.from_address(id(frame) + 24).value
    print(id(frame.f_code), address, flush=True)
)";

class RemoteObjectsTest : public LivePythonTest {
 protected:
  void start(const std::string& script) { LivePythonTest::start(kShowFrame + script); }

  StackFrame shown_frame() const {
    StackFrame frame;
    char* end = nullptr;
    frame.code = std::strtoull(first_line_.c_str(), &end, 10);
    frame.address = std::strtoull(end, nullptr, 10);
    return frame;
  }

  std::map<std::string, std::string> read_shown_locals() {
    std::map<std::string, std::string> texts;
    for (auto& local : read_locals(*objects_, shown_frame())) texts[local.name] = local.text;
    return texts;
  }
};

// The program prints what repr() gives; the texts are compared with that.
TEST_P(RemoteObjectsTest, ShortValuesAreAsReprGivesThem) {
  start(R"(
import collections
class Own(dict): pass
def work(first, second=2, *rest, only=True, **more):
    none = None; no = False; zero = 0; small = 7; negative = -12345; minus_one = -1
    digit = 2**30; digits = 2**60 + 1; large = 123456789012345678901234567890; minus = -(10**40)
    half = 0.5; one = 1.0; tiny = 1e-05; tenth = 0.0001; huge = 1e16; below = 123456789012345.0
    nan = float('nan'); infinite = float('-inf'); exact = 0.1 + 0.2
    empty = ''; ascii = 'abc'; latin = 'h\xe9'; wide = '\u20ac5'; face = '\U0001f600!'
    quotes = "it's"; both = "it's \"so\""; controls = 'a\n\t\r\\\x01\x7f'
    raw = b'ab\x00\xff\''; nothing = b''
    pair = (1, 'two'); single = (1,); unit = (); items = [1, [2, [3]]]; void = []
    table = {'a': 1, 2: 'b', (1, 2): None}; no_table = {}
    texts = {'x': 1, 'y': 2, 'z': 3}; del texts['y']
    chosen = {5}; no_set = set(); frozen = frozenset([3])
    numbers = range(3, 10, 2); error = ValueError('bad', 3); dots = Ellipsis
    names = [k for k in locals() if k != 'names']
    show()
    for name in names:
        print(name, repr(locals()[name]))
    print('', flush=True)
    time.sleep(600)
work('arg', 3, 4, 5, only=False, extra='e')
)");
  std::map<std::string, std::string> truth;
  for (std::string line = program_->read_line(); !line.empty(); line = program_->read_line()) {
    const size_t space = line.find(' ');
    truth[line.substr(0, space)] = line.substr(space + 1);
  }
  EXPECT_GT(truth.size(), 45u);
  auto found = read_shown_locals();
  for (const auto& [name, text] : truth) EXPECT_EQ(found[name], text) << name;
}

TEST_P(RemoteObjectsTest, ArgumentsComeFirstAndClosuresAreSeenThrough) {
  start(R"(
def outer(captured, plain):
    shared = 'cell'
    unset_yet = None
    del unset_yet
    def inner(x):
        local = captured + shared
        show()
        time.sleep(600)
        unset = 1
    inner(9)
outer('arg', 2)
)");
  const auto locals = read_locals(*objects_, shown_frame());
  ASSERT_EQ(locals.size(), 4u);
  EXPECT_EQ(locals[0].name, "x");
  EXPECT_TRUE(locals[0].is_argument);
  EXPECT_EQ(locals[1].name, "local");
  EXPECT_FALSE(locals[1].is_argument);
  EXPECT_EQ(locals[1].text, "'argcell'");
  auto texts = read_shown_locals();
  EXPECT_EQ(texts["captured"], "'arg'");
  EXPECT_EQ(texts["shared"], "'cell'");
}

TEST_P(RemoteObjectsTest, AnArgumentThatAClosureUsesIsStillAnArgument) {
  start(R"(
def outer(captured, plain):
    local = 1
    def inner(): return captured
    show()
    time.sleep(600)
outer('arg', 2)
)");
  const auto locals = read_locals(*objects_, shown_frame());
  ASSERT_EQ(locals.size(), 4u);
  EXPECT_EQ(locals[0].name, "captured");
  EXPECT_EQ(locals[0].text, "'arg'");
  EXPECT_TRUE(locals[0].is_argument);
  EXPECT_EQ(locals[1].name, "plain");
  EXPECT_TRUE(locals[3].text.starts_with("<function outer.<locals>.inner at 0x")) << locals[3].text;
}

TEST_P(RemoteObjectsTest, OfAModuleItsVariablesAreShown) {
  start(R"(
class Class: pass
epoch = 3
config = {'lr': 0.1}
show()
time.sleep(600)
)");
  auto texts = read_shown_locals();
  EXPECT_EQ(texts["epoch"], "3");
  EXPECT_EQ(texts["config"], "{'lr': 0.1}");
  EXPECT_EQ(texts.size(), 2u);
}

TEST_P(RemoteObjectsTest, LargeAndSelfReferencingValuesAreCut) {
  start(R"(
import collections
class Point(collections.namedtuple('Point', 'x y')): pass
class Text(str): pass
class Model:
    class Layer: pass
def work():
    text = 'x' * 10_000_000; raw = b'y' * 10_000_000; wide = '\u20ac' * 1_000_000
    number = 1 << 1_000_000
    table = {i: i for i in range(1_000_000)}; items = list(range(1_000_000))
    chosen = set(range(1_000_000))
    loop = [1]; loop.append(loop); ring = {}; ring['self'] = ring
    deep = [[[[[1]]]]]
    counts = collections.defaultdict(int); counts['a'] = 1
    point = Point(1, 2); own = Text('own'); layer = Model.Layer(); kind = Model
    queue = collections.deque([1]); holed = {i: i for i in range(2000)}
    for i in range(1990): del holed[i]
    show()
    time.sleep(600)
work()
)");
  auto texts = read_shown_locals();
  EXPECT_EQ(texts["text"], "'" + std::string(118, 'x') + "…");
  EXPECT_EQ(texts["raw"], "b'" + std::string(117, 'y') + "…");
  EXPECT_TRUE(texts["wide"].starts_with("'€€€"));
  EXPECT_EQ(texts["number"], "<int of 1000001 bits>");
  EXPECT_EQ(texts["table"],
            "{0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, … 999990 more}");
  EXPECT_EQ(texts["items"], "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 999990 more]");
  EXPECT_EQ(texts["chosen"], "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 999990 more}");
  EXPECT_EQ(texts["loop"], "[1, [...]]");
  EXPECT_EQ(texts["ring"], "{'self': {...}}");
  EXPECT_EQ(texts["deep"], "[[[[…]]]]");
  EXPECT_EQ(texts["counts"], "collections.defaultdict({'a': 1})");
  EXPECT_EQ(texts["point"], "Point(1, 2)");
  EXPECT_EQ(texts["own"], "Text('own')");
  EXPECT_TRUE(texts["layer"].starts_with("<__main__.Model.Layer at 0x")) << texts["layer"];
  EXPECT_EQ(texts["kind"], "<class '__main__.Model'>");
  EXPECT_TRUE(texts["queue"].starts_with("<collections.deque at 0x")) << texts["queue"];
  EXPECT_TRUE(texts["holed"].starts_with("{1990: 1990, ")) << texts["holed"];
}

TEST_P(RemoteObjectsTest, AttributesAreFoundHoweverTheObjectKeepsThem) {
  start(R"(
class Plain:
    def __init__(self): self.first = 1; self.second = 'two'
class Late(Plain): pass
class Derived(list): pass
class Failure(Exception): pass
def work():
    plain = Plain()
    with_dict = Plain(); with_dict.__dict__; with_dict.third = 3
    replaced = Plain(); replaced.__dict__ = {'second': 'two'}
    many = Late()
    for i in range(100): setattr(many, 'a%d' % i, i)
    derived = Derived([1, 2]); derived.second = 'two'
    failure = Failure('x'); failure.second = 'two'
    number = type('Number', (int,), {})(2**70); number.second = 'two'
    function = lambda: 0; function.second = 'two'
    show()
    time.sleep(600)
work()
)");
  for (const char* name :
       {"plain", "with_dict", "replaced", "many", "derived", "failure", "number", "function"}) {
    const uint64_t object = find_local(*objects_, shown_frame(), name);
    ASSERT_NE(object, 0u) << name;
    EXPECT_EQ(objects_->find_attribute(object, "absent"), 0u) << name;
    const auto value = objects_->read_text(objects_->find_attribute(object, "second"), 10);
    ASSERT_TRUE(value) << name;
    EXPECT_EQ(value->utf8, "two") << name;
  }
}

TEST_P(RemoteObjectsTest, ThreadsHaveTheNamesThatThreadingGivesThem) {
  start(R"(
def wait(): time.sleep(600)
threads = [threading.Thread(target=wait, name=n, daemon=True) for n in ('loader-0', 'h\xe9\u20ac')]
for t in threads: t.start()
print('ready', threading.main_thread().ident, *[t.ident for t in threads], flush=True)
wait()
)");
  ThreadNames names(*objects_);
  names.refresh();
  EXPECT_EQ(names.size(), 3u);
  const char* at = first_line_.c_str() + 5;
  for (const char* expected : {"MainThread", "loader-0", "hé€"}) {
    char* end = nullptr;
    const std::string* name = names.find(std::strtoull(at, &end, 10));
    at = end;
    ASSERT_NE(name, nullptr) << expected;
    EXPECT_EQ(*name, expected);
  }
  EXPECT_EQ(names.find(1), nullptr);
}

TEST_P(RemoteObjectsTest, ThreadsThatComeAndGoAreSeenAtTheNextRefresh) {
  start(R"(
print('ready', flush=True)
for i in range(10**9):
    t = threading.Thread(target=time.sleep, args=(0.002,), name='worker-%d' % i); t.start(); t.join()
)");
  ThreadNames names(*objects_);
  size_t with_worker = 0;
  for (int i = 0; i < 100'000 && with_worker < 5; ++i) {
    names.refresh();
    EXPECT_LE(names.size(), 3u);
    if (names.size() >= 2) ++with_worker;
  }
  EXPECT_GT(with_worker, 0u);
}

// Nothing to compare with: it is not to crash, hang, or take memory that is only claimed.
TEST_P(RemoteObjectsTest, ValuesThatChangeWhileTheyAreReadDoNoHarm) {
  start(R"(
import random
class Thing: pass
def work():
    table, items, chosen, text, thing, nested = {}, [], set(), '', Thing(), [[{}]]
    show()
    while True:
        table = {str(i): [i] * 3 for i in range(random.randrange(100))}
        table.clear(); items.clear()
        items.extend(range(random.randrange(1000))); del items[::2]
        chosen = set(map(str, range(random.randrange(200)))); chosen.clear()
        text = '\u20ac' * random.randrange(10000)
        thing = Thing()
        for i in range(random.randrange(50)): setattr(thing, 'a%d' % i, text)
        thing.__dict__.clear()
        nested = [[{text[:5]: items[:]}] for _ in range(3)]
        number = random.getrandbits(1 + random.randrange(5000))
work()
)");
  size_t texts = 0;
  for (int i = 0; i < 2'000; ++i) {
    for (const LocalVariable& local : read_locals(*objects_, shown_frame())) {
      ++texts;
      ASSERT_LE(local.text.size(), 4 * 121u);
    }
    if (i % 10 == 0) {
      const uint64_t thing = find_local(*objects_, shown_frame(), "thing");
      objects_->find_attribute(thing, "a7");
    }
  }
  EXPECT_GT(texts, 2'000u * 5);
}

// Every word of the program's memory as if it were an object.
TEST_P(RemoteObjectsTest, AddressesThatAreNoObjectsDoNoHarm) {
  start(R"(
def work():
    table = {str(i): i for i in range(1000)}
    show()
    time.sleep(600)
work()
)");
  const uint64_t table = find_local(*objects_, shown_frame(), "table");
  ASSERT_NE(table, 0u);
  for (uint64_t i = 0; i < 20'000; ++i) {
    object_text(*objects_, table - 80'000 + 8 * i);
    objects_->find_attribute(table - 80'000 + 8 * i, "x");
  }
  for (const uint64_t address : {uint64_t{0}, uint64_t{8}, uint64_t{4096}, UINT64_MAX - 7,
                                 uint64_t{1} << 47, ~uint64_t{0}, table + 1}) {
    EXPECT_EQ(object_text(*objects_, address), "?");
    EXPECT_EQ(objects_->find_attribute(address, "x"), 0u);
    EXPECT_TRUE(read_locals(*objects_, {.code = address, .address = address}).empty());
  }
}

TEST(FloatText, IsAsPythonWritesIt) {
  EXPECT_EQ(float_text(0.0), "0.0");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(1e22), "1e+22");
  EXPECT_EQ(float_text(1e-7), "1e-07");
  EXPECT_EQ(float_text(1.5e300), "1.5e+300");
  EXPECT_EQ(float_text(9007199254740993.0), "9007199254740992.0");
}

INSTANTIATE_TEST_SUITE_P(Python3, RemoteObjectsTest, testing::Range(8, 14));

}  // namespace
}  // namespace stepscope::sample
