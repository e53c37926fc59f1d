import { FORBIDDEN, type Resource, toJsonNumber } from "#emulators/digitalocean/answer.ts";
import { buildPage } from "#emulators/digitalocean/page.ts";

/** `GET /v2/actions`, newest first: only the account's actions that have destroyed droplets. */
export function createActions(destroyed: ReadonlySet<string>, scopes: ReadonlySet<string>): Resource {
  return (request, refuse) => {
    if (request.path !== "/v2/actions") return undefined;
    if (!scopes.has("actions:read")) return FORBIDDEN;
    if (request.method !== "GET") return refuse(405, "method_not_allowed");
    return buildPage(request, refuse, {
      key: "actions",
      known: [],
      items: [...destroyed].reverse(),
      rendered: (id) => ({
        id: toJsonNumber(id),
        status: "completed",
        type: "destroy",
        started_at: "2026-01-01T00:00:00Z",
        completed_at: "2026-01-01T00:00:10Z",
        resource_id: toJsonNumber(id),
        resource_type: "droplet",
        region_slug: "fra1",
      }),
    });
  };
}
