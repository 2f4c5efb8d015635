/* ---- buttons and keys ---- */

const KEYS = [
  ['space', 'play and pause'], [', and .', 'one frame back and on; with Shift ten'], ['Home, End', 'first and last frame'], ['[ and ]', 'slower and faster'],
  ['arrows', 'turn the view; with Shift move it'], ['+ and −', 'nearer and farther'], ['V', 'camera of the scene, which it then follows'], ['1 … 4', 'saved views; with Shift save'],
  ['C', 'next field of colour; with Shift the one before'], ['A', 'next field of arrows'], ['L', 'slice'], ['X', 'particles as sand or as balls'], ['G', 'probe the grain in the middle'], ['P', 'picture, and the command that renders it'], ['B', 'hide and show the settings'], ['?', 'this list']];
const PLAY_KEYS = [['T', 'next tool'], ['I J K L, U O', 'the tool: away, left, near, right, up, down; N M tip it; Escape takes it away'], ['Backspace', 'begin again']];

Object.assign(App.prototype, {
  bind() {
    const on = (id, type, f) => byId(id).addEventListener(type, f);
    on('play', 'click', () => this.setPlaying(!this.playing));
    on('back', 'click', () => this.stepFrames(-1));
    on('step', 'click', () => this.stepFrames(1));
    on('reset', 'click', () => this.begin());
    on('time', 'input', event => {
      const p = this.first, number = p.frames[Number(event.target.value)];
      if (this.live)
        p.source.send({ type: 'seek', frame: number });
      else {
        this.setPlaying(false);
        this.setTime(number / p.scene.rate, false);
      }
    });
    on('speed', 'change', event => this.setSpeed(Number(event.target.value)));
    on('field', 'change', event => this.setField(event.target.value));
    for (const id of ['low', 'high'])
      on(id, 'change', () => {
        const low = Number(byId('low').value), high = Number(byId('high').value);
        if (low < high) {
          this.range = [low, high];
          this.given = true;
          this.applyColour();
        } else
          this.say('the range must rise', true);
      });
    on('auto', 'click', () => this.setField(this.field));
    for (const id of ['slice-on', 'slice-axis', 'slice-at', 'slice-flip'])
      on(id, 'input', () => this.redraw());
    on('scene-view', 'click', () => this.toScene());
    for (const name of ['front', 'side', 'top'])
      on(`${name}-view`, 'click', () => this.namedView(name));
    on('lock', 'change', () => byId('lock').checked && this.setCamera(this.first, this.first.camera));
    on('show-bodies', 'change', event => { this.showBodies = event.target.checked; this.redraw(); });
    on('show-fibres', 'change', event => { this.showFibres = event.target.checked; this.redraw(); });
    on('sand', 'change', event => this.setSand(event.target.checked));
    on('fine', 'change', event => this.first.source.send({ type: 'grains', field: event.target.checked ? 'fine' : 'particles' }));
    on('arrows', 'change', event => this.setArrows(event.target.value));
    on('arrow-size', 'input', event => { this.arrowSize = Number(event.target.value); this.redraw(); });
    on('show-walls', 'change', event => { this.showWalls = event.target.checked; this.redraw(); });
    on('look', 'change', event => { this.look = event.target.value; this.redraw(); });
    on('grain-size', 'input', event => { this.grainSize = Number(event.target.value); this.redraw(); });
    on('picture', 'click', () => this.picture());
    on('help', 'click', () => this.showKeys());
    on('column', 'change', event => { this.plot.column = event.target.value; this.plot.draw(); });
    on('plot', 'click', event => this.plot.toTime && !this.live && this.setTime(this.plot.toTime(event.offsetX), false));
    byId('keys').addEventListener('close', () => byId('help').setAttribute('aria-expanded', 'false'));
    document.addEventListener('keydown', event => this.onkey(event, true));
    document.addEventListener('keyup', event => this.onkey(event, false));
    window.addEventListener('blur', () => this.tools.releaseAll());
    this.drawSaved();
  },

  begin() {
    if (this.live) {
      this.first.source.send({ type: 'reset' });
      this.plot.cut(0, -1);
    } else
      this.setTime(this.startTime(), false);
  },

  setSpeed(factor) {
    this.speed = factor;
    byId('speed').value = String(factor);
    if (this.live)
      this.first.source.send({ type: 'speed', factor });
  },

  toScene() {
    this.moveCamera(this.sceneCamera());
    if (this.first.scene.cameras.length > 1)
      this.followScene = true;
    this.redraw();
  },

  listKeys() {
    const free = ([key, text]) => [key.length === 1 && this.tools.isTaken(key) ? `Shift+${key}` : key, text];
    const list = this.live ? [...this.tools.keyTexts(), ...[...PLAY_KEYS, ...KEYS].map(free)] : KEYS;
    byId('key-list').replaceChildren(...list.flatMap(([key, text]) => {
      const dt = document.createElement('dt'), dd = document.createElement('dd');
      dt.textContent = key;
      dd.textContent = text;
      return [dt, dd];
    }));
  },

  showKeys() {
    this.listKeys();
    byId('help').setAttribute('aria-expanded', 'true');
    byId('keys').showModal();
  },

  nextField(step) {
    const options = [...byId('field').options].map(o => o.value), k = (options.indexOf(this.field) + step + options.length) % options.length;
    this.setField(options[k]);
  },

  nextArrows() {
    const options = [...byId('arrows').options].map(o => o.value);
    this.setArrows(options[(options.indexOf(this.arrows) + 1) % options.length]);
  },

  /* A control that has the focus keeps the keys it understands. */
  belongsTo(element, event) {
    const tag = element && element.tagName;
    if (element === byId('plot') && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      if (event.type === 'keydown')
        this.stepFrames(event.key === 'ArrowLeft' ? -1 : 1);
      event.preventDefault();
      return true;
    }
    if (byId('keys').open)
      return true;
    if (tag === 'INPUT' && element.type === 'number')
      return true;
    if (tag === 'INPUT' && element.type === 'range' || tag === 'SELECT')
      return /^(Arrow|Home|End|Page)|^.$/.test(event.key);
    return (tag === 'BUTTON' || tag === 'INPUT') && (event.key === ' ' || event.key === 'Enter' || /^Arrow/.test(event.key) && element.type === 'radio');
  },

  onkey(event, down) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.first.scene)
      return;
    if (this.belongsTo(document.activeElement, event))
      return;
    if (this.live && this.tools.onkey(event, down)) {
      event.preventDefault();
      return;
    }
    if (down && this.press(event))
      event.preventDefault();
  },

  press(event) {
    const shift = event.shiftKey, c = this.first.camera, up = this.first.scene.up, digit = /^Digit([1-4])$/.exec(event.code);
    if (digit) {
      const k = Number(digit[1]) - 1;
      if (shift)
        this.saveView(k);
      else
        this.recallView(k);
      return true;
    }
    const turnBy = (x, y) => this.setCamera(this.first, shift ? pan(c, -0.6 * x, -0.6 * y) : orbit(c, -x, y, up));
    const actions = {
      ' ': () => this.setPlaying(!this.playing), ',': () => this.stepFrames(-1), '.': () => this.stepFrames(1), '<': () => this.stepFrames(-10), '>': () => this.stepFrames(10),
      Home: () => this.begin(), End: () => this.live || this.setTime(this.endTime(), false),
      '[': () => this.changeSpeed(-1), ']': () => this.changeSpeed(1),
      ArrowLeft: () => turnBy(-0.08, 0), ArrowRight: () => turnBy(0.08, 0), ArrowUp: () => turnBy(0, 0.06), ArrowDown: () => turnBy(0, -0.06),
      '+': () => this.setCamera(this.first, zoom(c, 0.92)), '=': () => this.setCamera(this.first, zoom(c, 0.92)), '-': () => this.setCamera(this.first, zoom(c, 1.08)),
      v: () => this.toScene(), c: () => this.nextField(1), C: () => this.nextField(-1),
      a: () => this.nextArrows(), x: () => this.setSand(!this.sand),
      l: () => { byId('slice-on').checked = !byId('slice-on').checked; this.redraw(); },
      g: () => this.first.probe([0, 0]), p: () => this.picture(), b: () => document.body.classList.toggle('bare'), '?': () => this.showKeys(), Backspace: () => this.live && this.begin() };
    const action = actions[event.key] || actions[event.key.toLowerCase()];
    if (!action)
      return false;
    action();
    return true;
  },

  changeSpeed(step) {
    const options = [...byId('speed').options].map(o => Number(o.value)), k = Math.max(0, Math.min(options.length - 1, options.indexOf(this.speed) + step));
    this.setSpeed(options[k]);
  },
});
