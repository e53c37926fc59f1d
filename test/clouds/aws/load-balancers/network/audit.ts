import { planUnusedRules, readSharedRules } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import { isOfAnotherCluster } from "#clouds/aws/load-balancers/ownership.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { buildSettings } from "#test/clouds/aws/load-balancers/network/world.ts";

const NOON_MS = Date.parse("2026-03-01T12:00:00Z");

/** Plans an audit, so many minutes after noon, of what load balancers share. */
export function planAudit(
  aws: FakeElbv2,
  minutes: number,
  of = buildSettings(),
): readonly LoadBalancerAction[] {
  const shared = readSharedRules({
    clusterTag: "prod",
    groups: aws.vpc.groups,
    networks: [...aws.balancers.values()].map(({ loadBalancer }) => loadBalancer),
    classics: [],
    targetGroups: [...aws.groups.values()].map(({ group }) => ({
      ...group,
      LoadBalancerArns: aws.usersOf(group),
    })),
    ownClassics: new Set(),
    foreignIds: new Set(
      [...aws.balancers.values()].flatMap(({ loadBalancer: { LoadBalancerArn: arn = "" }, tags }) =>
        isOfAnotherCluster(tags, "prod") ? [arn] : [],
      ),
    ),
  });
  const now = new Date(NOON_MS + minutes * 60_000);
  return planUnusedRules(JSON.parse(JSON.stringify(shared)), now, of);
}

/** Runs an audit so many minutes after noon; returns the names of its actions. */
export function audit(aws: FakeElbv2, minutes: number, of = buildSettings()): readonly string[] {
  const actions = planAudit(aws, minutes, of);
  for (const action of actions) aws.apply(action);
  return actions.map(({ action }) => action);
}

/** Runs the audits of an hour. */
export function auditForAnHour(aws: FakeElbv2, of = buildSettings()): void {
  for (let minutes = 0; minutes <= 60; minutes += 10) audit(aws, minutes, of);
}
