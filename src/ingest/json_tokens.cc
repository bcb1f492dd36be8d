#include "ingest/json_tokens.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <memory>

namespace stepscope {

static_assert(JsonTokens::kTextPadding >= simdjson::SIMDJSON_PADDING);

class JsonTokens::Finder {
 public:
  bool find(const char* text, size_t length) {
    if (!reserve(length)) return false;
    return stage_->stage1(reinterpret_cast<const uint8_t*>(text), length,
                          simdjson::stage1_mode::regular) == simdjson::SUCCESS;
  }

  const uint32_t* begin() const { return stage_->structural_indexes.get(); }
  const uint32_t* end() const { return begin() + stage_->n_structural_indexes; }

 private:
  static constexpr size_t kMaxDepth = 1;  // of stage 2, which is not used

  bool reserve(size_t length) {
    if (length <= capacity_) return true;
    if (length > simdjson::SIMDJSON_MAXSIZE_BYTES) return false;
    const size_t capacity = std::min(std::bit_ceil(length), simdjson::SIMDJSON_MAXSIZE_BYTES);
    stage_.reset();
    capacity_ = 0;
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(
            capacity, kMaxDepth, stage_) != simdjson::SUCCESS) {
      return false;
    }
    capacity_ = capacity;
    return true;
  }

  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage_;
  size_t capacity_ = 0;
};

JsonTokens::JsonTokens() : finder_(std::make_unique<Finder>()) {}
JsonTokens::~JsonTokens() = default;

bool JsonTokens::find(const char* text, size_t length) {
  if (!finder_->find(text, length)) return false;
  begin_ = finder_->begin();
  end_ = finder_->end();
  return true;
}

}  // namespace stepscope
