import type { Transport } from "#kube/client/transport.ts";

/** For one small object, whoever the server is. */
const BOUNDS = { maxBytes: 64 * 1024, maxValues: 10_000, timeoutMs: 10_000 };

/** The same transport for requests whose answers are small: `send` takes no other, and does not wait for long. */
export function withSmallAnswers(transport: Transport): Transport {
  return {
    send: (request) => transport.send({ ...request, ...BOUNDS }),
    stream: (request) => transport.stream(request),
    close: () => transport.close(),
  };
}
