// The bodies as a picture, seen along the z axis: each a faint spot of light.
#pragma once

#include "apps/image/image.hpp"
#include "apps/nbody/nbody.hpp"

#include <string>
#include <vector>

namespace dcgn::nbody {

// `reach` is from the middle to the nearer border. The first half of the bodies is blue, the rest amber. `caption`, if
// any, is at the bottom left.
image::Image picture(const std::vector<Body>& bodies, int width, int height, double reach,
                     const std::string& caption = {});

}  // namespace dcgn::nbody
