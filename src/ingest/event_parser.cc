#include "ingest/event_parser.h"

#include <simdjson.h>

#include <bit>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/json_text.h"
#include "trace/string_pool.h"

namespace stepscope {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(EventParser::kTextPadding >= simdjson::SIMDJSON_PADDING + 1);

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

// A key as it was met, with a guess at the key that comes after it: events of one kind repeat their
// keys in one order, so nearly every key is found by one comparison.
struct Key {
  std::string_view text;
  uint32_t string = 0;
  uint32_t follower = 0;
  Role role = Role::kNone;
  uint32_t column_plus_1[kArgTypeCount] = {};
};

// The text of a token that simdjson gave, without the space after it.
std::string_view trimmed(std::string_view token) {
  while (!token.empty()) {
    const char c = token.back();
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
    token.remove_suffix(1);
  }
  return token;
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
    const char saved_back = text[length];
    *front = '[';
    text[length] = ']';
    const bool good = parse_list({front, length + 2});
    *front = saved_front;
    text[length] = saved_back;
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
  bool parse_list(std::string_view text) {
    ondemand::document document;
    if (parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
            .get(document)) {
      return false;
    }
    ondemand::array list;
    if (document.get_array().get(list)) return false;
    for (auto element : list) {
      ondemand::object object;
      if (element.get_object().get(object)) return false;
      if (!parse_event(object)) return false;
    }
    // Text after the list's end means that the cut was not between events.
    const char* rest = nullptr;
    return document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;
  }

  bool parse_event(ondemand::object& object) {
    RawEvent event;
    std::string_view name;
    std::string_view category;
    bool has_name = false;
    std::string_view pid;
    std::string_view tid;
    args_.clear();
    uint32_t key = kEventKeys;
    for (auto item : object) {
      ondemand::field field;
      if (std::move(item).get(field)) return false;
      key = find_key(key, field.key().raw());
      ondemand::value value = field.value();
      const std::string_view token = trimmed(value.raw_json_token());
      if (token.empty()) return false;
      switch (keys_[key].role) {
        case Role::kPhase:
          event.phase = token.size() >= 3 && token[0] == '"' ? token[1] : '\0';
          break;
        case Role::kName:
          name = without_quotes(token);
          has_name = true;
          break;
        case Role::kCategory:
          category = without_quotes(token);
          break;
        case Role::kPid:
          pid = without_quotes(token);
          break;
        case Role::kTid:
          tid = without_quotes(token);
          break;
        case Role::kTime:
          if (const auto ns = parse_us_as_ns(token)) {
            event.time_ns = *ns;
            event.flags |= RawEvent::kHasTime;
          }
          break;
        case Role::kDuration:
          if (const auto ns = parse_us_as_ns(token)) {
            event.dur_ns = *ns;
            event.flags |= RawEvent::kHasDuration;
          }
          break;
        case Role::kArgs: {
          if (token[0] != '{') break;
          ondemand::object args;
          if (value.get_object().get(args)) return false;
          if (!parse_args(args)) return false;
          break;
        }
        case Role::kId:
          set_id(event, token);
          break;
        case Role::kId2: {
          if (token[0] != '{') break;
          ondemand::object id2;
          if (value.get_object().get(id2)) return false;
          for (auto id_item : id2) {
            ondemand::field id_field;
            if (std::move(id_item).get(id_field)) return false;
            const bool is_local = id_field.key().unsafe_is_equal("local");
            event.flags |= is_local ? RawEvent::kIdIsLocal : RawEvent::kIdIsGlobal;
            set_id(event, trimmed(id_field.value().raw_json_token()));
          }
          break;
        }
        case Role::kBind:
          if (token == "\"e\"") event.flags |= RawEvent::kBindsEnclosing;
          break;
        case Role::kScope:
          event.scope = string(without_quotes(token));
          break;
        case Role::kNone:
          if (!add_arg(key, value, token)) return false;
          break;
      }
    }
    if (event.phase == 0 || (!event.has(RawEvent::kHasTime) && event.phase != 'M')) {
      ++batch_->events_skipped;
      return true;
    }
    if (category != last_category_text_) {
      last_category_ = string(category);
      last_category_text_ = strings_.view(StringId{last_category_});
    }
    event.label = label(has_name ? string(name) : 0, last_category_);
    event.thread = thread(pid, tid);
    add_event(event, name);
    return true;
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

  bool parse_args(ondemand::object& args) {
    uint32_t key = kArgKeys;
    for (auto item : args) {
      ondemand::field field;
      if (std::move(item).get(field)) return false;
      key = find_key(key, field.key().raw());
      ondemand::value value = field.value();
      if (!add_arg(key, value, trimmed(value.raw_json_token()))) return false;
    }
    return true;
  }

  bool add_arg(uint32_t key, ondemand::value& value, std::string_view token) {
    if (token.empty()) return false;
    switch (token[0]) {
      case '"':
        push_arg(key, ArgType::kString, string(without_quotes(token)));
        return true;
      case '{': {
        ondemand::object object;
        std::string_view raw;
        if (value.get_object().get(object) || object.raw_json().get(raw)) return false;
        push_arg(key, ArgType::kJson, string(raw));
        return true;
      }
      case '[': {
        ondemand::array array;
        std::string_view raw;
        if (value.get_array().get(array) || array.raw_json().get(raw)) return false;
        push_arg(key, ArgType::kJson, string(raw));
        return true;
      }
      case 't':
      case 'f':
        if (token == "true" || token == "false") {
          push_arg(key, ArgType::kBool, token[0] == 't' ? 1 : 0);
        } else {
          ++batch_->values_skipped;
        }
        return true;
      case 'n':
        if (token == "null") {
          push_arg(key, ArgType::kJson, string(token));
        } else {
          ++batch_->values_skipped;
        }
        return true;
      default:
        return add_number(key, token);
    }
  }

  bool add_number(uint32_t key, std::string_view token) {
    if (const auto whole = parse_int(token)) {
      push_arg(key, ArgType::kInt, static_cast<uint64_t>(*whole));
    } else if (token.find_first_not_of("-0123456789") == std::string_view::npos) {
      push_arg(key, ArgType::kJson, string(token));  // beyond 64 bits
    } else if (const auto real = parse_double(token);
               real && (token[0] == '-' || (token[0] >= '0' && token[0] <= '9'))) {
      push_arg(key, ArgType::kDouble, std::bit_cast<uint64_t>(*real));
    } else {
      ++batch_->values_skipped;
    }
    return true;
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
    const auto number = parse_id(text);
    event.id = number ? *number : hash_id(text);
    event.flags |= RawEvent::kHasId;
  }

  // The key whose text starts at `raw` (after its quote), given the key before it.
  uint32_t find_key(uint32_t before, const char* raw) {
    const uint32_t guess = keys_[before].follower;
    const std::string_view guessed = keys_[guess].text;
    if (guess > kArgKeys && guessed.size() < kTextPadding &&
        std::string_view(raw, guessed.size()) == guessed && raw[guessed.size()] == '"') {
      return guess;
    }
    // simdjson has seen the closing quote: the search ends inside the text.
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
      key.text = strings_.view(StringId{number});
      key.string = number;
      key.role = in_args ? Role::kNone : role_of(text);
      keys_.push_back(key);
      keys_in_args_.resize(keys_.size());
      keys_in_args_.back() = in_args;
    }
    keys_[before].follower = it->second;
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
  ondemand::parser parser_;
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
