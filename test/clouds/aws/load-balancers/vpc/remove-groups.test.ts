import { expect, test } from "vitest";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/remove-groups.ts";
import {
  ALLOW_NOTHING,
  aGroup,
  aRule,
  aVpc,
  OURS,
  OWNER,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";
import { converged } from "#test/clouds/aws/load-balancers/vpc/world.ts";

const IDENTITY = { clusterTag: "demo", allow: ALLOW_NOTHING };

test("only what is ours by tag and name goes, of what is named", () => {
  const groups = [
    aGroup("sg-1", { name: "k8s-elb-a1", tags: OURS }),
    aGroup("sg-2", { name: "k8s-default-web-0123456789", tags: OURS }),
    aGroup("sg-not-named", { name: "k8s-elb-a2", tags: OURS }),
    aGroup("sg-theirs", { name: "k8s-elb-a3", tags: THEIRS }),
    aGroup("sg-shared", { name: "k8s-elb-a4", tags: { "kubernetes.io/cluster/demo": "shared" } }),
    aGroup("sg-nodes", { name: "nodes", tags: OURS }),
  ];
  const groupIds = ["sg-1", "sg-2", "sg-theirs", "sg-shared", "sg-nodes", "sg-gone"];
  const { vpc, last } = converged(
    (state) => planRemovedGroups({ owner: OWNER, identity: IDENTITY, groupIds }, state),
    aVpc({ groups }),
  );
  expect(vpc.groups.map(({ group }) => group.GroupId)).toEqual([
    "sg-not-named",
    "sg-theirs",
    "sg-shared",
    "sg-nodes",
  ]);
  expect(last).toEqual({ kind: "ready", value: undefined });
});

test("one that a rule of a foreign group names stays, and keeps nothing else from going", () => {
  const groups = [
    aGroup("sg-1", { name: "k8s-elb-a1", tags: OURS }),
    aGroup("sg-2", { name: "k8s-elb-a2", tags: OURS }),
    aGroup("sg-unproven", { ingress: [aRule("-1", [0, 0], "sg-1")] }),
    aGroup("sg-nodes", { tags: OURS, ingress: [aRule("-1", [0, 0], "sg-2")] }),
  ];
  const { vpc, last } = converged(
    (state) => planRemovedGroups({ owner: OWNER, identity: IDENTITY, groupIds: ["sg-1", "sg-2"] }, state),
    aVpc({ groups }),
  );
  expect(vpc.groups.map(({ group }) => group.GroupId)).toEqual(["sg-1", "sg-unproven", "sg-nodes"]);
  expect(last).toEqual({ kind: "ready", value: undefined });
});
