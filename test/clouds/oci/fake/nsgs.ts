import * as z from "zod";
import { Retagged } from "#test/clouds/oci/fake/balancers.ts";
import {
  buildRefusal,
  type FakeReply,
  type FakeRequest,
  type FakeRoute,
  NOT_FOUND,
} from "#test/clouds/oci/fake/reply.ts";

const Ports = z.strictObject({
  destinationPortRange: z.strictObject({ min: z.int().min(1), max: z.int().max(65_535) }),
});

const NewRule = z
  .strictObject({
    direction: z.enum(["INGRESS", "EGRESS"]),
    protocol: z.enum(["6", "17"]),
    isStateless: z.boolean().optional(),
    source: z.string().optional(),
    sourceType: z.enum(["CIDR_BLOCK", "NETWORK_SECURITY_GROUP"]).optional(),
    destination: z.string().optional(),
    destinationType: z.enum(["CIDR_BLOCK", "NETWORK_SECURITY_GROUP"]).optional(),
    description: z.string().max(255).optional(),
    tcpOptions: Ports.optional(),
    udpOptions: Ports.optional(),
  })
  .refine(
    ({ direction, source, destination }) => (direction === "INGRESS" ? source : destination) !== undefined,
  )
  .refine(
    ({ protocol, tcpOptions, udpOptions }) => (protocol === "6" ? udpOptions : tcpOptions) === undefined,
  );

export type FakeRule = z.output<typeof NewRule> & { readonly id: string };

const NewGroup = z.strictObject({
  compartmentId: z.string().min(1),
  vcnId: z.string().min(1),
  displayName: z.string().max(255).optional(),
  freeformTags: z.record(z.string(), z.string()).optional(),
  definedTags: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});

/** A network security group as the fake keeps it. */
export interface FakeGroup extends z.output<typeof NewGroup> {
  readonly id: string;
  lifecycleState: string;
  rules: FakeRule[];
}

/** Network security groups, strict: `close` reports requests that the API rejects as invalid. */
export interface FakeGroups {
  readonly groups: Map<string, FakeGroup>;
  readonly routes: readonly FakeRoute[];
  readonly violations: string[];
  /** IDs of groups by the token of their creation. */
  readonly tokens: Map<string, string>;
  add(traits?: Partial<FakeGroup>): FakeGroup;
}

/** The maximum of rules in one request, and of rules in a group. */
const BATCH = 25;
const MAX_RULES = 120;

/** Creates the groups; `isUsed` returns whether a load balancer has a group. */
export function createFakeGroups(isUsed: (id: string) => boolean): FakeGroups {
  const groups = new Map<string, FakeGroup>();
  const tokens = new Map<string, string>();
  const violations: string[] = [];
  let rules = 0;
  let made = 0;

  const wrong = ({ method, path }: FakeRequest, why: string): FakeReply => {
    violations.push(`${method} ${path}: ${why}`);
    return buildRefusal(400, "InvalidParameter", why);
  };
  const etagOf = ({ freeformTags }: FakeGroup): string => JSON.stringify(freeformTags ?? {});
  const shown = ({ rules: _, ...group }: FakeGroup) => ({
    ...group,
    timeCreated: "2026-01-01T00:00:00.000Z",
  });
  /** A rule becomes invalid when the group that it names is deleted. */
  const shownRule = (rule: FakeRule) => {
    const isGroupNamed = [rule.sourceType, rule.destinationType].includes("NETWORK_SECURITY_GROUP");
    return { ...rule, isValid: !isGroupNamed || groups.has(rule.source ?? rule.destination ?? "") };
  };
  const add = (traits: Partial<FakeGroup> = {}): FakeGroup => {
    made += 1;
    const id = traits.id ?? `ocid1.networksecuritygroup.oc1.phx.g${made}`;
    const group: FakeGroup = {
      compartmentId: "ocid1.compartment.oc1..c1",
      vcnId: "ocid1.vcn.oc1.phx.v1",
      lifecycleState: "AVAILABLE",
      rules: [],
      ...traits,
      id,
    };
    groups.set(id, group);
    return group;
  };

  const routes: FakeRoute[] = [
    {
      method: "GET",
      path: /^\/20160918\/networkSecurityGroups$/,
      required: ["compartmentId"],
      allowed: ["vcnId", "displayName"],
      paged: true,
      answer: ({ query }) =>
        [...groups.values()]
          .filter(({ compartmentId }) => compartmentId === query["compartmentId"])
          .filter(({ vcnId }) => query["vcnId"] === undefined || vcnId === query["vcnId"])
          .filter(
            ({ displayName }) => query["displayName"] === undefined || displayName === query["displayName"],
          )
          .map(shown),
    },
    {
      method: "POST",
      path: /^\/20160918\/networkSecurityGroups$/,
      answer(request) {
        const read = NewGroup.safeParse(request.body);
        if (!read.success) return wrong(request, z.prettifyError(read.error));
        const token = request.headers["opc-retry-token"];
        const made = tokens.get(`${token}`);
        const before = groups.get(made ?? "");
        if (made !== undefined && before === undefined) return buildRefusal(409, "InvalidatedRetryToken");
        const group = before ?? add(read.data as Partial<FakeGroup>);
        if (token !== undefined) tokens.set(`${token}`, group.id);
        return { status: 200, body: shown(group) };
      },
    },
    {
      method: "GET",
      path: /^\/20160918\/networkSecurityGroups\/([^/]+)$/,
      answer(_, id = "") {
        const group = groups.get(id);
        return group === undefined
          ? NOT_FOUND
          : { status: 200, body: shown(group), headers: { etag: etagOf(group) } };
      },
    },
    {
      method: "PUT",
      path: /^\/20160918\/networkSecurityGroups\/([^/]+)$/,
      answer(request, id = "") {
        const group = groups.get(id);
        if (group === undefined) return NOT_FOUND;
        const read = Retagged.safeParse(request.body);
        if (!read.success) return wrong(request, z.prettifyError(read.error));
        if (request.headers["if-match"] !== etagOf(group)) return buildRefusal(412, "NoEtagMatch");
        const next = { ...group, freeformTags: read.data.freeformTags };
        groups.set(id, next);
        return { status: 200, body: shown(next) };
      },
    },
    {
      method: "DELETE",
      path: /^\/20160918\/networkSecurityGroups\/([^/]+)$/,
      answer(_, id = "") {
        if (!groups.has(id)) return NOT_FOUND;
        if (isUsed(id)) return buildRefusal(409, "Conflict", "the group is in use");
        groups.delete(id);
        return { status: 204 };
      },
    },
    {
      method: "GET",
      path: /^\/20160918\/networkSecurityGroups\/([^/]+)\/securityRules$/,
      allowed: ["direction"],
      paged: true,
      answer: (_, id = "") => groups.get(id)?.rules.map(shownRule) ?? NOT_FOUND,
    },
    {
      method: "POST",
      path: /^\/20160918\/networkSecurityGroups\/([^/]+)\/actions\/addSecurityRules$/,
      answer(request, id = "") {
        const group = groups.get(id);
        if (group === undefined) return NOT_FOUND;
        const read = z
          .strictObject({ securityRules: z.array(NewRule).min(1).max(BATCH) })
          .safeParse(request.body);
        if (!read.success) return wrong(request, z.prettifyError(read.error));
        if (group.rules.length + read.data.securityRules.length > MAX_RULES)
          return buildRefusal(400, "LimitExceeded");
        const added = read.data.securityRules.map((rule): FakeRule => {
          rules += 1;
          return { ...rule, id: `R${rules}` };
        });
        group.rules.push(...added);
        return { status: 200, body: { securityRules: added.map(shownRule) } };
      },
    },
    {
      method: "POST",
      path: /^\/20160918\/networkSecurityGroups\/([^/]+)\/actions\/removeSecurityRules$/,
      answer(request, id = "") {
        const group = groups.get(id);
        if (group === undefined) return NOT_FOUND;
        const read = z
          .strictObject({ securityRuleIds: z.array(z.string()).min(1).max(BATCH) })
          .safeParse(request.body);
        if (!read.success) return wrong(request, z.prettifyError(read.error));
        const ids = new Set(read.data.securityRuleIds);
        if (group.rules.filter((rule) => ids.has(rule.id)).length !== ids.size)
          return buildRefusal(400, "InvalidParameter", "no such rule");
        group.rules = group.rules.filter((rule) => !ids.has(rule.id));
        return { status: 204 };
      },
    },
  ];
  return { groups, routes, violations, tokens, add };
}
