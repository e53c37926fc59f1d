import type {
  Listener,
  LoadBalancer,
  TargetDescription,
  TargetGroup,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { toJson } from "#clouds/aws/actions/api.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { combineOutcomes, type Reader, readAllPages } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Depth } from "#clouds/aws/load-balancers/observe/service-query.ts";
import { isNotFound, readNetworkTags } from "#clouds/aws/load-balancers/observe/tags.ts";
import type { NetworkLoadBalancerState, Pairs, TargetGroupState } from "#clouds/aws/load-balancers/state.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** How much of a Service's load balancer is read. */
export interface ObserveOptions {
  readonly read: Reader;
  readonly depth: Depth;
}

/** Reads the details of an ELBv2 load balancer; undefined if it was deleted meanwhile. */
export async function readNetworkState(
  loadBalancer: LoadBalancer,
  tags: Pairs,
  { read, depth }: ObserveOptions,
): Promise<Outcome<NetworkLoadBalancerState | undefined>> {
  if (depth !== "all") return ok({ loadBalancer: toJson(loadBalancer), tags, listeners: [] });
  const arn = loadBalancer.LoadBalancerArn;
  const outcomes = await Promise.all([
    readAttributes("elbv2:DescribeLoadBalancerAttributes", async () => {
      const answer = await read("elbv2:DescribeLoadBalancerAttributes", { LoadBalancerArn: arn });
      return answer.kind === "fault" ? answer : ok(answer.value.Attributes);
    }),
    readAllPages("elbv2:DescribeListeners", async (next) => {
      const answer = await read("elbv2:DescribeListeners", {
        LoadBalancerArn: arn,
        ...(next === undefined ? {} : { Marker: next }),
      });
      if (answer.kind === "fault") return answer;
      return ok({ values: answer.value.Listeners, next: answer.value.NextMarker });
    }),
  ]);
  const details = combineOutcomes<[Pairs, readonly Listener[]]>(outcomes);
  if (details.kind === "fault") return isNotFound(details.fault) ? ok(undefined) : details;
  const [attributes, found] = details.value;
  const tagged = await readNetworkTags(
    found.flatMap(({ ListenerArn: listener }) => listener ?? []),
    read,
  );
  const listeners: NetworkLoadBalancerState["listeners"][number][] = [];
  for (const listener of found) {
    const tagOutcome = tagged.get(listener.ListenerArn ?? "");
    if (tagOutcome?.kind === "fault") return tagOutcome;
    // A listener that was deleted meanwhile is skipped.
    if (tagOutcome?.value !== undefined)
      listeners.push({ listener: toJson(listener), tags: tagOutcome.value });
  }
  return ok({ loadBalancer: toJson(loadBalancer), tags, attributes, listeners });
}

/** Reads the details of a target group; undefined if it was deleted meanwhile. */
export async function readTargetGroupState(
  group: TargetGroup,
  tags: Pairs,
  { read, depth }: ObserveOptions,
): Promise<Outcome<TargetGroupState | undefined>> {
  if (depth === "names") return ok({ group: toJson(group), tags, targets: [] });
  const arn = group.TargetGroupArn;
  const attributesIfNeeded: Promise<Outcome<Pairs | undefined>> =
    depth === "targets"
      ? Promise.resolve(ok(undefined))
      : readAttributes("elbv2:DescribeTargetGroupAttributes", async () => {
          const answer = await read("elbv2:DescribeTargetGroupAttributes", { TargetGroupArn: arn });
          return answer.kind === "fault" ? answer : ok(answer.value.Attributes);
        });
  const details = combineOutcomes<[Pairs | undefined, readonly TargetDescription[]]>(
    await Promise.all([attributesIfNeeded, readTargets(arn, read)]),
  );
  if (details.kind === "fault") return isNotFound(details.fault) ? ok(undefined) : details;
  const [attributes, targets] = details.value;
  return ok({ group: toJson(group), tags, ...toKnownAttributes(attributes), targets });
}

/** Lists all target groups of the account and region: AWS cannot filter by Service or cluster. */
export function listTargetGroups(read: Reader): Promise<Outcome<readonly TargetGroup[]>> {
  return readAllPages("elbv2:DescribeTargetGroups", async (next) => {
    const answer = await read("elbv2:DescribeTargetGroups", {
      PageSize: 400,
      ...(next === undefined ? {} : { Marker: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.TargetGroups, next: answer.value.NextMarker });
  });
}

/** Reads the targets, except draining ones. */
async function readTargets(
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
      target === undefined || health?.State === "draining" ? [] : [toJson(target)],
    ),
  );
}

async function readAttributes(
  operation: string,
  readList: () => Promise<
    Outcome<readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] | undefined>
  >,
): Promise<Outcome<Pairs>> {
  const answer = await readList();
  if (answer.kind === "fault") return answer;
  if (answer.value === undefined) return fault("Unavailable", `${operation}: the answer is not a list`);
  return ok(
    Object.fromEntries(
      answer.value.flatMap(({ Key: key, Value: value = "" }) => (key === undefined ? [] : [[key, value]])),
    ),
  );
}

function toKnownAttributes(attributes: Pairs | undefined): { readonly attributes?: Pairs } {
  return attributes === undefined ? {} : { attributes };
}
