import * as z from "zod";
import {
  FORBIDDEN,
  jsonAnswer,
  NOT_FOUND,
  type Refuse,
  type Resource,
} from "#emulators/digitalocean/answer.ts";
import type { FakeLoadBalancer } from "#emulators/digitalocean/load-balancers.ts";

/** What tags are kept in. */
export interface TagsWorld {
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

/** `POST /v2/tags` and `POST /v2/tags/{name}/resources`. */
export function createTags(world: TagsWorld): Resource {
  return ({ method, path, query, body }, refuse) => {
    const [, name] = /^\/v2\/tags(?:\/([^/]+)\/resources)?$/.exec(path) ?? [undefined, undefined];
    if (!path.startsWith("/v2/tags")) return undefined;
    if (method !== "POST") return refuse(405, "method_not_allowed");
    if (Object.keys(query).length > 0) return refuse(422, "unprocessable_entity", "parameters");
    if (!world.scopes.has("tag:create")) return FORBIDDEN;
    if (path === "/v2/tags") return create(body, refuse);
    if (name === undefined) return refuse(404, "not_found");
    return assign(decodeURIComponent(name), body, refuse);
  };

  function create(body: unknown, refuse: Refuse) {
    const { success, data } = Creation.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", "a tag");
    world.tags.add(data.name);
    return jsonAnswer(201, { tag: { name: data.name, resources: { count: 0 } } });
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
