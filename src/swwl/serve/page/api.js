// Questions to the server. The token of the link, if there is one, goes with every question and out of the address.
const KEY = "swwl-token";
const given = new URLSearchParams(location.search).get("token");
if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.hash);
}

function headers(more = {}) {
  const token = sessionStorage.getItem(KEY);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

/** Return an address with the token that is needed to open it. */
export function opened(path) {
  const token = sessionStorage.getItem(KEY);
  return path + (token ? `?token=${encodeURIComponent(token)}` : "");
}

/** Return the link to this page, as others can open it. */
export function ownLink(hash) {
  return opened(location.origin + location.pathname) + hash;
}

async function answer(response) {
  if (response.ok) return response;
  let text = `The server answered ${response.status}.`;
  try {
    text = (await response.json()).error || text;
  } catch {
    // not JSON: the status has to do
  }
  throw new Error(text);
}

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: headers(options.headers) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is swwl serve still running?");
  }
  return answer(response);
}

export async function get(path) {
  return (await asked(path, {})).json();
}

export function post(path, question, signal) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question), signal };
  return asked(path, options);
}

export async function send(path, files) {
  const form = new FormData();
  for (const [name, file] of Object.entries(files)) form.append(name, file, file.name);
  return (await asked(path, { method: "POST", body: form })).json();
}

const TYPES = { float32: Float32Array, uint32: Uint32Array };

/** Take apart what the server packed: the header, and arrays by name. */
export async function unpacked(response) {
  const buffer = await response.arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, one] of Object.entries(header.arrays)) {
    const count = one.shape.reduce((a, b) => a * b, 1);
    arrays[name] = new TYPES[one.type](buffer, 4 + length + one.start, count);
  }
  return { header, arrays };
}

/** Hand a file to the browser to keep. */
export function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
