import { Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

/** Sends a body to one URL; resolves to an error code, or to undefined on success. Never rejects. */
export interface Poster {
  post(body: string, limitMs: number): Promise<string | undefined>;
  close(): void;
}

/** Creates a poster of JSON over one kept-alive connection; it reads only the status of the answer. */
export function createPoster(url: URL, headers: Readonly<Record<string, string>>): Poster {
  const isTls = url.protocol === "https:";
  const agent = new (isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 2 });
  const send = isTls ? requestHttps : requestHttp;

  function once(body: string, signal: AbortSignal): Promise<PostResult> {
    const { promise, resolve } = Promise.withResolvers<PostResult>();
    const failed = (error: unknown): void => {
      // A thawed function finds its connection closed.
      const isStale = outgoing?.reusedSocket === true && !signal.aborted;
      resolve({ code: signal.aborted ? "TimedOut" : getErrorCode(error), isStale });
    };
    let outgoing: ReturnType<typeof requestHttp> | undefined;
    try {
      outgoing = send(url, {
        method: "POST",
        agent,
        signal,
        headers: {
          ...headers,
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
        },
      });
    } catch (error) {
      failed(error);
      return promise;
    }
    outgoing.on("error", failed);
    outgoing.on("response", (incoming) => {
      incoming.on("error", failed);
      incoming.on("end", () => resolve(toPostResult(incoming.statusCode ?? 0)));
      incoming.resume();
    });
    outgoing.end(body);
    return promise;
  }

  return {
    async post(body, limitMs) {
      const signal = AbortSignal.timeout(Math.max(1, Math.ceil(limitMs)));
      const first = await once(body, signal);
      return (first.isStale ? await once(body, signal) : first).code;
    },
    close: () => agent.destroy(),
  };
}

interface PostResult {
  readonly code: string | undefined;
  readonly isStale: boolean;
}

function toPostResult(status: number): PostResult {
  return { code: status >= 200 && status < 300 ? undefined : `Status${status}`, isStale: false };
}

/** Returns Node's error code; its messages may quote what was sent. */
function getErrorCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "Failed";
  return typeof error.code === "string" ? error.code : "Failed";
}
