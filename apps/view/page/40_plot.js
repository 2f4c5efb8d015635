/* ---- a column of stats.csv over time, with the present time marked ---- */

class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.runs = []; /* tables by run: { name: values } */
    this.column = '';
    this.time = 0;
  }

  setTable(run, columns) {
    const table = {};
    for (const c of columns)
      table[c.name] = c.values;
    this.runs[run] = table;
  }

  /* A row of a simulation that goes on. */
  addRow(run, row) {
    const table = this.runs[run] || (this.runs[run] = {});
    for (const [name, value] of Object.entries(row))
      (table[name] || (table[name] = [])).push(value);
    if (table.time && table.time.length > 4000)
      for (const name of Object.keys(table))
        table[name] = table[name].filter((v, k) => k % 2 === 0);
  }

  /* Back in time: what was after is forgotten. */
  cut(run, time) {
    const table = this.runs[run];
    if (!table || !table.time)
      return;
    let n = table.time.length;
    while (n > 0 && table.time[n - 1] > time)
      n--;
    for (const name of Object.keys(table))
      table[name].length = Math.min(table[name].length, n);
  }

  names() {
    const all = new Set();
    this.runs.forEach(t => Object.keys(t).forEach(n => n === 'time' || n === 'step' || all.add(n)));
    return [...all];
  }

  bounds() {
    let x = [Infinity, -Infinity], y = [Infinity, -Infinity];
    this.runs.forEach(t => {
      const values = t[this.column], times = t.time;
      if (values && times)
        values.forEach((v, k) => {
          if (v === null || times[k] === null)
            return;
          x = [Math.min(x[0], times[k]), Math.max(x[1], times[k])];
          y = [Math.min(y[0], v), Math.max(y[1], v)];
        });
    });
    if (!(x[0] <= x[1]))
      return null;
    if (x[0] === x[1])
      x[1] = x[0] + 1;
    if (y[0] === y[1])
      y = [y[0] - 0.5, y[1] + 0.5];
    return { x, y };
  }

  draw() {
    const c = this.canvas, ratio = window.devicePixelRatio || 1, width = c.clientWidth, height = 160;
    if (!width)
      return;
    if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
      c.width = Math.round(width * ratio);
      c.height = Math.round(height * ratio);
    }
    const g = c.getContext('2d'), style = getComputedStyle(document.documentElement), ink = style.getPropertyValue('--ink'), soft = style.getPropertyValue('--soft');
    const box = { left: 52, right: width - 8, top: 8, bottom: height - 22 }, b = this.bounds();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = '11px system-ui, sans-serif';
    if (!b) {
      g.fillStyle = soft;
      g.fillText('no table', box.left, 40);
      return;
    }
    const X = t => box.left + (t - b.x[0]) / (b.x[1] - b.x[0]) * (box.right - box.left), Y = v => box.bottom - (v - b.y[0]) / (b.y[1] - b.y[0]) * (box.bottom - box.top);
    this.toTime = px => b.x[0] + (px - box.left) / (box.right - box.left) * (b.x[1] - b.x[0]);
    g.fillStyle = soft;
    g.textAlign = 'right';
    for (const v of [b.y[0], 0.5 * (b.y[0] + b.y[1]), b.y[1]])
      g.fillText(shortNumber(v), box.left - 4, Y(v) + 4);
    g.textAlign = 'center';
    for (const t of [b.x[0], b.x[1]])
      g.fillText(`${shortNumber(t)} s`, Math.min(X(t), width - 18), height - 8);
    g.strokeStyle = soft;
    g.globalAlpha = 0.4;
    g.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    g.globalAlpha = 1;
    const inks = ['#9a5b13', '#2f6690', '#4f7d3a', '#8a3f6b'], dashes = [[], [5, 3], [2, 2], [7, 2, 2, 2]];
    this.runs.forEach((t, run) => {
      const values = t[this.column];
      if (!values || !t.time)
        return;
      g.strokeStyle = inks[run % 4];
      g.setLineDash(dashes[run % 4]);
      g.lineWidth = 1.5;
      g.beginPath();
      let pen = false;
      values.forEach((v, k) => {
        if (v === null) {
          pen = false;
          return;
        }
        g[pen ? 'lineTo' : 'moveTo'](X(t.time[k]), Y(v));
        pen = true;
      });
      g.stroke();
    });
    g.setLineDash([]);
    g.strokeStyle = ink;
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(X(this.time), box.top);
    g.lineTo(X(this.time), box.bottom);
    g.stroke();
    const now = this.valueAt(0, this.time);
    for (const [name, value] of [['min', b.x[0]], ['max', b.x[1]], ['now', this.time]])
      c.setAttribute(`aria-value${name}`, String(value));
    c.setAttribute('aria-valuetext', `${shortNumber(this.time)} s${now === null ? '' : `: ${shortNumber(now)}`}`);
    c.setAttribute('aria-label', `${this.column} over time, from ${shortNumber(b.y[0])} to ${shortNumber(b.y[1])}${now === null ? '' : `, now ${shortNumber(now)}`}`);
  }

  valueAt(run, time) {
    const t = this.runs[run], values = t && t[this.column];
    if (!values || !t.time)
      return null;
    let k = 0;
    while (k + 1 < t.time.length && t.time[k + 1] <= time)
      k++;
    return values[k] === undefined ? null : values[k];
  }
}

function shortNumber(v) {
  if (v === null || v === undefined)
    return '';
  const a = Math.abs(v);
  return a !== 0 && (a < 1e-3 || a >= 1e5) ? v.toExponential(1) : String(Number(v.toPrecision(3)));
}
