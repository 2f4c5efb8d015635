/* ---- drawing: one WebGL2 context a pane ---- */

class Drawer {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext('webgl2', { antialias: false, alpha: false, powerPreference: 'high-performance', preserveDrawingBuffer: true });
    if (!this.gl)
      throw new Error('this browser has no WebGL 2');
    this.meshes = [];
    this.size = [0, 0];
    this.setUp();
  }

  /* Everything that a lost context takes away. */
  setUp() {
    const gl = this.gl;
    this.exact = this.program(GRAIN_VERTEX, GRAIN_FRAGMENT, '#define EXACT\n');
    this.flat = this.program(GRAIN_VERTEX, GRAIN_FRAGMENT, '');
    this.mesh = this.program(MESH_VERTEX, MESH_FRAGMENT, '');
    this.glass = this.program(MESH_VERTEX, GLASS_FRAGMENT, '');
    this.line = this.program(MESH_VERTEX, LINE_FRAGMENT, '');
    this.grainShadow = this.program(GRAIN_VERTEX, SHADOW_FRAGMENT, '#define ROUND\n');
    this.meshShadow = this.program(MESH_VERTEX, SHADOW_FRAGMENT, '');
    this.contact = this.program(FULL_VERTEX, CONTACT_FRAGMENT, '');
    this.light = this.program(FULL_VERTEX, LIGHT_FRAGMENT, '');
    this.copy = this.program(FULL_VERTEX, COPY_FRAGMENT, '');
    this.setUpMore();
    this.grains = { buffer: gl.createBuffer(), array: gl.createVertexArray(), count: 0 };
    this.none = gl.createVertexArray();
    this.lines = { buffer: gl.createBuffer(), array: gl.createVertexArray() };
    gl.bindVertexArray(this.lines.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lines.buffer);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 12, 0);
    gl.bindVertexArray(null);
    this.palette = this.lookup();
    this.map = this.lookup();
    this.mixes = null;
    this.targets = null;
    this.shadow = null;
    this.meshes = [];
    this.ground = null;
    this.frame = null;
  }

  program(vertex, fragment, defines) {
    const gl = this.gl, program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text.replace('precision highp int;\n', 'precision highp int;\n' + defines));
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
        throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
      throw new Error(gl.getProgramInfoLog(program));
    const at = {}, count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) || 0;
    for (let k = 0; k < count; k++) {
      const u = gl.getActiveUniform(program, k);
      at[u.name] = gl.getUniformLocation(program, u.name);
    }
    return { program, at };
  }

  lookup() {
    const gl = this.gl, texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, 256, 1);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    return texture;
  }

  setColours(texture, list) {
    const gl = this.gl, bytes = new Uint8Array(1024).fill(255);
    list.forEach((c, k) => bytes.set(c, 4 * k)); /* the fourth number of a colour: its row of mixes */
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  }

  setMixes(mixes) {
    const gl = this.gl, bytes = new Uint8Array(mixes.flatMap(row => row.flatMap(c => [...c, 255])));
    gl.deleteTexture(this.mixes);
    this.mixes = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.mixes);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, 64, mixes.length);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 64, mixes.length, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  target(format, width, height, filter) {
    const gl = this.gl, texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    return texture;
  }

  framebuffer(colours, depth) {
    const gl = this.gl, fb = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, fb);
    colours.forEach((t, k) => gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + k, gl.TEXTURE_2D, t, 0));
    if (depth)
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, depth, 0);
    gl.drawBuffers(colours.length ? colours.map((t, k) => gl.COLOR_ATTACHMENT0 + k) : [gl.NONE]);
    return fb;
  }

  /* Textures of the size of the canvas. */
  makeTargets(width, height) {
    const gl = this.gl;
    if (this.targets && this.size[0] === width && this.size[1] === height)
      return;
    if (this.targets)
      Object.values(this.targets).forEach(t => t instanceof WebGLTexture ? gl.deleteTexture(t) : gl.deleteFramebuffer(t));
    this.size = [width, height];
    const t = { albedo: this.target(gl.RGBA8, width, height, gl.NEAREST), normal: this.target(gl.RGB10_A2, width, height, gl.NEAREST),
      depth: this.target(gl.DEPTH_COMPONENT24, width, height, gl.NEAREST), contact: this.target(gl.RG8, width, height, gl.NEAREST),
      picture: this.target(gl.RGBA8, width, height, gl.LINEAR) };
    t.scene = this.framebuffer([t.albedo, t.normal], t.depth);
    t.contacts = this.framebuffer([t.contact], null);
    t.lit = this.framebuffer([t.picture], null);
    t.over = this.framebuffer([t.picture], t.depth);
    this.targets = t;
    if (!this.shadow) {
      const size = 1536, depth = this.target(gl.DEPTH_COMPONENT24, size, size, gl.LINEAR);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL);
      this.shadow = { size, depth, fb: this.framebuffer([], depth) };
    }
  }

  makeMesh(vertices, triangles) {
    const gl = this.gl, mesh = { array: gl.createVertexArray(), count: triangles.length };
    gl.bindVertexArray(mesh.array);
    mesh.buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 12, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return mesh;
  }

  /* With a normal at each corner of each triangle: the mean of the faces around that meet it below 35 degrees, as in our pictures. */
  makeSmoothMesh(vertices, triangles) {
    const gl = this.gl, corners = cornerNormals(vertices, triangles), mesh = { array: gl.createVertexArray(), count: triangles.length, smooth: true };
    gl.bindVertexArray(mesh.array);
    mesh.buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    for (const place of [0, 1]) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 24, 12 * place);
    }
    gl.bindVertexArray(null);
    return mesh;
  }

  makeBox(a, b) {
    const v = [];
    for (let k = 0; k < 8; k++)
      v.push(k & 1 ? b[0] : a[0], k & 2 ? b[1] : a[1], k & 4 ? b[2] : a[2]);
    return this.makeMesh(new Float32Array(v), new Uint32Array([0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5]));
  }

  addBody(index, b) {
    this.meshes[index] = { ...this.makeSmoothMesh(new Float32Array(decodeBase64(b.vertices)), new Uint32Array(decodeBase64(b.triangles))), body: b };
  }

  setScene(scene) {
    this.scene = scene;
    this.setColours(this.palette, scene.palette.map((c, k) => [...c, scene.rows[k]]));
    this.setMixes(scene.mixes);
    this.setColours(this.map, scene.map);
    this.meshes = [];
    scene.bodies.forEach((b, k) => this.addBody(k, b));
    const lower = scene.lower, upper = scene.upper;
    this.middle = scale(0.5, add(lower, upper));
    this.reach = 0.5 * norm(sub(upper, lower));
    this.ground = null;
    if (scene.ground) {
      const n = scene.ground.normal, side = cross(Math.abs(n[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], n), other = cross(n, side), v = [], far = 40 * this.reach;
      for (const [a, b] of [[-1, -1], [1, -1], [-1, 1], [1, 1]])
        v.push(...add(add(scene.ground.point, scale(-1e-4 * this.reach, n)), add(scale(a * far, side), scale(b * far, other))));
      this.ground = this.makeMesh(new Float32Array(v), new Uint32Array([0, 1, 2, 1, 3, 2]));
    }
    this.boards = [];
    if (scene.tray > 0) { /* as high as the bed, outside the domain */
      const u = scene.up.findIndex(x => x !== 0), s = [0, 1, 2].filter(d => d !== u), low = scene.up[u] > 0 ? lower[u] : upper[u] - scene.tray;
      const thick = 0.022 * Math.max(...s.map(d => upper[d] - lower[d]));
      for (let k = 0; k < 4; k++) {
        const across = s[k >> 1], along = s[1 - (k >> 1)], a = [0, 0, 0], b = [0, 0, 0];
        a[u] = low, b[u] = low + scene.tray;
        a[across] = k & 1 ? upper[across] : lower[across] - thick, b[across] = a[across] + thick;
        a[along] = lower[along] - (k >> 1 ? thick : 0), b[along] = upper[along] + (k >> 1 ? thick : 0);
        this.boards.push(this.makeBox(a, b));
      }
    }
    this.walls = this.makeBox(lower, upper);
  }

  setFrame(frame) {
    const gl = this.gl, g = this.grains;
    this.frame = frame;
    g.count = frame.count;
    gl.bindVertexArray(g.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, g.buffer);
    const at = frame.positions.byteOffset, bytes = new Uint8Array(frame.positions.buffer, at);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STREAM_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 6, 0);
    for (const [place, array] of [[1, frame.colours], [2, frame.radii], [3, frame.tones]])
      if (array) {
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, 1, gl.UNSIGNED_BYTE, true, 1, array.byteOffset - at);
      } else {
        gl.disableVertexAttribArray(place);
        gl.vertexAttrib1f(place, 1);
      }
    gl.bindVertexArray(null);
    this.setMore(frame);
  }

  use(p, values) {
    const gl = this.gl;
    gl.useProgram(p.program);
    let unit = 0;
    for (const [name, value] of Object.entries(values)) {
      const at = p.at[name];
      if (at === undefined)
        continue;
      if (value instanceof WebGLTexture) {
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(gl.TEXTURE_2D, value);
        gl.uniform1i(at, unit++);
      } else if (typeof value === 'number')
        gl.uniform1f(at, value);
      else if (value.length === 16)
        gl.uniformMatrix4fv(at, false, value);
      else
        gl[`uniform${value.length}fv`](at, value);
    }
    gl.activeTexture(gl.TEXTURE0);
  }

  /* The bodies of the frame, each with its pose. */
  eachBody(f) {
    this.meshes.forEach((m, b) => {
      const state = this.frame && this.frame.bodies[b];
      if (m.count && state && state.present)
        f(m, poseMatrix(state.position, state.orientation));
    });
  }

  drawMesh(mesh) {
    const gl = this.gl;
    gl.bindVertexArray(mesh.array);
    if (mesh.smooth)
      gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
    else
      gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }

  grainUniforms(options) {
    const f = this.frame, thin = thinnedSize(f.stride), split = this.splitOf(options);
    return { split, rough: split > 1 || f.flags & FLAG_FINE ? 0.16 : 0, values: f.flags & FLAG_VALUE ? 1 : 0, mixes: this.mixes, lower: f.lower, size: f.size, radius: f.radius * options.grainSize * thin, fine: f.flags & FLAG_FINE ? 1 : 0, slice: options.slice || [0, 0, 0, 1],
      colours: f.flags & FLAG_VALUE ? this.map : this.palette };
  }

  /* Into how many grains a particle is split; 1: it is shown as a ball. */
  splitOf(options) {
    const f = this.frame;
    return options.sand && f && f.tones && f.count && f.stride === 1 && !(f.flags & FLAG_TWO) ? Math.max(1, Math.min(28, Math.round(3e5 / f.count))) : 1;
  }

  /* Grains that are capsules come as rods: no balls in them. */
  drawGrains(split) {
    if (this.frame.fibres && this.frame.fibres.round)
      return;
    this.gl.bindVertexArray(this.grains.array);
    this.gl.drawArraysInstanced(this.gl.POINTS, 0, this.grains.count, split);
  }

  drawShadows(options, sun) {
    const gl = this.gl, s = this.shadow, c = { eye: add(this.middle, scale(3 * this.reach, sun)), target: this.middle, up: Math.abs(sun[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], orthographic: true, extent: 2 * this.reach, fov: 0.6 };
    const view = viewMatrix(c), { matrix: proj } = projection(c, 1, 1.6 * this.reach);
    gl.bindFramebuffer(gl.FRAMEBUFFER, s.fb);
    gl.viewport(0, 0, s.size, s.size);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    if (this.frame && this.grains.count) {
      this.use(this.grainShadow, { ...this.grainUniforms(options), view, proj, pixels: s.size, orthographic: 1 });
      this.drawGrains(this.splitOf(options));
    }
    if (options.fibres)
      this.drawFibres(this.fibreShadow, options, view, proj, s.size, 1);
    if (options.bodies && this.scene.dim === 3) /* those of a section are as thick as they come out: their shadows would mean nothing */
      this.eachBody((m, model) => {
        if (m.body.container)
          return;
        this.use(this.meshShadow, { model, view, proj });
        this.drawMesh(m);
      });
    this.use(this.meshShadow, { model: IDENTITY, view, proj });
    this.boards.forEach(b => this.drawMesh(b));
    return multiply(proj, view);
  }

  drawSolids(options, view, proj) {
    const gl = this.gl, scene = this.scene;
    if (this.frame && this.grains.count) {
      const exact = options.full && this.grains.count <= 400000;
      this.use(exact ? this.exact : this.flat, { ...this.grainUniforms(options), view, proj, pixels: this.size[1], orthographic: options.camera.orthographic ? 1 : 0 });
      this.drawGrains(this.splitOf(options));
    }
    if (options.fibres)
      this.drawFibres(this.fibre, options, view, proj, this.size[1], options.camera.orthographic ? 1 : 0);
    if (options.bodies)
      this.eachBody((m, model) => {
        if (m.body.container)
          return;
        this.use(this.mesh, { model, view, proj, paint: m.body.colour, kind: 0.8, smoothed: 1 });
        this.drawMesh(m);
      });
    this.use(this.mesh, { model: IDENTITY, view, proj, paint: [0.59, 0.48, 0.37], kind: 0.8, smoothed: 0 });
    this.boards.forEach(b => this.drawMesh(b));
    if (this.ground) {
      this.use(this.mesh, { model: IDENTITY, view, proj, paint: scene.ground.colour.map(c => c / 255), kind: 0.4, smoothed: 0 });
      this.drawMesh(this.ground);
    }
  }

  drawOver(options, view, proj) {
    const gl = this.gl, scene = this.scene;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets.over);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    if (options.bodies)
      this.eachBody((m, model) => {
        if (!m.body.container)
          return;
        this.use(this.glass, { model, view, proj, paint: m.body.colour, opacity: 0.13 });
        this.drawMesh(m);
      });
    if (scene.fluid) { /* what is under water looks so */
      this.use(this.glass, { model: IDENTITY, view, proj, paint: [0.36, 0.56, 0.66], opacity: 0.1 });
      this.drawMesh(this.walls);
    }
    if (options.walls) {
      this.use(this.glass, { model: IDENTITY, view, proj, paint: [0.45, 0.5, 0.6], opacity: 0.12 });
      this.drawMesh(this.walls);
    }
    this.drawArrows(options, view, proj);
    if (options.path && options.path.length > 1) {
      gl.disable(gl.DEPTH_TEST);
      this.use(this.line, { model: IDENTITY, view, proj, paint: [0.75, 0.12, 0.08], opacity: 0.9 });
      gl.bindVertexArray(this.lines.array);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.lines.buffer);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(options.path.flat()), gl.STREAM_DRAW);
      gl.drawArrays(gl.LINE_STRIP, 0, options.path.length);
      gl.enable(gl.DEPTH_TEST);
    }
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  fullScreen(fb, p, values) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, fb);
    gl.disable(gl.DEPTH_TEST);
    this.use(p, values);
    gl.bindVertexArray(this.none);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.enable(gl.DEPTH_TEST);
  }

  draw(options) {
    const gl = this.gl, scene = this.scene, [width, height] = [this.canvas.width, this.canvas.height];
    if (!scene || gl.isContextLost() || width < 2 || height < 2)
      return;
    this.makeTargets(width, height);
    const camera = options.camera, aspect = width / height, view = viewMatrix(camera);
    const seen = norm(sub(this.middle, camera.target)) + 1.6 * this.reach;
    const { matrix: proj } = projection(camera, aspect, this.ground ? 12 * seen : seen);
    const { right, up: high, back } = cameraBasis(camera), toView = v => [dot(right, v), dot(high, v), dot(back, v)];
    const sun = unit(scene.sun);
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    const shadowMatrix = options.full ? this.drawShadows(options, sun) : IDENTITY;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets.scene);
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.drawSolids(options, view, proj);
    const t = this.targets, unproject = invert(proj), pixel = [1 / width, 1 / height], grain = this.frame && this.frame.count ? this.frame.radius * options.grainSize / Math.cbrt(this.splitOf(options)) : this.fibres.count ? this.fibres.radius : 0.01 * this.reach;
    const reach = [Math.max(2.2 * grain, 0.004 * this.reach), Math.max(9 * grain, 0.05 * this.reach)];
    if (options.full)
      this.fullScreen(t.contacts, this.contact, { depths: t.depth, normals: t.normal, unproject, reach, pixel, perMetre: 0.5 * height * proj[5], orthographic: camera.orthographic ? 1 : 0 });
    this.fullScreen(t.lit, this.light, { depths: t.depth, albedos: t.albedo, normals: t.normal, contacts: t.contact, shadows: this.shadow.depth, unproject, pixel,
      toSun: multiply(shadowMatrix, invert(view)), sun: toView(sun), up: toView(scene.up), background: scene.background.map(c => c / 255),
      plain: options.full ? 0 : 1, fade: 1 / (14 * seen), shadowTexel: 1 / this.shadow.size, bias: 0.6 * grain + 0.002 * this.reach,
      groundPaint: scene.ground ? scene.ground.colour.map(c => c / 255) : [0.5, 0.5, 0.5] });
    this.drawOver(options, view, proj);
    this.fullScreen(null, this.copy, { picture: t.picture, albedos: t.albedo, pixel });
  }
}

const IDENTITY = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

/* The inverse of a 4×4 matrix, by Gauss–Jordan elimination. */
function invert(m) {
  const a = [];
  for (let r = 0; r < 4; r++)
    a.push([m[r], m[4 + r], m[8 + r], m[12 + r], ...[0, 1, 2, 3].map(k => k === r ? 1 : 0)]);
  for (let c = 0; c < 4; c++) {
    let best = c;
    for (let r = c + 1; r < 4; r++)
      if (Math.abs(a[r][c]) > Math.abs(a[best][c]))
        best = r;
    [a[c], a[best]] = [a[best], a[c]];
    const pivot = a[c][c] || 1e-30;
    a[c] = a[c].map(x => x / pivot);
    for (let r = 0; r < 4; r++)
      if (r !== c) {
        const f = a[r][c];
        a[r] = a[r].map((x, k) => x - f * a[c][k]);
      }
  }
  const out = new Float32Array(16);
  for (let r = 0; r < 4; r++)
    for (let c = 0; c < 4; c++)
      out[4 * c + r] = a[r][4 + c];
  return out;
}
