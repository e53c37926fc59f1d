import { canonicalJson } from "#core/hash.ts";
import { awsWorld, CLUSTER_TAG } from "#test/clouds/aws/load-balancer-world.ts";
import { digitalOceanWorld } from "#test/clouds/digitalocean/load-balancer-world.ts";
import { keepalivedWorld } from "#test/clouds/keepalived/load-balancer-world.ts";
import { kubeVipWorld } from "#test/clouds/kubevip/load-balancer-world.ts";
import type { BuildWorld, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { memoryWorld } from "#test/clouds/memory/load-balancer-world.ts";
import { ociWorld } from "#test/clouds/oci/load-balancer-world.ts";
import { cattleWorld } from "#test/clouds/rancher/load-balancer-world.ts";
import { withoutOrder } from "#test/killing/aws/state.ts";
import { getMotoProgram, type MotoProgram } from "#test/setup/moto-program.ts";

/** What two actors are played on, by name; a world of AWS is made on moto. */
export const CLOUDS: Readonly<Record<string, () => Promise<BuildWorld>>> = {
  memory: async () => memoryWorld,
  nlb: async () => {
    const program = await moto();
    return async () => withNamesByPort(withSourceRanges(await awsWorld(program, "network")));
  },
  classic: async () => {
    const program = await moto();
    return async () => withSourceRanges(await awsWorld(program, "classic"));
  },
  digitalocean: async () => digitalOceanWorld,
  keepalived: async () => keepalivedWorld,
  kubevip: async () => kubeVipWorld,
  oci: async () => () => ociWorld("lb"),
  "oci-nlb": async () => () => ociWorld("nlb"),
  cattle: async () => cattleWorld,
};

/** Has other settings let in few clients, so that a load balancer that is left open to all is seen. */
function withSourceRanges<World extends LoadBalancerWorld>(world: World): World {
  const { otherSettings } = world;
  const spec = { ...otherSettings?.spec, loadBalancerSourceRanges: ["192.0.2.0/24"] };
  return { ...world, otherSettings: { ...otherSettings, spec } };
}

/**
 * Names the cluster's target groups by their ports. A name is made of the health check's interval among others, and stays when that is
 * changed: which of two settings' names a port has depends on when its target group was made.
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
        .map((thing) => canonicalJson(withoutOrder(JSON.parse(thing))))
        .toSorted();
    },
  };
}

async function moto(): Promise<MotoProgram> {
  const program = await getMotoProgram((line) => process.stderr.write(`${line}\n`));
  if (program.kind === "present") return program.value;
  throw new Error(`AWS is played on moto: ${program.because}`);
}
