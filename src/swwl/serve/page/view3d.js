// One indexed mesh in WebGL2: orbit camera, shading, color map, edges, picking. Drawn only when something has changed.
import { lut } from "./colors.js";
import { bestTurn, extent, eye, multiply, perspective, ray, rotation } from "./space.js";

const ANGLE = 0.6;

const VERTEX = `#version 300 es
in vec3 place;
in float value;
uniform mat4 view, projection;
uniform vec2 range;
uniform float nearer;
out vec3 seen;
out float share;
void main() {
  vec4 at = view * vec4(place, 1.0);
  seen = at.xyz;
  share = range.y > range.x ? (value - range.x) / (range.y - range.x) : 0.5;
  gl_Position = projection * at;
  gl_Position.z -= nearer * gl_Position.w;
}`;
const SURFACE = `#version 300 es
precision highp float;
in vec3 seen;
in float share;
uniform sampler2D colors;
uniform vec3 plain;
uniform bool colored;
out vec4 color;
void main() {
  vec3 normal = normalize(cross(dFdx(seen), dFdy(seen)));
  float light = 0.6 + 0.4 * abs(dot(normal, normalize(vec3(0.15, 0.3, 1.0))));
  vec3 base = colored ? (isnan(share) ? vec3(0.6) : texture(colors, vec2(clamp(share, 0.0, 1.0), 0.5)).rgb) : plain;
  color = vec4(base * light, 1.0);
}`;
const LINES = `#version 300 es
precision highp float;
in vec3 seen;
in float share;
uniform vec4 ink;
out vec4 color;
void main() {
  color = ink;
}`;

export class View3D {
  /** A view on a canvas; onPick is called with the number of a point, or -1. */
  constructor(canvas, onPick) {
    this.canvas = canvas;
    this.onPick = onPick;
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser has no WebGL2, so the mesh cannot be shown.");
    this.gl = gl;
    this.surface = program(gl, VERTEX, SURFACE);
    this.lines = program(gl, VERTEX, LINES);
    this.texture = gl.createTexture();
    this.edges = true;
    this.dark = false;
    this.mesh = null;
    this.reset();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** Show another mesh: points (3 n), triangles (3 m), edges (2 e). */
  show(points, triangles, edges, flat) {
    const gl = this.gl;
    if (this.mesh) {
      for (const buffer of this.mesh.buffers) gl.deleteBuffer(buffer);
      for (const array of this.mesh.arrays) gl.deleteVertexArray(array);
    }
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < points.length; i++) {
      low[i % 3] = Math.min(low[i % 3], points[i]);
      high[i % 3] = Math.max(high[i % 3], points[i]);
    }
    const place = buffer(gl, gl.ARRAY_BUFFER, points);
    const value = buffer(gl, gl.ARRAY_BUFFER, new Float32Array(points.length / 3));
    const faces = buffer(gl, gl.ELEMENT_ARRAY_BUFFER, triangles);
    const sides = buffer(gl, gl.ELEMENT_ARRAY_BUFFER, edges);
    const arrays = [arrayOf(gl, this.surface, place, value, faces), arrayOf(gl, this.lines, place, value, sides)];
    const radius = Math.hypot(...[0, 1, 2].map((k) => high[k] - low[k])) / 2 || 1;
    const best = flat ? [0, 0] : bestTurn(points, triangles);
    this.mesh = { points, triangles, edges, radius, best, buffers: [place, value, faces, sides], arrays };
    this.values = null;
    const first = this.flat === undefined || this.flat !== flat;
    this.flat = flat;
    if (first) this.reset();
    this.box = extent(points, rotation(...best));
    this.draw();
  }

  /** Draw the same mesh with its points elsewhere (3 n); the camera stays where it is. */
  displace(points) {
    if (!this.mesh || points === this.mesh.points) return;
    this.mesh.points = points;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.mesh.buffers[0]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, points, this.gl.DYNAMIC_DRAW);
    this.draw();
  }

  /** Color the mesh by values at its points, or not at all. */
  color(values, range = [0, 1], map = "viridis") {
    this.values = values;
    this.range = range;
    const gl = this.gl;
    if (values && this.mesh) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.mesh.buffers[1]);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.bindTexture(gl.TEXTURE_2D, this.texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, lut(map));
      for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
      for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    }
    this.draw();
  }

  reset() {
    this.turn = [...(this.mesh?.best ?? [0, 0])];
    this.zoom = 1;
    this.shift = [0, 0];
    this.box = this.mesh ? extent(this.mesh.points, rotation(...this.turn)) : null;
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  matrices() {
    const { width, height } = this.canvas;
    const aspect = width / Math.max(1, height);
    const radius = this.mesh.radius;
    const [width_, height_, depth, x, y] = this.box ?? [2 * radius, 2 * radius, 2 * radius, 0, 0];
    const fit = (1.12 * Math.max(height_, width_ / aspect, radius * 0.02)) / (2 * Math.tan(ANGLE / 2)) + depth / 2;
    const distance = fit / this.zoom;
    const view = multiply(eye(this.shift[0] * radius - x, this.shift[1] * radius - y, -distance), rotation(...this.turn));
    return { view, projection: perspective(ANGLE, aspect, Math.max(distance - 2 * radius, distance / 200), distance + 2 * radius) };
  }

  render() {
    const gl = this.gl;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.round(this.canvas.clientWidth * scale);
    const height = Math.round(this.canvas.clientHeight * scale);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (!this.mesh || !width || !height) return;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const { view, projection } = this.matrices();
    const lonely = this.mesh.triangles.length === 0;
    for (const [which, kit] of [this.surface, this.lines].entries()) {
      if (which === 1 && !this.edges && !lonely) continue;
      gl.useProgram(kit.program);
      gl.uniformMatrix4fv(kit.at("view"), false, view);
      gl.uniformMatrix4fv(kit.at("projection"), false, projection);
      gl.uniform2f(kit.at("range"), ...(this.range || [0, 1]));
      gl.uniform1f(kit.at("nearer"), which === 1 ? 4e-4 : 0);
      gl.bindVertexArray(this.mesh.arrays[which]);
      if (which === 0) {
        gl.activeTexture(gl.TEXTURE0);
        gl.bindTexture(gl.TEXTURE_2D, this.texture);
        gl.uniform1i(kit.at("colors"), 0);
        gl.uniform1i(kit.at("colored"), this.values ? 1 : 0);
        gl.uniform3f(kit.at("plain"), ...(this.dark ? [0.55, 0.66, 0.78] : [0.66, 0.75, 0.85]));
        gl.drawElements(gl.TRIANGLES, this.mesh.triangles.length, gl.UNSIGNED_INT, 0);
      } else {
        // The closer lines lie together on the screen, the fainter they are.
        const apart = this.zoom * Math.sqrt((0.4 * width * height) / (this.mesh.edges.length / 2 + 1)) / scale;
        gl.uniform4f(kit.at("ink"), 0.05, 0.08, 0.12, lonely ? 0.9 : Math.max(0.06, Math.min(0.45, (apart - 1) / 22)));
        gl.drawElements(gl.LINES, this.mesh.edges.length, gl.UNSIGNED_INT, 0);
      }
    }
    gl.bindVertexArray(null);
  }

  /** Return the point of the mesh under a place on the canvas, or -1. */
  pick(x, y) {
    if (!this.mesh) return -1;
    const box = this.canvas.getBoundingClientRect();
    const at = [(2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height];
    const { view, projection } = this.matrices();
    return ray(this.mesh.points, this.mesh.triangles, view, projection, at);
  }

  listen() {
    const canvas = this.canvas;
    const fingers = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) {
        if (event.pointerType === "mouse") this.hover(event.clientX, event.clientY);
        return;
      }
      const now = [event.clientX, event.clientY];
      const size = Math.min(canvas.clientWidth, canvas.clientHeight) || 1;
      const [dx, dy] = [now[0] - last[0], now[1] - last[1]];
      moved += Math.abs(dx) + Math.abs(dy);
      if (fingers.size === 2) {
        const other = [...fingers].find(([key]) => key !== event.pointerId)[1];
        const spread = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        this.zoomBy(spread(now) / Math.max(1, spread(last)));
        this.move(dx / size, dy / size);
      } else if (event.shiftKey || event.buttons === 2 || event.buttons === 4) {
        this.move(dx / size, dy / size);
      } else {
        this.rotate((3 * dx) / size, (3 * dy) / size);
      }
      fingers.set(event.pointerId, now);
    });
    const lift = (event) => {
      fingers.delete(event.pointerId);
      if (moved < 4 && event.type === "pointerup") this.onPick(this.pick(event.clientX, event.clientY), event);
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", () => this.onPick(-1, null));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 600));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", (event) => {
      const step = 0.15;
      const keys = {
        ArrowLeft: () => this.rotate(-step, 0), ArrowRight: () => this.rotate(step, 0),
        ArrowUp: () => this.rotate(0, -step), ArrowDown: () => this.rotate(0, step),
        "+": () => this.zoomBy(1.2), "=": () => this.zoomBy(1.2), "-": () => this.zoomBy(1 / 1.2), 0: () => this.reset(),
      };
      if (keys[event.key]) {
        event.preventDefault();
        keys[event.key]();
      }
    });
  }

  hover(x, y) {
    clearTimeout(this.hovering);
    this.hovering = setTimeout(() => this.onPick(this.pick(x, y), { clientX: x, clientY: y }), 60);
  }

  rotate(dx, dy) {
    this.turn = [this.turn[0] + dx, Math.max(-1.57, Math.min(1.57, this.turn[1] + dy))];
    this.draw();
  }

  move(dx, dy) {
    this.shift = [this.shift[0] + (1.6 * dx) / this.zoom, this.shift[1] - (1.6 * dy) / this.zoom];
    this.draw();
  }

  zoomBy(factor) {
    this.zoom = Math.max(0.2, Math.min(60, this.zoom * factor));
    this.draw();
  }
}

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.bindAttribLocation(made, 0, "place");
  gl.bindAttribLocation(made, 1, "value");
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const known = new Map();
  const at = (name) => {
    if (!known.has(name)) known.set(name, gl.getUniformLocation(made, name));
    return known.get(name);
  };
  return { program: made, at };
}

function buffer(gl, kind, content) {
  const made = gl.createBuffer();
  gl.bindVertexArray(null);
  gl.bindBuffer(kind, made);
  gl.bufferData(kind, content, gl.STATIC_DRAW);
  return made;
}

function arrayOf(gl, kit, place, value, indices) {
  const made = gl.createVertexArray();
  gl.bindVertexArray(made);
  gl.bindBuffer(gl.ARRAY_BUFFER, place);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  gl.bindBuffer(gl.ARRAY_BUFFER, value);
  gl.enableVertexAttribArray(1);
  gl.vertexAttribPointer(1, 1, gl.FLOAT, false, 0, 0);
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices);
  gl.bindVertexArray(null);
  return made;
}
