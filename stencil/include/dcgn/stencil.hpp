// Stencils: fields on a grid that is spread over ranks, stepped in time while their halos are on the way.
//
//   dcgn::Job job({.nodes = {{.cpus = 4}}});
//   job.cpu([](dcgn::Comm& comm) {
//     const dcgn::Grid grid({.extents = {1024, 1024}}, comm.size());
//     dcgn::Field<float> u(grid, comm);               // or (grid, comm, device): this rank's part is there
//     u.fill([](const dcgn::Box::Cell& at) { return at[0] < 512 ? 1.0f : 0.0f; });
//     dcgn::Stepper stepper(comm, Heat{0.1f}, {.dt = 0.5}, u);
//     stepper.run(1000);
//   });
//   job.run();
#pragma once

#include <dcgn/stencil/field.hpp>
#include <dcgn/stencil/grid.hpp>
#include <dcgn/stencil/stepper.hpp>
