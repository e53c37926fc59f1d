import {
  buildJsonAnswer,
  type FakeRequest,
  FORBIDDEN,
  NOT_FOUND,
  type Resource,
  toJsonNumber,
} from "#emulators/digitalocean/answer.ts";
import { REGION, TAG, VPC } from "#emulators/digitalocean/names.ts";
import { buildPage } from "#emulators/digitalocean/page.ts";

/** A droplet as the fake keeps it. */
export interface FakeDroplet {
  /** Digits of any length; written into JSON as a number. */
  id: string;
  name: string;
  status: string;
  size_slug: string;
  region: string;
  vpc_uuid: string | null;
  tags: string[];
  networks: { v4: unknown[]; v6: unknown[] } | undefined;
  /** Listed only with type gpus. */
  gpu: boolean;
  /** Neither listed nor read. */
  hidden: boolean;
}

/** `GET /v2/droplets` and `/v2/droplets/{id}`; without vpc:read and tag:read droplets lack these fields. */
export function createDroplets(
  droplets: ReadonlyMap<string, FakeDroplet>,
  scopes: ReadonlySet<string>,
): Resource {
  return (request, refuse) => {
    const { method, path, query } = request;
    const id = /^\/v2\/droplets\/([^/]+)$/.exec(path)?.[1];
    if (id === undefined && path !== "/v2/droplets") return undefined;
    if (!scopes.has("droplet:read")) return FORBIDDEN;
    if (method !== "GET") return refuse(405, "method_not_allowed");
    if (id === undefined) return list(request, refuse);
    if (!/^[1-9]\d*$/.test(id) || Object.keys(query).length > 0) return refuse(404, "not_found");
    const droplet = droplets.get(id);
    if (droplet === undefined || droplet.hidden) return NOT_FOUND;
    return buildJsonAnswer(200, { droplet: renderDroplet(droplet, scopes) });
  };

  function list(request: FakeRequest, refuse: Parameters<Resource>[1]) {
    const { tag_name: tag, type, name } = request.query;
    if (tag !== undefined && (type !== undefined || name !== undefined))
      return refuse(422, "unprocessable_entity", "tag_name in addition to type or name");
    if (type !== undefined && type !== "gpus" && type !== "droplets")
      return refuse(422, "unprocessable_entity", "type");
    const items = [...droplets.values()].filter(
      (droplet) =>
        !droplet.hidden &&
        droplet.gpu === (type === "gpus") &&
        (tag === undefined || droplet.tags.includes(tag)) &&
        (name === undefined || droplet.name.toLowerCase() === name.toLowerCase()),
    );
    return buildPage(request, refuse, {
      key: "droplets",
      known: ["tag_name", "type", "name"],
      items,
      rendered: (droplet) => renderDroplet(droplet, scopes),
    });
  }
}

/** Builds a droplet of the cluster, with its own addresses. */
export function buildDroplet(id: string, index: number): FakeDroplet {
  const [high, low] = [Math.floor(index / 250), (index % 250) + 1];
  return {
    id,
    name: `pool-a-${id}`,
    status: "active",
    size_slug: "s-4vcpu-8gb",
    region: REGION,
    vpc_uuid: VPC,
    tags: [TAG],
    networks: {
      v4: [
        {
          ip_address: `203.0.${high}.${low}`,
          netmask: "255.255.240.0",
          gateway: "203.0.0.1",
          type: "public",
        },
        { ip_address: `10.114.${high}.${low}`, netmask: "255.255.240.0", type: "private" },
      ],
      v6: [],
    },
    gpu: false,
    hidden: false,
  };
}

/** Returns a droplet as the API describes it, with a few fields that this project does not read. */
function renderDroplet(
  { id, gpu, hidden, region, networks, vpc_uuid, tags, ...rest }: FakeDroplet,
  scopes: ReadonlySet<string>,
) {
  return {
    id: toJsonNumber(id),
    ...rest,
    memory: 8192,
    vcpus: 4,
    locked: false,
    created_at: "2026-01-01T00:00:00Z",
    volume_ids: [],
    features: ["private_networking", ...(gpu ? ["gpu"] : [])],
    region: { slug: region, name: "Frankfurt 1", available: !hidden, features: [], sizes: [] },
    ...(networks === undefined ? {} : { networks }),
    ...(scopes.has("vpc:read") ? { vpc_uuid } : {}),
    ...(scopes.has("tag:read") ? { tags } : {}),
  };
}
