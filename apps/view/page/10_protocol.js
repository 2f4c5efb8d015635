/* ---- frames as the server sends them: see docs/viewer.md ---- */

const FLAG_PALETTE = 1, FLAG_VALUE = 2, FLAG_RADIUS = 4, FLAG_TWO = 8, FLAG_FIBRES = 16, FLAG_ARROWS = 32, FLAG_FINE = 64, FLAG_TONE = 128;

const crcTable = (() => {
  const t = new Uint32Array(256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++)
      c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    t[n] = c >>> 0;
  }
  return t;
})();

function crc32(bytes, hole) {
  let c = 0xffffffff;
  for (let k = 0; k < bytes.length; k++)
    c = crcTable[(c ^ (k >= hole && k < hole + 4 ? 0 : bytes[k])) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

/* Throws a sentence when the bytes are no frame. Arrays are views into the buffer. */
function readFrame(buffer, check) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 96 || view.getUint32(0, true) !== 0x31465052)
    throw new Error('the server sent something that is no frame');
  const f = { flags: view.getUint32(4, true), frame: Number(view.getBigUint64(8, true)), time: view.getFloat64(16, true), lower: [], size: [],
    count: view.getUint32(48, true), bodyCount: view.getUint32(52, true), stride: view.getUint32(56, true), crc: view.getUint32(60, true),
    radius: view.getFloat32(64, true), low: view.getFloat32(68, true), high: view.getFloat32(72, true), total: view.getUint32(76, true),
    step: Number(view.getBigUint64(80, true)), serial: view.getUint32(88, true), more: view.getUint32(92, true), bytes: buffer.byteLength, bodies: [], fibres: null, arrows: null };
  for (let d = 0; d < 3; d++) {
    f.lower.push(view.getFloat32(24 + 4 * d, true));
    f.size.push(view.getFloat32(36 + 4 * d, true));
  }
  const colour = f.flags & (FLAG_PALETTE | FLAG_VALUE) ? 1 : 0, radius = f.flags & FLAG_RADIUS ? 1 : 0, tone = f.flags & FLAG_TONE ? 1 : 0;
  const grains = f.count * (6 + colour + radius + tone), end = 96 + 32 * f.bodyCount + (f.more ? 4 * Math.ceil(grains / 4) : grains);
  if (buffer.byteLength !== end + f.more)
    throw new Error('a frame was cut short');
  if (check && crc32(new Uint8Array(buffer), 60) !== f.crc)
    throw new Error('a frame was damaged on its way');
  let at = 96;
  for (let b = 0; b < f.bodyCount; b++, at += 32) {
    const word = view.getUint32(at, true), n = [];
    for (let k = 0; k < 7; k++)
      n.push(view.getFloat32(at + 4 + 4 * k, true));
    f.bodies.push({ present: (word & 0x80000000) === 0, position: n.slice(0, 3), orientation: n.slice(3) });
  }
  f.positions = new Uint16Array(buffer, at, 3 * f.count);
  at += 6 * f.count;
  f.colours = colour ? new Uint8Array(buffer, at, f.count) : null;
  at += colour * f.count;
  f.radii = radius ? new Uint8Array(buffer, at, f.count) : null;
  at += radius * f.count;
  f.tones = tone ? new Uint8Array(buffer, at, f.count) : null;
  readMore(f, buffer, end);
  return f;
}

/* Fibres and arrows, after the grains. */
function readMore(f, buffer, at) {
  const view = new DataView(buffer);
  if (f.flags & FLAG_FIBRES) {
    const count = view.getUint32(at, true), nodes = view.getUint32(at + 4, true), fibres = at + 16, first = fibres + 8 * count;
    f.fibres = { count, nodes, radius: view.getFloat32(at + 8, true), values: (view.getUint32(at + 12, true) & 1) !== 0, round: (view.getUint32(at + 12, true) & 2) !== 0, kinds: new DataView(buffer, fibres, 8 * count),
      positions: new Uint16Array(buffer, first, 4 * nodes), bytes: new Uint8Array(buffer, first, 8 * nodes) };
    at = first + 8 * nodes;
  }
  if (f.flags & FLAG_ARROWS) {
    const count = view.getUint32(at, true);
    f.arrows = { count, longest: view.getFloat32(at + 4, true), width: view.getFloat32(at + 8, true), positions: new Uint16Array(buffer, at + 16, 6 * count), vectors: new Int16Array(buffer, at + 16, 6 * count) };
  }
}

/* Pieces of fibres from node to node: x y z and radius of both ends (negative where the fibre ends there, cut off flat), and the colour bytes r g b a: a below 255: a value instead. */
function fibrePieces(f) {
  const { count, nodes, positions: q, bytes, kinds, radius, values, round } = f.fibres, pieces = Math.max(0, nodes - count);
  const ends = new Float32Array(8 * pieces), colours = new Uint8Array(4 * pieces);
  let n = 0, node = 0;
  for (let k = 0; k < count; k++) {
    const begin = node, last = node + kinds.getUint32(8 * k, true) - 1;
    for (; node < last; node++, n++) {
      for (let e = 0; e < 2; e++) {
        for (let d = 0; d < 3; d++)
          ends[8 * n + 4 * e + d] = f.lower[d] + f.size[d] * q[4 * (node + e) + d] / 65535;
        ends[8 * n + 4 * e + 3] = (!round && (node + e === begin || node + e === last) ? -1 : 1) * radius * bytes[8 * (node + e) + 6] / 255;
      }
      if (values)
        colours[4 * n] = bytes[8 * node + 7];
      else
        for (let c = 0; c < 3; c++)
          colours[4 * n + c] = kinds.getUint8(8 * k + 4 + c);
      colours[4 * n + 3] = values ? 0 : 255;
    }
    node++;
  }
  return { ends, colours, count: n };
}

function grainPosition(f, i) {
  const p = f.positions;
  return [0, 1, 2].map(d => f.lower[d] + f.size[d] * p[3 * i + d] / 65535);
}

function grainRadius(f, i) {
  return f.radii ? f.radius * f.radii[i] / 255 : f.radius;
}

/* The first grain that a ray meets; -1: none. `kept(p)`: not cut away. */
function pickGrain(f, r, enlarge, kept) {
  let best = -1, nearest = Infinity;
  const q = f.positions, [fx, fy, fz] = r.from, [ax, ay, az] = r.along;
  const sx = f.size[0] / 65535, sy = f.size[1] / 65535, sz = f.size[2] / 65535;
  for (let i = 0; i < f.count; i++) {
    const x = f.lower[0] + sx * q[3 * i] - fx, y = f.lower[1] + sy * q[3 * i + 1] - fy, z = f.lower[2] + sz * q[3 * i + 2] - fz;
    const along = x * ax + y * ay + z * az;
    if (along <= 0 || along >= nearest)
      continue;
    const radius = enlarge * grainRadius(f, i), off = x * x + y * y + z * z - along * along;
    if (off < radius * radius && kept([x + fx, y + fy, z + fz])) {
      best = i;
      nearest = along;
    }
  }
  return best;
}

function decodeBase64(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let k = 0; k < binary.length; k++)
    bytes[k] = binary.charCodeAt(k);
  return bytes.buffer;
}

/* How much larger the grains of a thinned frame are drawn. One in n of a packing that fills the part 0.6, enlarged to fill as much, lies at
 * random and overlaps: exp(-0.6) is left empty in place of 0.4, and one would see through. They are as dense as the whole when their
 * volumes add up to -ln 0.4. */
function thinnedSize(stride) {
  return stride > 1 ? Math.cbrt(stride * -Math.log(0.4) / 0.6) : 1;
}
