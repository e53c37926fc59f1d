import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { awsTags } from "#clouds/aws/tags/model.ts";
import type { Tags } from "#core/node-tags.ts";
import { RIGHTS } from "#core/rights.ts";
import { CONTROL_PLANE_USERS, type ControlPlane } from "#emulators/harness/control-plane.ts";
import { describeRight } from "#test/e2e/granted-rights.ts";
import { MARK, startTags, type TagsUnderTest } from "#test/functions/tagging/tags-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { listUsedRights } from "#test/witness/requests.ts";

/** The tagging function, as its own identity, on one API server. */
export function describeTagging(title: string, start: (folder: string) => Promise<ControlPlane>): void {
  describe(`the tagging function on ${title}`, () => {
    let cluster: ClusterUnderTest;
    let under: TagsUnderTest;
    beforeAll(async () => {
      cluster = await startCluster(start);
      under = await startTags(cluster);
    });
    beforeEach(() => under.reset());
    afterAll(() => cluster?.close());

    /** What of an instance's tags is ours. */
    const ours = (id: string): Tags => {
      const { Name: _, ...tags } = under.instances.get(id) ?? {};
      return tags;
    };
    const outcomes = ({ report }: Awaited<ReturnType<TagsUnderTest["invoke"]>>) =>
      report?.objects.map(({ outcome, because: { code } }) => `${outcome} ${code}`);

    test("tags the instances of nodes in one call, labels the nodes, and then costs a look", async () => {
      const nodes = [await under.join(), await under.join(), await under.join()];
      const first = await under.invoke();
      expect(outcomes(first)).toEqual(["changed Tagging"]);
      expect(first.report?.usage.cloud.calls).toEqual({ DescribeInstances: 1, tag: 1 });
      // Before the first action the namespace is read.
      expect(first.report?.usage.cluster).toMatchObject({ writes: 3, reads: 1, conflicts: 0 });
      for (const { name, id } of nodes) {
        expect(ours(id)).toEqual({ team: "a", [MARK]: expect.stringMatching(/^=value.{12}$/) });
        expect(await under.labelOf(name)).toBe(awsTags.checksum({ team: "a" }));
      }
      const second = await under.invoke();
      expect(outcomes(second)).toEqual(["unchanged UpToDate"]);
      expect(second.report?.usage).toMatchObject({
        cloud: { calls: { DescribeInstances: 1 } },
        cluster: { writes: 0, reads: 0 },
      });
    });

    test("removes its tags from an instance whose node is gone, once all nodes are known", async () => {
      const [stays, goes] = [await under.join(), await under.join()];
      await under.invoke();
      await under.remove(goes.name);
      expect(outcomes(await under.invoke({ unseen: [stays.name] }))).toEqual(["retry NodesIncomplete"]);
      expect(Object.keys(ours(goes.id))).toEqual(["team", MARK]);
      expect(outcomes(await under.invoke())).toEqual(["changed Tagging"]);
      expect(under.instances.get(goes.id)).toEqual({ Name: goes.name });
      expect(Object.keys(ours(stays.id))).toEqual(["team", MARK]);
    });

    test("keeps a tag whose value someone else has set, even if its node is gone or the tag is disabled", async () => {
      under.configure({ team: "a", cost: "b" });
      const [stays, goes] = [await under.join(), await under.join()];
      await under.invoke();
      for (const { id } of [stays, goes])
        under.instances.set(id, { ...under.instances.get(id), team: "theirs" });
      await under.remove(goes.name);
      await under.invoke();
      expect(under.instances.get(goes.id)).toEqual({ Name: goes.name, team: "theirs" });
      under.configure({ cost: "b" });
      await under.invoke({ reason: "refresh" });
      expect(ours(stays.id)).toEqual({ team: "theirs", cost: "b", [MARK]: expect.any(String) });
    });

    test("also removes tags when only the sweep reports it", async () => {
      const [stays, goes] = [await under.join(), await under.join()];
      await under.invoke();
      await under.remove(goes.name);
      expect(outcomes(await under.invoke({ reason: "sweep" }))).toEqual(["changed Tagging"]);
      expect(under.instances.get(goes.id)).toEqual({ Name: goes.name });
      expect(Object.keys(ours(stays.id))).toEqual(["team", MARK]);
    });

    test("killed between any two steps, has it done by the next invocation, and an audit finds nothing", async () => {
      const prepare = async () => {
        await under.reset();
        under.configure({ team: "a", old: "x" });
        const [stays, goes] = [await under.join(), await under.join()];
        await under.invoke();
        await under.remove(goes.name);
        const comes = await under.join();
        under.configure({ team: "b" });
        return { stays, goes, comes };
      };
      const whole = await prepare().then(() => under.invoke({ reason: "refresh" }));
      expect(whole.steps).toBeGreaterThan(8);
      for (let steps = 0; steps < whole.steps; steps += 1) {
        const { stays, goes, comes } = await prepare();
        await under.invoke({ reason: "refresh", steps });
        expect(outcomes(await under.invoke({ reason: "refresh" }))?.[0], `after ${steps}`).not.toMatch(
          /^retry/,
        );
        for (const { id, name } of [stays, comes]) {
          expect(ours(id), `after ${steps}`).toEqual({ team: "b", [MARK]: expect.any(String) });
          expect(await under.labelOf(name)).toBe(awsTags.checksum({ team: "b" }));
        }
        expect(under.instances.get(goes.id), `after ${steps}`).toEqual({ Name: goes.name });
        under.calls.length = 0;
        expect(outcomes(await under.invoke({ reason: "refresh" }))).toEqual(["unchanged UpToDate"]);
        expect(under.calls).toEqual(["look"]);
      }
    });

    test("takes exactly the rights that are granted for it", async () => {
      const goes = await under.join();
      await under.join();
      await under.invoke();
      await under.remove(goes.name);
      await under.invoke();
      const used = listUsedRights(await cluster.plane.record(), CONTROL_PLANE_USERS.tagging.name);
      expect(used).toEqual(RIGHTS.tagging.map(describeRight).toSorted());
    });

    test("two concurrent functions reach the same state", async () => {
      const nodes = [await under.join(), await under.join()];
      await Promise.all([under.invoke(), under.invoke({ reason: "refresh" })]);
      expect(outcomes(await under.invoke({ reason: "refresh" }))).toEqual(["unchanged UpToDate"]);
      for (const { id, name } of nodes) {
        expect(ours(id)).toEqual({ team: "a", [MARK]: expect.any(String) });
        expect(await under.labelOf(name)).toBe(awsTags.checksum({ team: "a" }));
      }
    });
  });
}
