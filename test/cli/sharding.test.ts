import { describe, expect, test } from "vitest";
import { readSharding, type ShardFlags } from "#cli/relay/sharding.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { runProgram } from "#test/cli/program.ts";

async function read(flags: ShardFlags, environment = {}) {
  const faults: ConfigurationFault[] = [];
  const join = await readSharding(flags, environment, faults);
  return { join, faults: faults.map(({ name, message }) => `${name}: ${message}`) };
}
const LIST = "--shard-replicas";
const NAME = "--shard-name";
const BY = "--shard-by";

describe("how replicas share the clusters", () => {
  test("is disabled without flags, whatever the pod's name", async () => {
    expect(await read({}, { POD_NAME: "relay-a" })).toEqual({ join: undefined, faults: [] });
  });

  test("is by a list that contains this one's name", async () => {
    const { join, faults } = await read({ shardReplicas: "a, b,c", shardName: "b" });
    expect(faults).toEqual([]);
    const lines: unknown[] = [];
    const shard = await join?.((line) => void lines.push(line));
    expect(shard?.status()).toMatchObject({ self: "b", replicas: ["a", "b", "c"], isCutOff: false });
    expect(lines).toMatchObject([{ event: "ReplicasChanged", replica: "b", replicas: ["a", "b", "c"] }]);
    await shard?.leave();
  });

  test.each<[string, ShardFlags, Record<string, string>]>([
    ["of a namespace", { shardBy: "kubernetes:?namespace=ccm", shardName: "a" }, {}],
    ["of a kubeconfig's cluster", { shardBy: "kubernetes:/etc/m.yaml?namespace=ccm", shardName: "a" }, {}],
    ["under the pod's name", { shardBy: "kubernetes:?namespace=ccm" }, { POD_NAME: "relay-7f-x" }],
  ])("is by Leases %s", async (_, flags, environment) => {
    const { join, faults } = await read(flags, environment);
    expect([typeof join, faults]).toEqual(["function", []]);
  });

  test.each<[string, ShardFlags, readonly string[]]>([
    ["a name alone", { shardName: "a" }, [`${NAME}: requires --shard-by or --shard-replicas`]],
    ["a list without a name", { shardReplicas: "a,b" }, [`${NAME}: is required`]],
    ["Leases without a name", { shardBy: "kubernetes:?namespace=x" }, [`${NAME}: is required`]],
    [
      "an invalid name",
      { shardReplicas: "A", shardName: "A" },
      [`${NAME}: "A" is not a name`, `${LIST}: "A" is not a`],
    ],
    [
      "a name that is not on the list",
      { shardReplicas: "a,b", shardName: "c" },
      [`${LIST}: "c", which this one is`],
    ],
    [
      "a name that is twice on the list",
      { shardReplicas: "a,b,a", shardName: "a" },
      [`${LIST}: "a" stands there 2 times`],
    ],
    ["an empty place", { shardReplicas: "a,", shardName: "a" }, [`${LIST}: "" is not a name`]],
    [
      "a list too long",
      { shardReplicas: Array.from({ length: 101 }, (_, index) => `a-${index}`).join(), shardName: "a-0" },
      [`${LIST}: 101 replicas; there can be 100`],
    ],
    [
      "a list and Leases",
      { shardReplicas: "a", shardBy: "kubernetes:?namespace=x", shardName: "a" },
      [`${LIST}: replicas are known by --shard-by or by a list`],
    ],
    ["Leases of something else", { shardBy: "consul:x", shardName: "a" }, [`${BY}: "consul:x" is not known`]],
    [
      "Leases of no namespace",
      { shardBy: "kubernetes:", shardName: "a" },
      [`${BY}: "kubernetes:" says no namespace`],
    ],
  ])("%s is a fault", async (_, flags, expected) => {
    const { faults } = await read(flags);
    expect(faults).toEqual(expected.map((each) => expect.stringContaining(each)));
  });

  test("one cluster by flags cannot be shared", async () => {
    const { code, stderr } = await runProgram([
      "relay",
      "--function-prefix=x-",
      "--region=us-east-1",
      "--shard-replicas=a,b",
      "--shard-name=a",
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("share the clusters of a home")]);
  });
});
