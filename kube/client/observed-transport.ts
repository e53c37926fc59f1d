import { type RequestTarget, targetOfPath } from "#kube/client/target-of-path.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A request that was answered as a whole, or was not answered. */
export interface ObservedRequest {
  readonly method: string;
  readonly target: RequestTarget;
  /** Of HTTP; undefined where no answer came. */
  readonly status: number | undefined;
  /** Since the epoch. */
  readonly startMs: number;
  readonly durationMs: number;
}

/** The same API server, of whose whole answers somebody is told. */
export function observedTransport(
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
          target: targetOfPath(request.path),
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
