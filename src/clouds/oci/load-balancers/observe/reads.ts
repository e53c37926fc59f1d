import * as z from "zod";
import { memoizeByKey } from "#clouds/http/memoize.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { OciApis, OciService } from "#clouds/oci/api.ts";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import { BASES, GROUPS_PATH } from "#clouds/oci/load-balancers/operations.ts";
import {
  Balancer,
  Group,
  ListedBalancer,
  PublicIp,
  Rule,
  Subnet,
  WorkRequest,
} from "#clouds/oci/load-balancers/state.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** A work request of network load balancers, in a compartment's list. */
const NetworkWorkRequest = z.object({
  status: z.string(),
  operationType: z.string(),
  timeAccepted: z.string().nullish(),
  timeFinished: z.string().nullish(),
  resources: z.array(z.object({ identifier: z.string() })).nullish(),
});
type NetworkWorkRequest = z.output<typeof NetworkWorkRequest>;

/** Reads of one batch: repeated reads send one request. */
export interface Reads {
  /** Lists those of a name, or all of a compartment. */
  listBalancers(
    kind: LoadBalancerKind,
    compartment: string,
    name?: string,
  ): Promise<Outcome<readonly ListedBalancer[]>>;
  readBalancer(
    kind: LoadBalancerKind,
    id: string,
  ): Promise<Outcome<{ readonly balancer: Balancer; readonly etag?: string }>>;
  listWorkRequests(id: string): Promise<Outcome<readonly WorkRequest[]>>;
  listNetworkWorkRequests(compartment: string): Promise<Outcome<readonly NetworkWorkRequest[]>>;
  listGroups(compartment: string, vcn: string): Promise<Outcome<readonly Group[]>>;
  /** Undefined if none is visible. */
  readGroup(id: string): Promise<Outcome<Group | undefined>>;
  listRules(group: string): Promise<Outcome<readonly Rule[]>>;
  readSubnet(id: string): Promise<Outcome<Subnet | undefined>>;
  readPublicIp(address: string): Promise<Outcome<PublicIp | undefined>>;
}

export function createReads(apis: OciApis, callContext: CallContext): Reads {
  const readKey = memoizeByKey((_key: string, read: () => Promise<Outcome<unknown>>) => read());
  const readOnce = <Value>(key: string, read: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> =>
    // Each key always stores one type of value.
    readKey(key, read) as Promise<Outcome<Value>>;
  const listEntries = <Value>(service: OciService, operation: string, path: string, item: z.ZodType<Value>) =>
    readOnce(path, async (): Promise<Outcome<readonly Value[]>> => {
      const template = `GET ${path.replace(/\?.*/, "").replace(/ocid1[^/]+/, "{id}")}`;
      const listed = await apis[service].list({ operation, template, path }, callContext);
      if (listed.kind === "fault") return listed;
      const parsed = z.array(item).safeParse(listed.value);
      return parsed.success ? ok(parsed.data) : buildMalformedFault(template);
    });
  const readOne = <Value>(service: OciService, operation: string, path: string, shape: z.ZodType<Value>) =>
    readOnce(path, async (): Promise<Outcome<Value | undefined>> => {
      const template = `GET ${path.replace(/[^/]+$/, "{id}")}`;
      const read = await apis[service].get({ operation, template, path }, callContext);
      if (read.kind === "fault") return isNotFound(read.fault) ? ok(undefined) : read;
      const parsed = shape.safeParse(read.value);
      return parsed.success ? ok(parsed.data) : buildMalformedFault(template);
    });

  return {
    listBalancers(kind, compartment, name) {
      const { service, path, words } = BASES[kind];
      const query = new URLSearchParams({
        compartmentId: compartment,
        ...(name === undefined ? {} : { displayName: name }),
      });
      return listEntries(service, `${kind}:List${words}s`, `${path}?${query}`, ListedBalancer);
    },
    readBalancer(kind, id) {
      const { service, path, words } = BASES[kind];
      const template = `GET ${path}/{id}`;
      return readOnce(`${path}/${id}`, async () => {
        const request = {
          operation: `${kind}:Get${words}`,
          template,
          path: `${path}/${encodeURIComponent(id)}`,
        };
        const read = await apis[service].send(request, callContext);
        if (read.kind === "fault") return read;
        const parsed = Balancer.safeParse(read.value.body);
        if (!parsed.success) return buildMalformedFault(template);
        const { etag } = read.value.headers;
        return ok({ balancer: parsed.data, ...(etag === undefined ? {} : { etag }) });
      });
    },
    listWorkRequests: (id) =>
      listEntries(
        "loadBalancer",
        "lb:ListWorkRequests",
        `${BASES.lb.path}/${encodeURIComponent(id)}/workRequests`,
        WorkRequest,
      ),
    listNetworkWorkRequests: (compartment) =>
      listEntries(
        "networkLoadBalancer",
        "nlb:ListWorkRequests",
        `/20200501/workRequests?${new URLSearchParams({ compartmentId: compartment })}`,
        NetworkWorkRequest,
      ),
    listGroups: (compartment, vcn) =>
      listEntries(
        "iaas",
        "vcn:ListNetworkSecurityGroups",
        `${GROUPS_PATH}?${new URLSearchParams({ compartmentId: compartment, vcnId: vcn })}`,
        Group,
      ),
    readGroup: (id) =>
      readOne("iaas", "vcn:GetNetworkSecurityGroup", `${GROUPS_PATH}/${encodeURIComponent(id)}`, Group),
    listRules: (group) =>
      listEntries(
        "iaas",
        "vcn:ListSecurityRules",
        `${GROUPS_PATH}/${encodeURIComponent(group)}/securityRules`,
        Rule,
      ),
    readSubnet: (id) =>
      readOne("iaas", "vcn:GetSubnet", `/20160918/subnets/${encodeURIComponent(id)}`, Subnet),
    readPublicIp: (address) =>
      readOnce(`address ${address}`, async () => {
        const template = "POST /20160918/publicIps/actions/getByIpAddress";
        const path = template.slice("POST ".length);
        const request = { method: "POST", operation: "vcn:GetPublicIpByIpAddress", template, path } as const;
        const read = await apis.iaas.send({ ...request, body: { ipAddress: address } }, callContext);
        if (read.kind === "fault")
          return isNotFound(read.fault) || read.fault.status === 400 ? ok(undefined) : read;
        const parsed = PublicIp.safeParse(read.value.body);
        return parsed.success ? ok(parsed.data) : buildMalformedFault(template);
      }),
  };
}

function buildMalformedFault(template: string) {
  return fault("Unavailable", `${template}: the answer lacks what load balancers depend on`);
}
