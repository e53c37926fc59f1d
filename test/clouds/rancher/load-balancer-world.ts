import { createCattleCloud, createCattleSigner } from "#clouds/rancher/cattle/cloud.ts";
import { cattleLoadBalancerModel } from "#clouds/rancher/cattle/load-balancers/model.ts";
import type { LoadBalancerWorld, NamedService } from "#test/clouds/load-balancer-world.ts";
import { formatOutline } from "#test/clouds/outline.ts";
import { KEYS } from "#test/clouds/rancher/cattle-world.ts";
import { type FakeCattle, startFakeCattle } from "#test/clouds/rancher/fake-cattle.ts";
import { type FakeService, settleAll } from "#test/clouds/rancher/fake-cattle-services.ts";

/**
 * Creates an environment of Rancher 1.x in which another owner has a stack with a load balancer that looks
 * like ours.
 */
export async function createCattleLoadBalancerWorld(): Promise<LoadBalancerWorld> {
  const fake = await startFakeCattle();
  const hosts = Array.from({ length: 4 }, (_, index) =>
    fake.add({ hostname: `web-${index + 1}.example.com` }),
  );
  addForeign(fake);
  return {
    cloud: { provider: "rancher", mode: "cattle", cattle: { url: fake.url } },
    model: cattleLoadBalancerModel,
    connect: ({ name }) =>
      createCattleCloud(
        { server: { url: fake.url }, sign: createCattleSigner({ url: fake.url }, KEYS, name) },
        { sleep: async () => undefined, now: clock() },
      ),
    nodes: hosts.map(({ uuid, hostname }) => ({ name: `${hostname}`, providerID: `rancher://${uuid}` })),
    refused: [
      { title: "an address", code: "LoadBalancerIP", spec: { loadBalancerIP: "192.0.2.1" } },
      { title: "session affinity", code: "SessionAffinity", spec: { sessionAffinity: "ClientIP" } },
      {
        title: "UDP",
        code: "UnsupportedProtocol",
        spec: { ports: [{ name: "dns", port: 53, nodePort: 30_053, protocol: "UDP" }] },
      },
      {
        title: "ports without node ports",
        code: "NoNodePort",
        spec: { allocateLoadBalancerNodePorts: false, ports: [{ port: 80, name: "http" }] },
      },
    ],
    // The endpoints, the stack and its two lists; and the targets of each load balancer.
    requestsFor: (services) => 5 + services,
    setGate: (gate) => {
      fake.gate = gate;
    },
    advance: async () => settleAll(fake.services),
    outline: async (services) => outline(fake, services),
    async point() {
      const { stacks, all, nextId } = structuredClone(fake.services);
      return {
        async back() {
          const then = structuredClone({ stacks, all });
          replace(fake.services.stacks, then.stacks);
          replace(fake.services.all, then.all);
          fake.services.nextId = Math.max(nextId, fake.services.nextId);
        },
      };
    },
    close: () => fake.close(),
  };
}

/**
 * Returns the outline. The work for nodes is one part, as each node adds to it; the stack stays after its
 * last Service.
 */
function outline(fake: FakeCattle, services: readonly NamedService[]): readonly string[] {
  const { stacks, all } = fake.services;
  const nameOf = (id: string): string => all.get(id)?.name ?? "nothing";
  const names = Object.fromEntries(
    services.map(({ name, uid }) => [uid.replaceAll("-", ""), `<uid of ${name}>`]),
  );
  const things = [...stacks.values()].flatMap(({ id, name }) => {
    const own = [...all.values()].filter(({ stackId, state }) => stackId === id && state !== "removing");
    const externals = own.filter(({ kind }) => kind === "externalService");
    const nodes = externals.map((each) => ({
      name: each.name,
      state: each.state,
      at: each.externalIpAddresses,
    }));
    const balancers = own.filter(({ kind }) => kind === "loadBalancerService");
    return [
      ...(nodes.length === 0 ? [] : [{ kind: "nodes", stack: name, nodes }]),
      ...balancers.map((each) => ({ stack: name, ...withoutIds(each, nameOf) })),
    ];
  });
  return formatOutline(
    [...things, ...[...fake.hosts.values()].map(({ uuid, state }) => ({ host: uuid, state }))],
    names,
  );
}

function withoutIds(
  { kind, name, state, launchConfig, lbConfig, links }: FakeService,
  nameOf: (id: string) => string,
) {
  const portRules = lbConfig?.portRules.map(({ serviceId, ...rule }) => ({ ...rule, to: nameOf(serviceId) }));
  return { kind, name, state, launchConfig, portRules, links: links.map(nameOf) };
}

function addForeign({ services }: FakeCattle): void {
  services.stacks.set("1st9000001", { id: "1st9000001", name: "shop", externalId: "catalog://shop" });
  const theirs = { stackId: "1st9000001", state: "active", readsLeft: 0 };
  const node: FakeService = {
    ...theirs,
    id: "1s9000001",
    kind: "externalService",
    name: "web-1-example-com",
    externalIpAddresses: ["192.0.2.9"],
    links: [],
  };
  const balancer: FakeService = {
    ...theirs,
    id: "1s9000002",
    kind: "loadBalancerService",
    name: "lb-a11111111222233334444555555555555",
    launchConfig: { imageUuid: "docker:haproxy", ports: ["80:80/tcp"] },
    lbConfig: {
      portRules: [{ sourcePort: 80, targetPort: 30_080, serviceId: "1s9000001", protocol: "tcp" }],
    },
    links: ["1s9000001"],
  };
  services.all.set(node.id, node).set(balancer.id, balancer);
}

function replace<Value>(target: Map<string, Value>, source: ReadonlyMap<string, Value>): void {
  target.clear();
  for (const [key, value] of source) target.set(key, value);
}

/** Returns a clock that leaves time for every request. */
function clock(): () => number {
  let now = 0;
  return () => {
    now += 1_000;
    return now;
  };
}
