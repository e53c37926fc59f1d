import { afterEach, beforeEach, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import type { Service } from "#core/service/service.ts";
import { buildCall } from "#test/clouds/builders.ts";
import {
  buildNodes,
  buildService,
  buildSettings,
  converge,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import {
  buildIdentifiedNode,
  createNodeWorld,
  type DigitalOceanWorld,
} from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const NODES = 1_000;
const SERVICES = 50;
const SECONDS = 3_600;

/**
 * Runs an hour of the relay for a cluster of that size, second by second, with a process for each function.
 */
async function hour(services: readonly Service[], nodes: readonly Node[], config: Record<string, unknown>) {
  const [nodeFunction, lifecycle] = [world.cloud(config), world.cloud(config)];
  const serviceFunctions = [world.cloud(config), world.cloud(config)];
  const settings = buildSettings(config);
  const targets = buildNodes([...world.fake.droplets.values()]);
  const silent = nodes.slice(0, 20);
  const perMinute: number[] = [];
  let before = 0;
  for (let second = 0; second < SECONDS; second += 1) {
    // Addresses: a pass every five minutes, in batches of a hundred, one a second.
    const batch = second % 300;
    if (batch < NODES / 100)
      await nodeFunction.instances(nodes.slice(batch * 100, (batch + 1) * 100), buildCall());
    // Services: an audit every ten minutes, two at a time, one a second.
    const pair = second % 600;
    await Promise.all(
      serviceFunctions.map(async (cloud: Cloud, index) => {
        const service = services[2 * pair + index];
        if (service === undefined) return;
        const { last, done } = await converge(cloud, settings, service, { nodes: targets });
        expect([last.kind, done]).toEqual(["settled", []]);
      }),
    );
    // Nodes that are not Ready: every five seconds at first, once a minute in the long run.
    if (second < 60 ? second % 5 === 0 : second % 60 === 0)
      await lifecycle.instances(silent, buildCall({ control: true }));
    world.pass(1_000);
    if (second % 60 !== 59) continue;
    perMinute.push(world.fake.requests.length - before);
    before = world.fake.requests.length;
  }
  return { total: world.fake.requests.length, mostInAMinute: Math.max(...perMinute) };
}

test(`${NODES} nodes and ${SERVICES} Services are within what DigitalOcean allows for an hour, and for a minute`, {
  timeout: 120_000,
}, async () => {
  const config = { clusterID: "c1" };
  world.fake.newFor = 0;
  const droplets = Array.from({ length: NODES }, () => world.fake.add());
  const cloud = world.cloud(config);
  const services: Service[] = [];
  for (let index = 0; index < SERVICES; index += 1) {
    const uid = `${String(index).padStart(8, "0")}-6f5d-4b8c-9a55-0f1e2d3c4b5a`;
    const asked = buildService({ uid });
    const made = await converge(cloud, buildSettings(config), asked, { nodes: buildNodes(droplets) });
    services.push(made.service);
  }
  expect(world.fake.loadBalancers.size).toBe(SERVICES);
  world.fake.requests.length = 0;
  world.pass(3_600_000);
  const { total, mostInAMinute } = await hour(services, droplets.map(buildIdentifiedNode), config);
  expect(mostInAMinute).toBeLessThan(250);
  expect(total).toBeLessThan(1_500);
});
