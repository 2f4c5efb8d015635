/* ---- the page: panes, time, colours, views, keys ---- */

const byId = id => document.getElementById(id);
const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/* Saved views outlive a reload of the page, where the browser lets it keep something. */
function keptViews() {
  try {
    const views = JSON.parse(sessionStorage.getItem('repose-views') || '[]');
    return Array.isArray(views) ? views.slice(0, 4).map(v => v && Array.isArray(v.eye) && Array.isArray(v.target) && Array.isArray(v.up) ? v : undefined) : [];
  } catch {
    return [];
  }
}

function keepViews(views) {
  try {
    sessionStorage.setItem('repose-views', JSON.stringify(views));
  } catch { /* then they last as long as the page */ }
}

class App {
  constructor() {
    this.panes = [];
    this.time = 0;
    this.playing = false;
    this.speed = 1;
    this.field = 'material';
    this.unit = '';
    this.colourKey = 'material';
    this.range = null;
    this.look = 'full';
    this.grainSize = 1;
    this.showBodies = true;
    this.showWalls = false;
    this.showFibres = true;
    this.arrows = '';
    this.arrowSize = 1;
    this.sand = false;
    this.units = {};
    this.saved = keptViews();
    this.drawn = 0;
    this.plot = new Plot(byId('plot'));
    this.tools = new Tools(this);
    this.bind();
    this.panes.push(new Pane(this, 0));
  }

  get first() {
    return this.panes[0];
  }

  get live() {
    return this.first && this.first.scene && this.first.scene.mode === 'play';
  }

  say(text, bad) {
    byId('status').textContent = text;
    byId('status').classList.toggle('bad', bad);
  }

  /* ---- what the sources say ---- */

  onscene(pane, again) {
    const scene = pane.scene;
    if (pane.run === 0) {
      byId('title').textContent = scene.title || scene.name;
      document.title = `${scene.title || scene.name} – Repose`;
      for (let run = 1; run < (scene.runs || 1) && this.panes.length < scene.runs; run++)
        this.panes.push(new Pane(this, run));
      if (!again)
        this.setUpScene(scene);
      else if (this.live)
        this.tools.setScene(scene);
      this.updateTimeline();
    }
    if (!again) {
      pane.home = { ...scene.view };
      pane.camera = pane.run > 0 && this.first.camera ? { ...this.first.camera } : fitted(scene.view, pane.aspect);
    }
    if (this.field !== 'material')
      this.sendColour(pane);
    if (this.arrows)
      pane.source.send({ type: 'arrows', field: this.arrows });
    if (!this.live)
      pane.seek(this.time, 2);
    this.redraw();
  }

  setUpScene(scene) {
    const select = byId('field'), names = [['material', '']];
    for (const f of scene.exported ? [] : scene.fields) {
      names.push([f.name, f.unit]);
      if (f.components === 3)
        for (const c of ['x', 'y', 'z'].slice(0, scene.dim))
          names.push([`${f.name}.${c}`, f.unit]);
    }
    if (scene.exported && scene.exported.field !== 'material') {
      names[0] = [scene.exported.field, scene.exported.unit];
      scene.colour = scene.exported.field;
    }
    this.units = Object.fromEntries(names);
    select.replaceChildren(...names.map(([n, u]) => new Option(u ? `${n} [${u}]` : n, n)));
    const vectors = scene.exported ? (scene.fluid ? ['fluid_velocity'] : []) : scene.fields.filter(f => f.components === 3 && f.name !== 'position').map(f => f.name);
    byId('arrows').replaceChildren(new Option('none', ''), ...vectors.map(n => new Option(n, n)));
    byId('arrows').value = this.arrows = scene.fluid && vectors.includes('fluid_velocity') ? 'fluid_velocity' : '';
    byId('arrow-size').parentElement.hidden = !this.arrows;
    byId('h-arrows').parentElement.hidden = vectors.length === 0;
    this.setSand(scene.continuum);
    byId('show-fibres').parentElement.hidden = !scene.fibres;
    byId('fine').parentElement.hidden = scene.mode !== 'play' || !(scene.fine > 0) || scene.dim === 2;
    const play = scene.mode === 'play';
    byId('play-tools').hidden = !play;
    if (play) /* what one came for stands first, for the eye and for the Tab key */
      byId('panel').prepend(byId('play-tools'));
    byId('slice-axis').querySelector('option[value="2"]').disabled = scene.dim === 2;
    byId('show-walls').checked = this.showWalls = false;
    byId('lock').parentElement.hidden = (scene.runs || 1) < 2;
    this.drawLegend();
    if (play) {
      this.tools.setScene(scene);
      this.playing = true;
    }
    if (scene.colour && scene.colour !== 'material' && this.units[scene.colour] !== undefined)
      this.setField(scene.colour);
    this.updatePlay();
    this.listKeys();
  }

  onframes(pane, following) {
    this.updateTimeline();
    if (pane.run === 0 && following)
      this.setTime(this.endTime(), false);
    this.redraw();
  }

  onmessage(pane, m) {
    if (m.type === 'table') {
      this.plot.setTable(pane.run, m.columns);
      this.updateColumns();
    } else if (m.type === 'range') {
      if (m.field === this.field && pane.run === 0) {
        this.range = [m.min, m.max];
        byId('low').value = Number(m.min.toPrecision(4));
        byId('high').value = Number(m.max.toPrecision(4));
        this.drawLegend();
        if (this.panes.length > 1) /* the same colours mean the same in all pictures */
          this.panes.slice(1).forEach(p => this.sendColour(p));
      }
      pane.forget();
      if (!this.live)
        pane.seek(this.time, 1);
    } else if (m.type === 'probe')
      this.onprobe(pane, m);
    else if (m.type === 'probed') {
      if (!m.position)
        pane.probed = null;
      else if (pane.probed)
        pane.probed.position = m.position;
    }
    else if (m.type === 'state')
      this.tools.onstate(m);
    else if (m.type === 'busy')
      this.tools.onbusy(m);
    else if (m.type === 'error')
      this.say(m.text, true);
  }

  onlive(pane, f) {
    this.time = f.time;
    if (this.live && f.flags & FLAG_VALUE && !this.given) {
      this.range = [f.low, f.high];
      this.drawLegend();
    }
    this.updateClock();
  }

  onarrived(pane, f) {
    if (pane.run === 0)
      this.updateClock();
  }

  /* ---- time ---- */

  endTime() {
    const p = this.first;
    return p.scene && p.frames.length ? p.frames[p.frames.length - 1] / p.scene.rate : 0;
  }

  startTime() {
    const p = this.first;
    return p.scene && p.frames.length ? p.frames[0] / p.scene.rate : 0;
  }

  atEnd() {
    return !this.playing && this.first.frames.length > 0 && this.time >= this.endTime() - 1e-9 && this.first.frames.length > 1;
  }

  setTime(time, playing) {
    this.time = Math.max(this.startTime(), Math.min(this.endTime(), time));
    this.panes.forEach(p => p.scene && p.seek(this.time, playing ? 3 : 1));
    this.updateClock();
    this.redraw();
  }

  stepFrames(n) {
    if (this.live) {
      this.setPlaying(false);
      if (n > 0)
        this.first.source.send({ type: 'step' });
      else if (this.first.frame)
        this.first.source.send({ type: 'seek', frame: Math.max(0, this.first.frame.frame + (n === -1 ? -1 : n)) });
      return;
    }
    const p = this.first, k = Math.max(0, Math.min(p.frames.length - 1, p.placeAt(this.time) + n));
    this.setPlaying(false);
    this.setTime(p.frames[k] / p.scene.rate, false);
  }

  setPlaying(on) {
    if (this.live) {
      this.first.source.send({ type: on ? 'resume' : 'pause' });
      this.playing = on;
    } else {
      if (on && this.time >= this.endTime() - 1e-9)
        this.setTime(this.startTime(), true);
      this.playing = on && this.first.frames.length > 1;
      this.last = performance.now();
    }
    this.updatePlay();
    this.redraw();
  }

  updatePlay() {
    byId('play').textContent = this.playing ? 'pause' : 'play';
    byId('play').setAttribute('aria-pressed', String(this.playing));
  }

  updateTimeline() {
    const t = byId('time'), p = this.first;
    t.max = Math.max(0, p.frames.length - 1);
    t.disabled = p.frames.length < 2;
    this.updateClock();
  }

  updateClock() {
    const p = this.first;
    if (!p.scene)
      return;
    const f = p.frame;
    byId('clock').textContent = `${this.time.toFixed(3)} s` + (this.live ? '' : ` of ${this.endTime().toFixed(2)} s`);
    if (p.frames.length && document.activeElement !== byId('time') || !this.live)
      byId('time').value = this.live ? p.frames.length - 1 : p.placeAt(this.time);
    byId('time').setAttribute('aria-valuetext', `${this.time.toFixed(3)} seconds`);
    if (f)
      byId('facts').textContent = `frame ${f.frame}, step ${f.step}, ${f.total || !f.fibres ? `${f.total.toLocaleString('en')} grains` : `${f.fibres.count} fibres`}${this.tools.factsText()}, ${this.drawMs ? this.drawMs.toFixed(1) : '–'} ms to draw`;
    this.plot.time = this.time;
  }

  /* ---- colours ---- */

  setField(name) {
    this.field = name;
    this.range = null;
    this.given = false;
    byId('field').value = name;
    byId('low').value = byId('high').value = '';
    this.applyColour();
  }

  applyColour() {
    this.colourKey = this.keyOfColour();
    this.sendColour(this.first);
    if (this.field === 'material' || this.given)
      this.panes.slice(1).forEach(p => this.sendColour(p));
    this.drawLegend();
  }

  setArrows(name) {
    this.arrows = name;
    byId('arrows').value = name;
    byId('arrow-size').parentElement.hidden = !name;
    this.colourKey = this.keyOfColour();
    for (const p of this.panes) {
      p.source.send({ type: 'arrows', field: name });
      p.forget();
      if (!this.live)
        p.seek(this.time, 1);
    }
    this.redraw();
  }

  setSand(on) {
    this.sand = byId('sand').checked = on;
    this.redraw();
  }

  /* Frames in memory are of use as long as this is the same. */
  keyOfColour() {
    return `${this.field} ${this.field === 'material' || !this.given ? '' : this.range} ${this.arrows}`;
  }

  sendColour(pane) {
    const range = this.range && (this.given || pane.run > 0) ? this.range : [0, 0];
    pane.source.send({ type: 'color', field: this.field, min: range[0], max: range[1] });
  }

  drawLegend() {
    const shown = this.field !== 'material' && this.range, scene = this.first && this.first.scene;
    byId('legend').classList.toggle('off', !shown);
    byId('range').hidden = this.field === 'material';
    if (!shown || !scene)
      return;
    const g = byId('legend-bar').getContext('2d');
    scene.map.forEach((c, k) => {
      g.fillStyle = `rgb(${c.join()})`;
      g.fillRect(k, 0, 1, 14);
    });
    const unit = this.units[this.field] || '';
    byId('legend-low').textContent = shortNumber(this.range[0]);
    byId('legend-high').textContent = shortNumber(this.range[1]);
    byId('legend-unit').textContent = unit ? `${this.field} [${unit}]` : this.field;
    byId('legend').setAttribute('aria-label', `${this.field} from ${shortNumber(this.range[0])} to ${shortNumber(this.range[1])} ${unit}`);
  }

  slicePlane(pane) {
    if (!byId('slice-on').checked || !pane.scene)
      return null;
    const axis = Number(byId('slice-axis').value), part = Number(byId('slice-at').value), s = byId('slice-flip').checked ? -1 : 1, n = [0, 0, 0];
    n[axis] = s;
    return [...n, s * (pane.scene.lower[axis] + part * (pane.scene.upper[axis] - pane.scene.lower[axis]))];
  }

  /* ---- cameras ---- */

  setCamera(pane, camera) {
    this.followScene = false;
    for (const p of byId('lock').checked ? this.panes : [pane])
      p.camera = { ...camera };
    this.redraw();
  }

  /* There over a third of a second, or at once where motion is not wanted. */
  moveCamera(camera) {
    if (still.matches || !this.first.camera || camera.orthographic !== this.first.camera.orthographic) {
      this.setCamera(this.first, camera);
      return;
    }
    const from = this.first.camera, start = performance.now();
    const go = now => {
      const t = Math.min(1, (now - start) / 330), s = t * t * (3 - 2 * t);
      this.setCamera(this.first, { ...camera, eye: mix(from.eye, camera.eye, s), target: mix(from.target, camera.target, s), up: unit(mix(from.up, camera.up, s)), extent: from.extent * (1 - s) + camera.extent * s });
      if (t < 1)
        requestAnimationFrame(go);
    };
    go(start);
  }

  sceneCamera() {
    const scene = this.first.scene, keys = scene.cameras, camera = { ...scene.view };
    if (keys.length > 1) {
      let k = 0;
      while (k + 2 < keys.length && keys[k + 1][0] <= this.time)
        k++;
      const t = Math.max(0, Math.min(1, (this.time - keys[k][0]) / (keys[k + 1][0] - keys[k][0])));
      camera.eye = mix(keys[k].slice(1, 4), keys[k + 1].slice(1, 4), t);
      camera.target = mix(keys[k].slice(4, 7), keys[k + 1].slice(4, 7), t);
    }
    return fitted(camera, this.first.aspect);
  }

  namedView(name) {
    const scene = this.first.scene, c = this.first.camera, up = scene.up, distance = norm(sub(c.eye, c.target));
    const side = scene.dim === 2 ? [0, 0, 1] : up[2] ? [0, -1, 0] : [0, 0, 1], across = cross(side, up);
    const direction = scene.dim === 2 ? [0, 0, 1] : name === 'front' ? side : name === 'side' ? scale(-1, across) : up;
    this.moveCamera({ ...c, up: name === 'top' && scene.dim === 3 ? scale(-1, side) : up, eye: add(c.target, scale(distance, direction)) });
  }

  saveView(k) {
    this.saved[k] = { ...this.first.camera };
    keepViews(this.saved);
    this.drawSaved();
    this.say(`view ${k + 1} is saved`, false);
  }

  recallView(k) {
    if (this.saved[k])
      this.moveCamera(this.saved[k]);
    else
      this.saveView(k);
  }

  drawSaved() {
    byId('saved').replaceChildren(...[0, 1, 2, 3].map(k => {
      const b = document.createElement('button');
      b.type = 'button';
      b.textContent = this.saved[k] ? `view ${k + 1}` : `keep ${k + 1}`;
      b.title = this.saved[k] ? `goes to view ${k + 1} (${k + 1}); Shift saves anew` : `saves this view (Shift+${k + 1})`;
      b.onclick = event => event.shiftKey ? this.saveView(k) : this.recallView(k);
      return b;
    }));
  }

  /* ---- pictures ---- */

  renderCommand() {
    const p = this.first, s = p.scene, c = p.camera, n = v => Number(v.toPrecision(6)), quote = t => /^[\w./-]+$/.test(t) ? t : `'${t.replaceAll("'", "'\\''")}'`;
    if (!s.folder)
      return 'this is not the folder of a run: record it with --output, then render that';
    const frame = p.frame ? p.frame.frame : 0, colour = this.field === 'material' ? '' : ` --color ${this.field}` + (this.range ? ` --range ${n(this.range[0])}:${n(this.range[1])}` : '');
    return `repose render ${quote(s.folder)} --frame ${frame} --view ${c.orthographic && !s.view.orthographic ? 'ortho-' : ''}${c.eye.map(n).join()}:${c.target.map(n).join()}${colour} --size ${p.canvas.width}x${p.canvas.height} -o view_${String(frame).padStart(6, '0')}.png`;
  }

  picture() {
    this.draw();
    const p = this.first, command = this.renderCommand();
    byId('command').textContent = command;
    p.canvas.toBlob(blob => {
      const a = document.createElement('a');
      a.href = URL.createObjectURL(blob);
      a.download = `repose_${String(p.frame ? p.frame.frame : 0).padStart(6, '0')}.png`;
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 10000);
    });
    if (navigator.clipboard && p.scene.folder)
      navigator.clipboard.writeText(command).then(() => this.say('picture saved; the command is in the clipboard', false), () => this.say('picture saved; the command stands beside it', false));
    else
      this.say('picture saved', false);
  }

  /* ---- probe ---- */

  showProbe(pane, p) {
    byId('probe').textContent = p ? `at ${p.position.map(v => v.toFixed(4)).join(', ')} m${p.value === null ? '' : `\n${this.field}: ${shortNumber(p.value)} ${this.units[this.field] || ''}`}` : 'no grain there';
    this.redraw();
  }

  onprobe(pane, m) {
    const lines = [`grain ${m.id}, frame ${m.frame}`];
    for (const v of m.values) {
      if (v.name === 'id')
        continue;
      const size = v.value.length === 3 && v.name !== 'position' ? ` |${shortNumber(Math.hypot(...v.value))}|` : '';
      lines.push(`${v.name}: ${v.value.map(x => x === null ? '–' : Number(x.toPrecision(4))).join(', ')}${size}${v.unit ? ` ${v.unit}` : ''}`);
    }
    const path = m.path.map(p => p.slice(1));
    if (path.length > 1)
      lines.push(`path: ${path.length} places, ${shortNumber(path.slice(1).reduce((sum, p, k) => sum + norm(sub(p, path[k])), 0))} m`);
    byId('probe').textContent = lines.join('\n');
    if (pane.probed)
      pane.probed.path = path;
    this.redraw();
  }

  updateColumns() {
    const select = byId('column'), names = this.plot.names();
    if (select.options.length !== names.length) {
      const before = this.plot.column;
      select.replaceChildren(...names.map(n => new Option(n, n)));
      this.plot.column = names.includes(before) ? before : names.includes('kinetic_energy') ? 'kinetic_energy' : names[0] || '';
      select.value = this.plot.column;
    }
    this.plot.draw();
  }

  /* ---- drawing, when something changed ---- */

  redraw() {
    if (this.pending)
      return;
    this.pending = true;
    requestAnimationFrame(now => {
      this.pending = false;
      this.tick(now);
      this.draw();
    });
  }

  tick(now) {
    this.tools.tick(now);
    if (!this.playing || this.live)
      return;
    const dt = Math.min(0.25, (now - (this.last || now)) / 1000), p = this.first;
    this.last = now;
    const waiting = p.wanted !== undefined && (!p.frame || p.frame.frame !== p.wanted) && !p.lost.has(p.wanted);
    if (!waiting) /* a frame that is late holds the clock */
      this.setTime(this.speed > 0 ? this.time + dt * this.speed : (p.frames[p.placeAt(this.time) + 1] || p.frames[p.frames.length - 1]) / p.scene.rate, true);
    if (this.time >= this.endTime() - 1e-9)
      this.setPlaying(false);
    this.redraw();
  }

  draw() {
    const start = performance.now();
    if (this.followScene && this.first.scene)
      for (const p of this.panes)
        p.camera = this.sceneCamera();
    this.panes.forEach(p => p.draw());
    this.plot.draw();
    this.drawMs = performance.now() - start;
    this.drawn++;
    this.updateClock();
  }
}
