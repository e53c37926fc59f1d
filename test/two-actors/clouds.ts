import { formatCanonicalJson } from "#core/hash.ts";
import { CLUSTER_TAG } from "#test/clouds/aws/load-balancer-world.ts";
import type { BuildWorld, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { WORLDS } from "#test/clouds/worlds.ts";
import { sortLists } from "#test/crash-consistency/aws/state.ts";

/** Changes to worlds whose ends would otherwise depend on the order of the actors. */
const ADAPTATIONS: Readonly<Record<string, (world: LoadBalancerWorld) => LoadBalancerWorld>> = {
  nlb: (world) => withNamesByPort(withSourceRanges(world)),
  classic: withSourceRanges,
};

/** The worlds for two actors, by name; one of AWS runs on moto. */
export const CLOUDS: Readonly<Record<string, () => Promise<BuildWorld>>> = Object.fromEntries(
  Object.entries(WORLDS).map(([name, { load }]) => {
    const adapt = ADAPTATIONS[name] ?? ((world: LoadBalancerWorld) => world);
    return [
      name,
      async (): Promise<BuildWorld> => {
        const build = await load();
        return async (plane) => adapt(await build(plane));
      },
    ];
  }),
);

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
