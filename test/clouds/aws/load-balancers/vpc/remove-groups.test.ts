import { expect, test } from "vitest";
import { planGroupRemoval } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import {
  ALLOW_NOTHING,
  buildGroup,
  buildRule,
  buildVpc,
  OURS,
  OWNER,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";
import { converge } from "#test/clouds/aws/load-balancers/vpc/world.ts";

const IDENTITY = { clusterTag: "demo", allow: ALLOW_NOTHING };

test("of the named groups, only those with our tag and name are deleted", () => {
  const groups = [
    buildGroup("sg-1", { name: "k8s-elb-a1", tags: OURS }),
    buildGroup("sg-2", { name: "k8s-default-web-0123456789", tags: OURS }),
    buildGroup("sg-not-named", { name: "k8s-elb-a2", tags: OURS }),
    buildGroup("sg-theirs", { name: "k8s-elb-a3", tags: THEIRS }),
    buildGroup("sg-shared", { name: "k8s-elb-a4", tags: { "kubernetes.io/cluster/demo": "shared" } }),
    buildGroup("sg-nodes", { name: "nodes", tags: OURS }),
  ];
  const groupIds = ["sg-1", "sg-2", "sg-theirs", "sg-shared", "sg-nodes", "sg-gone"];
  const { vpc, last } = converge(
    (state) => planGroupRemoval({ owner: OWNER, identity: IDENTITY, groupIds }, state),
    buildVpc({ groups }),
  );
  expect(vpc.groups.map(({ group }) => group.GroupId)).toEqual([
    "sg-not-named",
    "sg-theirs",
    "sg-shared",
    "sg-nodes",
  ]);
  expect(last).toEqual({ kind: "ready", value: undefined });
});

test("a group that a foreign group's rule names stays, and delays no other deletion", () => {
  const groups = [
    buildGroup("sg-1", { name: "k8s-elb-a1", tags: OURS }),
    buildGroup("sg-2", { name: "k8s-elb-a2", tags: OURS }),
    buildGroup("sg-unproven", { ingress: [buildRule("-1", [0, 0], "sg-1")] }),
    buildGroup("sg-nodes", { tags: OURS, ingress: [buildRule("-1", [0, 0], "sg-2")] }),
  ];
  const { vpc, last } = converge(
    (state) => planGroupRemoval({ owner: OWNER, identity: IDENTITY, groupIds: ["sg-1", "sg-2"] }, state),
    buildVpc({ groups }),
  );
  expect(vpc.groups.map(({ group }) => group.GroupId)).toEqual(["sg-1", "sg-unproven", "sg-nodes"]);
  expect(last).toEqual({ kind: "ready", value: undefined });
});
