import { targetOfPath } from "#kube/client/target-of-path.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { cut } from "#tracing/span.ts";
import type { EndedSpan } from "#tracing/tracer.ts";

/** The same API server, of whose whole answers somebody is told. */
export function tracedTransport(transport: Transport, onRequest: (ended: EndedSpan) => void): Transport {
  return {
    async send(request) {
      const startMs = Date.now();
      const startedMs = performance.now();
      const ended = (status: number | undefined): void => {
        const durationMs = performance.now() - startedMs;
        onRequest({ ...described(request, status), startMs, durationMs });
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

/** The name tells of what kind it was, as there are few of them; whose object it was is an attribute. */
function described({ method, path }: ApiRequest, status: number | undefined) {
  const { resource, subresource, namespace, name } = targetOfPath(path);
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const error = status === undefined ? "Unanswered" : status >= 400 ? `Status${status}` : undefined;
  return {
    name: `${method} ${what}`,
    kind: "client",
    attributes: {
      "http.request.method": method,
      "http.response.status_code": status,
      "k8s.object.namespace": namespace && cut(namespace),
      "k8s.object.name": name && cut(name),
    },
    error,
  } as const satisfies Partial<EndedSpan>;
}
