/* ---- drawing fibres and arrows ---- */

Object.assign(Drawer.prototype, {
  setUpMore() {
    const gl = this.gl;
    this.fibre = this.program(FIBRE_VERTEX, FIBRE_FRAGMENT, '');
    this.fibreShadow = this.program(FIBRE_VERTEX, FIBRE_FRAGMENT, '#define SHADOW\n');
    this.arrow = this.program(ARROW_VERTEX, LINE_FRAGMENT, '');
    this.fibres = { ends: gl.createBuffer(), colours: gl.createBuffer(), array: gl.createVertexArray(), count: 0, radius: 0 };
    this.arrows = { buffer: gl.createBuffer(), array: gl.createVertexArray(), count: 0 };
    const attribute = (place, size, type, normal, stride, at) => {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, type, normal, stride, at);
      gl.vertexAttribDivisor(place, 1);
    };
    gl.bindVertexArray(this.fibres.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.fibres.ends);
    attribute(0, 4, gl.FLOAT, false, 32, 0);
    attribute(1, 4, gl.FLOAT, false, 32, 16);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.fibres.colours);
    attribute(2, 4, gl.UNSIGNED_BYTE, true, 4, 0);
    gl.bindVertexArray(this.arrows.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.arrows.buffer);
    attribute(0, 3, gl.UNSIGNED_SHORT, true, 12, 0);
    attribute(1, 3, gl.SHORT, true, 12, 6);
    gl.bindVertexArray(null);
  },

  setMore(frame) {
    const gl = this.gl, upload = (buffer, data) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    };
    this.fibres.count = this.arrows.count = 0;
    if (frame.fibres) {
      const pieces = fibrePieces(frame);
      this.fibres.count = pieces.count;
      this.fibres.radius = frame.fibres.radius;
      upload(this.fibres.ends, pieces.ends);
      upload(this.fibres.colours, pieces.colours);
    }
    if (frame.arrows) {
      this.arrows.count = frame.arrows.count;
      upload(this.arrows.buffer, frame.arrows.positions);
    }
  },

  drawFibres(program, options, view, proj, pixels, orthographic) {
    const gl = this.gl;
    if (!this.fibres.count)
      return;
    this.use(program, { view, proj, pixels, orthographic, slice: options.slice || [0, 0, 0, 1], colours: this.map });
    gl.bindVertexArray(this.fibres.array);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.fibres.count);
  },

  /* In front of everything a little, so that they are seen inside a bed too; where nothing hides them they are strong. */
  drawArrows(options, view, proj) {
    const gl = this.gl, f = this.frame;
    if (!this.arrows.count || !options.arrows)
      return;
    const values = { lower: f.lower, size: f.size, view, proj, scale: 1.8 * f.arrows.width * options.arrowSize, least: 0.004, orthographic: options.camera.orthographic ? 1 : 0,
      slice: options.slice || [0, 0, 0, 1], paint: [0.07, 0.2, 0.36] };
    gl.bindVertexArray(this.arrows.array);
    gl.disable(gl.DEPTH_TEST);
    this.use(this.arrow, { ...values, opacity: f.flags & FLAG_TWO ? 0.85 : 0.3 });
    gl.drawArraysInstanced(gl.TRIANGLES, 0, 9, this.arrows.count);
    gl.enable(gl.DEPTH_TEST);
    if (f.flags & FLAG_TWO)
      return;
    this.use(this.arrow, { ...values, opacity: 0.85 });
    gl.drawArraysInstanced(gl.TRIANGLES, 0, 9, this.arrows.count);
  },
});
