import * as z from "zod";
import type { ApiRequest } from "#clouds/http/api.ts";
import type { OciService } from "#clouds/oci/api.ts";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { CloudAction } from "#core/decision.ts";

/** Paths of load balancers. */
export const BASES = {
  lb: { service: "loadBalancer", path: "/20170115/loadBalancers", words: "LoadBalancer" },
  nlb: {
    service: "networkLoadBalancer",
    path: "/20200501/networkLoadBalancers",
    words: "NetworkLoadBalancer",
  },
} as const satisfies Record<
  LoadBalancerKind,
  { readonly service: OciService; readonly path: string; readonly words: string }
>;

/** The path of network security groups. */
export const GROUPS_PATH = "/20160918/networkSecurityGroups";

/** A request and its host. */
export interface AddressedRequest {
  readonly service: OciService;
  readonly request: ApiRequest;
}

/** The header by which Oracle recognizes a repeated request. */
export const RETRY_TOKEN = "opc-retry-token";

const Parameters = z.object({
  body: z.unknown().optional(),
  name: z.string().min(1).optional(),
  etag: z.string().optional(),
  retryToken: z.string().optional(),
});

/** The method of an operation and the path after the id. For parts of a load balancer, their name follows. */
interface OperationShape {
  readonly method: "POST" | "PUT" | "DELETE";
  readonly below?: string;
  readonly isNamed?: true;
  readonly isNew?: true;
}

const LOAD_BALANCER_OPERATIONS: Readonly<Record<string, OperationShape>> = {
  CreateLoadBalancer: { method: "POST", isNew: true },
  DeleteLoadBalancer: { method: "DELETE" },
  MarkLoadBalancer: { method: "PUT" },
  ...buildShapes("BackendSet", "backendSets"),
  ...buildShapes("Listener", "listeners"),
  UpdateNetworkSecurityGroups: { method: "PUT", below: "networkSecurityGroups" },
};

const OPERATIONS: Readonly<Record<string, Readonly<Record<string, OperationShape>>>> = {
  lb: {
    ...LOAD_BALANCER_OPERATIONS,
    ...buildShapes("RuleSet", "ruleSets"),
    UpdateLoadBalancerShape: { method: "PUT", below: "updateShape" },
  },
  nlb: LOAD_BALANCER_OPERATIONS,
  vcn: {
    CreateNetworkSecurityGroup: { method: "POST", isNew: true },
    DeleteNetworkSecurityGroup: { method: "DELETE" },
    MarkNetworkSecurityGroup: { method: "PUT" },
    AddSecurityRules: { method: "POST", below: "actions/addSecurityRules" },
    RemoveSecurityRules: { method: "POST", below: "actions/removeSecurityRules" },
  },
};

/** Builds the request of an action; undefined for an unknown action. */
export function buildRequest({ action, target, parameters }: CloudAction): AddressedRequest | undefined {
  const [kind = "", operation = ""] = action.split(":");
  const shape = Object.hasOwn(OPERATIONS, kind) ? OPERATIONS[kind]?.[operation] : undefined;
  const read = Parameters.safeParse(parameters);
  if (shape === undefined || !read.success) return undefined;
  const { body, name, etag, retryToken } = read.data;
  if (shape.isNamed === true && name === undefined) return undefined;
  const { service, path } =
    kind === "lb" || kind === "nlb" ? BASES[kind] : { service: "iaas" as const, path: GROUPS_PATH };
  const parts = [
    path,
    ...(shape.isNew === true ? [] : [encodeURIComponent(target)]),
    ...(shape.below === undefined ? [] : [shape.below]),
  ];
  const nameParts = shape.isNamed === true ? [encodeURIComponent(name ?? "")] : [];
  const template = [
    path,
    ...(shape.isNew ? [] : ["{id}"]),
    ...parts.slice(shape.isNew ? 1 : 2),
    ...nameParts.map(() => "{name}"),
  ];
  const headers = {
    ...(etag === undefined ? {} : { "if-match": etag }),
    ...(retryToken === undefined ? {} : { [RETRY_TOKEN]: retryToken }),
  };
  return {
    service,
    request: {
      method: shape.method,
      operation: `${kind}:${operation}`,
      template: `${shape.method} ${template.join("/")}`,
      path: [...parts, ...nameParts].join("/"),
      headers,
      ...(body === undefined ? {} : { body }),
    },
  };
}

function buildShapes(resource: string, below: string): Readonly<Record<string, OperationShape>> {
  return {
    [`Create${resource}`]: { method: "POST", below },
    [`Update${resource}`]: { method: "PUT", below, isNamed: true },
    [`Delete${resource}`]: { method: "DELETE", below, isNamed: true },
  };
}
