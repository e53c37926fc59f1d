import { cut } from "#tracing/span.ts";
import type { EndedSpan } from "#tracing/tracer.ts";

/** A request to an API server, as its sender reports it. */
export interface RequestToApiServer {
  readonly method: string;
  /** Undefined without an answer. */
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

/**
 * Builds the span of a request. Its name is the kind of request, so that there are few names; the object is
 * an attribute.
 */
export function buildApiServerSpan(request: RequestToApiServer): EndedSpan {
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
