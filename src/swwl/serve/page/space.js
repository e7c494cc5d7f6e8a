// Matrices of four by four, by columns as WebGL takes them, and where a ray meets a mesh.

export function eye(x, y, z) {
  return new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, y, z, 1]);
}

/** Turn by yaw about the vertical axis, then by pitch about the horizontal one. */
export function rotation(yaw, pitch) {
  const [a, b, c, d] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
  return new Float32Array([a, b * d, -b * c, 0, 0, c, d, 0, b, -a * d, a * c, 0, 0, 0, 0, 1]);
}

export function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2);
  const depth = 1 / (near - far);
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (near + far) * depth, -1, 0, 0, 2 * near * far * depth, 0]);
}

export function multiply(a, b) {
  const out = new Float32Array(16);
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + row] * b[4 * column + k];
      out[4 * column + row] = sum;
    }
  }
  return out;
}

/** Return the corner nearest to where a ray through a place on the screen first meets a triangle, or -1. */
export function ray(points, triangles, view, projection, at) {
  // The camera stands at the origin; the view is a turn and a shift, so its inverse is the transpose of the turn.
  const way = [at[0] / projection[0], at[1] / projection[5], -1];
  const back = (v) => [0, 1, 2].map((k) => view[4 * k] * v[0] + view[4 * k + 1] * v[1] + view[4 * k + 2] * v[2]);
  const d = back(way);
  const o = back([-view[12], -view[13], -view[14]]);
  let best = Infinity;
  let found = -1;
  for (let t = 0; t < triangles.length; t += 3) {
    const [i, j, k] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ux = points[j] - points[i], uy = points[j + 1] - points[i + 1], uz = points[j + 2] - points[i + 2];
    const vx = points[k] - points[i], vy = points[k + 1] - points[i + 1], vz = points[k + 2] - points[i + 2];
    const px = d[1] * vz - d[2] * vy, py = d[2] * vx - d[0] * vz, pz = d[0] * vy - d[1] * vx;
    const det = ux * px + uy * py + uz * pz;
    if (det === 0) continue;
    const sx = o[0] - points[i], sy = o[1] - points[i + 1], sz = o[2] - points[i + 2];
    const a = (sx * px + sy * py + sz * pz) / det;
    if (a < 0 || a > 1) continue;
    const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux;
    const b = (d[0] * qx + d[1] * qy + d[2] * qz) / det;
    if (b < 0 || a + b > 1) continue;
    const depth = (vx * qx + vy * qy + vz * qz) / det;
    if (depth > 0 && depth < best) {
      best = depth;
      found = triangles[t + (a > b ? (a > 1 - a - b ? 1 : 0) : b > 1 - a - b ? 2 : 0)];
    }
  }
  return found;
}

/** Return width, height, depth and the middle (x, y) of points as a turn shows them. */
export function extent(points, turn) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 3) {
    for (let k = 0; k < 3; k++) {
      const value = turn[k] * points[i] + turn[4 + k] * points[i + 1] + turn[8 + k] * points[i + 2];
      if (value < low[k]) low[k] = value;
      if (value > high[k]) high[k] = value;
    }
  }
  const middle = (k) => (low[k] + high[k]) / 2 || 0;
  return [high[0] - low[0] || 0, high[1] - low[1] || 0, high[2] - low[2] || 0, middle(0), middle(1)];
}

/** Return the turn, among a few, that shows most of a surface. */
export function bestTurn(points, triangles) {
  const step = 3 * Math.max(1, Math.floor(triangles.length / 60000));
  const normals = [];
  for (let t = 0; t < triangles.length; t += step) {
    const [i, j, k] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ux = points[j] - points[i], uy = points[j + 1] - points[i + 1], uz = points[j + 2] - points[i + 2];
    const vx = points[k] - points[i], vy = points[k + 1] - points[i + 1], vz = points[k + 2] - points[i + 2];
    normals.push(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx);
  }
  let best = [-0.6, 0.4];
  let most = 0;
  for (const pitch of [0.4, -0.4]) {
    for (let yaw = -0.6; yaw < 2.5; yaw += 0.5) {
      const turn = rotation(yaw, pitch);
      let area = 0;
      for (let n = 0; n < normals.length; n += 3) area += Math.abs(turn[2] * normals[n] + turn[6] * normals[n + 1] + turn[10] * normals[n + 2]);
      if (area > 1.02 * most) [best, most] = [[yaw, pitch], area];
    }
  }
  return best;
}
