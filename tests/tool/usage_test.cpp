// Mistakes: one line on stderr that names the value, nothing on stdout, and the exit code that --help documents.
#include "command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

using dcgn::test::is_one_line, dcgn::test::Result, dcgn::test::run_dcgn;

namespace {

struct Mistake {
  const char* arguments;
  int code;
  const char* named;  // what the line must contain
  const char* environment = "";
};

const Mistake mistakes[] = {
    {"", 2, "info, doctor, demo, bench"},
    {"nonsense", 2, "nonsense"},
    {"demo", 2, "mandelbrot, nbody, cannon, pingpong"},
    {"demo nonsense", 2, "nonsense"},
    {"demo mandlebrot --size 3", 2, "mandlebrot: expected mandelbrot, nbody"},
    {"nonsense --help", 2, "nonsense"},
    {"demo nonsense --help", 2, "nonsense"},
    {"nonsense --size 3", 2, "nonsense: expected info, doctor"},
    {"demo --size 3 mandelbrot", 2, "--size: expected an option of dcgn demo"},
    {"--nonsense", 2, "--nonsense"},
    {"info --nonsense 3", 2, "--nonsense"},
    {"completion csh", 2, "csh"},
    {"info --cpus 0 --gpus 0", 2, "0 CPU kernels"},
    {"info --nodes 0", 2, "'0'"},
    {"info", 2, "abc", "DCGN_EMULATED_GPUS=abc"},
    {"info", 2, "DCGN_DEADLINE=soon", "DCGN_DEADLINE=soon"},
    {"info", 3, "/nonexistent.toml", "DCGN_CONFIG=/nonexistent.toml"},
    {"demo mandelbrot --cpus 0", 2, "0 CPU ranks"},
    {"demo mandelbrot --cpus -1", 2, "'-1'"},
    {"demo mandelbrot --cpus many", 2, "'many'"},
    {"demo mandelbrot --cpus 1 --gpus 0", 2, "1 rank"},
    {"demo mandelbrot --gpus 9", 2, "9 GPUs"},
    {"demo mandelbrot --slots 200", 2, "200 blocks"},
    {"demo mandelbrot --threads 2000", 2, "'2000'"},
    {"demo mandelbrot --size 0x5", 2, "0x5"},
    {"demo mandelbrot --size 12", 2, "--size 12"},
    {"demo mandelbrot --size 9x99999999999999999999", 2, "99999999999999999999"},
    {"demo mandelbrot --region 1 0 0 1", 2, "from 1 to 0"},
    {"demo mandelbrot --region 0 1 1 1", 2, "from 1 to 1"},
    {"demo mandelbrot --region 0 1 0 nan", 2, "'nan'"},
    {"demo mandelbrot --region 0 1", 2, "--region"},
    {"demo mandelbrot --center inf 0", 2, "'inf'"},
    {"demo mandelbrot --width 0", 2, "'0'"},
    {"demo mandelbrot --strip 0", 2, "'0'"},
    {"demo mandelbrot --iterations 0", 2, "'0'"},
    {"demo mandelbrot --output /nonexistent/x.png", 3, "/nonexistent/x.png"},
    {"demo mandelbrot --owners /", 3, "/:"},
    {"demo mandelbrot --output x.jpg", 2, "x.jpg: expected a name that ends in .png"},
    {"demo mandelbrot --owners x.PNG.svg", 2, "x.PNG.svg: expected a name that ends in .png"},
    {"demo mandelbrot --output x.png --owners ./x.png", 2, "--owners ./x.png: expected another file than --output x"},
    {"demo mandelbrot --output x.png --json x.png", 2, "--json x.png: expected another file than --output x.png"},
    {"demo mandelbrot --owners x.png --json x.png", 2, "--json x.png: expected another file than --owners x.png"},
    {"demo mandelbrot --trace x.json --output x.json", 2, "--trace x.json: expected another file than --output x.json"},
    {"demo mandelbrot --output /dev/shm/x.png --json /dev/shm/x.png", 2,
     "expected another file than --output /dev/shm/x"},
    {"demo nbody --json nbody_000.png", 2, "--json nbody_000.png: expected another file than --output nbody_000.png"},
    {"demo heat --output x --json x.csv", 2, "--json x.csv: expected another file than --output x.csv"},
    {"demo heat --output x --checkpoint every=2 --json ./x.h5", 2,
     "--json ./x.h5: expected another file than --output x"},
    {"demo heat --output x --steps 20 --png every=5 --json x_00000015.png", 2,
     "another file than --output x_00000015.png"},
    {"demo mandelbrot --json /nonexistent/x.json", 3, "/nonexistent/x.json"},
    {"demo pingpong --trace /nonexistent/x.json", 3, "/nonexistent/x.json"},
    {"demo pingpong --trace x.json --json x.json", 2, "--json x.json: expected another file than --trace x.json"},
    {"demo pingpong --trace x.txt", 2, "x.txt: expected a name that ends in .json or .html"},
    {"demo heat --trace x.txt", 2, "x.txt: expected a name that ends in .json or .html"},
    {"info", 2, "DCGN_TRACE_EVENTS=0", "DCGN_TRACE_EVENTS=0"},
    {"demo pingpong --between gpu,gpu", 2, "gpu,gpu"},
    {"demo pingpong --sizes 4,5", 2, "5"},
    {"demo pingpong --rounds 0", 2, "'0'"},
    {"bench ddt --shapes rows:8", 2, "--shapes rows:8: expected contiguous, rows:LENGTH/STRIDE"},
    {"bench ddt --messages near", 2, "'near': expected host, one-gpu, two-gpus"},
    {"bench ddt --messages two-gpus", 2, "two-gpus: expected 2 GPUs, found 1", "DCGN_EMULATED_GPUS=1"},
    {"bench ddt --messages host --peers mpi", 2, "--messages"},
    {"bench ddt --messages host --shapes triangle --other transpose:8", 2, "has not as many bytes as triangle"},
    {"bench ddt --messages host --shapes triangle --other contiguous,triangle", 2, "2 shapes, expected one or as many"},
    {"bench ddt --messages one-gpu --occupied 101", 2, "101"},
    {"bench ddt --other contiguous", 2, "--messages"},
    {"bench ddt --blocks 0", 2, "0"},
    {"bench ddt --sweep 3", 2, "--peers cuda, torch"},
    {"bench ddt --places host --units 1K", 2, "--units 1K: kernels of the device"},
    {"bench ddt --places host --blocks 2", 2, "--blocks 2: kernels of the device"},
    {"bench ddt --sweep 0", 2, "'0'"},
    {"bench vgpu", 2, "this machine has no CUDA device, expected at least one", "DCGN_EMULATED_GPUS=1"},
    {"bench vgpu --measure speed", 2, "'speed': expected launch, remote"},
    {"bench vgpu --workloads sort", 2, "'sort': expected vector-add"},
    {"demo cannon --slots 99999", 2, "200000 ranks in one process"},
    {"info", 2, "DCGN_LANE_BYTES=100: expected a whole number from 256 to 1073741824, or 0", "DCGN_LANE_BYTES=100"},
};

TEST(Usage, MistakesGetOneLineThatNamesTheValue) {
  for (const Mistake& m : mistakes) {
    SCOPED_TRACE(std::string(m.environment) + " dcgn " + m.arguments);
    const Result r = run_dcgn(m.arguments, m.environment);
    EXPECT_EQ(r.code, m.code) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(is_one_line(r.err)) << r.err;
    EXPECT_EQ(r.err.rfind("dcgn: ", 0), 0u) << r.err;
    EXPECT_NE(r.err.find(m.named), std::string::npos) << r.err;
  }
}

// As a launcher has started them, one of two.
TEST(Usage, OfSeveralProcessesTheFirstTellsMistakes) {
  const bool measures = run_dcgn("bench --help").code == 0;
  for (const Mistake& m : {Mistake{"demo nbody --bodies 0", 2, "'0'"}, Mistake{"demo chess", 2, "chess"},
                           Mistake{"bench coll", 2, "2 processes: expected 1, without mpirun"}}) {
    if (!measures && m.arguments[0] == 'b') continue;
    SCOPED_TRACE(m.arguments);
    const Result first = run_dcgn(m.arguments, "RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost");
    EXPECT_EQ(first.code, m.code);
    EXPECT_TRUE(is_one_line(first.err)) << first.err;
    EXPECT_NE(first.err.find(m.named), std::string::npos) << first.err;
    const Result second = run_dcgn(m.arguments, "RANK=1 WORLD_SIZE=2 MASTER_ADDR=localhost");
    EXPECT_EQ(second.code, m.code);
    EXPECT_EQ(second.err + second.out, "");
  }
  EXPECT_EQ(run_dcgn("--help", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=localhost").out, "");
}

TEST(Usage, AFailedStartLeavesNoFilesAndOldOnesAsTheyWere) {
  const std::string& folder = dcgn::test::scratch_folder();
  std::ofstream(folder + "/old.png") << "old";
  std::ofstream(folder + "/old.json") << "old";
  for (const char* name : {"left", "old"}) {
    std::string arguments = "demo mandelbrot --slots 200 --output ";
    arguments.append(name).append(".png --json ").append(name).append(".json");
    EXPECT_EQ(run_dcgn(arguments).code, 2);
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/left.png"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/left.json"));
  EXPECT_EQ(std::filesystem::file_size(folder + "/old.png"), 3u);
  EXPECT_EQ(std::filesystem::file_size(folder + "/old.json"), 3u);
}

TEST(Usage, OutputThatCannotBeWrittenIsSaidInOneLine) {
  // More than a buffer, less than one, and what the parser itself prints.
  for (const char* arguments : {"info --cpus 5000 --json", "info", "--help", "demo mandelbrot --help", "--version"}) {
    const Result r = run_dcgn(arguments, "", "/dev/full");
    EXPECT_EQ(r.code, 3) << arguments;
    EXPECT_EQ(r.err, "dcgn: standard output could not be written\n") << arguments;
  }
  EXPECT_EQ(run_dcgn("nonsense 2>/dev/full #").code, 2);
}

TEST(Usage, EveryLevelHasHelpWithExamples) {
  for (const char* level : {"", "info", "doctor", "demo", "demo mandelbrot", "demo nbody", "demo cannon",
                            "demo pingpong", "vgpu", "vgpu rewrite", "completion"}) {
    const Result r = run_dcgn(std::string(level) + " --help");
    EXPECT_EQ(r.code, 0) << level;
    EXPECT_EQ(r.err, "");
    EXPECT_NE(r.out.find("Examples:"), std::string::npos) << level;
  }
  EXPECT_NE(run_dcgn("--help").out.find("Exit codes:"), std::string::npos);
  const Result version = run_dcgn("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(is_one_line(version.out));
}

}  // namespace
