import { parseRequestTarget, type RequestTarget } from "#kube/client/request-target.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A finished request, with or without a whole answer. */
export interface ObservedRequest {
  readonly method: string;
  readonly target: RequestTarget;
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly durationMs: number;
}

/** Wraps a transport so that each whole answer is reported. */
export function observeTransport(
  transport: Transport,
  onRequest: (request: ObservedRequest) => void,
): Transport {
  return {
    async send(request) {
      const startMs = Date.now();
      const startedMs = performance.now();
      const ended = (status: number | undefined): void => {
        const durationMs = performance.now() - startedMs;
        onRequest({
          method: request.method,
          target: parseRequestTarget(request.path),
          ...{ status, startMs, durationMs },
        });
      };
      try {
        const response = await transport.send(request);
        ended(response.status);
        return response;
      } catch (error) {
        ended(undefined);
        throw error;
      }
    },
    stream: (request) => transport.stream(request),
    close: () => transport.close(),
  };
}
