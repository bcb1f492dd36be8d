#include "analyze/arrow_batch.h"

#include "analyze/utf8.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace stepscope {

bool ArrowText::push(std::string_view text) {
  // A bad byte becomes three.
  if (text.size() > (INT32_MAX - bytes_.size()) / 3) return false;
  append_valid_utf8(bytes_, text);
  offsets_.push_back(static_cast<int32_t>(bytes_.size()));
  return true;
}

ArrowColumnData ArrowText::finish(ArrowBuffer validity, int64_t null_count) const {
  ArrowColumnData data;
  data.length = static_cast<int64_t>(rows());
  data.null_count = null_count;
  data.buffers = {std::move(validity), make_arrow_buffer(offsets_),
                  std::make_shared<const std::vector<uint8_t>>(bytes_.begin(), bytes_.end())};
  return data;
}

namespace {

// What a schema or an array points to. Children and dictionary are released before it goes, unless
// the consumer moved them away (their release is null then), as the specification asks.
struct SchemaStorage {
  std::string format, name, metadata;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

struct ArrayStorage {
  std::vector<ArrowBuffer> buffers;
  std::vector<const void*> buffer_pointers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

template <typename Node>
void release_if_owned(Node* node) {
  if (node != nullptr && node->release != nullptr) node->release(node);
}

template <typename Node, typename Storage>
void release_node(Node* node) {
  auto* storage = static_cast<Storage*>(node->private_data);
  for (const auto& child : storage->children) release_if_owned(child.get());
  release_if_owned(storage->dictionary.get());
  delete storage;
  node->release = nullptr;
  node->private_data = nullptr;
}

void append_int32(std::string& out, int32_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

// The specification's form: count, then length and bytes of each key and value.
std::string encode_unit(const std::string& unit) {
  std::string out;
  append_int32(out, 1);
  for (const std::string_view text : {std::string_view("unit"), std::string_view(unit)}) {
    append_int32(out, static_cast<int32_t>(text.size()));
    out += text;
  }
  return out;
}

void fill_schema(ArrowSchema* out, SchemaStorage* storage, bool is_nullable) {
  for (const auto& child : storage->children) storage->child_pointers.push_back(child.get());
  out->format = storage->format.c_str();
  out->name = storage->name.c_str();
  out->metadata = storage->metadata.empty() ? nullptr : storage->metadata.data();
  out->flags = is_nullable ? ARROW_FLAG_NULLABLE : 0;
  out->n_children = static_cast<int64_t>(storage->child_pointers.size());
  out->children = storage->child_pointers.empty() ? nullptr : storage->child_pointers.data();
  out->dictionary = storage->dictionary.get();
  out->release = release_node<ArrowSchema, SchemaStorage>;
  out->private_data = storage;
}

std::unique_ptr<ArrowSchema> make_schema(const ArrowField& field) {
  auto storage = std::make_unique<SchemaStorage>();
  storage->format = field.format;
  storage->name = field.name;
  if (!field.unit.empty()) storage->metadata = encode_unit(field.unit);
  if (!field.dictionary_format.empty()) {
    storage->dictionary = make_schema({"", field.dictionary_format, "", false, ""});
  }
  auto schema = std::make_unique<ArrowSchema>();
  fill_schema(schema.get(), storage.release(), field.is_nullable);
  return schema;
}

void fill_array(ArrowArray* out, ArrayStorage* storage, int64_t length, int64_t null_count) {
  for (const ArrowBuffer& buffer : storage->buffers) {
    // Consumers take a null pointer for "no bitmap" only; an empty buffer has to point somewhere.
    static const uint8_t kNothing[64] = {};
    const void* bytes = buffer == nullptr ? nullptr : buffer->empty() ? kNothing : buffer->data();
    storage->buffer_pointers.push_back(bytes);
  }
  for (const auto& child : storage->children) storage->child_pointers.push_back(child.get());
  out->length = length;
  out->null_count = null_count;
  out->offset = 0;
  out->n_buffers = static_cast<int64_t>(storage->buffer_pointers.size());
  out->n_children = static_cast<int64_t>(storage->child_pointers.size());
  out->buffers = storage->buffer_pointers.data();
  out->children = storage->child_pointers.empty() ? nullptr : storage->child_pointers.data();
  out->dictionary = storage->dictionary.get();
  out->release = release_node<ArrowArray, ArrayStorage>;
  out->private_data = storage;
}

std::unique_ptr<ArrowArray> make_array(const ArrowColumnData& data) {
  auto storage = std::make_unique<ArrayStorage>();
  storage->buffers = data.buffers;
  if (data.dictionary != nullptr) storage->dictionary = make_array(*data.dictionary);
  auto array = std::make_unique<ArrowArray>();
  fill_array(array.get(), storage.release(), data.length, data.null_count);
  return array;
}

struct StreamStorage {
  std::unique_ptr<ArrowSource> source;
  std::string last_error;
};

StreamStorage& storage_of(ArrowArrayStream* stream) {
  return *static_cast<StreamStorage*>(stream->private_data);
}

// No exception may cross into the consumer.
template <typename Work>
int guard(ArrowArrayStream* stream, const Work& work) {
  StreamStorage& storage = storage_of(stream);
  try {
    storage.last_error.clear();
    return work(storage);
  } catch (const std::bad_alloc&) {
    storage.last_error = "out of memory";
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guard(stream, [&](StreamStorage& storage) {
    auto root = std::make_unique<SchemaStorage>();
    root->format = "+s";
    for (const ArrowField& field : storage.source->fields())
      root->children.push_back(make_schema(field));
    fill_schema(out, root.release(), false);
    return 0;
  });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guard(stream, [&](StreamStorage& storage) {
    auto batch = storage.source->next();
    if (!batch) {
      storage.last_error = batch.status().message();
      return EIO;
    }
    if (!batch->has_value()) {
      *out = ArrowArray{};  // a released array is the end
      return 0;
    }
    auto root = std::make_unique<ArrayStorage>();
    root->buffers = {nullptr};
    int64_t length = 0;
    for (const ArrowColumnData& column : **batch) {
      length = column.length;
      root->children.push_back(make_array(column));
    }
    fill_array(out, root.release(), length, 0);
    return 0;
  });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const std::string& error = storage_of(stream).last_error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamStorage*>(stream->private_data);
  stream->private_data = nullptr;
  stream->release = nullptr;
}

}  // namespace

void make_arrow_stream(std::unique_ptr<ArrowSource> source, ArrowArrayStream* out) {
  out->get_schema = get_schema;
  out->get_next = get_next;
  out->get_last_error = get_last_error;
  out->release = release_stream;
  out->private_data = new StreamStorage{std::move(source), ""};
}

}  // namespace stepscope
