import { cut } from "#tracing/span.ts";
import type { EndedSpan } from "#tracing/tracer.ts";

/** A request to an API server, as whoever sent it tells of it. */
export interface RequestToApiServer {
  readonly method: string;
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  readonly target: {
    readonly resource: string;
    readonly subresource: string | undefined;
    readonly namespace: string | undefined;
    readonly name: string | undefined;
  };
  readonly startMs: number;
  readonly durationMs: number;
}

/** Its span: the name tells of what kind it was, as there are few of them; whose object it was is an attribute. */
export function apiServerSpan(request: RequestToApiServer): EndedSpan {
  const { method, status, startMs, durationMs } = request;
  const { resource, subresource, namespace, name } = request.target;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const error = status === undefined ? "Unanswered" : status >= 400 ? `Status${status}` : undefined;
  return {
    name: `${method} ${what}`,
    kind: "client",
    ...{ startMs, durationMs, error },
    attributes: {
      "http.request.method": method,
      "http.response.status_code": status,
      "k8s.object.namespace": namespace && cut(namespace),
      "k8s.object.name": name && cut(name),
    },
  };
}
