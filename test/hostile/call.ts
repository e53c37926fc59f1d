import type { Http2ServerRequest } from "node:http2";
import type { HostileCall } from "#test/hostile/attack.ts";
import type { Wire } from "#test/hostile/wire.ts";

/** Reads a request; undefined where it is none of ours, such as the admin's. */
export function callOf(
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
