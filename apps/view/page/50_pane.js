/* ---- a pane: a source, a picture of it, and the pointer on that picture ---- */

const CACHE_BYTES = 300e6;

class Pane {
  constructor(app, run) {
    this.app = app;
    this.run = run;
    this.element = document.createElement('div');
    this.element.className = 'pane';
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'picture of the grains; arrow keys turn it');
    this.name = document.createElement('p');
    this.name.className = 'name';
    this.note = document.createElement('p');
    this.note.className = 'note';
    this.mark = document.createElement('div');
    this.mark.className = 'mark';
    this.mark.hidden = true;
    this.element.append(this.canvas, this.name, this.note, this.mark);
    document.getElementById('panes').append(this.element);
    this.drawer = new Drawer(this.canvas);
    this.cache = new Map(); /* frame number to frame, oldest first */
    this.cached = 0;
    this.asked = new Map();
    this.lost = new Set();
    this.frames = [];
    this.frame = null;
    this.probed = null;
    this.source = makeSource(run);
    this.source.onmessage = m => this.onmessage(m);
    this.source.onframe = f => this.onframe(f);
    this.source.onstate = (text, bad) => {
      if (bad)
        this.asked.clear();
      app.say(text, bad);
    };
    this.canvas.addEventListener('webglcontextlost', event => {
      event.preventDefault();
      app.say('the graphics were lost; waiting for them', true);
    });
    this.canvas.addEventListener('webglcontextrestored', () => {
      this.drawer.setUp();
      this.drawer.setScene(this.scene);
      if (this.frame)
        this.drawer.setFrame(this.frame);
      app.say('the graphics are back', false);
      app.redraw();
    });
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.listen();
    this.source.open();
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2), width = Math.max(2, Math.round(this.element.clientWidth * ratio)), height = Math.max(2, Math.round(this.element.clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.app.redraw();
    }
  }

  get aspect() {
    return this.canvas.width / this.canvas.height;
  }

  onmessage(m) {
    if (m.type === 'scene') {
      const again = this.scene !== undefined;
      this.scene = m;
      this.frames = m.frames || [];
      this.forget();
      this.drawer.setScene(m);
      this.name.textContent = m.mode === 'play' ? `${m.title || m.name} (${m.method})` : m.name;
      this.app.onscene(this, again);
    } else if (m.type === 'frames') {
      const following = this.run === 0 && this.app.atEnd();
      this.frames = m.frames;
      this.lost.clear();
      this.app.onframes(this, following);
    } else if (m.type === 'lost') {
      this.lost.add(m.frame);
      this.asked.delete(m.frame);
      this.app.say(m.text, true);
      this.app.redraw();
    } else if (m.type === 'body') {
      for (let k = this.scene.bodies.length; k <= m.index; k++)
        this.scene.bodies.push({ vertices: '', triangles: '' });
      this.scene.bodies[m.index] = m;
      this.drawer.addBody(m.index, m);
    } else
      this.app.onmessage(this, m);
  }

  onframe(f) {
    const asked = this.asked.get(f.frame);
    this.asked.delete(f.frame);
    if (this.scene && this.scene.mode === 'play') {
      this.show(f);
      requestAnimationFrame(() => this.source.send({ type: 'ack', frame: f.frame }));
      this.app.onlive(this, f);
      return;
    }
    if (asked !== undefined && asked !== this.app.colourKey)
      return; /* of colours that are no more wanted */
    this.cache.set(f.frame, f);
    this.cached += f.bytes;
    for (const [number, old] of this.cache) {
      if (this.cached <= CACHE_BYTES || this.cache.size <= 2)
        break;
      this.cache.delete(number);
      this.cached -= old.bytes;
    }
    if (f.frame === this.wanted)
      this.show(f);
    this.app.onarrived(this, f);
  }

  /* Colours changed: frames in memory have the old ones. */
  forget() {
    this.cache.clear();
    this.cached = 0;
    this.asked.clear();
  }

  show(f) {
    this.frame = f;
    this.drawer.setFrame(f);
    this.note.textContent = [f.stride > 1 ? `thinned: ${f.count.toLocaleString('en')} of ${f.total.toLocaleString('en')} grains` : '',
      f.arrows ? `arrows: ${this.app.arrows}, at most ${shortNumber(f.arrows.longest)} ${this.app.units[this.app.arrows] || ''}` : ''].filter(t => t).join('; ');
    if (this.run === 0)
      for (const id of ['sand', 'grain-size'])
        byId(id).parentElement.hidden = !f.total || id === 'sand' && this.scene.dim === 2;
    const what = f.total || !f.fibres ? `${f.total} grains` : `${f.fibres.count} fibres`;
    this.canvas.setAttribute('aria-label', `${this.scene.title || this.scene.name}: ${what} at ${f.time.toFixed(3)} s; arrow keys turn the view`);
    this.app.redraw();
  }

  ask(number) {
    if (number === undefined || this.cache.has(number) || this.lost.has(number) || this.asked.get(number) === this.app.colourKey || this.asked.size > 6)
      return;
    this.asked.set(number, this.app.colourKey);
    this.source.send({ type: 'seek', frame: number });
  }

  /* The frame nearest to a time; and some that follow it. */
  seek(time, ahead) {
    if (!this.frames.length)
      return;
    const k = this.placeAt(time), number = this.frames[k];
    this.wanted = number;
    const have = this.cache.get(number);
    if (have && have !== this.frame)
      this.show(have);
    this.ask(number);
    for (let a = 1; a <= ahead; a++)
      this.ask(this.frames[k + a]);
  }

  placeAt(time) {
    const wanted = time * this.scene.rate + 1e-6;
    let a = 0, b = this.frames.length - 1;
    while (a < b) {
      const m = (a + b + 1) >> 1;
      if (this.frames[m] <= wanted)
        a = m;
      else
        b = m - 1;
    }
    return a;
  }

  /* ---- the pointer ---- */

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [2 * (event.clientX - box.left) / box.width - 1, 1 - 2 * (event.clientY - box.top) / box.height];
  }

  listen() {
    const c = this.canvas, pointers = new Map();
    let moved = 0, pinch = 0;
    c.addEventListener('pointerdown', event => {
      c.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, this.point(event));
      moved = 0;
      if (pointers.size === 1 && event.button === 0 && !event.shiftKey && this.app.toolDown(this, this.point(event)))
        this.tooling = true;
    });
    c.addEventListener('pointermove', event => {
      const before = pointers.get(event.pointerId), now = this.point(event);
      if (!before)
        return;
      pointers.set(event.pointerId, now);
      const dx = now[0] - before[0], dy = now[1] - before[1];
      moved += Math.abs(dx) + Math.abs(dy);
      if (this.tooling) {
        this.app.toolMove(this, now);
        return;
      }
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()], size = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (pinch > 0)
          this.app.setCamera(this, zoom(this.camera, pinch / size));
        pinch = size;
        this.app.setCamera(this, pan(this.camera, dx * this.aspect / 4, dy / 4));
      } else if (event.buttons & 2 && this.app.tools.mouse(dx, dy))
        return;
      else if (event.buttons & 6 || event.shiftKey)
        this.app.setCamera(this, pan(this.camera, dx * this.aspect / 2, dy / 2));
      else
        this.app.setCamera(this, orbit(this.camera, 2 * dx * this.aspect, -1.6 * dy, this.scene.up));
    });
    const up = event => {
      pointers.delete(event.pointerId);
      pinch = 0;
      this.app.tools.mouse(0, 0);
      if (this.tooling) {
        this.tooling = false;
        this.app.toolUp(this);
      } else if (event.type === 'pointerup' && moved < 0.01 && event.button === 0)
        this.probe(this.point(event));
    };
    c.addEventListener('pointerup', up);
    c.addEventListener('pointercancel', up);
    c.addEventListener('contextmenu', event => event.preventDefault());
    c.addEventListener('wheel', event => {
      event.preventDefault();
      if (this.tooling && this.app.tools.wheel(event.deltaY, event.shiftKey))
        return;
      this.app.setCamera(this, zoom(this.camera, Math.exp(0.0012 * Math.max(-300, Math.min(300, event.deltaY)))));
    }, { passive: false });
  }

  /* ---- the probe ---- */

  kept(p) {
    const s = this.app.slicePlane(this);
    return !s || s[0] * p[0] + s[1] * p[1] + s[2] * p[2] <= s[3];
  }

  pick(at) {
    if (!this.frame)
      return -1;
    return pickGrain(this.frame, ray(this.camera, this.aspect, at[0], at[1]), this.app.grainSize * thinnedSize(this.frame.stride), p => this.kept(p));
  }

  probe(at) {
    const i = this.pick(at), f = this.frame;
    if (i < 0) {
      this.probed = null;
      this.app.showProbe(this, null);
      if (this.scene.mode === 'play')
        this.source.send({ type: 'probe', down: false });
      return;
    }
    const live = this.scene.mode === 'play';
    this.probed = { position: grainPosition(f, i), frame: f.frame, path: [] };
    this.app.showProbe(this, { position: this.probed.position, value: f.colours && f.flags & FLAG_VALUE ? f.low + (f.high - f.low) * f.colours[i] / 255 : null });
    this.source.send(live ? { type: 'probe', down: true, position: this.probed.position } : { type: 'probe', frame: f.frame, index: i, stride: f.stride });
  }

  draw() {
    if (!this.scene || !this.camera)
      return;
    const app = this.app;
    this.drawer.draw({ camera: this.camera, full: app.look === 'full', grainSize: app.grainSize, sand: app.sand, bodies: app.showBodies, walls: app.showWalls, fibres: app.showFibres, arrows: app.arrows, arrowSize: app.arrowSize, slice: app.slicePlane(this),
      path: this.probed ? this.probed.path : null });
    const show = this.probed && this.frame && this.probed.position;
    this.mark.hidden = !show;
    if (show) {
      const p = project(this.camera, this.aspect, this.probed.position);
      this.mark.style.left = `${50 * (p.x + 1)}%`;
      this.mark.style.top = `${50 * (1 - p.y)}%`;
      this.mark.hidden = p.z <= 0 && !this.camera.orthographic;
    }
  }
}
