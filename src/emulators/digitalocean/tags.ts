import * as z from "zod";
import {
  type Answer,
  buildJsonAnswer,
  type FakeRequest,
  FORBIDDEN,
  NOT_FOUND,
  type Refuse,
  type Resource,
} from "#emulators/digitalocean/answer.ts";
import type { FakeLoadBalancer } from "#emulators/digitalocean/load-balancers.ts";
import { buildPage } from "#emulators/digitalocean/page.ts";

/** The state of tags. */
export interface TagsState {
  readonly tags: Set<string>;
  readonly loadBalancers: ReadonlyMap<string, FakeLoadBalancer>;
  readonly scopes: ReadonlySet<string>;
}

const NAME = /^[\w:-]{1,255}$/;
const Creation = z.strictObject({ name: z.string().regex(NAME) });
const Assignment = z.strictObject({
  resources: z
    .array(z.strictObject({ resource_id: z.string(), resource_type: z.literal("load_balancer") }))
    .min(1),
});

/**
 * `/v2/tags`, `/v2/tags/{name}` and `/v2/tags/{name}/resources`: list, create, put on load balancers and remove.
 */
export function createTags(world: TagsState): Resource {
  return (request, refuse) => {
    const { method, path, query, body } = request;
    const [, name] = /^\/v2\/tags(?:\/([^/]+)\/resources)?$/.exec(path) ?? [undefined, undefined];
    if (!path.startsWith("/v2/tags")) return undefined;
    if (method === "GET" && path === "/v2/tags") {
      if (!world.scopes.has("tag:read")) return FORBIDDEN;
      return buildPage(request, refuse, {
        key: "tags",
        known: [],
        items: [...world.tags],
        rendered: renderTag,
      });
    }
    if (method === "DELETE") return unassign(request, refuse);
    if (method !== "POST") return refuse(405, "method_not_allowed");
    if (Object.keys(query).length > 0) return refuse(422, "unprocessable_entity", "parameters");
    if (!world.scopes.has("tag:create")) return FORBIDDEN;
    if (path === "/v2/tags") return create(body, refuse);
    if (name === undefined) return refuse(404, "not_found");
    return assign(decodeURIComponent(name), body, refuse);
  };

  /** Removes a tag entirely, or from some resources. */
  function unassign({ path, body }: FakeRequest, refuse: Refuse): Answer {
    if (!world.scopes.has("tag:delete")) return FORBIDDEN;
    const [, written = "", resources] = /^\/v2\/tags\/([^/]+)(\/resources)?$/.exec(path) ?? [];
    const name = decodeURIComponent(written);
    const { success, data } = Assignment.safeParse(body);
    if (name === "" || success !== (resources !== undefined))
      return refuse(422, "unprocessable_entity", "a tag, or its resources");
    if (!world.tags.has(name)) return NOT_FOUND;
    const ids = data?.resources.map(({ resource_id: id }) => id) ?? [...world.loadBalancers.keys()];
    const balancers = ids.map((id) => world.loadBalancers.get(id));
    if (balancers.includes(undefined)) return NOT_FOUND;
    for (const balancer of balancers)
      if (balancer !== undefined) balancer.tags = balancer.tags.filter((tag) => tag !== name);
    if (resources === undefined) world.tags.delete(name);
    return { status: 204, body: "" };
  }

  function create(body: unknown, refuse: Refuse) {
    const { success, data } = Creation.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", "a tag");
    world.tags.add(data.name);
    return buildJsonAnswer(201, { tag: renderTag(data.name) });
  }

  function assign(name: string, body: unknown, refuse: Refuse) {
    const { success, data } = Assignment.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", "resources");
    const balancers = data.resources.map(({ resource_id: id }) => world.loadBalancers.get(id));
    if (!world.tags.has(name) || balancers.includes(undefined)) return NOT_FOUND;
    for (const balancer of balancers)
      if (balancer !== undefined && !balancer.tags.includes(name)) balancer.tags.push(name);
    return { status: 204, body: "" };
  }
}

/** The types of resources that can be tagged, as the API counts them. */
const TYPES = ["droplets", "images", "volumes", "volume_snapshots", "databases"];

/** Returns a tag as the API describes it, with counts that this project does not read. */
function renderTag(name: string) {
  return { name, resources: { count: 0, ...Object.fromEntries(TYPES.map((type) => [type, { count: 0 }])) } };
}
