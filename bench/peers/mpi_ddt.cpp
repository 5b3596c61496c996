// MPI's datatypes on the host: MPI_Pack and MPI_Unpack.
#include "bench/peers/ddt_program.hpp"

#include <mpi.h>

namespace {

using namespace dcgn::bench;

void check(int code) {
  if (code != MPI_SUCCESS) throw std::runtime_error("a call of MPI returned " + std::to_string(code));
}

// As a user would say it: bytes where nothing else is known.
MPI_Datatype type_of(const DdtShape& shape, std::int64_t bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (shape.kind) {
    case DdtShape::Kind::contiguous: check(MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type)); break;
    case DdtShape::Kind::rows: {
      const auto count = static_cast<int>(std::max<std::int64_t>(1, bytes / shape.first));
      check(MPI_Type_create_hvector(count, static_cast<int>(shape.first), shape.second, MPI_BYTE, &type));
      break;
    }
    case DdtShape::Kind::transpose: {
      const auto n = static_cast<int>(shape.order(bytes));
      MPI_Datatype column = MPI_DATATYPE_NULL;
      check(MPI_Type_create_hvector(n, static_cast<int>(shape.first), n * shape.first, MPI_BYTE, &column));
      check(MPI_Type_create_hvector(n, 1, shape.first, column, &type));
      check(MPI_Type_free(&column));
      break;
    }
    case DdtShape::Kind::triangle:
    case DdtShape::Kind::stair:
    case DdtShape::Kind::random:
    case DdtShape::Kind::scatter: {
      const DdtBlocks blocks = ddt_blocks(shape, bytes);
      const std::vector<int> lengths(blocks.lengths.begin(), blocks.lengths.end());
      const std::vector<MPI_Aint> places(blocks.displacements.begin(), blocks.displacements.end());
      check(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &type));
      break;
    }
  }
  check(MPI_Type_commit(&type));
  return type;
}

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check(MPI_Get_library_version(text, &length));
#if defined(OPEN_MPI)
  return "Open MPI " + std::to_string(OMPI_MAJOR_VERSION) + "." + std::to_string(OMPI_MINOR_VERSION) + "." +
         std::to_string(OMPI_RELEASE_VERSION);
#else
  return std::string(text, static_cast<std::size_t>(length)).substr(0, 24);
#endif
}

std::vector<DdtRow> measured(const DdtWork& work) {
  const DdtBuffers b(work.shape, work.bytes);
  Bytes memory = b.memory, made(b.packed.size());
  MPI_Datatype type = type_of(work.shape, work.bytes);
  const auto size = static_cast<int>(made.size());
  const auto pack = [&] {
    int position = 0;
    check(MPI_Pack(memory.data(), 1, type, made.data(), size, &position, MPI_COMM_SELF));
  };
  const auto unpack = [&] {
    int position = 0;
    check(MPI_Unpack(b.packed.data(), size, &position, memory.data(), 1, type, MPI_COMM_SELF));
  };
  DdtActions actions;
  actions.pack = pack;
  actions.unpack = unpack;
  actions.finish = [] {};
  actions.found_packed = [&] { return made; };
  actions.found_memory = [&] { return memory; };
  auto rows = measure(work, b, library(), actions);
  check(MPI_Type_free(&type));
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  const int code = peer::print_ddt_rows("dcgn_peer_mpi_ddt", "host", argc, argv, measured);
  return MPI_Finalize() == MPI_SUCCESS ? code : 1;
}
