/* ---- play: tools, controls of the scene, gamepads ---- */

const TOOL_NAMES = ['look', 'hand', 'rake', 'scoop', 'spout'];
const TOOL_TEXTS = { look: 'turns the view', hand: 'a ball that pushes', rake: 'five tines', scoop: 'digs and carries', spout: 'pours grains' };

class Tools {
  constructor(app) {
    this.app = app;
    this.tool = 'look';
    this.size = 1;
    this.pitch = 0;
    this.height = 0;
    this.down = false;
    this.held = new Set();
    this.values = [];
    this.factor = null;
  }

  get pane() {
    return this.app.first;
  }

  setScene(scene) {
    if (this.scene) {
      this.scene = scene;
      return;
    }
    this.scene = scene;
    byId('tools').replaceChildren(...TOOL_NAMES.map(name => {
      const label = document.createElement('label'), input = document.createElement('input');
      input.type = 'radio';
      input.name = 'tool';
      input.value = name;
      input.checked = name === this.tool;
      input.onchange = () => this.choose(name);
      label.append(input, ` ${name}: ${TOOL_TEXTS[name]}`);
      return label;
    }));
    byId('tool-size').oninput = event => { this.size = Number(event.target.value); this.send(); };
    for (const id of ['lean-x', 'lean-y'])
      byId(id).oninput = () => this.lean();
    byId('lean-y').parentElement.hidden = scene.dim === 2;
    byId('controls').replaceChildren(...(scene.controls || []).map((c, k) => c.fixed ? '' : this.makeControl(c, k))); // fixed: goes with another
    this.values = (scene.controls || []).map(() => 0);
  }

  choose(name) {
    this.lift();
    this.tool = name;
    const input = document.querySelector(`#tools input[value="${name}"]`);
    input.checked = true;
    this.pane.canvas.classList.toggle('tool', name !== 'look');
    this.app.say(`${name}: ${TOOL_TEXTS[name]}`, false);
  }

  /* ---- gravity ---- */

  lean() {
    const s = this.scene, g = norm(s.gravity), axes = [0, 1, 2].filter(d => !s.up[d] && d < s.dim).map(d => [0, 1, 2].map(k => k === d ? 1 : 0));
    let direction = scale(-1, s.up);
    ['lean-x', 'lean-y'].forEach((id, k) => {
      if (axes[k])
        direction = add(direction, scale(Math.tan(Number(byId(id).value) * Math.PI / 180), axes[k]));
    });
    this.pane.source.send({ type: 'gravity', position: scale(g, unit(direction)) });
  }

  /* ---- controls of the scene ---- */

  makeControl(c, k) {
    const row = document.createElement('div'), name = document.createElement('span');
    row.className = 'row';
    name.textContent = c.name;
    row.append(name, ...[[-1, c.less, 'back'], [1, c.more, 'on']].map(([value, key, word]) => {
      const b = document.createElement('button');
      b.type = 'button';
      b.textContent = key ? `${word} (${key})` : word;
      b.setAttribute('aria-label', `${c.name} ${word}`);
      const press = on => { b.classList.toggle('held', on); this.control(k, on ? value : 0); };
      b.onpointerdown = event => { b.setPointerCapture(event.pointerId); press(true); };
      b.onpointerup = b.onpointercancel = () => press(false);
      b.onkeydown = event => { if ((event.key === ' ' || event.key === 'Enter') && !event.repeat) press(true); };
      b.onkeyup = event => { if (event.key === ' ' || event.key === 'Enter') press(false); };
      b.onblur = () => press(false);
      return b;
    }));
    return row;
  }

  control(index, value) {
    if (this.values[index] === value)
      return;
    this.values[index] = value;
    this.pane.source.send({ type: 'control', index, value });
  }

  isKey(name, event) {
    return name && (name.length === 1 ? name.toLowerCase() === event.key.toLowerCase() : name === event.key || name === event.code);
  }

  mouse(dx, dy) {
    let used = false;
    (this.scene && this.scene.controls || []).forEach((c, k) => {
      if (c.mouse) {
        this.control(k, Math.max(-1, Math.min(1, 40 * (c.mouse === 'x' ? dx : dy))));
        used = true;
      }
    });
    return used;
  }

  pollGamepads() {
    const pads = navigator.getGamepads ? [...navigator.getGamepads()].filter(p => p) : [];
    if (!pads.length || !this.scene || !(this.scene.controls || []).some(c => c.gamepad >= 0))
      return;
    this.scene.controls.forEach((c, k) => {
      const value = c.gamepad >= 0 && c.gamepad < pads[0].axes.length ? pads[0].axes[c.gamepad] : 0;
      const clean = Math.abs(value) < 0.12 ? 0 : Math.round(50 * value) / 50;
      if (c.gamepad >= 0 && (clean !== 0 || this.padWas && this.padWas[k]))
        this.control(k, clean);
      (this.padWas || (this.padWas = []))[k] = clean !== 0;
    });
    this.app.redraw();
  }

  releaseAll() {
    this.held.clear();
    this.values.forEach((v, k) => v && this.control(k, 0));
  }

  /* ---- keys ---- */

  onkey(event, down) {
    const controls = this.scene && this.scene.controls || [];
    let used = false;
    controls.forEach((c, k) => {
      if (down && event.shiftKey) // so the page's own meaning of the key is still there
        return;
      const more = this.isKey(c.more, event), less = this.isKey(c.less, event);
      if (!more && !less)
        return;
      used = true;
      if (!event.repeat)
        this.control(k, down ? (more ? 1 : -1) : 0);
    });
    if (used)
      return true;
    const key = event.key.toLowerCase();
    if (key === 't' && down) {
      this.choose(TOOL_NAMES[(TOOL_NAMES.indexOf(this.tool) + 1) % TOOL_NAMES.length]);
      return true;
    }
    if (key === 'escape' && this.down) {
      this.lift();
      return true;
    }
    if (this.tool !== 'look' && 'ijkluonm'.includes(key)) {
      if (down)
        this.held.add(key);
      else
        this.held.delete(key);
      if (down && !this.down)
        this.put(this.pane, [0, 0]);
      this.app.redraw();
      return true;
    }
    return false;
  }

  /* A key that a control of the scene has taken has the page's own meaning with Shift. */
  isTaken(key) {
    return (this.scene && this.scene.controls || []).some(c => [c.more, c.less].some(name => name && name.toLowerCase() === key.toLowerCase()));
  }

  keyTexts() {
    return (this.scene && this.scene.controls || []).filter(c => c.more || c.less).map(c => [`${c.less || '–'} and ${c.more || '–'}`, `${c.name}, back and on`]);
  }

  /* ---- the tool ---- */

  /* Where a ray meets the level at which the tool works; in 2D the plane of the section. */
  meet(pane, at) {
    const r = ray(pane.camera, pane.aspect, at[0], at[1]), n = this.scene.dim === 2 ? [0, 0, 1] : this.scene.up;
    const level = this.scene.dim === 2 ? 0 : this.level + this.height, slope = dot(r.along, n);
    if (Math.abs(slope) < 0.02)
      return null;
    const t = (level - dot(r.from, n)) / slope;
    return t > 0 || pane.camera.orthographic ? add(r.from, scale(t, r.along)) : null;
  }

  put(pane, at) {
    const i = pane.pick(at), s = this.scene;
    this.height = 0;
    this.level = i >= 0 ? dot(grainPosition(pane.frame, i), s.up) : Math.max(dot(pane.camera.target, s.up), s.ground ? dot(s.ground.point, s.up) : -Infinity);
    if (this.tool === 'spout')
      this.height = 0.25 * Math.abs(dot(sub(s.upper, s.lower), s.up));
    const p = this.meet(pane, at) || pane.camera.target.slice();
    const { right } = cameraBasis(pane.camera);
    this.across = right;
    this.position = p;
    this.down = true;
    this.send();
  }

  send() {
    if (this.position && this.tool !== 'look')
      this.pane.source.send({ type: 'tool', field: this.tool, down: this.down, position: this.position, across: this.across, value: this.pitch, size: this.size });
  }

  lift() {
    if (!this.down)
      return;
    this.down = false;
    this.held.clear();
    this.send();
  }

  wheel(delta, tip) {
    if (tip)
      this.pitch = Math.max(-2, Math.min(2, this.pitch + 0.002 * delta));
    else
      this.height -= 0.0008 * delta * this.scene.cell * 10;
    if (this.position && !tip && this.scene.dim === 3)
      this.position = add(this.position, scale(this.level + this.height - dot(this.position, this.scene.up), this.scene.up));
    this.send();
    return true;
  }

  /* Keys that are held move the tool; gamepads are looked at. */
  tick(now) {
    if (!this.app.live)
      return;
    this.pollGamepads();
    if (!this.down || !this.held.size || !this.position) {
      this.lastTick = now;
      return;
    }
    const s = this.scene, dt = Math.min(0.1, (now - (this.lastTick || now)) / 1000), speed = 0.5 * norm(sub(s.upper, s.lower)) * dt, { right, back } = cameraBasis(this.pane.camera);
    this.lastTick = now;
    const away = s.dim === 2 ? s.up : unit(cross(s.up, right)), on = k => this.held.has(k) ? 1 : 0;
    let shift = add(scale(on('l') - on('j'), right), scale(on('i') - on('k'), dot(away, back) > 0 && s.dim === 3 ? scale(-1, away) : away));
    shift = add(shift, scale(on('u') - on('o'), s.up));
    this.pitch = Math.max(-2, Math.min(2, this.pitch + 1.5 * dt * (on('m') - on('n'))));
    this.position = add(this.position, scale(speed, shift)).map((x, d) => Math.max(s.lower[d], Math.min(s.upper[d], x)));
    this.send();
    this.app.redraw();
  }

  /* ---- what the simulation says ---- */

  onstate(m) {
    const app = this.app, pane = this.pane;
    if (this.busy)
      app.say('connected', false);
    this.busy = false;
    this.factor = m.factor;
    this.paused = m.paused;
    this.step = m.step;
    this.stepMs = m.row.ms_step;
    pane.frames = m.frames;
    if (app.playing === m.paused) {
      app.playing = !m.paused;
      app.updatePlay();
    }
    const t = byId('time');
    t.max = Math.max(0, m.frames.length - 1);
    t.disabled = m.frames.length < 2;
    app.plot.cut(0, m.time - 1e-9);
    app.plot.addRow(0, m.row);
    app.time = m.time;
    app.updateColumns();
    app.updateClock();
  }

  /* A step that takes long. */
  onbusy(m) {
    this.busy = true;
    this.app.say(`a step is under way: ${m.seconds.toFixed(0)} s`, false);
  }

  factsText() {
    return this.factor === null || this.factor === undefined ? '' : `, ${this.factor < 0.1 ? shortNumber(this.factor) : this.factor.toFixed(2)}× real time, ${this.stepMs ? this.stepMs.toFixed(1) : '–'} ms a step`;
  }
}

Object.assign(App.prototype, {
  toolDown(pane, at) {
    if (!this.live || this.tools.tool === 'look')
      return false;
    this.tools.put(pane, at);
    return true;
  },

  toolMove(pane, at) {
    const p = this.tools.meet(pane, at);
    if (p) {
      this.tools.position = p;
      this.tools.send();
    }
  },

  toolUp() {
    this.tools.lift();
  },
});
