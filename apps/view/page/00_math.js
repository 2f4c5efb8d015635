'use strict';
/* The page of repose view, play and export. Files are joined in the order of their names into one script. */

/* ---- vectors and matrices (column-major, as WebGL takes them) ---- */

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (s, a) => [s * a[0], s * a[1], s * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = a => Math.hypot(a[0], a[1], a[2]);
const unit = a => { const n = norm(a); return n > 0 ? scale(1 / n, a) : [0, 0, 1]; };
const mix = (a, b, t) => add(scale(1 - t, a), scale(t, b));

/* a turned about a unit axis */
function turn(a, axis, angle) {
  const c = Math.cos(angle), s = Math.sin(angle);
  return add(add(scale(c, a), scale(s, cross(axis, a))), scale((1 - c) * dot(axis, a), axis));
}

function multiply(a, b) {
  const out = new Float32Array(16);
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++)
      out[4 * i + j] = a[j] * b[4 * i] + a[4 + j] * b[4 * i + 1] + a[8 + j] * b[4 * i + 2] + a[12 + j] * b[4 * i + 3];
  return out;
}

/* The pose of a body: rotation by the quaternion (w, x, y, z), then the shift. */
function poseMatrix(p, q) {
  const [w, x, y, z] = q;
  return new Float32Array([
    1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
    2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
    2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0,
    p[0], p[1], p[2], 1]);
}

/* ---- cameras: { eye, target, up, fov, orthographic, extent } ---- */

function cameraBasis(c) {
  const back = unit(sub(c.eye, c.target));
  let right = cross(c.up, back);
  if (norm(right) < 1e-6)
    right = cross(Math.abs(back[1]) < 0.9 ? [0, 1, 0] : [1, 0, 0], back);
  right = unit(right);
  return { right, up: cross(back, right), back };
}

function viewMatrix(c) {
  const { right: r, up: u, back: b } = cameraBasis(c);
  return new Float32Array([r[0], u[0], b[0], 0, r[1], u[1], b[1], 0, r[2], u[2], b[2], 0, -dot(r, c.eye), -dot(u, c.eye), -dot(b, c.eye), 1]);
}

/* Height of what is seen at the target. */
function seenHeight(c) {
  const distance = norm(sub(c.eye, c.target));
  return c.orthographic ? (c.extent > 0 ? c.extent : 2 * distance * Math.tan(c.fov / 2)) : 2 * distance * Math.tan(c.fov / 2);
}

/* `reach`: the radius of everything that is to be seen, about the target. */
function projection(c, aspect, reach) {
  const distance = norm(sub(c.eye, c.target));
  if (c.orthographic) {
    const h = seenHeight(c) / 2, near = distance - reach, far = distance + reach;
    return { matrix: new Float32Array([1 / (h * aspect), 0, 0, 0, 0, 1 / h, 0, 0, 0, 0, -2 / (far - near), 0, 0, 0, -(far + near) / (far - near), 1]), near, far };
  }
  const f = 1 / Math.tan(c.fov / 2), far = distance + reach, near = Math.max(distance - reach, far / 4000);
  return { matrix: new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]), near, far };
}

/* The ray through a point of the picture, x and y from -1 to 1. */
function ray(c, aspect, x, y) {
  const { right, up, back } = cameraBasis(c);
  if (c.orthographic) {
    const h = seenHeight(c) / 2;
    return { from: add(c.eye, add(scale(x * h * aspect, right), scale(y * h, up))), along: scale(-1, back) };
  }
  const t = Math.tan(c.fov / 2);
  return { from: c.eye.slice(), along: unit(add(scale(-1, back), add(scale(x * t * aspect, right), scale(y * t, up)))) };
}

/* Where a point of space is in the picture, -1 to 1, and its depth in front of the eye. */
function project(c, aspect, p) {
  const { right, up, back } = cameraBasis(c), d = sub(p, c.eye), z = -dot(d, back);
  const h = c.orthographic ? seenHeight(c) / 2 : z * Math.tan(c.fov / 2);
  return { x: dot(d, right) / (h * aspect), y: dot(d, up) / h, z };
}

function orbit(c, across, upward, axis) {
  const { right, back } = cameraBasis(c);
  let arm = sub(c.eye, c.target);
  const height = Math.asin(Math.max(-1, Math.min(1, dot(back, axis)))), limit = 1.55;
  upward = Math.max(-limit, Math.min(limit, height + upward)) - height;
  arm = turn(arm, right, -upward);
  arm = turn(arm, axis, -across);
  return { ...c, up: axis.slice(), eye: add(c.target, arm) };
}

function pan(c, x, y) {
  const { right, up } = cameraBasis(c), h = seenHeight(c), shift = add(scale(-x * h, right), scale(-y * h, up));
  return { ...c, eye: add(c.eye, shift), target: add(c.target, shift) };
}

function zoom(c, factor) {
  return { ...c, eye: add(c.target, scale(factor, sub(c.eye, c.target))), extent: c.extent * factor };
}

/* A section fills a picture of 16 by 9: in a narrower one it is seen from farther away, so that nothing of it is cut off. */
function fitted(c, aspect) {
  return c.orthographic ? zoom(c, Math.max(1, 16 / 9 / aspect)) : { ...c };
}

/* x y z and normal of each corner of each triangle: faces around the corner that meet this one below 35 degrees count, by their area. */
function cornerNormals(vertices, triangles) {
  const faces = triangles.length / 3, count = vertices.length / 3, normals = new Float32Array(3 * faces), first = new Uint32Array(count + 2), around = new Uint32Array(3 * faces);
  const out = new Float32Array(18 * faces), least = Math.cos(35 * Math.PI / 180);
  for (let f = 0; f < faces; f++) {
    const [a, b, c] = [0, 1, 2].map(k => 3 * triangles[3 * f + k]), u = [0, 1, 2].map(d => vertices[b + d] - vertices[a + d]), v = [0, 1, 2].map(d => vertices[c + d] - vertices[a + d]);
    normals.set(cross(u, v), 3 * f);
    for (let k = 0; k < 3; k++)
      first[triangles[3 * f + k] + 2]++;
  }
  for (let v = 0; v <= count; v++)
    first[v + 1] += first[v];
  for (let k = 0; k < 3 * faces; k++)
    around[first[triangles[k] + 1]++] = Math.floor(k / 3);
  for (let k = 0; k < 3 * faces; k++) {
    const f = 3 * Math.floor(k / 3), v = triangles[k], x = normals[f], y = normals[f + 1], z = normals[f + 2], size = Math.hypot(x, y, z);
    let sx = 0, sy = 0, sz = 0;
    for (let n = first[v]; n < first[v + 1]; n++) {
      const g = 3 * around[n], a = normals[g], b = normals[g + 1], c = normals[g + 2];
      if (x * a + y * b + z * c >= least * size * Math.hypot(a, b, c)) {
        sx += a;
        sy += b;
        sz += c;
      }
    }
    const s = Math.hypot(sx, sy, sz) || 1;
    out.set([vertices[3 * v], vertices[3 * v + 1], vertices[3 * v + 2], sx / s, sy / s, sz / s], 6 * k);
  }
  return out;
}
