// SPDX-License-Identifier: Apache-2.0
//
// The `coffer` program against a server that does as the test says: what each command prints, sends and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "tests/e2e/cli_fixture.h"

namespace coffer::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(CliTest, PrintsItsVersion) {
  const ProcessResult result = Coffer({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "coffer 0.1.0\n");
}

TEST_F(CliTest, HelpIsNoError) {
  EXPECT_EQ(Coffer({"--help"}).exit_code, 0);
  for (const char* command : {"put", "get", "ls", "stat", "rm", "verify", "bucket", "status", "gc", "scrub", "backup", "hash"}) {
    EXPECT_EQ(Coffer({command, "--help"}).exit_code, 0) << command;
  }
}

TEST_F(CliTest, BadCommandLinesAreUsageErrors) {
  const std::vector<std::vector<std::string>> lines = {{},
                                                       {"frobnicate"},
                                                       {"put"},
                                                       {"get"},
                                                       {"stat"},
                                                       {"rm"},
                                                       {"verify"},
                                                       {"bucket"},
                                                       {"bucket", "create"},
                                                       {"put", "--frobnicate", "f"},
                                                       {"get", "a", "b"},
                                                       {"get", "a", "--prefix", "p", "--to", "d"},
                                                       {"get", "--prefix", "p"},
                                                       {"get", "--to", "d"},
                                                       {"get", "--offset", "-1", "a"},
                                                       {"get", "--offset", "x", "a"},
                                                       {"verify", "--all", "a"},
                                                       {"verify", "-c", "f", "a"},
                                                       {"gc", "now"},
                                                       {"scrub"},
                                                       {"scrub", "rate"},
                                                       {"scrub", "rate", "fast"},
                                                       {"put", "-n", "", "f"},
                                                       {"put", "-b", "", "f"},
                                                       {"put", "--expect", "abc", "f"},
                                                       {"put", "--meta", "novalue", "f"},
                                                       {"put", "--meta", "=v", "f"},
                                                       {"put", "--meta", "k=1", "--meta", "K=2", "f"},
                                                       {"put", "-n", "x", "f", "g"},
                                                       {"put", "--expect", kEmptyHex, "f", "g"},
                                                       {"put", "-", "-"},
                                                       {"put", "d"},
                                                       {"put", "f", "d/f"},
                                                       {"put", "-r", "f", "d"},
                                                       {"put", "-r", "-n", "x", "d"},
                                                       {"bucket", "create", ""},
                                                       {"--timeout", "0", "status"},
                                                       {"ls", "a", "b"},
                                                       {"get", "-o", "", "f"},
                                                       {"put", "f", ""},
                                                       {"--bogus"},
                                                       {"-b", "docs", "ls"}};
  WriteFile(directory_ / "f", "1");
  WriteFile(directory_ / "g", "1");
  WriteFile(directory_ / "d/f", "1");
  WriteFile(directory_ / "d/g", "1");
  for (const auto& line : lines) {
    const ProcessResult result = Coffer(line);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(line) << result.err;
    EXPECT_THAT(result.err, HasSubstr("coffer: ")) << ::testing::PrintToString(line);
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(server_.Calls("Put"), 0) << "a usage error was found only after something was sent";
}

TEST_F(CliTest, UsageErrorsNameTheValue) {
  WriteFile(directory_ / "d/f", "1");
  WriteFile(directory_ / "f", "1");
  EXPECT_THAT(Coffer({"put", "d"}).err, HasSubstr("d is a directory; -r"));
  EXPECT_THAT(Coffer({"put", "--expect", "abc", "f"}).err, HasSubstr("abc"));
  EXPECT_THAT(Coffer({"put", "f", "d/f"}).err, HasSubstr("two inputs have the name f, the second is d/f"));
  EXPECT_THAT(Coffer({"put", "-n", "", "f"}).err, HasSubstr("1 to 1024 bytes, got 0"));
}

TEST_F(CliTest, WhatIsUnknownIsNamed) {
  EXPECT_THAT(Coffer({"frob"}).err, HasSubstr("unknown command \"frob\""));
  EXPECT_THAT(Coffer({"--bogus"}).err, HasSubstr("unknown option \"--bogus\""));
  EXPECT_THAT(Coffer({"ls", "--bogus"}).err, HasSubstr("unknown option \"--bogus\"\n"));
  EXPECT_THAT(Coffer({"bucket", "frob"}).err, HasSubstr("\"frob\""));
  EXPECT_THAT(Coffer({"-b", "docs", "ls"}).err, HasSubstr("unknown option \"-b\" before \"ls\""));
  EXPECT_THAT(Coffer({"put", ""}).err, HasSubstr("the path \"\" is empty"));
}

TEST_F(CliTest, HelpMayBeAskedForAsACommand) {
  const ProcessResult help = Coffer({"help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.out, Coffer({"--help"}).out);
  EXPECT_EQ(Coffer({"help", "put"}).out, Coffer({"put", "--help"}).out);
}

TEST_F(CliTest, AServerAddressThatIsNoneIsAUsageErrorFromOptionAndEnvironment) {
  for (const std::string address : {"127.0.0.1:72956", "garbage", "http://127.0.0.1:7420", "127.0.0.1", ""}) {
    const ProcessResult result = Coffer({"status", "--server", address});
    EXPECT_EQ(result.exit_code, 2) << address;
    EXPECT_THAT(result.err, HasSubstr("\"" + address + "\""));
  }
  ProcessOptions options;
  options.environment["COFFER_SERVER"] = "garbage";
  EXPECT_EQ(RunProgram({ProgramPath("coffer"), "status"}, options).exit_code, 2);
  WriteFile(directory_ / "f", "");
  EXPECT_EQ(RunProgram({ProgramPath("coffer"), "hash", directory_ / "f"}, options).exit_code, 0);
}

TEST_F(CliTest, PutPrintsB3sumLines) {
  WriteFile(directory_ / "dir/a b", "one");
  WriteFile(directory_ / "empty", "");
  const ProcessResult result = Coffer({"put", "dir/a b", "empty"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const ProcessResult sums = RunProgram({"/usr/bin/b3sum", "a b"}, {.directory = directory_ / "dir"});
  EXPECT_EQ(result.out, sums.out + kEmptyHex + "  empty\n");
  EXPECT_EQ(server_.Content("a b"), "one");
  EXPECT_EQ(server_.Content("empty"), "");
}

TEST_F(CliTest, PutTakesNameBucketMetadataAndExpectedDigest) {
  WriteFile(directory_ / "f", "");
  const ProcessResult result =
      Coffer({"put", "-b", "photos", "-n", "x/y", "--meta", "a=1", "--meta", "b=c=d", "--expect", kEmptyHex, "f"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, std::string(kEmptyHex) + "  x/y\n");
  EXPECT_EQ(server_.Content("x/y", "photos"), "");
  EXPECT_EQ(server_.last_put_header().metadata().at("a"), "1");
  EXPECT_EQ(server_.last_put_header().metadata().at("b"), "c=d");
}

TEST_F(CliTest, PutOfStandardInputIsNamedByItsDigest) {
  const ProcessResult result = Coffer({"put", "-"}, {.input = ""});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, std::string(kEmptyHex) + "  " + kEmptyHex + "\n");
  ProcessOptions input;
  input.input = "hello";
  EXPECT_EQ(Coffer({"put", "-", "-n", "greeting"}, input).exit_code, 0);
  EXPECT_EQ(server_.Content("greeting"), "hello");
}

TEST_F(CliTest, PutOfAnUnexpectedContentIsAnIntegrityErrorAndStoresNothing) {
  WriteFile(directory_ / "f", "x");
  const ProcessResult result = Coffer({"put", "--expect", kEmptyHex, "f"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr(kEmptyHex));
  EXPECT_THAT(server_.Names(), IsEmpty());
}

TEST_F(CliTest, PutRecursiveNamesByRelativePathInOrderAndCountsWhatItSkips) {
  for (const char* name : {"tree/b", "tree/a/z", "tree/a/b/c", "tree/B"}) WriteFile(directory_ / name, name);
  std::filesystem::create_symlink("b", directory_ / "tree/link");
  ASSERT_EQ(::mkfifo((directory_ / "tree/fifo").c_str(), 0600), 0);
  const ProcessResult result = Coffer({"put", "-r", "tree"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(result.out, '\n', absl::SkipEmpty())) {
    names.emplace_back(line.substr(66));
  }
  EXPECT_THAT(names, ElementsAre("B", "a/b/c", "a/z", "b"));
  EXPECT_THAT(server_.Names(), ElementsAre("B", "a/b/c", "a/z", "b"));
  EXPECT_THAT(result.err, HasSubstr("skipped 2"));
}

TEST_F(CliTest, PutReportsEveryFailureAndStoresTheRest) {
  WriteFile(directory_ / "a", "1");
  WriteFile(directory_ / "b", "2");
  const ProcessResult result = Coffer({"put", "a", "missing", "b", "missing2"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("missing: "));
  EXPECT_THAT(result.err, HasSubstr("missing2: "));
  EXPECT_THAT(server_.Names(), ElementsAre("a", "b"));
}

TEST_F(CliTest, OddNamesSurviveEveryCommand) {
  const std::vector<std::string> names = {"-dash", "--help", "a b", "[x,y]", "{}",   "put", "ls", "é€😀",
                                          "n\nl",  "b\\s",   "\\n", "'q'",   "100%", "~",   "++", "*"};
  for (const std::string& name : names) WriteFile(directory_ / "in/" + name, "content of " + name);
  std::vector<std::string> line = {"put", "--"};
  for (const std::string& name : names) line.push_back("in/" + name);
  ASSERT_EQ(Coffer(line).exit_code, 0);
  EXPECT_EQ(server_.Names().size(), names.size());
  for (const std::string& name : names) {
    EXPECT_EQ(Coffer({"get", "--", name}).out, "content of " + name);
    EXPECT_THAT(Coffer({"stat", "--", name}).out, HasSubstr("name:     " + name + "\n"));
    EXPECT_EQ(Coffer({"put", "-n", name, "in/~"}).exit_code, 0) << name;
    EXPECT_EQ(Coffer({"rm", "--", name}).exit_code, 0);
    EXPECT_EQ(server_.Content(name), "(missing)");
  }
}

TEST_F(CliTest, LsPrintsWhatB3sumAccepts) {
  server_.faults().page_size = 2;
  for (const std::string name : {"a b", "n\nl", "b\\s", "\\n", "ü", "x", "y"}) {
    WriteFile(directory_ / "tree/" + name, name);
    server_.Add(name, name);
  }
  const ProcessResult listed = Coffer({"ls"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  ProcessOptions check;
  check.input = listed.out;
  check.directory = directory_ / "tree";
  const ProcessResult accepted = RunProgram({"/usr/bin/b3sum", "-c", "-"}, check);
  EXPECT_EQ(accepted.exit_code, 0) << accepted.out << accepted.err;
  EXPECT_EQ(std::count(accepted.out.begin(), accepted.out.end(), '\n'), 7);
  WriteFile(directory_ / "tree/x", "changed");
  EXPECT_NE(RunProgram({"/usr/bin/b3sum", "-c", "--quiet", "-"}, check).exit_code, 0);
}

TEST_F(CliTest, LsTakesAPrefixAndABucket) {
  server_.Add("a1", "");
  server_.Add("b1", "");
  server_.Add("c1", "", "other");
  EXPECT_EQ(Coffer({"ls", "a"}).out, std::string(kEmptyHex) + "  a1\n");
  EXPECT_EQ(Coffer({"ls", "-b", "other"}).out, std::string(kEmptyHex) + "  c1\n");
  EXPECT_EQ(Coffer({"ls", "zzz"}).exit_code, 0);
  EXPECT_EQ(Coffer({"ls", "-b", "missing"}).exit_code, 4);
}

TEST_F(CliTest, GetWritesToStdoutOrAFileByNameOrDigest) {
  const Digest digest = server_.Add("n", "content");
  EXPECT_EQ(Coffer({"get", "n"}).out, "content");
  EXPECT_EQ(Coffer({"get", digest.ToHex()}).out, "content");
  EXPECT_EQ(Coffer({"get", "n", "--offset", "2", "--length", "3"}).out, "nte");
  const ProcessResult result = Coffer({"get", "n", "-o", "out"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(ReadFile(directory_ / "out"), "content");
}

TEST_F(CliTest, GetOfDamageLeavesNoFileAndExitsThree) {
  const Digest digest = server_.Add("n", std::string(100000, 'x'));
  server_.faults().get_status =
      grpc::Status(grpc::StatusCode::DATA_LOSS, digest.ToHex() + " bytes [65536, 81920) are damaged");
  const ProcessResult result = Coffer({"get", "n", "-o", "out"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr(digest.ToHex() + " bytes [65536, 81920)"));
  EXPECT_THAT(Files("."), IsEmpty());
  EXPECT_EQ(Coffer({"get", "n"}).exit_code, 3);
  EXPECT_EQ(Coffer({"get", "--prefix", "", "--to", "to"}).exit_code, 3);
  EXPECT_THAT(Files("to"), IsEmpty());
}

TEST_F(CliTest, GetOfChangedContentExitsThree) {
  server_.Add("n", "content");
  server_.faults().get_message = [](v1::GetResponse& message) {
    if (message.has_data()) message.set_data("c0ntent");
    return true;
  };
  EXPECT_EQ(Coffer({"get", "n", "-o", "out"}).exit_code, 3);
  EXPECT_THAT(Files("."), IsEmpty());
}

TEST_F(CliTest, GetManyRestoresATree) {
  server_.faults().page_size = 3;
  for (const char* name : {"p/a", "p/b/c", "p/b/d", "p/e f", "p/g"}) server_.Add(name, name);
  server_.Add("q", "q");
  const ProcessResult result = Coffer({"get", "--prefix", "p/", "--to", "to"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Files("to"), UnorderedElementsAre("p/a", "p/b/c", "p/b/d", "p/e f", "p/g"));
  EXPECT_EQ(ReadFile(directory_ / "to/p/e f"), "p/e f");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 5);
}

TEST_F(CliTest, GetManyNeverWritesOutside) {
  std::filesystem::create_directories(directory_ / "outside");
  std::filesystem::create_directories(directory_ / "to");
  std::filesystem::create_symlink("../outside", directory_ / "to/link");
  const std::string absolute = directory_ / "outside/absolute";
  const std::vector<std::string> hostile = {
      "../up", "..", absolute, "a/../../up",          "link/f",  "a//b",    "slash/", "./dot",
      ".",     "/",  "x/../y", std::string(256, 'n'), "in/a/..", "../to/ok"};
  for (const std::string& name : hostile) server_.Add(name, "evil");
  server_.Add("good", "good");
  server_.Add("file", "file");
  server_.Add("file/below", "clash");
  const ProcessResult result = Coffer({"get", "--prefix", "", "--to", "to"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(Files("outside"), IsEmpty());
  std::vector<std::string> files = Files(".");
  for (const std::string& file : files) EXPECT_TRUE(file.starts_with("to/")) << file;
  EXPECT_EQ(ReadFile(directory_ / "to/good"), "good");
  // Of "file" and "file/below" only one can be there.
  EXPECT_THAT(result.err, HasSubstr(std::to_string(hostile.size() + 1) + " of " + std::to_string(hostile.size() + 3) +
                                    " were not fetched"));
  EXPECT_THAT(result.err, HasSubstr("../up"));
}

TEST_F(CliTest, GetManyOfNothingIsNotFound) {
  server_.Add("a", "x");
  EXPECT_EQ(Coffer({"get", "--prefix", "zzz", "--to", "to"}).exit_code, 4);
  EXPECT_EQ(Coffer({"get", "-b", "missing", "--prefix", "", "--to", "to"}).exit_code, 4);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "to"));
}

TEST_F(CliTest, StatShowsWhatThereIs) {
  const Digest digest = server_.Add("n", "content");
  const ProcessResult by_name = Coffer({"stat", "n"});
  EXPECT_EQ(by_name.exit_code, 0);
  EXPECT_EQ(by_name.out,
            "name:     n\ndigest:   " + digest.ToHex() + "\nsize:     7 bytes\ncreated:  2023-11-14T22:13:20Z\n");
  EXPECT_EQ(Coffer({"stat", digest.ToHex()}).out, "digest:   " + digest.ToHex() + "\nsize:     7 bytes\n");
  const ProcessResult mixed = Coffer({"stat", "missing", "n"});
  EXPECT_EQ(mixed.exit_code, 4);
  EXPECT_THAT(mixed.err, HasSubstr("missing"));
  EXPECT_EQ(mixed.out, by_name.out);
}

TEST_F(CliTest, RmIsIdempotent) {
  server_.Add("a", "1");
  server_.Add("b", "2");
  server_.Add("c", "3", "other");
  EXPECT_EQ(Coffer({"rm", "a", "missing"}).exit_code, 0);
  EXPECT_EQ(Coffer({"rm", "a"}).exit_code, 0);
  EXPECT_EQ(Coffer({"rm", "-b", "nowhere", "a"}).exit_code, 0);
  EXPECT_THAT(server_.Names(), ElementsAre("b"));
  EXPECT_EQ(Coffer({"rm", "-b", "other", "c"}).exit_code, 0);
  EXPECT_THAT(server_.Names("other"), IsEmpty());
}

TEST_F(CliTest, VerifyPrintsDigestAndRangeOfDamage) {
  const Digest digest = server_.Add("n", std::string(100, 'x'));
  ProcessResult result = Coffer({"verify", "n", digest.ToHex()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "n: OK\n" + digest.ToHex() + ": OK\n");
  EXPECT_EQ(Coffer({"verify", "--all"}).out, "store: 1 blobs, 100 bytes checked, 0 findings\n");
  EXPECT_EQ(Coffer({"verify", "-b", "default"}).out, "bucket default: 1 blobs, 100 bytes checked, 0 findings\n");
  v1::VerifyFinding finding;
  finding.set_digest(std::string(digest.view()));
  finding.set_offset_bytes(16384);
  finding.set_length_bytes(1000);
  finding.set_problem("chunk group does not match");
  server_.faults().findings = {finding};
  result = Coffer({"verify", "missing", "n"});
  EXPECT_EQ(result.exit_code, 3) << "integrity wins over not found";
  EXPECT_EQ(result.out, digest.ToHex() + "  bytes [16384, 17384)  chunk group does not match\nn: DAMAGED\n");
  EXPECT_EQ(Coffer({"verify", "--all"}).exit_code, 3);
}

TEST_F(CliTest, GcReclaimsAndADryRunOnlyTells) {
  server_.Add("kept", "kept");
  server_.Add("n", "content");
  ASSERT_EQ(Coffer({"rm", "n"}).exit_code, 0);
  EXPECT_EQ(Coffer({"gc", "--dry-run"}).out, "1 blobs, 7 bytes would be reclaimed\n");
  EXPECT_EQ(nlohmann::json::parse(Coffer({"--json", "gc", "--dry-run"}).out),
            (nlohmann::json{{"dry_run", true}, {"blobs", 1}, {"content_bytes", 7}}));
  EXPECT_EQ(Coffer({"gc"}).out, "1 blobs, 7 bytes reclaimed\n");
  EXPECT_EQ(nlohmann::json::parse(Coffer({"--json", "gc"}).out),
            (nlohmann::json{{"dry_run", false}, {"blobs", 0}, {"content_bytes", 0}}));
  FailAlways("Collect", grpc::StatusCode::DATA_LOSS, "a row is damaged");
  const ProcessResult damaged = Coffer({"gc"});
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_THAT(damaged.err, HasSubstr("gc: a row is damaged"));
}

TEST_F(CliTest, ScrubIsStartedPausedAndGivenARate) {
  EXPECT_EQ(nlohmann::json::parse(Coffer({"--json", "scrub", "start"}).out)["running"], true);
  const auto rate = nlohmann::json::parse(Coffer({"--json", "scrub", "rate", "1048576"}).out);
  EXPECT_EQ(rate["running"], true);
  EXPECT_EQ(rate["rate_bytes_per_second"], 1048576);
  const ProcessResult paused = Coffer({"scrub", "pause"});
  EXPECT_EQ(paused.exit_code, 0) << paused.err;
  EXPECT_THAT(paused.out, HasSubstr("state:           paused\n"));
  EXPECT_THAT(paused.out, HasSubstr("rate:            1.0 MiB a second\n"));
  EXPECT_EQ(Coffer({"scrub", "status"}).out, paused.out);
}

TEST_F(CliTest, VerifyTakesAListOfB3sumLines) {
  const Digest first = server_.Add("a", "first");
  const Digest second = server_.Add("b", "second");
  WriteFile(directory_ / "sums", first.ToHex() + "  one\n\\" + second.ToHex() + "  t\\nw\\\\o\n");
  const ProcessResult sound = Coffer({"verify", "-c", "sums"});
  EXPECT_EQ(sound.exit_code, 0) << sound.err;
  EXPECT_EQ(sound.out, "one: OK\nt\nw\\o: OK\n");
  ProcessOptions from_stdin;
  from_stdin.input = ReadFile(directory_ / "sums");
  EXPECT_EQ(Coffer({"verify", "-c", "-"}, from_stdin).out, sound.out);
  WriteFile(directory_ / "more", std::string(64, '0') + "  gone\n" + first.ToHex() + "  one\nno sum\n");
  const ProcessResult missing = Coffer({"verify", "-c", "more"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_EQ(missing.out, "one: OK\n") << "the rest is checked all the same";
  EXPECT_THAT(missing.err, HasSubstr("gone: "));
  EXPECT_THAT(missing.err, HasSubstr("more:3: not a line of b3sum"));
  v1::VerifyFinding finding;
  finding.set_digest(std::string(first.view()));
  finding.set_length_bytes(5);
  finding.set_problem("damaged");
  server_.faults().findings = {finding};
  const ProcessResult damaged = Coffer({"verify", "-c", "more"});
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_THAT(damaged.out, HasSubstr("one: DAMAGED\n"));
  EXPECT_EQ(Coffer({"verify", "-c", "no-such-file"}).exit_code, 4);
}

TEST_F(CliTest, BucketsAreMadeListedAndRemoved) {
  EXPECT_EQ(Coffer({"bucket", "create", "b", "a", "ls"}).exit_code, 0);
  EXPECT_EQ(Coffer({"bucket", "create", "b"}).exit_code, 0);
  server_.faults().page_size = 2;
  EXPECT_EQ(Coffer({"bucket", "ls"}).out, "a\nb\nls\n");
  EXPECT_EQ(Coffer({"bucket", "rm", "b", "missing"}).exit_code, 0);
  EXPECT_EQ(Coffer({"bucket", "ls"}).out, "a\nls\n");
}

TEST_F(CliTest, JsonIsOneObjectALineWithDigestsInHex) {
  WriteFile(directory_ / "f", "");
  const auto put = nlohmann::json::parse(Coffer({"put", "--json", "-b", "x", "f"}).out);
  EXPECT_EQ(put,
            (nlohmann::json{
                {"bucket", "x"}, {"name", "f"}, {"digest", kEmptyHex}, {"size_bytes", 0}, {"deduplicated", false}}));
  const auto ls = nlohmann::json::parse(Coffer({"--json", "ls", "-b", "x"}).out);
  EXPECT_EQ(ls, (nlohmann::json{{"bucket", "x"},
                                {"name", "f"},
                                {"digest", kEmptyHex},
                                {"size_bytes", 0},
                                {"created", "2023-11-14T22:13:20Z"},
                                {"metadata", nlohmann::json::object()}}));
  const auto stat = nlohmann::json::parse(Coffer({"--json", "stat", "-b", "x", "f"}).out);
  EXPECT_EQ(stat["digest"], kEmptyHex);
  EXPECT_EQ(stat["created"], "2023-11-14T22:13:20Z");
  const auto verify = nlohmann::json::parse(Coffer({"--json", "verify", "-b", "x", "f"}).out);
  EXPECT_EQ(verify["findings"], 0);
  const auto status = nlohmann::json::parse(Coffer({"--json", "status"}).out);
  EXPECT_EQ(status["blobs"], 1);
  const auto hash = nlohmann::json::parse(Coffer({"--json", "hash", "f"}).out);
  EXPECT_EQ(hash, (nlohmann::json{{"path", "f"}, {"digest", kEmptyHex}, {"size_bytes", 0}}));
  const auto get = nlohmann::json::parse(Coffer({"--json", "get", "-b", "x", "f", "-o", "out"}).out);
  EXPECT_EQ(get["length_bytes"], 0);
  const auto rm = nlohmann::json::parse(Coffer({"--json", "rm", "-b", "x", "f", "missing"}).out);
  EXPECT_EQ(rm, (nlohmann::json{{"bucket", "x"}, {"names", 2}, {"deleted", 1}}));
  const auto bucket = nlohmann::json::parse(Coffer({"--json", "bucket", "rm", "x"}).out);
  EXPECT_EQ(bucket, (nlohmann::json{{"bucket", "x"}, {"deleted", true}}));
}

TEST_F(CliTest, HashPrintsWhatB3sumPrintsAndNeedsNoServer) {
  WriteFile(directory_ / "a b", "one");
  WriteFile(directory_ / "n\nl\\", std::string(3000000, 'y'));
  ProcessOptions options;
  options.directory = directory_.path();
  options.environment["COFFER_SERVER"] = "127.0.0.1:1";
  const ProcessResult ours = RunProgram({ProgramPath("coffer"), "hash", "a b", "n\nl\\"}, options);
  const ProcessResult theirs = RunProgram({"/usr/bin/b3sum", "a b", "n\nl\\"}, options);
  EXPECT_EQ(ours.exit_code, 0);
  EXPECT_EQ(ours.out, theirs.out);
  options.input = "text";
  EXPECT_EQ(RunProgram({ProgramPath("coffer"), "hash"}, options).out, RunProgram({"/usr/bin/b3sum"}, options).out);
  const ProcessResult failed = RunProgram({ProgramPath("coffer"), "hash", "missing", "a b"}, options);
  EXPECT_EQ(failed.exit_code, 4);
  EXPECT_THAT(failed.out, HasSubstr("  a b\n"));
}

}  // namespace
}  // namespace coffer::testing
