import { createPrivateKey } from "node:crypto";
import { createOciCloud } from "#clouds/oci/cloud.ts";
import { OciCloudConfig } from "#clouds/oci/config.ts";
import {
  LB_PREFIX,
  NLB_PREFIX,
  OCI_PREFIX,
  RULE_MODE,
  TYPE,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import { ociLoadBalancerModel } from "#clouds/oci/load-balancers/model.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Gate, LoadBalancerWorld, Verdict } from "#test/clouds/load-balancer-world.ts";
import type { FakeBalancer } from "#test/clouds/oci/fake/balancers.ts";
import { createApiKey, VCN } from "#test/clouds/oci/fake/credentials.ts";
import { buildRefusal, type FakeReply, type FakeRequest } from "#test/clouds/oci/fake/reply.ts";
import { buildCloudConfig, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { formatOutline } from "#test/clouds/outline.ts";

/**
 * Half of Oracle's required length: signing was the largest part of a request's time, and a crash table sends
 * tens of thousands. Here it protects nothing.
 */
const KEY = createApiKey(1024);

const TAGS = { "serverless-ccm-cluster": "tenant-a" };
const OF_OTHERS = { "serverless-ccm-cluster": "tenant-b" };
const BACK = "ocid1.networksecuritygroup.oc1.phx.back";
const FOREIGN_SUBNET = "ocid1.subnet.oc1.phx.foreign";

/** The Service of each kind, and its changes in place. */
const SAID = {
  lb: {
    base: {},
    other: {
      [`${OCI_PREFIX}loadbalancer-policy`]: "LEAST_CONNECTIONS",
      [`${LB_PREFIX}connection-proxy-protocol-version`]: "1",
      [`${LB_PREFIX}shape`]: "400Mbps",
    },
  },
  nlb: {
    base: { [TYPE]: "nlb" },
    other: {
      [`${NLB_PREFIX}backend-policy`]: "TWO_TUPLE",
      [`${NLB_PREFIX}is-ppv2-enabled`]: "true",
      [`${NLB_PREFIX}health-check-retries`]: "5",
    },
  },
} as const;

/**
 * Creates a fake Oracle Cloud with the instances of a cluster and one of another VCN; load balancers and
 * groups of others, and a group of the cluster's nodes with a foreign rule.
 */
export async function createOciWorld(kind: "lb" | "nlb"): Promise<LoadBalancerWorld> {
  const account = await startFakeAccount();
  const { oci, lb, nlb, nsgs, work } = account;
  oci.acceptKey(KEY);
  oci.network.addSubnet({ id: FOREIGN_SUBNET, vcnId: VCN.replace("v1", "v2") });
  const instances = [
    ...[1, 2, 3].map(() => oci.compute.add()),
    oci.compute.add({ vnic: { subnetId: FOREIGN_SUBNET } }),
  ];
  nsgs.add({ id: BACK, displayName: "nodes", freeformTags: TAGS, rules: [ruleOfOthers("theirs")] });
  nsgs.add({ displayName: "others", freeformTags: OF_OTHERS, rules: [ruleOfOthers("others")] });
  for (const service of [lb, nlb]) {
    service.add({ displayName: "by-hand" });
    service.add({ displayName: "00000000-1111-2222-3333-444444444444", freeformTags: OF_OTHERS });
    service.add({ displayName: "default/web/00000000-1111-2222-3333-444444444444", freeformTags: OF_OTHERS });
  }
  let gate: Gate | undefined;
  oci.fault = (request) => replyTo(gate?.enter(arrived(request)) ?? "pass");
  oci.lost = (request) => (gate?.leave(arrived(request)) === false ? "destroy" : undefined);
  const key = createPrivateKey(KEY.pem);
  const mine = kind === "lb" ? lb : nlb;
  const { base, other } = SAID[kind];
  const groupsAnnotation = `${kind === "lb" ? OCI_PREFIX : NLB_PREFIX}oci-network-security-groups`;
  const subnetAnnotation = kind === "lb" ? `${LB_PREFIX}subnet1` : `${NLB_PREFIX}subnet`;
  return {
    cloud: buildCloudConfig(account, "/etc/oci/key.pem", KEY.fingerprint),
    model: ociLoadBalancerModel,
    otherCluster: { clusterName: "tenant-b" },
    connect({ cloud, name }) {
      let now = 0;
      return createOciCloud(OciCloudConfig.parse(cloud), async () => key, {
        clusterName: name,
        now: () => now,
        sleep: async (delayMs) => {
          now += delayMs;
        },
        random: () => 0.5,
      });
    },
    nodes: instances.map(({ id, displayName }) => ({ name: displayName, providerID: `oci://${id}` })),
    service: {
      annotations: { ...base, [RULE_MODE]: "NSG", [`${OCI_PREFIX}oci-backend-network-security-group`]: BACK },
    },
    otherSettings: { annotations: other },
    internal: { annotations: { [`${kind === "lb" ? LB_PREFIX : NLB_PREFIX}internal`]: "true" } },
    secrets: KEY.pem.split("\n").slice(1, -2),
    refused: [
      {
        title: "rules in security lists",
        code: "SecurityLists",
        annotations: { [RULE_MODE]: "SL-All" },
      },
      {
        title: "another cluster's group",
        code: "SecurityGroupNotAllowed",
        annotations: { [groupsAnnotation]: "ocid1.networksecuritygroup.oc1.phx.g2" },
      },
      {
        title: "a subnet of another VCN",
        code: "SubnetNotFound",
        annotations: { [subnetAnnotation]: FOREIGN_SUBNET },
      },
      {
        title: "a compartment that is not the cluster's",
        code: "NotAllowed",
        annotations: { [`${OCI_PREFIX}compartment-id`]: "ocid1.compartment.oc1..other" },
      },
      {
        title: "a public address that is not the cluster's",
        code: "ReservedIPNotUsable",
        spec: { loadBalancerIP: "198.51.100.7" },
      },
      {
        title: "session affinity",
        code: "SessionAffinity",
        spec: { sessionAffinity: "ClientIP" },
      },
      {
        title: "nothing if the configuration says security lists",
        code: "SecurityLists",
        annotations: { [RULE_MODE]: null },
        cloud: { loadBalancer: { subnet1: "ocid1.subnet.oc1.phx.s1", securityListManagementMode: "All" } },
      },
    ],
    // For each load balancer its state, its work requests and its group's rules; nodes, groups and load
    // balancers are lists.
    requestsFor: (services) => 3 * services + 15,
    setGate: (next) => {
      gate = next;
    },
    async advance() {
      work.finish();
    },
    async outline(services) {
      const names: Record<string, string> = {};
      for (const { uid, name } of services) names[uid] = `<uid of ${name}>`;
      const groups = [...nsgs.groups.values()];
      for (const { id, displayName } of groups)
        names[id] = `<group ${names[`${displayName}`] ?? displayName}>`;
      const balancers = [lb, nlb].flatMap(({ balancers }) => [...balancers.values()]);
      const things = [
        ...balancers.filter(({ lifecycleState }) => lifecycleState !== "DELETED").map(shown),
        ...groups.map(({ rules: _, ...group }) => ({ kind: "group", ...group })),
        // Each rule separately: the group of the nodes has rules of several owners.
        ...groups.flatMap(({ id: group, rules }) =>
          rules.map(({ id: _, ...rule }) => ({ kind: "rule", group, ...rule })),
        ),
      ];
      return formatOutline(things, names);
    },
    async takeName({ namespace, name, uid }) {
      const displayName = kind === "lb" ? uid : `${namespace}/${name}/${uid}`;
      mine.add({ displayName, freeformTags: OF_OTHERS });
    },
    hideNew: (reads) => {
      mine.hideNew = reads;
    },
    async point() {
      work.finish();
      const kept = [lb.balancers, nlb.balancers, lb.tokens, nlb.tokens, nsgs.groups, nsgs.tokens] as Map<
        string,
        unknown
      >[];
      const then = structuredClone(kept.map((map) => [...map]));
      return {
        async back() {
          work.all.length = 0;
          for (const [index, map] of kept.entries()) {
            map.clear();
            for (const [id, value] of structuredClone(then[index] ?? [])) map.set(id, value);
          }
        },
      };
    },
    close: () => account.close(),
  };
}

function ruleOfOthers(id: string) {
  return {
    ...({ id, direction: "INGRESS", protocol: "6", source: "10.0.0.0/8", sourceType: "CIDR_BLOCK" } as const),
    tcpOptions: { destinationPortRange: { min: 22, max: 22 } },
  };
}

/** Returns a load balancer without what differs between creations, and without written defaults. */
function shown({ id, ipAddresses, version: _, hiddenFor: __, listeners, ...balancer }: FakeBalancer): object {
  const addresses = ipAddresses.map(({ isPublic }) => (isPublic ? "public" : "private"));
  const each = Object.entries(listeners).map(([name, listener]) => [name, withoutDefaults(listener)]);
  return { kind: id.split(".")[1], addresses, ...balancer, listeners: Object.fromEntries(each) };
}

/**
 * By default, Oracle closes an idle TCP connection after 300 seconds, applies no rule sets and sends no proxy
 * protocol.
 */
function withoutDefaults(listener: object): object {
  const { connectionConfiguration, ruleSetNames, isPpv2Enabled, ...others } = listener as Readonly<
    Record<string, unknown>
  >;
  const isDefault =
    formatCanonicalJson(connectionConfiguration) === formatCanonicalJson({ idleTimeout: 300 });
  return {
    ...others,
    ...(connectionConfiguration === undefined || isDefault ? {} : { connectionConfiguration }),
    ...(isPpv2Enabled === undefined || isPpv2Enabled === false ? {} : { isPpv2Enabled }),
    ...(Array.isArray(ruleSetNames) && ruleSetNames.length > 0 ? { ruleSetNames } : {}),
  };
}

function arrived({ method, path }: FakeRequest) {
  return { what: `${method} ${path.replace(/ocid1[^/]+/g, "{id}")}`, isChange: method !== "GET" };
}

function replyTo(verdict: Verdict): FakeReply | undefined {
  switch (verdict) {
    case "pass":
      return undefined;
    case "reset":
      return "destroy";
    case "stalled":
      return "hang";
    case "Throttled":
      return buildRefusal(429, "TooManyRequests");
    case "Denied":
      return buildRefusal(401, "NotAuthenticated");
    case "Unavailable":
      return buildRefusal(500, "InternalServerError");
  }
}
