"""Breaks each rule of rules.py on purpose, then checks this tree.

layering_test.py ROOT [WORKER INDEXER DAEMON]: the built programs.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import rules

ROOT = sys.argv[1]
WORKER, INDEXER, DAEMON = sys.argv[2:5] if len(sys.argv) > 4 else (None, None, None)


class BrokenRulesTest(unittest.TestCase):
    """Every rule detects a violation."""

    def violations(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return rules.violations(root)

    def assert_one(self, files, expected):
        found = self.violations(files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_plan_decode_and_augment_use_base_alone(self):
        self.assert_one({"server/plan/a.h": '#include "common/posix/fd.h"'}, "server/plan may not use")
        self.assert_one({"server/decode/a.cc": '#include "server/source/core/dataset.h"'}, "server/decode may not")
        self.assert_one({"server/augment/a.cc": '#include "server/decode/decoder.h"'}, "server/augment may not")

    def test_the_parts_that_meet_in_feed_do_not_know_each_other(self):
        parts = ("source", "workers", "pool", "export")
        for user in parts:
            for used in parts:
                if user != used:
                    self.assert_one({f"server/{user}/a.cc": f'#include "server/{used}/b.h"'}, "may not use")

    def test_workers_see_datasets_by_their_interface_only(self):
        self.assertEqual(self.violations({"server/workers/a.h": '#include "server/source/core/dataset.h"'}), [])
        self.assert_one({"server/workers/a.h": '#include "server/source/images/folder.h"'}, "may not use")

    def test_the_client_never_includes_the_server(self):
        self.assert_one({"client/src/a.cc": '#include "server/feed/core/core.h"'}, "may not use")

    def test_pythons_decoder_knows_neither_the_client_nor_the_daemon(self):
        self.assertEqual(self.violations({"client/python/decode/a.cc": '#include "server/decode/decoder.h"'}), [])
        self.assert_one({"client/python/src/a.cc": '#include "server/decode/decoder.h"'}, "client/python may not use")
        for include in ("client/src/core/grant.h", "server/feed/core/core.h", "client/python/src/session.h"):
            self.assert_one({"client/python/decode/a.cc": f'#include "{include}"'}, "client/python/decode may not use")

    def test_libraries_stay_in_their_rooms(self):
        for include in ("grpcpp/grpcpp.h", "penstock/v1/feed.grpc.pb.h", "spdlog/spdlog.h", "cuda.h",
                        "cuda_runtime_api.h", "yaml-cpp/yaml.h", "jpeglib.h"):
            self.assert_one({"server/feed/a.cc": f"#include <{include}>"}, include)

    def test_public_headers_use_the_standard_library_alone(self):
        self.assert_one({"client/include/penstock/a.h": '#include "absl/status/status.h"'}, "public headers")
        self.assertEqual(self.violations({"client/include/penstock/a.h": "#include <span>"}), [])

    def test_feeds_core_is_pure_through_what_it_includes(self):
        self.assert_one({"server/feed/core/core.cc": '#include "server/feed/core/slot.h"',
                         "server/feed/core/slot.h": "",
                         "server/feed/core/slot.cc": '#include "common/posix/fd.h"'}, "server/feed/core/slot.cc:1")

    def test_grpc_is_in_few_files(self):
        files = {f"server/rpc/a{number}.cc": "#include <grpcpp/grpcpp.h>" for number in range(14)}
        self.assert_one(files, "14 files include gRPC")

    def test_a_folder_without_a_rule_is_noticed(self):
        self.assert_one({"server/new/a.cc": ""}, "has no line in rules.py")

    def test_long_files_are_noticed(self):
        self.assert_one({"server/plan/a.cc": "\n" * 401}, "401 lines")

    def test_a_crowded_folder_is_noticed(self):
        self.assert_one({f"server/plan/a{number}.h": "" for number in range(37)}, "37 files")

    def test_a_target_without_a_readme_is_noticed(self):
        self.assert_one({"server/plan/CMakeLists.txt": ""}, "no README.md")

    def test_a_subfolder_without_a_readme_is_noticed(self):
        self.assert_one({"server/plan/README.md": "", "server/plan/core/a.h": ""}, "server/plan/core has sources")


class ThisTreeTest(unittest.TestCase):
    def test_it_keeps_every_rule(self):
        found = rules.violations(ROOT)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    @unittest.skipUnless(WORKER, "the worker program is not built here")
    def test_the_worker_program_links_neither_grpc_nor_cuda_nor_logging(self):
        linked = subprocess.run(["ldd", WORKER], check=True, capture_output=True, text=True).stdout
        self.assertIn("libjpeg", linked)
        self.assertNotRegex(linked, r"libgrpc|libprotobuf|libcuda|libcudart|libspdlog")

    @unittest.skipUnless(INDEXER, "the indexer program is not built here")
    def test_the_indexer_program_links_nothing_that_it_does_not_need(self):
        linked = subprocess.run(["ldd", INDEXER], check=True, capture_output=True, text=True).stdout
        self.assertIn("libz", linked)
        self.assertNotRegex(linked, r"libgrpc|libprotobuf|libcuda|libcudart|libspdlog|libssl|libjpeg")

    @unittest.skipUnless(INDEXER and DAEMON, "the daemon is not built here")
    def test_the_daemon_does_not_contain_what_parses_files(self):
        parsers = ("source::ScanTarShard(", "source::TarWalk::", "source::ParseTarHeader(",
                   "source::WdsSamples::", "source::ParseWdsIndex(", "source::ScanRecordFile(",
                   "source::ScanList(", "source::ParseCifarBatch(", "source::ScanCoco(", "source::ScanNotes(",
                   "source::ScanNames(", "source::ParseNpyHeader(", "source::ParseNpyLiteral(", "source::ParseIdxHeader(",
                   "source::FindTokens(", "source::MegatronIndex::Parse(", "source::Gunzip::",
                   "unpack::ParseExample(", "unpack::CountValues(")

        def found(program):
            symbols = subprocess.run(["nm", "-C", program], check=True, capture_output=True, text=True).stdout
            return [parser for parser in parsers if f"penstock::{parser}" in symbols]

        self.assertEqual(found(INDEXER), list(parsers))  # shows that the names are right
        self.assertEqual(found(DAEMON), [])

    @unittest.skipUnless(WORKER and DAEMON, "the daemon is not built here")
    def test_the_daemon_does_not_contain_what_unpacks_or_decodes_samples(self):
        def found(program):
            symbols = subprocess.run(["nm", "-C", program], check=True, capture_output=True, text=True).stdout
            return [name for name in ("unpack::RowFiller::", "unpack::ExampleSample::", "decode::Decoder::",
                                      "decode::JpegReader::", "decode::PngReader::")
                    if f"penstock::{name}" in symbols]

        self.assertEqual(len(found(WORKER)), 5)  # so that the names are right
        self.assertEqual(found(DAEMON), [])

    @unittest.skipUnless(INDEXER and WORKER and DAEMON, "the daemon is not built here")
    def test_the_daemon_itself_calls_no_library_that_parses_or_decompresses(self):
        def calls(program):
            symbols = subprocess.run(["nm", "-D", "--undefined-only", program], check=True, capture_output=True,
                                     text=True).stdout
            return set(re.findall(r"\bU ((?:inflate|uncompress|gz(?:open|read)|ZSTD_|LZ4_|lzma_|BZ2_|jpeg_|png_|"
                                  r"TIFF|WebP|XML_)\w*)", symbols))

        self.assertTrue(calls(INDEXER) and calls(WORKER))  # so that the pattern is right
        self.assertEqual(calls(DAEMON), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
