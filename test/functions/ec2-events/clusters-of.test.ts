import { expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { selectClusters } from "#functions/parts/ec2-events/request-resync.ts";
import { parseStateChange } from "#functions/parts/ec2-events/state-change.ts";
import { buildStateChange } from "#test/functions/ec2-events/world.ts";

const change = parseStateChange(buildStateChange());

test.each<[string, object, boolean]>([
  ["neither role nor keys is the function's own", {}, true],
  ["a role of that account is", { roleArn: `arn:aws:iam::${change.account}:role/ccm` }, true],
  ["a role of another account is not", { roleArn: "arn:aws:iam::999999999999:role/ccm" }, false],
  ["keys is of an unknown account", { credentials: { secretsManager: "keys" } }, false],
  [
    "a role and keys is of the role's",
    { credentials: { file: "keys" }, roleArn: `arn:aws:iam::${change.account}:role/ccm` },
    true,
  ],
])("a cluster with %s", (_, cloud, isOfIt) => {
  const cluster = Cluster.parse({
    name: "blue",
    server: "https://api.blue.example",
    cloud: { provider: "aws", region: change.region, vpc: "vpc-1", ...cloud },
  });
  expect(selectClusters(change, [cluster], change.account)).toHaveLength(isOfIt ? 1 : 0);
});
