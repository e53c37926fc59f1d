import { digits, FORBIDDEN, type Resource } from "#emulators/digitalocean/answer.ts";
import { pageOf } from "#emulators/digitalocean/page.ts";

/** `GET /v2/actions`, newest first: of all actions of the account those that have destroyed droplets. */
export function createActions(destroyed: ReadonlySet<string>, scopes: ReadonlySet<string>): Resource {
  return (request, refuse) => {
    if (request.path !== "/v2/actions") return undefined;
    if (!scopes.has("actions:read")) return FORBIDDEN;
    if (request.method !== "GET") return refuse(405, "method_not_allowed");
    return pageOf(request, refuse, {
      key: "actions",
      known: [],
      items: [...destroyed].reverse(),
      rendered: (id) => ({
        id: digits(id),
        status: "completed",
        type: "destroy",
        started_at: "2026-01-01T00:00:00Z",
        completed_at: "2026-01-01T00:00:10Z",
        resource_id: digits(id),
        resource_type: "droplet",
        region_slug: "fra1",
      }),
    });
  };
}
