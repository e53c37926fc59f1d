import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { digitalOceanLoadBalancerModel } from "#clouds/digitalocean/load-balancers/model.ts";
import { createFixedToken } from "#clouds/http/authorizer.ts";
import { buildErrorAnswer, type FakeAnswer, type FakeRequest } from "#emulators/digitalocean/answer.ts";
import { activate } from "#emulators/digitalocean/load-balancers.ts";
import { REGION, TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import type { Gate, LoadBalancerWorld, Verdict } from "#test/clouds/load-balancer-world.ts";
import { formatOutline } from "#test/clouds/outline.ts";

const OTHER_VPC = "5a4981aa-9653-4bd1-bef5-d6bff52042e4";

/**
 * Creates a fake DigitalOcean with the droplets of a cluster, one droplet of another owner, and load
 * balancers of others. These are one of another cluster for a Service of the same name; one that a person
 * made; and one of the same name in another region.
 */
export async function createDigitalOceanWorld(): Promise<LoadBalancerWorld> {
  const fake = await startFakeDigitalOcean();
  const droplets = [
    ...["node-a", "node-b", "node-c"].map((name) => fake.add({ name })),
    fake.add({ name: "foreign", vpc_uuid: OTHER_VPC, tags: [] }),
  ];
  const { loadBalancers } = fake;
  fake.addLoadBalancer({ name: `a${"0".repeat(31)}`, tags: ["k8s:other"], ip: "198.51.100.201" });
  fake.addLoadBalancer({ name: "by-hand", ip: "198.51.100.202" });
  fake.addLoadBalancer({ name: "web", region: "nyc1", tags: ["k8s:tenant"], ip: "198.51.100.203" });
  fake.newFor = 2;
  let gate: Gate | undefined;
  fake.fault = (request) => answerOf(gate?.enter(arrived(request)) ?? "pass");
  fake.lost = (request) => (gate?.leave(arrived(request)) === false ? "destroy" : undefined);
  return {
    cloud: {
      provider: "digitalocean",
      apiURL: fake.url,
      region: REGION,
      vpc: VPC,
      dropletTag: TAG,
      clusterID: "tenant",
    },
    otherCluster: { clusterName: "tenant-b", cloud: { clusterID: "other", dropletTag: "other-nodes" } },
    model: digitalOceanLoadBalancerModel,
    connect({ cloud, name }) {
      let now = 0;
      return createDigitalOceanCloud(
        DigitalOceanCloudConfig.parse(cloud),
        createFixedToken(TOKEN, "the token"),
        {
          clusterName: name,
          now: () => now,
          sleep: async (delayMs) => {
            now += delayMs;
          },
          random: () => 0.5,
        },
      );
    },
    nodes: droplets.map(({ id, name }) => ({ name, providerID: `digitalocean://${id}` })),
    otherSettings: {
      annotations: {
        [`${PREFIX}size-unit`]: "3",
        [`${PREFIX}enable-proxy-protocol`]: "true",
        [`${PREFIX}deny-rules`]: "cidr:192.0.2.0/24",
      },
    },
    internal: { annotations: { [`${PREFIX}network`]: "INTERNAL" } },
    secrets: [TOKEN],
    refused: [
      {
        title: "an annotation that says nothing sensible",
        code: "InvalidAnnotation",
        annotations: { [`${PREFIX}size-unit`]: "huge" },
      },
      {
        title: "a port that load balancers keep for themselves",
        code: "InvalidField",
        spec: { ports: [{ port: 50_054, name: "http", nodePort: 30_080 }] },
      },
      {
        title: "the load balancer of another cluster",
        code: "LoadBalancerForeign",
        annotations: { "kubernetes.digitalocean.com/load-balancer-id": [...loadBalancers.keys()][0] ?? "" },
      },
      {
        title: "a certificate that the operator does not allow",
        code: "CertificateNotUsable",
        annotations: {
          [`${PREFIX}type`]: "REGIONAL",
          [`${PREFIX}certificate-id`]: fake.addCertificate().id,
        },
      },
      {
        title: "an address that the operator does not allow",
        code: "NotAllowed",
        annotations: { [`${PREFIX}ip`]: "198.51.100.77" },
      },
    ],
    // One list of load balancers; with so few droplets each is read singly.
    requestsFor: () => 3,
    setGate: (next) => {
      gate = next;
    },
    async advance() {
      for (const [index, balancer] of [...loadBalancers.values()].entries())
        if (balancer.status === "new") activate(balancer, index + 1);
    },
    async outline(services) {
      const names: Record<string, string> = {};
      for (const { uid, name } of services) {
        const own = `a${uid.replaceAll("-", "")}`.slice(0, 32);
        names[own] = `<name of ${name}>`;
        names[uid] = `<uid of ${name}>`;
      }
      const things = [...loadBalancers.values()].map(
        ({ id: _, ip, ipv6, newFor: __, hiddenFor: ___, ...balancer }) => ({
          kind: "load balancer",
          address: `${ip === "" ? "no" : "an"} address, ${ipv6 === "" ? "no" : "an"} IPv6 address`,
          ...balancer,
        }),
      );
      return formatOutline(things, names);
    },
    async takeName({ uid }) {
      fake.addLoadBalancer({ name: `a${uid.replaceAll("-", "")}`.slice(0, 32), tags: ["k8s:other"] });
    },
    hideNew(reads) {
      fake.hideNew = reads;
      if (reads > 0) return;
      for (const balancer of loadBalancers.values()) balancer.hiddenFor = 0;
    },
    async point() {
      const then = structuredClone([...loadBalancers]);
      return {
        async back() {
          loadBalancers.clear();
          for (const [id, balancer] of structuredClone(then)) loadBalancers.set(id, balancer);
        },
      };
    },
    close: () => fake.close(),
  };
}

const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";

function arrived({ method, path }: FakeRequest) {
  return { what: `${method} ${path.replace(/\/[^/]*\d[^/]*$/, "/{id}")}`, isChange: method !== "GET" };
}

function answerOf(verdict: Verdict): FakeAnswer | undefined {
  switch (verdict) {
    case "pass":
      return undefined;
    case "reset":
      return "destroy";
    case "stalled":
      return "hang";
    case "Throttled":
      return buildErrorAnswer(429, "too_many_requests");
    case "Denied":
      return buildErrorAnswer(403, "forbidden");
    case "Unavailable":
      return buildErrorAnswer(503, "server_error");
  }
}
