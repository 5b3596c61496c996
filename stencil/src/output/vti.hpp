// VTK's XML image data (.vti), which ParaView, VisIt and the vtk package of Python open.
#pragma once

#include "stencil/src/output/field_source.hpp"

#include <span>

namespace dcgn::base {
class OutputFile;
}

namespace dcgn::stencil {

// Fields of one grid, 1 to 3 dimensions of it, as point data: a cell is a point of the image, so that contours and
// slices go through the cells' values as they are. A complex cell is a point with two components. Values are appended
// raw, in this machine's byte order and each field's own precision; `time` is the data set's time value (VTK's
// "TimeValue").
//
// "VTK XML file formats", docs.vtk.org. Throws Error(configuration) where fields differ in extents or spacing, or have
// more dimensions; Error(io).
void write_vti(base::OutputFile& output, std::span<const FieldSource> fields, double time);

}  // namespace dcgn::stencil
