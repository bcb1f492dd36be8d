#include "ingest/event_parser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/eight_digits.h"
#include "ingest/json_text.h"
#include "ingest/json_tokens.h"
#include "trace/string_pool.h"

namespace stepscope {
namespace {

// What a key at the top of an event means.
enum class Role : uint8_t {
  kNone,
  kPhase,
  kName,
  kCategory,
  kPid,
  kTid,
  kTime,
  kDuration,
  kArgs,
  kId,
  kId2,
  kBind,
  kScope,
};

Role role_of(std::string_view key) {
  if (key == "ph") return Role::kPhase;
  if (key == "name") return Role::kName;
  if (key == "cat") return Role::kCategory;
  if (key == "pid") return Role::kPid;
  if (key == "tid") return Role::kTid;
  if (key == "ts") return Role::kTime;
  if (key == "dur") return Role::kDuration;
  if (key == "args") return Role::kArgs;
  if (key == "id") return Role::kId;
  if (key == "id2") return Role::kId2;
  if (key == "bp") return Role::kBind;
  if (key == "scope") return Role::kScope;
  return Role::kNone;
}

// A key as it was met, with guesses at the key that comes after it: events of one kind repeat their
// keys in one order, so nearly every key is found by one comparison or two.
struct Key {
  // The start of the text with its closing quote, and which bits of it count. As they are here, no
  // text is like them.
  std::array<uint64_t, 3> words = {1};
  std::array<uint64_t, 3> masks = {};
  std::string_view text;
  uint32_t string = 0;
  std::array<uint32_t, 3> followers = {};  // the last ones that a search found, newest first
  Role role = Role::kNone;
  uint32_t column_plus_1[kArgTypeCount] = {};

  void set_text(std::string_view all) {
    text = all;
    char start[sizeof words] = {};
    char mask[sizeof words] = {};
    const size_t used = std::min(text.size(), sizeof words);
    text.copy(start, used);
    std::memset(mask, 0xFF, used);
    if (used < sizeof words) {
      start[used] = '"';
      mask[used] = static_cast<char>(0xFF);
    }
    std::memcpy(words.data(), start, sizeof words);
    std::memcpy(masks.data(), mask, sizeof words);
  }

  // Whether the text at `raw`, which goes on for kTextPadding bytes at least, is this key.
  bool is_at(const char* raw) const {
    const uint64_t differs = ((load_8_bytes(raw) & masks[0]) ^ words[0]) |
                             ((load_8_bytes(raw + 8) & masks[1]) ^ words[1]) |
                             ((load_8_bytes(raw + 16) & masks[2]) ^ words[2]);
    if (differs != 0) return false;
    return text.size() < sizeof words ||
           (text.size() < EventParser::kTextPadding && std::string_view(raw, text.size()) == text &&
            raw[text.size()] == '"');
  }
};

// What a token's first character does to the depth.
constexpr std::array<int8_t, 256> kDepthChange = [] {
  std::array<int8_t, 256> change{};
  change['{'] = change['['] = 1;
  change['}'] = change[']'] = -1;
  return change;
}();

// A token's text without the space after it.
std::string_view trimmed(std::string_view token) {
  while (!token.empty()) {
    const char c = token.back();
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
    token.remove_suffix(1);
  }
  return token;
}

// A number of one to eight digits. The text must go on for eight bytes, whatever they are.
std::optional<uint64_t> parse_short_int(std::string_view text) {
  if (text.empty() || text.size() > 8) return std::nullopt;
  const uint64_t missing_bits = 64 - 8 * text.size();
  const uint64_t zeros_before = kEightZeros & ~(UINT64_MAX << missing_bits);
  return parse_8_digits(load_8_bytes(text.data()) << missing_bits | zeros_before);
}

// FNV-1a: an id that is a text gets the same number in every run (hash_bytes does not give it).
uint64_t hash_id(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

std::string_view without_quotes(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    return token.substr(1, token.size() - 2);
  }
  return token;
}

}  // namespace

class EventParser::Impl {
 public:
  explicit Impl(uint32_t number) : number_(number) {
    keys_.emplace_back();  // before the first key of an event
    keys_.emplace_back();  // before the first key of its args
  }

  bool parse(char* text, size_t length, EventBatch& batch) {
    batch.clear();
    batch.parser = number_;
    batch_ = &batch;
    if (!introduced_) {  // the pool's own "" is number 0 for everyone
      batch.new_strings.push_back({});
      introduced_ = true;
    }
    char* const front = text - kTextFront;
    const char saved_front = *front;
    const char saved_back[2] = {text[length], text[length + 1]};
    *front = '[';
    text[length] = ']';
    text[length + 1] = '\0';  // no token may follow
    const bool good = parse_list(front, length + 2);
    *front = saved_front;
    text[length] = saved_back[0];
    text[length + 1] = saved_back[1];
    if (!good) {
      batch.events.clear();
      batch.side_args.clear();
      for (ColumnValues& column : batch.columns) {
        column.event.clear();
        column.value.clear();
      }
    }
    return good;
  }

 private:
  // The functions below get the place of a token and give the place after what they read, or null
  // where the text is not what it should be. The character at the end of the text is none of those
  // that they go on from, so that they stay inside it.
  using Place = const uint32_t*;

  char first_char(Place at) const { return text_[*at]; }
  std::string_view token(Place at) const { return trimmed({text_ + at[0], at[1] - at[0]}); }

  bool parse_list(const char* text, size_t length) {
    text_ = text;
    if (!tokens_.find(text, length)) return false;
    Place at = tokens_.begin() + 1;  // after the bracket
    if (first_char(at) == ']') return at + 1 == tokens_.end();
    while (true) {
      if (first_char(at) != '{') return false;
      at = parse_event(at + 1);
      if (at == nullptr) return false;
      const char next = first_char(at++);
      // Text after the list's end means that the cut was not between events.
      if (next == ']') return at == tokens_.end();
      if (next != ',') return false;
    }
  }

  // Calls read(key, place of the value), which gives the place after the value, for each member of
  // the object whose first key is at `at`; `key` is the one to guess the first from.
  template <typename Read>
  Place parse_members(Place at, uint32_t key, Read&& read) {
    if (first_char(at) == '}') return at + 1;
    while (true) {
      if (first_char(at) != '"' || first_char(at + 1) != ':' || at + 2 >= tokens_.end()) {
        return nullptr;
      }
      key = find_key(key, text_ + *at + 1);
      at = read(key, at + 2);
      if (at == nullptr) return nullptr;
      const char next = first_char(at++);
      if (next == '}') return at;
      if (next != ',') return nullptr;
    }
  }

  Place skip_value(Place at) const {
    switch (first_char(at)) {
      case '{':
      case '[':
        return skip_nested(at);
      case '}':
      case ']':
      case ',':
      case ':':
        return nullptr;
      default:
        return at + 1;
    }
  }

  Place skip_nested(Place at) const {
    int64_t depth = 0;
    for (; at != tokens_.end(); ++at) {
      depth += kDepthChange[static_cast<unsigned char>(first_char(at))];
      if (depth == 0) return at + 1;
    }
    return nullptr;
  }

  Place parse_event(Place at) {
    if (first_char(at) == '}') return at + 1;  // with "{}" TensorFlow ends its list
    RawEvent event;
    std::string_view name;
    std::string_view category;
    bool has_name = false;
    std::string_view pid;
    std::string_view tid;
    args_.clear();
    at = parse_members(at, kEventKeys, [&](uint32_t key, Place value) -> Place {
      const std::string_view text = token(value);
      switch (keys_[key].role) {
        case Role::kPhase:
          event.phase = text.size() >= 3 && text[0] == '"' ? text[1] : '\0';
          break;
        case Role::kName:
          name = without_quotes(text);
          has_name = true;
          break;
        case Role::kCategory:
          category = without_quotes(text);
          break;
        case Role::kPid:
          pid = without_quotes(text);
          break;
        case Role::kTid:
          tid = without_quotes(text);
          break;
        case Role::kTime:
          if (const auto ns = parse_us_as_ns(text)) {
            event.time_ns = *ns;
            event.flags |= RawEvent::kHasTime;
          }
          break;
        case Role::kDuration:
          if (const auto ns = parse_us_as_ns(text)) {
            event.dur_ns = *ns;
            event.flags |= RawEvent::kHasDuration;
          }
          break;
        case Role::kArgs:
          if (text[0] == '{') return parse_args(value + 1);
          break;
        case Role::kId:
          set_id(event, text);
          break;
        case Role::kId2:
          if (text[0] == '{') return parse_id2(value + 1, event);
          break;
        case Role::kBind:
          if (text == "\"e\"") event.flags |= RawEvent::kBindsEnclosing;
          break;
        case Role::kScope:
          event.scope = string(without_quotes(text));
          break;
        case Role::kNone:
          return add_arg(key, value);
      }
      return skip_value(value);
    });
    if (at == nullptr) return nullptr;
    if (event.phase == 0 || (!event.has(RawEvent::kHasTime) && event.phase != 'M')) {
      ++batch_->events_skipped;
      return at;
    }
    if (category != last_category_text_) {
      last_category_ = string(category);
      last_category_text_ = strings_.view(StringId{last_category_});
    }
    event.label = label(has_name ? string(name) : 0, last_category_);
    event.thread = thread(pid, tid);
    add_event(event, name);
    return at;
  }

  // Counters, metadata and allocations are few and looked at one by one.
  static bool is_side_event(const RawEvent& event, std::string_view name) {
    switch (event.phase) {
      case 'C':
      case 'M':
        return true;
      case 'i':
      case 'I':
        return name == "[memory]";
      default:
        return false;
    }
  }

  void add_event(RawEvent& event, std::string_view name) {
    const uint32_t number = static_cast<uint32_t>(batch_->events.size());
    if (!args_.empty()) {
      event.flags |= RawEvent::kHasArgs;
      if (is_side_event(event, name)) {
        event.first_side_arg = static_cast<uint32_t>(batch_->side_args.size());
        event.side_arg_count = static_cast<uint32_t>(args_.size());
        batch_->side_args.insert(batch_->side_args.end(), args_.begin(), args_.end());
      } else {
        if (batch_->columns.size() < column_count_) batch_->columns.resize(column_count_);
        for (const RawArg& arg : args_) {
          ColumnValues& column = batch_->columns[arg.column];
          column.event.push_back(number);
          column.value.push_back(arg.value);
        }
      }
    }
    batch_->events.push_back(event);
  }

  Place parse_args(Place at) {
    return parse_members(at, kArgKeys,
                         [&](uint32_t key, Place value) { return add_arg(key, value); });
  }

  Place parse_id2(Place at, RawEvent& event) {
    return parse_members(at, kArgKeys, [&](uint32_t key, Place value) {
      const bool is_local = keys_[key].text == "local";
      event.flags |= is_local ? RawEvent::kIdIsLocal : RawEvent::kIdIsGlobal;
      set_id(event, token(value));
      return skip_value(value);
    });
  }

  Place add_arg(uint32_t key, Place value) {
    switch (first_char(value)) {
      case '"':
        push_arg(key, ArgType::kString, string(without_quotes(token(value))));
        return value + 1;
      case '{':
      case '[': {
        const Place after = skip_nested(value);
        if (after == nullptr) return nullptr;
        const char* const begin = text_ + value[0];
        const char* const end = text_ + after[-1] + 1;
        push_arg(key, ArgType::kJson, string({begin, static_cast<size_t>(end - begin)}));
        return after;
      }
      case '}':
      case ']':
      case ',':
      case ':':
        return nullptr;
      default:
        add_bare_word(key, token(value));
        return value + 1;
    }
  }

  void add_bare_word(uint32_t key, std::string_view word) {
    if (const auto few_digits = parse_short_int(word)) {  // nearly all
      push_arg(key, ArgType::kInt, *few_digits);
    } else if (const auto whole = parse_int(word)) {
      push_arg(key, ArgType::kInt, static_cast<uint64_t>(*whole));
    } else if (word == "true" || word == "false") {
      push_arg(key, ArgType::kBool, word[0] == 't' ? 1 : 0);
    } else if (word == "null" || word.find_first_not_of("-0123456789") == std::string_view::npos) {
      push_arg(key, ArgType::kJson, string(word));  // the latter is beyond 64 bits
    } else if (const auto real = parse_double(word);
               real && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'))) {
      push_arg(key, ArgType::kDouble, std::bit_cast<uint64_t>(*real));
    } else {
      ++batch_->values_skipped;
    }
  }

  void push_arg(uint32_t key_number, ArgType type, uint64_t value) {
    Key& key = keys_[key_number];
    uint32_t& column_plus_1 = key.column_plus_1[static_cast<size_t>(type)];
    if (column_plus_1 == 0) {
      column_plus_1 = ++column_count_;
      batch_->new_columns.push_back({key.string, type});
    }
    args_.push_back({column_plus_1 - 1, value});
  }

  static void set_id(RawEvent& event, std::string_view token) {
    const std::string_view text = without_quotes(token);
    const auto short_number = parse_short_int(text);
    const auto number = short_number ? short_number : parse_id(text);
    event.id = number ? *number : hash_id(text);
    event.flags |= RawEvent::kHasId;
  }

  // The key whose text starts at `raw` (after its quote), given the key before it.
  uint32_t find_key(uint32_t before, const char* raw) {
    for (const uint32_t guess : keys_[before].followers) {
      if (keys_[guess].is_at(raw)) return guess;
    }
    return search_key(before, raw);
  }

  uint32_t search_key(uint32_t before, const char* raw) {
    // The closing quote was seen when the tokens were found: the search ends inside the text.
    const char* end = raw;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    const std::string_view text(raw, static_cast<size_t>(end - raw));
    const uint32_t number = string(text);
    // The same word is another key in args than at the top of an event.
    const bool in_args = before == kArgKeys || (before > kArgKeys && keys_in_args_[before]);
    const auto [it, is_new] = key_numbers_.try_emplace(uint64_t{number} << 1 | in_args,
                                                       static_cast<uint32_t>(keys_.size()));
    if (is_new) {
      Key key;
      key.set_text(strings_.view(StringId{number}));
      key.string = number;
      key.role = in_args ? Role::kNone : role_of(text);
      keys_.push_back(key);
      keys_in_args_.resize(keys_.size());
      keys_in_args_.back() = in_args;
    }
    auto& followers = keys_[before].followers;
    std::shift_right(followers.begin(), followers.end(), 1);
    followers[0] = it->second;
    return it->second;
  }

  uint32_t string(std::string_view raw) {
    const uint32_t before = strings_.size();
    const StringId id = strings_.intern(raw);
    if (strings_.size() != before) batch_->new_strings.push_back(strings_.view(id));
    return index(id);
  }

  uint32_t label(uint32_t name, uint32_t category) {
    if (name >= label_by_name_.size()) label_by_name_.resize(strings_.size());
    LabelGuess& guess = label_by_name_[name];
    if (guess.label_plus_1 != 0 && guess.category == category) return guess.label_plus_1 - 1;
    const auto [it, is_new] =
        labels_.try_emplace(uint64_t{name} << 32 | category, static_cast<uint32_t>(labels_.size()));
    if (is_new) batch_->new_labels.push_back({name, category});
    guess = {category, it->second + 1};
    return it->second;
  }

  uint32_t thread(std::string_view pid, std::string_view tid) {
    if (!threads_.empty() && pid == last_pid_text_ && tid == last_tid_text_) return last_thread_;
    const uint32_t pid_number = string(pid);
    const uint32_t tid_number = string(tid);
    const auto [it, is_new] = threads_.try_emplace(uint64_t{pid_number} << 32 | tid_number,
                                                   static_cast<uint32_t>(threads_.size()));
    if (is_new) batch_->new_threads.push_back({pid_number, tid_number});
    last_pid_text_ = strings_.view(StringId{pid_number});
    last_tid_text_ = strings_.view(StringId{tid_number});
    last_thread_ = it->second;
    return it->second;
  }

  static constexpr uint32_t kEventKeys = 0;
  static constexpr uint32_t kArgKeys = 1;

  struct LabelGuess {
    uint32_t category = 0;
    uint32_t label_plus_1 = 0;
  };

  uint32_t number_;
  bool introduced_ = false;
  JsonTokens tokens_;
  const char* text_ = nullptr;  // that the tokens are of
  EventBatch* batch_ = nullptr;
  std::vector<RawArg> args_;  // of the event at hand

  StringPool strings_;  // raw text
  std::vector<Key> keys_;
  std::vector<uint8_t> keys_in_args_ = {0, 1};
  std::unordered_map<uint64_t, uint32_t> key_numbers_;
  uint32_t column_count_ = 0;
  std::unordered_map<uint64_t, uint32_t> labels_;
  std::vector<LabelGuess> label_by_name_;
  std::unordered_map<uint64_t, uint32_t> threads_;
  std::string_view last_category_text_;
  uint32_t last_category_ = 0;
  std::string_view last_pid_text_;
  std::string_view last_tid_text_;
  uint32_t last_thread_ = 0;
};

EventParser::EventParser(uint32_t number) : impl_(std::make_unique<Impl>(number)) {}
EventParser::~EventParser() = default;

bool EventParser::parse(char* text, size_t length, EventBatch& batch) {
  return impl_->parse(text, length, batch);
}

}  // namespace stepscope
