// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/numbers.h"
#include "client/cli/commands.h"

namespace coffer::client::cli {
namespace {

CLI::Option* AddRaw(CLI::App& command, const std::string& flags, const std::string& description) {
  return command
      .add_option(
          flags, [](const CLI::results_t&) { return true; }, description)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("");
}

}  // namespace

CLI::Option* AddValue(CLI::App& command, const std::string& flags, std::string* value, const std::string& description) {
  return command
      .add_option_function<std::vector<std::string>>(
          flags, [value](const std::vector<std::string>& results) { *value = results.back(); }, description)
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("TEXT");
}

CLI::Option* AddByteCount(CLI::App& command, const std::string& flags, uint64_t* value,
                          const std::string& description) {
  // CLI11 would take "-1" for 18446744073709551615.
  return command
      .add_option_function<std::string>(
          flags,
          [flags, value](const std::string& text) {
            if (text.find_first_not_of("0123456789") == std::string::npos && absl::SimpleAtoi(text, value)) return;
            throw CLI::ValidationError(flags, "\"" + text + "\" is not a number of bytes, 0 to 2^64-1");
          },
          description)
      ->type_name("BYTES");
}

CLI::Option* AddOperands(CLI::App& command, const std::string& label, const std::string& description) {
  // CLI11 fills a positional up to its minimum, or beyond it if it may take extra arguments, and only then takes
  // "[a,b]" apart. A minimum that is never reached, with a policy that does not insist on it, gives the rest.
  constexpr int kAny = CLI::detail::expected_max_vector_size;
  return AddRaw(command, label, description)->expected(kAny - 1, kAny);
}

CLI::Option* AddVerbatim(CLI::App& command, const std::string& flags, const std::string& description) {
  return AddRaw(command, flags, description)->expected(1);
}

CLI::Option* AddBucketOption(CLI::App& command, std::string* bucket) {
  return AddValue(command, "-b,--bucket", bucket, "Bucket; \"default\" if not given")
      ->check([](const std::string& value) {
        return value.empty() ? std::string("a bucket has 1 to 255 bytes, got 0") : std::string();
      });
}

}  // namespace coffer::client::cli
