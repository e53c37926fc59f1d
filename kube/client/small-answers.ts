import type { Transport } from "#kube/client/transport.ts";

/** For one small object, from any server. */
const BOUNDS = { maxBytes: 64 * 1024, maxValues: 10_000, timeoutMs: 10_000 };

/** Wraps a transport for requests with small answers: `send` rejects larger ones and has a short timeout. */
export function withSmallAnswers(transport: Transport): Transport {
  return {
    send: (request) => transport.send({ ...request, ...BOUNDS }),
    stream: (request) => transport.stream(request),
    close: () => transport.close(),
  };
}
