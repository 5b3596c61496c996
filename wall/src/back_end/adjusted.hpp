// GL's functions that the library does more for than to pass them on. The generator of calls reads here which they are.
#pragma once

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>

namespace dcgn::wall::adjusted {

// drawing.cpp: where things are in the window
void glViewport(GLint x, GLint y, GLsizei width, GLsizei height);
void glViewportArrayv(GLuint first, GLsizei count, const GLfloat* v);
void glViewportIndexedf(GLuint index, GLfloat x, GLfloat y, GLfloat w, GLfloat h);
void glViewportIndexedfv(GLuint index, const GLfloat* v);
void glScissor(GLint x, GLint y, GLsizei width, GLsizei height);
void glScissorArrayv(GLuint first, GLsizei count, const GLint* v);
void glScissorIndexed(GLuint index, GLint left, GLint bottom, GLsizei width, GLsizei height);
void glScissorIndexedv(GLuint index, const GLint* v);
void glEnable(GLenum cap);
void glDisable(GLenum cap);
GLboolean glIsEnabled(GLenum cap);
void glClear(GLbitfield mask);
void glClearBufferiv(GLenum buffer, GLint drawbuffer, const GLint* value);
void glClearBufferuiv(GLenum buffer, GLint drawbuffer, const GLuint* value);
void glClearBufferfv(GLenum buffer, GLint drawbuffer, const GLfloat* value);
void glClearBufferfi(GLenum buffer, GLint drawbuffer, GLfloat depth, GLint stencil);
void glNewList(GLuint list, GLenum mode);
void glEndList();
void glAccum(GLenum op, GLfloat value);
void glDrawBuffer(GLenum buffer);
void glPushAttrib(GLbitfield mask);
void glPopAttrib();
void glGetIntegerv(GLenum pname, GLint* params);
void glGetFloatv(GLenum pname, GLfloat* params);
void glGetDoublev(GLenum pname, GLdouble* params);
void glGetBooleanv(GLenum pname, GLboolean* params);
void glBindFramebuffer(GLenum target, GLuint framebuffer);
void glBindFramebufferEXT(GLenum target, GLuint framebuffer);
void glDeleteFramebuffers(GLsizei n, const GLuint* framebuffers);
void glDeleteFramebuffersEXT(GLsizei n, const GLuint* framebuffers);

// position.cpp: raster positions in the window, patterns that lie in it, and what shaders ask
void glWindowPos2d(GLdouble x, GLdouble y);
void glWindowPos2dv(const GLdouble* v);
void glWindowPos2f(GLfloat x, GLfloat y);
void glWindowPos2fv(const GLfloat* v);
void glWindowPos2i(GLint x, GLint y);
void glWindowPos2iv(const GLint* v);
void glWindowPos2s(GLshort x, GLshort y);
void glWindowPos2sv(const GLshort* v);
void glWindowPos3d(GLdouble x, GLdouble y, GLdouble z);
void glWindowPos3dv(const GLdouble* v);
void glWindowPos3f(GLfloat x, GLfloat y, GLfloat z);
void glWindowPos3fv(const GLfloat* v);
void glWindowPos3i(GLint x, GLint y, GLint z);
void glWindowPos3iv(const GLint* v);
void glWindowPos3s(GLshort x, GLshort y, GLshort z);
void glWindowPos3sv(const GLshort* v);
void glPolygonStipple(const GLubyte* mask);
void glGetPolygonStipple(GLubyte* mask);
GLint glRenderMode(GLenum mode);
void glFeedbackBuffer(GLsizei size, GLenum type, GLfloat* buffer);
void glShaderSource(GLuint shader, GLsizei count, const GLchar* const* string, const GLint* length);

// pixels.cpp: pixels of the window, which are on all screens
void glReadPixels(GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type, void* pixels);
void glReadnPixels(GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type, GLsizei size,
                   void* pixels);
void glCopyPixels(GLint x, GLint y, GLsizei width, GLsizei height, GLenum type);
void glCopyTexImage1D(GLenum target, GLint level, GLenum internal, GLint x, GLint y, GLsizei width, GLint border);
void glCopyTexImage2D(GLenum target, GLint level, GLenum internal, GLint x, GLint y, GLsizei width, GLsizei height,
                      GLint border);
void glCopyTexSubImage1D(GLenum target, GLint level, GLint xoffset, GLint x, GLint y, GLsizei width);
void glCopyTexSubImage2D(GLenum target, GLint level, GLint xoffset, GLint yoffset, GLint x, GLint y, GLsizei width,
                         GLsizei height);
void glCopyTexSubImage3D(GLenum target, GLint level, GLint xoffset, GLint yoffset, GLint zoffset, GLint x, GLint y,
                         GLsizei width, GLsizei height);
void glBlitFramebuffer(GLint x0, GLint y0, GLint x1, GLint y1, GLint to_x0, GLint to_y0, GLint to_x1, GLint to_y1,
                       GLbitfield mask, GLenum filter);

}  // namespace dcgn::wall::adjusted
