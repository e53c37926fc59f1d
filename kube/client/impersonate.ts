import type { ApiRequest, Transport } from "#kube/client/transport.ts";

/** Wraps a transport so that every request impersonates a user; the caller closes the original. */
export function impersonate(
  transport: Transport,
  user: string,
  bounds: Pick<ApiRequest, "maxBytes"> = {},
): Transport {
  return {
    send: (request) => transport.send({ ...bounds, ...request, actAs: user }),
    stream: (request) => transport.stream({ ...request, actAs: user }),
    close: async () => {},
  };
}
