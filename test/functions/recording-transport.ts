import type { ApiRequest, Transport } from "#kube/client/transport.ts";

/** A request as an API server gets it from us, without what is about the connection alone. */
export type SentRequest = Pick<ApiRequest, "method" | "path" | "body" | "contentType" | "accept">;

/** Notes all that is sent, as JSON has it, before `transport` sends it. */
export function createRecordingTransport(transport: Transport, sent: SentRequest[]): Transport {
  return {
    ...transport,
    send(request) {
      const { signal: _, timeoutMs: __, ...noted } = request;
      sent.push(JSON.parse(JSON.stringify(noted)));
      return transport.send(request);
    },
  };
}

/** An API server that accepts every request and answers each write with metadata alone. */
export const acceptsAll: Transport = {
  async send({ method }) {
    const metadata = { uid: "uid-1", resourceVersion: "2" };
    return { status: method === "POST" ? 201 : 200, headers: {}, body: JSON.stringify({ metadata }) };
  },
  stream: () => Promise.reject(new Error("nothing is followed here")),
  close: async () => undefined,
};
