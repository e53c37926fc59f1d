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

/** The resource and object that a request addresses. */
interface RequestTarget {
  /** The resource's plural as in paths and RBAC; `other` for paths without objects. */
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  /** The object's name, chosen by the cluster's owner. */
  readonly name: string | undefined;
}

/** `/api/v1` or `/apis/group/version`, a namespace, the plural, a name and its subresource. */
const OBJECTS =
  /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;

/** Parses a path; ignores its query. */
export function parseRequestTarget(path: string): RequestTarget {
  const [before = ""] = path.split("?", 1);
  const [, namespace, resource = "other", name, subresource] = OBJECTS.exec(before) ?? [];
  return { resource, subresource, namespace: decodeSegment(namespace), name: decodeSegment(name) };
}

/** These paths are our own, but an invalid name must not fail a request. */
function decodeSegment(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
