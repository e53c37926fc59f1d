import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { Behaviours } from "#emulators/api-server/behaviours.ts";
import {
  type HandlerContext,
  handleRequest,
  type ServerAnswer,
  type ServerRequest,
} from "#emulators/api-server/handler.ts";
import { NAMESPACES } from "#emulators/api-server/resources.ts";
import { Store } from "#emulators/api-server/store.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import type { ApiRequest, ApiResponse, ApiStream, Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";

/**
 * The embedded API server without a socket. Requests go to its handler, and its watches follow the given
 * clock.
 */
export interface InProcessApi {
  readonly context: HandlerContext;
  transport(user: ControlPlaneUser): Transport;
}

/** The interval of kube-apiserver's bookmarks, approximately. */
const BOOKMARK_EVERY_MS = 57_000;

/** Real timers of the server's watches must never fire: the given clock is the time. */
const NEVER_MS = 2 ** 31 - 1;

/** Creates an API server with an empty store and the default namespaces. */
export function createInProcessApi(clock: Clock): InProcessApi {
  const users = new Map<string, ControlPlaneUser>();
  const now = (): Date => clock.wallTime();
  const store = new Store(10_000);
  for (const name of ["default", "kube-system"]) {
    const creationTimestamp = `${now().toISOString().slice(0, 19)}Z`;
    store.put(NAMESPACES, name, {
      metadata: { name, uid: randomUUID(), resourceVersion: "", creationTimestamp },
    });
  }
  const context: HandlerContext = {
    store,
    behaviours: new Behaviours(NEVER_MS),
    users,
    watches: new Set(),
    record: () => {},
    now,
  };
  return {
    context,
    transport(user) {
      users.set(user.name, user);
      return {
        send: (request) => send(context, user, request),
        stream: (request) => stream(context, user, request, clock),
        close: () => Promise.resolve(),
      };
    },
  };
}

async function send(
  context: HandlerContext,
  user: ControlPlaneUser,
  request: ApiRequest,
): Promise<ApiResponse> {
  const answer = new InProcessAnswer();
  await handleRequest(context, serverRequest(user, request), answer as unknown as ServerAnswer);
  if (answer.destroyed) throw unreachable(request, "ConnectionLost");
  return { status: answer.status, headers: answer.headers, body: answer.text };
}

async function stream(
  context: HandlerContext,
  user: ControlPlaneUser,
  request: ApiRequest,
  clock: Clock,
): Promise<ApiStream> {
  const answer = new InProcessAnswer();
  const query = new URL(request.path, "https://in-process").searchParams;
  const from = Number(query.get("resourceVersion"));
  const cancels = [clock.after(Number(query.get("timeoutSeconds")) * 1_000, () => answer.emit("close"))];
  const bookmark = (): void => {
    // The real server also sends no bookmark before something has changed.
    const { revision } = context.store;
    if (revision > from) answer.write(bookmarkLine(request.path, revision));
    cancels.push(clock.after(BOOKMARK_EVERY_MS, bookmark));
  };
  cancels.push(clock.after(BOOKMARK_EVERY_MS, bookmark));
  const handled = handleRequest(context, serverRequest(user, request), answer as unknown as ServerAnswer);
  void handled.then(() => {
    for (const cancel of cancels) cancel();
  });
  request.signal?.addEventListener("abort", () => {
    answer.fail(unreachable(request, "Aborted"));
    answer.emit("close");
  });
  await answer.opened;
  if (answer.destroyed) throw unreachable(request, "ConnectionLost");
  return {
    status: answer.status,
    headers: answer.headers,
    body: answer,
    close: () => answer.emit("close"),
  };
}

function bookmarkLine(path: string, revision: number): string {
  const [kind, apiVersion] = path.includes("/nodes?")
    ? ["Node", "v1"]
    : ["CertificateSigningRequest", "certificates.k8s.io/v1"];
  const metadata = { resourceVersion: String(revision) };
  return `${JSON.stringify({ type: "BOOKMARK", object: { kind, apiVersion, metadata } })}\n`;
}

/** Users sign in by name, because tokens cannot be stolen here. */
function serverRequest(
  user: ControlPlaneUser,
  { method, path, body, ...request }: ApiRequest,
): ServerRequest {
  const text = body === undefined ? "" : JSON.stringify(body);
  const made = {
    method,
    url: path,
    headers: {
      authorization: `Bearer ${user.name}`,
      accept: request.accept ?? "application/json",
      "content-type": request.contentType ?? "application/json",
      "user-agent": "serverless-ccm/0",
    },
    async *[Symbol.asyncIterator]() {
      if (text !== "") yield Buffer.from(text);
    },
  };
  return made as unknown as ServerRequest;
}

function unreachable({ method, path }: ApiRequest, code: "ConnectionLost" | "Aborted"): ApiUnreachable {
  return new ApiUnreachable({
    code,
    server: "https://in-process",
    attempt: `${method} ${path.split("?")[0]}`,
  });
}

/** The handler writes to it, and the sender of the request reads from it. */
class InProcessAnswer extends EventEmitter implements AsyncIterable<Uint8Array> {
  status = 0;
  headers: Readonly<Record<string, string>> = {};
  headersSent = false;
  destroyed = false;
  readonly writableLength = 0;
  readonly opened: Promise<void>;
  #open: () => void = () => {};
  #pieces: Uint8Array[] = [];
  #wake: () => void = () => {};
  #failure: Error | undefined;
  #ended = false;

  constructor() {
    super();
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  get text(): string {
    return Buffer.concat(this.#pieces).toString("utf8");
  }

  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.status = status;
    this.headers = headers;
    this.headersSent = true;
    this.#open();
  }

  write(text: string): void {
    if (this.#ended || text.length === 0) return;
    this.#pieces.push(Buffer.from(text));
    this.#wake();
  }

  end(text = ""): void {
    this.write(text);
    this.#ended = true;
    this.#open();
    this.#wake();
  }

  destroy(): void {
    this.destroyed = true;
    this.end();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const pieces = this.#pieces.splice(0);
      if (pieces.length > 0) yield Buffer.concat(pieces);
      else if (this.#failure !== undefined) throw this.#failure;
      else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
