import { ApiUnreachable, type UnreachableCode } from "#kube/client/errors.ts";
import type { ApiRequest, ApiResponse, ApiStream, Transport } from "#kube/client/transport.ts";

/** An object of the fake API server. */
export interface FakeObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/**
 * An API server in memory, with one collection, its versions and its history; watches and lists answer as
 * kube-apiserver's do.
 */
export interface FakeApi extends Transport {
  readonly requests: readonly string[];
  readonly lists: readonly string[];
  readonly watches: readonly string[];
  version(): number;
  openWatches(): number;
  put(name: string, fields?: PutFields): FakeObject;
  remove(name: string, namespace?: string): void;
  /** Sends raw bytes to all open watches. */
  raw(bytes: Uint8Array | string): void;
  bookmark(): void;
  /** Ends all watches in an orderly way, as a server does. */
  endWatches(): void;
  /** Breaks the connection of all watches. */
  breakWatches(): void;
  /** Streams that are opened from now on are on another connection. */
  reconnect(): void;
  /** History before now is forgotten: watches from before are answered 410, at the door or in the stream. */
  compact(form: "connect" | "stream"): void;
  /** Replaces the store by one of this version; later puts define the objects. */
  restore(version: number): void;
  /** Continue tokens handed out so far are not valid any more. */
  expireTokens(): void;
  /** From now on every continue token has expired when it arrives. */
  expireEveryToken(): void;
  /** The next requests get these answers instead; an error is thrown. */
  next(...answers: (Partial<ApiResponse> | ApiUnreachable)[]): void;
  /** Whether put, remove and bookmark reach the watches; what was held back comes with the next that does. */
  hold(held: boolean): void;
}

export interface PutFields {
  readonly uid?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
  readonly status?: unknown;
}

interface Change {
  readonly version: number;
  readonly line: string;
}

export function createFakeApi(): FakeApi {
  const objects = new Map<string, FakeObject>();
  const watches = new Set<Body>();
  const requests: string[] = [];
  const scripted: (Partial<ApiResponse> | ApiUnreachable)[] = [];
  let history: Change[] = [];
  let version = 100;
  let compacted = 0;
  let goneForm: "connect" | "stream" = "connect";
  let tokens = 0;
  let areTokensUseless = false;
  let held = false;
  let connection = {};
  const withheld: string[] = [];

  function record(type: string, object: FakeObject): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    history.push({ version, line });
    tell(line);
  }

  function tell(line: string): void {
    withheld.push(line);
    if (held) return;
    const text = withheld.splice(0).join("");
    for (const watch of watches) watch.push(text);
  }

  function list(path: string, query: URLSearchParams): ApiResponse {
    const token = query.get("continue");
    if (token !== null && areTokensUseless) tokens += 1;
    const [epoch, start] = (token ?? `${tokens}:0`).split(":").map(Number);
    if (epoch !== tokens) {
      const { body, ...expired } = buildStatus(410, "Expired", "the provided continue parameter is too old");
      // As kube-apiserver does: this token continues the list as it is now.
      const metadata = { continue: `${tokens}:${start}` };
      return { ...expired, body: JSON.stringify({ ...JSON.parse(body), metadata }) };
    }
    const name = query.get("fieldSelector")?.replace("metadata.name=", "");
    const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    const all = [...objects.values()].filter(
      ({ metadata }) =>
        (name === undefined || metadata.name === name) &&
        (namespace === undefined || metadata["namespace"] === namespace),
    );
    const end = (start ?? 0) + Number(query.get("limit"));
    const metadata = {
      resourceVersion: String(version),
      ...(end < all.length ? { continue: `${tokens}:${end}`, remainingItemCount: all.length - end } : {}),
    };
    return { status: 200, headers: {}, body: JSON.stringify({ items: all.slice(start, end), metadata }) };
  }

  return {
    requests,
    get lists() {
      return requests.filter((path) => !path.includes("watch=1"));
    },
    get watches() {
      return requests.filter((path) => path.includes("watch=1"));
    },
    version: () => version,
    openWatches: () => watches.size,
    put(name, fields = {}) {
      version += 1;
      const key = keyOf(name, fields.metadata?.["namespace"]);
      const before = objects.get(key);
      const uid = fields.uid ?? before?.metadata.uid ?? `uid-${name}-${version}`;
      const object: FakeObject = {
        metadata: {
          creationTimestamp: "2026-01-01T00:00:00Z",
          ...before?.metadata,
          ...fields.metadata,
          name,
          uid,
          resourceVersion: String(version),
        },
        spec: fields.spec ?? before?.["spec"] ?? {},
        status: fields.status ?? before?.["status"] ?? {},
      };
      objects.set(key, object);
      record(before?.metadata.uid === uid ? "MODIFIED" : "ADDED", object);
      return object;
    },
    remove(name, namespace) {
      const key = keyOf(name, namespace);
      const object = objects.get(key);
      if (object === undefined) throw new Error(`no ${name}`);
      version += 1;
      objects.delete(key);
      record("DELETED", { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    },
    raw(bytes) {
      for (const watch of watches) watch.push(bytes);
    },
    bookmark() {
      const metadata = { resourceVersion: String(version), creationTimestamp: null };
      tell(`${JSON.stringify({ type: "BOOKMARK", object: { kind: "Node", apiVersion: "v1", metadata } })}\n`);
    },
    endWatches() {
      for (const watch of watches) watch.end();
    },
    breakWatches() {
      for (const watch of watches) watch.fail(createUnreachable("ConnectionLost"));
    },
    reconnect() {
      connection = {};
    },
    compact(form) {
      history = [];
      compacted = version;
      goneForm = form;
    },
    restore(to) {
      objects.clear();
      history = [];
      compacted = 0;
      version = to;
    },
    expireTokens() {
      tokens += 1;
    },
    expireEveryToken() {
      areTokensUseless = true;
    },
    next(...answers) {
      scripted.push(...answers);
    },
    hold(value) {
      held = value;
      if (!held && withheld.length > 0) tell("");
    },
    async send(request: ApiRequest) {
      requests.push(request.path);
      const answer = scripted.shift();
      if (answer instanceof ApiUnreachable) throw answer;
      if (answer !== undefined) return { status: 200, headers: {}, body: "", ...answer };
      const { pathname, searchParams } = new URL(request.path, "https://fake");
      return list(pathname, searchParams);
    },
    async stream(request: ApiRequest): Promise<ApiStream> {
      requests.push(request.path);
      const answer = scripted.shift();
      if (answer instanceof ApiUnreachable) throw answer;
      const body = createBody(() => watches.delete(body));
      request.signal?.addEventListener("abort", () => body.fail(createUnreachable("Aborted")));
      const opened = (opening: number): ApiStream => ({
        status: opening,
        headers: answer?.headers ?? {},
        body,
        connection,
        close: body.end,
      });
      if (answer !== undefined) {
        body.push(answer.body ?? "");
        body.end();
        return opened(answer.status ?? 200);
      }
      const from = Number(new URL(request.path, "https://fake").searchParams.get("resourceVersion"));
      if (from < compacted) {
        const gone = buildStatus(410, "Expired", "too old resource version").body;
        body.push(goneForm === "connect" ? gone : `{"type":"ERROR","object":${gone}}\n`);
        body.end();
        return opened(goneForm === "connect" ? 410 : 200);
      }
      watches.add(body);
      const missed = history.filter((change) => change.version > from);
      // A version from the future is taken at its word: nothing comes until the store gets there.
      if (missed.length > 0) body.push(missed.map((change) => change.line).join(""));
      return opened(200);
    },
    close: () => Promise.resolve(),
  };
}

function keyOf(name: string, namespace: unknown): string {
  return `${namespace ?? ""}/${name}`;
}

/** No answer, as the transport says it. */
export function createUnreachable(code: UnreachableCode): ApiUnreachable {
  return new ApiUnreachable({ code, server: "https://fake", attempt: "GET /api/v1/nodes" });
}

/** A metav1.Status as a whole answer. */
export function buildStatus(code: number, reason: string, message: string): ApiResponse {
  return {
    status: code,
    headers: {},
    body: JSON.stringify({ kind: "Status", status: "Failure", code, reason, message }),
  };
}

interface Body extends AsyncIterable<Uint8Array> {
  push(bytes: Uint8Array | string): void;
  end(): void;
  fail(error: Error): void;
}

function createBody(onClose: () => void): Body {
  const pieces: Uint8Array[] = [];
  let wake: () => void = () => {};
  let failure: Error | undefined;
  let ended = false;
  const close = (error?: Error): void => {
    if (ended) return;
    ended = true;
    failure = error;
    onClose();
    wake();
  };
  return {
    push(bytes) {
      if (bytes.length === 0 || ended) return;
      pieces.push(typeof bytes === "string" ? Buffer.from(bytes, "utf8") : bytes);
      wake();
    },
    end: () => close(),
    fail: (error) => close(error),
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const piece = pieces.shift();
        if (piece !== undefined) yield piece;
        else if (failure !== undefined) throw failure;
        else if (ended) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
