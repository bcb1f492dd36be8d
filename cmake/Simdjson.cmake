# The one place that decides which simdjson is used: it defines simdjson::simdjson.
find_package(simdjson REQUIRED)
