import { formatCanonicalJson } from "#core/hash.ts";
import { CLUSTER_TAG, createAwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { createDigitalOceanWorld } from "#test/clouds/digitalocean/load-balancer-world.ts";
import { createKeepalivedWorld } from "#test/clouds/keepalived/load-balancer-world.ts";
import { createKubeVipWorld } from "#test/clouds/kubevip/load-balancer-world.ts";
import type { BuildWorld, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { createMemoryWorld } from "#test/clouds/memory/load-balancer-world.ts";
import { createOciWorld } from "#test/clouds/oci/load-balancer-world.ts";
import { createCattleLoadBalancerWorld } from "#test/clouds/rancher/load-balancer-world.ts";
import { sortLists } from "#test/crash-consistency/aws/state.ts";
import { getMotoProgram, type MotoProgram } from "#test/setup/moto-program.ts";

/** The clouds for two actors, by name; a world of AWS runs on moto. */
export const CLOUDS: Readonly<Record<string, () => Promise<BuildWorld>>> = {
  memory: async () => createMemoryWorld,
  nlb: async () => {
    const program = await moto();
    return async () => withNamesByPort(withSourceRanges(await createAwsWorld(program, "network")));
  },
  classic: async () => {
    const program = await moto();
    return async () => withSourceRanges(await createAwsWorld(program, "classic"));
  },
  digitalocean: async () => createDigitalOceanWorld,
  keepalived: async () => createKeepalivedWorld,
  kubevip: async () => createKubeVipWorld,
  oci: async () => () => createOciWorld("lb"),
  "oci-nlb": async () => () => createOciWorld("nlb"),
  cattle: async () => createCattleLoadBalancerWorld,
};

/** Makes the other settings admit few clients, so that a load balancer open to all is detected. */
function withSourceRanges<World extends LoadBalancerWorld>(world: World): World {
  const { otherSettings } = world;
  const spec = { ...otherSettings?.spec, loadBalancerSourceRanges: ["192.0.2.0/24"] };
  return { ...world, otherSettings: { ...otherSettings, spec } };
}

/**
 * Names the cluster's target groups by their ports. A real name includes a hash of the health check's
 * interval, and stays when the interval changes. A port's name thus depends on when its target group was
 * created.
 */
function withNamesByPort<World extends LoadBalancerWorld>(world: World): World {
  return {
    ...world,
    outline: async (services: Parameters<World["outline"]>[0]) => {
      const things = await world.outline(services);
      const names = new Map<string, string>();
      for (const { kind, Port, TargetGroupName, tags } of things.map((thing) => JSON.parse(thing))) {
        if (kind !== "target group" || tags?.[`kubernetes.io/cluster/${CLUSTER_TAG}`] !== "owned") continue;
        const ofPort = [...names.values()].filter((name) => name.startsWith(`<name ${Port} `)).length;
        names.set(TargetGroupName, `<name ${Port} ${ofPort}>`);
      }
      return things
        .map((thing) => [...names].reduce((text, [from, to]) => text.replaceAll(from, to), thing))
        .map((thing) => formatCanonicalJson(sortLists(JSON.parse(thing))))
        .toSorted();
    },
  };
}

async function moto(): Promise<MotoProgram> {
  const program = await getMotoProgram((line) => process.stderr.write(`${line}\n`));
  if (program.kind === "present") return program.value;
  throw new Error(`AWS is played on moto: ${program.because}`);
}
