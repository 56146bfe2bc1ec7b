// The server's interface: lists of models and examples, and walks that are streamed.

const KEPT = "irem-token";

/** What went wrong, as one sentence that says what to do. */
export class ServerError extends Error {
  constructor(sentence, { status = 0, code = "" } = {}) {
    super(sentence);
    this.status = status;
    this.code = code;
  }
}

export const setToken = (token) => sessionStorage.setItem(KEPT, token);

/** Take a token from the address, `#token=...`, and remove it there. */
export function tokenFromAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (!parts.has("token")) return;
  setToken(parts.get("token"));
  parts.delete("token");
  history.replaceState(null, "", `#${parts}`);
}

export const models = async () => (await (await ask("/v1/models")).json()).models;

export async function examples(model, options) {
  const query = new URLSearchParams(
    Object.entries(options).filter(([, value]) => value !== null && value !== undefined),
  );
  return (await (await ask(`/v1/models/${encodeURIComponent(model)}/examples?${query}`)).json())
    .problems;
}

/** Walk to the answer of one problem; `onMessage` gets every line as soon as it comes. */
export async function walk(model, body, { signal, onMessage }) {
  const settings = {
    method: "POST",
    body: JSON.stringify(body),
    signal,
    headers: { "Content-Type": "application/json" },
  };
  const response = await ask(`/v1/models/${encodeURIComponent(model)}/walk`, settings);
  let ended = false;
  for await (const message of lines(response)) {
    if (message.type === "error")
      throw new ServerError(sentenceOf(message, response.status), { code: message.error?.code });
    ended ||= message.type === "result";
    onMessage(message);
  }
  if (!ended)
    throw new ServerError(
      "The answer broke off before its end; look at the server's log, then press Solve again.",
    );
}

async function ask(path, settings = {}) {
  const token = sessionStorage.getItem(KEPT);
  const headers = { ...settings.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...settings, headers });
  } catch (error) {
    throw lost(error);
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  throw new ServerError(sentenceOf(told, response.status), {
    status: response.status,
    code: told.error?.code,
  });
}

async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      throw lost(error);
    }
    const pieces = (rest + (part.value ?? "")).split("\n");
    rest = part.done ? "" : pieces.pop();
    for (const piece of pieces) if (piece.trim()) yield parsed(piece);
    if (part.done) return;
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    throw new ServerError("The answer came damaged; press Solve again.");
  }
}

function lost(error) {
  if (error.name === "AbortError") return error;
  return new ServerError(
    "The connection to the server is lost; see that `irem serve` still runs, then try again.",
  );
}

function sentenceOf(told, status) {
  if (status === 401)
    return "This server asks for its token, which was chosen when it was started.";
  const refused = Array.isArray(told.refused)
    ? told.refused.filter((one) => typeof one === "string")
    : [];
  if (refused.length) return refused.join(" ");
  if (typeof told.error?.message === "string") return told.error.message;
  if (status === 429 || status === 503)
    return "The server has too much to do; wait a few seconds, then press Solve again.";
  return `The server answered with status ${status}; look at its log, then try again.`;
}
