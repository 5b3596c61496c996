// What an image is, and whether pixels are in it.
#include "pixels/src/access.hpp"
#include "pixels/src/gl.hpp"

#include <dcgn/error.hpp>

namespace dcgn::pixels {

namespace {

struct Size {
  int width = 0, height = 0, layers = 1;
};

std::string text(const Size& size) { return std::to_string(size.width) + " x " + std::to_string(size.height); }

std::string text(const Rectangle& r) {
  return std::to_string(r.width) + " x " + std::to_string(r.height) + " at (" + std::to_string(r.x) + ", " +
         std::to_string(r.y) + ")";
}

int level_parameter(const Checked& image, GLenum what) {
  GLint value = 0;
  gl().get_texture_level_parameteriv(image.name, image.level, what, &value);
  return value;
}

Size size_of_texture(const char* operation, Checked& image) {
  const std::string name = "texture " + std::to_string(image.name);
  if (!gl().is_texture(image.name)) throw Error(Code::device, operation, name + " is none of the context");
  GLint target = 0;
  gl().get_texture_parameteriv(image.name, GL_TEXTURE_TARGET, &target);
  image.target = static_cast<unsigned>(target);
  if (image.target == GL_TEXTURE_BUFFER || image.target == GL_TEXTURE_2D_MULTISAMPLE ||
      image.target == GL_TEXTURE_2D_MULTISAMPLE_ARRAY)
    throw Error(Code::unsupported, operation,
                name + " is " + (image.target == GL_TEXTURE_BUFFER ? "a buffer" : "of several samples") +
                    ", expected one with pixels of one sample");
  if (image.level < 0 || image.level > 30)
    throw Error(Code::invalid_size, operation, name + ": level " + std::to_string(image.level) + " is out of range");
  Size size{level_parameter(image, GL_TEXTURE_WIDTH), level_parameter(image, GL_TEXTURE_HEIGHT),
            level_parameter(image, GL_TEXTURE_DEPTH)};
  check_error(operation, name + ", level " + std::to_string(image.level), Code::invalid_size);
  if (size.width == 0)
    throw Error(Code::invalid_size, operation, name + " has no level " + std::to_string(image.level));
  if (image.target == GL_TEXTURE_CUBE_MAP) size.layers = 6;
  if (image.layer < 0 || image.layer >= size.layers)
    throw Error(Code::invalid_size, operation,
                name + ": layer " + std::to_string(image.layer) + " is out of range, expected 0.." +
                    std::to_string(size.layers - 1));
  if (level_parameter(image, GL_TEXTURE_COMPRESSED))
    throw Error(Code::unsupported, operation, name + " is compressed, expected one that is not");
  image.internal_format = static_cast<unsigned>(level_parameter(image, GL_TEXTURE_INTERNAL_FORMAT));
  return size;
}

Size size_of_renderbuffer(const char* operation, Checked& image) {
  const std::string name = "renderbuffer " + std::to_string(image.name);
  if (!gl().is_renderbuffer(image.name)) throw Error(Code::device, operation, name + " is none of the context");
  const auto parameter = [&](GLenum what) {
    GLint value = 0;
    gl().get_named_renderbuffer_parameteriv(image.name, what, &value);
    return value;
  };
  if (parameter(GL_RENDERBUFFER_SAMPLES) > 0)
    throw Error(Code::unsupported, operation, name + " is of several samples, expected one that is resolved");
  image.target = GL_RENDERBUFFER;
  image.internal_format = static_cast<unsigned>(parameter(GL_RENDERBUFFER_INTERNAL_FORMAT));
  return {parameter(GL_RENDERBUFFER_WIDTH), parameter(GL_RENDERBUFFER_HEIGHT)};
}

Size size_of_window(const char* operation, Checked& image, unsigned attachment) {
  const WindowSize window = window_size();
  if (window.width == 0) throw Error(Code::device, operation, "framebuffer 0 is not there: the context has no window");
  GLint samples = 0;
  gl().get_named_framebuffer_parameteriv(0, GL_SAMPLES, &samples);
  if (samples > 0) throw Error(Code::unsupported, operation, "the window is of several samples, expected one");
  image.kind = Checked::Kind::window;
  image.buffer = attachment;
  image.internal_format = attachment == GL_DEPTH || attachment == GL_STENCIL ? GL_DEPTH24_STENCIL8 : GL_RGBA8;
  return {window.width, window.height};
}

// Of a framebuffer object: what is attached to it.
Size size_of_attachment(const char* operation, Checked& image, unsigned framebuffer, unsigned attachment) {
  const std::string name = "framebuffer " + std::to_string(framebuffer) + ", attachment " + std::to_string(attachment);
  if (!gl().is_framebuffer(framebuffer))
    throw Error(Code::device, operation, "framebuffer " + std::to_string(framebuffer) + " is none of the context");
  const auto parameter = [&](GLenum what) {
    GLint value = 0;
    gl().get_named_framebuffer_attachment_parameteriv(framebuffer, attachment, what, &value);
    check_error(operation, name, Code::invalid_type);
    return value;
  };
  const int type = parameter(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE);
  if (type == GL_NONE) throw Error(Code::invalid_type, operation, name + ": nothing is attached there");
  image.name = static_cast<unsigned>(parameter(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME));
  if (type == GL_RENDERBUFFER) {
    image.kind = Checked::Kind::renderbuffer;
    return size_of_renderbuffer(operation, image);
  }
  if (parameter(GL_FRAMEBUFFER_ATTACHMENT_LAYERED))
    throw Error(Code::invalid_type, operation, name + " has many layers, expected one: name the texture and its layer");
  image.level = parameter(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LEVEL);
  const int face = parameter(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_CUBE_MAP_FACE);
  image.layer = face ? face - GL_TEXTURE_CUBE_MAP_POSITIVE_X : parameter(GL_FRAMEBUFFER_ATTACHMENT_TEXTURE_LAYER);
  return size_of_texture(operation, image);
}

Size look_at(const char* operation, const Image& image, Checked& checked) {
  switch (image.kind) {
    case Image::Kind::texture: return size_of_texture(operation, checked);
    case Image::Kind::renderbuffer: return size_of_renderbuffer(operation, checked);
    case Image::Kind::framebuffer:
      return image.name == 0 ? size_of_window(operation, checked, image.attachment)
                             : size_of_attachment(operation, checked, image.name, image.attachment);
  }
  return {};
}

bool holds(Content image, Content asked) {
  return image == asked || (image == Content::depth_stencil && (asked == Content::depth || asked == Content::stencil));
}

}  // namespace

Checked Checked::rows(int first, int count) const {
  Checked part = *this;
  part.rectangle.y += first;
  part.rectangle.height = count;
  return part;
}

Checked check(const char* operation, const Pixels& pixels) {
  check_context(operation);
  check_error(operation, "an error of before this call");
  const Image& image = pixels.image;
  Checked checked{
      .kind = image.kind == Image::Kind::renderbuffer ? Checked::Kind::renderbuffer : Checked::Kind::texture,
      .name = image.name,
      .level = image.level,
      .layer = image.layer,
      .format = pixel_format(operation, pixels.format, pixels.type)};
  const Size size = look_at(operation, image, checked);
  const Content content = content_of(checked.internal_format);
  if (!holds(content, checked.format.content))
    throw Error(Code::invalid_type, operation,
                "the image holds " + to_string(content) + ", expected " + to_string(checked.format.content) + " for " +
                    name_of_format(pixels.format));
  checked.rectangle = pixels.rectangle.value_or(Rectangle{0, 0, size.width, size.height});
  const Rectangle& r = checked.rectangle;
  if (r.x < 0 || r.y < 0 || r.width < 0 || r.height < 0 || r.width > size.width - r.x || r.height > size.height - r.y)
    throw Error(Code::invalid_size, operation,
                "the rectangle, " + text(r) + ", is not inside the image, " + text(size));
  return checked;
}

}  // namespace dcgn::pixels
