import type {
  Listener,
  LoadBalancer,
  TargetDescription,
  TargetGroup,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { jsonOf } from "#clouds/aws/actions/json-of.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { isNotFound } from "#clouds/aws/load-balancers/observe/by-name.ts";
import { gathered } from "#clouds/aws/load-balancers/observe/gathered.ts";
import type { Depth } from "#clouds/aws/load-balancers/observe/question.ts";
import { allPages, type Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { networkTags } from "#clouds/aws/load-balancers/observe/tags.ts";
import type { NetworkLoadBalancerState, Pairs, TargetGroupState } from "#clouds/aws/load-balancers/state.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** How closely a Service's load balancer is looked at. */
export interface Look {
  readonly read: Reader;
  readonly depth: Depth;
}

/** What there is of a load balancer of ELBv2 beyond itself and its tags; undefined where it has gone meanwhile. */
export async function networkStateOf(
  loadBalancer: LoadBalancer,
  tags: Pairs,
  { read, depth }: Look,
): Promise<Outcome<NetworkLoadBalancerState | undefined>> {
  if (depth !== "all") return ok({ loadBalancer: jsonOf(loadBalancer), tags, listeners: [] });
  const arn = loadBalancer.LoadBalancerArn;
  const both = await Promise.all([
    attributesOf("elbv2:DescribeLoadBalancerAttributes", async () => {
      const answer = await read("elbv2:DescribeLoadBalancerAttributes", { LoadBalancerArn: arn });
      return answer.kind === "fault" ? answer : ok(answer.value.Attributes);
    }),
    allPages("elbv2:DescribeListeners", async (next) => {
      const answer = await read("elbv2:DescribeListeners", {
        LoadBalancerArn: arn,
        ...(next === undefined ? {} : { Marker: next }),
      });
      if (answer.kind === "fault") return answer;
      return ok({ values: answer.value.Listeners, next: answer.value.NextMarker });
    }),
  ]);
  const known = gathered<[Pairs, readonly Listener[]]>(both);
  if (known.kind === "fault") return isNotFound(known.fault) ? ok(undefined) : known;
  const [attributes, found] = known.value;
  const tagged = await networkTags(
    found.flatMap(({ ListenerArn: listener }) => listener ?? []),
    read,
  );
  const listeners: NetworkLoadBalancerState["listeners"][number][] = [];
  for (const listener of found) {
    const of = tagged.get(listener.ListenerArn ?? "");
    if (of?.kind === "fault") return of;
    // One that has gone meanwhile is none.
    if (of?.value !== undefined) listeners.push({ listener: jsonOf(listener), tags: of.value });
  }
  return ok({ loadBalancer: jsonOf(loadBalancer), tags, attributes, listeners });
}

/** What there is of a target group beyond itself and its tags; undefined where it has gone meanwhile. */
export async function targetGroupStateOf(
  group: TargetGroup,
  tags: Pairs,
  { read, depth }: Look,
): Promise<Outcome<TargetGroupState | undefined>> {
  if (depth === "names") return ok({ group: jsonOf(group), tags, targets: [] });
  const arn = group.TargetGroupArn;
  const attributesIfAsked: Promise<Outcome<Pairs | undefined>> =
    depth === "targets"
      ? Promise.resolve(ok(undefined))
      : attributesOf("elbv2:DescribeTargetGroupAttributes", async () => {
          const answer = await read("elbv2:DescribeTargetGroupAttributes", { TargetGroupArn: arn });
          return answer.kind === "fault" ? answer : ok(answer.value.Attributes);
        });
  const known = gathered<[Pairs | undefined, readonly TargetDescription[]]>(
    await Promise.all([attributesIfAsked, targetsOf(arn, read)]),
  );
  if (known.kind === "fault") return isNotFound(known.fault) ? ok(undefined) : known;
  const [attributes, targets] = known.value;
  return ok({ group: jsonOf(group), tags, ...asKnown(attributes), targets });
}

/** All target groups of the account and region: neither Service nor cluster is something that AWS could be asked by. */
export function allTargetGroups(read: Reader): Promise<Outcome<readonly TargetGroup[]>> {
  return allPages("elbv2:DescribeTargetGroups", async (next) => {
    const answer = await read("elbv2:DescribeTargetGroups", {
      PageSize: 400,
      ...(next === undefined ? {} : { Marker: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.TargetGroups, next: answer.value.NextMarker });
  });
}

/** The targets but for those that are on their way out. */
async function targetsOf(
  arn: string | undefined,
  read: Reader,
): Promise<Outcome<readonly TargetDescription[]>> {
  const answer = await read("elbv2:DescribeTargetHealth", { TargetGroupArn: arn });
  if (answer.kind === "fault") return answer;
  const { TargetHealthDescriptions: described } = answer.value;
  if (described === undefined)
    return fault("Unavailable", "elbv2:DescribeTargetHealth: the answer is not a list");
  return ok(
    described.flatMap(({ Target: target, TargetHealth: health }) =>
      target === undefined || health?.State === "draining" ? [] : [jsonOf(target)],
    ),
  );
}

async function attributesOf(
  what: string,
  ask: () => Promise<
    Outcome<readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] | undefined>
  >,
): Promise<Outcome<Pairs>> {
  const answer = await ask();
  if (answer.kind === "fault") return answer;
  if (answer.value === undefined) return fault("Unavailable", `${what}: the answer is not a list`);
  return ok(
    Object.fromEntries(
      answer.value.flatMap(({ Key: key, Value: value = "" }) => (key === undefined ? [] : [[key, value]])),
    ),
  );
}

function asKnown(attributes: Pairs | undefined): { readonly attributes?: Pairs } {
  return attributes === undefined ? {} : { attributes };
}
