// SPDX-License-Identifier: Apache-2.0
#include "client/cli/commands.h"

namespace coffer::cli {

CLI::Option* AddValue(CLI::App& command, const std::string& flags, std::string* value,
                      const std::string& description) {
  return command
      .add_option_function<std::vector<std::string>>(
          flags, [value](const std::vector<std::string>& results) { *value = results.back(); }, description)
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("TEXT");
}

CLI::Option* AddValues(CLI::App& command, const std::string& flags, const std::string& description) {
  return command
      .add_option(
          flags, [](const CLI::results_t&) { return true; }, description)
      ->expected(-1)
      ->allow_extra_args(false)
      ->type_name("TEXT");
}

CLI::Option* AddBucketOption(CLI::App& command, std::string* bucket) {
  return AddValue(command, "-b,--bucket", bucket, "Bucket; \"default\" if not given")
      ->check([](const std::string& value) {
        return value.empty() ? std::string("a bucket has 1 to 255 bytes, got 0") : std::string();
      });
}

}  // namespace coffer::cli
