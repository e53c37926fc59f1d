import type { ApiRequest, Transport } from "#kube/client/transport.ts";

/** The same way to an API server, with every request sent in a user's stead; whoever gave it closes it. */
export function actingAs(
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
