import { createFakeBalancers, type FakeBalancers } from "#test/clouds/oci/fake/balancers.ts";
import { COMPARTMENT, VCN } from "#test/clouds/oci/fake/credentials.ts";
import { LOAD_BALANCERS } from "#test/clouds/oci/fake/load-balancers.ts";
import { NETWORK_LOAD_BALANCERS } from "#test/clouds/oci/fake/network-load-balancers.ts";
import { createFakeGroups, type FakeGroups } from "#test/clouds/oci/fake/nsgs.ts";
import { type FakeRoute, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { type FakeOci, startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { createFakeWorkRequests, type FakeWorkRequests } from "#test/clouds/oci/fake/work-requests.ts";

/** A reserved public address as the fake keeps it. */
export interface FakePublicIp {
  readonly id: string;
  readonly ipAddress: string;
  readonly compartmentId: string;
  readonly freeformTags: Readonly<Record<string, string>>;
  lifecycleState: string;
  readonly lifetime: string;
}

/** An account with everything that load balancers need. */
export interface FakeAccount {
  readonly oci: FakeOci;
  readonly lb: FakeBalancers;
  readonly nlb: FakeBalancers;
  readonly nsgs: FakeGroups;
  readonly work: FakeWorkRequests;
  readonly publicIps: Map<string, FakePublicIp>;
  addPublicIp(ipAddress: string, traits?: Partial<FakePublicIp>): FakePublicIp;
  /** Throws if a request came that the real API would have rejected as invalid. */
  close(): Promise<void>;
}

export async function startFakeAccount(): Promise<FakeAccount> {
  const work = createFakeWorkRequests();
  const publicIps = new Map<string, FakePublicIp>();
  // Each service checks in the other whether something exists.
  const all: { lb?: FakeBalancers; nlb?: FakeBalancers; nsgs?: FakeGroups } = {};
  const isGroup = (id: string): boolean => all.nsgs?.groups.has(id) === true;
  const lb = createFakeBalancers(LOAD_BALANCERS, work, isGroup);
  const nlb = createFakeBalancers(NETWORK_LOAD_BALANCERS, work, isGroup);
  const nsgs = createFakeGroups((id) =>
    [...lb.balancers.values(), ...nlb.balancers.values()].some(({ networkSecurityGroupIds }) =>
      networkSecurityGroupIds.includes(id),
    ),
  );
  Object.assign(all, { lb, nlb, nsgs });
  const addresses: FakeRoute = {
    method: "POST",
    path: /^\/20160918\/publicIps\/actions\/getByIpAddress$/,
    answer({ body }) {
      const found = publicIps.get((body as { ipAddress: string }).ipAddress);
      return found === undefined ? NOT_FOUND : { status: 200, body: found };
    },
  };
  const routes = [...work.routes, ...nsgs.routes, ...lb.routes, ...nlb.routes, addresses];
  const oci = await startFakeOci(routes);
  return {
    ...{ oci, lb, nlb, nsgs, work, publicIps },
    addPublicIp(ipAddress, traits = {}) {
      const address = {
        ...{ id: `ocid1.publicip.oc1.phx.p${publicIps.size + 1}`, ipAddress, compartmentId: COMPARTMENT },
        ...{ freeformTags: {}, lifecycleState: "AVAILABLE", lifetime: "RESERVED", ...traits },
      };
      publicIps.set(ipAddress, address);
      return address;
    },
    async close() {
      await oci.close();
      const violations = [...lb.violations, ...nlb.violations, ...nsgs.violations];
      if (violations.length > 0) throw new Error(`the API refuses such requests: ${violations.join("; ")}`);
    },
  };
}

/** Builds a cluster's `cloud:` for such an account. */
export function buildCloudConfig({ oci }: Pick<FakeAccount, "oci">, keyFile: string, fingerprint: string) {
  const { url } = oci;
  return {
    provider: "oci",
    auth: {
      ...{ region: "us-phoenix-1", tenancy: "ocid1.tenancy.oc1..t1", user: "ocid1.user.oc1..u1" },
      ...{ fingerprint, keyFile },
    },
    ...{ compartment: COMPARTMENT, vcn: VCN },
    loadBalancer: { subnet1: "ocid1.subnet.oc1.phx.s1" },
    rateLimiter: { disableRateLimiter: true },
    endpoints: { iaas: url, identity: url, loadBalancer: url, networkLoadBalancer: url },
  };
}
