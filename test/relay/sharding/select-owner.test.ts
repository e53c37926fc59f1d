import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { selectOwner } from "#relay/sharding/shard.ts";
import { SEED } from "#test/seed.ts";

const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,30}[a-z0-9])?$/);
const replicas = fc.uniqueArray(name, { minLength: 1, maxLength: 20 });
const clusters = fc.uniqueArray(name, { minLength: 1, maxLength: 100 });
function check<Drawn>(property: fc.IProperty<Drawn>, numRuns = 100): void {
  fc.assert(property, { seed: SEED, numRuns });
}

describe("the owner of a cluster", () => {
  test("is one of the replicas, whatever their order", () => {
    check(
      fc.property(name, replicas, fc.infiniteStream(fc.nat()), (cluster, among, numbers) => {
        const shuffled = among
          .map((replica) => ({ replica, at: numbers.next().value }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ replica }) => replica);
        const owner = selectOwner(cluster, among);
        expect(among).toContain(owner);
        expect(selectOwner(cluster, [...shuffled, ...among])).toBe(owner);
      }),
    );
  });

  test("changes only for the clusters of a replica that leaves, and for those that a new one gets", () => {
    check(
      fc.property(clusters, replicas, name, (all, among, other) => {
        const others = among.filter((each) => each !== other);
        for (const cluster of all) {
          const [without, beside] = [selectOwner(cluster, others), selectOwner(cluster, [...others, other])];
          if (beside !== other) expect(beside).toBe(without);
        }
      }),
    );
  });

  test("is each replica for a similar number of clusters", () => {
    check(
      fc.property(fc.integer({ min: 2, max: 20 }), fc.stringMatching(/^[a-z]{1,8}$/), (count, prefix) => {
        const among = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
        const owned = Map.groupBy(
          Array.from({ length: 200 * count }, (_, index) => `tenant-${index}`),
          (cluster) => selectOwner(cluster, among),
        );
        // A binomial distribution of mean 200: six standard deviations on either side.
        for (const replica of among) {
          const share = owned.get(replica)?.length ?? 0;
          expect(share).toBeGreaterThan(115);
          expect(share).toBeLessThan(285);
        }
      }),
      30,
    );
  });

  test("is equal in every version", () => {
    const owners = ["blue", "green", "red", "tenant-1"].map((cluster) =>
      selectOwner(cluster, ["a", "b", "c"]),
    );
    expect(owners).toEqual(["b", "a", "b", "a"]);
  });

  test("is undefined without replicas", () => {
    expect(selectOwner("blue", [])).toBeUndefined();
  });
});
