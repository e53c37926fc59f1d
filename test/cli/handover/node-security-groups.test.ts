import { expect, test, vi } from "vitest";
import { describeNodeSecurityGroups } from "#cli/handover/one-at-a-time.ts";
import type { Diagnosis, NetworkDiagnosis } from "#clouds/diagnosis.ts";
import type { Cluster } from "#config/cluster.ts";
import { type CheckResult, reportFailure, reportOk, reportSkipped } from "#core/check-result.ts";

const CLUSTER = {
  name: "prod",
  cloud: { provider: "aws" },
  controllers: ["service-lb-controller"],
} as unknown as Cluster;

function diagnosis(securityGroups: () => Promise<CheckResult>): Diagnosis {
  const forControllers = { securityGroups } as Partial<NetworkDiagnosis> as NetworkDiagnosis;
  return { forControllers, close: vi.fn() } as Partial<Diagnosis> as Diagnosis;
}

const UNPROVEN = reportFailure("NodeSecurityGroupNotProven: 1 security groups …: sg-1", "tag them");

test.each<[string, Diagnosis | undefined, string | undefined]>([
  [
    "names groups that are not proven",
    diagnosis(async () => UNPROVEN),
    "note: security groups of nodes: NodeSecurityGroupNotProven: 1 security groups …: sg-1; tag them",
  ],
  ["says nothing where all are the cluster's", diagnosis(async () => reportOk("one each")), undefined],
  [
    "reports nothing if they are not checked",
    diagnosis(async () => reportSkipped("the operator's")),
    undefined,
  ],
  ["says nothing for a cloud without security groups", undefined, undefined],
  [
    "continues if the cloud does not answer",
    diagnosis(() => Promise.reject(new Error("no answer"))),
    "note: security groups of nodes were not checked: no answer; run serverless-ccm doctor",
  ],
])("a hand-over %s", async (_, answer, expected) => {
  expect(await describeNodeSecurityGroups(CLUSTER, async () => answer)).toBe(expected);
  if (answer !== undefined) expect(answer.close).toHaveBeenCalledOnce();
});

test("a hand-over continues if the cloud's configuration is unusable", async () => {
  const note = await describeNodeSecurityGroups(CLUSTER, () => Promise.reject(new Error("no such file")));
  expect(note).toBe(
    "note: security groups of nodes were not checked: no such file; run serverless-ccm doctor",
  );
});

test("a hand-over of nodes only does not call the cloud", async () => {
  const look = vi.fn();
  expect(await describeNodeSecurityGroups({ ...CLUSTER, controllers: [] }, look)).toBeUndefined();
  expect(look).not.toHaveBeenCalled();
});
