import type { Http2ServerRequest } from "node:http2";
import type { HostileCall } from "#test/adversarial/attack.ts";
import type { Wire } from "#test/adversarial/wire.ts";

/** Parses a request; undefined if it is not ours, such as the admin's. */
export function parseHostileCall(
  request: Http2ServerRequest,
  wire: Wire,
  users: ReadonlyMap<string, HostileCall["user"]>,
): HostileCall | undefined {
  const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
  const user = users.get(token);
  if (user === undefined) return undefined;
  const url = new URL(request.url, "https://127.0.0.1");
  return { user, kind: kindOf(request.method, url), url, request, stream: request.stream, wire };
}

function kindOf(method: string, { pathname, searchParams }: URL): HostileCall["kind"] {
  if (method === "POST") return /\/events$/.test(pathname) ? "event" : "other";
  if (!pathname.startsWith("/api/v1/nodes")) return "other";
  if (method === "PATCH") return "patch";
  if (method !== "GET") return "other";
  return searchParams.has("watch") ? "watch" : "list";
}
