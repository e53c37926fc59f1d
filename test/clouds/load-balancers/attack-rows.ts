import { describe, expect, test } from "vitest";
import { LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { NODES as NODE_RESOURCE } from "#core/resources/resource.ts";
import type { Service } from "#core/service/service.ts";
import { type Rows, WEB } from "#test/clouds/load-balancers/rows.ts";
import { buildService } from "#test/clouds/service-builders.ts";
import { createLifeline } from "#test/crash-consistency/lifeline.ts";
import { NODES, settle } from "#test/crash-consistency/play.ts";

const UNWANTED = { type: "ClusterIP" };
const DELETING = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 };

/** Events about a Service with a load balancer that contradict the API server. */
const STALE_EVENTS: readonly (readonly [string, (service: Service) => object])[] = [
  ["no longer needs one", (service) => ({ ...service, spec: { ...service.spec, ...UNWANTED } })],
  ["is being deleted", (service) => ({ ...service, metadata: { ...service.metadata, ...DELETING } })],
  [
    "belongs to another controller",
    (service) => ({ ...service, spec: { ...service.spec, loadBalancerClass: "example.com/other" } }),
  ],
  ["has another UID", (service) => ({ ...service, metadata: { ...service.metadata, uid: ANOTHER_UID } })],
  [
    "has another UID and is being deleted",
    (service) => ({ ...service, metadata: { ...service.metadata, ...DELETING, uid: ANOTHER_UID } }),
  ],
];
const ANOTHER_UID = "99999999-9999-4999-8999-999999999999";

/**
 * Changes of a Service by a tenant whose API server shows it with the uid of another cluster's Service, and
 * the events about it.
 */
const FORGERIES: readonly (readonly [string, object | undefined])[] = [
  ["needs a load balancer", undefined],
  [
    "needs other ports",
    { spec: { ports: [{ name: "http", protocol: "TCP", port: 8080, nodePort: 30_888 }] } },
  ],
  ["no longer needs one", { spec: UNWANTED }],
];

/**
 * Adds rows about attacks: what a tenant can write or have its API server answer, and resources of others.
 */
export function addAttackRows({ stage, made, settled, optional }: Rows): void {
  /** Returns what stays during any work of another owner on its own load balancer. */
  const lasting = (state: readonly string[]): string[] =>
    state.filter((thing) => stage().world.isShared?.(thing) !== true);

  describe("an attack", () => {
    test.each(STALE_EVENTS)(
      "by an event that contradicts the API server (Service %s) changes nothing",
      async (_, forge) => {
        const state = await made();
        const lifeline = createLifeline();
        for (const reason of ["watch", "refresh"] as const) await stage().invoke({ forge, lifeline, reason });
        expect(lifeline.changes.filter(({ on }) => on === "cloud")).toEqual([]);
        expect(await settled()).toEqual(state);
      },
    );

    test("by an event without nodes removes no targets", async () => {
      const state = await made();
      const related = await stage().objects.related();
      const { resourceVersion = "" } = related[NODE_RESOURCE.name] ?? {};
      const none = { ...related, [NODE_RESOURCE.name]: { resourceVersion, items: [] } };
      for (const reason of ["watch", "refresh"] as const) await stage().invoke({ related: none, reason });
      expect(await stage().state()).toEqual(state);
    });

    optional("machines", "by a node that names a foreign machine does not make that a target", async () => {
      const state = await made();
      const { nodes } = stage().world;
      await stage().objects.setNodes([...nodes.slice(0, NODES), ...nodes.slice(-1)]);
      for (const reason of ["watch", "refresh"] as const) await stage().invoke({ reason });
      expect(await stage().state()).toEqual(state);
    });

    optional(
      "clusters",
      "by the uid of another cluster's Service changes nothing of that one's",
      async () => {
        const { otherCluster } = stage().world;
        for (const [, difference] of FORGERIES) {
          const state = lasting(await made());
          if (difference !== undefined) await stage().objects.merge(difference);
          for (const reason of ["watch", "refresh"] as const)
            await stage().invoke({ ...otherCluster, reason });
          expect(await stage().state()).toEqual(expect.arrayContaining(state));
          await stage().clear();
          await stage().objects.setNodes(stage().world.nodes.slice(0, NODES));
        }
      },
    );

    optional(
      "clusters",
      "by the uid and a forged deletion and finalizer deletes nothing of another cluster's",
      async () => {
        const { otherCluster } = stage().world;
        const state = lasting(await made());
        await stage().objects.delete();
        const lifeline = createLifeline();
        for (const reason of ["watch", "refresh"] as const)
          await stage().invoke({ ...otherCluster, reason, lifeline });
        expect(await stage().state()).toEqual(expect.arrayContaining(state));
      },
    );

    optional(
      "claims",
      "by another Service with copied annotations and finalizer changes nothing of the first, nor does its end",
      async () => {
        const state = lasting(await made());
        const { annotations = {} } = (await stage().objects.read())?.metadata ?? {};
        const api = buildService(stage().world, { name: "api" }) as Pick<Service, "metadata">;
        const metadata = { ...api.metadata, annotations, finalizers: [LOAD_BALANCER_FINALIZER] };
        await stage()
          .objects.named("api")
          .create({ ...api, metadata });
        for (const reason of ["watch", "refresh"] as const) await stage().invoke({ names: ["api"], reason });
        expect(await stage().state()).toEqual(expect.arrayContaining(state));
        await stage().objects.named("api").delete();
        const { issues } = await settle(stage(), { cloud: {}, names: ["api"] });
        expect(issues).toEqual([]);
        expect(await settled(WEB.names)).toEqual(expect.arrayContaining(state));
      },
    );
  });
}
