/* ---- shaders ---- */

const HEAD = `#version 300 es
precision highp float;
precision highp int;
`;

/* A grain is a point sprite that shows a ball. q: quantised position, c: colour byte, r: radius byte, t: a byte it keeps for life. A particle that
 * stands for many grains is split into `split` of them at random places in it, always the same ones. */
const GRAIN_VERTEX = HEAD + `
layout(location = 0) in vec3 q;
layout(location = 1) in float c;
layout(location = 2) in float r;
layout(location = 3) in float t;
uniform vec3 lower, size;
uniform mat4 view, proj;
uniform float radius, pixels, orthographic, fine, split, values;
uniform vec4 slice;
uniform sampler2D colours, mixes;
flat out vec3 albedo;
flat out vec3 centre;
flat out float ball;
flat out vec3 own;
uint scramble(uint h) { h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; return h ^ h >> 16; }
float part(uint h) { return float(h & 0xffffu) / 65535.0; }
void main() {
  vec3 x = lower + size * q;
  ball = radius * r * (1.0 + fine * (0.36 * fract(c * 255.0 * 0.381966) - 0.18)); /* fine grains are not alike: as in our pictures */
  int place = int(c * 255.0 + 0.5);
  vec4 paint = texelFetch(colours, ivec2(place, 0), 0);
  uint h = scramble(uint(t * 255.0 + 0.5) * 64u + uint(gl_InstanceID) + 1u);
  if (split > 1.5) {
    uint k = scramble(h), l = scramble(k);
    float z = 2.0 * part(h) - 1.0, a = 6.2831853 * part(h >> 16), away = 1.4 * ball * pow(part(k), 0.3333);
    x += away * vec3(sqrt(1.0 - z * z) * vec2(cos(a), sin(a)), z);
    ball *= 1.05 * pow(split, -0.3333) * (0.75 + 0.5 * part(k >> 16));
    vec3 mixed = texelFetch(mixes, ivec2(int(l & 63u), int(paint.a * 255.0 + 0.5)), 0).rgb;
    paint.rgb = values > 0.5 ? paint.rgb * (0.86 + 0.14 * part(l >> 8)) : mixed;
  }
  own = vec3(part(h), part(h >> 16), part(scramble(h + 7u))) * 6.2831853;
  albedo = paint.rgb;
  vec4 v = view * vec4(x, 1.0);
  centre = v.xyz;
  gl_Position = proj * v;
  gl_PointSize = max(1.0, 2.0 * ball * proj[1][1] * pixels * 0.5 / (orthographic > 0.5 ? 1.0 : -v.z));
  if (dot(slice.xyz, x) > slice.w)
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;

/* Grains of sand are no marbles: `rough` bends the normal of each in its own way. */
const GRAIN_FRAGMENT = HEAD + `
flat in vec3 albedo;
flat in vec3 centre;
flat in float ball;
flat in vec3 own;
uniform mat4 proj;
uniform float rough;
layout(location = 0) out vec4 colour;
layout(location = 1) out vec4 normal;
void main() {
  vec2 d = vec2(2.0, -2.0) * gl_PointCoord + vec2(-1.0, 1.0);
  float s = dot(d, d);
  if (s > 1.0)
    discard;
  vec3 n = vec3(d, sqrt(1.0 - s));
#ifdef EXACT
  vec4 p = proj * vec4(centre + ball * n, 1.0);
  gl_FragDepth = 0.5 * p.z / p.w + 0.5;
#endif
  colour = vec4(albedo, 1.0);
  vec3 bent = n + rough * (sin(3.1 * n.yzx + own) + 0.5 * sin(6.7 * n.zxy + own.yzx));
  normal = vec4(0.5 * normalize(bent) + 0.5, 1.0);
}`;

/* A piece of a fibre is a strip that faces the eye and shows a round rod, round where it meets the next; thin ones are at least a pixel wide, and shaded
 * as the middle of a rod. */
const FIBRE_VERTEX = HEAD + `
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 2) in vec4 c;
uniform mat4 view, proj;
uniform float pixels, orthographic;
uniform vec4 slice;
uniform sampler2D colours;
flat out vec3 albedo, A, B;
flat out vec2 rod, whole;
flat out float fat;
out vec3 place;
void main() {
  vec2 thick = abs(vec2(a.w, b.w));
  whole = step(0.0, vec2(a.w, b.w));
  A = (view * vec4(a.xyz, 1.0)).xyz;
  B = (view * vec4(b.xyz, 1.0)).xyz;
  vec3 middle = 0.5 * (A + B), toEye = orthographic > 0.5 ? vec3(0.0, 0.0, 1.0) : normalize(-middle);
  float pixel = (orthographic > 0.5 ? 1.0 : max(-middle.z, 1e-6)) / (proj[1][1] * pixels * 0.5);
  rod = max(thick, vec2(0.62 * pixel));
  fat = clamp(max(thick.x, thick.y) / pixel - 0.5, 0.0, 1.0);
  float r = 1.1 * max(rod.x, rod.y);
  vec3 side = cross(B - A, toEye);
  side = dot(side, side) > 1e-20 ? normalize(side) : normalize(cross(abs(toEye.y) < 0.9 ? vec3(0.0, 1.0, 0.0) : vec3(1.0, 0.0, 0.0), toEye));
  vec3 along = cross(toEye, side);
  place = ((gl_VertexID & 1) == 0 ? A - along * r : B + along * r) + side * (((gl_VertexID & 2) == 0) ? -r : r);
  gl_Position = proj * vec4(place, 1.0);
  albedo = c.a > 0.5 ? c.rgb : texelFetch(colours, ivec2(int(c.r * 255.0 + 0.5), 0), 0).rgb;
  if (dot(slice.xyz, 0.5 * (a.xyz + b.xyz)) > slice.w)
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;

const FIBRE_FRAGMENT = HEAD + `
flat in vec3 albedo, A, B;
flat in vec2 rod, whole;
flat in float fat;
in vec3 place;
uniform mat4 proj;
uniform float orthographic;
#ifndef SHADOW
layout(location = 0) out vec4 colour;
layout(location = 1) out vec4 normal;
#endif
/* Where the ray from o along d meets the ball at c; below 0: not. */
float ball(vec3 o, vec3 d, vec3 c, float r) {
  vec3 v = o - c;
  float b = dot(d, v), h = b * b - dot(v, v) + r * r;
  return h < 0.0 ? -1.0 : -b - sqrt(h);
}
void main() {
  vec3 d = orthographic > 0.5 ? vec3(0.0, 0.0, -1.0) : normalize(place), o = orthographic > 0.5 ? place - 1e3 * d * rod.x : vec3(0.0);
  vec3 axis = B - A, v = o - A;
  float r = 0.5 * (rod.x + rod.y), aa = dot(axis, axis), ad = dot(axis, d), av = dot(axis, v);
  float a = aa - ad * ad, b = aa * dot(d, v) - av * ad, c = aa * dot(v, v) - av * av - r * r * aa, h = b * b - a * c;
  if (h < 0.0 || aa <= 0.0)
    discard;
  float t = (-b - sqrt(h)) / max(a, 1e-12 * aa), y = av + t * ad;
  vec3 p, n;
  if (y > 0.0 && y < aa) {
    p = o + t * d;
    n = (p - A - axis * (y / aa)) / r;
  } else {
    bool first = y <= 0.0;
    vec3 end = first ? A : B;
    if ((first ? whole.x : whole.y) > 0.5) {
      t = ball(o, d, end, r);
      p = o + t * d;
      n = (p - end) / r;
    } else { /* cut off flat */
      n = axis * (first ? -inversesqrt(aa) : inversesqrt(aa));
      t = dot(end - o, n) / dot(d, n);
      p = o + t * d;
      if (dot(p - end, p - end) > r * r || dot(d, n) > 0.0)
        discard;
    }
    if (t < 0.0)
      discard;
  }
#ifndef SHADOW
  vec4 q = proj * vec4(p, 1.0);
  gl_FragDepth = 0.5 * q.z / q.w + 0.5;
  colour = vec4(albedo, 0.8);
  normal = vec4(0.5 * normalize(mix(-d, n, fat)) + 0.5, 1.0);
#endif
}`;

/* An arrow of nine corners that faces the eye: a shaft and a head. */
const ARROW_VERTEX = HEAD + `
layout(location = 0) in vec3 q;
layout(location = 1) in vec3 v;
uniform vec3 lower, size;
uniform mat4 view, proj;
uniform float scale, least, orthographic;
uniform vec4 slice;
out vec3 place;
void main() {
  const vec2 corner[9] = vec2[9](vec2(-0.5, -0.06), vec2(0.1, -0.06), vec2(-0.5, 0.06), vec2(-0.5, 0.06), vec2(0.1, -0.06), vec2(0.1, 0.06),
                                 vec2(0.1, -0.2), vec2(0.5, 0.0), vec2(0.1, 0.2));
  vec3 x = lower + size * q;
  vec4 p = view * vec4(x, 1.0);
  vec3 d = (view * vec4(v, 0.0)).xyz;
  float l = length(d);
  vec3 toEye = orthographic > 0.5 ? vec3(0.0, 0.0, 1.0) : normalize(-p.xyz), side = cross(toEye, d);
  side = length(side) > 1e-6 ? normalize(side) : vec3(0.0);
  vec2 k = corner[gl_VertexID] * scale;
  p.xyz += d * k.x + side * k.y * max(l, 0.25);
  place = p.xyz;
  gl_Position = l < least || dot(slice.xyz, x) > slice.w ? vec4(2.0, 2.0, 2.0, 1.0) : proj * p;
}`;

/* Bodies with normals of their corners, ground and boards with those of their faces. */
const MESH_VERTEX = HEAD + `
layout(location = 0) in vec3 x;
layout(location = 1) in vec3 n;
uniform mat4 model, view, proj;
out vec3 place, turned;
void main() {
  vec4 v = view * (model * vec4(x, 1.0));
  turned = (view * (model * vec4(n, 0.0))).xyz;
  place = v.xyz;
  gl_Position = proj * v;
}`;

const MESH_FRAGMENT = HEAD + `
in vec3 place, turned;
uniform vec3 paint;
uniform float kind, smoothed;
layout(location = 0) out vec4 colour;
layout(location = 1) out vec4 normal;
void main() {
  vec3 n = normalize(cross(dFdx(place), dFdy(place)));
  if (smoothed > 0.5 && dot(turned, turned) > 0.25)
    n = normalize(turned);
  if (dot(n, place) > 0.0)
    n = -n;
  colour = vec4(paint, kind);
  normal = vec4(0.5 * n + 0.5, 1.0);
}`;

/* Seen through: containers and walls, over the finished picture. */
const GLASS_FRAGMENT = HEAD + `
in vec3 place;
uniform vec3 paint;
uniform float opacity;
out vec4 colour;
void main() {
  vec3 n = normalize(cross(dFdx(place), dFdy(place)));
  float rim = 1.0 - abs(dot(n, normalize(place)));
  colour = vec4(paint, opacity * (0.6 + 1.6 * rim * rim));
}`;

const LINE_FRAGMENT = HEAD + `
in vec3 place;
uniform vec3 paint;
uniform float opacity;
out vec4 colour;
void main() { colour = vec4(paint, opacity + 0.0 * place.x); }`;

const SHADOW_FRAGMENT = HEAD + `
void main() {
#ifdef ROUND
  vec2 d = 2.0 * gl_PointCoord - 1.0;
  if (dot(d, d) > 1.0)
    discard;
#endif
}`;

const FULL_VERTEX = HEAD + `
out vec2 uv;
void main() {
  vec2 p = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0;
  uv = 0.5 * p + 0.5;
  gl_Position = vec4(p, 0.0, 1.0);
}`;

const PLACE = `
uniform sampler2D depths;
uniform mat4 unproject;
vec3 placeAt(vec2 uv) {
  vec4 p = unproject * vec4(2.0 * vec3(uv, texture(depths, uv).r) - 1.0, 1.0);
  return p.xyz / p.w;
}
`;

/* How much of the sky a point sees past its neighbours, at two reaches: between grains, and in hollows of the heap. After the
 * obscurance of McGuire et al. 2012: mean of max(0, v·n - bias) / (v·v + e). */
const CONTACT_FRAGMENT = HEAD + PLACE + `
in vec2 uv;
uniform sampler2D normals;
uniform vec2 reach;
uniform float perMetre, orthographic;
uniform vec2 pixel;
out vec4 colour;
float around(vec3 p, vec3 n, float r, float spin) {
  float screen = r * perMetre / (orthographic > 0.5 ? 1.0 : -p.z), sum = 0.0;
  screen = clamp(screen, 2.0, 90.0);
  for (int k = 0; k < 9; k++) {
    float a = spin + 2.39996 * float(k), l = screen * sqrt((float(k) + 0.5) / 9.0);
    vec3 v = placeAt(uv + l * vec2(cos(a), sin(a)) * pixel) - p;
    float d = dot(v, v), f = max(0.0, 1.0 - d / (r * r));
    sum += f * max(0.0, dot(v, n) - 0.06 * r) / (sqrt(d) + 0.05 * r);
  }
  return sum / 9.0;
}
void main() {
  if (texture(depths, uv).r >= 1.0) {
    colour = vec4(1.0);
    return;
  }
  vec3 p = placeAt(uv), n = 2.0 * texture(normals, uv).xyz - 1.0;
  float spin = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) * 6.2832;
  float near = around(p, n, reach.x, spin), far = around(p, n, reach.y, spin + 1.0);
  colour = vec4(clamp(1.0 - 2.2 * near, 0.0, 1.0), clamp(1.0 - 1.7 * far, 0.0, 1.0), 0.0, 1.0);
}`;

/* Light: sun with shadow, sky with contact, a little that the ground throws back; then the tone curve of our own pictures. */
const LIGHT_FRAGMENT = HEAD + PLACE + `
in vec2 uv;
uniform sampler2D albedos, normals, contacts;
uniform highp sampler2DShadow shadows;
uniform mat4 toSun;
uniform vec3 sun, up, background;
uniform vec2 pixel;
uniform float plain, fade, shadowTexel, bias;
uniform vec3 groundPaint;
out vec4 colour;
vec3 linear(vec3 c) { return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c)); }
vec3 screen(vec3 c) { return mix(12.92 * c, 1.055 * pow(max(c, 0.0), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)); }
vec3 tone(vec3 c) { vec3 over = max(c - 0.55, 0.0); return min(c, 0.55) + 0.45 * (1.0 - exp(-over / 0.45)); }
void main() {
  vec4 a = texture(albedos, uv);
  if (texture(depths, uv).r >= 1.0) {
    colour = vec4(background, 1.0);
    return;
  }
  vec3 p = placeAt(uv), n = normalize(2.0 * texture(normals, uv).xyz - 1.0), paint = linear(a.rgb);
  bool ground = a.a < 0.6;
  vec2 open = vec2(1.0);
  float lit = 1.0;
  if (plain < 0.5) {
    open = vec2(0.0);
    for (int i = -1; i <= 2; i++)
      for (int j = -1; j <= 2; j++)
        open += texture(contacts, uv + pixel * (vec2(i, j) - 0.5)).rg;
    open /= 16.0;
    vec4 s = toSun * vec4(p + bias * n, 1.0);
    vec3 m = 0.5 * s.xyz + 0.5;
    lit = 0.0;
    float spin = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) * 6.2832;
    for (int k = 0; k < 8; k++) {
      float t = spin + 2.39996 * float(k), l = 3.2 * sqrt((float(k) + 0.5) / 8.0);
      lit += texture(shadows, vec3(m.xy + shadowTexel * l * vec2(cos(t), sin(t)), m.z - 0.0006));
    }
    lit = any(greaterThan(abs(s.xyz), vec3(1.0))) ? 1.0 : lit / 8.0;
  }
  float day = max(0.0, dot(n, sun)), sky = 0.5 + 0.5 * dot(n, up);
  vec3 light = vec3(1.36, 1.31, 1.22) * day * lit * mix(1.0, open.x, 0.6);
  light += vec3(0.42, 0.46, 0.52) * sky * open.x * open.y;
  light += 0.16 * groundPaint * (0.5 - 0.5 * dot(n, up)) * open.y;
  vec3 c = paint * light;
  if (ground)
    c = mix(c, linear(background), smoothstep(0.25, 1.0, length(p) * fade));
  colour = vec4(screen(tone(c)), 1.0);
}`;

/* Smooths edges of bodies and of the heap: a short form of FXAA (Lottes 2009). Among grains it would draw worms, so they stay as they are. */
const COPY_FRAGMENT = HEAD + `
in vec2 uv;
uniform sampler2D picture, albedos;
uniform vec2 pixel;
out vec4 colour;
float grain(vec2 o) { return step(0.99, texture(albedos, uv + o * pixel).a); }
float luma(vec2 o) { return dot(texture(picture, uv + o * pixel).rgb, vec3(0.3, 0.6, 0.1)); }
void main() {
  if (grain(vec2(-1, -1)) + grain(vec2(1, -1)) + grain(vec2(-1, 1)) + grain(vec2(1, 1)) > 3.5) {
    colour = texture(picture, uv);
    return;
  }
  float m = luma(vec2(0)), a = luma(vec2(-1, -1)), b = luma(vec2(1, -1)), c = luma(vec2(-1, 1)), d = luma(vec2(1, 1));
  float least = min(m, min(min(a, b), min(c, d))), most = max(m, max(max(a, b), max(c, d)));
  vec2 along = vec2(c + d - a - b, a + c - b - d);
  along = clamp(along / (min(abs(along.x), abs(along.y)) + 0.03 * (a + b + c + d) + 1e-3), -4.0, 4.0) * pixel;
  vec3 near = 0.5 * (texture(picture, uv - along / 6.0).rgb + texture(picture, uv + along / 6.0).rgb);
  vec3 far = 0.5 * near + 0.25 * (texture(picture, uv - along * 0.5).rgb + texture(picture, uv + along * 0.5).rgb);
  float l = dot(far, vec3(0.3, 0.6, 0.1));
  vec3 smoothed = l < least || l > most ? near : far;
  colour = vec4(most - least < 0.06 ? texture(picture, uv).rgb : smoothed, 1.0);
}`;
