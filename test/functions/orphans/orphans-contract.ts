import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createMemoryCloud } from "#clouds/memory/cloud.ts";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import { RIGHTS } from "#core/rights.ts";
import { CONTROL_PLANE_USERS, type ControlPlane } from "#emulators/harness/control-plane.ts";
import { createDelayedStop } from "#test/functions/delayed-stop.ts";
import { type OrphansUnderTest, startOrphans } from "#test/functions/orphans/orphans-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { listUsedRights } from "#test/witness/requests.ts";

const DELETING = { loadBalancers: { deleteOrphaned: true } };

/** Load balancers without a Service, on one API server and on the memory cloud, by the function as its own identity. */
export function describeOrphans(title: string, start: (folder: string) => Promise<ControlPlane>): void {
  describe(`load balancers whose Service is gone, on ${title}`, () => {
    const loadBalancers = new Map<string, MemoryLoadBalancer>();
    let cluster: ClusterUnderTest;
    let under: OrphansUnderTest;

    beforeAll(async () => {
      cluster = await startCluster(start);
      under = await startOrphans(cluster, () => ({
        config: { provider: "memory", instancesFile: "unused" },
        make: () => createMemoryCloud({ instances: new Map(), loadBalancers }),
      }));
    });
    beforeEach(async () => {
      await under.reset();
      loadBalancers.clear();
    });
    afterAll(() => cluster?.close());

    const served = () => [...loadBalancers.values()].map(({ service }) => service).sort();
    const marks = () => [...loadBalancers.values()].flatMap(({ orphaned }) => orphaned ?? []);
    const told = ({ lines }: Awaited<ReturnType<OrphansUnderTest["audit"]>>) =>
      lines.filter(({ event }) => event === "OrphanedLoadBalancer");

    /** One that lives, and one that is lost. */
    async function orphaned(): Promise<string> {
      await under.create("lives");
      const { metadata } = await under.create("lost");
      await under.lose("lost");
      under.actions.length = 0;
      return metadata.uid;
    }

    test("are reported, each in a line, and stay", async () => {
      const uid = await orphaned();
      for (const minutes of [0, 20, 20]) {
        under.later(minutes);
        const audit = await under.audit();
        expect(audit.report).toMatchObject({ outcome: "unchanged", orphans: { count: 1 } });
        expect(told(audit)).toEqual([
          {
            level: "warn",
            event: "OrphanedLoadBalancer",
            cluster: "tenant-a",
            controller: "service-lb-orphans",
            eventId: "event-1",
            kind: "load balancer",
            target: uid,
            namespace: "default",
            name: "lost",
            code: "ServiceGone",
          },
        ]);
      }
      expect(under.actions).toEqual([]);
    });

    test("are deleted in their turn if the operator allows it, with exactly the granted rights", async () => {
      const uid = await orphaned();
      // The right to list nodes is used where a load balancer would lose its last target.
      await under.losesItsNode("lives");
      under.actions.length = 0;
      under.configure(DELETING);
      await under.audit();
      expect(under.actions).toEqual([`MarkLoadBalancer ${uid}`]);
      under.later(10);
      await under.audit();
      expect(served()).toEqual(["default/lives", "default/lost"]);
      under.later(10);
      const audit = await under.audit();
      expect(audit.report).toMatchObject({ outcome: "changed" });
      expect(served()).toEqual(["default/lives"]);
      const deletion = {
        event: "CloudAction",
        action: "DeleteLoadBalancer",
        name: "kube-system",
        target: uid,
      };
      expect(audit.lines).toContainEqual(expect.objectContaining(deletion));
      const used = listUsedRights(await cluster.plane.record(), CONTROL_PLANE_USERS.service.name);
      const needed = RIGHTS.service.filter(({ cloud }) => cloud === undefined);
      const granted = needed.map(({ verb, resource, subresource }) =>
        [verb, subresource === undefined ? resource : `${resource}/${subresource}`].join(" "),
      );
      expect(used).toEqual(granted.toSorted());
    });

    test.each(["deletes", "unproven"] as const)(
      "stay where their turn has come while a stop of %s holds, and go after that",
      async (stop) => {
        await orphaned();
        under.configure(DELETING);
        await under.audit();
        under.later(20);
        const { report } = await under.audit({ readStop: createDelayedStop(0, stop) });
        expect(report).toMatchObject({
          outcome: "skipped",
          because: { code: "Stopped" },
          orphans: { count: 1 },
        });
        expect(served()).toEqual(["default/lives", "default/lost"]);
        // A look when it begins; this one is right before the cloud is called.
        expect((await under.audit({ readStop: createDelayedStop(1, stop) })).report).toMatchObject({
          because: { code: "Stopped" },
        });
        expect(served()).toEqual(["default/lives", "default/lost"]);
        await under.audit();
        expect(served()).toEqual(["default/lives"]);
      },
    );

    test("are not reported while a list lacks their Service", async () => {
      await orphaned();
      under.configure(DELETING);
      const { report } = await under.audit({ unseen: ["lives"] });
      expect(report).toMatchObject({ outcome: "retry", because: { code: "ServicesIncomplete" } });
      expect(under.actions).toEqual([]);
    });

    test("stay where a Service of their name is made in the moment before they would go", async () => {
      await orphaned();
      under.configure(DELETING);
      await under.audit();
      under.later(20);
      let made = false;
      const { report } = await under.audit({
        async onStep(step) {
          // The cloud was asked and the Services counted by then; the next read is the namespace.
          if (step !== 4 || made) return;
          made = true;
          await under.create("lost");
        },
      });
      expect(made).toBe(true);
      expect(report).toMatchObject({
        outcome: "skipped",
        because: { code: "Present", message: "services default/lost is there" },
      });
      expect(served().filter((each) => each === "default/lost")).toHaveLength(2);
      await under.audit();
      expect(marks()).toEqual([]);
    });

    test("of a Service restored from a backup belong to it again, and no second one is created", async () => {
      const before = await under.create("lost");
      await under.create("lives");
      const backup = await cluster.plane.backup();
      await under.lose("lost");
      under.configure(DELETING);
      await under.audit();
      expect(marks()).toHaveLength(1);
      await cluster.plane.restore(backup);
      under.later(20);
      const audit = await under.audit();
      expect(told(audit)).toEqual([]);
      expect(marks()).toEqual([]);
      await under.converge("lost", "refresh");
      const after = await under.read("lost");
      expect(after.metadata.uid).toBe(before.metadata.uid);
      expect(after.status).toEqual(before.status);
      expect(served()).toEqual(["default/lives", "default/lost"]);
    });

    test("of Services missing from a backup are reported, and deleted one in a turn if the operator allows it", async () => {
      await under.create("lives");
      const backup = await cluster.plane.backup();
      for (const name of ["b", "c"]) await under.create(name);
      await cluster.plane.restore(backup);
      expect((await under.audit()).report).toMatchObject({ orphans: { count: 2 } });
      expect(marks()).toEqual([]);
      under.configure(DELETING);
      const left: number[] = [];
      for (let minute = 0; minute <= 50; minute += 10) {
        await under.audit();
        await under.audit();
        left.push(loadBalancers.size);
        under.later(10);
      }
      expect(left).toEqual([3, 3, 2, 1, 1, 1]);
      expect(served()).toEqual(["default/lives"]);
    });

    test("are deleted in the end after a kill between any two steps, and nothing else is", async () => {
      await orphaned();
      under.configure(DELETING);
      const pass = async (steps?: number): Promise<number> => {
        const { steps: taken } = await under.audit(steps === undefined ? {} : { steps });
        return taken;
      };
      await pass();
      under.later(20);
      const whole = await pass();
      expect(whole).toBeGreaterThan(5);
      for (let steps = 0; steps < whole; steps += 1) {
        await under.create("lost");
        await under.lose("lost");
        await pass(Math.min(steps, 4));
        await pass();
        under.later(20);
        await pass(steps);
        await pass();
        expect(served(), `after ${steps}`).toEqual(["default/lives"]);
        under.later(20);
      }
    });
  });
}
